#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "daemon/alert.h"
#include "daemon/alert_command.h"
#include "daemon/loop.h"
#include "daemon/webhook.h"
#include "store/database.h"

#include <errno.h>
#include <nettle/hmac.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { REQUESTS_MAX = 32, REQUEST_MAX = 8192, LIMIT_MS = 20000, TEXT_MAX = 64 << 10 };

/* A gateway's loop, a store of which only the counts are known, and a receiver of webhooks that answers what it is
 * told to: the last status again and again, 0 not at all. */
struct world {
  uv_loop_t uv;
  struct hf_loop loop;
  struct hf_loop_driver driver;
  struct hf_log *log;
  int log_fd[2];
  struct hf_buf logged;
  struct hf_store store;
  struct hf_store_stats stats;
  uv_tcp_t listener;
  int port;
  int statuses[4];
  size_t status_count;
  size_t request_count;
  char requests[REQUESTS_MAX][REQUEST_MAX];
  size_t peers;
  struct hf_alerts *alerts;
  char dir[64];
};

struct peer {
  uv_tcp_t tcp;
  uv_write_t write;
  struct world *world;
  char text[REQUEST_MAX];
  size_t len;
  char bytes[4096];
};

static void stats(struct hf_store *store, struct hf_store_stats *ret_stats) {
  *ret_stats = HF_CONTAINER_OF(store, struct world, store)->stats;
}

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
  static const char *const answers[] = {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
                                        "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n",
                                        "HTTP/1.1 400 Never\r\nContent-Length: 0\r\n\r\n"};
  struct world *world = peer->world;
  assert_true(world->request_count < REQUESTS_MAX);
  const size_t at = world->request_count < world->status_count ? world->request_count : world->status_count - 1;
  const int status = world->statuses[at];
  memcpy(world->requests[world->request_count++], peer->text, sizeof peer->text);
  if (status == 0)
    return;
  const char *text = answers[status == 200 ? 0 : status == 500 ? 1 : 2];
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
  world->port = ntohs(address.sin_port);
}

static struct world *open_world(void) {
  static const struct hf_store_ops ops = {.stats = stats};
  struct world *world = hf_calloc(1, sizeof *world);
  assert_non_null(world);
  assert_int_equal(pipe(world->log_fd), 0);
  world->log = hf_log_new(world->log_fd[1], HF_LOG_DEBUG, HF_LOG_JSON);
  hf_buf_init(&world->logged, TEXT_MAX);
  uv_loop_init(&world->uv);
  hf_loop_init(&world->loop, 1, world->log);
  hf_loop_driver_init(&world->driver, &world->uv, &world->loop);
  world->store.ops = &ops;
  world->statuses[0] = 200;
  world->status_count = 1;
  listen_somewhere(world);
  memcpy(world->dir, "/tmp/holdfast-alert-XXXXXX", sizeof "/tmp/holdfast-alert-XXXXXX");
  assert_non_null(mkdtemp(world->dir));
  return world;
}

/* What was logged so far. */
static const char *logged(struct world *world) {
  char bytes[4096];
  uv_os_fd_t fd = world->log_fd[0];
  fd_set set;
  struct timeval none = {0, 0};
  for (;;) {
    FD_ZERO(&set);
    FD_SET(fd, &set);
    if (select(fd + 1, &set, NULL, NULL, &none) <= 0)
      break;
    ssize_t n = read(fd, bytes, sizeof bytes);
    if (n <= 0 || hf_buf_append(&world->logged, bytes, (size_t)n) < 0)
      break;
  }
  hf_buf_append(&world->logged, "", 1);
  world->logged.len--;
  return world->logged.data;
}

static void on_limit(uv_timer_t *timer) {
  *(bool *)timer->data = true;
}

static void on_limit_closed(uv_handle_t *handle) {
  hf_free(handle);
}

