/* Whatever a server once answered: marked, it is an object with one marker that is ours, one `content` whose first item
 * is our text, and all of its other members as they were. What cannot be marked so is refused. */
#include "gateway/stage/degrade.h"
#include "require.h"
#include "json/pointer.h"

enum { OUT_MAX = 4 << 20 };

static void scan(struct hf_json_scan *scan, struct hf_json_doc *doc, struct hf_str text) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.tree_depth = 1;
  hf_json_scan_init(scan, &options);
  REQUIRE(hf_json_scan_feed(scan, text.ptr, text.len, true) == 0);
  *doc = hf_json_doc(text.ptr, scan);
}

/* Goes on to the next member that marking does not touch. */
static bool next_other(const struct hf_json_doc *doc, struct hf_json_iter *iter, uint32_t *ret_key,
                       uint32_t *ret_value) {
  while (hf_json_next(doc, iter, ret_key, ret_value))
    if (!hf_json_string_is(doc, *ret_key, HF_STR("_meta")) && !hf_json_string_is(doc, *ret_key, HF_STR("content")))
      return true;
  return false;
}

static void check_others(struct hf_str result, struct hf_str marked) {
  struct hf_json_scan before_scan, after_scan;
  struct hf_json_doc before, after;
  scan(&before_scan, &before, result);
  scan(&after_scan, &after, marked);
  struct hf_json_iter i = hf_json_iter(&before, 0), j = hf_json_iter(&after, 0);
  uint32_t key, value, other_key, other_value;
  while (next_other(&before, &i, &key, &value)) {
    REQUIRE(next_other(&after, &j, &other_key, &other_value));
    REQUIRE(hf_str_equal(hf_json_span(&before, key), hf_json_span(&after, other_key)));
    REQUIRE(hf_str_equal(hf_json_span(&before, value), hf_json_span(&after, other_value)));
  }
  REQUIRE(!next_other(&after, &j, &other_key, &other_value));
  hf_json_scan_deinit(&before_scan);
  hf_json_scan_deinit(&after_scan);
}

static void require_value(struct hf_str text, struct hf_str pointer, struct hf_str expected) {
  struct hf_str value;
  REQUIRE(hf_json_pointer(text, pointer, &value) == 0); /* fails where a member on the way comes twice */
  REQUIRE(hf_str_equal(value, expected));
}

static void check_marked(struct hf_str marked, struct hf_str marker, struct hf_str text) {
  require_value(marked, HF_STR("/_meta/dev.holdfast~1outcome"), marker);
  require_value(marked, HF_STR("/content/0/type"), HF_STR("\"text\""));
  require_value(marked, HF_STR("/content/0/text"), text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct hf_str result = {(const char *)data, size}, shape;
  struct hf_buf once, twice;
  hf_buf_init(&once, OUT_MAX);
  hf_buf_init(&twice, OUT_MAX);
  bool is_object = hf_json_pointer(result, HF_STR(""), &shape) == 0 && shape.ptr[0] == '{';
  int r = hf_degrade_mark(result, HF_STR("{\"a\":1}"), HF_STR("one"), &once);
  REQUIRE((r == 0) == is_object);
  if (r == 0) {
    check_marked(hf_buf_str(&once), HF_STR("{\"a\":1}"), HF_STR("\"one\""));
    check_others(result, hf_buf_str(&once));
    REQUIRE(hf_degrade_mark(hf_buf_str(&once), HF_STR("{\"b\":2}"), HF_STR("two"), &twice) == 0);
    check_marked(hf_buf_str(&twice), HF_STR("{\"b\":2}"), HF_STR("\"two\""));
    require_value(hf_buf_str(&twice), HF_STR("/content/1/text"), HF_STR("\"one\""));
  }
  hf_buf_deinit(&once);
  hf_buf_deinit(&twice);
  return 0;
}
