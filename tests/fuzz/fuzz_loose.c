/* Whatever the text: what is read of it is one JSON value, and JSON itself is read as it stands. */
#include "require.h"
#include "schema/loose.h"
#include "json/value.h"

enum { OUT_MAX = 1 << 20 };

static int scan(struct hf_str text, enum hf_json_type *ret_type) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.tree_depth = 0;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  int r = hf_json_scan_feed(&scan, text.ptr, text.len, true);
  if (r == 0)
    *ret_type = (enum hf_json_type)scan.nodes[0].type;
  hf_json_scan_deinit(&scan);
  return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct hf_str raw = {(const char *)data, size};
  struct hf_buf out, again;
  hf_buf_init(&out, OUT_MAX);
  hf_buf_init(&again, OUT_MAX);
  enum hf_json_type type = HF_JSON_NULL, read_type = HF_JSON_NULL;
  unsigned how = 0;
  struct hf_error error = {.code = 0};
  bool json = scan(raw, &type) == 0;
  int r = hf_loose_read(raw, &out, &how, &error);
  if (r < 0) {
    REQUIRE(!json || r == HF_ERR_LIMIT);
    REQUIRE(out.len == 0 && error.code == r && error.text[0]);
  } else {
    REQUIRE(scan(hf_buf_str(&out), &read_type) == 0);
    if (json && type != HF_JSON_STRING)
      REQUIRE(how == 0 && out.len <= size && memmem(raw.ptr, raw.len, out.data, out.len));
    if (read_type != HF_JSON_STRING) {
      REQUIRE(hf_loose_read(hf_buf_str(&out), &again, &how, NULL) == 0);
      REQUIRE(how == 0 && hf_str_equal(hf_buf_str(&out), hf_buf_str(&again)));
    }
  }
  hf_buf_deinit(&out);
  hf_buf_deinit(&again);
  return 0;
}
