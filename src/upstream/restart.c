#include "upstream/restart.h"

void hf_restart_init(struct hf_restart *restart, const struct hf_restart_options *options) {
  *restart = (struct hf_restart){.options = *options};
}

void hf_restart_ready(struct hf_restart *restart, hf_time now) {
  restart->ready = true;
  restart->ready_at = now;
}

static hf_time pause_bound(const struct hf_restart_options *options, unsigned failures) {
  hf_time bound = options->base;
  for (unsigned i = 1; i < failures && bound < options->max; i++)
    bound = bound > options->max / 2 ? options->max : bound * 2;
  return hf_time_min(bound, options->max);
}

hf_time hf_restart_ended(struct hf_restart *restart, hf_time now, hf_time at_least, uint64_t random) {
  if (restart->ready && now - restart->ready_at >= restart->options.stable_after)
    restart->failures = 0;
  restart->ready = false;
  restart->failures++;
  if (restart->options.park_after && restart->failures >= restart->options.park_after)
    return HF_TIME_NEVER;

  /* Half of the pause is certain, so that a crash loop never spins; half is chance, so that servers that fell together
   * do not come back together. */
  hf_time half = pause_bound(&restart->options, restart->failures) / 2;
  hf_time pause = half + (hf_time)(((unsigned __int128)random * ((uint64_t)half + 1)) >> 64);
  return hf_time_max(pause, at_least);
}

void hf_restart_forget(struct hf_restart *restart) {
  restart->failures = 0;
  restart->ready = false;
}
