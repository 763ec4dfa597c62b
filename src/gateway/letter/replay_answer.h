/* What the answer to a replay says of its letter. */
#ifndef HF_GATEWAY_LETTER_REPLAY_ANSWER_H
#define HF_GATEWAY_LETTER_REPLAY_ANSWER_H

#include "base/arena.h"
#include "mcp/message.h"

struct hf_replay_verdict {
  bool good;            /* it is what the letter's caller had wanted */
  bool failed;          /* the marker names a fault */
  bool buried;          /* its own failure has been written to the letter */
  const char *executed; /* "no", "maybe" or "yes"; never NULL */
  struct hf_str reason; /* or absent; in the arena */
  struct hf_str source;
};

/* Reads the answer to the replay of `letter_id`. */
void hf_replay_judge(const struct hf_message *answer, struct hf_str letter_id, struct hf_arena *arena,
                     struct hf_replay_verdict *ret_verdict);

/* What is known of a letter's execution after one more attempt: the more of both. What names nothing is "maybe". */
const char *hf_replay_executed(struct hf_str before, const char *now);

#endif
