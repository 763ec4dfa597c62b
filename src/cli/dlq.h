/* `holdfast dlq`: what its commands share. They work on the database itself, whether a gateway runs or not, except
 * `replay`, which a running gateway does. */
#ifndef HF_CLI_DLQ_H
#define HF_CLI_DLQ_H

#include "cli/args.h"
#include "cli/letter_json.h"
#include "store/database.h"

/* The database, and what the configuration says of secrets. */
struct hf_dlq {
  struct hf_database *database;
  struct hf_settings *settings;
  char *path;
};

/* A gateway that runs with this configuration, and its database. */
struct hf_dlq_gateway {
  char *control; /* both owned */
  char *database;
};

/* Asks it. Returns false if none runs, or it has no database. */
bool hf_dlq_ask_gateway(const struct hf_args *args, struct hf_dlq_gateway *ret_gateway);
void hf_dlq_gateway_deinit(struct hf_dlq_gateway *gateway);

/* Does --state, if it is given, name the database of the gateway that is to replay letters? Returns HF_EXIT_GOOD or
 * what to exit with, said already. */
int hf_dlq_check_state(const struct hf_args *args);

/* Opens it: in --state DIR, else where the running gateway has it, else in the usual place. `make` makes one where
 * there is none. Returns HF_EXIT_GOOD or what to exit with, said already. */
int hf_dlq_open(const struct hf_args *args, bool make, struct hf_dlq *ret_dlq);

/* Is there one to open? */
bool hf_dlq_exists(const struct hf_args *args);
void hf_dlq_close(struct hf_dlq *dlq);

/* Says what the database did not do, and returns HF_EXIT_UNAVAILABLE. */
int hf_dlq_complain(const struct hf_dlq *dlq, int error);

/* How much is shown: all secrets with --show-secrets, else none. */
struct hf_letter_view hf_dlq_view(const struct hf_dlq *dlq, const struct hf_args *args);

/* Reads all letters that match, the newest first, also more than the database finds at once. Returns HF_EXIT_GOOD or
 * what to exit with, said already. */
int hf_dlq_each(struct hf_dlq *dlq, const struct hf_letter_filter *filter, hf_letter_fn *letter, void *ctx);

/* Makes a filter of the options. `otherwise` is the status if none is said; HF_LETTER_STATUS_COUNT: any. Returns
 * HF_EXIT_GOOD or HF_EXIT_USAGE, said already. */
int hf_dlq_filter(const struct hf_args *args, enum hf_letter_status otherwise, struct hf_letter_filter *ret_filter);

/* Holds ids against options: some letters must be named, by ids, by a filter, or by --all. Returns HF_EXIT_GOOD or
 * HF_EXIT_USAGE, said already. */
int hf_dlq_check_choice(const struct hf_args *args, const char *command);

/* Prints a letter for people, whole. */
void hf_dlq_print_letter(const struct hf_letter *letter, const struct hf_letter_view *view);

/* A constant sentence or two: what a person does about letters of this class. */
const char *hf_dlq_advice(struct hf_str reason);

/* Is it a class that a letter can have? */
bool hf_dlq_class_known(struct hf_str reason);

/* The name of who works here, for histories: in `text`, or absent. */
enum { HF_DLQ_WHO_MAX = 64 };
struct hf_str hf_dlq_who(char text[HF_DLQ_WHO_MAX]);

/* Prints the commands of `dlq`. */
void hf_dlq_print_commands(void);

/* The commands. Return enum hf_exit. */
int hf_dlq_list(const struct hf_args *args);
int hf_dlq_show(const struct hf_args *args);
int hf_dlq_replay(const struct hf_args *args);
int hf_dlq_discard(const struct hf_args *args);
int hf_dlq_requeue(const struct hf_args *args);
int hf_dlq_export(const struct hf_args *args);
int hf_dlq_import(const struct hf_args *args);
int hf_dlq_analyze(const struct hf_args *args);
int hf_dlq_watch(const struct hf_args *args);

#endif
