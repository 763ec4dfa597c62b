/* A gateway between fakes: upstreams that answer what a test tells them, clients that write down what they get, and a
 * clock that moves when told. */
#ifndef HF_TEST_GATEWAY_WORLD_H
#define HF_TEST_GATEWAY_WORLD_H

#include "gateway/client.h"
#include "gateway/gateway.h"

/* The wall clock when a world begins: 2023-11-14T22:13:20Z. It goes with the other one. */
#define WORLD_WALL_MS INT64_C(1700000000000)

enum { WORLD_UPSTREAMS_MAX = 8, WORLD_SENT_MAX = 512, WORLD_TEXTS_MAX = 64 };

struct fake_upstream;

/* One request that reached an upstream. */
struct hf_attempt_ref {
  struct fake_upstream *upstream;
  uint64_t id;
  enum hf_method method;
  char *text; /* owned */
  bool open;  /* neither answered nor aborted */
  bool aborted;
  bool new_session;
  char headers[256]; /* "Name: value\n" each */
  const struct hf_attempt_events *events;
  void *ctx;
};

struct fake_upstream {
  struct hf_upstream head;
  struct world *world;
  char name[32];
  struct hf_message hello;
  enum hf_era era;
  const struct hf_upstream_events *events;
  void *owner;
  enum hf_upstream_phase phase;
  char capabilities[256]; /* as declared to it */
  unsigned starts;
  unsigned revivals;
  bool stopping; /* told to stop, not stopped yet */
  bool freed;
  bool full;                                   /* takes no requests */
  struct hf_attempt_ref *sent[WORLD_SENT_MAX]; /* lists are answered at once and not kept */
  size_t sent_count;
  char *posted[WORLD_TEXTS_MAX];
  size_t posted_count;
};

/* How the upstream of a name behaves. */
struct fake_server {
  const char *name;
  const char *hello; /* the whole result of initialize or discover; NULL: it never gets ready by itself */
  const char *tools; /* results of the list methods, or NULL: -32601 */
  const char *prompts;
  const char *resources;
  const char *templates;
  enum hf_era era;
};

struct world {
  struct hf_loop loop;
  struct hf_gateway *gateway;
  struct hf_settings *settings; /* borrowed while the gateway has it */
  struct fake_server servers[WORLD_UPSTREAMS_MAX];
  size_t server_count;
  struct fake_upstream *upstreams[WORLD_UPSTREAMS_MAX * 4];
  size_t upstream_count;
};

struct fake_client {
  struct hf_client *client;
  char *notified[WORLD_TEXTS_MAX];
  size_t notified_count;
};

struct fake_reply {
  struct hf_reply head;
  char *messages[WORLD_TEXTS_MAX];
  size_t message_count;
  char *answer; /* NULL until finished; "" without text */
  int status;
};

/* Adds servers, then starts. Every policy is the default with the jitter's base at 100 ms. */
void world_init(struct world *world, const struct fake_server *servers, size_t count);
void world_deinit(struct world *world);

/* Settings for these servers, as world_init makes them: for a reload. */
struct hf_settings *world_settings(const struct fake_server *servers, size_t count);

/* Runs what is due, `elapsed` from now. */
void world_run(struct world *world, hf_time elapsed);

/* The newest upstream of that name that was not freed. */
struct fake_upstream *world_upstream(struct world *world, const char *name);

void upstream_ready(struct fake_upstream *upstream);
void upstream_down(struct fake_upstream *upstream, enum hf_evidence_kind evidence, const char *reason);

/* The newest request that is open; NULL if there is none. */
struct hf_attempt_ref *upstream_last(struct fake_upstream *upstream);

/* Answers with `result` (raw), after all bytes were handed over. */
void upstream_answer(struct hf_attempt_ref *ref, const char *result);
void upstream_error(struct hf_attempt_ref *ref, int code, const char *message);
void upstream_refuse(struct hf_attempt_ref *ref, int code, const char *error); /* the whole error object */
void upstream_handed_over(struct hf_attempt_ref *ref);
void upstream_fail(struct hf_attempt_ref *ref, enum hf_evidence_kind evidence);

/* A message on the stream of a request, or (ref NULL) on none. `text` may hold one %llu for the request's id. */
void upstream_message(struct fake_upstream *upstream, struct hf_attempt_ref *ref, const char *text);

void client_open(struct world *world, struct fake_client *client, const char *server, enum hf_era era);

/* The same for one with a name, at the endpoint of all servers. */
void client_open_as(struct world *world, struct fake_client *client, const char *principal, enum hf_era era);
void client_close(struct fake_client *client);

/* Sends a message; `reply` NULL for what is no request. Runs the loop. */
void client_send(struct world *world, struct fake_client *client, struct fake_reply *reply, const char *text);

/* initialize (2025-06-18, these capabilities) and notifications/initialized. */
void client_initialize(struct world *world, struct fake_client *client, const char *capabilities);

/* The client's stream of this request breaks. */
void client_abandon(struct fake_client *client, struct fake_reply *reply);

void reply_deinit(struct fake_reply *reply);

#endif
