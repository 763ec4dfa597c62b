#include "upstream/stdio.h"

#include "base/clock.h"
#include "daemon/loop.h"
#include "mcp/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { OUT_MAX = 64 };

struct bed {
  uv_loop_t uv;
  struct hf_loop loop;
  struct hf_loop_driver driver;
  struct hf_reaper *reaper;
  struct hf_transport *transport;
  struct hf_outgoing outs[OUT_MAX];
  size_t sent_bytes[OUT_MAX];
  bool complete[OUT_MAX];
  bool done[OUT_MAX];
  struct hf_evidence evidence[OUT_MAX];
  bool opened, closed;
  struct hf_evidence end;
  char reason[512];
  char messages[4096]; /* ids, one a line */
  size_t count;
  size_t bytes; /* of all messages */
};

static void on_opened(void *owner) {
  ((struct bed *)owner)->opened = true;
}

static void on_closed(void *owner, const struct hf_evidence *evidence, struct hf_str reason) {
  struct bed *bed = owner;
  bed->closed = true;
  bed->end = *evidence;
  snprintf(bed->reason, sizeof bed->reason, "%.*s", HF_STR_FMT(reason));
}

static void on_sent(void *owner, struct hf_outgoing *out, size_t bytes, bool complete) {
  struct bed *bed = owner;
  bed->sent_bytes[out - bed->outs] = bytes;
  bed->complete[out - bed->outs] = complete;
}

static void on_life(void *owner, struct hf_outgoing *out) {
  (void)owner;
  (void)out;
}

static void on_message(void *owner, struct hf_outgoing *out, const struct hf_message *message) {
  struct bed *bed = owner;
  assert_null(out);
  size_t len = strlen(bed->messages);
  snprintf(bed->messages + len, sizeof bed->messages - len, "%.*s\n", HF_STR_FMT(message->id));
  bed->count++;
  bed->bytes += hf_blob_str(message->blob).len;
}

static void on_done(void *owner, struct hf_outgoing *out, const struct hf_evidence *evidence) {
  struct bed *bed = owner;
  bed->done[out - bed->outs] = true;
  bed->evidence[out - bed->outs] = *evidence;
}

static const struct hf_transport_events events = {on_opened, on_closed, on_sent, on_life, on_message, on_done};

static void open_bed(struct bed *bed, const char *command, const char *script) {
  *bed = (struct bed){0};
  assert_int_equal(hf_reaper_new(&bed->reaper, NULL), 0);
  assert_int_equal(uv_loop_init(&bed->uv), 0);
  hf_loop_init(&bed->loop, 1, NULL);
  hf_loop_driver_init(&bed->driver, &bed->uv, &bed->loop);
  assert_int_equal(hf_reaper_attach(bed->reaper, &bed->uv, &bed->loop), 0);
  const struct hf_stdio_options options = {
      .uv = &bed->uv, .loop = &bed->loop, .reaper = bed->reaper, .leave_grace = HF_MS(100), .term_grace = HF_MS(100)};
  struct hf_str args[] = {HF_STR("-c"), hf_str_from(script)};
  const struct hf_server_settings settings = {
      .name = HF_STR("s"), .command = hf_str_from(command), .args = {args, script ? 2 : 0}, .max_message = 100000};
  assert_int_equal(hf_stdio_transport_new(&options, &settings, &events, bed, &bed->transport), 0);
  bed->transport->ops->open(bed->transport);
}

static void close_bed(struct bed *bed) {
  bed->transport->ops->free(bed->transport);
  hf_reaper_free(bed->reaper);
  hf_loop_driver_close(&bed->driver);
  uv_run(&bed->uv, UV_RUN_DEFAULT);
  assert_int_equal(uv_loop_close(&bed->uv), 0);
  hf_loop_deinit(&bed->loop);
  for (size_t i = 0; i < OUT_MAX; i++)
    hf_pieces_deinit(&bed->outs[i].text);
}

/* Runs until `*flag`, or ten seconds have passed. */
static bool run_until(struct bed *bed, const bool *flag) {
  hf_time until = hf_clock_now() + HF_SECONDS(10);
  while (!*flag && hf_clock_now() < until)
    uv_run(&bed->uv, UV_RUN_ONCE);
  return *flag;
}

