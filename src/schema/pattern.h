/* Regular expressions of ECMA-262, as `pattern` and `patternProperties` have them, run by PCRE2.
 *
 * What the two spell differently is translated (schema/ecma.h); what cannot be is refused when it is compiled. Every
 * place where the matcher may go on in more than one way counts its steps, so that no pattern and no text can hold up
 * the loop; a match that has none left is undecided. Subjects are UTF-8. One thing stays PCRE2's: what a group captured
 * is still captured in the next round of the loop around it, where ECMA-262 forgets it. */
#ifndef HF_SCHEMA_PATTERN_H
#define HF_SCHEMA_PATTERN_H

#include "base/error.h"
#include "base/str.h"

#include <stdint.h>

enum {
  HF_REGEX_BYTES_MAX = 8 << 10,  /* of a pattern */
  HF_REGEX_MEMORY_MAX = 4 << 20, /* of what a match remembers to go back to; used only as far as it is needed */
  HF_REGEX_STEP_BYTES = 8,       /* of the subject, that are looked at in one step */
};

/* Immutable once compiled. */
struct hf_regex;

/* Memory for matches of any pattern, one at a time. Returns owned, or NULL. */
struct hf_regex_memory;
struct hf_regex_memory *hf_regex_memory_new(void);
void hf_regex_memory_free(struct hf_regex_memory *memory); /* accepts NULL */

/* Returns 0 and a pattern, owned; HF_ERR_SYNTAX with the reason and offset; HF_ERR_UNSUPPORTED likewise;
 * HF_ERR_LIMIT; HF_ERR_NOMEM. */
int hf_regex_compile(struct hf_str ecma, struct hf_regex **ret_regex, struct hf_error *reterr);
void hf_regex_free(struct hf_regex *regex); /* accepts NULL */

/* Bytes of memory that it takes. */
size_t hf_regex_size(const struct hf_regex *regex);

/* Does it match somewhere in `subject`, valid UTF-8? Lowers `io_steps` by what it took. Returns 1, 0, or HF_ERR_LIMIT
 * if there were too few steps or too little memory to tell. Allocates nothing. */
int hf_regex_match(const struct hf_regex *regex, struct hf_regex_memory *memory, struct hf_str subject,
                   uint32_t *io_steps);

#endif
