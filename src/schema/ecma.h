/* The syntax of ECMA-262's regular expressions (with the flag u, as JSON Schema means them), checked and told to PCRE2.
 *
 * \d, \w and \s, `.` and `$` mean what ECMA-262 says; characters are code points; \cX, \u{…}, surrogate pairs, [] and
 * [^], named groups and \p{…} with the standard's names are translated. Escapes and brackets that ECMA-262 refuses are
 * refused. */
#ifndef HF_SCHEMA_ECMA_H
#define HF_SCHEMA_ECMA_H

#include "base/buf.h"
#include "base/error.h"
#include "base/str.h"

enum {
  HF_ECMA_DEPTH_MAX = 64, /* of groups in one another */
  HF_ECMA_NAMES_MAX = 32, /* of groups */
};

/* Appends the pattern that PCRE2 (with UTF, without UCP, extended or multi-line mode) takes for `ecma`, in ASCII, with
 * a callout at each place where a matcher may go on in more than one way. `out` may be NULL: then it is only checked,
 * and nothing is allocated. Returns 0; HF_ERR_SYNTAX with the reason and offset for what is no regular expression;
 * HF_ERR_UNSUPPORTED likewise for one that cannot be translated; or the buffer's error. */
int hf_ecma_translate(struct hf_str ecma, struct hf_buf *out, struct hf_error *reterr);

#endif
