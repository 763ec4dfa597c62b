/* What the calls of one upstream share. Events, actions, options, what it keeps and how to drive it are public:
 * holdfast/provider.h. It is reference-counted, so that a permit outlives a reload. */
#ifndef HF_POLICY_PROVIDER_H
#define HF_POLICY_PROVIDER_H

#include "base/str.h"
#include "base/time.h"
#include "holdfast/provider.h"
#include "policy/breaker.h"
#include "policy/budget.h"
#include "policy/call.h"
#include "policy/permit.h"

#include <stdbool.h>
#include <stddef.h>

/* Finds the tool's entry or makes it (when a tool is first called; the one allocation), and sets its breaker's options.
 * It lives as long as the provider, so that a tool that leaves the list and returns keeps what was learnt. Beyond
 * max_tools the others share one entry, with the provider's breaker options: a server that invents names costs no
 * memory, and none of its calls. Returns 0 or HF_ERR_NOMEM. `ret_tool` is borrowed. */
int hf_provider_tool_get(struct hf_provider *provider, struct hf_str name, const struct hf_breaker_options *options,
                         struct hf_provider_tool **ret_tool);

/* The tools that were called, for status and metrics: returns false when there is no `index`-th. Borrowed. */
bool hf_provider_tool_at(const struct hf_provider *provider, size_t index, struct hf_str *ret_name,
                         const struct hf_breaker **ret_breaker);

/* Its own breaker and budget, to look at: borrowed. */
const struct hf_breaker *hf_provider_breaker(const struct hf_provider *provider);
const struct hf_budget *hf_provider_budget(const struct hf_provider *provider);

#endif
