/* Equality of JSON values as JSON Schema has it: numbers by value, strings by what they mean, members in any order. */
#ifndef HF_SCHEMA_EQUAL_H
#define HF_SCHEMA_EQUAL_H

#include "json/value.h"

/* Are the two equal? Nodes have everything in them. Each value looked at lowers `io_steps`; returns 1, 0, or
 * HF_ERR_LIMIT when none are left. Allocates nothing. */
int hf_json_equal(const struct hf_json_doc *a, uint32_t at, const struct hf_json_doc *b, uint32_t bt,
                  uint32_t *io_steps);

/* Equal values have the same hash. */
int hf_json_hash(const struct hf_json_doc *doc, uint32_t node, uint64_t seed, uint32_t *io_steps, uint64_t *ret_hash);

/* Is the number `raw` a multiple of `divisor` (a JSON number above 0)? Exact, also for decimals and big ones. Returns
 * 1, 0, or HF_ERR_LIMIT when that would take more steps than are left. */
int hf_decimal_is_multiple(struct hf_str raw, struct hf_str divisor, uint32_t *io_steps);

/* Appends nothing, counts code points of the string node (with its quotes and escapes). */
uint64_t hf_json_length(const struct hf_json_doc *doc, uint32_t string);

#endif
