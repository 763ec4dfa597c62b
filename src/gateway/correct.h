/* Self-correction with an end: what went wrong with a call is told with what its caller tried before, and whoever
 * repeats itself is told something else than the last time, until it is enough.
 *
 * One place for what the gateway refuses (arguments, names), for what a tool says itself (`isError`), and for results
 * that are not what is expected of the tool. The loops are in correction.h. */
#ifndef HF_GATEWAY_CORRECT_H
#define HF_GATEWAY_CORRECT_H

#include "gateway/exchange.h"

/* A call that is refused before anything is sent. */
struct hf_correct_refusal {
  enum hf_fault fault;   /* HF_FAULT_SCHEMA or HF_FAULT_UNKNOWN_TOOL */
  struct hf_str text;    /* what is wrong and what would be right, for a model: whole sentences, lines */
  struct hf_str reason;  /* the most important of it in one line, for the history */
  uint64_t error;        /* digest (hf_map_hash): alike where the same is wrong, whatever the values are */
  struct hf_str example; /* arguments that fit, raw JSON, or absent */
};

/* Answers the call with the refusal, and what its caller's history adds to it. When it is enough, a dead letter is
 * written first (class `schema`), if the tool's policy wants one. Ends the exchange, or holds it until the letter is on
 * disk; it may be gone when this returns. Borrows. */
void hf_correct_refuse(struct hf_exchange *exchange, const struct hf_correct_refusal *refusal);

#endif
