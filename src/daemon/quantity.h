/* Quantities as people write them: `500ms`, `2s`, `5m`, `1h`, `16MiB`, `50%`, and back. */
#ifndef HF_DAEMON_QUANTITY_H
#define HF_DAEMON_QUANTITY_H

#include "base/str.h"
#include "base/time.h"

#include <stdint.h>

enum { HF_QUANTITY_TEXT_MAX = 32 };

/* A number (with at most 6 decimals) and one of us, ms, s, m, h, d; or `never`, which is HF_TIME_NEVER. Returns 0 or
 * HF_ERR_SYNTAX (also for a bare number: seconds and milliseconds must not be mixed up), or HF_ERR_LIMIT. */
int hf_duration_parse(struct hf_str text, hf_time *ret_duration);

/* A whole number and B, KiB, MiB, GiB (or kB, MB, GB); without a unit, bytes. Returns 0, HF_ERR_SYNTAX, HF_ERR_LIMIT.
 */
int hf_size_parse(struct hf_str text, uint64_t *ret_bytes);

/* A whole number from 0 to 100 with `%`. Returns 0 or HF_ERR_SYNTAX. */
int hf_percent_parse(struct hf_str text, uint64_t *ret_percent);

/* Writes the shortest exact spelling into `text`, NUL-terminated, and returns it. */
const char *hf_duration_print(hf_time duration, char text[HF_QUANTITY_TEXT_MAX]);

#endif
