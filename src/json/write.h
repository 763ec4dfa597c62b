/* Writing the messages that the gateway makes itself.
 *
 * Commas and colons are the writer's business, so that its text is well formed by construction; wrong nesting asserts.
 * Errors stick: write everything, then ask hf_json_write_finish once. */
#ifndef HF_JSON_WRITE_H
#define HF_JSON_WRITE_H

#include "base/buf.h"

#include <stdint.h>

enum { HF_JSON_WRITE_DEPTH_MAX = 64 };

struct hf_json_writer {
  struct hf_buf *buf; /* borrowed */
  int error;
  uint32_t depth;
  uint64_t is_object; /* a bit per open container */
  bool comma;         /* something stands before in this container */
  bool key;           /* a key waits for its value */
};

void hf_json_writer_init(struct hf_json_writer *w, struct hf_buf *buf);

void hf_json_write_object(struct hf_json_writer *w);
void hf_json_write_object_end(struct hf_json_writer *w);
void hf_json_write_array(struct hf_json_writer *w);
void hf_json_write_array_end(struct hf_json_writer *w);
void hf_json_write_key(struct hf_json_writer *w, const char *key);
void hf_json_write_key_str(struct hf_json_writer *w, struct hf_str key);

/* A key as it is spelt in other JSON, with its quotes. */
void hf_json_write_key_raw(struct hf_json_writer *w, struct hf_str raw);

/* Escapes what must be, and U+2028 and U+2029 (which old JavaScript chokes on); invalid UTF-8 becomes U+FFFD. */
void hf_json_write_str(struct hf_json_writer *w, struct hf_str text);
void hf_json_write_int(struct hf_json_writer *w, int64_t value);
void hf_json_write_bool(struct hf_json_writer *w, bool value);
void hf_json_write_null(struct hf_json_writer *w);

/* Puts `raw`, which is valid JSON, as it is. */
void hf_json_write_raw(struct hf_json_writer *w, struct hf_str raw);

/* A key and its value at once. */
void hf_json_write_member_str(struct hf_json_writer *w, const char *key, struct hf_str text);
void hf_json_write_member_int(struct hf_json_writer *w, const char *key, int64_t value);
void hf_json_write_member_bool(struct hf_json_writer *w, const char *key, bool value);
void hf_json_write_member_raw(struct hf_json_writer *w, const char *key, struct hf_str raw);

/* Returns 0, or the first error of the buffer. Asserts that all is closed. */
int hf_json_write_finish(const struct hf_json_writer *w);

/* Appends `text` as one JSON string, quotes included. Returns 0 or the buffer's error. */
int hf_json_escape(struct hf_buf *buf, struct hf_str text);

/* The same without quotes: a part of a string. */
int hf_json_escape_part(struct hf_buf *buf, struct hf_str text);

#endif
