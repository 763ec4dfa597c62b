#include "schema/equal.h"

#include "base/error.h"
#include "json/number.h"

#include <assert.h>

enum {
  BYTES_PER_STEP = 64,  /* of strings that are compared … */
  HASHED_PER_STEP = 16, /* … or hashed */
  READ_PER_STEP = 8,    /* of numbers that are compared */
  ESCAPES_PER_STEP = 4, /* bytes of strings with escapes, and of numbers that are hashed */
  DIGITS_PER_STEP = 16, /* that are divided */
  U64_DIGITS = 18,      /* that surely fit */
  DIVISOR_DIGITS = 512,
  /* Each factor of two or five in a divisor takes less than four decimal digits of it to write, so no more zeros than
   * this behind a number change whether it is a multiple. */
  ZEROS_PER_DIGIT = 4,
};

static const uint64_t PRIME = 0x100000001b3;
static const uint64_t END = UINT64_MAX; /* of a value: no type is this */

static bool spend(uint32_t *io_steps, size_t cost) {
  if (cost > *io_steps) {
    *io_steps = 0;
    return false;
  }
  *io_steps -= (uint32_t)cost;
  return true;
}

/* What a string means, a character at a time. */
struct reader {
  const char *at;
  const char *end;
};

static struct reader reader(const struct hf_json_doc *doc, uint32_t node) {
  const struct hf_json_node *n = &doc->nodes[node];
  return (struct reader){doc->base + n->start + 1, doc->base + n->end - 1};
}

/* The next bytes that mean what they are, or what the next escape means. */
static struct hf_str next_piece(struct reader *r, struct hf_json_char *escape) {
  if (r->at == r->end)
    return (struct hf_str){NULL, 0};
  if (*r->at == '\\') {
    r->at += hf_json_read_escape(r->at, r->end, escape);
    return (struct hf_str){escape->bytes, escape->len};
  }
  const char *stop = memchr(r->at, '\\', (size_t)(r->end - r->at));
  struct hf_str piece = {r->at, (size_t)((stop ? stop : r->end) - r->at)};
  r->at += piece.len;
  return piece;
}

static bool is_escaped(const struct hf_json_doc *doc, uint32_t node) {
  return (doc->nodes[node].flags & HF_JSON_ESCAPED) != 0;
}

static bool equal_strings(const struct hf_json_doc *a, uint32_t at, const struct hf_json_doc *b, uint32_t bt) {
  struct hf_str left = hf_json_span(a, at), right = hf_json_span(b, bt);
  if (!is_escaped(a, at) && !is_escaped(b, bt))
    return hf_str_equal(left, right);
  struct reader left_reader = reader(a, at), right_reader = reader(b, bt);
  struct hf_json_char left_escape, right_escape;
  left = right = (struct hf_str){NULL, 0};
  for (;;) {
    left = left.len ? left : next_piece(&left_reader, &left_escape);
    right = right.len ? right : next_piece(&right_reader, &right_escape);
    size_t len = left.len < right.len ? left.len : right.len;
    if (len == 0)
      return left.len == right.len;
    if (memcmp(left.ptr, right.ptr, len) != 0)
      return false;
    left = (struct hf_str){left.ptr + len, left.len - len};
    right = (struct hf_str){right.ptr + len, right.len - len};
  }
}

/* The steps that comparing two strings takes. */
static size_t cost_of_strings(const struct hf_json_doc *a, uint32_t at, const struct hf_json_doc *b, uint32_t bt) {
  size_t left = hf_json_span(a, at).len, right = hf_json_span(b, bt).len;
  if (is_escaped(a, at) || is_escaped(b, bt))
    return 1 + (left + right) / ESCAPES_PER_STEP;
  return left == right ? 1 + left / BYTES_PER_STEP : 1;
}

