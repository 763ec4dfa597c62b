/* Regular expressions of ECMA-262, as `pattern` and `patternProperties` have them, run by PCRE2.
 *
 * What the two spell differently is translated (\d, \w and \s as ECMA means them, \cX, \u{…}, [^], $ at the very end,
 * lookbehind, named groups); what cannot be is refused when it is compiled. Matching is bounded, so that no pattern and
 * no text can hold up the loop; a match that hits its bound is undecided. Subjects are UTF-8. */
#ifndef HF_SCHEMA_PATTERN_H
#define HF_SCHEMA_PATTERN_H

#include "base/error.h"
#include "base/str.h"

#include <stdbool.h>

struct hf_regex;

/* Returns 0 and a pattern, owned; HF_ERR_UNSUPPORTED or HF_ERR_SYNTAX with the reason and offset; HF_ERR_LIMIT;
 * HF_ERR_NOMEM. */
int hf_regex_compile(struct hf_str ecma, struct hf_regex **ret_regex, struct hf_error *reterr);
void hf_regex_free(struct hf_regex *regex); /* accepts NULL */

/* Does it match somewhere in `subject`, valid UTF-8? Returns 1, 0, or HF_ERR_LIMIT. Allocates nothing. `io_steps` is
 * what is left of the steps of a run (the bound of the match, in PCRE2's own), and is lowered by an estimate of what
 * the match took. */
int hf_regex_match(const struct hf_regex *regex, struct hf_str subject, uint32_t *io_steps);

#endif
