/* A schema and, behind the first line end, a value. Whatever they are: what is no schema is refused with a reason; a
 * value is judged alike each time, without allocating, and alike by the slow way that tells the reasons; and the
 * reasons are told of places that are there. */
#include "base/alloc.h"
#include "require.h"
#include "schema/describe.h"
#include "schema/schema.h"
#include "json/pointer.h"
#include "json/unique.h"

enum { SENTENCE_MAX = 4096, POINTER_MAX = 1 << 20 };

static void check_pointer(const struct hf_json_doc *doc, uint32_t node) {
  struct hf_buf pointer;
  uint32_t found;
  hf_buf_init(&pointer, POINTER_MAX);
  REQUIRE(hf_json_pointer_of(doc, node, &pointer) == 0);
  /* A lone surrogate in a name is told as U+FFFD, which names another member, or none. */
  if (!memmem(pointer.data ? pointer.data : "", pointer.len, "\xef\xbf\xbd", 3))
    REQUIRE(hf_json_pointer_walk(doc, hf_buf_str(&pointer), &found) == 0 && found == node);
  hf_buf_deinit(&pointer);
}

static void check_errors(const struct hf_schema_errors *errors, const struct hf_json_doc *doc) {
  struct hf_buf sentence;
  hf_buf_init(&sentence, SENTENCE_MAX);
  REQUIRE(errors->count > 0 && errors->count <= HF_SCHEMA_ERRORS_MAX);
  for (unsigned i = 0; i < errors->count; i++) {
    const struct hf_schema_error *error = &errors->item[i];
    REQUIRE(error->keyword < HF_KEYWORD_COUNT && error->parent < (int)i);
    REQUIRE(error->value < doc->count && error->key < doc->count);
    REQUIRE((size_t)error->path + error->path_len <= errors->paths.len);
    REQUIRE(error->at.doc && error->at.schema < error->at.doc->count && error->at.keyword < error->at.doc->count);
    if (hf_json_type(doc, error->value) != HF_JSON_STRING) /* which may be the name of a member */
      check_pointer(doc, error->value);
    hf_buf_reset(&sentence, SENTENCE_MAX);
    REQUIRE(hf_schema_describe(error, doc, &sentence) == 0);
    REQUIRE(sentence.len > 0 && !memchr(sentence.data, '\n', sentence.len));
  }
  hf_buf_deinit(&sentence);
}

static void check_value(const struct hf_schema *schema, struct hf_str text) {
  struct hf_json_scan scan;
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  uint32_t key;
  hf_json_scan_init(&scan, &options);
  int r = hf_json_scan_feed(&scan, text.ptr, text.len, true);
  struct hf_json_doc doc = hf_json_doc(text.ptr, &scan);
  if (r == 0 && hf_json_unique(&doc, &key) == 0) {
    struct hf_schema_run *run = hf_schema_run_new();
    struct hf_schema_errors errors;
    REQUIRE(run);
    hf_schema_errors_init(&errors);
    unsigned long before = hf_alloc_count();
    int first = hf_schema_check(schema, run, &doc, 0);
    REQUIRE(hf_alloc_count() == before);
    int reasons = hf_schema_explain(schema, run, &doc, 0, &errors);
    REQUIRE(first == 0 || first == HF_ERR_INVALID || first == HF_ERR_LIMIT);
    REQUIRE(reasons == first || reasons == HF_ERR_LIMIT || first == HF_ERR_LIMIT);
    REQUIRE(hf_schema_check(schema, run, &doc, 0) == first);
    if (reasons == HF_ERR_INVALID)
      check_errors(&errors, &doc);
    hf_schema_errors_deinit(&errors);
    hf_schema_run_free(run);
  }
  hf_json_scan_deinit(&scan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *text = (const char *)data;
  const char *end = size ? memchr(text, '\n', size) : NULL;
  size_t len = end ? (size_t)(end - text) : size;
  struct hf_str value = {end ? end + 1 : text + size, end ? size - len - 1 : 0};
  struct hf_schema_options options = HF_SCHEMA_OPTIONS_INIT;
  options.assert_format = true;
  struct hf_schema *schema = NULL;
  struct hf_error error = {0};
  int r = hf_schema_compile((struct hf_str){text, len}, &options, &schema, &error);
  REQUIRE((r == 0) == (schema != NULL));
  REQUIRE(r == 0 || (error.code == r && error.text[0]));
  if (schema) {
    REQUIRE(hf_schema_size(schema) > 0);
    check_value(schema, value);
  }
  hf_schema_free(schema);
  return 0;
}
