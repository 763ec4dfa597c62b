#include "http_front.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { PATIENCE_MS = 5000 };

struct hf_client {
  struct fixture *fx;
  const struct hf_client_ops *ops;
  void *owner;
  enum hf_era era;
  char version[16];
};

/* hf_gateway is only ever a pointer to the fixture. */
static struct fixture *fixture_of(struct hf_gateway *gateway) {
  return (struct fixture *)(void *)gateway;
}

int hf_client_open(struct hf_gateway *gateway, const struct hf_client_options *options, struct hf_client **ret_client) {
  struct fixture *fx = fixture_of(gateway);
  if (options->server.ptr && !hf_str_equal(options->server, HF_STR("files")))
    return HF_ERR_NOTFOUND;
  struct hf_client *client = hf_calloc(1, sizeof(*client));
  if (!client)
    return HF_ERR_NOMEM;
  *client = (struct hf_client){.fx = fx, .ops = options->ops, .owner = options->owner, .era = options->era};
  fx->clients++;
  fx->last_client = client;
  *ret_client = client;
  return 0;
}

static void forget(struct fixture *fx, size_t index) {
  fx->open[index]->exchange = NULL;
  fx->open_count--;
  memmove(&fx->open[index], &fx->open[index + 1], (fx->open_count - index) * sizeof(fx->open[0]));
  memmove(&fx->open_client[index], &fx->open_client[index + 1], (fx->open_count - index) * sizeof(fx->open_client[0]));
}

void hf_client_close(struct hf_client *client) {
  struct fixture *fx = client->fx;
  for (size_t i = fx->open_count; i > 0; i--)
    if (fx->open_client[i - 1] == client)
      forget(fx, i - 1);
  fx->clients--;
  fx->closed++;
  if (fx->last_client == client)
    fx->last_client = NULL;
  hf_free(client);
}

void hf_client_abandon(struct hf_client *client, struct hf_reply *reply) {
  struct fixture *fx = client->fx;
  for (size_t i = 0; i < fx->open_count; i++) {
    if (fx->open[i] == reply) {
      forget(fx, i);
      fx->abandoned++;
      return;
    }
  }
  fail_msg("abandoned a reply that is not open");
}

void hf_client_away(struct hf_client *client, struct hf_reply *reply) {
  (void)reply;
  client->fx->away++;
}

void hf_client_back(struct hf_client *client, struct hf_reply *reply) {
  (void)reply;
  client->fx->back++;
}

void hf_client_unheard(struct hf_gateway *gateway, uint64_t call) {
  fixture_of(gateway)->unheard = call;
}

void hf_client_heard(struct hf_gateway *gateway, uint64_t call) {
  fixture_of(gateway)->heard = call;
}

enum hf_era hf_client_era(const struct hf_client *client) {
  return client->era;
}

struct hf_str hf_client_version(const struct hf_client *client) {
  return client->version[0] ? hf_str_from(client->version) : (struct hf_str){NULL, 0};
}

static void say(struct hf_reply *reply, const char *text, bool last) {
  struct hf_pieces pieces;
  hf_pieces_init(&pieces);
  (void)hf_pieces_add_copy(&pieces, hf_str_from(text)); /* empty where a test takes the memory away */
  if (last)
    reply->ops->finish(reply, 200, &pieces);
  else
    reply->ops->message(reply, &pieces);
}

static void answer_big(struct hf_reply *reply) {
  struct hf_buf buf;
  hf_buf_init(&buf, 17U << 20);
  assert_int_equal(hf_buf_reserve(&buf, 16U << 20), 0);
  memset(buf.data, 'x', 16U << 20);
  buf.len = 16U << 20;
  struct hf_blob *blob = hf_blob_take(&buf);
  struct hf_pieces pieces;
  hf_pieces_init(&pieces);
  assert_int_equal(hf_pieces_add_copy(&pieces, HF_STR("{\"big\":\"")), 0);
  assert_int_equal(hf_pieces_add(&pieces, blob, hf_blob_str(blob)), 0);
  assert_int_equal(hf_pieces_add_copy(&pieces, HF_STR("\"}")), 0);
  hf_blob_unref(blob);
  reply->ops->finish(reply, 200, &pieces);
}

