#include "front/stdio.h"

#include "base/clock.h"
#include "daemon/loop.h"
#include "mcp/compose.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { CALLS_MAX = 64 };

/* Stands for the gateway: remembers what it was handed, and answers when told. */
struct hf_client {
  struct hf_client_options options;
  struct hf_reply *replies[CALLS_MAX];
  char ids[CALLS_MAX][32];
  size_t count;
  unsigned notifications;
  unsigned abandoned;
  bool echo; /* answers at once */
  bool closed;
};

struct bed {
  uv_loop_t uv;
  struct hf_loop loop;
  struct hf_loop_driver driver;
  struct hf_settings settings;
  struct hf_client client;
  struct hf_front_stdio *front;
  int to; /* the client's ends */
  int from;
  int in, out;
  bool closed;
};

static struct hf_client *the_client(struct hf_gateway *gateway) {
  return (struct hf_client *)(void *)gateway;
}

int hf_client_open(struct hf_gateway *gateway, const struct hf_client_options *options, struct hf_client **ret_client) {
  struct hf_client *client = the_client(gateway);
  client->options = *options;
  *ret_client = client;
  return 0;
}

void hf_client_close(struct hf_client *client) {
  client->closed = true;
}

static void answer(struct hf_client *client, size_t i, struct hf_str result) {
  struct hf_buf buf;
  struct hf_pieces text;
  hf_buf_init(&buf, 1 << 20);
  hf_pieces_init(&text);
  assert_int_equal(hf_compose_result(&buf, hf_str_from(client->ids[i]), result), 0);
  assert_int_equal(hf_pieces_add_copy(&text, hf_buf_str(&buf)), 0);
  hf_buf_deinit(&buf);
  client->replies[i]->ops->finish(client->replies[i], 200, &text);
}

void hf_client_handle(struct hf_client *client, struct hf_message *message, struct hf_reply *reply) {
  if (reply) {
    assert_true(client->count < CALLS_MAX);
    size_t i = client->count++;
    client->replies[i] = reply;
    snprintf(client->ids[i], sizeof client->ids[i], "%.*s", HF_STR_FMT(message->id));
    hf_message_deinit(message);
    if (client->echo)
      answer(client, i, HF_STR("{}"));
    return;
  }
  client->notifications++;
  hf_message_deinit(message);
}

void hf_client_abandon(struct hf_client *client, struct hf_reply *reply) {
  (void)reply;
  client->abandoned++;
}

int hf_client_error_text(struct hf_str id, int code, struct hf_str message, struct hf_pieces *ret_text) {
  (void)message;
  struct hf_buf buf;
  hf_buf_init(&buf, 4096);
  int rc = hf_compose_error(&buf, id, code, HF_STR("m"), (struct hf_str){NULL, 0});
  if (rc == 0)
    rc = hf_pieces_add_copy(ret_text, hf_buf_str(&buf));
  hf_buf_deinit(&buf);
  return rc;
}

struct hf_str hf_client_version(const struct hf_client *client) {
  (void)client;
  return (struct hf_str){NULL, 0};
}

enum hf_era hf_client_era(const struct hf_client *client) {
  (void)client;
  return HF_ERA_UNKNOWN;
}

static void on_closed(void *context) {
  struct bed *bed = context;
  bed->closed = true;
  uv_stop(&bed->uv);
}

static void open_front(struct bed *bed) {
  const struct hf_front_stdio_options options = {.uv = &bed->uv,
                                                 .loop = &bed->loop,
                                                 .gateway = (struct hf_gateway *)(void *)&bed->client,
                                                 .settings = &bed->settings,
                                                 .in = bed->in,
                                                 .out = bed->out,
                                                 .closed = on_closed,
                                                 .context = bed};
  assert_int_equal(hf_front_stdio_new(&options, &bed->front, NULL), 0);
}

static void prepare(struct bed *bed) {
  *bed = (struct bed){0};
  bed->settings.limits = (struct hf_limits){.body_bytes = 100000,
                                            .json_depth = 512,
                                            .json_nodes = 65536,
                                            .write_backlog = 10000,
                                            .client_write = HF_SECONDS(5),
                                            .drain = HF_SECONDS(5)};
  assert_int_equal(uv_loop_init(&bed->uv), 0);
  hf_loop_init(&bed->loop, 1, NULL);
  hf_loop_driver_init(&bed->driver, &bed->uv, &bed->loop);
  int to[2], from[2];
  assert_int_equal(pipe2(to, O_CLOEXEC), 0);
  assert_int_equal(pipe2(from, O_CLOEXEC), 0);
  bed->to = to[1], bed->in = to[0], bed->from = from[0], bed->out = from[1];
}