static int equal_numbers(struct hf_str a, struct hf_str b) {
  if (hf_str_equal(a, b))
    return 1;
  struct hf_decimal left, right;
  int order;
  if (hf_decimal_read(a, &left) != 0 || hf_decimal_read(b, &right) != 0)
    return 0;
  int err = hf_decimal_compare(&left, &right, &order);
  return err ? err : order == 0;
}

static int equal_arrays(const struct hf_json_doc *a, uint32_t at, const struct hf_json_doc *b, uint32_t bt,
                        uint32_t *io_steps) {
  struct hf_json_iter left = hf_json_iter(a, at), right = hf_json_iter(b, bt);
  uint32_t left_value, right_value;
  while (hf_json_next(a, &left, NULL, &left_value) && hf_json_next(b, &right, NULL, &right_value)) {
    int same = hf_json_equal(a, left_value, b, right_value, io_steps);
    if (same != 1)
      return same;
  }
  return 1;
}

/* Finds the member of `object` that is called like `key`. Returns 1, 0 or HF_ERR_LIMIT. */
static int find_member(const struct hf_json_doc *doc, uint32_t object, const struct hf_json_doc *key_doc, uint32_t key,
                       uint32_t *ret_value, uint32_t *io_steps) {
  struct hf_json_iter iter = hf_json_iter(doc, object);
  uint32_t name;
  while (hf_json_next(doc, &iter, &name, ret_value)) {
    if (!spend(io_steps, cost_of_strings(doc, name, key_doc, key)))
      return HF_ERR_LIMIT;
    if (equal_strings(doc, name, key_doc, key))
      return 1;
  }
  return 0;
}

static int equal_objects(const struct hf_json_doc *a, uint32_t at, const struct hf_json_doc *b, uint32_t bt,
                         uint32_t *io_steps) {
  struct hf_json_iter iter = hf_json_iter(a, at);
  uint32_t key, value, other;
  while (hf_json_next(a, &iter, &key, &value)) {
    int same = find_member(b, bt, a, key, &other, io_steps);
    if (same == 1)
      same = hf_json_equal(a, value, b, other, io_steps);
    if (same != 1)
      return same;
  }
  return 1;
}

int hf_json_equal(const struct hf_json_doc *a, uint32_t at, const struct hf_json_doc *b, uint32_t bt,
                  uint32_t *io_steps) {
  const struct hf_json_node *left = &a->nodes[at], *right = &b->nodes[bt];
  if (left->type != right->type || left->count != right->count)
    return 0;
  switch ((enum hf_json_type)left->type) {
  case HF_JSON_STRING:
    return spend(io_steps, cost_of_strings(a, at, b, bt)) ? equal_strings(a, at, b, bt) : HF_ERR_LIMIT;
  case HF_JSON_NUMBER:
    if (!spend(io_steps, 1 + (left->end - left->start + right->end - right->start) / READ_PER_STEP))
      return HF_ERR_LIMIT;
    return equal_numbers(hf_json_span(a, at), hf_json_span(b, bt));
  case HF_JSON_ARRAY:
    return spend(io_steps, 1) ? equal_arrays(a, at, b, bt, io_steps) : HF_ERR_LIMIT;
  case HF_JSON_OBJECT:
    return spend(io_steps, 1) ? equal_objects(a, at, b, bt, io_steps) : HF_ERR_LIMIT;
  case HF_JSON_NULL:
  case HF_JSON_FALSE:
  case HF_JSON_TRUE:
    break;
  }
  return spend(io_steps, 1) ? 1 : HF_ERR_LIMIT;
}

static uint64_t hash_bytes(uint64_t hash, struct hf_str bytes) {
  for (size_t i = 0; i < bytes.len; i++)
    hash = (hash ^ (unsigned char)bytes.ptr[i]) * PRIME;
  return hash;
}

static uint64_t hash_word(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 32;
}

static uint64_t hash_string(const struct hf_json_doc *doc, uint32_t node, uint64_t hash) {
  struct reader r = reader(doc, node);
  struct hf_json_char escape;
  for (struct hf_str piece; (piece = next_piece(&r, &escape)).len > 0;)
    hash = hash_bytes(hash, piece);
  return hash;
}