void hf_client_handle(struct hf_client *client, struct hf_message *message, struct hf_reply *reply) {
  struct fixture *fx = client->fx;
  fx->handled++;
  (void)snprintf(fx->last_method, sizeof(fx->last_method), "%.*s", HF_STR_FMT(message->method_name));
  if (!reply) {
    fx->notifications++;
  } else if (message->method == HF_METHOD_INITIALIZE) {
    struct hf_str version;
    assert_int_equal(hf_message_string(message, HF_FIELD_PROTOCOL_VERSION, &version), 0);
    if (hf_str_equal(version, HF_STR("refuse"))) {
      say(reply, "{\"error\":\"no\"}", true);
    } else {
      (void)snprintf(client->version, sizeof(client->version), "%.*s", HF_STR_FMT(version));
      say(reply, "{\"hello\":1}", true);
    }
  } else if (hf_str_equal(message->name, HF_STR("later")) || message->method == HF_METHOD_SUBSCRIPTIONS_LISTEN) {
    assert_true(fx->open_count < FIXTURE_REPLIES_MAX);
    fx->open[fx->open_count] = reply;
    fx->open_client[fx->open_count++] = client;
    reply->exchange = (struct hf_exchange *)(void *)fx;
  } else if (hf_str_equal(message->name, HF_STR("big"))) {
    answer_big(reply);
  } else if (message->method == HF_METHOD_UNKNOWN) {
    struct hf_pieces pieces;
    hf_pieces_init(&pieces);
    assert_int_equal(hf_pieces_add_copy(&pieces, HF_STR("{\"unknown\":1}")), 0);
    reply->ops->finish(reply, 404, &pieces);
  } else {
    say(reply, "{\"ok\":1}", true);
  }
  hf_message_deinit(message);
}

void fixture_finish(struct fixture *fx, size_t index, const char *text) {
  struct hf_reply *reply = fx->open[index];
  forget(fx, index);
  say(reply, text, true);
}

void fixture_message(struct fixture *fx, size_t index, const char *text) {
  say(fx->open[index], text, false);
}

void fixture_notify(struct fixture *fx, const char *text) {
  struct hf_pieces pieces;
  hf_pieces_init(&pieces);
  assert_int_equal(hf_pieces_add_copy(&pieces, hf_str_from(text)), 0);
  fx->last_client->ops->notify(fx->last_client, fx->last_client->owner, &pieces);
}

struct hf_settings *fixture_settings(void) {
  struct hf_settings *settings = hf_calloc(1, sizeof(*settings));
  hf_arena_init(&settings->arena, 1 << 20);
  settings->refs = 1;
  settings->listen_host = HF_STR("127.0.0.1");
  settings->limits = (struct hf_limits){
      .body_bytes = 1 << 20,
      .header_bytes = 16 << 10,
      .connections = 64,
      .sessions = 16,
      .sessions_per_principal = 16,
      .streams = 8,
      .json_depth = 64,
      .json_nodes = 4096,
      .replay_bytes = 64 << 10,
      .write_backlog = 64 << 10,
      .session_idle = HF_SECONDS(60),
      .client_read = HF_SECONDS(10),
      .client_write = HF_SECONDS(10),
      .sse_keepalive = HF_SECONDS(60),
  };
  return settings;
}

static int front_page(void *context, struct hf_str path, struct hf_buf *body, const char **ret_type) {
  (void)context;
  *ret_type = "text/plain";
  assert_int_equal(hf_buf_append_str(body, path), 0);
  return hf_str_equal(path, HF_STR("/readyz")) ? 503 : 200;
}

void fixture_start(struct fixture *fx, struct hf_settings *settings) {
  memset(fx, 0, sizeof(*fx));
  assert_int_equal(uv_loop_init(&fx->uv), 0);
  hf_loop_init(&fx->loop, 1, NULL);
  hf_loop_advance(&fx->loop, hf_clock_now(), hf_clock_wall_ms());
  fx->settings = settings;
  struct hf_error why = {0};
  int error = hf_front_http_new(&(struct hf_front_http_options){.uv = &fx->uv,
                                                                .loop = &fx->loop,
                                                                .gateway = (struct hf_gateway *)(void *)fx,
                                                                .settings = settings,
                                                                .page = front_page},
                                &fx->front, &why);
  if (error)
    fail_msg("%s", why.text);
  fx->port = hf_front_http_port(fx->front);
}

