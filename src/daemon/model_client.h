/* The model of `correction.model`: requests under the policy kernel, as any other upstream's.
 *
 * It is one provider with its breaker, retry budget, queue and limit on requests in flight, and each question is a run
 * (holdfast/run.h). Beside that it has a budget of tokens an hour: what a question may cost at most is set aside before
 * it is asked, and what it did cost is what is taken. Transfers are on threads of libuv's pool. The key is in the
 * headers of the request; logs tell status and fault only. */
#ifndef HF_DAEMON_MODEL_CLIENT_H
#define HF_DAEMON_MODEL_CLIENT_H

#include "base/error.h"
#include "gateway/loop.h"
#include "gateway/model.h"
#include "gateway/settings.h"

#include <uv.h>

enum {
  HF_MODEL_CONCURRENT = 2, /* of the pool's four threads, which others need as well */
  HF_MODEL_WAITING_MAX = 64,
  HF_MODEL_ATTEMPTS = 3,
};

struct hf_model_client;

/* Borrows loops; copies the settings, whose URL is there. Returns 0 and owned, HF_ERR_NOMEM, or HF_ERR_IO if libcurl
 * cannot be used. */
int hf_model_client_new(uv_loop_t *uv, struct hf_loop *loop, const struct hf_model_settings *settings,
                        struct hf_model_client **ret_client);

/* Borrowed. */
struct hf_model *hf_model_client_seam(struct hf_model_client *client);

/* Takes other settings; what is under way goes on with the old ones. What was learnt of the server and taken of the
 * budget stays. Returns 0 or HF_ERR_NOMEM, and then the old ones stay. */
int hf_model_client_reload(struct hf_model_client *client, const struct hf_model_settings *settings);

/* Gives up what is under way: nobody who waits is told. NULL is fine. */
void hf_model_client_free(struct hf_model_client *client);

#endif
