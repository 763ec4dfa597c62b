/* What is counted of tool calls, and how each count is spelt in the store.
 *
 * Whoever counts and whoever reads share this, so that neither can know a count that the other doesn't. */
#ifndef HF_GATEWAY_OBSERVE_COUNTS_H
#define HF_GATEWAY_OBSERVE_COUNTS_H

#include "base/str.h"
#include "policy/call.h"
#include "schema/repair.h"
#include "json/write.h"

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

/* Upper bounds of the latency buckets in ms ("latency.250"); the last one has none ("latency.more"). */
enum { HF_COUNTS_LATENCIES = 13 };
extern const int64_t hf_counts_latency_ms[HF_COUNTS_LATENCIES];

struct hf_counts {
  uint64_t count[HF_COUNT_COUNT];
  uint64_t ended[HF_FAULT_COUNT];     /* calls that ended with this fault */
  uint64_t recovered[HF_FAULT_COUNT]; /* went well, though this happened first */
  uint64_t misfit[HF_MISFIT_COUNT];
  uint64_t repair[HF_REPAIR_KIND_COUNT];
  uint64_t asked[HF_CORRECTION_COUNT];
  uint64_t corrected[HF_CORRECTION_COUNT];
  uint64_t latency[HF_COUNTS_LATENCIES];
  uint64_t elsewhere; /* misfits whose place is not known */
};

/* A misfit whose place is known is counted under this and a JSON Pointer. */
#define HF_COUNTS_PLACE "at."

/* Writes a member for each count that is not zero, into an object that is open. */
void hf_counts_write(const struct hf_counts *counts, struct hf_json_writer *w);

/* Writes one such member: `group` and `name` together, unless that is longer than any spelling. */
void hf_counts_write_one(struct hf_json_writer *w, struct hf_str group, struct hf_str name, uint64_t count);

/* The count that is spelt so; NULL for a place, and for what a later version counts. */
uint64_t *hf_counts_find(struct hf_counts *counts, struct hf_str spelling);

/* Spellings in the store, without what stands before the point. */
const char *hf_count_name(enum hf_count count);
const char *hf_misfit_name(enum hf_misfit_kind misfit);
const char *hf_correction_name(enum hf_correction correction);

#endif
