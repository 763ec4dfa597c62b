/* Moments for people and other programs, as RFC 3339 has them: 2026-11-30T14:38:50.120Z. */
#ifndef HF_BASE_DATE_H
#define HF_BASE_DATE_H

#include "base/str.h"

#include <stdint.h>

enum { HF_DATE_MAX = 48 };

/* Writes milliseconds since 1970, in UTC. Returns the text; before 1970 and after 9999 it is that of 0. */
struct hf_str hf_date_write(int64_t wall_ms, char text[HF_DATE_MAX]);

#endif
