#include "gateway/validator.h"

#include "json/unique.h"

void hf_validator_init(struct hf_validator *validator) {
  *validator = (struct hf_validator){0};
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  hf_json_scan_init(&validator->scan, &options);
}

void hf_validator_deinit(struct hf_validator *validator) {
  hf_schema_run_free(validator->run);
  hf_json_scan_deinit(&validator->scan);
}

struct hf_schema_run *hf_validator_run(struct hf_validator *validator) {
  if (!validator->run)
    validator->run = hf_schema_run_new();
  return validator->run;
}

static int compile(struct hf_validator *validator, struct hf_compiled *compiled, struct hf_str text,
                   struct hf_error *ret_why) {
  const struct hf_schema_options options = HF_SCHEMA_OPTIONS_INIT;
  int r = hf_schema_compile(text, &options, &compiled->schema, ret_why);
  if (r < 0) {
    compiled->schema = NULL;
    ret_why->code = r;
    return r;
  }
  compiled->bytes = hf_schema_size(compiled->schema);
  if (compiled->bytes > HF_VALIDATOR_BYTES_MAX - validator->bytes) {
    hf_schema_free(compiled->schema);
    *compiled = (struct hf_compiled){0};
    return hf_error_set(ret_why, HF_ERR_LIMIT, "all compiled schemas together would take more than %d MiB",
                        HF_VALIDATOR_BYTES_MAX >> 20);
  }
  validator->bytes += compiled->bytes;
  return 0;
}

const struct hf_schema *hf_validator_schema(struct hf_validator *validator, struct hf_compiled *compiled,
                                            struct hf_str text, struct hf_error *ret_why) {
  ret_why->code = 0;
  if (!compiled->tried && text.ptr)
    compiled->tried = compile(validator, compiled, text, ret_why) != HF_ERR_NOMEM;
  return compiled->schema;
}

void hf_validator_forget(struct hf_validator *validator, struct hf_compiled *compiled) {
  validator->bytes -= compiled->bytes;
  hf_schema_free(compiled->schema);
  *compiled = (struct hf_compiled){0};
}

static int run_over(struct hf_validator *validator, const struct hf_schema *schema, struct hf_str raw) {
  const struct hf_json_doc doc = hf_json_doc(raw.ptr, &validator->scan);
  struct hf_schema_run *run = hf_validator_run(validator);
  uint32_t key;
  int r = run ? hf_json_unique(&doc, &key) : HF_ERR_NOMEM;
  return r < 0 ? r : hf_schema_check(schema, run, &doc, 0);
}

int hf_validator_check(struct hf_validator *validator, const struct hf_schema *schema, struct hf_str raw,
                       uint32_t max_depth, bool *ret_deep) {
  struct hf_json_scan *scan = &validator->scan;
  scan->options.max_depth = max_depth;
  scan->options.tree_depth = schema ? HF_JSON_TREE_ALL : 0;
  int r = hf_json_scan_feed(scan, raw.ptr, raw.len, true);
  *ret_deep = scan->fault == HF_JSON_FAULT_TOO_DEEP;
  if (r == 0 && schema)
    r = run_over(validator, schema, raw);
  hf_json_scan_reset(scan, HF_VALIDATOR_NODES_KEPT);
  return r;
}
