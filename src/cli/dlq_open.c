#include "cli/dlq.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/setup.h"
#include "daemon/state.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void defaults(struct hf_settings **ret_settings, const struct hf_config_options *options) {
  struct hf_problems problems;
  struct hf_error error = {0};
  hf_problems_init(&problems);
  (void)hf_config_parse(HF_STR("mcpServers: {}\n"), options, &problems, ret_settings, &error);
}

/* The configuration tells what is secret, and when letters are set aside. One that is not named may be missing, or not
 * in order: the gateway that needs it says so. */
static int load_settings(const struct hf_args *args, struct hf_settings **ret_settings) {
  const struct hf_config_options options = {.instance = HF_INSTANCE_SHARED};
  HF_CLEANUP_FREE char *path = NULL;
  if (args->config)
    return hf_setup_settings(args, &options, ret_settings, &path);
  struct hf_problems problems;
  struct hf_error error = {0};
  hf_problems_init(&problems);
  path = hf_config_find(&error);
  if (path && hf_config_load(path, &options, &problems, ret_settings, &error) < 0)
    (void)hf_complain(HF_EXIT_GOOD, "'%s' has errors, so what it says of secrets is not known here", path);
  if (!*ret_settings)
    defaults(ret_settings, &options);
  return *ret_settings ? HF_EXIT_GOOD : hf_complain(HF_EXIT_FAILED, "out of memory");
}

int hf_dlq_complain(const struct hf_dlq *dlq, int error) {
  const char *trouble = dlq->database ? hf_database_trouble(dlq->database) : "";
  if (error == HF_ERR_TIMEOUT)
    return hf_complain(HF_EXIT_UNAVAILABLE, "others hold '%s' for too long; try again", dlq->path);
  return hf_complain(HF_EXIT_UNAVAILABLE, "'%s': %s%s%s", dlq->path, hf_err_text(error), *trouble ? ": " : "", trouble);
}

/* What a gateway that died left open is told as what it is, also when no other one runs that would do so. */
static int open_database(struct hf_dlq *dlq, bool make) {
  struct hf_error error = {0};
  const struct hf_database_options options = {
      .path = dlq->path, .settings = &dlq->settings->store, .must_exist = !make};
  int r = hf_database_open(&options, &dlq->database, &error);
  if (r == HF_ERR_NOTFOUND)
    return hf_complain(HF_EXIT_UNAVAILABLE,
                       "there is no '%s': no gateway has kept letters there. Where yours keeps them, --state says",
                       dlq->path);
  if (r < 0)
    return hf_complain(HF_EXIT_UNAVAILABLE, "%s", error.text);
  r = hf_database_recover(dlq->database, hf_clock_wall_ms());
  return r < 0 ? hf_dlq_complain(dlq, r) : HF_EXIT_GOOD;
}

/* A gateway may have been told to keep its letters elsewhere. */
static char *find_database(const struct hf_args *args, bool tell) {
  if (args->state)
    return hf_state_path(args->state, HF_STATE_DATABASE);
  struct hf_dlq_gateway gateway;
  HF_CLEANUP_FREE char *usual = hf_state_absolute(NULL, HF_STATE_DATABASE);
  if (!hf_dlq_ask_gateway(args, &gateway))
    return usual ? hf_strndup(usual, strlen(usual)) : NULL;
  if (tell && usual && strcmp(usual, gateway.database) != 0)
    (void)hf_complain(HF_EXIT_GOOD, "using '%s', where the gateway at '%s' keeps its letters", gateway.database,
                      gateway.control);
  char *path = hf_strndup(gateway.database, strlen(gateway.database));
  hf_dlq_gateway_deinit(&gateway);
  return path;
}

bool hf_dlq_exists(const struct hf_args *args) {
  HF_CLEANUP_FREE char *path = find_database(args, false);
  return path && access(path, F_OK) == 0;
}

int hf_dlq_open(const struct hf_args *args, bool make, struct hf_dlq *ret_dlq) {
  struct hf_dlq dlq = {.path = find_database(args, true)};
  int exit_code = dlq.path ? load_settings(args, &dlq.settings) : hf_complain(HF_EXIT_FAILED, "out of memory");
  if (exit_code == HF_EXIT_GOOD)
    exit_code = open_database(&dlq, make);
  if (exit_code == HF_EXIT_GOOD)
    *ret_dlq = dlq;
  else
    hf_dlq_close(&dlq);
  return exit_code;
}

void hf_dlq_close(struct hf_dlq *dlq) {
  hf_database_close(dlq->database);
  hf_settings_free(dlq->settings);
  hf_free(dlq->path);
  *dlq = (struct hf_dlq){0};
}

struct hf_letter_view hf_dlq_view(const struct hf_dlq *dlq, const struct hf_args *args) {
  return (struct hf_letter_view){
      .whole = true,
      .secrets_shown = (args->flags & HF_FLAG_SECRETS) != 0,
      .secrets = &dlq->settings->store.secrets,
  };
}

struct hf_str hf_dlq_who(char text[HF_DLQ_WHO_MAX]) {
  const struct passwd *entry = getpwuid(getuid());
  int n = entry ? snprintf(text, HF_DLQ_WHO_MAX, "%s", entry->pw_name)
                : snprintf(text, HF_DLQ_WHO_MAX, "user %u", (unsigned)getuid());
  return n > 0 && n < HF_DLQ_WHO_MAX ? (struct hf_str){text, (size_t)n} : (struct hf_str){NULL, 0};
}
