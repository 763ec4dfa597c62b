/* JSON Pointer (RFC 6901) into a raw JSON value. */
#ifndef HF_JSON_POINTER_H
#define HF_JSON_POINTER_H

#include "base/buf.h"
#include "base/error.h"
#include "base/str.h"
#include "json/value.h"

/* The most values that are looked at to find one. */
enum { HF_JSON_POINTER_NODES = 1 << 20 };

/* Finds the value that `pointer` names in `raw`. Returns 0 and its raw text, within `raw`; HF_ERR_NOTFOUND;
 * HF_ERR_DUPLICATE if a member on the way occurs twice; HF_ERR_INVALID for a pointer that is none; HF_ERR_SYNTAX,
 * HF_ERR_LIMIT or HF_ERR_NOMEM of reading `raw`. */
int hf_json_pointer(struct hf_str raw, struct hf_str pointer, struct hf_str *ret_value);

/* The same in a scanned text, whose containers have nodes as deep as the pointer reaches. */
int hf_json_pointer_walk(const struct hf_json_doc *doc, struct hf_str pointer, uint32_t *ret_node);

/* How many containers deep a pointer reaches. */
uint32_t hf_json_pointer_depth(struct hf_str pointer);

/* One step of a path: the member `name` of an object, or the element of an array whose index it spells. */
int hf_json_step(const struct hf_json_doc *doc, uint32_t node, struct hf_str name, uint32_t *ret_node);

/* 0, or HF_ERR_INVALID with the reason. */
int hf_json_pointer_check(struct hf_str pointer, struct hf_error *reterr);

/* Takes the first token off `pointer`, which starts with a slash, and puts what it means into `token`. Returns 0,
 * HF_ERR_INVALID, or what hf_buf_append does. */
int hf_json_pointer_next(struct hf_str *pointer, struct hf_buf *token);

/* Appends the pointer of a node within `doc`. Returns 0 or the buffer's error. */
int hf_json_pointer_of(const struct hf_json_doc *doc, uint32_t node, struct hf_buf *out);

/* The same for the way from a node down to one within it. Each value that is passed by lowers `io_steps`, if it is
 * not NULL; HF_ERR_LIMIT when there are none left. */
int hf_json_pointer_between(const struct hf_json_doc *doc, uint32_t from, uint32_t to, uint32_t *io_steps,
                            struct hf_buf *out);

/* Appends a slash and the token that the member name at `key` is. Returns 0 or the buffer's error. */
int hf_json_pointer_append(const struct hf_json_doc *doc, uint32_t key, struct hf_buf *out);

#endif
