/* JSON Pointer (RFC 6901) on a scanned text. */
#ifndef HF_JSON_POINTER_H
#define HF_JSON_POINTER_H

#include "json/value.h"

/* Finds what `pointer` ("" or "/a/0/b~1c") names below `node`; where the tape ends, the span is scanned anew. Returns
 * 0, HF_ERR_NOTFOUND, HF_ERR_INVALID if it is no pointer, HF_ERR_DUPLICATE if a member on the way occurs twice,
 * HF_ERR_LIMIT or HF_ERR_NOMEM from scanning. `ret_span` borrows from the text. */
int hf_json_pointer(const struct hf_json_doc *doc, uint32_t node, struct hf_str pointer, struct hf_str *ret_span,
                    enum hf_json_type *ret_type);

#endif
