#include "cli/interrupt.h"
#include "cli/line.h"
#include "cli/query_text.h"
#include "cli/status_text.h"
#include "daemon/quantity.h"

#include "json/write.h"

#include <stdio.h>
#include <unistd.h>

enum { QUESTION_MAX = 17 << 20, PAGES_MAX = 1000 };

static int print_raw(struct hf_str raw) {
  return fwrite(raw.ptr, 1, raw.len, stdout) == raw.len && fputc('\n', stdout) != EOF ? HF_EXIT_GOOD : HF_EXIT_FAILED;
}

/* The result in a response of the gateway; an error in it is said, and 0 returned. */
static uint32_t find_result(const struct hf_line_answer *answer) {
  uint32_t response = HF_JSON_NONE;
  uint32_t result;
  if (hf_json_member(&answer->doc, 0, HF_STR("response"), &response) == 0 &&
      hf_json_member(&answer->doc, response, HF_STR("result"), &result) == 0)
    return result;
  hf_query_complain(&answer->doc, response);
  return HF_JSON_NONE;
}

static int ask_tools(struct hf_line *line, struct hf_str cursor, struct hf_line_answer *ret_answer) {
  struct hf_buf question;
  struct hf_json_writer w;
  hf_buf_init(&question, QUESTION_MAX);
  hf_json_writer_init(&w, &question);
  hf_json_write_object(&w);
  hf_json_write_member_str(&w, "op", HF_STR("tools"));
  if (cursor.ptr)
    hf_json_write_member_raw(&w, "cursor", cursor);
  hf_json_write_object_end(&w);
  int exit_code = HF_EXIT_FAILED;
  if (hf_json_write_finish(&w) == 0)
    exit_code = hf_line_ask(line, hf_buf_str(&question), ret_answer);
  else
    hf_complain(HF_EXIT_FAILED, "out of memory");
  hf_buf_deinit(&question);
  return exit_code;
}

/* Prints page after page; in JSON, one array of all. */
static int list_tools(struct hf_line *line, bool json) {
  struct hf_buf cursor;
  hf_buf_init(&cursor, QUESTION_MAX);
  int exit_code = HF_EXIT_GOOD;
  bool more = true;
  size_t printed = 0;
  if (json)
    (void)fputc('[', stdout);
  for (int page = 0; more && exit_code == HF_EXIT_GOOD && page < PAGES_MAX; page++) {
    struct hf_line_answer answer;
    exit_code = ask_tools(line, page ? hf_buf_str(&cursor) : (struct hf_str){NULL, 0}, &answer);
    if (exit_code != HF_EXIT_GOOD)
      break;
    uint32_t result = find_result(&answer);
    uint32_t next;
    exit_code = result ? HF_EXIT_GOOD : HF_EXIT_FAILED;
    if (result)
      printed += hf_query_print_tools(&answer.doc, result, json, printed);
    more = result && hf_json_member(&answer.doc, result, HF_STR("nextCursor"), &next) == 0;
    hf_buf_reset(&cursor, QUESTION_MAX);
    if (more && hf_buf_append_str(&cursor, hf_json_span(&answer.doc, next)) < 0)
      exit_code = hf_complain(HF_EXIT_FAILED, "out of memory");
    hf_line_answer_deinit(&answer);
  }
  if (json)
    (void)fputs("]\n", stdout);
  hf_buf_deinit(&cursor);
  return exit_code;
}

int hf_cmd_tools(const struct hf_args *args) {
  struct hf_line line;
  int exit_code = hf_line_open(args, true, &line);
  if (exit_code != HF_EXIT_GOOD)
    return exit_code;
  exit_code = list_tools(&line, (args->flags & HF_FLAG_JSON) != 0);
  hf_line_close(&line);
  return exit_code;
}

static int write_call(const struct hf_args *args, struct hf_buf *question) {
  struct hf_json_writer w;
  hf_json_writer_init(&w, question);
  hf_json_write_object(&w);
  hf_json_write_member_str(&w, "op", HF_STR("call"));
  hf_json_write_member_str(&w, "name", hf_str_from(args->rest[0]));
  hf_json_write_member_raw(&w, "arguments", hf_str_from(args->rest_count > 1 ? args->rest[1] : "{}"));
  hf_json_write_object_end(&w);
  return hf_json_write_finish(&w);
}

/* The question is glued only from what is JSON. */
static int check_arguments(const char *text) {
  struct hf_error error = {0};
  const struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  int r = hf_json_scan_feed(&scan, text, strlen(text), true);
  bool object = r == 0 && scan.nodes[0].type == HF_JSON_OBJECT;
  if (r < 0)
    hf_json_scan_error(&scan, &error);
  hf_json_scan_deinit(&scan);
  if (r < 0)
    return hf_complain(HF_EXIT_USAGE, "call: the arguments are no JSON: %s", error.text);
  return object ? HF_EXIT_GOOD : hf_complain(HF_EXIT_USAGE, "call: the arguments must be a JSON object");
}

