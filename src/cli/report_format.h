/* Numbers of a report as people read them. Each writes into `text` and returns it. */
#ifndef HF_CLI_REPORT_FORMAT_H
#define HF_CLI_REPORT_FORMAT_H

#include <stdint.h>

enum { HF_REPORT_NUMBER_MAX = 40 };

const char *hf_report_count_text(uint64_t n, char text[HF_REPORT_NUMBER_MAX]); /* "12,345" */

/* "98.9 %", "99.98 %", "< 0.1 %"; "100 %" and "0 %" only if it is; "–" if it is negative. */
const char *hf_report_rate_text(double rate, char text[HF_REPORT_NUMBER_MAX]);

/* "3 ms", "240 ms", "1.2 s", "12 s", "2 min"; "–" if it is negative, "> 1 min" for INT64_MAX. */
const char *hf_report_ms_text(int64_t ms, char text[HF_REPORT_NUMBER_MAX]);

const char *hf_report_large_text(double n, char text[HF_REPORT_NUMBER_MAX]); /* "870", "12.4 k", "3.1 M" */
const char *hf_report_dollars_text(double dollars,
                                   char text[HF_REPORT_NUMBER_MAX]); /* "under 1¢", "$1.20", "$12,345" */

/* "s" behind a word, but for one of it. */
static inline const char *hf_report_plural(uint64_t n) {
  return n == 1 ? "" : "s";
}

#endif
