/* How many tokens a text takes in a language model, estimated without its vocabulary.
 *
 * Tokenizers split a text into words, runs of digits and runs of punctuation first, and those into pieces; the estimate
 * counts the same and weighs it with a table that was fitted to o200k_base over JSON, English, and other scripts
 * (docs/report.md says how well). One pass, no memory. */
#ifndef HF_BASE_TOKENS_H
#define HF_BASE_TOKENS_H

#include "base/str.h"

enum { HF_TOKENS_READ_MAX = 64 << 10 /* bytes: the rest of a text is taken to be like its beginning */ };

/* Exact for no text, and off by little for any that is longer than a sentence. 0 for an empty or absent one. */
size_t hf_tokens(struct hf_str text);

#endif
