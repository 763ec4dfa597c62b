#include "cli/when.h"

#include "base/error.h"
#include "daemon/quantity.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#define HALF_A_YEAR_MS (INT64_C(180) * 24 * 3600 * 1000)

static int parse_date(struct hf_str text, int64_t *ret_ms) {
  static const char *const formats[] = {"%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S",
                                        "%Y-%m-%d %H:%M:%S"};
  char copy[HF_WHEN_TEXT_MAX];
  if (text.len == 0 || text.len >= sizeof copy)
    return HF_ERR_SYNTAX;
  const bool utc = text.ptr[text.len - 1] == 'Z';
  memcpy(copy, text.ptr, text.len - utc);
  copy[text.len - utc] = '\0';
  for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
    struct tm tm = {.tm_isdst = -1};
    const char *end = strptime(copy, formats[i], &tm);
    if (!end || *end)
      continue;
    const int month = tm.tm_mon;
    const time_t seconds = utc ? timegm(&tm) : mktime(&tm);
    if (seconds < 0 || tm.tm_mon != month) /* 30 February became March */
      return HF_ERR_SYNTAX;
    *ret_ms = (int64_t)seconds * 1000;
    return 0;
  }
  return HF_ERR_SYNTAX;
}

int hf_when_parse(struct hf_str text, int64_t now_ms, int64_t *ret_ms) {
  hf_time ago;
  if (hf_duration_parse(text, &ago) < 0 || ago == HF_TIME_NEVER)
    return parse_date(text, ret_ms);
  *ret_ms = now_ms > ago / HF_MS(1) ? now_ms - ago / HF_MS(1) : 0;
  return 0;
}

/* False for a time that no calendar has. */
static bool to_local(int64_t ms, struct tm *tm) {
  const time_t seconds = (time_t)(ms / 1000);
  return localtime_r(&seconds, tm) != NULL;
}

static const char *checked(size_t len, char text[HF_WHEN_TEXT_MAX]) {
  return len ? text : "?";
}

const char *hf_when_print(int64_t ms, char text[HF_WHEN_TEXT_MAX]) {
  struct tm tm;
  return checked(to_local(ms, &tm) ? strftime(text, HF_WHEN_TEXT_MAX, "%Y-%m-%d %H:%M:%S", &tm) : 0, text);
}

const char *hf_when_print_short(int64_t ms, int64_t now_ms, char text[HF_WHEN_TEXT_MAX]) {
  struct tm tm;
  if (!to_local(ms, &tm))
    return checked(0, text);
  if (now_ms - ms > HALF_A_YEAR_MS || ms - now_ms > HALF_A_YEAR_MS)
    return checked(strftime(text, HF_WHEN_TEXT_MAX, "%Y-%m-%d", &tm), text);
  return checked(strftime(text, HF_WHEN_TEXT_MAX, "%m-%d %H:%M", &tm), text);
}

const char *hf_when_print_span(int64_t ms, char text[HF_WHEN_TEXT_MAX]) {
  static const struct {
    int64_t seconds;
    const char *name;
    int64_t until; /* smaller numbers of it are told in a smaller unit */
  } units[] = {{86400, "days", 2}, {3600, "h", 2}, {60, "min", 2}, {1, "s", INT64_MIN}};
  const int64_t seconds = ms / 1000;
  size_t i = 0;
  while (seconds / units[i].seconds < units[i].until)
    i++;
  int n = snprintf(text, HF_WHEN_TEXT_MAX, "%" PRId64 " %s", seconds / units[i].seconds, units[i].name);
  return checked(n > 0 ? (size_t)n : 0, text);
}
