/* What is counted of tool calls, by hour, server and tool, for `holdfast report`.
 *
 * Counts are kept in memory and added to the store's every ten seconds, at the end, and when somebody asks where the
 * store is, so that several gateways on one store add up. A store that refuses them gets them later; one that fails
 * loses them, and nothing ever waits for it.
 * Names are those of configuration and catalog only; their number and that of the places of misfits is bounded. */
#ifndef HF_GATEWAY_OBSERVE_TALLY_H
#define HF_GATEWAY_OBSERVE_TALLY_H

#include "base/map.h"
#include "base/str.h"
#include "gateway/loop.h"
#include "gateway/observe/counts.h"
#include "gateway/store.h"
#include "policy/call.h"
#include "schema/repair.h"

#include <stdint.h>

/* What the stages of a call have to say for its count: zero says nothing. It is in the exchange (`notes`); whoever
 * knows something sets it before the outcome is recorded, which counts it once. What was repaired the exchange knows
 * anyway. */
struct hf_tally_notes {
  enum hf_misfit_kind misfit;
  struct hf_str pointer;        /* of the first misfit, a JSON Pointer; borrowed until the call is over */
  enum hf_correction asked;     /* what this answer asks for */
  enum hf_correction tried;     /* whose model was asked before it, whether that helped or not */
  enum hf_correction corrected; /* by what this call was put right, or the one before that it makes up for */
  unsigned undone_tries;        /* answers to the model that this call makes up for */
  bool stopped;                 /* it is told to stop and ask */
  size_t feedback_tokens;       /* hf_tokens of the text that was written for the model */
};

/* A call that is over, as it is counted. Borrowed. */
struct hf_tally_call {
  struct hf_str server; /* absent: unknown */
  struct hf_str tool;   /* by its server's name for it; absent: one that the caller made up */
  const struct hf_outcome *outcome;
  const struct hf_tally_notes *notes;
  const struct hf_repairs *repairs; /* that were made, or NULL */
  bool renamed;                     /* its tool was called by another name */
  enum hf_fault first_fault;        /* what went wrong first, though the call may have ended well */
  bool unsafe;                      /* the tool must not run twice */
  bool shared;                      /* it has the answer of another call: from a cache, a record, or a flight */
  size_t arguments_tokens;          /* of the model's call; only looked at if the call failed, or would have */
  size_t answer_tokens;             /* of the tool's own words of a failure */
};

enum {
  HF_TALLY_TOOLS_MAX = 1024, /* in one hour; the others are counted together as `_other` */
  HF_TALLY_PLACES_MAX = 8,   /* of misfits of one tool in one hour, likewise */
  HF_TALLY_PLACE_LEN_MAX = 64,
  HF_TALLY_FLUSH_BYTES_MAX = 4 << 20, /* of the text that is handed to the store */
};

struct hf_tally {
  struct hf_loop *loop;   /* borrowed */
  struct hf_store *store; /* borrowed; NULL: nothing is counted */
  struct hf_map rows;     /* by "server\0tool", owned; all of `hour` */
  int64_t hour;           /* since 1970 */
  struct hf_timer flush;
};

/* Returns 0 or HF_ERR_NOMEM. */
int hf_tally_init(struct hf_tally *tally, struct hf_loop *loop);

/* Hands over what is there, if there is a store. */
void hf_tally_deinit(struct hf_tally *tally);

/* Counts a call. Without memory, or without a store, it is not counted. */
void hf_tally_count(struct hf_tally *tally, const struct hf_tally_call *call);

/* Hands what is there to the store. What that refuses stays, to be handed over later. */
void hf_tally_flush(struct hf_tally *tally);

#endif
