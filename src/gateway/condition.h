/* Does a result fulfil a condition of the configuration? What decides whether a tool ran must not guess: values are
 * compared exactly, and what cannot be told is an error. */
#ifndef HF_GATEWAY_CONDITION_H
#define HF_GATEWAY_CONDITION_H

#include "base/error.h"
#include "base/str.h"
#include "gateway/settings.h"

/* Tells whether the raw JSON `result` fulfils `condition`, which is not absent. Equal is what means the same: members
 * in any order, numbers by value (1, 1.0 and 10e-1 are one). That nothing `exists` is only true where it could: what
 * would contain it is there. Returns 0, or why it cannot be told: HF_ERR_INVALID (the condition), HF_ERR_SYNTAX,
 * HF_ERR_DUPLICATE (a member occurs twice), HF_ERR_LIMIT, HF_ERR_NOMEM. */
int hf_condition_holds(const struct hf_condition *condition, struct hf_str result, bool *ret_holds);

#endif