static void open_bed(struct bed *bed) {
  prepare(bed);
  open_front(bed);
}

static void close_bed(struct bed *bed) {
  hf_front_stdio_free(bed->front);
  assert_true(bed->client.closed);
  hf_loop_driver_close(&bed->driver);
  uv_run(&bed->uv, UV_RUN_DEFAULT);
  assert_int_equal(uv_loop_close(&bed->uv), 0);
  assert_int_equal(bed->loop.timer_count, 0);
  hf_loop_deinit(&bed->loop);
  close(bed->to);
  close(bed->from);
  close(bed->in);
  close(bed->out);
}

static void say(struct bed *bed, const char *text) {
  assert_int_equal(write(bed->to, text, strlen(text)), strlen(text));
}

static void hang_up(struct bed *bed) {
  close(bed->to);
  bed->to = -1;
}

static void run_until_closed(struct bed *bed) {
  hf_time until = hf_clock_now() + HF_SECONDS(10);
  while (!bed->closed && hf_clock_now() < until)
    uv_run(&bed->uv, UV_RUN_ONCE);
  assert_true(bed->closed);
}

static void run_until_count(struct bed *bed, size_t count) {
  hf_time until = hf_clock_now() + HF_SECONDS(10);
  while (bed->client.count < count && hf_clock_now() < until)
    uv_run(&bed->uv, UV_RUN_ONCE);
  assert_int_equal(bed->client.count, count);
}

/* What has been written so far. */
static void hear(struct bed *bed, char *text, size_t size) {
  size_t len = 0;
  struct pollfd ready = {.fd = bed->from, .events = POLLIN};
  while (len + 1 < size && poll(&ready, 1, 0) == 1) {
    ssize_t n = read(bed->from, text + len, size - 1 - len);
    if (n <= 0)
      break;
    len += (size_t)n;
  }
  text[len] = '\0';
}

static void front_stdio__answers_what_was_read_before_the_end_of_input(void **state) {
  (void)state;
  struct bed bed;
  open_bed(&bed);
  say(&bed,
      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"ping\"}\n"
      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"
      "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}");
  hang_up(&bed);
  run_until_count(&bed, 3);
  uv_run(&bed.uv, UV_RUN_NOWAIT);
  assert_false(bed.closed);
  assert_int_equal(bed.client.notifications, 1);
  answer(&bed.client, 2, HF_STR("{}"));
  answer(&bed.client, 0, HF_STR("{}"));
  answer(&bed.client, 1, HF_STR("{}"));
  run_until_closed(&bed);
  char text[512];
  hear(&bed, text, sizeof text);
  assert_string_equal(text,
                      "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"
                      "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{}}\n");
  close_bed(&bed);
}

static void front_stdio__refuses_what_is_no_request_and_serves_the_rest(void **state) {
  (void)state;
  static const struct {
    const char *line;
    const char *answer;
  } cases[] = {
      {"\n", ""},
      {"hello\n", "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"m\"}}\n"},
      {"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"\xff\"}\n",
       "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32700,\"message\":\"m\"}}\n"},
      {"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"},{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}]\n",
       "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"m\"}}\n"},
      {"{\"jsonrpc\":\"2.0\",\"id\":8}\n", NULL},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct bed bed;
    open_bed(&bed);
    bed.client.echo = true;
    say(&bed, cases[i].line);
    say(&bed, "{\"jsonrpc\":\"2.0\",\"id\":99,\"method\":\"ping\"}\r\n");
    run_until_count(&bed, 1);
    uv_run(&bed.uv, UV_RUN_NOWAIT);
    char text[1024], expected[1024];
    hear(&bed, text, sizeof text);
    snprintf(expected, sizeof expected, "%s{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}\n",
             cases[i].answer ? cases[i].answer : "");
    if (cases[i].answer)
      assert_string_equal(text, expected);
    else
      assert_non_null(strstr(text, "\"id\":99"));
    close_bed(&bed);
  }
}

