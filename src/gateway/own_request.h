/* Requests that the gateway makes of a server on its own account: pages of lists, probes, subscriptions. */
#ifndef HF_GATEWAY_OWN_REQUEST_H
#define HF_GATEWAY_OWN_REQUEST_H

#include "gateway/instance.h"

struct hf_own_request {
  enum hf_method method;
  const char *key;        /* a member of its params besides `_meta`; NULL: there is none */
  struct hf_str raw;      /* its value */
  const char *second_key; /* likewise */
  struct hf_str second_raw;
  bool new_session; /* the last one was lost */
  hf_time patience; /* how long connecting may take */
  const struct hf_attempt_events *events;
  void *ctx;
};

/* Composes it as the server's era wants it, and sends it to the server, which is READY. Returns what
 * hf_upstream_ops.request does. */
int hf_own_request_send(struct hf_instance *instance, const struct hf_own_request *request,
                        struct hf_attempt_ref **ret_ref);

/* Events of a request whose end alone matters. */
void hf_own_request_sent(void *ctx, size_t bytes, bool complete);
void hf_own_request_life(void *ctx);
void hf_own_request_message(void *ctx, const struct hf_message *message);

#endif
