#include "policy/outage.h"

#include "policy/root.h"

/* Fixed point, so that the same outages give the same waits everywhere. */
enum { ONE = 1 << 30 };

/* A step of the integral: fine near now, coarser further off. */
enum { STEPS_IN_LEAST = 8, STEPS_FURTHER_OFF = 32 };
static const hf_time LONGEST_STEP = HF_SECONDS(3600);

struct hf_outage *hf_outage_log_push(struct hf_outage_log *log, hf_time now) {
  log->newest = (log->newest + 1) % HF_OUTAGES_MAX;
  if (log->len < HF_OUTAGES_MAX)
    log->len++;
  struct hf_outage *outage = &log->items[log->newest];
  *outage = (struct hf_outage){.began = now, .ended = HF_TIME_NEVER};
  return outage;
}

const struct hf_outage *hf_outage_log_at(const struct hf_outage_log *log, unsigned index) {
  return &log->items[(log->newest + HF_OUTAGES_MAX - index) % HF_OUTAGES_MAX];
}

/* Outages of one kind differ by about this share. */
enum { SPREAD_SHARE = 10 };

/* A probe that fails costs this share of the shortest open time. */
enum { PRICE_SHARE = 4 };

/* Of the outages that are known, how many end within a step, and how many are still going on: in ONEs. */
struct odds {
  int64_t ending;
  int64_t going_on;
};

/* a * b / c, of numbers that are not negative, c positive; the result is in range. */
static int64_t part(int64_t a, int64_t b, int64_t c) {
  return (int64_t)((unsigned __int128)a * (uint64_t)b / (uint64_t)c);
}

static void add_known(struct odds *odds, const struct hf_outage *outage, hf_time at, hf_time step) {
  hf_time from = outage->at_least - outage->at_least / SPREAD_SHARE;
  hf_time to = outage->at_most + outage->at_most / SPREAD_SHARE;
  if (at < from) {
    odds->going_on += ONE;
  } else if (at < to) {
    odds->going_on += part(to - at, ONE, to - from);
    odds->ending += part(hf_time_min(step, to - at), ONE, to - from);
  }
}

static void add_unknown(struct odds *odds, hf_time least, hf_time at, hf_time step) {
  int64_t going_on = part(least, ONE, hf_time_add(least, at));
  odds->going_on += going_on;
  odds->ending += part(going_on, step, hf_time_add(least, at));
}

/* What a step at `at` adds to the integral, in ONEs. */
static int64_t density(const struct hf_outage_log *log, hf_time least, hf_time at, hf_time step) {
  struct odds odds = {.going_on = 1};
  add_unknown(&odds, least, at, step);
  for (unsigned i = 0; i < log->len; i++) {
    const struct hf_outage *outage = hf_outage_log_at(log, i);
    if (outage->ended != HF_TIME_NEVER)
      add_known(&odds, outage, at, step);
  }
  int64_t rate = part(odds.ending, ONE, odds.going_on);
  int64_t square = hf_time_min(part(rate, step, least) * PRICE_SHARE / 2, ONE);
  return (int64_t)hf_root((uint64_t)square * ONE);
}

hf_time hf_outage_wait(const struct hf_outage_log *log, hf_time elapsed, hf_time least, hf_time most) {
  least = hf_time_max(1, least);
  int64_t sum = 0;
  hf_time wait = 0;
  while (sum < ONE && wait < most) {
    hf_time step = hf_time_min(least / STEPS_IN_LEAST + wait / STEPS_FURTHER_OFF + 1, LONGEST_STEP);
    sum += density(log, least, elapsed + wait + step / 2, step);
    wait += step;
  }
  return hf_time_max(hf_time_min(wait, most), least);
}
