/* Counters and histograms of calls, and their Prometheus text.
 *
 * Labels are names from the configuration and the catalog only, and their number is bounded: whatever else a caller
 * makes up is counted as `_unknown`, and what passes the limit as `_other`. */
#ifndef HF_GATEWAY_OBSERVE_METRICS_H
#define HF_GATEWAY_OBSERVE_METRICS_H

#include "base/buf.h"
#include "base/map.h"
#include "base/time.h"
#include "policy/call.h"
#include "schema/repair.h"

#include <stdint.h>

enum { HF_METRICS_TOOLS_MAX = 4096 };

/* What is counted for the whole gateway: name of the family without "holdfast_", help. */
#define HF_METRIC_LIST(X)                                                                                              \
  X(CACHE_HITS, "cache_hits_total", "Calls answered by a fresh answer in the cache.")                                  \
  X(HEDGES, "hedges_total", "Second attempts beside a slow one.")                                                      \
  X(CHECKS, "checks_total", "Status checks of calls whose answer was lost.")                                           \
  X(JOINED, "calls_joined_total", "Calls that shared the answer of an equal one instead of being sent.")               \
  X(ASKED, "corrections_asked_total", "Times that a model was asked for arguments that fit.")                          \
  X(DEGRADED, "degraded_answers_total", "Answers that stood in for a call that failed.")                               \
  X(TASKS, "tasks_total", "Calls that became tasks.")                                                                  \
  X(LETTERS_LOST, "dead_letters_lost_total", "Dead letters that could not be written.")                                \
  X(REPLAYS, "replays_total", "Dead letters that were tried again.")                                                   \
  X(REPLAYS_DONE, "replays_done_total", "Replays that brought their letter's result.")                                 \
  X(REENTRIES, "dead_letters_returned_total", "Replays that failed: the letter is dead again.")

enum hf_metric {
#define HF_METRIC_ENUM(name, family, help) HF_METRIC_##name,
  HF_METRIC_LIST(HF_METRIC_ENUM)
#undef HF_METRIC_ENUM
      HF_METRIC_COUNT
};

/* How a value and its schema went together. name, label */
#define HF_FIT_LIST(X)                                                                                                 \
  X(VALID, "valid")                                                                                                    \
  X(REPAIRED, "repaired")                                                                                              \
  X(CORRECTED, "corrected") /* by a model that was asked */                                                            \
  X(WARNED, "warned")       /* it did not fit, and went on as the configuration says */                                \
  X(REFUSED, "refused")                                                                                                \
  X(UNVALIDATED, "unvalidated") /* nobody could tell: no schema that can be used, or a bound was hit */

enum hf_fit {
#define HF_FIT_ENUM(name, label) HF_FIT_##name,
  HF_FIT_LIST(HF_FIT_ENUM)
#undef HF_FIT_ENUM
      HF_FIT_COUNT
};

struct hf_metrics {
  struct hf_map tools; /* "server\0tool" → struct tool_metrics, owned */
  uint64_t counters[HF_METRIC_COUNT];
  uint64_t letters[HF_FAULT_COUNT]; /* that were written, by what was wrong */
  uint64_t arguments[HF_FIT_COUNT]; /* of calls */
  uint64_t results[HF_FIT_COUNT];   /* of tools that have an output schema */
  uint64_t repairs[HF_REPAIR_KIND_COUNT];
  uint64_t renames; /* of tools */
};

void hf_metrics_init(struct hf_metrics *metrics);
void hf_metrics_deinit(struct hf_metrics *metrics);

/* Counts one finished call. Absent names count as `_unknown`. Out of memory loses the count, nothing else. */
void hf_metrics_count(struct hf_metrics *metrics, struct hf_str server, struct hf_str tool, enum hf_source source,
                      enum hf_fault fault, unsigned attempts, hf_time elapsed);

static inline void hf_metrics_add(struct hf_metrics *metrics, enum hf_metric metric) {
  metrics->counters[metric]++;
}

/* Counts what else is to be counted of a finished call: a degraded answer, its letter. */
void hf_metrics_outcome(struct hf_metrics *metrics, const struct hf_outcome *outcome);

/* Appends the text of all of them. Returns 0 or the buffer's error. */
int hf_metrics_write(const struct hf_metrics *metrics, struct hf_buf *out);

/* Appends `text` as the value of a label, quotes included. */
int hf_metrics_label(struct hf_buf *out, struct hf_str text);

#endif