static int print_call(const struct hf_line_answer *answer, bool json) {
  uint32_t result = find_result(answer);
  if (!result)
    return HF_EXIT_FAILED;
  uint32_t node;
  bool failed = false;
  if (hf_json_member(&answer->doc, result, HF_STR("isError"), &node) == 0)
    (void)hf_json_bool(&answer->doc, node, &failed);
  int exit_code = json ? print_raw(hf_json_span(&answer->doc, result)) : hf_query_print_content(&answer->doc, result);
  return failed ? HF_EXIT_FAILED : exit_code;
}

int hf_cmd_call(const struct hf_args *args) {
  int exit_code = args->rest_count > 1 ? check_arguments(args->rest[1]) : HF_EXIT_GOOD;
  if (exit_code != HF_EXIT_GOOD)
    return exit_code;
  struct hf_line line;
  exit_code = hf_line_open(args, true, &line);
  if (exit_code != HF_EXIT_GOOD)
    return exit_code;
  struct hf_buf question;
  struct hf_line_answer answer;
  hf_buf_init(&question, QUESTION_MAX);
  bool written = write_call(args, &question) == 0;
  if (written)
    exit_code = hf_line_ask(&line, hf_buf_str(&question), &answer);
  else
    exit_code = hf_complain(HF_EXIT_FAILED, "call: the arguments are too long");
  if (written && exit_code == HF_EXIT_GOOD) {
    exit_code = print_call(&answer, (args->flags & HF_FLAG_JSON) != 0);
    hf_line_answer_deinit(&answer);
  }
  hf_buf_deinit(&question);
  hf_line_close(&line);
  return exit_code;
}

static int print_status(struct hf_line *line, bool json, bool tools) {
  struct hf_line_answer answer;
  int exit_code = hf_line_ask(line, HF_STR("{\"op\":\"status\"}"), &answer);
  if (exit_code != HF_EXIT_GOOD)
    return exit_code;
  uint32_t result;
  if (hf_json_member(&answer.doc, 0, HF_STR("result"), &result) < 0)
    exit_code = hf_complain(HF_EXIT_FAILED, "the answer of the gateway cannot be read");
  else if (json)
    exit_code = print_raw(hf_json_span(&answer.doc, result));
  else
    exit_code = tools ? hf_query_print_probe(&answer.doc, result) : hf_status_print(&answer.doc, result);
  hf_line_answer_deinit(&answer);
  return exit_code;
}

/* A picture that is drawn anew on a terminal; in JSON, one line after the other. Elsewhere it would be a heap of
 * pictures, so there is one. */
static int watch_status(struct hf_line *line, bool json, int every_ms) {
  struct hf_interrupt interrupt;
  if (!json && !isatty(STDOUT_FILENO))
    return print_status(line, json, false);
  if (hf_interrupt_init(&interrupt) < 0)
    return hf_complain(HF_EXIT_FAILED, "cannot wait for signals");
  int exit_code;
  do {
    if (!json)
      (void)fputs("\033[H\033[2J", stdout);
    exit_code = print_status(line, json, false);
    (void)fflush(stdout);
  } while (exit_code != HF_EXIT_UNAVAILABLE && !ferror(stdout) && !hf_interrupt_wait(&interrupt, every_ms));
  hf_interrupt_deinit(&interrupt);
  return exit_code == HF_EXIT_UNAVAILABLE ? exit_code : HF_EXIT_GOOD;
}

/* In seconds, with decimals; none: 2. */
static int read_every(const char *text, int *ret_ms) {
  hf_time every = HF_SECONDS(2);
  char with_unit[HF_QUANTITY_TEXT_MAX];
  int n = snprintf(with_unit, sizeof with_unit, "%.20ss", text);
  if (*text && (n < 0 || hf_duration_parse((struct hf_str){with_unit, (size_t)n}, &every) < 0 || every < HF_MS(100) ||
                every > HF_SECONDS(86400)))
    return hf_complain(HF_EXIT_USAGE, "--watch: '%.20s' is no number of seconds from 0.1 to 86400", text);
  *ret_ms = (int)(every / HF_MS(1));
  return HF_EXIT_GOOD;
}

int hf_cmd_status(const struct hf_args *args) {
  struct hf_line line;
  const bool json = (args->flags & HF_FLAG_JSON) != 0;
  int every_ms = 0;
  int exit_code = args->watch ? read_every(args->watch, &every_ms) : HF_EXIT_GOOD;
  if (exit_code == HF_EXIT_GOOD)
    exit_code = hf_line_open(args, false, &line);
  if (exit_code != HF_EXIT_GOOD)
    return exit_code;
  exit_code = args->watch ? watch_status(&line, json, every_ms) : print_status(&line, json, false);
  hf_line_close(&line);
  return exit_code;
}

/* `check --probe`: asking for the tools starts every server; then the status tells how safe each tool is, and why. */
int hf_query_probe(const struct hf_args *args) {
  struct hf_line line;
  struct hf_line_answer answer;
  int exit_code = hf_line_open(args, true, &line);
  if (exit_code != HF_EXIT_GOOD)
    return exit_code;
  exit_code = ask_tools(&line, (struct hf_str){NULL, 0}, &answer);
  if (exit_code == HF_EXIT_GOOD) {
    hf_line_answer_deinit(&answer);
    exit_code = print_status(&line, (args->flags & HF_FLAG_JSON) != 0, true);
  }
  hf_line_close(&line);
  return exit_code;
}
