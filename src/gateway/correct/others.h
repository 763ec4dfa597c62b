/* Other tools that take a call's arguments as they are: what a caller may have meant that brings them to the wrong one.
 *
 * Only where it says something: each argument is one that the tool names, and all fit its schema. */
#ifndef HF_GATEWAY_CORRECT_OTHERS_H
#define HF_GATEWAY_CORRECT_OTHERS_H

#include "gateway/exchange.h"

enum {
  HF_OTHERS_TOLD_MAX = 3,
  HF_OTHERS_LOOK_MAX = 256,       /* tools that are looked at: the loop has others to serve */
  HF_OTHERS_TRY_MAX = 8,          /* whose schema is compiled for it */
  HF_OTHERS_BYTES_MAX = 16 << 10, /* of arguments, and of a schema; larger ones are not looked at */
};

/* Appends their names as JSON strings with commas between them; nothing if there are none. Returns 0 or the buffer's
 * error. */
int hf_others_tell(const struct hf_exchange *exchange, struct hf_buf *out);

#endif
