#include "policy/retry.h"

#include "base/error.h"
#include "policy/jitter.h"

#include <stdbool.h>

hf_time hf_retry_pause(const struct hf_retry_options *options, unsigned retry, hf_time retry_after, uint64_t random) {
  hf_time bound = options->base;
  for (unsigned i = 1; i < retry && bound < options->max; i++)
    bound = hf_time_add(bound, bound);
  bound = hf_time_min(bound, options->max);
  if (options->jitter == HF_RETRY_JITTER_NONE)
    return retry_after > bound ? retry_after : bound;
  hf_time pause = hf_jitter_scale(random, bound);
  if (retry_after < 0 || pause >= retry_after)
    return pause;
  /* Everybody was told the same instant; the first pause's bound parts them again. */
  return hf_time_add(retry_after, hf_jitter_scale(random, options->base));
}

/* Longer hints than this mean "not today" and need not be told apart. */
static const unsigned long long HINT_MAX_SECONDS = 366ULL * 24 * 3600;

/* A cursor over a date. The parsers below return false on what is not there, and then nothing else matters. */
struct cursor {
  struct hf_str rest;
};

static bool literal(struct cursor *c, struct hf_str text) {
  if (!hf_str_starts(c->rest, text))
    return false;
  c->rest.ptr += text.len;
  c->rest.len -= text.len;
  return true;
}

static bool digits(struct cursor *c, size_t count, int *ret) {
  unsigned long long value;
  if (c->rest.len < count || hf_str_to_u64((struct hf_str){c->rest.ptr, count}, 9999, &value) < 0)
    return false;
  c->rest.ptr += count;
  c->rest.len -= count;
  *ret = (int)value;
  return true;
}

/* asctime pads the day with a space. */
static bool padded_day(struct cursor *c, int *ret) {
  return literal(c, HF_STR(" ")) ? digits(c, 1, ret) : digits(c, 2, ret);
}

static bool month(struct cursor *c, int *ret) {
  static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
  for (int i = 0; i < 12; i++) {
    if (literal(c, (struct hf_str){names + (size_t)i * 3, 3})) {
      *ret = i + 1;
      return true;
    }
  }
  return false;
}

struct date {
  int year, month, day, hour, minute, second;
};

static bool clock_time(struct cursor *c, struct date *d) {
  return digits(c, 2, &d->hour) && literal(c, HF_STR(":")) && digits(c, 2, &d->minute) && literal(c, HF_STR(":")) &&
         digits(c, 2, &d->second);
}

/* Skips the day of the week, which says nothing new, up to and with `end`. */
static bool weekday(struct cursor *c, struct hf_str end) {
  while (c->rest.len &&
         ((*c->rest.ptr >= 'A' && *c->rest.ptr <= 'Z') || (*c->rest.ptr >= 'a' && *c->rest.ptr <= 'z'))) {
    c->rest.ptr++;
    c->rest.len--;
  }
  return literal(c, end);
}

/* Sun, 06 Nov 1994 08:49:37 GMT */
static bool imf_date(struct cursor c, struct date *d) {
  return weekday(&c, HF_STR(", ")) && digits(&c, 2, &d->day) && literal(&c, HF_STR(" ")) && month(&c, &d->month) &&
         literal(&c, HF_STR(" ")) && digits(&c, 4, &d->year) && literal(&c, HF_STR(" ")) && clock_time(&c, d) &&
         literal(&c, HF_STR(" GMT")) && c.rest.len == 0;
}

/* Sunday, 06-Nov-94 08:49:37 GMT: a year that looks more than 50 years ahead is a past one; 1970 to 2069 does. */
static bool rfc850_date(struct cursor c, struct date *d) {
  if (!(weekday(&c, HF_STR(", ")) && digits(&c, 2, &d->day) && literal(&c, HF_STR("-")) && month(&c, &d->month) &&
        literal(&c, HF_STR("-")) && digits(&c, 2, &d->year) && literal(&c, HF_STR(" ")) && clock_time(&c, d) &&
        literal(&c, HF_STR(" GMT")) && c.rest.len == 0))
    return false;
  d->year += d->year < 70 ? 2000 : 1900;
  return true;
}

/* Sun Nov  6 08:49:37 1994 */
static bool asctime_date(struct cursor c, struct date *d) {
  return weekday(&c, HF_STR(" ")) && month(&c, &d->month) && literal(&c, HF_STR(" ")) && padded_day(&c, &d->day) &&
         literal(&c, HF_STR(" ")) && clock_time(&c, d) && literal(&c, HF_STR(" ")) && digits(&c, 4, &d->year) &&
         c.rest.len == 0;
}

static bool in_range(const struct date *d) {
  return d->year >= 1601 && d->day >= 1 && d->day <= 31 && d->hour <= 23 && d->minute <= 59 && d->second <= 60;
}

/* Days since 1970-01-01 in the proleptic Gregorian calendar (Hinnant, days_from_civil), for years after 1600. */
static int64_t days(const struct date *d) {
  int64_t year = d->year - (d->month <= 2);
  int64_t era = year / 400;
  int64_t year_of_era = year - era * 400;
  int64_t day_of_year = (153 * (d->month + (d->month > 2 ? -3 : 9)) + 2) / 5 + d->day - 1;
  int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146097 + day_of_era - 719468;
}

int hf_retry_after_parse(struct hf_str value, int64_t wall_ms, hf_time *ret_pause) {
  value = hf_str_trim(value);
  unsigned long long seconds;
  int r = hf_str_to_u64(value, HINT_MAX_SECONDS, &seconds);
  if (r == 0 || r == HF_ERR_LIMIT) {
    *ret_pause = HF_SECONDS(r == 0 ? seconds : HINT_MAX_SECONDS);
    return 0;
  }
  struct cursor c = {value};
  struct date d;
  if (!(imf_date(c, &d) || rfc850_date(c, &d) || asctime_date(c, &d)) || !in_range(&d))
    return HF_ERR_SYNTAX;
  int64_t at_ms = (((days(&d) * 24 + d.hour) * 60 + d.minute) * 60 + d.second) * 1000;
  int64_t pause_ms = at_ms > wall_ms ? at_ms - wall_ms : 0;
  *ret_pause = HF_MS(hf_time_min(pause_ms, (int64_t)HINT_MAX_SECONDS * 1000));
  return 0;
}
