/* The seam between the gateway and a language model of its own (`correction.model`): one question, one answer.
 *
 * Whoever fills it keeps the model's timeout, repeats, breaker and budget of tokens to itself, and never blocks. The
 * daemon does so with an HTTP client; tests fake it. A gateway without a model has NULL. */
#ifndef HF_GATEWAY_MODEL_H
#define HF_GATEWAY_MODEL_H

#include "base/str.h"
#include "base/time.h"

struct hf_model;
struct hf_model_wait;

/* The answer, once, and never from within `ask`. `error` 0: `text` is what the model said (borrowed, UTF-8, bounded).
 * Else HF_ERR_UNAVAILABLE (it failed, is down, or out of tokens) or HF_ERR_NOMEM. */
typedef void hf_model_fn(struct hf_model_wait *wait, int error, struct hf_str text);

/* One question that waits for its answer: in the memory of who asks. */
struct hf_model_wait {
  hf_model_fn *done;
  void *asked; /* the model's own; NULL: nothing is under way */
};

struct hf_model_ops {
  /* Asks: instructions and message, copied. Answered by `deadline` at the latest. Returns 0; HF_ERR_UNAVAILABLE if it
   * is known beforehand that there will be no answer; HF_ERR_LIMIT if too many wait; HF_ERR_NOMEM. */
  int (*ask)(struct hf_model *model, struct hf_str instructions, struct hf_str message, hf_time deadline,
             struct hf_model_wait *wait);

  /* The answer is not wanted any more: `done` will not be called. Harmless if nothing is under way. */
  void (*forget)(struct hf_model *model, struct hf_model_wait *wait);
};

struct hf_model {
  const struct hf_model_ops *ops;
};

#endif
