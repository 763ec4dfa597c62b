/* A fake server, and the requests under way at it: server.c is its life and the seam of gateway/upstream.h, request.c
 * what becomes of each request. Both allocate by the C library, so that an injected failure hits the gateway alone. */
#ifndef SIM_SERVER_H
#define SIM_SERVER_H

#include "gateway.h"

/* One request under way, or given up by the gateway and still on the server's mind. */
struct hf_attempt_ref {
  struct hf_list link; /* of its server */
  struct sim_timer timer;
  struct sim_server *server;
  const struct hf_attempt_events *events;
  void *ctx;
  uint64_t id;
  enum hf_method method;
  long number; /* the ask's whose own words it carries, or -1 */
  long deed;   /* that it is to do, or -1 */
  long who;    /* the principal of the ask, or -1 */
  struct sim_run run;
  char key[SIM_KEY_MAX];
  bool arrived;
  hf_time left_at; /* when the gateway stopped waiting for it; HF_TIME_NEVER: it waits */
  size_t len;
  struct sim_plan plan;
  unsigned stage;
  unsigned token; /* of the question it has open */
  bool new_session;
  bool goes_on; /* a further round of an attempt, with the state of the one before */
  bool executed;
  bool muted;        /* given up */
  bool takes_task;   /* its caller takes one for an answer */
  bool can_be_asked; /* and says that it answers questions */
  bool is_to_ask;    /* before it is answered */
  long work;         /* the task that it is about, or -1 */
  long echo;         /* of the question that it answers, or -1 */
};

struct sim_server {
  struct hf_upstream head;
  struct sim_gateway *sim;
  struct sim_server *next;
  const struct hf_upstream_events *events;
  void *owner;
  struct sim_timer timer; /* of a start, then of what happens by itself */
  struct hf_list requests;
  enum hf_upstream_phase phase;
  enum sim_mood mood;
  hf_time mood_until;
  hf_time retry_at;
  hf_time full_until; /* it takes no more requests */
  unsigned starts;
  unsigned number;
  bool modern;
  bool asks; /* its client can be asked */
  bool freed;
  bool killing; /* it dies, and what is under way with it */
};

/* Says that the phase has changed, or the session is a new one. */
void sim_server_tell(struct sim_server *s, enum hf_evidence_kind why);

/* It ends, and with it all that is under way. It may be freed when this returns. */
void sim_server_come_down(struct sim_server *s, enum hf_upstream_phase phase, enum hf_evidence_kind why);
void sim_server_change_mood(struct sim_server *s);

/* What is to become of the next request. */
struct sim_plan sim_attempt_plan(struct sim_server *s);

/* Moves the request on, `after` from now. */
void sim_attempt_next(struct hf_attempt_ref *ref, hf_time after);

/* Its server is gone: what had arrived may have been done. The request is gone, too. */
void sim_attempt_break_off(struct hf_attempt_ref *ref);
void sim_attempt_release(struct hf_attempt_ref *ref);

/* The gateway waits for it no more, and the server does not know. It may be gone. */
void sim_attempt_leave(struct hf_attempt_ref *ref);

#endif
