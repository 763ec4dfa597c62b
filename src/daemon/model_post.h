/* One POST to a model on a thread of libuv's pool: what was sent, what came back, and what that proves.
 *
 * Redirects are not followed, for the key would go along. Nothing of the answer but its status is ever logged: servers
 * quote the key in their complaints. */
#ifndef HF_DAEMON_MODEL_POST_H
#define HF_DAEMON_MODEL_POST_H

#include "base/buf.h"
#include "gateway/loop.h"
#include "policy/classify.h"

#include <uv.h>

struct hf_model_post;

struct hf_model_reply {
  bool sent;                   /* a byte of the request was handed over */
  struct hf_evidence evidence; /* HF_EVIDENCE_NONE: 200, and `body` is the answer */
  int status;                  /* 0: none came */
  struct hf_str body;          /* borrowed until the function returns */
};

typedef void hf_model_post_fn(void *ctx, const struct hf_model_reply *reply);

struct hf_model_post_options {
  uv_loop_t *uv;
  struct hf_loop *loop;
  const struct hf_buf *url;     /* with a NUL behind it; copied */
  const struct hf_buf *headers; /* lines with a NUL behind each; copied */
  struct hf_str body;           /* copied */
  hf_time connect_by;
  hf_time answer_by;
  hf_model_post_fn *done; /* later, once, from the loop; not after a cancel */
  void *ctx;
};

/* Returns 0 and the post, which is gone once `done` was called; or HF_ERR_NOMEM. */
int hf_model_post_start(const struct hf_model_post_options *options, struct hf_model_post **ret_post);

/* Its answer is not wanted any more. The thread ends soon, and its memory goes once the loop has run. NULL is fine. */
void hf_model_post_cancel(struct hf_model_post *post);

#endif
