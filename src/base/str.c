#include "base/str.h"

#include "base/error.h"

static char lower(char c) {
  return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

bool hf_bytes_equal_nocase(const char *a, const char *b, size_t len) {
  for (size_t i = 0; i < len; i++)
    if (a[i] != b[i] && lower(a[i]) != lower(b[i]))
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

struct hf_str hf_str_decimal(uint64_t value, char digits[HF_DECIMAL_MAX]) {
  size_t len = 1;
  for (uint64_t rest = value; rest >= 10; rest /= 10)
    len++;
  for (size_t i = len; i-- > 0; value /= 10)
    digits[i] = (char)('0' + value % 10);
  return (struct hf_str){digits, len};
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
