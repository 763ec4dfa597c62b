#include "gateway/correct/others.h"

#include "gateway/catalog/catalog.h"
#include "gateway/correct/feedback.h"
#include "gateway/gateway.h"
#include "json/unique.h"
#include "json/value.h"

enum { NAME_SHOWN_MAX = 128 };

struct search {
  const struct hf_exchange *exchange;
  const struct hf_json_doc *arguments;
  struct hf_str found[HF_OTHERS_TOLD_MAX];
  unsigned found_count;
  unsigned looked_at;
  unsigned tried;
};

/* Is each argument one that the schema names? */
static bool names_all(const struct hf_json_doc *schema, const struct hf_json_doc *arguments) {
  uint32_t properties, key, value, known;
  struct hf_json_iter iter = hf_json_iter(arguments, 0);
  if (hf_json_type(schema, 0) != HF_JSON_OBJECT || hf_json_member(schema, 0, HF_STR("properties"), &properties) < 0 ||
      hf_json_type(schema, properties) != HF_JSON_OBJECT)
    return false;
  while (hf_json_next(arguments, &iter, &key, &value)) {
    struct hf_str raw = hf_json_span(arguments, key);
    const struct hf_str name = {raw.ptr + 1, raw.len - 2};
    if (arguments->nodes[key].flags & HF_JSON_ESCAPED || hf_json_member(schema, properties, name, &known) < 0)
      return false;
  }
  return true;
}

static bool fits(struct search *search, struct hf_str text) {
  struct hf_schema_run *run = hf_validator_run(&search->exchange->client->gateway->validator);
  const struct hf_schema_options options = HF_SCHEMA_OPTIONS_INIT;
  struct hf_schema *schema = NULL;
  struct hf_error why;
  search->tried++;
  bool good = run && hf_schema_compile(text, &options, &schema, &why) == 0 &&
              hf_schema_check(schema, run, search->arguments, 0) == 0;
  hf_schema_free(schema);
  return good;
}

static bool names_all_in(const struct search *search, struct hf_str text) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.tree_depth = 2;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  bool good = false;
  if (hf_json_scan_feed(&scan, text.ptr, text.len, true) == 0) {
    const struct hf_json_doc schema = hf_json_doc(text.ptr, &scan);
    good = names_all(&schema, search->arguments);
  }
  hf_json_scan_deinit(&scan);
  return good;
}

static bool look(void *ctx, const struct hf_shown_tool *tool) {
  struct search *search = ctx;
  const bool own = hf_str_equal(tool->shown, search->exchange->request.name);
  if (!own && tool->schema.ptr && tool->schema.len <= HF_OTHERS_BYTES_MAX && names_all_in(search, tool->schema) &&
      fits(search, tool->schema))
    search->found[search->found_count++] = tool->shown;
  return ++search->looked_at < HF_OTHERS_LOOK_MAX && search->tried < HF_OTHERS_TRY_MAX &&
         search->found_count < HF_OTHERS_TOLD_MAX;
}

static int tell(const struct search *search, struct hf_buf *out) {
  int r = 0;
  for (unsigned i = 0; r == 0 && i < search->found_count; i++) {
    r = hf_buf_append_str(out, i ? HF_STR(", ") : HF_STR(""));
    if (r == 0)
      r = hf_feedback_quote(search->found[i], NAME_SHOWN_MAX, out);
  }
  return r;
}

int hf_others_tell(const struct hf_exchange *exchange, struct hf_buf *out) {
  const struct hf_str raw = hf_message_raw(&exchange->request, HF_FIELD_ARGUMENTS);
  const struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  struct hf_json_scan scan;
  int r = 0;
  if (!raw.ptr || raw.len > HF_OTHERS_BYTES_MAX)
    return 0;
  hf_json_scan_init(&scan, &options);
  if (hf_json_scan_feed(&scan, raw.ptr, raw.len, true) == 0 && scan.nodes[0].type == HF_JSON_OBJECT &&
      scan.nodes[0].count > 0) {
    const struct hf_json_doc arguments = hf_json_doc(raw.ptr, &scan);
    struct search search = {.exchange = exchange, .arguments = &arguments};
    uint32_t twice;
    if (hf_json_unique(&arguments, &twice) == 0)
      hf_catalog_visit(exchange->client, look, &search);
    r = tell(&search, out);
  }
  hf_json_scan_deinit(&scan);
  return r;
}
