/* What a template becomes is JSON, whatever source and template are (the input up to its first NUL, and the rest);
 * filling again gives the same; without holes it is itself. */
#include "require.h"
#include "json/canonical.h"
#include "json/pointer.h"
#include "json/template.h"

#include <string.h>

enum { OUT_MAX = 64 << 10 };

static int scan(struct hf_str text) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.max_nodes = 1 << 20;
  options.max_depth = HF_JSON_DEPTH_MAX;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  int r = hf_json_scan_feed(&scan, text.ptr, text.len, true);
  hf_json_scan_deinit(&scan);
  return r;
}

static void count_hole(void *ctx, struct hf_str name, bool has_default) {
  (void)name;
  (void)has_default;
  ++*(size_t *)ctx;
}

static void check_fill(struct hf_str template, struct hf_str source) {
  struct hf_error error;
  int checked = hf_template_check(template, &error);
  struct hf_buf out, again;
  hf_buf_init(&out, OUT_MAX);
  hf_buf_init(&again, OUT_MAX);
  int r = hf_template_fill(template, source, &out);
  REQUIRE(hf_template_fill(template, source, &again) == r);
  REQUIRE(hf_str_equal(hf_buf_str(&out), hf_buf_str(&again)));
  REQUIRE(checked == 0 || r == checked);
  REQUIRE(r == 0 || out.len == 0);
  if (r == 0)
    REQUIRE(scan(hf_buf_str(&out)) == 0);
  size_t holes = 0;
  REQUIRE(hf_template_names(template, count_hole, &holes) == checked);
  if (checked == 0 && holes == 0 && !memmem(template.ptr, template.len, "{{", 2) &&
      !memmem(template.ptr, template.len, "\\u", 2)) {
    REQUIRE(r == 0);
    REQUIRE(out.len <= template.len && memmem(template.ptr, template.len, out.data, out.len));
  }
  hf_buf_deinit(&out);
  hf_buf_deinit(&again);
}

/* The other readers of one text: canonical text is a fixed point, and a pointer names a span of the text. */
static void check_text(struct hf_str text, struct hf_str pointer) {
  struct hf_buf out, again;
  hf_buf_init(&out, OUT_MAX * 4);
  hf_buf_init(&again, OUT_MAX * 4);
  int r = hf_json_canonical(text, &out);
  if (r == 0) {
    REQUIRE(hf_json_canonical(hf_buf_str(&out), &again) == 0);
    REQUIRE(hf_str_equal(hf_buf_str(&out), hf_buf_str(&again)));
  }
  struct hf_str value;
  if (hf_json_pointer(text, pointer, &value) == 0) {
    REQUIRE(value.ptr >= text.ptr && value.ptr + value.len <= text.ptr + text.len);
    REQUIRE(scan(value) == 0);
  }
  hf_buf_deinit(&out);
  hf_buf_deinit(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *text = (const char *)data;
  const char *nul = size ? memchr(text, '\0', size) : NULL;
  size_t len = nul ? (size_t)(nul - text) : size;
  struct hf_str source = {text, len};
  struct hf_str template = nul ? (struct hf_str){nul + 1, size - len - 1} : (struct hf_str){text + size, 0};
  check_fill(template, source);
  check_fill(source, template);
  check_text(source, template);
  return 0;
}
