/* A real HTTP front on loopback with a gateway made of cardboard, all in one thread: what tests of the front share. */
#ifndef TESTS_UNIT_HTTP_FRONT_H
#define TESTS_UNIT_HTTP_FRONT_H

#include "front/http.h"

enum { FIXTURE_REPLIES_MAX = 256, RESPONSE_MAX = 64 << 10 };

struct fixture {
  uv_loop_t uv;
  struct hf_loop loop;
  struct hf_settings *settings;
  struct hf_front_http *front;
  uint16_t port;

  /* The cardboard gateway. Requests whose tool is `later` stay open here. */
  struct hf_reply *open[FIXTURE_REPLIES_MAX];
  struct hf_client *open_client[FIXTURE_REPLIES_MAX];
  size_t open_count;
  size_t clients;
  size_t handled; /* messages that reached the gateway */
  size_t notifications;
  size_t abandoned;
  size_t away;
  size_t back;
  size_t unheard; /* the last call of which it was said; 0: none */
  size_t heard;
  size_t closed;
  struct hf_client *last_client;
  char last_method[64];
};

struct hf_settings *fixture_settings(void);
void fixture_start(struct fixture *fx, struct hf_settings *settings);
void fixture_stop(struct fixture *fx);

/* One turn of the loop. */
void fixture_turn(struct fixture *fx);

int fixture_connect(struct fixture *fx);
void fixture_send(struct fixture *fx, int fd, const char *bytes, size_t len);

/* Reads until `until` is in what came, the response is complete (`until` NULL), or the peer closed. Returns the text,
 * which the next call overwrites; empty if nothing came. */
const char *fixture_read(struct fixture *fx, int fd, const char *until);

/* Sends on a connection of its own and reads the whole response. */
const char *fixture_ask(struct fixture *fx, const char *request);

/* True once the peer has closed the connection. */
bool fixture_closed(struct fixture *fx, int fd);

/* Turns until `*value` is `wanted`; fails the test after a while. */
void fixture_wait(struct fixture *fx, const size_t *value, size_t wanted);

/* Answers an open request, or sends a message before its answer. */
void fixture_finish(struct fixture *fx, size_t index, const char *text);
void fixture_message(struct fixture *fx, size_t index, const char *text);
void fixture_notify(struct fixture *fx, const char *text);

/* Opens a session and returns its id, which the next call overwrites. */
const char *fixture_session(struct fixture *fx, const char *version);

/* "POST /mcp" with the usual headers, `extra` header lines (each with CRLF) and the body. */
const char *fixture_post(const char *extra, const char *body);

#endif
