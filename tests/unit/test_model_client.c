#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "daemon/loop.h"
#include "daemon/model_client.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { REQUESTS_MAX = 64, REQUEST_MAX = 8192, LIMIT_MS = 20000, TEXT_MAX = 64 << 10 };

#define KEY "sk-do-not-show"
#define GOOD "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
#define SAYS(text)                                                                                                     \
  GOOD "{\"choices\":[{\"message\":{\"content\":\"" text "\"}}],\"usage\":{\"total_tokens\":1,"                        \
       "\"prompt_tokens\":90,\"completion_tokens\":10}}"
/* What servers say of a key that they don't take. */
#define FAILS(status) "HTTP/1.1 " status "\r\nConnection: close\r\n\r\n{\"error\":\"Incorrect API key: " KEY "\"}"

/* A loop, and a server that answers each request with the next of its texts, the last one again and again; NULL: not at
 * all; "": by closing. */
struct world {
  uv_loop_t uv;
  struct hf_loop loop;
  struct hf_loop_driver driver;
  struct hf_log *log;
  int log_fd[2];
  uv_tcp_t listener;
  const char *answers[8];
  size_t answer_count;
  size_t request_count;
  char requests[REQUESTS_MAX][REQUEST_MAX];
  size_t peers;
  char url[64];
  struct hf_model_settings settings;
  struct hf_model_client *client;
};

struct peer {
  uv_tcp_t tcp;
  uv_write_t write;
  struct world *world;
  char text[REQUEST_MAX];
  size_t len;
  char bytes[4096];
};

struct asked {
  struct hf_model_wait wait;
  unsigned answers;
  int error;
  char text[256];
};

static void on_peer_closed(uv_handle_t *handle) {
  struct peer *peer = handle->data;
  peer->world->peers--;
  hf_free(peer);
}

static void close_peer(uv_handle_t *handle) {
  if (!uv_is_closing(handle))
    uv_close(handle, on_peer_closed);
}

static void on_answered(uv_write_t *write, int status) {
  (void)status;
  close_peer((uv_handle_t *)write->handle);
}

static void alloc_bytes(uv_handle_t *handle, size_t size, uv_buf_t *buf) {
  (void)size;
  struct peer *peer = handle->data;
  *buf = uv_buf_init(peer->bytes, sizeof peer->bytes);
}

static bool is_whole(const struct peer *peer) {
  const char *end = strstr(peer->text, "\r\n\r\n");
  const char *length = strcasestr(peer->text, "\r\nContent-Length: ");
  return end && length && strlen(end + 4) >= strtoul(length + 18, NULL, 10);
}

static void answer(struct peer *peer) {
  struct world *world = peer->world;
  assert_true(world->request_count < REQUESTS_MAX);
  const size_t at = world->request_count < world->answer_count ? world->request_count : world->answer_count - 1;
  memcpy(world->requests[world->request_count++], peer->text, sizeof peer->text);
  const char *text = world->answers[at];
  if (!text)
    return;
  if (!text[0]) {
    close_peer((uv_handle_t *)&peer->tcp);
    return;
  }
  const uv_buf_t buf = uv_buf_init((char *)(uintptr_t)text, (unsigned)strlen(text));
  assert_int_equal(uv_write(&peer->write, (uv_stream_t *)&peer->tcp, &buf, 1, on_answered), 0);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf) {
  struct peer *peer = stream->data;
  if (n < 0) {
    close_peer((uv_handle_t *)stream);
    return;
  }
  assert_true(peer->len + (size_t)n < sizeof peer->text);
  memcpy(peer->text + peer->len, buf->base, (size_t)n);
  peer->len += (size_t)n;
  if (is_whole(peer))
    answer(peer);
}

static void on_connection(uv_stream_t *server, int status) {
  struct world *world = server->data;
  assert_int_equal(status, 0);
  struct peer *peer = hf_calloc(1, sizeof *peer);
  peer->world = world;
  world->peers++;
  uv_tcp_init(&world->uv, &peer->tcp);
  peer->tcp.data = peer;
  assert_int_equal(uv_accept(server, (uv_stream_t *)&peer->tcp), 0);
  uv_read_start((uv_stream_t *)&peer->tcp, alloc_bytes, on_read);
}

