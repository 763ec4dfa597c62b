/* What is added to the words of a refusal, or of a tool: what has been tried, what else there is to try, and when to
 * stop. */
#ifndef HF_GATEWAY_CORRECT_CORRECT_TEXT_H
#define HF_GATEWAY_CORRECT_CORRECT_TEXT_H

#include "gateway/correct/correct.h"
#include "json/write.h"

/* What a refusal is told with. */
struct hf_correct_words {
  enum hf_correction_kind kind; /* ARGUMENTS or NAME */
  struct hf_str name;           /* of the tool, as it was called */
  unsigned max;                 /* tries that there may be */
  struct hf_str text;           /* of the refusal */
  bool has_example;             /* `text` ends with arguments that fit */
  struct hf_str others;         /* `"a", "b"`: other tools that take these arguments; or absent */
};

/* Appends the whole text of a refusal. Returns 0 or the buffer's error. */
int hf_correct_text(const struct hf_correct_words *words, const struct hf_correction_view *view, struct hf_buf *out);

/* Writes the tries as the steps of a letter: an array of {"atMs", "what", "times", "why"}. */
void hf_correct_steps(const struct hf_correction_view *view, struct hf_json_writer *w);

#endif
