/* What is said of a call once it is over: the marker in the answer, the text for the model, one log line, the metrics.
 * One place, after the answer is known, so that they cannot disagree. */
#ifndef HF_GATEWAY_OUTCOME_H
#define HF_GATEWAY_OUTCOME_H

#include "gateway/exchange.h"

enum { HF_OUTCOME_MARKER_MAX = 128 << 10 }; /* repairs are most of it, if there are many */

/* Appends the marker `_meta["dev.holdfast/outcome"]` of a call. Returns 0 or the buffer's error. */
int hf_outcome_marker(const struct hf_exchange *exchange, const struct hf_outcome *outcome, struct hf_buf *out);

/* Logs and counts the call. `outcome` as it was answered. */
void hf_outcome_record(struct hf_exchange *exchange, const struct hf_outcome *outcome);

/* Answers the call with a failure of the gateway's making: for tools/call a result with isError, else a JSON-RPC error.
 * Ends the exchange. */
void hf_outcome_answer_failure(struct hf_exchange *exchange, const struct hf_outcome *outcome);

/* Answers with `exchange->substitute`, the raw result of an answer that is not live, marked as what it is. Ends the
 * exchange. */
void hf_outcome_answer_substitute(struct hf_exchange *exchange, const struct hf_outcome *outcome);

/* Answers a call whose own answer was lost, and which a status check says has run: with what the check said. Ends the
 * exchange. */
void hf_outcome_answer_checked(struct hf_exchange *exchange, const struct hf_outcome *outcome);

/* Answers a request that never became a call (unknown tool, limit): `executed` is no. Ends the exchange. */
void hf_outcome_answer_refusal(struct hf_exchange *exchange, enum hf_fault fault, int rpc_code, struct hf_str text);

/* "c-9f86d0811a2b": the call id in log, marker and status. Each gateway counts from where chance begins. */
enum { HF_CALL_ID_MAX = 32 };
struct hf_str hf_outcome_call_id(const struct hf_exchange *exchange, char text[HF_CALL_ID_MAX]);
struct hf_str hf_outcome_id_of(uint64_t number, char text[HF_CALL_ID_MAX]); /* with a NUL behind it */

#endif
