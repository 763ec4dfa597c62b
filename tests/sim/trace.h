/* Writes what happened and what was decided as lines of text, for people and for golden files. */
#ifndef SIM_TRACE_H
#define SIM_TRACE_H

#include "kernel.h"

/* All do nothing when `trace` is NULL. */
void trace_call(FILE *trace, hf_time now, const struct sim_call *call, const struct hf_call_event *event,
                const struct hf_call_actions *actions);
void trace_provider(FILE *trace, hf_time now, const struct sim_provider *provider,
                    const struct hf_provider_event *event, const struct hf_provider_actions *actions);

#endif
