/* `holdfast check --audit`: eight questions about the resilience of each tool, answered from the configuration as it
 * takes effect, with the line that decides and what would mend it.
 *
 * What is asked about are tools that the configuration names, patterns, what is left of each server, and routes; or,
 * when the servers were asked, the tools that they list. */
#ifndef HF_CLI_AUDIT_H
#define HF_CLI_AUDIT_H

#include "cli/args.h"
#include "daemon/decided.h"
#include "gateway/settings.h"
#include "json/value.h"

enum { HF_AUDIT_QUESTIONS = 8, HF_AUDIT_SUBJECTS_MAX = 10000 };

enum hf_audit_verdict { HF_AUDIT_NO, HF_AUDIT_PARTLY, HF_AUDIT_YES };

struct hf_audit_answer {
  enum hf_audit_verdict verdict;
  struct hf_str why;
  struct hf_decided decided;
  struct hf_str fix; /* absent where there is nothing to mend */
};

/* A tool at one server, or one provider of a route. */
struct hf_audit_part {
  const struct hf_server_settings *server;
  struct hf_str own;                   /* the tool's name there; absent: a pattern */
  const struct hf_tool_settings *tool; /* NULL: no entry is for it */
  bool listed;
  enum hf_safety annotated; /* of a listed one */
};

struct hf_audit_subject {
  struct hf_str name;
  const struct hf_route_settings *route; /* NULL: it is a tool */
  struct hf_audit_part part[HF_CALL_TARGETS_MAX];
  size_t part_count;
  struct hf_audit_answer answer[HF_AUDIT_QUESTIONS];
  unsigned score; /* of 100 */
};

struct hf_audit {
  const struct hf_settings *settings;
  const struct hf_node *root;
  struct hf_arena arena; /* names and answers */
  struct hf_audit_subject *subjects;
  size_t count;
  size_t cap;
  unsigned score; /* the mean; 100 where there is nothing to ask about */
  size_t noes;
  bool failed; /* no memory, or too many subjects */
};

/* Both are borrowed, and have been read from one file. */
void hf_audit_init(struct hf_audit *audit, const struct hf_settings *settings, const struct hf_node *root);
void hf_audit_deinit(struct hf_audit *audit);

/* Adds what the configuration alone tells of. */
void hf_audit_add_configured(struct hf_audit *audit);

/* Adds the tools in the status of a gateway (gateway.h, hf_gateway_status), and the routes; of a server that lists
 * none, what the configuration tells of. */
void hf_audit_add_listed(struct hf_audit *audit, const struct hf_json_doc *doc, uint32_t status);

/* Asks all questions. Returns 0, HF_ERR_NOMEM or HF_ERR_LIMIT: also what was lost before. */
int hf_audit_run(struct hf_audit *audit);

/* A constant word for a question ("timeouts"), and the question. */
const char *hf_audit_id(unsigned question);
const char *hf_audit_question(unsigned question);
const char *hf_audit_verdict_name(enum hf_audit_verdict verdict);

/* The policy and the answer settings (cache, default, letters, coalesce, fit) that hold for it. */
const struct hf_policy *hf_audit_policy(const struct hf_audit_subject *subject);
const struct hf_tool_settings *hf_audit_entry(const struct hf_audit *audit, const struct hf_audit_subject *subject);

/* The whole command, for `args->config`, from which `settings` are. Returns enum hf_exit. */
int hf_audit_command(const struct hf_args *args, const struct hf_settings *settings);

#endif
