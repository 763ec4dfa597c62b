#include "holdfast/provider.h"

#include "base/str.h"
#include "policy/provider.h"

int hf_provider_tool_named(struct hf_provider *provider, const char *name, const struct hf_breaker_options *options,
                           struct hf_provider_tool **ret_tool) {
  return hf_provider_tool_get(provider, hf_str_from(name), options, ret_tool);
}
