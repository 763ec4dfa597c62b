/* A growable byte buffer that knows its maximum.
 *
 * Every buffer is created with the most it may hold; what would pass it fails with HF_ERR_LIMIT and changes nothing. */
#ifndef HF_BASE_BUF_H
#define HF_BASE_BUF_H

#include "base/str.h"

#include <stdarg.h>
#include <stdint.h>

struct hf_buf {
  char *data; /* owned; NULL while empty */
  size_t len;
  size_t cap;
  size_t max;
};

void hf_buf_init(struct hf_buf *buf, size_t max);
void hf_buf_deinit(struct hf_buf *buf);

/* Forgets the content; keeps the memory if it is at most `keep` bytes, else gives it back. */
void hf_buf_reset(struct hf_buf *buf, size_t keep);

/* Makes room for `extra` more bytes. Returns 0, HF_ERR_LIMIT or HF_ERR_NOMEM. */
int hf_buf_reserve(struct hf_buf *buf, size_t extra);

/* hf_buf_append where there is no room yet. */
int hf_buf_append_growing(struct hf_buf *buf, const void *bytes, size_t len);

static inline int hf_buf_append(struct hf_buf *buf, const void *bytes, size_t len) {
  if (len == 0 || len > buf->cap - buf->len)
    return hf_buf_append_growing(buf, bytes, len);
  memcpy(buf->data + buf->len, bytes, len);
  buf->len += len;
  return 0;
}

static inline int hf_buf_append_str(struct hf_buf *buf, struct hf_str s) {
  return hf_buf_append(buf, s.ptr, s.len);
}

/* In decimal. Much cheaper than printing it. */
int hf_buf_append_int(struct hf_buf *buf, int64_t value);

/* Prints. A text of 512 bytes and more needs room for its NUL, too. */
int hf_buf_printf(struct hf_buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
int hf_buf_vprintf(struct hf_buf *buf, const char *format, va_list args) __attribute__((format(printf, 2, 0)));

/* Drops the first `len` bytes. */
void hf_buf_consume(struct hf_buf *buf, size_t len);

static inline struct hf_str hf_buf_str(const struct hf_buf *buf) {
  return (struct hf_str){buf->data ? buf->data : "", buf->len};
}

#endif
