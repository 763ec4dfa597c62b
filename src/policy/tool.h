/* What a provider knows of one of its tools: whether it fails, how many of its calls are in flight, and how long they
 * take. */
#ifndef HF_POLICY_TOOL_H
#define HF_POLICY_TOOL_H

#include "holdfast/call.h"
#include "policy/breaker.h"
#include "policy/bulkhead.h"
#include "policy/latency.h"

#include <stdbool.h>

struct hf_provider_tool {
  struct hf_breaker breaker;
  struct hf_bulkhead slots;
  struct hf_latency latency;
  hf_time usual; /* the limiter's: what an answer takes while the provider has little to do */
};

void hf_provider_tool_init(struct hf_provider_tool *tool, const struct hf_breaker_options *options);

/* What a report says to the tool's breaker. */
enum hf_verdict hf_provider_tool_verdict(const struct hf_provider_tool *tool, const struct hf_report *report);

/* What the permits of its calls carry. */
hf_time hf_provider_tool_hedge_after(const struct hf_provider_tool *tool);

#endif
