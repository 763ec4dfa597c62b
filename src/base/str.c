#include "base/str.h"

#include "base/error.h"

static char lower(char c) {
  return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

bool hf_str_equal_nocase(struct hf_str a, struct hf_str b) {
  if (a.len != b.len)
    return false;
  for (size_t i = 0; i < a.len; i++)
    if (lower(a.ptr[i]) != lower(b.ptr[i]))
      return false;
  return true;
}

static bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

struct hf_str hf_str_trim(struct hf_str s) {
  while (s.len && is_blank(s.ptr[0]))
    s.ptr++, s.len--;
  while (s.len && is_blank(s.ptr[s.len - 1]))
    s.len--;
  return s;
}

int hf_str_to_u64(struct hf_str s, unsigned long long max, unsigned long long *ret_value) {
  if (s.len == 0)
    return HF_ERR_SYNTAX;

  unsigned long long value = 0;
  for (size_t i = 0; i < s.len; i++) {
    if (s.ptr[i] < '0' || s.ptr[i] > '9')
      return HF_ERR_SYNTAX;
    if (__builtin_mul_overflow(value, 10ULL, &value) ||
        __builtin_add_overflow(value, (unsigned long long)(s.ptr[i] - '0'), &value) || value > max)
      return HF_ERR_LIMIT;
  }
  *ret_value = value;
  return 0;
}