static bool run_until_messages(struct bed *bed, size_t count) {
  hf_time until = hf_clock_now() + HF_SECONDS(10);
  while (bed->count < count && hf_clock_now() < until)
    uv_run(&bed->uv, UV_RUN_ONCE);
  return bed->count == count;
}

static int send_text(struct bed *bed, size_t i, struct hf_str text) {
  struct hf_outgoing *out = &bed->outs[i];
  *out = (struct hf_outgoing){.is_request = true, .id = i};
  assert_int_equal(hf_pieces_add_copy(&out->text, text), 0);
  return bed->transport->ops->send(bed->transport, out);
}

static int send_request(struct bed *bed, size_t i) {
  char text[80];
  snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"ping\"}", i);
  return send_text(bed, i, hf_str_from(text));
}

static void stdio__tells_each_request_and_takes_each_answer(void **state) {
  (void)state;
  struct bed bed;
  open_bed(&bed, "sh", "while read -r line; do echo \"$line\"; done");
  assert_true(run_until(&bed, &bed.opened));
  for (size_t i = 0; i < 50; i++)
    assert_int_equal(send_request(&bed, i), 0);
  assert_true(run_until_messages(&bed, 50));
  for (size_t i = 0; i < 50; i++) {
    assert_true(bed.complete[i]);
    assert_int_equal(bed.sent_bytes[i], bed.outs[i].text.len + 1);
    bed.transport->ops->abort(bed.transport, &bed.outs[i]);
  }
  assert_true(strncmp(bed.messages, "0\n1\n2\n3\n", 8) == 0);
  close_bed(&bed);
}

static void stdio__reads_messages_between_noise(void **state) {
  (void)state;
  struct bed bed;
  open_bed(&bed, "sh",
           "printf 'banner\\n\\033[31mred\\033[0m\\n[1,2]\\n\"text\"\\n123\\n{}\\n\\n'; printf '\\357\\273\\277'; "
           "printf '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\\r\\n'; "
           "printf '{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}  \\n'; "
           "printf '{\"jsonrpc\":\"2.0\",\"id\":4,'; printf '\"result\":{\"a\":\"\\303'; printf '\\244\"}}\\n'; "
           "printf '{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{'");
  assert_true(run_until(&bed, &bed.closed));
  assert_string_equal(bed.messages, "1\n2\n3\n4\n");
  close_bed(&bed);
}

