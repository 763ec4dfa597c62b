/* What comes in the body of a response: one JSON message, messages as server-sent events, or the text of an error.
 *
 * JSON is scanned as it arrives, so that the end of a large result costs no more than any other part of it. */
#ifndef HF_UPSTREAM_ANSWER_H
#define HF_UPSTREAM_ANSWER_H

#include "mcp/message.h"
#include "mcp/sse.h"

enum hf_answer_kind {
  HF_ANSWER_NONE, /* nothing is kept */
  HF_ANSWER_JSON,
  HF_ANSWER_EVENTS,
  HF_ANSWER_TEXT, /* the beginning is kept */
};

enum {
  HF_ANSWER_TEXT_MAX = 256 << 10,
  HF_ANSWER_DRAIN_MAX = 64 << 10,
  HF_ANSWER_BARREN_MAX = 4, /* times the largest message: bytes of an event stream without an event */
};

struct hf_answer;

struct hf_answer_events {
  /* A message; the receiver may move it away. It may call hf_answer_stop, and must not free the answer. */
  void (*message)(struct hf_answer *answer, struct hf_message *message);

  /* An event came that is no message. */
  void (*life)(struct hf_answer *answer);

  /* An event of a type of its own; borrowed. NULL: life() hears of it. */
  void (*named)(struct hf_answer *answer, struct hf_str type, struct hf_str data);

  /* A message that cannot be read, or is too large; `id` is its raw id, or empty. The stream goes on. NULL: it is life,
   * or ends the stream. */
  void (*unreadable)(struct hf_answer *answer, struct hf_str id);
};

struct hf_answer {
  const struct hf_answer_events *events;
  enum hf_answer_kind kind;
  bool stopped;
  size_t max;
  size_t dropped;           /* bytes that were not kept */
  size_t barren;            /* EVENTS: bytes since the last event */
  uint8_t bom;              /* JSON: bytes of a byte order mark seen; past 3: none */
  struct hf_buf body;       /* JSON, TEXT */
  struct hf_json_scan scan; /* JSON */
  struct hf_sse sse;        /* EVENTS */
  struct hf_buf last_id;    /* of the last event that had one; kept over hf_answer_begin */
  int64_t retry_ms;         /* the last that was said, or -1 */
  uint64_t event_count;
  struct hf_error why; /* of the last message that was refused; code 0: none was */
};

void hf_answer_init(struct hf_answer *answer, const struct hf_answer_events *events);
void hf_answer_deinit(struct hf_answer *answer);

/* Gets ready for a body; `max` bounds one message. */
void hf_answer_begin(struct hf_answer *answer, enum hf_answer_kind kind, size_t max);

/* Returns 0, HF_ERR_CLOSED (stopped), HF_ERR_LIMIT (too large, or too much of nothing), HF_ERR_SYNTAX, HF_ERR_NOMEM. */
int hf_answer_feed(struct hf_answer *answer, struct hf_str bytes);

/* The body has ended: a JSON message is delivered now. Returns 0, or what makes it no message. */
int hf_answer_finish(struct hf_answer *answer);

/* Delivers nothing more. */
void hf_answer_stop(struct hf_answer *answer);

#endif