/* The exponents of vast numbers are not told apart. */
static uint64_t hash_number(struct hf_str raw, uint64_t hash) {
  struct hf_decimal d;
  if (hf_decimal_read(raw, &d) != 0)
    return hash;
  hash = hash_word(hash, d.negative);
  for (size_t i = 0; i < d.digits.len; i++) {
    if (d.digits.ptr[i] != '.')
      hash = (hash ^ (unsigned char)d.digits.ptr[i]) * PRIME;
  }
  return hash_word(hash, d.vast ? d.exponent < 0 : (uint64_t)d.exponent);
}

static int hash_array(const struct hf_json_doc *doc, uint32_t node, uint64_t hash, uint32_t *io_steps,
                      uint64_t *ret_hash) {
  struct hf_json_iter iter = hf_json_iter(doc, node);
  uint32_t value;
  int err = 0;
  while (err == 0 && hf_json_next(doc, &iter, NULL, &value))
    err = hf_json_hash(doc, value, hash, io_steps, &hash);
  *ret_hash = hash_word(hash, END);
  return err;
}

/* The sum over the members, whose order does not count. */
static int hash_object(const struct hf_json_doc *doc, uint32_t node, uint64_t seed, uint32_t *io_steps,
                       uint64_t *ret_hash) {
  struct hf_json_iter iter = hf_json_iter(doc, node);
  uint32_t key, value;
  uint64_t sum = seed;
  int err = 0;
  while (err == 0 && hf_json_next(doc, &iter, &key, &value)) {
    uint64_t member;
    err = hf_json_hash(doc, key, seed, io_steps, &member);
    if (err == 0)
      err = hf_json_hash(doc, value, member, io_steps, &member);
    sum += err == 0 ? member : 0;
  }
  *ret_hash = hash_word(sum, END);
  return err;
}

static size_t cost_of_hash(const struct hf_json_doc *doc, uint32_t node) {
  const struct hf_json_node *n = &doc->nodes[node];
  if (n->type != HF_JSON_STRING && n->type != HF_JSON_NUMBER)
    return 1;
  bool plain = n->type == HF_JSON_STRING && !is_escaped(doc, node);
  return 1 + (n->end - n->start) / (plain ? HASHED_PER_STEP : ESCAPES_PER_STEP);
}

int hf_json_hash(const struct hf_json_doc *doc, uint32_t node, uint64_t seed, uint32_t *io_steps, uint64_t *ret_hash) {
  const struct hf_json_node *n = &doc->nodes[node];
  if (!spend(io_steps, cost_of_hash(doc, node)))
    return HF_ERR_LIMIT;
  uint64_t hash = hash_word(seed, n->type);
  if (n->type == HF_JSON_ARRAY)
    return hash_array(doc, node, hash, io_steps, ret_hash);
  if (n->type == HF_JSON_OBJECT)
    return hash_object(doc, node, hash, io_steps, ret_hash);
  if (n->type == HF_JSON_STRING)
    hash = hash_string(doc, node, hash);
  else if (n->type == HF_JSON_NUMBER)
    hash = hash_number(hf_json_span(doc, node), hash);
  *ret_hash = hash_word(hash, END);
  return 0;
}

/* The digits of a number with zeros behind, one at a time; -1 at the end. */
struct digits {
  struct hf_str text;
  size_t at;
  int64_t zeros;
};

static int next_digit(struct digits *d) {
  if (d->at < d->text.len && d->text.ptr[d->at] == '.')
    d->at++;
  if (d->at < d->text.len)
    return d->text.ptr[d->at++] - '0';
  return d->zeros-- > 0 ? 0 : -1;
}

static bool divides_small(const struct hf_decimal *divisor, struct digits number) {
  uint64_t by = 0, rest = 0;
  struct digits d = {.text = divisor->digits};
  for (int digit; (digit = next_digit(&d)) >= 0;)
    by = by * 10 + (uint64_t)digit;
  assert(by > 0);
  for (int digit; (digit = next_digit(&number)) >= 0;)
    rest = (uint64_t)(((unsigned __int128)rest * 10 + (unsigned)digit) % by);
  return rest == 0;
}

