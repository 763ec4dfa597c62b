#include "gateway/stage/cache.h"

#include "base/alloc.h"
#include "gateway/fingerprint.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static const struct hf_cache_settings hour = {.max_stale = HF_SECONDS(3600)};

static struct hf_fingerprint call(unsigned n) {
  struct hf_fingerprint fingerprint = {{0}};
  memcpy(fingerprint.byte, &n, sizeof n);
  return fingerprint;
}

static int put(struct hf_cache *cache, unsigned n, const char *result, hf_time now) {
  struct hf_fingerprint fingerprint = call(n);
  return hf_cache_put(cache, &hour, &fingerprint, hf_str_from(result), now, now / 1000);
}

/* The age, or -1. */
static hf_time get(struct hf_cache *cache, unsigned n, const char *expected, hf_time now) {
  struct hf_fingerprint fingerprint = call(n);
  struct hf_str result;
  hf_time age;
  if (hf_cache_get(cache, &fingerprint, now, &result, &age) < 0)
    return -1;
  if (expected)
    assert_true(hf_str_equal(result, hf_str_from(expected)));
  return age;
}

static void cache__gives_the_last_good_answer_and_its_age(void **state) {
  (void)state;
  struct hf_cache cache;
  hf_cache_init(&cache, 1 << 20, NULL);
  assert_int_equal(get(&cache, 1, NULL, HF_SECONDS(1)), -1);
  assert_int_equal(put(&cache, 1, "{\"content\":[1]}", HF_SECONDS(1)), 0);
  assert_int_equal(put(&cache, 2, "{\"content\":[2]}", HF_SECONDS(2)), 0);
  assert_int_equal(get(&cache, 1, "{\"content\":[1]}", HF_SECONDS(4)), HF_SECONDS(3));
  assert_int_equal(put(&cache, 1, "{\"content\":[3,3]}", HF_SECONDS(5)), 0);
  assert_int_equal(get(&cache, 1, "{\"content\":[3,3]}", HF_SECONDS(6)), HF_SECONDS(1));
  assert_int_equal(put(&cache, 1, "{\"content\":[3,3]}", HF_SECONDS(9)), 0); /* the same, seen again */
  assert_int_equal(get(&cache, 1, "{\"content\":[3,3]}", HF_SECONDS(9)), 0);
  assert_int_equal(get(&cache, 2, "{\"content\":[2]}", HF_SECONDS(1)), 0); /* time stands still, not backwards */
  hf_cache_deinit(&cache);
}

static void cache__takes_only_what_the_tool_answered(void **state) {
  (void)state;
  static const struct {
    const char *result;
    int answer;
  } rows[] = {
      {"{\"content\":[]}", 0},
      {"{}", 0},
      {"{\"content\":[],\"isError\":false,\"resultType\":\"complete\"}", 0},
      {"{\"_meta\":{\"dev.holdfast/outcome\":{\"source\":\"live\"}}}", 0},
      {"{\"_meta\":{\"other\":{\"source\":\"cache\"}}}", 0},
      {"{\"content\":[],\"isError\":true}", HF_ERR_REFUSED},
      {"{\"content\":[],\"i\\u0073Error\":true}", HF_ERR_REFUSED},
      {"{\"content\":[],\"isError\":\"false\"}", HF_ERR_REFUSED},
      {"{\"content\":[],\"isError\":false,\"isError\":true}", HF_ERR_REFUSED},
      {"{\"resultType\":\"input_required\",\"inputRequests\":{}}", HF_ERR_REFUSED},
      {"{\"resultType\":\"task\",\"task\":{}}", HF_ERR_REFUSED},
      {"{\"resultType\":null}", HF_ERR_REFUSED},
      {"{\"task\":{\"taskId\":\"t\"}}", HF_ERR_REFUSED},
      {"{\"_meta\":{\"dev.holdfast/outcome\":{\"source\":\"cache\"}}}", HF_ERR_REFUSED},
      {"{\"_meta\":{\"dev.holdfast/outcome\":{\"source\":\"degraded\"}}}", HF_ERR_REFUSED},
      {"[]", HF_ERR_REFUSED},
      {"\"text\"", HF_ERR_REFUSED},
      {"{\"content\":", HF_ERR_REFUSED},
      {"", HF_ERR_REFUSED},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_cache cache;
    hf_cache_init(&cache, 1 << 20, NULL);
    int r = put(&cache, 1, rows[i].result, 0);
    if (r != rows[i].answer || (get(&cache, 1, NULL, 0) >= 0) != (r == 0))
      fail_msg("%s: %d", rows[i].result, r);

    /* What was good before stays. */
    assert_int_equal(put(&cache, 2, "{\"a\":1}", 0), 0);
    assert_int_equal(put(&cache, 2, rows[i].result, HF_SECONDS(1)), rows[i].answer);
    assert_int_equal(get(&cache, 2, r == 0 ? rows[i].result : "{\"a\":1}", HF_SECONDS(1)), r == 0 ? 0 : HF_SECONDS(1));
    hf_cache_deinit(&cache);
  }
}