static void listen_somewhere(struct world *world) {
  struct sockaddr_in address;
  int len = sizeof address;
  uv_ip4_addr("127.0.0.1", 0, &address);
  uv_tcp_init(&world->uv, &world->listener);
  world->listener.data = world;
  assert_int_equal(uv_tcp_bind(&world->listener, (const struct sockaddr *)&address, 0), 0);
  assert_int_equal(uv_listen((uv_stream_t *)&world->listener, 8, on_connection), 0);
  assert_int_equal(uv_tcp_getsockname(&world->listener, (struct sockaddr *)&address, &len), 0);
  assert_true(snprintf(world->url, sizeof world->url, "http://127.0.0.1:%d/v1", ntohs(address.sin_port)) > 0);
}

static int set_up(void **state) {
  struct world *world = hf_calloc(1, sizeof *world);
  assert_int_equal(uv_loop_init(&world->uv), 0);
  assert_int_equal(pipe(world->log_fd), 0);
  world->log = hf_log_new(world->log_fd[1], HF_LOG_DEBUG, HF_LOG_HUMAN);
  hf_loop_init(&world->loop, 7, world->log);
  hf_loop_driver_init(&world->driver, &world->uv, &world->loop);
  hf_loop_advance(&world->loop, hf_clock_now(), hf_clock_wall_ms());
  listen_somewhere(world);
  world->settings = (struct hf_model_settings){
      .url = hf_str_from(world->url),
      .name = HF_STR("small"),
      .key = HF_STR(KEY),
      .timeout = HF_SECONDS(10),
      .max_tokens = 100,
      .budget = 0,
  };
  assert_int_equal(hf_model_client_new(&world->uv, &world->loop, &world->settings, &world->client), 0);
  *state = world;
  return 0;
}

static void close_handle(uv_handle_t *handle, void *world) {
  if (handle->type == UV_TCP && handle != (uv_handle_t *)&((struct world *)world)->listener)
    close_peer(handle);
}

static int tear_down(void **state) {
  struct world *world = *state;
  hf_model_client_free(world->client);
  uv_walk(&world->uv, close_handle, world);
  uv_close((uv_handle_t *)&world->listener, NULL);
  uv_run(&world->uv, UV_RUN_NOWAIT);
  hf_loop_driver_close(&world->driver);
  uv_run(&world->uv, UV_RUN_DEFAULT);
  assert_int_equal(world->peers, 0);
  assert_int_equal(uv_loop_close(&world->uv), 0);
  hf_loop_deinit(&world->loop);
  close(world->log_fd[1]);
  hf_log_free(world->log); /* which has the other end open as well */
  char logged[TEXT_MAX];
  const ssize_t n = read(world->log_fd[0], logged, sizeof logged);
  assert_true(n <= 0 || !memmem(logged, (size_t)n, KEY, strlen(KEY)));
  close(world->log_fd[0]);
  hf_free(world);
  return 0;
}

static void on_answer(struct hf_model_wait *wait, int error, struct hf_str text) {
  struct asked *asked = HF_CONTAINER_OF(wait, struct asked, wait);
  asked->answers++;
  asked->error = error;
  assert_true(text.len < sizeof asked->text);
  if (text.len > 0)
    memcpy(asked->text, text.ptr, text.len);
  asked->text[text.len] = '\0';
}

static int ask_within(struct world *world, struct asked *asked, hf_time patience) {
  struct hf_model *model = hf_model_client_seam(world->client);
  *asked = (struct asked){.wait.done = on_answer};
  hf_loop_advance(&world->loop, hf_clock_now(), hf_clock_wall_ms());
  int r = model->ops->ask(model, HF_STR("instructions"), HF_STR("message"), world->loop.now + patience, &asked->wait);
  assert_int_equal(asked->answers, 0); /* never from within */
  return r;
}

