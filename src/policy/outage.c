#include "policy/outage.h"

#include "policy/root.h"

/* Fixed point, so that the same outages give the same waits everywhere. */
enum { ONE = 1 << 20 };

/* A step of the integral: fine near now, coarser further off. */
enum { STEPS_IN_LEAST = 8, STEPS_FURTHER_OFF = 32 };

/* Longer outages teach nothing more; and the products stay in range. */
static const hf_time LONGEST = HF_SECONDS(10 * 24 * 3600);

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

static void add_known(struct odds *odds, const struct hf_outage *outage, hf_time least, hf_time at, hf_time step) {
  hf_time from = hf_time_min(outage->at_least, LONGEST);
  hf_time to = hf_time_max(hf_time_min(outage->at_most, LONGEST), from + least);
  from -= from / SPREAD_SHARE;
  to += to / SPREAD_SHARE;
  if (at < from) {
    odds->going_on += ONE;
  } else if (at < to) {
    odds->going_on += (to - at) * ONE / (to - from);
    odds->ending += step * ONE / (to - from);
  }
}

static void add_unknown(struct odds *odds, hf_time least, hf_time at, hf_time step) {
  int64_t going_on = least * ONE / (least + at);
  odds->going_on += going_on;
  odds->ending += going_on * step / (least + at);
}

/* What a step at `at` adds to the integral, in ONEs. */
static int64_t density(const struct hf_outage_log *log, hf_time least, hf_time at, hf_time step) {
  struct odds odds = {.going_on = 1};
  add_unknown(&odds, least, at, step);
  for (unsigned i = 0; i < log->len; i++) {
    const struct hf_outage *outage = hf_outage_log_at(log, i);
    if (outage->ended != HF_TIME_NEVER)
      add_known(&odds, outage, least, at, step);
  }
  int64_t rate = hf_time_min(odds.ending, odds.going_on) * ONE / odds.going_on;
  int64_t square = hf_time_min(rate * step / least * PRICE_SHARE / 2, ONE);
  return (int64_t)hf_root((uint64_t)square * ONE);
}

hf_time hf_outage_wait(const struct hf_outage_log *log, hf_time elapsed, hf_time least, hf_time most) {
  least = hf_time_max(1, least);
  elapsed = hf_time_min(elapsed, LONGEST);
  if (elapsed == 0 && log->len <= 1)
    return least; /* the first one, which is in the log: nothing is known */
  int64_t sum = 0;
  hf_time wait = 0;
  while (sum < ONE && wait < most) {
    hf_time step = least / STEPS_IN_LEAST + wait / STEPS_FURTHER_OFF + 1;
    sum += density(log, least, elapsed + wait + step / 2, step);
    wait += step;
  }
  return hf_time_max(hf_time_min(wait, most), least);
}
