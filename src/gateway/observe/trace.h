/* What was decided about a call, step by step: for `explain`, and for the letter of a call that failed.
 *
 * A trace is one block of fixed size: small records and a few copied names, filled while the call runs. Steps beyond
 * HF_TRACE_STEPS_MAX are counted and not kept. Blocks come from a free list; when a call has ended, its trace stays
 * until as many others have ended as `limits.traces` says. A call whose trace finds no memory has none, and every
 * function here takes that. */
#ifndef HF_GATEWAY_OBSERVE_TRACE_H
#define HF_GATEWAY_OBSERVE_TRACE_H

#include "base/list.h"
#include "gateway/exchange.h"
#include "json/write.h"

enum { HF_TRACE_STEPS_MAX = 64 };

struct hf_trace;

/* Goes with the exchange's first stage. A second time does nothing. */
void hf_trace_begin(struct hf_exchange *exchange);

/* A stage has something to tell, as a sentence. Copied, and cut if it is long. */
void hf_trace_stage(struct hf_exchange *exchange, struct hf_str note);

/* In the order in which they are stepped and performed. A report is told once it has been performed, so that what it
 * did to a breaker can be seen; all else before. */
void hf_trace_event(struct hf_exchange *exchange, const struct hf_call_event *event);
void hf_trace_action(struct hf_exchange *exchange, const struct hf_call_action *action);

/* A permit was asked for. Tells it if the call waits at a breaker now. */
void hf_trace_asked(struct hf_exchange *exchange);

/* What went wrong first, a refusal before anything was sent included; HF_FAULT_NONE: nothing has. */
enum hf_fault hf_trace_first_fault(const struct hf_trace *trace);

/* The call is over, as it is answered. The trace is kept, and is the exchange's no more. */
void hf_trace_end(struct hf_exchange *exchange, const struct hf_outcome *outcome);

/* The exchange goes, perhaps without an end: its trace is kept all the same. */
void hf_trace_left(struct hf_exchange *exchange);

/* "a, b": the providers that attempts were made at, in the order of the targets. Appends; returns 0 or the buffer's
 * error. */
int hf_trace_providers(const struct hf_trace *trace, struct hf_buf *out);

/* Writes the array of steps: {"at": ms since the start, "what", "why": a sentence, and what else is known: "attempt"
 * (from 1), "provider", "fault", "executed" (of that attempt), "httpStatus", "jsonrpcCode", "breaker", "toolBreaker",
 * "ms"}. NULL: an empty one. */
void hf_trace_write(const struct hf_trace *trace, struct hf_json_writer *w);

/* Appends a JSON object with all that is known of a call that is under way or has ended: {"call", "tool", "route",
 * "principal", "running", "startedMs", "elapsedMs", "end", "fault", "executed", "source", "attempts", "deadLetterId",
 * "steps", "dropped"}. Returns 0, HF_ERR_NOTFOUND, or the buffer's error. */
int hf_trace_explain(const struct hf_gateway *gateway, struct hf_str call, struct hf_buf *out);

#endif
