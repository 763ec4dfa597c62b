/* HTTP/1.1 as a client speaks it: the text of a request, and a strict incremental reader of responses.
 *
 * Pure: bytes in, events out, no sockets. The reader never guesses: where two readers could disagree about where a
 * message ends (both framings, repeated or odd lengths, bare CR or LF, folded headers), it refuses. */
#ifndef HF_UPSTREAM_HTTP1_H
#define HF_UPSTREAM_HTTP1_H

#include "base/buf.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum {
  HF_HTTP1_HEAD_MAX = 64 << 10, /* bytes of one head, or of the trailers */
  HF_HTTP1_HEADERS_MAX = 128,
  HF_HTTP1_INTERIM_MAX = 16, /* 1xx responses before the final one */
};

/* Starts a request: `method` and `target` are visible ASCII. Returns 0, HF_ERR_INVALID or what hf_buf_append does. */
int hf_http1_write_start(struct hf_buf *buf, struct hf_str method, struct hf_str target);

/* Adds a header. Returns 0, HF_ERR_INVALID (the name is no token, or the value holds a control character) or what
 * hf_buf_append does. */
int hf_http1_write_header(struct hf_buf *buf, struct hf_str name, struct hf_str value);

int hf_http1_write_end(struct hf_buf *buf);

/* Why a response was refused. name, text */
#define HF_HTTP1_FAULT_LIST(X)                                                                                         \
  X(NONE, "no fault")                                                                                                  \
  X(HTTP2, "the server speaks HTTP/2 without being asked")                                                             \
  X(TLS, "the server speaks TLS: the URL should begin with https")                                                     \
  X(NOT_HTTP, "the answer is not HTTP/1.x")                                                                            \
  X(STATUS, "malformed status line")                                                                                   \
  X(SWITCHED, "the server switched protocols without being asked")                                                     \
  X(INTERIM, "too many interim responses")                                                                             \
  X(LINE_END, "a line ends in a bare CR or LF")                                                                        \
  X(FOLDED, "a header line is folded")                                                                                 \
  X(HEADER, "malformed header line")                                                                                   \
  X(HEAD_SIZE, "the header section is too long")                                                                       \
  X(HEADER_COUNT, "too many header lines")                                                                             \
  X(BOTH_FRAMINGS, "both Content-Length and Transfer-Encoding")                                                        \
  X(LENGTH_REPEATED, "Content-Length is repeated")                                                                     \
  X(LENGTH, "malformed Content-Length")                                                                                \
  X(CODING, "unsupported or repeated Transfer-Encoding")                                                               \
  X(CHUNK_SIZE, "malformed chunk size")                                                                                \
  X(CHUNK_END, "a chunk is longer than it says")                                                                       \
  X(TRAILER, "malformed trailer")                                                                                      \
  X(CUT, "the connection ended inside the response")                                                                   \
  X(NOMEM, "out of memory")

enum hf_http1_fault {
#define HF_HTTP1_FAULT_ENUM(name, text) HF_HTTP1_FAULT_##name,
  HF_HTTP1_FAULT_LIST(HF_HTTP1_FAULT_ENUM)
#undef HF_HTTP1_FAULT_ENUM
};

/* Constant text, never NULL. */
const char *hf_http1_fault_text(enum hf_http1_fault fault);

enum hf_http1_event {
  HF_HTTP1_MORE, /* all that was given is used; more is wanted */
  HF_HTTP1_HEAD, /* the final response's status and headers can be read */
  HF_HTTP1_BODY, /* some of the body: ret_body */
  HF_HTTP1_END,  /* the response is complete; what follows belongs to nobody */
};

struct hf_http1_line {
  uint32_t name; /* offsets into `head` */
  uint32_t name_len;
  uint32_t value;
  uint32_t value_len;
};

struct hf_http1_reader {
  int status;
  bool keep_alive;   /* the connection may be used again after END */
  bool close_framed; /* the body ends with the connection */
  bool got_anything; /* at least one byte of a response has come */
  enum hf_http1_fault fault;

  /* The rest is the reader's own. */
  uint8_t state;
  uint8_t interim;
  bool trailer_line_empty;
  bool minor0;
  uint32_t line_start; /* in `head`, of the line being read */
  uint32_t trailer_bytes;
  uint64_t remaining; /* of the body or the chunk */
  uint32_t digits;    /* of the chunk size read so far */
  struct hf_buf head;
  struct hf_http1_line lines[HF_HTTP1_HEADERS_MAX];
  uint32_t line_count;
};

void hf_http1_reader_init(struct hf_http1_reader *reader);
void hf_http1_reader_deinit(struct hf_http1_reader *reader);

/* Makes it ready for the next response on the same connection; keeps a small head's memory. */
void hf_http1_reader_reset(struct hf_http1_reader *reader);

/* Takes from `bytes` as much as the next event needs (`ret_used`, at times 0). `ret_body` borrows from `bytes`. Returns
 * 0, HF_ERR_SYNTAX, HF_ERR_LIMIT or HF_ERR_NOMEM with `fault` set; then the connection is of no more use. */
int hf_http1_read(struct hf_http1_reader *reader, struct hf_str bytes, enum hf_http1_event *ret_event,
                  struct hf_str *ret_body, size_t *ret_used);

/* The peer ended its side. Returns 0 if that completes the response, else HF_ERR_INCOMPLETE. */
int hf_http1_read_eof(struct hf_http1_reader *reader);

/* The value of the first header called `name` (any case), trimmed; absent if there is none. Valid until _reset. */
struct hf_str hf_http1_header(const struct hf_http1_reader *reader, struct hf_str name);

/* How many headers are called `name`. */
size_t hf_http1_header_count(const struct hf_http1_reader *reader, struct hf_str name);

/* True if the comma-separated list `value` has `token` (any case). */
bool hf_http1_has_token(struct hf_str value, struct hf_str token);

#endif