static int ask(struct world *world, struct asked *asked) {
  return ask_within(world, asked, HF_SECONDS(10));
}

static void on_limit(uv_timer_t *timer) {
  (void)timer;
  fail_msg("nothing happened in time");
}

static void wait_for(struct world *world, const struct asked *asked) {
  uv_timer_t limit;
  uv_timer_init(&world->uv, &limit);
  uv_timer_start(&limit, on_limit, LIMIT_MS, 0);
  while (asked->answers == 0)
    uv_run(&world->uv, UV_RUN_ONCE);
  uv_close((uv_handle_t *)&limit, NULL);
  uv_run(&world->uv, UV_RUN_NOWAIT);
  assert_int_equal(asked->answers, 1);
}

static void server_says(struct world *world, const char *a, const char *b) {
  world->answers[0] = a;
  world->answers[1] = b;
  world->answer_count = b ? 2 : 1;
  world->request_count = 0;
}

static void model_client__asks_and_tells(void **state) {
  struct world *world = *state;
  struct asked asked;
  server_says(world, SAYS("{\\\"n\\\":1}"), NULL);
  assert_int_equal(ask(world, &asked), 0);
  wait_for(world, &asked);
  assert_int_equal(asked.error, 0);
  assert_string_equal(asked.text, "{\"n\":1}");
  assert_int_equal(world->request_count, 1);
  assert_non_null(strstr(world->requests[0], "POST /v1/chat/completions HTTP/1.1\r\n"));
  assert_non_null(strstr(world->requests[0], "\r\nAuthorization: Bearer " KEY "\r\n"));
  assert_non_null(strstr(world->requests[0], "\"messages\":[{\"role\":\"system\",\"content\":\"instructions\"},"
                                             "{\"role\":\"user\",\"content\":\"message\"}]"));
  assert_null(strstr(strstr(world->requests[0], "\r\n\r\n"), KEY));
}

/* Each is asked again, once it is known to help. */
static void model_client__what_may_pass_is_tried_again(void **state) {
  struct world *world = *state;
  static const char *const faults[] = {
      FAILS("500 No"),
      FAILS("529 Overloaded"),
      "HTTP/1.1 429 Slow down\r\nRetry-After: 0\r\nConnection: close\r\n\r\n",
      "",
      GOOD "<html>",
      GOOD "{\"choices\":[]}",
      GOOD "{\"choices\":[{\"message\":{\"content\":\"cut o",
  };
  for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
    struct asked asked;
    server_says(world, faults[i], SAYS("{}"));
    assert_int_equal(ask(world, &asked), 0);
    wait_for(world, &asked);
    if (asked.error != 0 || world->request_count != 2)
      fail_msg("'%.40s': %d after %zu", faults[i], asked.error, world->request_count);
    assert_string_equal(asked.text, "{}");
  }
}

/* Any pause of its own would be shorter. */
static void model_client__retry_after_is_waited_for(void **state) {
  struct world *world = *state;
  struct asked asked;
  server_says(world, "HTTP/1.1 429 Slow down\r\nRetry-After: 1\r\nConnection: close\r\n\r\n", SAYS("{}"));
  const hf_time began = hf_clock_now();
  assert_int_equal(ask(world, &asked), 0);
  wait_for(world, &asked);
  assert_int_equal(asked.error, 0);
  assert_true(hf_clock_now() - began >= HF_SECONDS(1));
}

static void model_client__what_is_final_is_not(void **state) {
  struct world *world = *state;
  static const char *const faults[] = {
      FAILS("400 Bad"),
      FAILS("401 Who"),
      FAILS("404 Where"),
      "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nConnection: close\r\n\r\n",
  };
  for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
    struct asked asked;
    server_says(world, faults[i], SAYS("{}"));
    assert_int_equal(ask(world, &asked), 0);
    wait_for(world, &asked);
    if (asked.error != HF_ERR_UNAVAILABLE || world->request_count != 1)
      fail_msg("'%.40s': %d after %zu", faults[i], asked.error, world->request_count);
  }
}

