/* Messages on a byte stream, one per line: the framing of stdio.
 *
 * Servers print banners, blank lines, CRLF, byte order marks, and two messages on a line; none of that may cost a
 * message. Each byte is looked at once. A line that is too long, broken, or no JSON at all is dropped and told; reading
 * goes on behind the next newline. */
#ifndef HF_MCP_NDJSON_H
#define HF_MCP_NDJSON_H

#include "base/blob.h"
#include "json/scan.h"

enum { HF_NDJSON_HEAD_MAX = 256 };

enum hf_ndjson_drop_kind {
  HF_NDJSON_NOISE,    /* no JSON object or array of objects: a banner, a stack trace */
  HF_NDJSON_BROKEN,   /* began like a message, but is malformed */
  HF_NDJSON_OVERSIZE, /* a limit of size, depth or number of values */
  HF_NDJSON_CUT,      /* the stream ended inside */
};

struct hf_ndjson_drop {
  enum hf_ndjson_drop_kind kind;
  struct hf_str head;       /* at most HF_NDJSON_HEAD_MAX bytes of it, any bytes */
  size_t len;               /* of noise: the whole line; else what had come until it was dropped */
  struct hf_str id;         /* raw JSON-RPC id, if it could be read */
  enum hf_json_fault fault; /* of BROKEN and OVERSIZE */
};

struct hf_ndjson_handler {
  void *context;
  /* `buf` is one JSON text, which `scan` has read completely; hf_message_from_scan may take both. A non-zero return
   * stops the framer, which returns it. */
  int (*frame)(void *context, struct hf_buf *buf, struct hf_json_scan *scan);
  int (*dropped)(void *context, const struct hf_ndjson_drop *drop);
};

struct hf_ndjson {
  struct hf_ndjson_handler handler;
  struct hf_json_scan scan;
  struct hf_buf buf; /* of the frame being read, or the head of noise */
  size_t noise;      /* bytes of the line being dropped */
  uint8_t state;
  uint8_t bom; /* bytes of a byte order mark seen at the start of this line */
};

/* `max_frame` bounds one message. */
void hf_ndjson_init(struct hf_ndjson *nd, size_t max_frame, const struct hf_ndjson_handler *handler);

/* Tighter bounds of one message, before the first byte. */
void hf_ndjson_limit(struct hf_ndjson *nd, uint32_t max_depth, uint32_t max_nodes);

void hf_ndjson_deinit(struct hf_ndjson *nd);

/* Returns 0, HF_ERR_NOMEM, or what a handler returned. The handler must not free or feed the framer. */
int hf_ndjson_feed(struct hf_ndjson *nd, const char *bytes, size_t len);

/* The stream ended: tells what is unfinished. */
int hf_ndjson_eof(struct hf_ndjson *nd);

/* Appends `message` and a newline. Line breaks inside (white space, in valid JSON) become spaces. Returns 0,
 * HF_ERR_LIMIT or HF_ERR_NOMEM. */
int hf_ndjson_write(struct hf_pieces *out, const struct hf_pieces *message);

#endif
