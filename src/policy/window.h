/* Counts of successes and failures over the last while, in buckets.
 *
 * Time may stand still or go back a little: that counts as now. After any idle time nothing older than the window is
 * left. */
#ifndef HF_POLICY_WINDOW_H
#define HF_POLICY_WINDOW_H

#include "base/time.h"

#include <stdint.h>

enum { HF_WINDOW_BUCKETS = 12 };

struct hf_window_counts {
  uint32_t calls;
  uint32_t failures;
};

struct hf_window {
  hf_time width; /* of a bucket */
  int64_t head;  /* the newest bucket's number on the time axis */
  struct hf_window_counts buckets[HF_WINDOW_BUCKETS];
};

/* `span` > 0 is the whole window. */
void hf_window_init(struct hf_window *window, hf_time span);

void hf_window_reset(struct hf_window *window);

/* Counts one call, failed or not. */
void hf_window_add(struct hf_window *window, hf_time now, uint32_t failures);

/* The sums of what lies in the window now. */
struct hf_window_counts hf_window_counts(struct hf_window *window, hf_time now);

#endif
