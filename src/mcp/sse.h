/* Reading server-sent events.
 *
 * The parser takes bytes in any pieces: LF, CR and CRLF, a byte order mark, several data lines, comments, unknown
 * fields. Data is fed to a JSON scanner as it arrives, so that a large answer is scanned by the time its event ends. */
#ifndef HF_MCP_SSE_H
#define HF_MCP_SSE_H

#include "base/buf.h"
#include "json/scan.h"

enum { HF_SSE_ID_MAX = 1024, HF_SSE_TYPE_MAX = 64, HF_SSE_FIELD_MAX = 8 };

struct hf_sse_event {
  struct hf_str type;        /* "message" unless said otherwise */
  bool has_id;               /* the event carries an id, maybe an empty one */
  struct hf_str id;          /* the last event id so far */
  bool has_data;             /* at least one data line */
  int64_t retry_ms;          /* -1: none */
  struct hf_buf *data;       /* the handler may take its content */
  struct hf_json_scan *scan; /* of `data`; the handler may take its tape (hf_message_from_scan) */
  int json;                  /* 0: `data` is one JSON text, completely scanned; else the scanner's error */
};

struct hf_sse_handler {
  void *context;
  /* An event ended that has data, an id or a retry time. A non-zero return stops the parser, which returns it. */
  int (*event)(void *context, struct hf_sse_event *event);
  /* An event was longer than allowed, and is dropped; parsing goes on at the next one. `id` is the raw JSON-RPC id if
   * it could be read. Likewise. */
  int (*oversize)(void *context, struct hf_str id);
};

struct hf_sse {
  struct hf_sse_handler handler;
  struct hf_json_scan scan;
  struct hf_buf data;
  struct hf_buf id;      /* last event id */
  struct hf_buf next_id; /* of the event being read */
  struct hf_buf type;
  struct hf_buf line; /* the value of an event, id or retry line */
  int64_t retry_ms;
  char field[HF_SSE_FIELD_MAX];
  uint8_t field_len;
  uint8_t state;
  uint8_t kind; /* the field of this line */
  uint8_t bom;  /* bytes of a byte order mark seen; past 3: none */
  bool skip_lf; /* the last byte was a CR */
  bool space;   /* the first byte of a value: one space is dropped */
  bool has_id;
  bool has_data;
  bool too_long; /* this line's value does not count */
  bool dropping; /* the event is too long */
};

/* `max_event` bounds the data of one event. */
void hf_sse_init(struct hf_sse *sse, size_t max_event, const struct hf_sse_handler *handler);
void hf_sse_deinit(struct hf_sse *sse);

/* Returns 0, HF_ERR_NOMEM, or what a handler returned. An event that the end of the stream cuts off is never delivered.
 * The handler must not free or feed the parser. */
int hf_sse_feed(struct hf_sse *sse, const char *bytes, size_t len);

/* True if part of an event has been read that did not end. */
bool hf_sse_mid_event(const struct hf_sse *sse);

#endif
