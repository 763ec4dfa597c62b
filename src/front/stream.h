/* One stream of server-sent events: what waits to be written, and, for legacy clients, what may be asked for again.
 *
 * Events are kept oldest first; `next` divides those written from those waiting. A resumable stream gives each event an
 * id and keeps written ones within its limit; otherwise an event is freed as soon as it is written. Nothing here knows
 * of sockets: a reader attaches, is woken when there is something, and reads bytes. */
#ifndef HF_FRONT_STREAM_H
#define HF_FRONT_STREAM_H

#include "base/blob.h"
#include "base/list.h"

#include <stdbool.h>
#include <stdint.h>

enum { HF_STREAM_ID_MAX = 64, HF_STREAM_RETRY_MAX = 32 };

struct hf_stream_event;

struct hf_stream_options {
  uint32_t tag;      /* of the session: an id from another session is recognised */
  uint32_t number;   /* of the stream in its session */
  bool ids;          /* resumable: events carry ids and are kept */
  unsigned retry_ms; /* when a reader whose stream breaks is to come back; 0: it is not told */
  size_t replay;     /* bytes kept, also of what waits while nobody reads */
  size_t backlog;    /* bytes that may wait for a reader behind the event being written */
};

struct hf_stream {
  struct hf_list link; /* the owner's */
  struct hf_stream_options options;
  struct hf_list events;
  struct hf_stream_event *next; /* the first that is not wholly written, or NULL */
  size_t kept;                  /* bytes of all events */
  size_t waiting;               /* bytes of those from `next` on */
  uint64_t last_seq;
  uint64_t call;              /* whose answer ended it; 0: none did */
  uint64_t dropped;           /* events that were thrown away unread */
  bool ended;                 /* nothing is added any more */
  bool standalone;            /* a GET stream, as against the answer to a POST */
  void (*wake)(void *reader); /* there is something to read; may come from inside any call but read */
  void *reader;               /* NULL while nobody reads */
  struct hf_pieces fallback;  /* takes the place of a final event too large to keep */

  char retry[HF_STREAM_RETRY_MAX]; /* what says so */
  struct hf_str text;              /* the cursor in `next`: literal bytes to write before going on */
  size_t piece;
  size_t offset;
  int part;
  bool after_cr;
};

void hf_stream_init(struct hf_stream *stream, const struct hf_stream_options *options);
void hf_stream_deinit(struct hf_stream *stream);

/* Adds a message; `text` is taken. Returns 0, HF_ERR_LIMIT when the reader is too slow (cut it off), HF_ERR_CLOSED,
 * HF_ERR_NOMEM. */
int hf_stream_push(struct hf_stream *stream, struct hf_pieces *text);

/* Adds the answer to a call among other messages, which is never refused for a slow reader: as many can wait as there
 * are calls. Returns 0, HF_ERR_CLOSED, HF_ERR_NOMEM. */
int hf_stream_push_answer(struct hf_stream *stream, struct hf_pieces *text, uint64_t call);

/* Of a stream that is over: the next call whose answer was not wholly written; 0 once there is none. */
uint64_t hf_stream_take_unwritten(struct hf_stream *stream);

/* True if more waits than may: no new calls whose answers would come on this stream. */
bool hf_stream_is_behind(const struct hf_stream *stream);

/* Adds the event that tells a client of HTTP+SSE where to POST; `endpoint` is taken. Returns 0 or HF_ERR_NOMEM. */
int hf_stream_announce(struct hf_stream *stream, struct hf_pieces *endpoint);

/* Adds the last message and ends the stream; `fallback` (taken, may be empty) replaces it if it cannot be kept. It is
 * never refused for a slow reader. Returns 0, HF_ERR_CLOSED or HF_ERR_NOMEM (the stream is ended all the same). */
int hf_stream_finish(struct hf_stream *stream, struct hf_pieces *text, struct hf_pieces *fallback);

/* Adds an event with an id and no data, which lets a client resume before anything else came. */
int hf_stream_prime(struct hf_stream *stream);

/* Adds a comment for a reader that has nothing else to read; keeps proxies from cutting an idle stream. */
void hf_stream_keep_alive(struct hf_stream *stream);

/* Nothing more comes. */
void hf_stream_end(struct hf_stream *stream);

/* Somebody reads from now on, beginning behind the event `after` (0: all that is kept). The reader before is told by
 * nobody: the caller has detached it. */
void hf_stream_attach(struct hf_stream *stream, uint64_t after, void (*wake)(void *reader), void *reader);

/* The last event that was wholly written to some reader; 0: none. */
uint64_t hf_stream_written(const struct hf_stream *stream);

/* Nobody reads: an event written in part counts as not written. */
void hf_stream_detach(struct hf_stream *stream);

/* Writes what fits. Returns 0 when nothing waits. */
size_t hf_stream_read(struct hf_stream *stream, char *out, size_t max);

/* True if all was read and nothing more comes. */
bool hf_stream_drained(const struct hf_stream *stream);

struct hf_stream_id {
  uint32_t tag;
  uint32_t number;
  uint64_t seq;
};

/* Reads an event id. Returns 0 or HF_ERR_SYNTAX for one that was never ours. */
int hf_stream_id_parse(struct hf_str text, struct hf_stream_id *ret_id);

#endif
