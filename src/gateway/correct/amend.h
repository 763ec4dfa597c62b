/* Words of the gateway in a result of a server: a text before or after the server's own content, which stays byte for
 * byte. */
#ifndef HF_GATEWAY_CORRECT_AMEND_H
#define HF_GATEWAY_CORRECT_AMEND_H

#include "base/buf.h"
#include "base/error.h"

struct hf_amendment {
  struct hf_str first; /* a text block before the content, or absent */
  struct hf_str last;  /* one after it, or absent */
  bool is_error;       /* the result becomes one (`isError: true`); else that stays as it is */
};

/* Appends the raw `result` with the amendment. All other bytes stay. Returns 0; HF_ERR_INVALID if it is no object, or
 * its `content` no array; HF_ERR_DUPLICATE if it says `content` or `isError` twice; HF_ERR_SYNTAX, HF_ERR_LIMIT or
 * HF_ERR_NOMEM. On an error `out` is as it was. */
int hf_amend(struct hf_str result, const struct hf_amendment *what, struct hf_buf *out);

#endif
