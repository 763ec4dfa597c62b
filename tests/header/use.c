/* What a program does with the headers, in C99, C17 and C++17 alike. */
#include "holdfast/api.h"
#include "holdfast/breaker.h"
#include "holdfast/budget.h"
#include "holdfast/call.h"
#include "holdfast/classify.h"
#include "holdfast/error.h"
#include "holdfast/limiter.h"
#include "holdfast/permit.h"
#include "holdfast/provider.h"
#include "holdfast/retry.h"
#include "holdfast/run.h"
#include "holdfast/schema.h"
#include "holdfast/time.h"

#include <stddef.h>

int use_holdfast(hf_time now);

int use_holdfast(hf_time now) {
  struct hf_breaker_options breaker = HF_BREAKER_OPTIONS_INIT;
  struct hf_budget_options budget = HF_BUDGET_OPTIONS_INIT;
  struct hf_retry_options retry = HF_RETRY_OPTIONS_INIT;
  struct hf_timeout_options timeout = HF_TIMEOUT_OPTIONS_INIT;
  struct hf_provider_options provider = HF_PROVIDER_OPTIONS_INIT;
  struct hf_run_options run = HF_RUN_OPTIONS_INIT;
  struct hf_json_validator_options schema = HF_JSON_VALIDATOR_OPTIONS_INIT;
  struct hf_evidence evidence = HF_EVIDENCE(HF_EVIDENCE_BROKE);
  struct hf_call_event event;
  event.kind = HF_CALL_ATTEMPT_DONE;
  event.attempt = 0;
  event.done.result = HF_ATTEMPT_FAULT;
  event.done.evidence = evidence;
  run.timeout = timeout;
  run.retry = retry;
  provider.breaker = breaker;
  provider.budget = budget;

  struct hf_provider *shared = hf_provider_new(&provider, 1, now);
  struct hf_provider_tool *tool = NULL;
  struct hf_run *one = NULL;
  int r = hf_provider_tool_named(shared, "tool", &breaker, &tool);
  if (r == 0)
    r = hf_run_new(shared, tool, &run, hf_time_add(now, HF_MS(1)), &one);
  if (r == 0)
    r = hf_run_tell(one, &event, hf_time_max(now, HF_SECONDS(1)));
  struct hf_json_validator *validator = NULL;
  if (r == 0)
    r = hf_json_validator_new("true", 4, &schema, &validator, NULL, 0);
  if (r == 0)
    r = hf_json_validator_check(validator, "{}", 2);
  hf_json_validator_free(validator);
  hf_run_free(one);
  hf_provider_unref(shared);
  return r == HF_ERR_INVALID && hf_safety_allows_repeat(HF_SAFETY_KEYED);
}