static void model_client__gives_up_in_time(void **state) {
  struct world *world = *state;
  struct asked asked;
  server_says(world, NULL, NULL);
  const hf_time began = hf_clock_now();
  assert_int_equal(ask_within(world, &asked, HF_MS(200)), 0);
  wait_for(world, &asked);
  assert_int_equal(asked.error, HF_ERR_UNAVAILABLE);
  assert_true(hf_clock_now() - began < HF_SECONDS(5));
}

/* A request that hangs is cut off after its own time, and made again. */
static void model_client__a_request_has_its_own_timeout(void **state) {
  struct world *world = *state;
  struct asked asked;
  world->settings.timeout = HF_MS(150);
  assert_int_equal(hf_model_client_reload(world->client, &world->settings), 0);
  server_says(world, NULL, SAYS("{}"));
  assert_int_equal(ask(world, &asked), 0);
  wait_for(world, &asked);
  assert_int_equal(asked.error, 0);
  assert_int_equal(world->request_count, 2);
}

/* What hangs once it is connected was reached, and may have cost something. */
static void model_client__what_hangs_was_reached(void **state) {
  struct world *world = *state;
  struct asked asked;
  char logged[TEXT_MAX];
  world->settings.timeout = HF_MS(50);
  assert_int_equal(hf_model_client_reload(world->client, &world->settings), 0);
  server_says(world, NULL, NULL);
  assert_int_equal(ask(world, &asked), 0);
  wait_for(world, &asked);
  assert_int_equal(asked.error, HF_ERR_UNAVAILABLE);
  const ssize_t n = read(world->log_fd[0], logged, sizeof logged);
  assert_true(n > 0 && memmem(logged, (size_t)n, "fault=timed_out", 15));
}

static void model_client__what_is_down_is_not_asked(void **state) {
  struct world *world = *state;
  struct asked asked;
  server_says(world, FAILS("500 No"), NULL);
  int r = 0;
  for (unsigned i = 0; i < 5 && r == 0; i++) {
    r = ask(world, &asked);
    if (r == 0)
      wait_for(world, &asked);
  }
  assert_int_equal(ask(world, &asked), HF_ERR_UNAVAILABLE);
  assert_true(world->request_count <= 3 * 5);
}

static void model_client__no_more_than_two_at_a_time(void **state) {
  struct world *world = *state;
  struct asked asked[4];
  server_says(world, NULL, NULL);
  for (size_t i = 0; i < 4; i++)
    assert_int_equal(ask_within(world, &asked[i], HF_MS(600)), 0);
  for (size_t i = 0; i < 4; i++)
    wait_for(world, &asked[i]);
  assert_int_equal(world->request_count, HF_MODEL_CONCURRENT);
}

static void model_client__no_more_wait_than_its_limit(void **state) {
  struct world *world = *state;
  static struct asked asked[HF_MODEL_CONCURRENT + HF_MODEL_WAITING_MAX];
  struct asked one_more;
  const size_t count = sizeof asked / sizeof asked[0];
  server_says(world, NULL, NULL);
  for (size_t i = 0; i < count; i++)
    assert_int_equal(ask_within(world, &asked[i], HF_SECONDS(10)), 0);
  assert_int_equal(ask(world, &one_more), HF_ERR_LIMIT);
  struct hf_model *model = hf_model_client_seam(world->client);
  model->ops->forget(model, &asked[7].wait);
  assert_int_equal(ask(world, &one_more), 0);
}

static void model_client__three_attempts_and_no_more(void **state) {
  struct world *world = *state;
  struct asked asked;
  server_says(world, FAILS("500 No"), NULL);
  assert_int_equal(ask(world, &asked), 0);
  wait_for(world, &asked);
  assert_int_equal(asked.error, HF_ERR_UNAVAILABLE);
  assert_int_equal(world->request_count, HF_MODEL_ATTEMPTS);
}

