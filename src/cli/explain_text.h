/* The steps of a call as people read them: of a trace that a gateway still knows, or of a letter. */
#ifndef HF_CLI_EXPLAIN_TEXT_H
#define HF_CLI_EXPLAIN_TEXT_H

#include "json/value.h"

/* Prints an array of steps (gateway/observe/trace.h), a line each. Returns how many. */
size_t hf_explain_print_steps(const struct hf_json_doc *doc, uint32_t steps);

/* The same of raw JSON. */
size_t hf_explain_print_raw_steps(struct hf_str raw);

/* A string member of an object, or `otherwise`; valid as long as `arena`. */
struct hf_str hf_explain_text(const struct hf_json_doc *doc, uint32_t object, const char *key, struct hf_arena *arena,
                              const char *otherwise);

/* A number member, or 0. */
int64_t hf_explain_number(const struct hf_json_doc *doc, uint32_t object, const char *key);

/* "the tool may have run" for "maybe". Constant. */
const char *hf_explain_executed(struct hf_str executed);

#endif