static void stdio__says_why_it_ended(void **state) {
  (void)state;
  struct {
    const char *command;
    const char *script;
    enum hf_evidence_kind kind;
    const char *reason;
  } cases[] = {
      {"sh", "echo one >&2; echo two >&2; exit 3", HF_EVIDENCE_BROKE, "exited with code 3: one | two"},
      {"sh", "kill -9 $$", HF_EVIDENCE_BROKE, "killed by signal 9 (Killed)"},
      {"holdfast-no-such", NULL, HF_EVIDENCE_COMMAND_NOT_FOUND, "command 'holdfast-no-such' not found"},
      {"/etc/passwd", NULL, HF_EVIDENCE_COMMAND_NOT_FOUND, "command '/etc/passwd' cannot be run: Permission denied"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct bed bed;
    open_bed(&bed, cases[i].command, cases[i].script);
    assert_true(run_until(&bed, &bed.closed));
    assert_string_equal(bed.reason, cases[i].reason);
    assert_int_equal(bed.end.kind, cases[i].kind);
    assert_true(bed.end.child_dead);
    close_bed(&bed);
  }
}

static void stdio__death_in_flight_tells_what_was_handed_over(void **state) {
  (void)state;
  struct bed bed;
  /* It dies only when the second is on its way, which no pipe holds whole: so the others wait behind it by then. */
  open_bed(&bed, "sh", "read -r line; head -c 1000 >/dev/null; kill -9 $$");
  assert_true(run_until(&bed, &bed.opened));
  static char big[90000];
  memset(big, ' ', sizeof big);
  big[0] = '{', big[sizeof big - 1] = '}';
  assert_int_equal(send_request(&bed, 0), 0);
  for (size_t i = 1; i < 4; i++)
    assert_int_equal(send_text(&bed, i, (struct hf_str){big, sizeof big}), 0);
  assert_true(run_until(&bed, &bed.closed));
  assert_true(bed.complete[0]);
  assert_false(bed.complete[3]);
  assert_int_equal(bed.outs[3].handed, 0);
  assert_int_equal(bed.sent_bytes[3], 0);
  assert_false(bed.done[0]);
  close_bed(&bed);
}

static void stdio__reads_go_on_while_writes_wait(void **state) {
  (void)state;
  struct bed bed;
  /* It writes far more than a pipe holds before it reads anything. */
  open_bed(&bed, "sh",
           "i=0; while [ $i -lt 300 ]; do printf '{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"a\":\"%01000d\"}}\\n' 0; "
           "i=$((i+1)); done; while read -r line; do echo '{\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{}}'; done");
  assert_true(run_until(&bed, &bed.opened));
  static char big[90000];
  memset(big, ' ', sizeof big);
  big[0] = '{', big[sizeof big - 1] = '}';
  for (size_t i = 0; i < 10; i++)
    assert_int_equal(send_text(&bed, i, (struct hf_str){big, sizeof big}), 0);
  assert_true(run_until_messages(&bed, 310));
  assert_true(bed.complete[9]);
  close_bed(&bed);
}

static void stdio__oversize_answer_fails_its_call_alone(void **state) {
  (void)state;
  static const char *const shapes[] = {
      "printf '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"%0150000d\"}}\\n' 0",
      "printf '{\"result\":{\"a\":\"%0150000d\"},\"jsonrpc\":\"2.0\",\"id\":1}\\n' 0",
      "printf '{\"result\":{\"a\":\"%0150000d\"},\"id\": 1, \"jsonrpc\": \"2.0\"}\\n' 0",
  };
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    struct bed bed;
    char script[300];
    snprintf(script, sizeof script,
             "read -r a; read -r b; %s; echo '{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}'; read -r c", shapes[i]);
    open_bed(&bed, "sh", script);
    assert_true(run_until(&bed, &bed.opened));
    assert_int_equal(send_request(&bed, 1), 0);
    assert_int_equal(send_request(&bed, 2), 0);
    assert_true(run_until_messages(&bed, 1));
    assert_true(bed.done[1]);
    assert_int_equal(bed.evidence[1].kind, HF_EVIDENCE_BAD_REPLY);
    assert_false(bed.done[2]);
    assert_string_equal(bed.messages, "2\n");
    close_bed(&bed);
  }
}

static void stdio__line_breaks_inside_a_message_are_taken_out(void **state) {
  (void)state;
  struct bed bed;
  open_bed(&bed, "sh", "while read -r line; do echo \"$line\"; done");
  assert_true(run_until(&bed, &bed.opened));
  assert_int_equal(send_text(&bed, 0, HF_STR("{\"jsonrpc\":\"2.0\",\n\r\"id\":9,\"method\":\"ping\"}")), 0);
  assert_true(run_until_messages(&bed, 1));
  assert_string_equal(bed.messages, "9\n");
  close_bed(&bed);
}

static void stdio__close_ends_a_child_that_ignores_it(void **state) {
  (void)state;
  struct bed bed;
  open_bed(&bed, "sh",
           "trap '' TERM; (sleep 1000 &); echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}'; "
           "while :; do sleep 1000; done");
  assert_true(run_until_messages(&bed, 1));
  hf_time start = hf_clock_now();
  bed.transport->ops->close(bed.transport);
  assert_true(run_until(&bed, &bed.closed));
  assert_in_range(hf_clock_now() - start, HF_MS(190), HF_SECONDS(3));
  assert_string_equal(bed.reason, "killed by signal 9 (Killed)");
  close_bed(&bed);
}

