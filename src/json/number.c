#include "json/number.h"

#include "base/error.h"

/* Exponents this far from zero leave room for what the digits of the longest text add to them. */
static const int64_t EXPONENT_MAX = 1000000000000000;

static size_t skip_digits(struct hf_str raw, size_t at) {
  while (at < raw.len && raw.ptr[at] >= '0' && raw.ptr[at] <= '9')
    at++;
  return at;
}

/* True if it is a number as JSON spells one, with nothing around it. */
static bool is_number(struct hf_str raw) {
  size_t start = raw.len > 0 && raw.ptr[0] == '-';
  size_t at = skip_digits(raw, start);
  if (at == start || (raw.ptr[start] == '0' && at > start + 1))
    return false;
  if (at < raw.len && raw.ptr[at] == '.') {
    start = at + 1;
    at = skip_digits(raw, start);
    if (at == start)
      return false;
  }
  if (at < raw.len && (raw.ptr[at] == 'e' || raw.ptr[at] == 'E')) {
    start = at + 1;
    start += start < raw.len && (raw.ptr[start] == '+' || raw.ptr[start] == '-');
    at = skip_digits(raw, start);
    if (at == start)
      return false;
  }
  return at == raw.len;
}

/* Reads what stands behind the `e`; saturates. */
static int64_t read_exponent(struct hf_str text, bool *ret_vast) {
  bool negative = text.ptr[0] == '-';
  int64_t exponent = 0;
  for (size_t i = negative || text.ptr[0] == '+'; i < text.len && exponent <= EXPONENT_MAX; i++)
    exponent = exponent * 10 + (text.ptr[i] - '0');
  *ret_vast = exponent > EXPONENT_MAX;
  return negative ? -exponent : exponent;
}

int hf_decimal_read(struct hf_str raw, struct hf_decimal *ret_value) {
  if (!is_number(raw))
    return HF_ERR_INVALID;
  struct hf_decimal d = {.negative = raw.ptr[0] == '-'};
  size_t end = d.negative, point = SIZE_MAX, first = SIZE_MAX, last = 0;
  for (; end < raw.len && raw.ptr[end] != 'e' && raw.ptr[end] != 'E'; end++) {
    if (raw.ptr[end] == '.') {
      point = end;
    } else if (raw.ptr[end] != '0') {
      last = end;
      first = first == SIZE_MAX ? end : first;
    }
  }
  if (first == SIZE_MAX) {
    *ret_value = (struct hf_decimal){.digits = {raw.ptr, 0}};
    return 0;
  }
  bool has_point = point != SIZE_MAX;
  d.digits = (struct hf_str){raw.ptr + first, last - first + 1};
  d.count = (int64_t)d.digits.len - (has_point && point > first && point < last);
  d.exponent = has_point && point < last ? -(int64_t)(last - point) : (int64_t)((has_point ? point : end) - last - 1);
  if (end < raw.len)
    d.exponent += read_exponent((struct hf_str){raw.ptr + end + 1, raw.len - end - 1}, &d.vast);
  *ret_value = d;
  return 0;
}

/* The order of two numbers without their signs. */
static int compare_sizes(const struct hf_decimal *a, const struct hf_decimal *b) {
  int64_t left = a->exponent + a->count, right = b->exponent + b->count;
  if (left != right)
    return left < right ? -1 : 1;
  size_t i = 0, j = 0;
  while (i < a->digits.len && j < b->digits.len) {
    i += a->digits.ptr[i] == '.';
    j += b->digits.ptr[j] == '.';
    if (a->digits.ptr[i] != b->digits.ptr[j])
      return a->digits.ptr[i] < b->digits.ptr[j] ? -1 : 1;
    i++;
    j++;
  }
  /* The last digit is none of the zeros, so whatever goes on is more. */
  return (i < a->digits.len) - (j < b->digits.len);
}

static int sign(const struct hf_decimal *d) {
  return d->count == 0 ? 0 : d->negative ? -1 : 1;
}

int hf_decimal_compare(const struct hf_decimal *a, const struct hf_decimal *b, int *ret_order) {
  if (sign(a) != sign(b) || sign(a) == 0) {
    *ret_order = sign(a) < sign(b) ? -1 : sign(a) > sign(b);
    return 0;
  }
  if (a->vast && b->vast && (a->exponent < 0) == (b->exponent < 0))
    return HF_ERR_LIMIT;
  int order = compare_sizes(a, b);
  *ret_order = a->negative ? -order : order;
  return 0;
}

int hf_decimal_append(const struct hf_decimal *value, struct hf_buf *out) {
  if (value->count == 0)
    return hf_buf_append(out, "0", 1);
  int r = value->negative ? hf_buf_append(out, "-", 1) : 0;
  const char *point = memchr(value->digits.ptr, '.', value->digits.len);
  size_t before = point ? (size_t)(point - value->digits.ptr) : value->digits.len;
  if (r == 0)
    r = hf_buf_append(out, value->digits.ptr, before);
  if (r == 0 && point)
    r = hf_buf_append(out, point + 1, value->digits.len - before - 1);
  if (r == 0 && value->exponent != 0)
    r = hf_buf_append(out, "e", 1);
  if (r == 0 && value->exponent != 0)
    r = hf_buf_append_int(out, value->exponent);
  return r;
}
