/* A schema (up to the first NUL) and what a model sent for it (the rest): what is repaired is valid, and repaired no
 * further; what is valid is left as it is; and what keeps values gives nothing that the rest would not. */
#include "require.h"
#include "schema/repair.h"
#include "json/unique.h"

enum { OUT_MAX = 1 << 20 };

struct bench {
  struct hf_schema *schema;
  struct hf_schema_run *run;
  struct hf_arena arena;
  struct hf_repairs repairs;
};

/* Valid, and without members that are said twice? */
static int check(struct bench *b, struct hf_str text) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  int r = hf_json_scan_feed(&scan, text.ptr, text.len, true);
  if (r == 0) {
    struct hf_json_doc doc = hf_json_doc(text.ptr, &scan);
    uint32_t key;
    r = hf_json_unique(&doc, &key);
    if (r == 0)
      r = hf_schema_check(b->schema, b->run, &doc, 0);
  }
  hf_json_scan_deinit(&scan);
  return r;
}

static int repair(struct bench *b, struct hf_str raw, bool keep_values, struct hf_buf *out) {
  struct hf_repair_options options = {.keep_values = keep_values};
  out->len = 0;
  b->repairs.count = 0;
  return hf_repair(b->schema, b->run, raw, &options, &b->arena, out, &b->repairs);
}

static void check_repair(struct bench *b, struct hf_str raw) {
  struct hf_buf out, again;
  hf_buf_init(&out, OUT_MAX);
  hf_buf_init(&again, OUT_MAX);
  int before = check(b, raw), r = repair(b, raw, false, &out);
  REQUIRE((before == 0) == (r == 0 && b->repairs.count == 0));
  REQUIRE(r == 0 || out.len == 0);
  if (before == 0)
    REQUIRE(hf_str_equal(hf_buf_str(&out), raw));
  if (r == 0) {
    REQUIRE(check(b, hf_buf_str(&out)) == 0);
    REQUIRE(b->repairs.count <= HF_REPAIRS_MAX);
    REQUIRE(repair(b, hf_buf_str(&out), false, &again) == 0 && b->repairs.count == 0);
  }
  int kept = repair(b, raw, true, &again);
  REQUIRE(kept < 0 || (r == 0 && hf_str_equal(hf_buf_str(&out), hf_buf_str(&again))));
  hf_buf_deinit(&out);
  hf_buf_deinit(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *text = (const char *)data;
  const char *nul = size ? memchr(text, '\0', size) : NULL;
  if (!nul)
    return 0;
  struct bench b = {.run = hf_schema_run_new()};
  struct hf_schema_options options = HF_SCHEMA_OPTIONS_INIT;
  hf_arena_init(&b.arena, OUT_MAX);
  if (b.run && hf_schema_compile((struct hf_str){text, (size_t)(nul - text)}, &options, &b.schema, NULL) == 0)
    check_repair(&b, (struct hf_str){nul + 1, size - (size_t)(nul - text) - 1});
  hf_arena_deinit(&b.arena);
  hf_schema_free(b.schema);
  hf_schema_run_free(b.run);
  return 0;
}
