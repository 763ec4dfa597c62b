#include "policy/breaker.h"

#include "policy/jitter.h"

#include <assert.h>

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

static struct hf_outage *current(struct hf_breaker *breaker) {
  return &breaker->outages.items[breaker->outages.newest];
}

/* Enough to part gateways that tripped together, and little enough not to miss the likely end of an outage. */
static hf_time jitter(const struct hf_breaker *breaker, hf_time pause, uint64_t random) {
  return hf_jitter_scale(random, hf_time_min(pause / JITTER_SHARE, breaker->options.open));
}

static void open_again(struct hf_breaker *breaker, hf_time at_least, hf_time now, uint64_t random) {
  const struct hf_breaker_options *o = &breaker->options;
  struct hf_outage *outage = current(breaker);
  hf_time most = o->max_open;
  outage->at_least = now - outage->began;
  hf_time pause = hf_outage_wait(&breaker->outages, outage->at_least, o->open, most);
  hf_time spread = pause + jitter(breaker, pause, random);
  if (spread > most)
    spread = hf_time_max(o->open, most - jitter(breaker, most, random));
  enter(breaker, HF_BREAKER_OPEN);
  breaker->due = hf_time_add(now, hf_time_max(spread, hf_time_min(at_least, most)));
  breaker->open_until = breaker->due;
}

static void trip(struct hf_breaker *breaker, hf_time at_least, hf_time now, uint64_t random) {
  hf_outage_log_push(&breaker->outages, now);
  open_again(breaker, at_least, now, random);
}

static void stay_open(struct hf_breaker *breaker, hf_time at_least, hf_time now, uint64_t random) {
  current(breaker)->probes++;
  open_again(breaker, at_least, now, random);
}

/* An outage that nobody looked at when it was time is taken to have ended by then: it teaches nothing that it was only
 * noticed hours later. */
static void close_again(struct hf_breaker *breaker, hf_time now) {
  struct hf_outage *outage = current(breaker);
  outage->ended = now;
  outage->at_most = hf_time_max(outage->at_least, breaker->due - outage->began);
  outage->end = now - breaker->due <= breaker->options.max_open ? HF_OUTAGE_PROBED : HF_OUTAGE_UNNOTICED;
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
    close_again(breaker, now);
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

unsigned hf_breaker_outages(const struct hf_breaker *breaker, struct hf_outage ret_outages[HF_OUTAGES_MAX]) {
  for (unsigned i = 0; i < breaker->outages.len; i++)
    ret_outages[i] = *hf_outage_log_at(&breaker->outages, i);
  return breaker->outages.len;
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

void hf_breaker_view(const struct hf_breaker *breaker, struct hf_breaker_view *ret_view) {
  *ret_view = (struct hf_breaker_view){
      .state = breaker->state,
      .generation = breaker->generation,
      .consecutive = breaker->consecutive,
      .until = breaker->open_until,
  };
}
