#include "base/buf.h"

#include "base/alloc.h"
#include "base/error.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

enum { BUF_MIN_CAP = 256 };

void hf_buf_init(struct hf_buf *buf, size_t max) {
  *buf = (struct hf_buf){.max = max};
}

void hf_buf_deinit(struct hf_buf *buf) {
  hf_free(buf->data);
  *buf = (struct hf_buf){.max = buf->max};
}

void hf_buf_reset(struct hf_buf *buf, size_t keep) {
  if (buf->cap > keep)
    hf_buf_deinit(buf);
  buf->len = 0;
}

int hf_buf_reserve(struct hf_buf *buf, size_t extra) {
  size_t need;
  if (__builtin_add_overflow(buf->len, extra, &need) || need > buf->max)
    return HF_ERR_LIMIT;
  if (need <= buf->cap)
    return 0;

  size_t cap = buf->cap < BUF_MIN_CAP ? BUF_MIN_CAP : buf->cap;
  while (cap < need)
    cap = cap > buf->max / 2 ? buf->max : cap * 2;
  if (cap > buf->max)
    cap = buf->max; /* so that what fits the memory fits the maximum */

  char *data = hf_realloc(buf->data, cap);
  if (!data)
    return HF_ERR_NOMEM;
  buf->data = data;
  buf->cap = cap;
  return 0;
}

int hf_buf_append_growing(struct hf_buf *buf, const void *bytes, size_t len) {
  if (len == 0)
    return 0;
  int r = hf_buf_reserve(buf, len);
  if (r < 0)
    return r;
  memcpy(buf->data + buf->len, bytes, len);
  buf->len += len;
  return 0;
}

int hf_buf_append_int(struct hf_buf *buf, int64_t value) {
  char digits[HF_DECIMAL_MAX + 1];
  uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  struct hf_str text = hf_str_decimal(magnitude, digits + 1);
  if (value < 0) {
    digits[0] = '-';
    text = (struct hf_str){digits, text.len + 1};
  }
  return hf_buf_append_str(buf, text);
}

int hf_buf_vprintf(struct hf_buf *buf, const char *format, va_list args) {
  char small[512];
  va_list again;
  va_copy(again, args);
  int n = vsnprintf(small, sizeof small, format, again);
  va_end(again);
  if (n < 0)
    return HF_ERR_INVALID;
  if ((size_t)n < sizeof small)
    return hf_buf_append(buf, small, (size_t)n);

  int r = hf_buf_reserve(buf, (size_t)n + 1);
  if (r < 0)
    return r;
  n = vsnprintf(buf->data + buf->len, (size_t)n + 1, format, args);
  if (n < 0)
    return HF_ERR_INVALID;
  buf->len += (size_t)n;
  return 0;
}

int hf_buf_printf(struct hf_buf *buf, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int r = hf_buf_vprintf(buf, format, args);
  va_end(args);
  return r;
}

void hf_buf_consume(struct hf_buf *buf, size_t len) {
  assert(len <= buf->len);
  if (len == 0)
    return;
  memmove(buf->data, buf->data + len, buf->len - len);
  buf->len -= len;
}