/* The budget holds what a question may cost at most, and takes what it did cost. */
static void model_client__tokens_are_bounded_by_the_hour(void **state) {
  struct world *world = *state;
  struct asked asked;
  world->settings.budget = 800; /* 400 at once: two answers of 100, and then another's most of 100 and its prompt */
  assert_int_equal(hf_model_client_reload(world->client, &world->settings), 0);
  server_says(world, SAYS("{}"), NULL);
  unsigned answered = 0;
  while (ask(world, &asked) == 0 && answered < 10) {
    wait_for(world, &asked);
    answered++;
  }
  assert_int_equal(answered, 3);
  assert_int_equal(world->request_count, 3);

  world->settings.budget = 2000; /* what was taken stays taken, and what is more is there at once */
  assert_int_equal(hf_model_client_reload(world->client, &world->settings), 0);
  answered = 0;
  while (ask(world, &asked) == 0 && answered < 20) {
    wait_for(world, &asked);
    answered++;
  }
  assert_int_equal(answered, 6);

  world->settings.budget = 0;
  assert_int_equal(hf_model_client_reload(world->client, &world->settings), 0);
  assert_int_equal(ask(world, &asked), 0);
  wait_for(world, &asked);
  assert_int_equal(asked.error, 0);
}

static void model_client__a_refusal_costs_nothing(void **state) {
  struct world *world = *state;
  struct asked asked;
  world->settings.budget = 800;
  assert_int_equal(hf_model_client_reload(world->client, &world->settings), 0);
  server_says(world, FAILS("401 Who"), NULL);
  for (unsigned i = 0; i < 6; i++) {
    assert_int_equal(ask(world, &asked), 0);
    wait_for(world, &asked);
  }
}

static void model_client__what_is_forgotten_is_not_told(void **state) {
  struct world *world = *state;
  struct hf_model *model = hf_model_client_seam(world->client);
  struct asked first, second;
  server_says(world, SAYS("{}"), NULL);
  assert_int_equal(ask(world, &first), 0);
  model->ops->forget(model, &first.wait);
  model->ops->forget(model, &first.wait);
  assert_int_equal(ask(world, &second), 0);
  wait_for(world, &second);
  assert_int_equal(first.answers, 0);

  assert_int_equal(ask(world, &first), 0); /* and freed with it under way */
  uv_run(&world->uv, UV_RUN_NOWAIT);
}

static void model_client__an_endless_answer_is_cut_off(void **state) {
  struct world *world = *state;
  struct asked asked;
  const size_t len = 2 << 20;
  char *text = malloc(len + 1);
  assert_non_null(text);
  memset(text, ' ', len);
  memcpy(text, GOOD, strlen(GOOD));
  text[len] = '\0';
  server_says(world, text, SAYS("{}"));
  assert_int_equal(ask(world, &asked), 0);
  wait_for(world, &asked);
  assert_int_equal(asked.error, 0);
  assert_int_equal(world->request_count, 2);
  uv_walk(&world->uv, close_handle, world);
  uv_run(&world->uv, UV_RUN_NOWAIT);
  free(text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(model_client__asks_and_tells),
      TEST(model_client__what_may_pass_is_tried_again),
      TEST(model_client__retry_after_is_waited_for),
      TEST(model_client__what_is_final_is_not),
      TEST(model_client__gives_up_in_time),
      TEST(model_client__a_request_has_its_own_timeout),
      TEST(model_client__what_hangs_was_reached),
      TEST(model_client__what_is_down_is_not_asked),
      TEST(model_client__no_more_than_two_at_a_time),
      TEST(model_client__no_more_wait_than_its_limit),
      TEST(model_client__three_attempts_and_no_more),
      TEST(model_client__tokens_are_bounded_by_the_hour),
      TEST(model_client__a_refusal_costs_nothing),
      TEST(model_client__what_is_forgotten_is_not_told),
      TEST(model_client__an_endless_answer_is_cut_off),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
