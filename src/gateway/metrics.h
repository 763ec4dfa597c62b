/* Counters and histograms of calls, and their Prometheus text.
 *
 * Labels are names from the configuration and the catalog only, and their number is bounded: whatever else a caller
 * makes up is counted as `_unknown`, and what passes the limit as `_other`. */
#ifndef HF_GATEWAY_METRICS_H
#define HF_GATEWAY_METRICS_H

#include "base/buf.h"
#include "base/map.h"
#include "base/time.h"
#include "policy/call.h"

#include <stdint.h>

enum { HF_METRICS_TOOLS_MAX = 4096 };

struct hf_metrics {
  struct hf_map tools; /* "server\0tool" → struct tool_metrics, owned */
};

void hf_metrics_init(struct hf_metrics *metrics);
void hf_metrics_deinit(struct hf_metrics *metrics);

/* Counts one finished call. Absent names count as `_unknown`. Out of memory loses the count, nothing else. */
void hf_metrics_count(struct hf_metrics *metrics, struct hf_str server, struct hf_str tool, enum hf_source source,
                      enum hf_fault fault, unsigned attempts, hf_time elapsed);

/* Appends the text of all of them. Returns 0 or the buffer's error. */
int hf_metrics_write(const struct hf_metrics *metrics, struct hf_buf *out);

/* Appends `text` as the value of a label, quotes included. */
int hf_metrics_label(struct hf_buf *out, struct hf_str text);

#endif
