/* Calls on the heap, each with the pointer that its owner finds its own state by. */
#include "holdfast/call.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/list.h"
#include "policy/call.h"

struct owned_call {
  struct hf_call call;
  void *owner;
};

int hf_call_new(const struct hf_call_options *options, void *owner, struct hf_call **ret_call) {
  if (options->target_count == 0 || options->target_count > HF_CALL_TARGETS_MAX)
    return HF_ERR_INVALID;
  struct owned_call *owned = hf_malloc(sizeof *owned);
  if (!owned)
    return HF_ERR_NOMEM;
  hf_call_init(&owned->call, options);
  owned->owner = owner;
  *ret_call = &owned->call;
  return 0;
}

int hf_call_reset(struct hf_call *call, const struct hf_call_options *options) {
  if (options->target_count == 0 || options->target_count > HF_CALL_TARGETS_MAX)
    return HF_ERR_INVALID;
  if (call->state != HF_CALL_STATE_NEW && !hf_call_finished(call))
    return HF_ERR_BUSY;
  hf_call_init(call, options);
  return 0;
}

void hf_call_free(struct hf_call *call) {
  if (call)
    hf_free(HF_CONTAINER_OF(call, struct owned_call, call));
}

void *hf_call_owner(const struct hf_call *call) {
  return HF_CONTAINER_OF(call, const struct owned_call, call)->owner;
}

struct hf_waiter *hf_call_waiter(struct hf_call *call, struct hf_provider_tool *tool) {
  call->waiter.tool = tool;
  return &call->waiter;
}

struct hf_call *hf_call_of(struct hf_waiter *waiter) {
  return HF_CONTAINER_OF(waiter, struct hf_call, waiter);
}
