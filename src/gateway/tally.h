/* What is counted of tool calls, by hour, server and tool, for `holdfast report`.
 *
 * Counts are kept in memory and added to the store's every ten seconds, at the end, and when somebody asks where the
 * store is, so that several gateways on one store add up. A store that refuses them gets them later; one that fails
 * loses them, and nothing ever waits for it.
 * Names are those of configuration and catalog only; their number and that of the places of misfits is bounded. */
#ifndef HF_GATEWAY_TALLY_H
#define HF_GATEWAY_TALLY_H

#include "base/map.h"
#include "base/str.h"
#include "gateway/loop.h"
#include "gateway/store.h"
#include "policy/call.h"
#include "schema/repair.h"

#include <stdint.h>

/* Each call is exactly one of those with a dash, or has one fault or misfit. name, spelling in the store */
#define HF_COUNT_LIST(X)                                                                                               \
  X(CALLS, "calls")                 /* of tools, answered or cancelled; no checks and no replays */                    \
  X(FIRST, "first")                 /* - went well at the first attempt, as they came */                               \
  X(RETRIED, "retried")             /* - at a later attempt */                                                         \
  X(FELL_BACK, "fell_back")         /* - at another provider */                                                        \
  X(REPAIRED, "repaired")           /* - with arguments that the gateway put right, or had put right */                \
  X(RENAMED, "renamed")             /* of these, such whose tool was called by another name */                         \
  X(CACHED, "cached")               /* - without being sent: from the cache, the record of a key, or an equal call */  \
  X(CHECKED, "checked")             /* - as a status check says, though the answer was lost */                         \
  X(ATTEMPTS, "attempts")           /* that were started, of all calls */                                              \
  X(STALE, "stale")                 /* failed, and an earlier answer stood in */                                       \
  X(DEFAULTED, "defaulted")         /* failed, and the configured default stood in */                                  \
  X(MAYBE, "maybe")                 /* failed, of unsafe tools, and nobody knows whether it ran */                     \
  X(LETTERS, "letters")             /* dead letters */                                                                 \
  X(LETTERS_LOST, "letters_lost")   /* that could not be written */                                                    \
  X(WARNED, "warned")               /* went well though something did not fit its schema */                            \
  X(STOPPED, "stopped")             /* told to stop and ask: correction did not help */                                \
  X(UNDONE_TRIES, "undone_tries")   /* misfits that a later call of the model put right */                             \
  X(ELAPSED_MS, "elapsed_ms")       /* from call to answer, all together */                                            \
  X(TOKENS_FAILED, "tokens_failed") /* what models wrote and read of calls that failed */                              \
  X(TOKENS_FEEDBACK, "tokens_feedback") /* of that, what they read of feedback */                                      \
  X(TOKENS_SAVED, "tokens_saved")       /* what they would have written and read of failures that they never saw */

enum hf_count {
#define HF_COUNT_ENUM(name, text) HF_COUNT_##name,
  HF_COUNT_LIST(HF_COUNT_ENUM)
#undef HF_COUNT_ENUM
      HF_COUNT_COUNT
};

/* Why a call was refused before it was sent, or its result was. name, spelling in the store ("misfit.schema") */
#define HF_MISFIT_LIST(X)                                                                                              \
  X(NONE, "none")                                                                                                      \
  X(ARGUMENTS, "schema")     /* they don't fit */                                                                      \
  X(PARAMETER, "parameter")  /* all that is wrong is that they have members that don't exist */                        \
  X(TOOL, "tool")            /* there is no such tool */                                                               \
  X(LIMIT, "limit")          /* too large, too deep */                                                                 \
  X(RESULT, "result")        /* the result doesn't fit its outputSchema */                                             \
  X(EXPECTATION, "expected") /* the result is not what `expect` wants */

enum hf_misfit_kind {
#define HF_MISFIT_ENUM(name, text) HF_MISFIT_##name,
  HF_MISFIT_LIST(HF_MISFIT_ENUM)
#undef HF_MISFIT_ENUM
      HF_MISFIT_COUNT
};

/* Ways to have a call put right. name, spelling in the store ("asked.feedback", "corrected.feedback") */
#define HF_CORRECTION_LIST(X)                                                                                          \
  X(NONE, "none")                                                                                                      \
  X(FEEDBACK, "feedback") /* the answer said what is wrong */                                                          \
  X(ANCHORED, "anchored") /* in another way, because the model did the same again */                                   \
  X(CLIENT, "client")     /* the caller's own model was asked in between */                                            \
  X(MODEL, "model")       /* a configured model was */                                                                 \
  X(HINT, "hint")         /* advice behind a business error */

enum hf_correction {
#define HF_CORRECTION_ENUM(name, text) HF_CORRECTION_##name,
  HF_CORRECTION_LIST(HF_CORRECTION_ENUM)
#undef HF_CORRECTION_ENUM
      HF_CORRECTION_COUNT
};

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

/* Upper bounds of the latency buckets in ms ("latency.250"); the last one has none ("latency.more"). */
enum { HF_TALLY_LATENCIES = 13 };
extern const int64_t hf_tally_latency_ms[HF_TALLY_LATENCIES];

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

/* Spellings in the store, without what stands before the point. */
const char *hf_count_name(enum hf_count count);
const char *hf_misfit_name(enum hf_misfit_kind misfit);
const char *hf_correction_name(enum hf_correction correction);

#endif
