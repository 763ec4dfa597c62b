#include "gateway/condition.h"

#include "json/canonical.h"
#include "json/number.h"
#include "json/pointer.h"
#include "json/value.h"

static bool is_true(struct hf_str raw) {
  return hf_str_equal(raw, HF_STR("true"));
}

/* The value to compare with, without space around it. */
static int read_value(const struct hf_condition *condition, struct hf_str *ret_value) {
  int r = hf_json_pointer(condition->value, HF_STR(""), ret_value);
  return r == HF_ERR_NOMEM ? r : r < 0 ? HF_ERR_INVALID : 0;
}

static bool is_string(struct hf_str raw) {
  return raw.ptr[0] == '"';
}

static bool is_array(struct hf_str raw) {
  return raw.ptr[0] == '[';
}

static bool is_container(struct hf_str raw) {
  return is_array(raw) || raw.ptr[0] == '{';
}

/* Canonical text is never more than three times as long. */
static int canonical(struct hf_str raw, struct hf_buf *out) {
  hf_buf_init(out, raw.len * 3 + HF_DECIMAL_MAX);
  return hf_json_canonical(raw, out);
}

static int equal(struct hf_str a, struct hf_str b, bool *ret_equal) {
  *ret_equal = false;
  if (is_container(a) != is_container(b) || is_string(a) != is_string(b))
    return 0; /* a large value is not read for nothing */
  struct hf_buf left, right = {0};
  int r = canonical(a, &left);
  if (r == 0)
    r = canonical(b, &right);
  if (r == 0)
    *ret_equal = hf_str_equal(hf_buf_str(&left), hf_buf_str(&right));
  hf_buf_deinit(&left);
  hf_buf_deinit(&right);
  return r;
}

static int string_contains(struct hf_str raw, struct hf_str part, bool *ret_contains) {
  struct hf_buf text, wanted;
  hf_buf_init(&text, raw.len);
  hf_buf_init(&wanted, part.len);
  int r = hf_json_unescape(raw, &text);
  if (r == 0)
    r = hf_json_unescape(part, &wanted);
  if (r == 0)
    *ret_contains = wanted.len == 0 || memmem(hf_buf_str(&text).ptr, text.len, wanted.data, wanted.len);
  hf_buf_deinit(&text);
  hf_buf_deinit(&wanted);
  return r;
}

/* Scans an array so far that its elements have nodes. */
static int scan_array(struct hf_str raw, struct hf_json_scan *scan) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.max_nodes = HF_JSON_POINTER_NODES;
  options.tree_depth = 1;
  hf_json_scan_init(scan, &options);
  return hf_json_scan_feed(scan, raw.ptr, raw.len, true);
}

static int array_contains(struct hf_str raw, struct hf_str value, bool *ret_contains) {
  struct hf_json_scan scan;
  int r = scan_array(raw, &scan);
  *ret_contains = false;
  if (r == 0) {
    struct hf_json_doc doc = hf_json_doc(raw.ptr, &scan);
    struct hf_json_iter iter = hf_json_iter(&doc, 0);
    uint32_t element;
    while (r == 0 && !*ret_contains && hf_json_next(&doc, &iter, NULL, &element))
      r = equal(hf_json_span(&doc, element), value, ret_contains);
  }
  hf_json_scan_deinit(&scan);
  return r;
}

static int contains(struct hf_str found, struct hf_str value, bool *ret_contains) {
  if (is_array(found))
    return array_contains(found, value, ret_contains);
  if (is_string(found) && is_string(value))
    return string_contains(found, value, ret_contains);
  *ret_contains = false;
  return 0;
}

static int number_at_least(struct hf_str found, const struct hf_decimal *least, bool *ret_holds) {
  struct hf_decimal number;
  int order = -1;
  int r = hf_decimal_read(found, &number) == 0 ? hf_decimal_compare(&number, least, &order) : 0;
  *ret_holds = order >= 0;
  return r;
}

static int at_least(struct hf_str found, struct hf_str value, bool *ret_holds) {
  struct hf_decimal least;
  int r = hf_decimal_read(value, &least);
  if (r < 0)
    return r;
  if (!is_array(found))
    return number_at_least(found, &least, ret_holds);
  struct hf_json_scan scan;
  r = scan_array(found, &scan);
  if (r == 0) {
    char digits[HF_DECIMAL_MAX];
    r = number_at_least(hf_str_decimal(scan.nodes[0].count, digits), &least, ret_holds);
  }
  hf_json_scan_deinit(&scan);
  return r;
}

/* Nothing was found: is it known that there is nothing? An answer of another shape than the condition expects (an error
 * page as text) says nothing about what it lacks. */
static int is_lacking(struct hf_str pointer, struct hf_str result, bool *ret_lacking) {
  struct hf_str parent = pointer, container;
  while (parent.len > 0 && parent.ptr[parent.len - 1] != '/')
    parent.len--;
  parent.len--; /* a pointer without a slash names the whole result, which was found */
  int r = hf_json_pointer(result, parent, &container);
  *ret_lacking = r == 0 && is_container(container);
  return r == HF_ERR_NOTFOUND ? 0 : r;
}

static int compare(enum hf_operator how, struct hf_str value, struct hf_str found, bool *ret_holds) {
  int r;
  switch (how) {
  case HF_OPERATOR_EQUALS:
    return equal(found, value, ret_holds);
  case HF_OPERATOR_NOT:
    r = equal(found, value, ret_holds);
    *ret_holds = r == 0 && !*ret_holds;
    return r;
  case HF_OPERATOR_EXISTS:
    *ret_holds = is_true(value);
    return 0;
  case HF_OPERATOR_CONTAINS:
    return contains(found, value, ret_holds);
  case HF_OPERATOR_AT_LEAST:
    return at_least(found, value, ret_holds);
  }
  return HF_ERR_INVALID;
}

int hf_condition_holds(const struct hf_condition *condition, struct hf_str result, bool *ret_holds) {
  enum hf_operator how = condition->op;
  struct hf_str value, found;
  int r = read_value(condition, &value);
  if (r < 0)
    return r;
  bool holds = false;
  r = hf_json_pointer(result, condition->pointer, &found);
  if (r == 0)
    r = compare(how, value, found, &holds);
  else if (r == HF_ERR_NOTFOUND && how == HF_OPERATOR_EXISTS && !is_true(value))
    r = is_lacking(condition->pointer, result, &holds);
  else if (r == HF_ERR_NOTFOUND)
    r = 0;
  if (r == 0)
    *ret_holds = holds;
  return r;
}
