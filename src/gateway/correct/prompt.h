/* What a model is asked when arguments do not fit their schema, and what is taken for its answer.
 *
 * The message holds the tool's name, its schema, the arguments and what is wrong with them; nothing else. All of that
 * is the words of strangers, so all of it is one JSON text in one line between two markers: it has no line breaks, and
 * `<`, `>`, and characters that nobody sees are spelt as escapes, so that nothing in it can be one of the markers,
 * begin a line, or look other than it is. */
#ifndef HF_GATEWAY_CORRECT_PROMPT_H
#define HF_GATEWAY_CORRECT_PROMPT_H

#include "base/buf.h"
#include "base/error.h"

enum {
  HF_PROMPT_BYTES_MAX = 64 << 10, /* of a message; what does not fit is not asked */
  HF_PROMPT_ANSWER_MAX = 64 << 10,
  HF_PROMPT_REASONS_TOKENS = 1000,
};

struct hf_prompt {
  struct hf_str tool;             /* its name, as text */
  struct hf_str schema;           /* raw JSON */
  struct hf_str arguments;        /* raw JSON: the caller's */
  struct hf_str reasons;          /* text: what is wrong with them */
  struct hf_str rejected;         /* raw JSON: an earlier answer that does not fit either, or absent */
  struct hf_str rejected_reasons; /* text: why; present alone if that answer was not even JSON */
};

/* The constant instructions, without anything foreign. */
struct hf_str hf_prompt_instructions(void);

/* Appends the message. Returns 0; HF_ERR_LIMIT if it would be longer than HF_PROMPT_BYTES_MAX, or than `out` may be;
 * HF_ERR_SYNTAX if something is no JSON; HF_ERR_NOMEM. What is in `out` is then worth nothing. */
int hf_prompt_write(const struct hf_prompt *prompt, struct hf_buf *out);

/* Appends the one JSON object that an answer consists of; fences and a few other slips of models are forgiven
 * (schema/loose.h). Returns 0; HF_ERR_NOTFOUND if the model says that it cannot tell (`null`); HF_ERR_SYNTAX if it is
 * anything else, with the reason in `reterr`; HF_ERR_LIMIT; HF_ERR_NOMEM. */
int hf_prompt_read(struct hf_str answer, struct hf_buf *out, struct hf_error *reterr);

#endif