void fixture_stop(struct fixture *fx) {
  hf_front_http_free(fx->front);
  while (uv_run(&fx->uv, UV_RUN_NOWAIT) != 0)
    ;
  assert_int_equal(uv_loop_close(&fx->uv), 0);
  hf_loop_deinit(&fx->loop);
  hf_settings_free(fx->settings);
  assert_int_equal(fx->clients, 0);
}

void fixture_turn(struct fixture *fx) {
  (void)uv_run(&fx->uv, UV_RUN_NOWAIT);
  hf_loop_run(&fx->loop, hf_clock_now(), hf_clock_wall_ms());
}

int fixture_connect(struct fixture *fx) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_true(fd >= 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(fx->port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
  return fd;
}

void fixture_send(struct fixture *fx, int fd, const char *bytes, size_t len) {
  size_t sent = 0;
  for (hf_time end = hf_clock_now() + HF_MS(PATIENCE_MS); sent < len && hf_clock_now() < end;) {
    ssize_t n = send(fd, bytes + sent, len - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n > 0)
      sent += (size_t)n;
    else if (n < 0 && errno != EAGAIN)
      return; /* the peer has had enough; what it said is still to be read */
    fixture_turn(fx);
  }
}

static bool complete(const char *text, size_t len) {
  const char *body = strstr(text, "\r\n\r\n");
  if (!body)
    return false;
  body += 4;
  if (strstr(text, "chunked"))
    return len >= 5 && memcmp(text + len - 5, "0\r\n\r\n", 5) == 0;
  const char *length = strstr(text, "Content-Length: ");
  if (!length || length > body)
    return strncmp(text, "HTTP/1.1 100", 12) != 0 && strncmp(text, "HTTP/1.1 204", 12) == 0;
  return len - (size_t)(body - text) >= strtoul(length + 16, NULL, 10);
}

const char *fixture_read(struct fixture *fx, int fd, const char *until) {
  static char text[RESPONSE_MAX];
  size_t len = 0;
  text[0] = '\0';
  for (hf_time end = hf_clock_now() + HF_MS(PATIENCE_MS); hf_clock_now() < end && len + 1 < sizeof(text);) {
    fixture_turn(fx);
    ssize_t n = recv(fd, text + len, sizeof(text) - 1 - len, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN))
      return text;
    if (n < 0) {
      (void)poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 1);
      continue;
    }
    len += (size_t)n;
    text[len] = '\0';
    if (until ? strstr(text, until) != NULL : complete(text, len))
      return text;
  }
  return text;
}

bool fixture_closed(struct fixture *fx, int fd) {
  char byte;
  for (hf_time end = hf_clock_now() + HF_MS(PATIENCE_MS); hf_clock_now() < end;) {
    fixture_turn(fx);
    ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN))
      return true;
    (void)poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 1);
  }
  return false;
}

const char *fixture_ask(struct fixture *fx, const char *request) {
  int fd = fixture_connect(fx);
  fixture_send(fx, fd, request, strlen(request));
  const char *text = fixture_read(fx, fd, NULL);
  (void)close(fd);
  fixture_turn(fx);
  fixture_turn(fx);
  return text;
}

void fixture_wait(struct fixture *fx, const size_t *value, size_t wanted) {
  for (hf_time end = hf_clock_now() + HF_MS(PATIENCE_MS); *value != wanted && hf_clock_now() < end;) {
    fixture_turn(fx);
    (void)poll(NULL, 0, 1);
  }
  assert_int_equal(*value, wanted);
}

const char *fixture_post(const char *extra, const char *body) {
  static char text[RESPONSE_MAX];
  (void)snprintf(text, sizeof(text),
                 "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n%sContent-Length: %zu\r\n"
                 "\r\n%s",
                 extra, strlen(body), body);
  return text;
}

const char *fixture_session(struct fixture *fx, const char *version) {
  static char id[64];
  char body[256];
  (void)snprintf(body, sizeof(body),
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"%s\","
                 "\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}",
                 version);
  const char *text = fixture_ask(fx, fixture_post("", body));
  const char *header = strstr(text, "Mcp-Session-Id: ");
  assert_non_null(header);
  (void)snprintf(id, sizeof(id), "%.32s", header + 16);
  return id;
}
