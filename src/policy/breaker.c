#include "policy/breaker.h"

#include "policy/jitter.h"

#include <assert.h>

/* The jitter is a fifth of the open time: enough to part gateways that tripped together. */
enum { JITTER_SHARE = 5 };

void hf_breaker_init(struct hf_breaker *breaker, const struct hf_breaker_options *options) {
  *breaker = (struct hf_breaker){.options = *options, .state = HF_BREAKER_CLOSED, .generation = 1};
  hf_window_init(&breaker->window, options->window);
}

void hf_breaker_configure(struct hf_breaker *breaker, const struct hf_breaker_options *options) {
  if (options->window != breaker->options.window)
    hf_window_init(&breaker->window, options->window);
  breaker->options = *options;
}

static void enter(struct hf_breaker *breaker, enum hf_breaker_state state) {
  breaker->state = state;
  breaker->generation++;
}

enum hf_breaker_gate hf_breaker_gate(const struct hf_breaker *breaker, hf_time now) {
  switch (breaker->state) {
  case HF_BREAKER_CLOSED:
    return HF_BREAKER_PASS;
  case HF_BREAKER_OPEN:
  case HF_BREAKER_HALF_OPEN:
    /* A lease that has run out makes a probe due just as an open time does. */
    return now >= breaker->open_until ? HF_BREAKER_PROBE : HF_BREAKER_STOP;
  }
  return HF_BREAKER_STOP;
}

void hf_breaker_lease(struct hf_breaker *breaker, hf_time lease_end) {
  assert(breaker->state != HF_BREAKER_CLOSED);
  enter(breaker, HF_BREAKER_HALF_OPEN);
  breaker->open_until = lease_end;
}

/* A probe that came to nothing proves nothing: open, and the next one is due at once, or when the server said (429). */
static void give_back(struct hf_breaker *breaker, hf_time at_least, hf_time now) {
  enter(breaker, HF_BREAKER_OPEN);
  breaker->open_until = hf_time_add(now, hf_time_min(at_least, breaker->options.max_open));
}

bool hf_breaker_expire(struct hf_breaker *breaker, hf_time now) {
  if (breaker->state != HF_BREAKER_HALF_OPEN || now < breaker->open_until)
    return false;
  give_back(breaker, 0, now);
  return true;
}

static hf_time clamp(const struct hf_breaker *breaker, hf_time open_time) {
  return hf_time_min(hf_time_max(open_time, breaker->options.open), breaker->options.max_open);
}

static void open_for(struct hf_breaker *breaker, hf_time at_least, hf_time now, uint64_t random) {
  hf_time most = breaker->options.max_open;
  hf_time pause = breaker->open_time + hf_jitter_scale(random, breaker->open_time / JITTER_SHARE);
  if (pause > most)
    pause = hf_time_max(breaker->options.open, most - hf_jitter_scale(random, most / JITTER_SHARE));
  pause = hf_time_max(pause, hf_time_min(at_least, most));
  enter(breaker, HF_BREAKER_OPEN);
  breaker->open_until = hf_time_add(now, pause);
  breaker->last_failure = now;
}

static void trip(struct hf_breaker *breaker, hf_time at_least, hf_time now, uint64_t random) {
  breaker->tripped_at = now;
  breaker->open_time = clamp(breaker, breaker->outage);
  open_for(breaker, at_least, now, random);
}

static void stay_open(struct hf_breaker *breaker, hf_time at_least, hf_time now, uint64_t random) {
  breaker->open_time = clamp(breaker, hf_time_add(breaker->open_time, breaker->open_time));
  open_for(breaker, at_least, now, random);
}

/* What the outage took is counted to its last failure, not to its first success: nobody may have asked for hours. */
static void close_again(struct hf_breaker *breaker) {
  hf_time took = breaker->last_failure - breaker->tripped_at;
  breaker->outage = breaker->outage / 2 + took / 2;
  enter(breaker, HF_BREAKER_CLOSED);
  breaker->consecutive = 0;
  hf_window_reset(&breaker->window);
}

static bool must_trip(struct hf_breaker *breaker, hf_time now) {
  const struct hf_breaker_options *o = &breaker->options;
  if (o->failures && breaker->consecutive >= o->failures)
    return true;
  struct hf_window_counts counts = hf_window_counts(&breaker->window, now);
  return counts.calls >= o->min_calls && (uint64_t)counts.failures * 100 >= (uint64_t)o->rate_percent * counts.calls;
}

static bool record_closed(struct hf_breaker *breaker, enum hf_verdict verdict, hf_time at_least, hf_time now,
                          uint64_t random) {
  switch (verdict) {
  case HF_VERDICT_SUCCESS:
    breaker->consecutive = 0;
    hf_window_add(&breaker->window, now, 0);
    return false;
  case HF_VERDICT_FAILURE:
    breaker->consecutive++;
    hf_window_add(&breaker->window, now, 1);
    if (!must_trip(breaker, now))
      return false;
    trip(breaker, at_least, now, random);
    return true;
  case HF_VERDICT_NEUTRAL:
    return false;
  }
  return false;
}

static void record_probe(struct hf_breaker *breaker, enum hf_verdict verdict, hf_time at_least, hf_time now,
                         uint64_t random) {
  switch (verdict) {
  case HF_VERDICT_SUCCESS:
    close_again(breaker);
    break;
  case HF_VERDICT_FAILURE:
    stay_open(breaker, at_least, now, random);
    break;
  case HF_VERDICT_NEUTRAL:
    give_back(breaker, at_least, now);
    break;
  }
}

bool hf_breaker_record(struct hf_breaker *breaker, uint32_t generation, enum hf_verdict verdict, hf_time at_least,
                       hf_time now, uint64_t random) {
  if (generation != breaker->generation)
    return false;
  switch (breaker->state) {
  case HF_BREAKER_CLOSED:
    return record_closed(breaker, verdict, at_least, now, random);
  case HF_BREAKER_HALF_OPEN:
    record_probe(breaker, verdict, at_least, now, random);
    return true;
  case HF_BREAKER_OPEN:
    return false; /* nothing is admitted in an open generation */
  }
  return false;
}

bool hf_breaker_reopen(struct hf_breaker *breaker, hf_time now, uint64_t random) {
  if (breaker->state == HF_BREAKER_CLOSED)
    return false;
  stay_open(breaker, 0, now, random);
  return true;
}

const char *hf_breaker_state_name(enum hf_breaker_state state) {
  switch (state) {
  case HF_BREAKER_CLOSED:
    return "closed";
  case HF_BREAKER_OPEN:
    return "open";
  case HF_BREAKER_HALF_OPEN:
    return "half_open";
  }
  return "unknown";
}
