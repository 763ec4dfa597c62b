#include "policy/limiter.h"

#include "policy/root.h"

/* Thousandths, of the limit and of ratios. */
enum { ONE = 1000 };

/* A limiter that knows nothing starts here: enough for most, and little enough to learn from. */
enum { FIRST_LIMIT = 16 };

/* A window has at least so many ends of calls, or half as many as the limit if that is more, up to a bound. */
enum { WINDOW_LEAST = 8, WINDOW_MOST = 64 };

/* The most that one window takes from the limit. */
enum { GRADIENT_LEAST = ONE / 2 };

/* How much of a latency what is usual follows. */
enum { USUAL_SHARE = 8 };

/* A look is made at this share of the limit, so that it sees an idle server also when the limit was too high by half;
 * at most so often, and so that no more than this share of the time goes into looking. */
enum { LOOK_SHARE = 4, LOOKING_SHARE = 16 };
static const hf_time LOOKS_EVERY = HF_SECONDS(30);

/* Longer latencies are as bad; and the sums stay in range. */
static const hf_time LONGEST = HF_SECONDS(24 * 3600);

static int64_t clamp(const struct hf_limiter *limiter, int64_t limit) {
  int64_t most = (int64_t)limiter->options.max * ONE;
  return limit > most ? most : limit < ONE ? ONE : limit;
}

void hf_limiter_init(struct hf_limiter *limiter, const struct hf_limiter_options *options) {
  *limiter = (struct hf_limiter){.options = *options};
  limiter->limit = clamp(limiter, FIRST_LIMIT * ONE);
  limiter->checked_at = -LOOKS_EVERY; /* never */
}

void hf_limiter_configure(struct hf_limiter *limiter, const struct hf_limiter_options *options) {
  limiter->options = *options;
  limiter->limit = clamp(limiter, limiter->limit);
}

unsigned hf_limiter_limit(const struct hf_limiter *limiter) {
  return (unsigned)(limiter->limit / ONE);
}

static void open_window(struct hf_limiter *limiter, hf_time now) {
  limiter->since = now;
  limiter->answers = limiter->failures = limiter->most_in_flight = 0;
  limiter->stretch = 0;
}

static bool window_is_full(const struct hf_limiter *limiter) {
  unsigned wanted = hf_limiter_limit(limiter) / 2;
  wanted = wanted < WINDOW_LEAST ? WINDOW_LEAST : wanted > WINDOW_MOST ? WINDOW_MOST : wanted;
  return limiter->answers + limiter->failures >= wanted;
}

/* Whether there has been little to do in this window. */
static bool is_calm(const struct hf_limiter *limiter) {
  return limiter->before > 0 || limiter->most_in_flight * 2 <= hf_limiter_limit(limiter);
}

/* What a crowded server does is never usual. */
static int64_t stretch(const struct hf_limiter *limiter, hf_time latency, hf_time *usual) {
  latency = hf_time_max(1, hf_time_min(latency, LONGEST));
  if (*usual == 0)
    *usual = latency;
  else if (is_calm(limiter))
    *usual += (latency - *usual) / USUAL_SHARE;
  return latency * ONE / *usual;
}

static int64_t gradient(const struct hf_limiter *limiter) {
  int64_t ratio = ONE;
  if (limiter->stretch > 0)
    ratio = hf_time_min(ONE, (int64_t)limiter->options.tolerance_percent * ONE / 100 * ONE * limiter->answers /
                                 limiter->stretch);
  int64_t ends = limiter->answers + limiter->failures;
  ratio -= ratio * limiter->failures / (2 * ends);
  return hf_time_max(ratio, GRADIENT_LEAST);
}

/* Half way to where the gradient points, and by half the limit's root further, to find room where there is some. */
static void move(struct hf_limiter *limiter, int64_t ratio) {
  int64_t room = (int64_t)hf_root((uint64_t)limiter->limit * ONE) / 2;
  int64_t aim = limiter->limit * ratio / ONE + room;
  limiter->limit = clamp(limiter, (limiter->limit + aim) / 2);
}

static void begin_look(struct hf_limiter *limiter) {
  limiter->before = limiter->limit;
  limiter->limit = clamp(limiter, limiter->limit / LOOK_SHARE);
}

static void end_look(struct hf_limiter *limiter, hf_time now) {
  limiter->look_took = now - limiter->since;
  limiter->limit = clamp(limiter, limiter->before);
  limiter->before = 0;
}

static bool look_is_due(const struct hf_limiter *limiter, hf_time now) {
  return now - limiter->checked_at >= hf_time_max(LOOKS_EVERY, limiter->look_took * LOOKING_SHARE);
}

static void close_window(struct hf_limiter *limiter, hf_time now) {
  if (limiter->before > 0) {
    end_look(limiter, now);
    limiter->checked_at = now;
  } else if (is_calm(limiter)) {
    limiter->checked_at = now;
  } else {
    move(limiter, gradient(limiter));
    if (look_is_due(limiter, now))
      begin_look(limiter);
  }
  open_window(limiter, now);
}

void hf_limiter_record_kind(struct hf_limiter *limiter, const struct hf_limiter_sample *sample, hf_time *usual,
                            hf_time now) {
  if (sample->in_flight > limiter->most_in_flight)
    limiter->most_in_flight = sample->in_flight;
  if (sample->started < limiter->since)
    return;
  if (sample->failed) {
    limiter->failures++;
  } else {
    limiter->answers++;
    limiter->stretch += stretch(limiter, sample->latency, usual);
  }
  if (window_is_full(limiter))
    close_window(limiter, now);
}

void hf_limiter_record(struct hf_limiter *limiter, const struct hf_limiter_sample *sample, hf_time now) {
  hf_limiter_record_kind(limiter, sample, &limiter->usual, now);
}
