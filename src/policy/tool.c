#include "policy/tool.h"

#include "holdfast/provider.h"

/* A hedge sooner than this would race the network. */
static const hf_time LEAST_HEDGE = HF_MS(1);

void hf_provider_tool_init(struct hf_provider_tool *tool, const struct hf_breaker_options *options) {
  *tool = (struct hf_provider_tool){0};
  hf_breaker_init(&tool->breaker, options);
  hf_latency_init(&tool->latency);
}

void hf_provider_tool_limit(struct hf_provider_tool *tool, unsigned max_concurrent) {
  tool->slots.limit = max_concurrent;
}

hf_time hf_provider_tool_latency(const struct hf_provider_tool *tool, unsigned percent) {
  return hf_latency_quantile(&tool->latency, percent);
}

const struct hf_breaker *hf_provider_tool_breaker(const struct hf_provider_tool *tool) {
  return &tool->breaker;
}

enum hf_verdict hf_provider_tool_verdict(const struct hf_provider_tool *tool, const struct hf_report *report) {
  hf_time slow = tool->breaker.options.slow;
  switch (report->blame) {
  case HF_BLAME_TOOL:
  case HF_BLAME_ANSWER:
    return HF_VERDICT_FAILURE;
  case HF_BLAME_SUCCESS:
    return slow > 0 && report->latency > slow ? HF_VERDICT_FAILURE : HF_VERDICT_SUCCESS;
  case HF_BLAME_PROVIDER:
  case HF_BLAME_NOBODY:
    break;
  }
  return HF_VERDICT_NEUTRAL;
}

hf_time hf_provider_tool_hedge_after(const struct hf_provider_tool *tool) {
  return hf_time_max(tool->latency.p95, LEAST_HEDGE);
}