static void front_stdio__writes_single_lines(void **state) {
  (void)state;
  struct bed bed;
  open_bed(&bed);
  say(&bed, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
  run_until_count(&bed, 1);
  answer(&bed.client, 0, HF_STR("{\n\"a\":\r1}"));
  char text[256];
  hear(&bed, text, sizeof text);
  assert_string_equal(text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{ \"a\": 1}}\n");
  close_bed(&bed);
}

static void front_stdio__a_client_that_does_not_read_is_not_read(void **state) {
  (void)state;
  struct bed bed;
  open_bed(&bed);
  (void)fcntl(bed.out, F_SETPIPE_SZ, 4096);
  static char big[20000];
  memset(big, 'x', sizeof big);
  big[0] = big[sizeof big - 1] = '"';
  say(&bed, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
  run_until_count(&bed, 1);
  answer(&bed.client, 0, (struct hf_str){big, sizeof big});
  say(&bed, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n");
  for (int i = 0; i < 5; i++)
    uv_run(&bed.uv, UV_RUN_NOWAIT);
  assert_int_equal(bed.client.count, 1);
  static char text[30000];
  size_t len = 0;
  while (len < sizeof big) {
    char part[8192];
    hear(&bed, part, sizeof part);
    memcpy(text + len, part, strlen(part));
    len += strlen(part);
    uv_run(&bed.uv, UV_RUN_NOWAIT);
  }
  run_until_count(&bed, 2);
  close_bed(&bed);
}

static void front_stdio__a_client_that_takes_nothing_is_given_up(void **state) {
  (void)state;
  struct bed bed;
  prepare(&bed);
  bed.settings.limits.client_write = HF_MS(50);
  open_front(&bed);
  (void)fcntl(bed.out, F_SETPIPE_SZ, 4096);
  static char big[20000];
  memset(big, 'x', sizeof big);
  big[0] = big[sizeof big - 1] = '"';
  say(&bed, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
  run_until_count(&bed, 1);
  answer(&bed.client, 0, (struct hf_str){big, sizeof big});
  run_until_closed(&bed);
  close_bed(&bed);
}

static void front_stdio__a_subscription_does_not_hold_up_the_end(void **state) {
  (void)state;
  struct bed bed;
  open_bed(&bed);
  say(&bed, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscriptions/listen\",\"params\":{}}\n");
  run_until_count(&bed, 1);
  hang_up(&bed);
  run_until_closed(&bed);
  assert_int_equal(bed.client.abandoned, 1);
  close_bed(&bed);
}

static void front_stdio__reads_a_file_to_its_end(void **state) {
  (void)state;
  struct bed bed;
  prepare(&bed);
  char path[] = "/tmp/holdfast-front-XXXXXX";
  int file = mkstemp(path);
  assert_true(file >= 0);
  unlink(path);
  for (int i = 0; i < 40; i++)
    dprintf(file, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"}%s\n", i,
            i == 20 ? "                       " : "");
  lseek(file, 0, SEEK_SET);
  close(bed.in);
  bed.in = file;
  bed.client.echo = true;
  open_front(&bed);
  run_until_closed(&bed);
  assert_int_equal(bed.client.count, 40);
  close_bed(&bed);
}

static void front_stdio__leaves_the_flags_of_its_descriptors_alone(void **state) {
  (void)state;
  struct bed bed;
  open_bed(&bed);
  assert_int_equal(fcntl(bed.in, F_GETFL) & O_NONBLOCK, 0);
  assert_int_equal(fcntl(bed.out, F_GETFL) & O_NONBLOCK, 0);
  close_bed(&bed);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(front_stdio__answers_what_was_read_before_the_end_of_input),
      cmocka_unit_test(front_stdio__refuses_what_is_no_request_and_serves_the_rest),
      cmocka_unit_test(front_stdio__writes_single_lines),
      cmocka_unit_test(front_stdio__a_client_that_does_not_read_is_not_read),
      cmocka_unit_test(front_stdio__a_client_that_takes_nothing_is_given_up),
      cmocka_unit_test(front_stdio__a_subscription_does_not_hold_up_the_end),
      cmocka_unit_test(front_stdio__reads_a_file_to_its_end),
      cmocka_unit_test(front_stdio__leaves_the_flags_of_its_descriptors_alone),
  };
  return cmocka_run_group_tests_name("front_stdio", tests, NULL, NULL);
}
