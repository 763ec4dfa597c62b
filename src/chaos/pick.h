/* Picks members out of JSON text that was scanned before.
 *
 * The faulty server has its own few lines for this, so that what it reads of a message never shares a mistake with the
 * reader that it is to test. Ill-formed text gives nonsense, but nothing outside of it is read. */
#ifndef HF_CHAOS_PICK_H
#define HF_CHAOS_PICK_H

#include "base/buf.h"
#include "base/str.h"

/* Returns the raw text of member `key` of `object`, borrowed; ptr NULL if there is none or `object` is no object. */
struct hf_str hf_pick_member(struct hf_str object, const char *key);

/* Reads the member of `object` at `*at`, 0 first, and goes on to the next: its name as it is written between the
 * quotes, and its raw value. Returns false behind the last. */
bool hf_pick_next(struct hf_str object, size_t *at, struct hf_str *ret_name, struct hf_str *ret_value);

/* Follows names separated by '.', none of which holds one: "params.arguments.key". */
struct hf_str hf_pick_path(struct hf_str object, const char *path);

/* The value of a header among raw lines that end with CRLF, borrowed; ptr NULL if there is none. */
struct hf_str hf_pick_header(struct hf_str head, const char *name);

/* How many elements `array` has; none if it is no array. */
size_t hf_pick_count(struct hf_str array);

/* The raw text of an element, borrowed; ptr NULL past the last. */
struct hf_str hf_pick_element(struct hf_str array, size_t index);

/* Unescapes a string value into `text`, cut at `size` - 1; anything but a string gives "". */
void hf_pick_text(struct hf_str value, char *text, size_t size);

/* Returns the number, or `otherwise` if `value` is none. */
long hf_pick_number(struct hf_str value, long otherwise);

/* Appends `text` as a JSON string. */
void hf_pick_quote(struct hf_buf *buf, struct hf_str text);

/* The faulty server is a process of its own: without memory, or past a limit of its buffers, it says so and ends. */
void hf_chaos_must(int rc);

/* The same for memory: returns what it was given, never NULL. */
void *hf_chaos_have(void *memory) __attribute__((returns_nonnull));

#endif