static void cache__takes_nothing_for_tools_that_are_not_cached(void **state) {
  (void)state;
  struct hf_cache cache;
  hf_cache_init(&cache, 1 << 20, NULL);
  struct hf_cache_settings off = {0};
  struct hf_fingerprint fingerprint = call(1);
  assert_int_equal(hf_cache_put(&cache, &off, &fingerprint, HF_STR("{}"), 0, 0), HF_ERR_REFUSED);
  hf_cache_deinit(&cache);
}

static void cache__leaves_out_requests_that_go_on_with_another(void **state) {
  (void)state;
  static const struct {
    const char *params;
    bool concerned;
  } rows[] = {
      {"{\"name\":\"t\",\"arguments\":{}}", true},
      {"{\"name\":\"t\",\"requestState\":\"s\"}", false},
      {"{\"name\":\"t\",\"inputResponses\":{}}", false},
      {"{\"name\":\"t\",\"task\":{}}", false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char text[200];
    snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":%s}",
             rows[i].params);
    struct hf_message message;
    struct hf_refusal refusal;
    assert_int_equal(hf_message_decode_copy(hf_str_from(text), &message, &refusal), 0);
    assert_int_equal(hf_cache_concerns(&message), rows[i].concerned);
    hf_message_deinit(&message);
  }
}

static const char *result_of_size(size_t len) {
  static char text[4096];
  memset(text, 'x', len);
  memcpy(text, "{\"a\":\"", 6);
  memcpy(text + len - 2, "\"}", 3);
  return text;
}

static void cache__drops_what_was_used_least_recently(void **state) {
  (void)state;
  struct hf_cache cache;
  hf_cache_init(&cache, 16384, NULL);
  unsigned fit = 0;
  while (fit < 100 && (fit == 0 || get(&cache, 1, NULL, 0) >= 0))
    assert_int_equal(put(&cache, ++fit, result_of_size(1024), 0), 0); /* the first one is used all the time */
  assert_int_equal(fit, 100);
  unsigned left = 0;
  for (unsigned n = 1; n <= fit; n++)
    left += get(&cache, n, NULL, 0) >= 0;
  assert_in_range(left, 10, 15);
  assert_true(get(&cache, 1, NULL, 0) >= 0);
  assert_true(get(&cache, fit, NULL, 0) >= 0);
  assert_true(get(&cache, 2, NULL, 0) < 0);
  assert_true(cache.bytes <= 16384);

  hf_cache_limit(&cache, 8192);
  assert_true(cache.bytes <= 8192 && cache.bytes > 4096);
  hf_cache_limit(&cache, 0);
  assert_int_equal(cache.bytes, 0);
  assert_int_equal(put(&cache, 1, "{}", 0), HF_ERR_LIMIT);
  hf_cache_deinit(&cache);
}

static void cache__one_answer_may_take_a_quarter(void **state) {
  (void)state;
  struct hf_cache cache;
  hf_cache_init(&cache, 8192, NULL);
  assert_int_equal(put(&cache, 1, "{}", 0), 0);
  assert_int_equal(put(&cache, 1, result_of_size(2048), HF_SECONDS(1)), HF_ERR_LIMIT);
  assert_int_equal(get(&cache, 1, "{}", HF_SECONDS(1)), HF_SECONDS(1));
  assert_int_equal(put(&cache, 1, result_of_size(1700), 0), 0);
  hf_cache_deinit(&cache);
}

/* A store that counts what it is given. */
struct fake_store {
  struct hf_store store;
  unsigned kept;
  struct hf_cached last;
};

static void keep(struct hf_store *store, const struct hf_cached *cached) {
  struct fake_store *fake = (struct fake_store *)store;
  fake->kept++;
  fake->last = *cached;
}

static const struct hf_store_ops fake_ops = {.keep = keep};

