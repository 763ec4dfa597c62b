#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gateway/observe/metrics.h"

#include <stdio.h>
#include <string.h>

/* However many names there are: the page of metrics has an end, and no call goes uncounted. */
static void metrics__tools_beyond_the_limit_count_together(void **state) {
  (void)state;
  struct hf_metrics metrics = {0};
  struct hf_buf text;
  hf_metrics_init(&metrics);
  for (int i = 0; i < HF_METRICS_TOOLS_MAX + 2; i++) {
    char name[16];
    int len = snprintf(name, sizeof name, "t%d", i);
    hf_metrics_count(&metrics, HF_STR("s"), (struct hf_str){name, (size_t)len}, HF_SOURCE_LIVE, HF_FAULT_NONE, 1, 0);
  }
  hf_metrics_count(&metrics, HF_STR("s"), HF_STR("t4095"), HF_SOURCE_LIVE, HF_FAULT_NONE, 1, 0);
  hf_buf_init(&text, 64 << 20);
  assert_int_equal(hf_metrics_write(&metrics, &text), 0);
  assert_int_equal(hf_buf_append(&text, "", 1), 0);
  assert_non_null(strstr(text.data, "holdfast_attempts_total{server=\"s\",tool=\"t4095\"} 2\n"));
  assert_null(strstr(text.data, "\"t4096\""));
  assert_non_null(strstr(text.data, "holdfast_attempts_total{server=\"_other\",tool=\"_other\"} 2\n"));
  hf_buf_deinit(&text);
  hf_metrics_deinit(&metrics);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(metrics__tools_beyond_the_limit_count_together),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
