#include "base/date.h"

#include <stdio.h>
#include <time.h>

enum { FIRST_YEAR = 1900, LAST_YEAR = 9999 }; /* as `struct tm` counts; with four digits */

struct hf_str hf_date_write(int64_t wall_ms, char text[HF_DATE_MAX]) {
  const time_t seconds = (time_t)(wall_ms / 1000);
  struct tm tm;
  if (wall_ms >= 0 && gmtime_r(&seconds, &tm) && tm.tm_year <= LAST_YEAR - FIRST_YEAR) {
    const size_t used = strftime(text, HF_DATE_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
    const int n = used ? snprintf(text + used, HF_DATE_MAX - used, ".%03dZ", (int)(wall_ms % 1000)) : 0;
    if (n > 0 && (size_t)n < HF_DATE_MAX - used)
      return (struct hf_str){text, used + (size_t)n};
  }
  return HF_STR("1970-01-01T00:00:00.000Z");
}
