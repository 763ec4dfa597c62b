#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gateway/catalog/alias.h"
#include "gateway/catalog/pace.h"

/* How often a list is loaded in `time` if its server announces a change all the time. */
static unsigned loads(hf_time time, bool news) {
  struct hf_pace pace = {0};
  unsigned count = 0;
  for (hf_time now = HF_SECONDS(1); now < HF_SECONDS(1) + time; now += HF_MS(1)) {
    if (hf_pace_notice(&pace, now) > now)
      continue;
    hf_pace_began(&pace, now);
    hf_pace_ended(&pace, news);
    count++;
  }
  return count;
}

static void pace__takes_a_burst_together(void **state) {
  (void)state;
  assert_int_equal(loads(HF_MS(50), true), 1);
  assert_int_equal(loads(HF_MS(150), true), 2);
  assert_int_equal(loads(HF_SECONDS(10), true), 13);
  assert_int_equal(loads(HF_SECONDS(600), false), 19);
}

static void pace__follows_one_notice_at_once_after_a_while(void **state) {
  (void)state;
  struct hf_pace pace = {0};
  hf_time now = HF_SECONDS(5);
  for (int i = 0; i < 5; i++) {
    assert_int_equal(hf_pace_notice(&pace, now), now);
    hf_pace_began(&pace, now);
    hf_pace_ended(&pace, false);
    assert_true(hf_pace_notice(&pace, now) > now);
    now += HF_SECONDS(10);
  }
}

static void alias__is_read_as_it_was_written(void **state) {
  (void)state;
  char name[HF_ALIAS_SERVER_MAX];
  struct hf_buf out;
  struct hf_str server, uri;
  hf_buf_init(&out, 1024);
  assert_int_equal(hf_alias_write(&out, HF_STR("a b/\xc3\xa4"), HF_STR("file:///x?y#z")), 0);
  assert_true(hf_str_equal(hf_buf_str(&out), HF_STR("holdfast://a%20b%2F%C3%A4/file:///x?y#z")));
  assert_true(hf_alias_read(hf_buf_str(&out), name, &server, &uri));
  assert_true(hf_str_equal(server, HF_STR("a b/\xc3\xa4")));
  assert_true(hf_str_equal(uri, HF_STR("file:///x?y#z")));
  assert_false(hf_alias_read(HF_STR("holdfast://a"), name, &server, &uri));
  assert_false(hf_alias_read(HF_STR("holdfast://a/"), name, &server, &uri));
  assert_false(hf_alias_read(HF_STR("holdfast:///x"), name, &server, &uri));
  assert_false(hf_alias_read(HF_STR("holdfast://%4/x"), name, &server, &uri));
  assert_false(hf_alias_read(HF_STR("file:///x"), name, &server, &uri));
  hf_buf_deinit(&out);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pace__takes_a_burst_together),
      cmocka_unit_test(pace__follows_one_notice_at_once_after_a_while),
      cmocka_unit_test(alias__is_read_as_it_was_written),
  };
  return cmocka_run_group_tests_name("pace", tests, NULL, NULL);
}
