/* Status checks: whether an unsafe tool ran whose answer was lost, by asking a read-only one (`reconcile:`). */
#ifndef HF_GATEWAY_STAGE_CHECK_H
#define HF_GATEWAY_STAGE_CHECK_H

#include "gateway/exchange.h"

/* Asks for a call that waits in HF_CALL_CHECK. The verdict is posted as HF_CALL_CHECKED, never from inside. */
void hf_check_start(struct hf_exchange *exchange, struct hf_target_tool *target, hf_time by);

/* Its answer is not wanted any more. Harmless if none is under way. */
void hf_check_abort(struct hf_exchange *exchange);

struct hf_check_call;
typedef void hf_check_fn(void *ctx, enum hf_check verdict);

/* Asks about a call that is not under way: did the tool `target` run with these arguments (raw)? `done` is called once,
 * later, unless it is ended before. Returns 0; HF_ERR_UNSUPPORTED if the tool has no status check; HF_ERR_NOTFOUND if
 * the status tool's server is not there; HF_ERR_NOMEM. */
int hf_check_ask(struct hf_gateway *gateway, struct hf_client *client, const struct hf_tool_settings *tool,
                 struct hf_str arguments, hf_time patience, hf_check_fn *done, void *ctx,
                 struct hf_check_call **ret_check);

/* Ends it; its answer is not wanted. Accepts NULL. */
void hf_check_end(struct hf_check_call *check);

#endif
