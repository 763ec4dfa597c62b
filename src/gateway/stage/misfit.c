#include "gateway/stage/misfit.h"

#include "json/unique.h"

#include <inttypes.h>

void hf_misfit_init(struct hf_misfit *misfit, struct hf_str raw) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  misfit->raw = raw;
  misfit->whole = "the arguments";
  misfit->schema = NULL;
  misfit->doc = (struct hf_json_doc){0};
  misfit->why.code = 0;
  misfit->why.text[0] = '\0';
  hf_schema_errors_init(&misfit->errors);
  hf_json_scan_init(&misfit->scan, &options);
}

void hf_misfit_deinit(struct hf_misfit *misfit) {
  hf_schema_errors_deinit(&misfit->errors);
  hf_json_scan_deinit(&misfit->scan);
}

int hf_misfit_explain(struct hf_misfit *misfit, struct hf_validator *validator, const struct hf_schema *schema) {
  struct hf_schema_run *run = hf_validator_run(validator);
  misfit->schema = schema;
  int r = run ? hf_json_scan_feed(&misfit->scan, misfit->raw.ptr, misfit->raw.len, true) : HF_ERR_NOMEM;
  if (r < 0 && r != HF_ERR_NOMEM) {
    hf_error_set(&misfit->why, r, "they are no JSON: %s at byte %" PRIu32, hf_json_fault_text(misfit->scan.fault),
                 misfit->scan.pos);
    return 0;
  }
  if (r < 0)
    return r;
  misfit->doc = hf_json_doc(misfit->raw.ptr, &misfit->scan);
  uint32_t key;
  r = hf_json_unique(&misfit->doc, &key);
  if (r == HF_ERR_DUPLICATE) {
    hf_error_set(&misfit->why, r, "a member is there twice, so it is not clear which one is meant");
    return 0;
  }
  if (r == 0)
    r = hf_schema_explain(schema, run, &misfit->doc, 0, &misfit->errors);
  return r == HF_ERR_NOMEM ? r : 0;
}
