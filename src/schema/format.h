/* The formats of JSON Schema ("date-time", "email", "ipv6" …), each a check of a string. */
#ifndef HF_SCHEMA_FORMAT_H
#define HF_SCHEMA_FORMAT_H

#include "base/str.h"

#include <stdbool.h>

typedef bool (*hf_format_check)(struct hf_str text); /* unescaped, UTF-8 */

/* The check of a format, or NULL if it is not one that is known (then everything fits). */
hf_format_check hf_format_find(struct hf_str name);

#endif
