/* POSTs of JSON to one URL, one after the other, signed and repeated until somebody takes them.
 *
 * The transfer is on a thread of libuv's pool, so nothing here blocks. A receiver checks `X-Holdfast-Signature:
 * sha256=…`, the HMAC-SHA-256 of the value of `X-Holdfast-Timestamp` (seconds since 1970), a full stop and the body. */
#ifndef HF_DAEMON_WEBHOOK_H
#define HF_DAEMON_WEBHOOK_H

#include "base/error.h"
#include "gateway/loop.h"

#include <uv.h>

struct hf_webhook;

struct hf_webhook_options {
  uv_loop_t *uv;        /* borrowed */
  struct hf_loop *loop; /* borrowed */
  struct hf_str url;    /* copied */
  struct hf_str secret; /* copied; absent: unsigned */
  hf_time backoff;      /* before the second try, and twice as long before the third; 0: a second */
  uint32_t timeout_ms;  /* of one try; 0: 10 s */
};

enum { HF_WEBHOOK_TRIES = 3, HF_WEBHOOK_WAITING_MAX = 16 };

/* Returns 0 and owned, HF_ERR_NOMEM, or HF_ERR_IO if libcurl cannot be used. */
int hf_webhook_new(const struct hf_webhook_options *options, struct hf_webhook **ret_webhook);

/* Sends a copy of `body`. What cannot be delivered is told in the log. Returns 0, HF_ERR_LIMIT when too many wait, or
 * HF_ERR_NOMEM. */
int hf_webhook_send(struct hf_webhook *webhook, struct hf_str body);

/* Gives up what is under way; its memory goes once the loop has run. NULL is fine. */
void hf_webhook_free(struct hf_webhook *webhook);

#endif
