/* JSON Pointer (RFC 6901) into a raw JSON value. */
#ifndef HF_JSON_POINTER_H
#define HF_JSON_POINTER_H

#include "base/error.h"
#include "base/str.h"

/* Finds the value that `pointer` names in `raw`. Returns 0 and its raw text, within `raw`; HF_ERR_NOTFOUND;
 * HF_ERR_INVALID for a pointer that is none; HF_ERR_SYNTAX, HF_ERR_LIMIT or HF_ERR_NOMEM of reading `raw`. */
int hf_json_pointer(struct hf_str raw, struct hf_str pointer, struct hf_str *ret_value);

/* 0, or HF_ERR_INVALID with the reason. */
int hf_json_pointer_check(struct hf_str pointer, struct hf_error *reterr);

#endif
