#include "json/write.h"

#include <assert.h>

void hf_json_writer_init(struct hf_json_writer *w, struct hf_buf *buf) {
  *w = (struct hf_json_writer){.buf = buf};
}

static void put(struct hf_json_writer *w, const char *bytes, size_t len) {
  if (w->error == 0)
    w->error = hf_buf_append(w->buf, bytes, len);
}

static bool in_object(const struct hf_json_writer *w) {
  return w->depth > 0 && (w->is_object >> (w->depth - 1) & 1);
}

/* Comes before every value: the comma of an array's element; a member's was put with its key. */
static void begin_value(struct hf_json_writer *w) {
  assert(in_object(w) == w->key);
  assert(w->depth > 0 || !w->comma);
  if (!w->key && w->comma)
    put(w, ",", 1);
  w->key = false;
  w->comma = true;
}

static void begin_container(struct hf_json_writer *w, bool object) {
  begin_value(w);
  assert(w->depth < HF_JSON_WRITE_DEPTH_MAX);
  uint64_t bit = (uint64_t)1 << w->depth;
  w->is_object = object ? w->is_object | bit : w->is_object & ~bit;
  w->depth++;
  w->comma = false;
  put(w, object ? "{" : "[", 1);
}

static void end_container(struct hf_json_writer *w, bool object) {
  assert(w->depth > 0 && in_object(w) == object && !w->key);
  w->depth--;
  w->comma = true;
  put(w, object ? "}" : "]", 1);
}

void hf_json_write_object(struct hf_json_writer *w) {
  begin_container(w, true);
}

void hf_json_write_object_end(struct hf_json_writer *w) {
  end_container(w, true);
}

void hf_json_write_array(struct hf_json_writer *w) {
  begin_container(w, false);
}

void hf_json_write_array_end(struct hf_json_writer *w) {
  end_container(w, false);
}

static void begin_key(struct hf_json_writer *w) {
  assert(in_object(w) && !w->key);
  if (w->comma)
    put(w, ",", 1);
  w->key = true;
}

void hf_json_write_key_str(struct hf_json_writer *w, struct hf_str key) {
  begin_key(w);
  if (w->error == 0)
    w->error = hf_json_escape(w->buf, key);
  put(w, ":", 1);
}

void hf_json_write_key_raw(struct hf_json_writer *w, struct hf_str raw) {
  begin_key(w);
  put(w, raw.ptr, raw.len);
  put(w, ":", 1);
}

void hf_json_write_key(struct hf_json_writer *w, const char *key) {
  hf_json_write_key_str(w, hf_str_from(key));
}

void hf_json_write_str(struct hf_json_writer *w, struct hf_str text) {
  begin_value(w);
  if (w->error == 0)
    w->error = hf_json_escape(w->buf, text);
}

void hf_json_write_int(struct hf_json_writer *w, int64_t value) {
  begin_value(w);
  if (w->error == 0)
    w->error = hf_buf_append_int(w->buf, value);
}

void hf_json_write_bool(struct hf_json_writer *w, bool value) {
  hf_json_write_raw(w, value ? HF_STR("true") : HF_STR("false"));
}

void hf_json_write_null(struct hf_json_writer *w) {
  hf_json_write_raw(w, HF_STR("null"));
}

void hf_json_write_raw(struct hf_json_writer *w, struct hf_str raw) {
  begin_value(w);
  put(w, raw.ptr, raw.len);
}

void hf_json_write_member_str(struct hf_json_writer *w, const char *key, struct hf_str text) {
  hf_json_write_key(w, key);
  hf_json_write_str(w, text);
}

void hf_json_write_member_int(struct hf_json_writer *w, const char *key, int64_t value) {
  hf_json_write_key(w, key);
  hf_json_write_int(w, value);
}

void hf_json_write_member_bool(struct hf_json_writer *w, const char *key, bool value) {
  hf_json_write_key(w, key);
  hf_json_write_bool(w, value);
}

void hf_json_write_member_raw(struct hf_json_writer *w, const char *key, struct hf_str raw) {
  hf_json_write_key(w, key);
  hf_json_write_raw(w, raw);
}

int hf_json_write_finish(const struct hf_json_writer *w) {
  assert(w->depth == 0 && !w->key);
  return w->error;
}

/* Length of the well-formed multi-byte character at `p`, or 0 (Unicode 15, table 3-7). */
static size_t utf8_length(const unsigned char *p, size_t left) {
  unsigned char lead = p[0];
  size_t len = lead >= 0xc2 && lead <= 0xdf ? 2 : (lead & 0xf0) == 0xe0 ? 3 : lead >= 0xf0 && lead <= 0xf4 ? 4 : 0;
  if (len == 0 || len > left)
    return 0;
  unsigned char low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  unsigned char high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  if (p[1] < low || p[1] > high)
    return 0;
  for (size_t i = 2; i < len; i++)
    if ((p[i] & 0xc0) != 0x80)
      return 0;
  return len;
}

/* Escapes the one special byte or character at `p`; sets how many bytes of input that was. */
static int escape_special(struct hf_buf *buf, const char *p, size_t left, size_t *ret_taken) {
  unsigned char c = (unsigned char)*p;
  *ret_taken = 1;
  switch (c) {
  case '"':
    return hf_buf_append(buf, "\\\"", 2);
  case '\\':
    return hf_buf_append(buf, "\\\\", 2);
  case '\n':
    return hf_buf_append(buf, "\\n", 2);
  case '\r':
    return hf_buf_append(buf, "\\r", 2);
  case '\t':
    return hf_buf_append(buf, "\\t", 2);
  default:
    break;
  }
  if (c < 0x20)
    return hf_buf_printf(buf, "\\u%04x", (unsigned)c);

  size_t len = utf8_length((const unsigned char *)p, left);
  if (len == 0)
    return hf_buf_append(buf, "\xef\xbf\xbd", 3);
  *ret_taken = len;
  if (len == 3 && memcmp(p, "\xe2\x80", 2) == 0 && ((unsigned char)p[2] & 0xfe) == 0xa8)
    return hf_buf_printf(buf, "\\u%04x", p[2] == '\xa8' ? 0x2028U : 0x2029U);
  return hf_buf_append(buf, p, len);
}

int hf_json_escape_part(struct hf_buf *buf, struct hf_str text) {
  int r = 0;
  size_t at = 0;
  while (r == 0 && at < text.len) {
    size_t stop = at;
    while (stop < text.len) {
      unsigned char c = (unsigned char)text.ptr[stop];
      if (c < 0x20 || c >= 0x80 || c == '"' || c == '\\')
        break;
      stop++;
    }
    r = hf_buf_append(buf, text.ptr + at, stop - at);
    at = stop;
    size_t taken;
    if (r == 0 && at < text.len) {
      r = escape_special(buf, text.ptr + at, text.len - at, &taken);
      at += taken;
    }
  }
  return r;
}

int hf_json_escape(struct hf_buf *buf, struct hf_str text) {
  int r = hf_buf_reserve(buf, text.len + 2); /* nothing gets shorter */
  if (r == 0)
    buf->data[buf->len++] = '"';
  if (r == 0)
    r = hf_json_escape_part(buf, text);
  return r == 0 ? hf_buf_append(buf, "\"", 1) : r;
}