/* Turns of the loop until something is so. A timer keeps the turns coming. */
#define RUN_UNTIL(world, condition)                                                                                    \
  do {                                                                                                                 \
    const hf_time end_ = hf_clock_now() + HF_MS(LIMIT_MS);                                                             \
    while (!(condition)) {                                                                                             \
      bool tick_ = false;                                                                                              \
      if (hf_clock_now() > end_)                                                                                       \
        fail_msg("never came about: %s; log: %s", #condition, logged(world));                                          \
      uv_timer_t *timer_ = hf_malloc(sizeof *timer_);                                                                  \
      uv_timer_init(&(world)->uv, timer_);                                                                             \
      timer_->data = &tick_;                                                                                           \
      uv_timer_start(timer_, on_limit, 10, 0);                                                                         \
      uv_run(&(world)->uv, UV_RUN_ONCE);                                                                               \
      uv_close((uv_handle_t *)timer_, on_limit_closed);                                                                \
    }                                                                                                                  \
  } while (0)

static bool passed(const struct world *world, hf_time at) {
  (void)world;
  return hf_clock_now() >= at;
}

static void run_for(struct world *world, hf_time time) {
  const hf_time end = hf_clock_now() + time;
  RUN_UNTIL(world, passed(world, end));
}

static void close_peers(uv_handle_t *handle, void *world) {
  if (handle->type == UV_TCP && handle != (uv_handle_t *)&((struct world *)world)->listener)
    close_peer(handle);
}

static void close_world(struct world *world) {
  hf_alerts_free(world->alerts);
  uv_walk(&world->uv, close_peers, world);
  uv_close((uv_handle_t *)&world->listener, NULL);
  hf_loop_driver_close(&world->driver);
  uv_run(&world->uv, UV_RUN_DEFAULT);
  assert_int_equal(uv_loop_close(&world->uv), 0);
  hf_loop_deinit(&world->loop);
  hf_log_free(world->log);
  close(world->log_fd[0]);
  close(world->log_fd[1]);
  hf_buf_deinit(&world->logged);
  char file[128];
  (void)snprintf(file, sizeof file, "%s/out", world->dir);
  (void)unlink(file);
  (void)rmdir(world->dir);
  hf_free(world);
}

static void start(struct world *world, const struct hf_alert_settings *settings) {
  const struct hf_alerts_options options = {
      .uv = &world->uv,
      .loop = &world->loop,
      .store = &world->store,
      .settings = settings,
      .check_every = HF_MS(10),
      .gap = HF_MS(300),
      .backoff = HF_MS(20),
      .patience = HF_MS(200),
  };
  assert_int_equal(hf_alerts_new(&options, &world->alerts), 0);
}

static struct hf_alert_settings to_webhook(const struct world *world, char url[64]) {
  (void)snprintf(url, 64, "http://127.0.0.1:%d/hook", world->port);
  return (struct hf_alert_settings){.webhook = hf_str_from(url), .age = HF_TIME_NEVER};
}

static struct hf_letter letter_of(const char *id) {
  return (struct hf_letter){
      .id = hf_str_from(id),
      .call = HF_STR("c-1a"),
      .tool = HF_STR("shop__charge"),
      .providers = HF_STR("shop"),
      .reason = HF_STR("connection_lost"),
      .executed = HF_STR("maybe"),
      .arguments = HF_STR("{\"card\":\"canary\"}"),
      .priority = 1,
  };
}

static void tell(struct world *world, enum hf_store_news news, const char *id) {
  const struct hf_letter letter = letter_of(id);
  hf_alerts_news(world->alerts, news, &letter);
}

static const char *body(const struct world *world, size_t request) {
  const char *end = strstr(world->requests[request], "\r\n\r\n");
  assert_non_null(end);
  return end + 4;
}

/* The value of a header, copied. */
static void header(const struct world *world, size_t request, const char *name, char value[256]) {
  const char *at = strcasestr(world->requests[request], name);
  value[0] = '\0';
  if (at)
    (void)snprintf(value, 256, "%.*s", (int)strcspn(at + strlen(name), "\r"), at + strlen(name));
}

static void alert__a_webhook_that_fails_twice_gets_it_the_third_time(void **state) {
  (void)state;
  struct world *world = open_world();
  char url[64];
  const struct hf_alert_settings settings = to_webhook(world, url);
  world->statuses[0] = world->statuses[1] = 500;
  world->statuses[2] = 200;
  world->status_count = 3;
  start(world, &settings);
  tell(world, HF_NEWS_URGENT, "d-1");
  RUN_UNTIL(world, world->request_count == 3);
  run_for(world, HF_MS(150));
  assert_int_equal(world->request_count, 3);
  assert_memory_equal(world->requests[0], "POST /hook HTTP/1.1\r\n", 21);
  assert_non_null(strcasestr(world->requests[0], "\r\nContent-Type: application/json\r\n"));
  assert_string_equal(body(world, 0), body(world, 2));
  static const char *const told[] = {"\"alert\":\"priority\"",
                                     "\"id\":\"d-1\"",
                                     "\"tool\":\"shop__charge\"",
                                     "\"call\":\"c-1a\"",
                                     "\"class\":\"connection_lost\"",
                                     "\"executed\":\"maybe\"",
                                     "\"count\":1"};
  for (size_t i = 0; i < sizeof told / sizeof told[0]; i++)
    assert_non_null(strstr(body(world, 0), told[i]));
  assert_null(strstr(body(world, 0), "canary"));
  assert_null(strstr(logged(world), "could not be delivered"));
  close_world(world);
}

static void alert__a_webhook_that_never_takes_it_is_given_up_and_the_next_alert_goes_out(void **state) {
  (void)state;
  struct world *world = open_world();
  char url[64];
  const struct hf_alert_settings settings = to_webhook(world, url);
  world->statuses[0] = world->statuses[1] = world->statuses[2] = 500;
  world->statuses[3] = 200;
  world->status_count = 4;
  start(world, &settings);
  tell(world, HF_NEWS_URGENT, "d-1");
  tell(world, HF_NEWS_QUARANTINED, "d-2");
  RUN_UNTIL(world, world->request_count == 4);
  assert_non_null(strstr(body(world, 2), "d-1"));
  assert_non_null(strstr(body(world, 3), "d-2"));
  RUN_UNTIL(world, strstr(logged(world), "could not be delivered") != NULL);
  assert_non_null(strstr(logged(world), "\"tries\":3"));
  assert_null(strstr(logged(world), "/hook")); /* an address may be a secret */
  close_world(world);
}

static void alert__what_a_webhook_refuses_for_good_is_not_repeated(void **state) {
  (void)state;
  struct world *world = open_world();
  char url[64];
  const struct hf_alert_settings settings = to_webhook(world, url);
  world->statuses[0] = 400;
  start(world, &settings);
  tell(world, HF_NEWS_URGENT, "d-1");
  RUN_UNTIL(world, strstr(logged(world), "could not be delivered") != NULL);
  run_for(world, HF_MS(100));
  assert_int_equal(world->request_count, 1);
  close_world(world);
}

static void sign(const char *secret, const char *timestamp, const char *text, char hex[65]) {
  struct hmac_sha256_ctx hmac;
  uint8_t digest[32];
  char signed_text[REQUEST_MAX];
  int n = snprintf(signed_text, sizeof signed_text, "%s.%s", timestamp, text);
  hmac_sha256_set_key(&hmac, strlen(secret), (const uint8_t *)secret);
  hmac_sha256_update(&hmac, (size_t)n, (const uint8_t *)signed_text);
  hmac_sha256_digest(&hmac, sizeof digest, digest);
  for (size_t i = 0; i < 32; i++)
    (void)snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

static void alert__a_webhook_can_check_who_sent_it_and_when(void **state) {
  (void)state;
  struct world *world = open_world();
  char url[64], timestamp[256], signature[256], hex[65];
  struct hf_alert_settings settings = to_webhook(world, url);
  settings.secret = HF_STR("a secret");
  start(world, &settings);
  tell(world, HF_NEWS_URGENT, "d-1");
  RUN_UNTIL(world, world->request_count == 1);
  header(world, 0, "X-Holdfast-Timestamp: ", timestamp);
  header(world, 0, "X-Holdfast-Signature: sha256=", signature);
  assert_in_range(strtoll(timestamp, NULL, 10), hf_clock_wall_ms() / 1000 - 30, hf_clock_wall_ms() / 1000);
  sign("a secret", timestamp, body(world, 0), hex);
  assert_string_equal(signature, hex);
  sign("another", timestamp, body(world, 0), hex);
  assert_string_not_equal(signature, hex);
  close_world(world);
}

static void alert__without_a_secret_there_is_no_signature(void **state) {
  (void)state;
  struct world *world = open_world();
  char url[64], signature[256];
  const struct hf_alert_settings settings = to_webhook(world, url);
  start(world, &settings);
  tell(world, HF_NEWS_URGENT, "d-1");
  RUN_UNTIL(world, world->request_count == 1);
  header(world, 0, "X-Holdfast-Signature", signature);
  assert_string_equal(signature, "");
  close_world(world);
}

static void alert__one_of_a_kind_goes_out_in_a_gap_and_the_next_tells_of_the_rest(void **state) {
  (void)state;
  struct world *world = open_world();
  char url[64];
  const struct hf_alert_settings settings = to_webhook(world, url);
  start(world, &settings);
  const hf_time began = hf_clock_now();
  tell(world, HF_NEWS_URGENT, "d-1");
  tell(world, HF_NEWS_URGENT, "d-2");
  tell(world, HF_NEWS_URGENT, "d-3");
  tell(world, HF_NEWS_QUARANTINED, "d-4"); /* another kind waits for nobody */
  RUN_UNTIL(world, world->request_count == 2);
  assert_non_null(strstr(body(world, 0), "d-1"));
  assert_non_null(strstr(body(world, 1), "\"alert\":\"quarantine\""));
  RUN_UNTIL(world, world->request_count == 3);
  assert_true(hf_clock_now() - began >= HF_MS(300));
  assert_non_null(strstr(body(world, 2), "\"id\":\"d-3\""));
  assert_non_null(strstr(body(world, 2), "\"count\":2"));
  assert_non_null(strstr(body(world, 2), "and 1 more like it"));
  run_for(world, HF_MS(400));
  assert_int_equal(world->request_count, 3);
  close_world(world);
}

static void alert__which_news_are_worth_one(void **state) {
  (void)state;
  static const struct {
    enum hf_store_news news;
    unsigned priority;
    const char *alert; /* NULL: none */
  } cases[] = {
      {HF_NEWS_URGENT, 1, "\"alert\":\"priority\""},
      {HF_NEWS_RECOVERED, 1, "\"alert\":\"priority\""},
      {HF_NEWS_RECOVERED, 3, NULL},
      {HF_NEWS_QUARANTINED, 5, "\"alert\":\"quarantine\""},
      {HF_NEWS_EXPIRING, 5, "\"alert\":\"expiring\""},
      {HF_NEWS_EXPIRED, 1, NULL},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct world *world = open_world();
    char url[64];
    const struct hf_alert_settings settings = to_webhook(world, url);
    start(world, &settings);
    struct hf_letter letter = letter_of("d-1");
    letter.priority = cases[i].priority;
    hf_alerts_news(world->alerts, cases[i].news, &letter);
    if (cases[i].alert) {
      RUN_UNTIL(world, world->request_count == 1);
      assert_non_null(strstr(body(world, 0), cases[i].alert));
    } else {
      run_for(world, HF_MS(100));
      assert_int_equal(world->request_count, 0);
    }
    close_world(world);
  }
}

static void alert__depth_is_told_when_it_is_passed_and_not_again_before_it_was_kept(void **state) {
  (void)state;
  struct world *world = open_world();
  char url[64];
  struct hf_alert_settings settings = to_webhook(world, url);
  settings.depth = 3;
  world->stats.depth[HF_LETTER_DEAD] = 2;
  start(world, &settings);
  run_for(world, HF_MS(100));
  assert_int_equal(world->request_count, 0);
  world->stats.depth[HF_LETTER_DEAD] = 3;
  RUN_UNTIL(world, world->request_count == 1);
  assert_non_null(strstr(body(world, 0), "\"alert\":\"depth\""));
  assert_non_null(strstr(body(world, 0), "3 dead letters wait; the limit is 3"));
  assert_non_null(strstr(body(world, 0), "\"dead\":3"));
  world->stats.depth[HF_LETTER_DEAD] = 9;
  run_for(world, HF_MS(400));
  assert_int_equal(world->request_count, 1);
  world->stats.depth[HF_LETTER_DEAD] = 2;
  run_for(world, HF_MS(50));
  world->stats.depth[HF_LETTER_DEAD] = 4;
  RUN_UNTIL(world, world->request_count == 2);
  close_world(world);
}

static void alert__age_of_the_oldest_is_told(void **state) {
  (void)state;
  struct world *world = open_world();
  char url[64];
  struct hf_alert_settings settings = to_webhook(world, url);
  settings.age = HF_SECONDS(3600);
  world->stats.oldest_ms = hf_clock_wall_ms() - 3000 * 1000;
  start(world, &settings);
  run_for(world, HF_MS(100));
  assert_int_equal(world->request_count, 0);
  world->stats.oldest_ms = hf_clock_wall_ms() - 3700 * 1000;
  RUN_UNTIL(world, world->request_count == 1);
  assert_non_null(strstr(body(world, 0), "\"alert\":\"age\""));
  assert_non_null(strstr(body(world, 0), "longer than 1h"));
  close_world(world);
}

/* The script finds the world's directory in $0; no shell but its own splits $1. */
static struct hf_alert_settings to_command(const struct world *world, const char *script, struct hf_str argv[5]) {
  argv[0] = HF_STR("/bin/sh");
  argv[1] = HF_STR("-c");
  argv[2] = hf_str_from(script);
  argv[3] = hf_str_from(world->dir);
  argv[4] = HF_STR("a b");
  return (struct hf_alert_settings){.command = {argv, 5}, .age = HF_TIME_NEVER};
}

static bool read_out(const struct world *world, char text[TEXT_MAX]) {
  char path[128];
  (void)snprintf(path, sizeof path, "%s/out", world->dir);
  FILE *file = fopen(path, "r");
  if (!file)
    return false;
  size_t n = fread(text, 1, TEXT_MAX - 1, file);
  text[n] = '\0';
  (void)fclose(file);
  return n > 0 && text[n - 1] == '\n';
}

static void alert__a_command_gets_it_on_standard_input_without_a_shell(void **state) {
  (void)state;
  struct world *world = open_world();
  struct hf_str argv[5];
  static char text[TEXT_MAX];
  const struct hf_alert_settings settings =
      to_command(world, "{ cat; echo \" by $1\"; } > $0/new && mv $0/new $0/out", argv);
  start(world, &settings);
  tell(world, HF_NEWS_URGENT, "d-1");
  RUN_UNTIL(world, read_out(world, text));
  assert_memory_equal(text, "{\"alert\":\"priority\",", 20);
  assert_non_null(strstr(text, "}\n by a b\n"));
  run_for(world, HF_MS(50));
  assert_null(strstr(logged(world), "ended badly"));
  close_world(world);
}

static bool is_gone(pid_t pid) {
  return kill(pid, 0) < 0 && errno == ESRCH;
}

/* Adopted by whoever adopts in this machine, an ended process may stay as a zombie for a while. */
static bool is_gone_or_zombie(pid_t pid) {
  char path[64], line[256] = "";
  (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  FILE *file = fopen(path, "r");
  if (!file)
    return is_gone(pid);
  if (!fgets(line, sizeof line, file))
    line[0] = '\0';
  (void)fclose(file);
  const char *end = strrchr(line, ')');
  return end && end[1] == ' ' && end[2] == 'Z';
}

static void alert__a_command_that_hangs_is_killed_with_what_it_started(void **state) {
  (void)state;
  struct world *world = open_world();
  struct hf_str argv[5];
  static char text[TEXT_MAX];
  const struct hf_alert_settings settings =
      to_command(world, "tail -f /dev/null & echo $! > $0/new; mv $0/new $0/out; wait", argv);
  start(world, &settings);
  tell(world, HF_NEWS_URGENT, "d-1");
  RUN_UNTIL(world, read_out(world, text));
  const pid_t pid = (pid_t)strtol(text, NULL, 10);
  assert_true(pid > 1);
  RUN_UNTIL(world, strstr(logged(world), "it took too long and was killed") != NULL);
  RUN_UNTIL(world, is_gone_or_zombie(pid));
  close_world(world);
}

static void alert__a_command_that_fails_or_is_missing_is_told_in_the_log(void **state) {
  (void)state;
  struct world *world = open_world();
  struct hf_str argv[5];
  struct hf_alert_settings settings = to_command(world, "exit 7", argv);
  start(world, &settings);
  tell(world, HF_NEWS_URGENT, "d-1");
  RUN_UNTIL(world, strstr(logged(world), "ended badly") != NULL);
  assert_non_null(strstr(logged(world), "\"code\":7"));
  argv[0] = HF_STR("/nonexistent/program");
  settings.command.count = 1;
  assert_int_equal(hf_alerts_reload(world->alerts, &settings), 0);
  tell(world, HF_NEWS_QUARANTINED, "d-2");
  RUN_UNTIL(world, strstr(logged(world), "could not be run") != NULL);
  close_world(world);
}

static void alert__more_commands_than_may_run_at_once_are_refused(void **state) {
  (void)state;
  struct world *world = open_world();
  struct hf_str argv[] = {HF_STR("/bin/sh"), HF_STR("-c"), HF_STR("tail -f /dev/null")};
  const struct hf_strings strings = {argv, 3};
  const struct hf_alert_command_options options = {.uv = &world->uv, .loop = &world->loop, .argv = &strings};
  struct hf_alert_command *command;
  assert_int_equal(hf_alert_command_new(&options, &command), 0);
  for (int i = 0; i < HF_ALERT_COMMANDS_MAX; i++)
    assert_int_equal(hf_alert_command_run(command, HF_STR("{}")), 0);
  assert_int_equal(hf_alert_command_run(command, HF_STR("{}")), HF_ERR_LIMIT);
  hf_alert_command_free(command);
  const struct hf_alert_settings none = {.age = HF_TIME_NEVER};
  start(world, &none);
  close_world(world);
}

static void alert__more_than_may_wait_for_a_webhook_are_refused(void **state) {
  (void)state;
  struct world *world = open_world();
  char url[64];
  const struct hf_alert_settings settings = to_webhook(world, url);
  const struct hf_webhook_options options = {.uv = &world->uv, .loop = &world->loop, .url = settings.webhook};
  struct hf_webhook *webhook;
  world->statuses[0] = 0;
  assert_int_equal(hf_webhook_new(&options, &webhook), 0);
  for (int i = 0; i < HF_WEBHOOK_WAITING_MAX; i++)
    assert_int_equal(hf_webhook_send(webhook, HF_STR("{}")), 0);
  assert_int_equal(hf_webhook_send(webhook, HF_STR("{}")), HF_ERR_LIMIT);
  RUN_UNTIL(world, world->request_count == 1);
  hf_webhook_free(webhook);
  const struct hf_alert_settings none = {.age = HF_TIME_NEVER};
  start(world, &none);
  close_world(world);
}

static void alert__a_webhook_that_does_not_answer_holds_nobody_up(void **state) {
  (void)state;
  struct world *world = open_world();
  char url[64];
  const struct hf_alert_settings settings = to_webhook(world, url);
  world->statuses[0] = 0;
  start(world, &settings);
  tell(world, HF_NEWS_URGENT, "d-1");
  RUN_UNTIL(world, world->request_count == 1);
  const hf_time before = hf_clock_now();
  for (int i = 0; i < 100; i++)
    uv_run(&world->uv, UV_RUN_NOWAIT);
  assert_true(hf_clock_now() - before < HF_MS(500));
  const hf_time end = hf_clock_now();
  close_world(world); /* nor the end: the transfer is given up */
  assert_true(hf_clock_now() - end < HF_SECONDS(5));
}

static void alert__a_reload_changes_where_and_from_when_on(void **state) {
  (void)state;
  struct world *world = open_world();
  char url[64];
  struct hf_alert_settings settings = {.age = HF_TIME_NEVER};
  world->stats.depth[HF_LETTER_DEAD] = 5;
  start(world, &settings);
  run_for(world, HF_MS(50));
  assert_int_equal(world->request_count, 0);
  const struct hf_alert_settings other = to_webhook(world, url);
  settings.webhook = other.webhook;
  settings.depth = 5;
  assert_int_equal(hf_alerts_reload(world->alerts, &settings), 0);
  RUN_UNTIL(world, world->request_count == 1);
  close_world(world);
}

struct heard {
  unsigned urgent;
  unsigned other;
};

static void count_news(void *ctx, enum hf_store_news news, const struct hf_letter *letter) {
  struct heard *heard = ctx;
  assert_true(letter->id.len > 2);
  if (news == HF_NEWS_URGENT)
    heard->urgent++;
  else
    heard->other++;
}

static void alert__the_store_tells_of_letters_of_the_first_priority_when_they_are_written(void **state) {
  (void)state;
  const struct hf_store_settings settings = {.enabled = true, .max_age = HF_TIME_NEVER, .queue = 10};
  const struct hf_database_options options = {.settings = &settings, .own = true};
  struct hf_database *database;
  struct hf_error error = {0};
  struct heard heard = {0, 0};
  char id[HF_LETTER_ID_MAX];
  assert_int_equal(hf_database_open(&options, &database, &error), 0);
  struct hf_letter letter = letter_of("");
  for (unsigned priority = 1; priority <= 5; priority++) {
    letter.priority = priority;
    letter.fingerprint.byte[0] = (uint8_t)priority;
    assert_int_equal(hf_database_begin(database, true), 0);
    assert_int_equal(hf_database_bury(database, &letter, id), 0);
    assert_int_equal(hf_database_commit(database), 0);
    hf_database_news(database, count_news, &heard);
    assert_int_equal(heard.urgent, 1);
  }
  letter.priority = 1;
  assert_int_equal(hf_database_begin(database, true), 0);
  assert_int_equal(hf_database_bury(database, &letter, id), 0);
  hf_database_rollback(database);
  hf_database_news(database, count_news, &heard);
  assert_int_equal(heard.urgent, 1); /* one that was not written is none */
  assert_int_equal(heard.other, 0);
  hf_database_close(database);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(alert__a_webhook_that_fails_twice_gets_it_the_third_time),
      cmocka_unit_test(alert__a_webhook_that_never_takes_it_is_given_up_and_the_next_alert_goes_out),
      cmocka_unit_test(alert__what_a_webhook_refuses_for_good_is_not_repeated),
      cmocka_unit_test(alert__a_webhook_can_check_who_sent_it_and_when),
      cmocka_unit_test(alert__without_a_secret_there_is_no_signature),
      cmocka_unit_test(alert__one_of_a_kind_goes_out_in_a_gap_and_the_next_tells_of_the_rest),
      cmocka_unit_test(alert__which_news_are_worth_one),
      cmocka_unit_test(alert__depth_is_told_when_it_is_passed_and_not_again_before_it_was_kept),
      cmocka_unit_test(alert__age_of_the_oldest_is_told),
      cmocka_unit_test(alert__a_command_gets_it_on_standard_input_without_a_shell),
      cmocka_unit_test(alert__a_command_that_hangs_is_killed_with_what_it_started),
      cmocka_unit_test(alert__a_command_that_fails_or_is_missing_is_told_in_the_log),
      cmocka_unit_test(alert__more_commands_than_may_run_at_once_are_refused),
      cmocka_unit_test(alert__more_than_may_wait_for_a_webhook_are_refused),
      cmocka_unit_test(alert__a_webhook_that_does_not_answer_holds_nobody_up),
      cmocka_unit_test(alert__a_reload_changes_where_and_from_when_on),
      cmocka_unit_test(alert__the_store_tells_of_letters_of_the_first_priority_when_they_are_written),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
