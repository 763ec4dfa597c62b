/* The front's clients, and when they end.
 *
 * A legacy client is a session: found by a secret id from the kernel, owned by the principal and the endpoint that
 * opened it, and gone after a time without use. All modern requests of one principal at one endpoint share one
 * stateless client, found by those two. Both are bounded, in all and per principal, and kept in the order of their last
 * use. */
#ifndef HF_FRONT_SESSION_H
#define HF_FRONT_SESSION_H

#include "base/list.h"
#include "base/map.h"
#include "base/time.h"
#include "front/stream.h"
#include "gateway/client.h"

enum {
  HF_SESSION_ID_LEN = 32,
  HF_SESSION_GET_STREAMS = 4,
  HF_SESSION_READ_STREAMS = 4,     /* answers that were written whole, and may have got lost on the way all the same */
  HF_SESSION_UNREAD_STREAMS = 256, /* answers that were not, */
  HF_SESSION_UNREAD_SHARE = 4,     /* which together take so many times what one stream may keep */
  HF_SESSION_RETRY_MS = 1000,      /* and up to as much again, so that not all come back at once */
};

/* Who opened sessions, by name, so that a reload of the settings changes nothing for them. */
struct hf_owner {
  struct hf_str name; /* absent: nobody in particular */
  size_t sessions;
};

struct hf_session {
  struct hf_list link; /* in order of last use */
  struct hf_client *client;
  struct hf_owner *owner;
  void *front; /* the front's, for callbacks of the gateway */
  enum hf_era era;
  bool sse;     /* of HTTP+SSE: it lasts as long as its one stream, which carries all that it is told */
  uint32_t tag; /* in event ids */
  hf_time used;
  bool ended;              /* out of the table; lives on until its last request is over */
  struct hf_list requests; /* the front's open requests and streams: while there are any it doesn't expire */
  struct hf_list streams;  /* legacy: in the order in which they were opened or come back to */
  uint32_t next_stream;
  struct hf_str endpoint; /* absent: all servers */
  size_t key_len;
  char key[]; /* the id, or principal and endpoint; NUL-terminated */
};

struct hf_sessions {
  struct hf_map by_key;
  struct hf_map owners;
  struct hf_list order; /* least recently used first */
  size_t max;
  size_t max_per_owner;
};

void hf_sessions_init(struct hf_sessions *sessions, size_t max, size_t max_per_owner);

/* All sessions were removed before. */
void hf_sessions_deinit(struct hf_sessions *sessions);

/* Adds a legacy session under a fresh id. Returns 0, HF_ERR_LIMIT, HF_ERR_NOMEM, HF_ERR_IO. The client is the
 * caller's to open. */
int hf_sessions_open(struct hf_sessions *sessions, struct hf_str principal, struct hf_str endpoint, hf_time now,
                     struct hf_session **ret_session);

/* Finds the session; NULL if there is none, or if it belongs to another principal or endpoint. */
struct hf_session *hf_sessions_find(const struct hf_sessions *sessions, struct hf_str id, struct hf_str principal,
                                    struct hf_str endpoint);

/* Finds the stateless client of principal and endpoint, or adds one (`client` is NULL then). Returns 0, HF_ERR_LIMIT,
 * HF_ERR_NOMEM. */
int hf_sessions_stateless(struct hf_sessions *sessions, struct hf_str principal, struct hf_str endpoint, hf_time now,
                          struct hf_session **ret_session);

/* It was used: it is the last to expire. */
void hf_sessions_touch(struct hf_sessions *sessions, struct hf_session *session, hf_time now);

/* Nobody will use it again: it is the next to expire. */
void hf_sessions_doom(struct hf_sessions *sessions, struct hf_session *session);

/* The least recently used session if it has been idle since before `before`, else NULL. */
struct hf_session *hf_sessions_expired(struct hf_sessions *sessions, hf_time before);

/* Takes it out: it is found no more and no longer counts. Its client was closed before. */
void hf_sessions_remove(struct hf_sessions *sessions, struct hf_session *session);

/* Frees a session that was taken out, with its streams. */
void hf_session_free(struct hf_session *session);

/* Its stream of that number, or NULL. */
struct hf_stream *hf_session_stream(const struct hf_session *session, uint32_t number);

/* Adds a stream. Streams that nobody reads, beyond what a session may keep, go, the oldest first. Returns owned by the
 * session, or NULL when out of memory. */
struct hf_stream *hf_session_add_stream(struct hf_session *session, bool standalone, size_t replay, size_t backlog);

void hf_session_drop_stream(struct hf_stream *stream);

/* The standalone stream for a client that comes back: one that nobody reads, best one on which something waits; else,
 * of as many as a session may have, the oldest. NULL: it gets one of its own. */
struct hf_stream *hf_session_left(const struct hf_session *session);

/* The stream for what belongs to no request: the newest that is read, else the unread one, else NULL. */
struct hf_stream *hf_session_standalone(const struct hf_session *session);

#endif
