#include "cli/report_format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char dash[] = "–";

static const char *checked(int written, char text[HF_REPORT_NUMBER_MAX]) {
  if (written < 0 || written >= HF_REPORT_NUMBER_MAX)
    memcpy(text, dash, sizeof dash);
  return text;
}

const char *hf_report_count_text(uint64_t n, char text[HF_REPORT_NUMBER_MAX]) {
  char digits[HF_REPORT_NUMBER_MAX];
  const int len = snprintf(digits, sizeof digits, "%" PRIu64, n);
  char *to = text;
  for (int i = 0; i < len; i++) {
    if (i > 0 && (len - i) % 3 == 0)
      *to++ = ',';
    *to++ = digits[i];
  }
  *to = '\0';
  return text;
}

/* Cut, not rounded, where a rounded one would say that nothing is lost. */
const char *hf_report_rate_text(double rate, char text[HF_REPORT_NUMBER_MAX]) {
  if (rate < 0)
    return checked(-1, text);
  const double percent = rate * 100;
  if (rate <= 0 || rate >= 1)
    return checked(snprintf(text, HF_REPORT_NUMBER_MAX, "%.0f %%", percent), text);
  if (percent < 0.1)
    return checked(snprintf(text, HF_REPORT_NUMBER_MAX, "< 0.1 %%"), text);
  if (percent >= 99.9)
    return checked(snprintf(text, HF_REPORT_NUMBER_MAX, "%.2f %%", percent < 99.99 ? percent : 99.99), text);
  return checked(snprintf(text, HF_REPORT_NUMBER_MAX, "%.1f %%", percent), text);
}

const char *hf_report_ms_text(int64_t ms, char text[HF_REPORT_NUMBER_MAX]) {
  const double seconds = (double)ms / 1000;
  if (ms < 0)
    return checked(-1, text);
  if (ms == INT64_MAX)
    return checked(snprintf(text, HF_REPORT_NUMBER_MAX, "> 1 min"), text);
  if (ms < 1000)
    return checked(snprintf(text, HF_REPORT_NUMBER_MAX, "%" PRId64 " ms", ms), text);
  if (seconds < 120)
    return checked(snprintf(text, HF_REPORT_NUMBER_MAX, "%.*f s", seconds < 10 ? 1 : 0, seconds), text);
  return checked(snprintf(text, HF_REPORT_NUMBER_MAX, "%.0f min", seconds / 60), text);
}

const char *hf_report_large_text(double n, char text[HF_REPORT_NUMBER_MAX]) {
  static const struct {
    double one;
    const char *name;
  } units[] = {{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
    const double here = n / units[i].one;
    if (here >= 1)
      return checked(snprintf(text, HF_REPORT_NUMBER_MAX, "%.*f %s", here < 100 ? 1 : 0, here, units[i].name), text);
  }
  return checked(snprintf(text, HF_REPORT_NUMBER_MAX, "%.0f", n), text);
}

const char *hf_report_dollars_text(double dollars, char text[HF_REPORT_NUMBER_MAX]) {
  if (dollars <= 0)
    return checked(snprintf(text, HF_REPORT_NUMBER_MAX, "$0"), text);
  if (dollars < 0.01)
    return checked(snprintf(text, HF_REPORT_NUMBER_MAX, "under 1¢"), text);
  if (dollars < 1000)
    return checked(snprintf(text, HF_REPORT_NUMBER_MAX, "$%.2f", dollars), text);
  if (dollars >= 1e18)
    return checked(snprintf(text, HF_REPORT_NUMBER_MAX, "$%.2e", dollars), text);
  char digits[HF_REPORT_NUMBER_MAX];
  hf_report_count_text((uint64_t)dollars, digits);
  return checked(snprintf(text, HF_REPORT_NUMBER_MAX, "$%s", digits), text);
}
