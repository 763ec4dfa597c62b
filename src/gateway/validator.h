/* What checks against schemas share: memory for their runs, and schemas that were compiled when first wanted.
 *
 * A schema is tried once. One that cannot be used is told to whoever wanted it, once, and then there is none. */
#ifndef HF_GATEWAY_VALIDATOR_H
#define HF_GATEWAY_VALIDATOR_H

#include "base/error.h"
#include "schema/schema.h"
#include "json/scan.h"

enum {
  HF_VALIDATOR_BYTES_MAX = 64 << 20, /* of all compiled schemas; what does not fit cannot be used */
  HF_VALIDATOR_NODES_KEPT = 1024,
};

struct hf_validator {
  struct hf_schema_run *run; /* owned; NULL: no memory for it yet */
  struct hf_json_scan scan;
  size_t bytes; /* of the schemas that are compiled */
};

/* A schema that is kept with what it belongs to. All zero: not wanted yet. */
struct hf_compiled {
  struct hf_schema *schema; /* owned; NULL: not tried, or it cannot be used */
  size_t bytes;
  bool tried;
};

void hf_validator_init(struct hf_validator *validator);
void hf_validator_deinit(struct hf_validator *validator);

/* The schema `text` (absent: there is none) compiled, which `compiled` keeps; NULL if it cannot be used. `ret_why` is
 * filled in the one time that it was tried in vain, else its code is 0. */
const struct hf_schema *hf_validator_schema(struct hf_validator *validator, struct hf_compiled *compiled,
                                            struct hf_str text, struct hf_error *ret_why);

/* It is not needed any more: as if it had not been wanted yet. */
void hf_validator_forget(struct hf_validator *validator, struct hf_compiled *compiled);

/* The memory for a run, or NULL. */
struct hf_schema_run *hf_validator_run(struct hf_validator *validator);

/* Is `raw` valid, and nested no deeper than `max_depth`? Returns 0; HF_ERR_INVALID; HF_ERR_DUPLICATE if an object in it
 * says a member twice; HF_ERR_SYNTAX if it is no JSON; HF_ERR_LIMIT if it is too deep (`ret_deep`), or the bounds of
 * the scan or the run did not suffice to tell; HF_ERR_NOMEM. Without a schema only the depth is looked at. */
int hf_validator_check(struct hf_validator *validator, const struct hf_schema *schema, struct hf_str raw,
                       uint32_t max_depth, bool *ret_deep);

#endif