/* A remainder of a long division: decimal digits, the least first, one more than the divisor has. */
struct rest {
  uint8_t digit[DIVISOR_DIGITS + 1];
  size_t count;
};

static bool rest_is_at_least(const struct rest *rest, const uint8_t *by) {
  if (rest->digit[rest->count - 1] > 0)
    return true;
  for (size_t i = rest->count - 1; i-- > 0;) {
    if (rest->digit[i] != by[i])
      return rest->digit[i] > by[i];
  }
  return true;
}

static void rest_subtract(struct rest *rest, const uint8_t *by) {
  int borrow = 0;
  for (size_t i = 0; i < rest->count; i++) {
    int digit = rest->digit[i] - borrow - (i + 1 < rest->count ? by[i] : 0);
    borrow = digit < 0;
    rest->digit[i] = (uint8_t)(digit + (borrow ? 10 : 0));
  }
}

static bool divides_large(const struct hf_decimal *divisor, struct digits number) {
  uint8_t by[DIVISOR_DIGITS] = {0};
  struct rest rest = {.count = (size_t)divisor->count + 1};
  struct digits d = {.text = divisor->digits};
  size_t at = (size_t)divisor->count;
  for (int digit; (digit = next_digit(&d)) >= 0;)
    by[--at] = (uint8_t)digit;
  for (int digit; (digit = next_digit(&number)) >= 0;) {
    memmove(rest.digit + 1, rest.digit, rest.count - 1);
    rest.digit[0] = (uint8_t)digit;
    while (rest_is_at_least(&rest, by))
      rest_subtract(&rest, by);
  }
  for (size_t i = 0; i < rest.count; i++) {
    if (rest.digit[i] != 0)
      return false;
  }
  return true;
}

int hf_decimal_is_multiple(struct hf_str raw, struct hf_str divisor, uint32_t *io_steps) {
  struct hf_decimal number, by;
  if (hf_decimal_read(raw, &number) != 0 || hf_decimal_read(divisor, &by) != 0 || by.count == 0)
    return 0;
  if (number.count == 0)
    return spend(io_steps, 1) ? 1 : HF_ERR_LIMIT;
  if (number.vast && by.vast && (number.exponent < 0) == (by.exponent < 0))
    return HF_ERR_LIMIT;
  /* Neither ends in a zero, so no multiple has less places in front of them. */
  int64_t zeros = number.exponent - by.exponent;
  if (zeros < 0)
    return spend(io_steps, 1) ? 0 : HF_ERR_LIMIT;
  if (by.count > DIVISOR_DIGITS)
    return HF_ERR_LIMIT;
  int64_t most = ZEROS_PER_DIGIT * by.count;
  struct digits digits = {.text = number.digits, .zeros = zeros < most ? zeros : most};
  bool small = by.count <= U64_DIGITS;
  size_t length = number.digits.len + (size_t)digits.zeros;
  if (!spend(io_steps, 1 + length * (small ? 1 : (size_t)by.count) / DIGITS_PER_STEP))
    return HF_ERR_LIMIT;
  return small ? divides_small(&by, digits) : divides_large(&by, digits);
}

uint64_t hf_json_length(const struct hf_json_doc *doc, uint32_t string) {
  struct reader r = reader(doc, string);
  uint64_t length = 0;
  if (!is_escaped(doc, string)) {
    for (const char *p = r.at; p < r.end; p++)
      length += ((unsigned char)*p & 0xc0) != 0x80;
    return length;
  }
  while (r.at < r.end) {
    struct hf_json_char escape;
    length += ((unsigned char)*r.at & 0xc0) != 0x80;
    r.at += *r.at == '\\' ? hf_json_read_escape(r.at, r.end, &escape) : 1;
  }
  return length;
}
