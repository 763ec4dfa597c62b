/* What upstream.c, handshake.c and attempt.c share: one upstream from the inside. */
#ifndef HF_UPSTREAM_UPLINK_H
#define HF_UPSTREAM_UPLINK_H

#include "base/arena.h"
#include "base/map.h"
#include "upstream/probe.h"
#include "upstream/upstream.h"

/* The transport's side of the phase. */
enum hf_uplink_stage {
  HF_UPLINK_CLOSED,
  HF_UPLINK_OPENING,
  HF_UPLINK_SHAKING, /* open, in the handshake */
  HF_UPLINK_LIVE,
  HF_UPLINK_CLOSING,
};

enum hf_attempt_purpose { HF_ATTEMPT_CALL, HF_ATTEMPT_DISCOVER, HF_ATTEMPT_INITIALIZE, HF_ATTEMPT_PING };

/* One request under way: given to the transport, or waiting for a new session. */
struct hf_attempt_ref {
  struct hf_list link; /* in `attempts` or `waiting` */
  struct hf_outgoing out;
  enum hf_attempt_purpose purpose;
  bool waiting;
  bool alive;       /* the server has shown that it works on it */
  uint64_t session; /* which one it was sent in: uplink.session */
  const struct hf_attempt_events *events;
  void *ctx;
  struct hf_arena arena; /* of name and params */
};

struct hf_uplink {
  struct hf_upstream base;
  struct hf_loop *loop;
  struct hf_transport *transport;
  struct hf_arena arena; /* of the strings here */
  struct hf_str name;
  struct hf_str capabilities;
  bool is_child;
  enum hf_era wanted_era;
  hf_time start_timeout;
  hf_time idle_stop;
  hf_time keepalive;
  const struct hf_upstream_events *events;
  void *owner;

  struct hf_upstream_status status;
  struct hf_error reason; /* what status.reason points to */
  struct hf_message hello;
  enum hf_uplink_stage stage;
  bool wanted;           /* start it again when it ends */
  bool stopped;          /* for good */
  bool open_when_closed; /* the start waits for the old transport to end */
  struct hf_restart restart;
  enum hf_era *remembered;
  enum hf_era own_memory;

  struct hf_probe probe;
  bool renewing;       /* READY, with a handshake for a new session under way */
  bool suspect;        /* the session is known to be lost */
  unsigned bad_streak; /* refusals in a row that may mean a lost session */
  uint64_t session;    /* counts them: what is said about an older one casts no doubt on this one */

  struct hf_map attempts_by_id;
  struct hf_list attempts;
  struct hf_list waiting; /* for the new session */
  struct hf_list posts;
  size_t calls; /* attempts of the owner, waiting ones too */
  uint64_t next_id;
  hf_time last_use;
  hf_time last_sign; /* of the server */

  struct hf_timer start_timer; /* the whole start, or the new session */
  struct hf_timer probe_timer; /* a silent probe, or a silent ping */
  struct hf_timer retry_timer;
  struct hf_timer idle_timer;
  struct hf_timer wait_timer; /* the first of `waiting` to give up */
  struct hf_job notify;
  struct hf_job renew;

  unsigned depth; /* of reports being handled: freeing waits for them */
  bool dead;
};

struct hf_uplink *hf_uplink_of(struct hf_upstream *upstream);

/* Around every report: what the owner frees meanwhile goes at the end. */
void hf_uplink_enter(struct hf_uplink *up);
void hf_uplink_leave(struct hf_uplink *up);

/* upstream.c */
void hf_uplink_ready(struct hf_uplink *up, struct hf_message *hello);                                /* takes it */
void hf_uplink_down(struct hf_uplink *up, const struct hf_evidence *evidence, struct hf_str reason); /* and restart */
void hf_uplink_reopen(struct hf_uplink *up); /* the child exited on the probe */
void hf_uplink_used(struct hf_uplink *up);

/* handshake.c */
void hf_handshake_begin(struct hf_uplink *up);
void hf_handshake_renew(struct hf_uplink *up);
void hf_handshake_end(struct hf_uplink *up); /* takes its timers and requests back */
void hf_handshake_answer(struct hf_uplink *up, enum hf_attempt_purpose purpose, const struct hf_evidence *evidence,
                         const struct hf_message *message);
void hf_handshake_silence(struct hf_uplink *up);

/* What a failed start says about requests that were never sent; `evidence` may be NULL. */
struct hf_evidence hf_handshake_evidence(const struct hf_evidence *evidence);

/* attempt.c */
int hf_attempt_new(struct hf_uplink *up, enum hf_attempt_purpose purpose, uint64_t id, enum hf_method method,
                   struct hf_attempt_ref **ret_attempt);
int hf_attempt_describe(struct hf_attempt_ref *attempt, const struct hf_upstream_request *request);
int hf_attempt_send(struct hf_uplink *up, struct hf_attempt_ref *attempt);
void hf_attempt_wait(struct hf_uplink *up, struct hf_attempt_ref *attempt);
void hf_attempt_free(struct hf_uplink *up, struct hf_attempt_ref *attempt);

/* Ends one with what was seen; `response` may be NULL. */
void hf_attempt_finish(struct hf_uplink *up, struct hf_attempt_ref *attempt, const struct hf_evidence *evidence,
                       const struct hf_message *response);

/* Sends those that waited for the new session, or ends them with `evidence`. */
void hf_attempt_release_waiting(struct hf_uplink *up);
void hf_attempt_fail_waiting(struct hf_uplink *up, const struct hf_evidence *evidence);

/* The transport is gone: everything given to it ends. */
void hf_attempt_fail_all(struct hf_uplink *up, const struct hf_evidence *evidence);

/* Frees everything without a word. */
void hf_attempt_drop_all(struct hf_uplink *up);

/* Sends a message that is no request; takes `text`. Best effort. */
void hf_attempt_post(struct hf_uplink *up, enum hf_method method, struct hf_pieces *text);

/* The server's messages and the transport's reports, to whom they belong. */
void hf_attempt_message(struct hf_uplink *up, struct hf_outgoing *out, const struct hf_message *message);
void hf_attempt_done(struct hf_uplink *up, struct hf_outgoing *out, const struct hf_evidence *evidence);

#endif
