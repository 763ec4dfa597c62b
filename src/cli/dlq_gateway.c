/* Which database a running gateway has. */
#include "cli/dlq.h"

#include "base/alloc.h"
#include "cli/line.h"
#include "daemon/state.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ANSWER_MAX = 64 << 10 };

/* The string at result.database of the answer, owned; NULL: there is none. */
static char *read_database(struct hf_str answer) {
  const struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  struct hf_json_scan scan;
  struct hf_arena arena;
  struct hf_str text;
  uint32_t result, node;
  char *database = NULL;
  hf_json_scan_init(&scan, &options);
  hf_arena_init(&arena, ANSWER_MAX);
  if (hf_json_scan_feed(&scan, answer.ptr, answer.len, true) == 0) {
    const struct hf_json_doc doc = hf_json_doc(answer.ptr, &scan);
    if (hf_json_member(&doc, 0, HF_STR("result"), &result) == 0 &&
        hf_json_member(&doc, result, HF_STR("database"), &node) == 0 && hf_json_string(&doc, node, &arena, &text) == 0)
      database = hf_strndup(text.ptr, text.len);
  }
  hf_arena_deinit(&arena);
  hf_json_scan_deinit(&scan);
  return database;
}

bool hf_dlq_ask_gateway(const struct hf_args *args, struct hf_dlq_gateway *ret_gateway) {
  struct hf_dlq_gateway gateway = {0};
  struct hf_buf answer;
  hf_buf_init(&answer, ANSWER_MAX);
  if (hf_line_guess(args, &gateway.control) &&
      hf_control_call(gateway.control, HF_STR("{\"op\":\"store\"}"), &answer, NULL) == 0)
    gateway.database = read_database(hf_buf_str(&answer));
  hf_buf_deinit(&answer);
  if (!gateway.database)
    hf_dlq_gateway_deinit(&gateway);
  else
    *ret_gateway = gateway;
  return gateway.database != NULL;
}

void hf_dlq_gateway_deinit(struct hf_dlq_gateway *gateway) {
  hf_free(gateway->control);
  hf_free(gateway->database);
  *gateway = (struct hf_dlq_gateway){0};
}

static bool is_same_file(const char *a, const char *b) {
  struct stat left, right;
  return strcmp(a, b) == 0 ||
         (stat(a, &left) == 0 && stat(b, &right) == 0 && left.st_dev == right.st_dev && left.st_ino == right.st_ino);
}

int hf_dlq_check_state(const struct hf_args *args) {
  struct hf_dlq_gateway gateway;
  if (!args->state || !hf_dlq_ask_gateway(args, &gateway))
    return HF_EXIT_GOOD; /* no gateway, or none that keeps letters: it is told when the replay is asked for */
  HF_CLEANUP_FREE char *named = hf_state_absolute(args->state, HF_STATE_DATABASE);
  int exit_code = HF_EXIT_GOOD;
  if (!named)
    exit_code = hf_complain(HF_EXIT_FAILED, "out of memory");
  else if (!is_same_file(named, gateway.database))
    exit_code = hf_complain(HF_EXIT_USAGE,
                            "dlq replay: the gateway at '%s' makes the calls, and it keeps its letters in '%s', not in "
                            "'%s': start `holdfast serve --state %s`, or leave out --state",
                            gateway.control, gateway.database, named, args->state);
  hf_dlq_gateway_deinit(&gateway);
  return exit_code;
}