static void stdio__close_lets_a_polite_child_leave(void **state) {
  (void)state;
  struct bed bed;
  open_bed(&bed, "sh", "cat > /dev/null; exit 5");
  assert_true(run_until(&bed, &bed.opened));
  bed.transport->ops->close(bed.transport);
  assert_true(run_until(&bed, &bed.closed));
  assert_string_equal(bed.reason, "exited with code 5");
  close_bed(&bed);
}

static void stdio__can_be_opened_again(void **state) {
  (void)state;
  struct bed bed;
  open_bed(&bed, "sh", "exit 1");
  for (int i = 0; i < 3; i++) {
    assert_true(run_until(&bed, &bed.closed));
    bed.closed = bed.opened = false;
    bed.transport->ops->open(bed.transport);
    assert_true(run_until(&bed, &bed.opened));
  }
  close_bed(&bed);
}

static void stdio__abort_before_the_write_takes_it_back(void **state) {
  (void)state;
  struct bed bed;
  /* The child reads nothing before the gate is there, so what doesn't fit the pipe is certain to wait here. */
  char gate[] = "/tmp/hf-stdio-gate-XXXXXX";
  char script[128];
  int fd = mkstemp(gate);
  assert_true(fd >= 0);
  close(fd);
  unlink(gate);
  snprintf(script, sizeof script, "until [ -e %s ]; do sleep 0.01; done; read -r go; cat", gate);
  open_bed(&bed, "sh", script);
  assert_true(run_until(&bed, &bed.opened));
  static char big[95000];
  memset(big, ' ', sizeof big);
  memcpy(big, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"", 38);
  big[sizeof big - 1] = '}';
  assert_int_equal(send_text(&bed, 1, (struct hf_str){big, sizeof big}), 0);
  assert_int_equal(send_request(&bed, 2), 0);
  assert_int_equal(send_request(&bed, 3), 0);
  assert_int_equal(bed.outs[2].handed, 0);
  bed.transport->ops->abort(bed.transport, &bed.outs[2]);
  fd = open(gate, O_CREAT | O_WRONLY, 0600);
  assert_true(fd >= 0);
  close(fd);
  assert_true(run_until_messages(&bed, 1));
  assert_string_equal(bed.messages, "3\n");
  unlink(gate);
  close_bed(&bed);
}

static void stdio__a_child_that_reads_nothing_has_a_bounded_queue(void **state) {
  (void)state;
  enum { MOST = 16384 };
  static struct hf_outgoing outs[MOST];
  struct bed bed;
  open_bed(&bed, "sh", "exec sleep 1000");
  assert_true(run_until(&bed, &bed.opened));
  size_t count = 0;
  int r = 0;
  for (; r == 0 && count < MOST; count++) {
    outs[count] = (struct hf_outgoing){0};
    assert_int_equal(hf_pieces_add_copy(&outs[count].text, HF_STR("{\"jsonrpc\":\"2.0\",\"method\":\"x\"}")), 0);
    r = bed.transport->ops->send(bed.transport, &outs[count]);
  }
  assert_int_equal(r, HF_ERR_LIMIT);
  assert_in_range(count, 4096, 8192); /* what fits the pipe comes on top */
  close_bed(&bed);
  for (size_t i = 0; i < count; i++)
    hf_pieces_deinit(&outs[i].text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(stdio__tells_each_request_and_takes_each_answer),
      cmocka_unit_test(stdio__reads_messages_between_noise),
      cmocka_unit_test(stdio__says_why_it_ended),
      cmocka_unit_test(stdio__death_in_flight_tells_what_was_handed_over),
      cmocka_unit_test(stdio__reads_go_on_while_writes_wait),
      cmocka_unit_test(stdio__oversize_answer_fails_its_call_alone),
      cmocka_unit_test(stdio__a_child_that_reads_nothing_has_a_bounded_queue),
      cmocka_unit_test(stdio__line_breaks_inside_a_message_are_taken_out),
      cmocka_unit_test(stdio__close_ends_a_child_that_ignores_it),
      cmocka_unit_test(stdio__close_lets_a_polite_child_leave),
      cmocka_unit_test(stdio__can_be_opened_again),
      cmocka_unit_test(stdio__abort_before_the_write_takes_it_back),
  };
  return cmocka_run_group_tests_name("stdio", tests, NULL, NULL);
}