static void cache__keeps_in_the_store_where_that_is_wanted(void **state) {
  (void)state;
  struct fake_store fake = {.store.ops = &fake_ops};
  struct hf_cache cache;
  hf_cache_init(&cache, 1 << 20, &fake.store);
  struct hf_cache_settings kept = {.ttl = HF_SECONDS(8), .max_stale = HF_SECONDS(80), .keep = true};
  struct hf_fingerprint fingerprint = call(1);
  assert_int_equal(hf_cache_put(&cache, &hour, &fingerprint, HF_STR("{}"), 0, 1000), 0);
  assert_int_equal(fake.kept, 0);
  assert_int_equal(hf_cache_put(&cache, &kept, &fingerprint, HF_STR("{}"), HF_SECONDS(1), 2000), 0);
  assert_int_equal(fake.kept, 1);
  assert_int_equal(fake.last.at_ms, 2000);
  assert_int_equal(fake.last.expires_ms, 82000);
  assert_true(hf_str_equal(fake.last.result, HF_STR("{}")));

  /* The same answer is not written with every call, but before the row gets old. */
  assert_int_equal(hf_cache_put(&cache, &kept, &fingerprint, HF_STR("{}"), HF_SECONDS(10), 11000), 0);
  assert_int_equal(fake.kept, 1);
  assert_int_equal(hf_cache_put(&cache, &kept, &fingerprint, HF_STR("{}"), HF_SECONDS(11), 12000), 0);
  assert_int_equal(fake.kept, 2);
  assert_int_equal(hf_cache_put(&cache, &kept, &fingerprint, HF_STR("{\"a\":1}"), HF_SECONDS(11), 12000), 0);
  assert_int_equal(fake.kept, 3);
  hf_cache_deinit(&cache);
}

static void cache__comes_back_from_the_store(void **state) {
  (void)state;
  static const struct {
    int64_t at_ms;
    int64_t expires_ms;
    const char *result;
    int answer;
    hf_time age; /* -1: it is not there */
  } rows[] = {
      {90000, 200000, "{\"a\":1}", 0, HF_SECONDS(10)},
      {100000, 100001, "{\"a\":1}", 0, 0},
      {90000, 100000, "{\"a\":1}", 0, -1},  /* expired */
      {100001, 200000, "{\"a\":1}", 0, -1}, /* from the future: a clock was changed */
      {INT64_MIN, 200000, "{\"a\":1}", 0, -1},
      {-1000, INT64_MAX, "{\"a\":1}", 0, HF_SECONDS(101)}, /* before this machine was started */
      {90000, 200000, "{\"isError\":true}", HF_ERR_REFUSED, -1},
      {90000, 200000, "cut", HF_ERR_REFUSED, -1},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_cache cache;
    hf_cache_init(&cache, 1 << 20, NULL);
    struct hf_cached row = {call(1), hf_str_from(rows[i].result), rows[i].at_ms, rows[i].expires_ms};
    assert_int_equal(hf_cache_restore(&cache, &row, HF_SECONDS(5), 100000), rows[i].answer);
    if (get(&cache, 1, NULL, HF_SECONDS(5)) != rows[i].age)
      fail_msg("row %zu", i);
    hf_cache_deinit(&cache);
  }
}

static void cache__newer_answers_stay_when_older_ones_are_restored(void **state) {
  (void)state;
  struct hf_cache cache;
  hf_cache_init(&cache, 1 << 20, NULL);
  assert_int_equal(put(&cache, 1, "{\"new\":1}", HF_SECONDS(5)), 0);
  struct hf_cached row = {call(1), HF_STR("{\"old\":1}"), 99000, 200000};
  assert_int_equal(hf_cache_restore(&cache, &row, HF_SECONDS(5), 100000), 0);
  assert_int_equal(get(&cache, 1, "{\"new\":1}", HF_SECONDS(5)), 0);
  hf_cache_deinit(&cache);
}

static void cache__out_of_memory_is_an_error(void **state) {
  (void)state;
  for (long n = 0; n < 20; n++) {
    struct hf_cache cache;
    hf_cache_init(&cache, 1 << 20, NULL);
    hf_alloc_fail_after(n);
    int r = put(&cache, 1, "{\"a\":1}", 0);
    hf_alloc_fail_after(-1);
    assert_int_equal(get(&cache, 1, NULL, 0), r == 0 ? 0 : -1);
    assert_true(r == 0 || (cache.bytes == 0 && hf_list_empty(&cache.recent)));
    hf_cache_deinit(&cache);
    if (r == 0) {
      assert_true(n > 3);
      return;
    }
    assert_true(r == HF_ERR_NOMEM || r == HF_ERR_REFUSED); /* what can't be read is not taken */
  }
  fail();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cache__gives_the_last_good_answer_and_its_age),
      cmocka_unit_test(cache__takes_only_what_the_tool_answered),
      cmocka_unit_test(cache__takes_nothing_for_tools_that_are_not_cached),
      cmocka_unit_test(cache__leaves_out_requests_that_go_on_with_another),
      cmocka_unit_test(cache__drops_what_was_used_least_recently),
      cmocka_unit_test(cache__one_answer_may_take_a_quarter),
      cmocka_unit_test(cache__keeps_in_the_store_where_that_is_wanted),
      cmocka_unit_test(cache__comes_back_from_the_store),
      cmocka_unit_test(cache__newer_answers_stay_when_older_ones_are_restored),
      cmocka_unit_test(cache__out_of_memory_is_an_error),
  };
  return cmocka_run_group_tests_name("cache", tests, NULL, NULL);
}
