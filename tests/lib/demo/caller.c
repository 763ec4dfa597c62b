#include "caller.h"

#include "chaos/pick.h"

#include "base/buf.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { REPLY_MAX = 1 << 20, REQUEST_MAX = 4096 };

static int dial(int port) {
  struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

/* Sends a message and reads to the end of the connection; what came, if anything, is in `reply`. */
static void exchange(const struct caller *caller, const char *message, struct hf_buf *reply) {
  char request[REQUEST_MAX];
  int len = snprintf(request, sizeof request,
                     "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n"
                     "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-11-25\r\n%s%s%s"
                     "Connection: close\r\nContent-Length: %zu\r\n\r\n%s",
                     caller->path, caller->port, caller->session[0] ? "Mcp-Session-Id: " : "", caller->session,
                     caller->session[0] ? "\r\n" : "", strlen(message), message);
  int fd = dial(caller->port);
  if (fd < 0 || write(fd, request, (size_t)len) != len) {
    close(fd);
    return;
  }
  for (;;) {
    enum { STEP = 4096 };
    hf_chaos_must(hf_buf_reserve(reply, STEP));
    ssize_t got = read(fd, reply->data + reply->len, STEP);
    if (got <= 0) {
      break;
    }
    reply->len += (size_t)got;
  }
  close(fd);
}

/* The last JSON object of a reply that begins a line: the body, or the data of the last event. */
static struct hf_str message_of(struct hf_str reply) {
  static const char *const starts[] = {"\r\n{", "\ndata: {", "\ndata:{"};
  struct hf_str found = {NULL, 0};
  for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
    size_t len = strlen(starts[i]);
    for (const char *at = reply.ptr; (at = memmem(at, reply.len - (size_t)(at - reply.ptr), starts[i], len)) != NULL;) {
      at += len - 1;
      if (found.ptr == NULL || at > found.ptr) {
        found = (struct hf_str){at, reply.len - (size_t)(at - reply.ptr)};
      }
    }
  }
  return found;
}

int caller_open(struct caller *caller) {
  struct hf_buf reply;
  hf_buf_init(&reply, REPLY_MAX);
  exchange(caller,
           "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\","
           "\"capabilities\":{},\"clientInfo\":{\"name\":\"demo\",\"version\":\"1\"}}}",
           &reply);
  hf_chaos_must(hf_buf_append(&reply, "", 1));
  const char *session = strcasestr(reply.data, "\r\nmcp-session-id: ");
  if (session != NULL) {
    session += strlen("\r\nmcp-session-id: ");
    snprintf(caller->session, sizeof caller->session, "%.*s", (int)strcspn(session, "\r"), session);
  }
  bool good = strstr(reply.data, "\"protocolVersion\"") != NULL;
  hf_buf_reset(&reply, REPLY_MAX);
  exchange(caller, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", &reply);
  hf_buf_deinit(&reply);
  return good ? 0 : -1;
}

struct answer caller_call(const struct caller *caller, int id, const char *tool, const char *key) {
  struct answer answer = {.attempts = 1};
  char message[512];
  snprintf(
      message, sizeof message,
      "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\",\"arguments\":{\"key\":"
      "\"%s\"}}}",
      id, tool, key);
  struct hf_buf reply;
  hf_buf_init(&reply, REPLY_MAX);
  exchange(caller, message, &reply);
  struct hf_str said = message_of(hf_buf_str(&reply));
  struct hf_str result = said.ptr ? hf_pick_member(said, "result") : said;
  if (result.ptr != NULL && hf_pick_number(hf_pick_member(said, "id"), -1) == id) {
    answer.good = !hf_str_equal(hf_pick_member(result, "isError"), HF_STR("true"));
    struct hf_str outcome = hf_pick_member(hf_pick_member(result, "_meta"), "dev.holdfast/outcome");
    if (outcome.ptr != NULL) {
      struct hf_str executed = hf_pick_member(outcome, "executed");
      answer.attempts = hf_pick_number(hf_pick_member(outcome, "attempts"), 1);
      answer.told = executed.ptr != NULL;
      answer.may_have_run = hf_str_equal(executed, HF_STR("\"maybe\"")) || hf_str_equal(executed, HF_STR("\"yes\""));
    }
  }
  hf_buf_deinit(&reply);
  return answer;
}
