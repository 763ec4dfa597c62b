/* Whatever a server answered: amended, its content is what it was, byte for byte, with our words before or behind it,
 * and all other members are as they were. What could be read in two ways is refused. The first byte says what is added.
 */
#include "gateway/correct/amend.h"
#include "require.h"
#include "json/value.h"

enum { OUT_MAX = 4 << 20, FIRST = 1, LAST = 2, ERROR = 4 };

static void scan(struct hf_json_scan *scan, struct hf_json_doc *doc, struct hf_str text) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.tree_depth = 2;
  hf_json_scan_init(scan, &options);
  REQUIRE(hf_json_scan_feed(scan, text.ptr, text.len, true) == 0);
  *doc = hf_json_doc(text.ptr, scan);
}

static void require_text(const struct hf_json_doc *doc, uint32_t block, struct hf_str expected) {
  REQUIRE(hf_str_equal(hf_json_span(doc, block), expected));
}

static void check_content(const struct hf_json_doc *before, const struct hf_json_doc *after, unsigned flags) {
  uint32_t old = HF_JSON_NONE, new, item, other;
  (void)hf_json_member(before, 0, HF_STR("content"), &old);
  if (!(flags & (FIRST | LAST)) && !old)
    return;
  REQUIRE(hf_json_member(after, 0, HF_STR("content"), &new) == 0);
  struct hf_json_iter i = hf_json_iter(before, old), j = hf_json_iter(after, new);
  if (flags & FIRST) {
    REQUIRE(hf_json_next(after, &j, NULL, &other));
    require_text(after, other, HF_STR("{\"type\":\"text\",\"text\":\"one\"}"));
  }
  while (old && hf_json_next(before, &i, NULL, &item)) {
    REQUIRE(hf_json_next(after, &j, NULL, &other));
    REQUIRE(hf_str_equal(hf_json_span(before, item), hf_json_span(after, other)));
  }
  if (flags & LAST) {
    REQUIRE(hf_json_next(after, &j, NULL, &other));
    require_text(after, other, HF_STR("{\"type\":\"text\",\"text\":\"two\"}"));
  }
  REQUIRE(!hf_json_next(after, &j, NULL, &other));
}

static bool is_ours(const struct hf_json_doc *doc, uint32_t key, unsigned flags) {
  return hf_json_string_is(doc, key, HF_STR("content")) ||
         ((flags & ERROR) && hf_json_string_is(doc, key, HF_STR("isError")));
}

static bool next_other(const struct hf_json_doc *doc, unsigned flags, struct hf_json_iter *iter, uint32_t *ret_key,
                       uint32_t *ret_value) {
  while (hf_json_next(doc, iter, ret_key, ret_value))
    if (!is_ours(doc, *ret_key, flags))
      return true;
  return false;
}

static void check_others(const struct hf_json_doc *before, const struct hf_json_doc *after, unsigned flags) {
  struct hf_json_iter i = hf_json_iter(before, 0), j = hf_json_iter(after, 0);
  uint32_t key, value, other_key, other_value;
  while (next_other(before, flags, &i, &key, &value)) {
    REQUIRE(next_other(after, flags, &j, &other_key, &other_value));
    REQUIRE(hf_str_equal(hf_json_span(before, key), hf_json_span(after, other_key)));
    REQUIRE(hf_str_equal(hf_json_span(before, value), hf_json_span(after, other_value)));
  }
  REQUIRE(!next_other(after, flags, &j, &other_key, &other_value));
  if (!(flags & ERROR))
    return;
  REQUIRE(hf_json_member(after, 0, HF_STR("isError"), &value) == 0);
  REQUIRE(hf_json_type(after, value) == HF_JSON_TRUE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 1)
    return 0;
  const unsigned flags = data[0];
  const struct hf_str result = {(const char *)data + 1, size - 1}, none = {NULL, 0};
  const struct hf_amendment what = {.first = flags & FIRST ? HF_STR("one") : none,
                                    .last = flags & LAST ? HF_STR("two") : none,
                                    .is_error = flags & ERROR};
  struct hf_buf out;
  hf_buf_init(&out, OUT_MAX);
  if (hf_amend(result, &what, &out) == 0) {
    struct hf_json_scan before_scan, after_scan;
    struct hf_json_doc before, after;
    scan(&before_scan, &before, result);
    scan(&after_scan, &after, hf_buf_str(&out));
    check_content(&before, &after, flags);
    check_others(&before, &after, flags);
    hf_json_scan_deinit(&before_scan);
    hf_json_scan_deinit(&after_scan);
  } else {
    REQUIRE(out.len == 0);
  }
  hf_buf_deinit(&out);
  return 0;
}
