/* Reading what models write in place of JSON: Python literals, single quotes, trailing commas, comments, Markdown
 * fences, the tags of chat templates, words around it, a text that holds JSON as a string.
 *
 * A parser, never a replacement of characters: what is inside of strings stays. What is cut off, what could be read in
 * two ways (two values that differ, escapes that languages read differently), and what is no value at all (expressions,
 * names, NaN) is refused. */
#ifndef HF_SCHEMA_LOOSE_H
#define HF_SCHEMA_LOOSE_H

#include "base/buf.h"
#include "base/error.h"

/* What was not JSON; bits. */
enum hf_loose {
  HF_LOOSE_FENCE = 1,  /* in a Markdown fence */
  HF_LOOSE_QUOTES = 2, /* strings in single quotes */
  HF_LOOSE_PYTHON = 4, /* True, False, None, tuples */
  HF_LOOSE_TRAILING_COMMA = 8,
  HF_LOOSE_COMMENT = 16,
  HF_LOOSE_BARE_KEY = 32,      /* a member name without quotes */
  HF_LOOSE_ENCODED_TWICE = 64, /* a JSON string whose text is the value */
  HF_LOOSE_REPEATED = 128,     /* the same value again and nothing else, or {} before it */
  HF_LOOSE_CONTROL = 256,      /* line ends and tabs within strings, not escaped */
  HF_LOOSE_NUMBER = 512,       /* +1, .5, 5. */
  HF_LOOSE_TAGS = 1024,        /* between tags: <tool_call>, <|im_start|> */
  HF_LOOSE_WORDS = 2048,       /* words before or behind it, with no other value among them */
  HF_LOOSE_CALL = 4096,        /* a call with named arguments, f(a=1): the value is {"name":"f","arguments":{"a":1}} */
};

/* Reads `raw` and appends the one JSON value that it means. `ret_how` says what it took, 0 if it was JSON already.
 * Returns 0; HF_ERR_SYNTAX with the reason and the offset; HF_ERR_INCOMPLETE if the text is cut off; HF_ERR_LIMIT;
 * HF_ERR_NOMEM. */
int hf_loose_read(struct hf_str raw, struct hf_buf *out, unsigned *ret_how, struct hf_error *reterr);

#endif
