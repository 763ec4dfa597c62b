/* Points in time as people write and read them, in local time. */
#ifndef HF_CLI_WHEN_H
#define HF_CLI_WHEN_H

#include "base/str.h"

#include <stdint.h>

enum { HF_WHEN_TEXT_MAX = 32 };

/* Reads "24h" (so long before `now_ms`), "2026-05-01", "2026-05-01T12:30", "2026-05-01 12:30:15", and those with a "Z"
 * for UTC. Returns 0 or HF_ERR_SYNTAX. */
int hf_when_parse(struct hf_str text, int64_t now_ms, int64_t *ret_ms);

/* "2026-05-01 12:30:15" */
const char *hf_when_print(int64_t ms, char text[HF_WHEN_TEXT_MAX]);

/* "05-01 12:30", or "2025-05-01" if that is long ago. */
const char *hf_when_print_short(int64_t ms, int64_t now_ms, char text[HF_WHEN_TEXT_MAX]);

/* How long: "12 s", "3 min", "5 h", "2 days". */
const char *hf_when_print_span(int64_t ms, char text[HF_WHEN_TEXT_MAX]);

#endif
