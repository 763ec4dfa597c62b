/* Picks members out of JSON text that is taken to be well formed.
 *
 * The faulty server has its own few lines for this, so that it never shares a mistake with the parser under test. */
#ifndef CHAOS_PICK_H
#define CHAOS_PICK_H

#include "base/buf.h"
#include "base/str.h"

/* Returns the raw text of member `key` of `object`, borrowed; ptr NULL if there is none or `object` is no object. */
struct hf_str pick_member(struct hf_str object, const char *key);

/* Follows names separated by '.', none of which holds one: "params.arguments.key". */
struct hf_str pick_path(struct hf_str object, const char *path);

/* Unescapes a string value into `text`, cut at `size` - 1; anything but a string gives "". */
void pick_text(struct hf_str value, char *text, size_t size);

/* Returns the number, or `otherwise` if `value` is none. */
long pick_number(struct hf_str value, long otherwise);

/* Appends `text` as a JSON string. */
void pick_quote(struct hf_buf *buf, struct hf_str text);

/* For a test program, out of memory ends it. */
void chaos_must(int rc);

#endif
