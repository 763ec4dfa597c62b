/* Self-correction with an end: what went wrong with a call is told with what its caller tried before, and whoever
 * repeats itself is told something else than the last time, until it is enough.
 *
 * One place for what the gateway refuses (arguments, names); what servers answer is in gateway/correct/advice.h, and
 * the loops of both are in gateway/correct/correction.h. */
#ifndef HF_GATEWAY_CORRECT_CORRECT_H
#define HF_GATEWAY_CORRECT_CORRECT_H

#include "gateway/correct/correction.h"
#include "gateway/exchange.h"

/* A call that is refused before anything is sent. */
struct hf_correct_refusal {
  enum hf_fault fault;  /* HF_FAULT_SCHEMA or HF_FAULT_UNKNOWN_TOOL */
  struct hf_str text;   /* what is wrong and what would be right, for a model: whole sentences, lines */
  struct hf_str reason; /* the most important of it in one line, for the history */
  uint64_t error;       /* digest (hf_map_hash): alike where the same is wrong, whatever the values are */
  bool has_example;     /* `text` has arguments that fit */
};

/* Answers the call with the refusal, and what its caller's history adds to it. When it is enough, a dead letter is
 * written first, if the tool's policy wants one. Ends the exchange, or holds it until the letter is on disk; it may be
 * gone when this returns. Borrows. */
void hf_correct_refuse(struct hf_exchange *exchange, const struct hf_correct_refusal *refusal);

/* Notes that the call went wrong, for one line of reasons. `ret_view` is valid until the next one is noted or closed.
 */
void hf_correct_note(struct hf_exchange *exchange, enum hf_correction_kind kind, struct hf_str reason, uint64_t error,
                     struct hf_correction_view *ret_view);

/* What this call was made to put right is right: closes the loops whose kinds are in `kinds`, as bits. */
void hf_correct_close(struct hf_exchange *exchange, unsigned kinds);

/* Appends the loops and their ends as Prometheus text. Returns 0 or the buffer's error. */
int hf_correct_metrics(const struct hf_corrections *corrections, struct hf_buf *out);

#endif
