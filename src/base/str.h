/* A borrowed run of bytes. It owns nothing and need not be NUL-terminated. */
#ifndef HF_BASE_STR_H
#define HF_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct hf_str {
  const char *ptr; /* NULL means "absent", which is not the same as empty */
  size_t len;
};

/* A hf_str of a string literal, also as an initializer. */
#define HF_STR(literal)                                                                                                \
  (struct hf_str) {                                                                                                    \
    "" literal, sizeof(literal) - 1                                                                                    \
  }

/* For printf's "%.*s". Lengths beyond INT_MAX never reach a format string: texts shown are bounded before. */
#define HF_STR_FMT(s) (int)(s).len, ((s).ptr ? (s).ptr : "")

static inline struct hf_str hf_str_from(const char *text) {
  return (struct hf_str){text, text ? strlen(text) : 0};
}

static inline bool hf_str_equal(struct hf_str a, struct hf_str b) {
  return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

/* At most `max` bytes of it, and no part of a character of UTF-8. */
static inline struct hf_str hf_str_cut(struct hf_str s, size_t max) {
  if (s.len <= max)
    return s;
  while (max > 0 && ((unsigned char)s.ptr[max] & 0xc0) == 0x80)
    max--;
  return (struct hf_str){s.ptr, max};
}

static inline bool hf_str_starts(struct hf_str s, struct hf_str prefix) {
  return s.len >= prefix.len && (prefix.len == 0 || memcmp(s.ptr, prefix.ptr, prefix.len) == 0);
}

/* ASCII letters count as their lower case. */
bool hf_bytes_equal_nocase(const char *a, const char *b, size_t len);

/* ASCII case-insensitive: header names, schemes. */
static inline bool hf_str_equal_nocase(struct hf_str a, struct hf_str b) {
  return a.len == b.len && hf_bytes_equal_nocase(a.ptr, b.ptr, a.len);
}

/* Strips spaces and tabs on both sides. */
struct hf_str hf_str_trim(struct hf_str s);

enum { HF_DECIMAL_MAX = 20 };

/* Writes a number into `digits`. What it returns starts there and has no NUL. */
struct hf_str hf_str_decimal(uint64_t value, char digits[HF_DECIMAL_MAX]);

/* Reads an unsigned decimal of digits only. Returns 0, HF_ERR_SYNTAX, or HF_ERR_LIMIT beyond `max`. */
int hf_str_to_u64(struct hf_str s, unsigned long long max, unsigned long long *ret_value);

#endif
