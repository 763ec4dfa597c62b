#include "policy/limiter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { CALLS_MAX = 256 };

/* A server that works on `width` calls at a time, each for `service`, and shares itself among more; and callers who
 * always want `demand` calls in flight. */
struct world {
  struct hf_limiter limiter;
  unsigned width;
  unsigned demand;
  hf_time service;
  unsigned failing; /* of 100 calls */
  hf_time now;
  hf_time started[CALLS_MAX];
  hf_time work[CALLS_MAX]; /* left, as if alone */
  unsigned in_flight;
  unsigned answered;
};

static struct world make(unsigned width, unsigned demand) {
  struct world w = {.width = width, .demand = demand, .service = HF_MS(100)};
  struct hf_limiter_options options = HF_LIMITER_OPTIONS_INIT;
  options.max = 100;
  hf_limiter_init(&w.limiter, &options);
  return w;
}

static void start_calls(struct world *w) {
  assert_true(hf_limiter_limit(&w->limiter) >= 1);
  while (w->in_flight < w->demand && w->in_flight < hf_limiter_limit(&w->limiter)) {
    /* Not all alike, so that they don't end together. */
    w->work[w->in_flight] = w->service / 2 + w->service * (w->answered * 37 + w->in_flight * 11) % 101 / 100;
    w->started[w->in_flight++] = w->now;
  }
}

static void end_call(struct world *w, unsigned i) {
  struct hf_limiter_sample sample = {
      .started = w->started[i], .latency = w->now - w->started[i], .in_flight = w->in_flight};
  sample.failed = w->answered++ * 7 % 100 < w->failing;
  w->in_flight--;
  w->started[i] = w->started[w->in_flight];
  w->work[i] = w->work[w->in_flight];
  hf_limiter_record(&w->limiter, &sample, w->now);
}

static unsigned run(struct world *w, hf_time span) {
  static const hf_time tick = HF_MS(1);
  unsigned before = w->answered;
  for (hf_time end = w->now + span; w->now < end; w->now += tick) {
    start_calls(w);
    hf_time done = w->in_flight > w->width ? tick * w->width / w->in_flight : tick;
    for (unsigned i = w->in_flight; i-- > 0;) {
      w->work[i] -= done;
      if (w->work[i] <= 0)
        end_call(w, i);
    }
  }
  return w->answered - before;
}

static void assert_limit(const struct world *w, unsigned low, unsigned high) {
  assert_in_range(hf_limiter_limit(&w->limiter), low, high);
}

static void limiter__starts_low_and_within_its_bound(void **state) {
  (void)state;
  struct hf_limiter l;
  hf_limiter_init(&l, &(struct hf_limiter_options)HF_LIMITER_OPTIONS_INIT);
  assert_int_equal(hf_limiter_limit(&l), 16);
  hf_limiter_configure(&l, &(struct hf_limiter_options){.max = 3, .tolerance_percent = 150});
  assert_int_equal(hf_limiter_limit(&l), 3);
}

static void limiter__grows_to_its_bound_when_the_server_takes_it(void **state) {
  (void)state;
  struct world w = make(200, 200);
  run(&w, HF_SECONDS(10));
  assert_limit(&w, 100, 100);
}

static void limiter__finds_what_the_server_takes(void **state) {
  (void)state;
  static const unsigned widths[] = {5, 10, 20, 40};
  for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
    struct world w = make(widths[i], 200);
    run(&w, HF_SECONDS(100));
    assert_limit(&w, widths[i], widths[i] * 5 / 2);
    unsigned answered = run(&w, HF_SECONDS(10));
    assert_true(answered >= widths[i] * 100 * 94 / 100); /* of what can be done, with a look or two */
  }
}

static void limiter__follows_a_drop_and_comes_back(void **state) {
  (void)state;
  struct world w = make(30, 200);
  run(&w, HF_SECONDS(40));
  assert_limit(&w, 30, 75);
  w.width = 10;
  run(&w, HF_SECONDS(5));
  assert_limit(&w, 8, 25);
  run(&w, HF_SECONDS(55));
  assert_limit(&w, 8, 25);
  w.width = 30;
  run(&w, HF_SECONDS(5));
  assert_limit(&w, 30, 75);
}

/* A server whose every call takes longer is not crowded. */
static void limiter__does_not_starve_a_server_that_has_become_slower(void **state) {
  (void)state;
  struct world w = make(100, 80);
  run(&w, HF_SECONDS(40));
  assert_limit(&w, 80, 100);
  w.service = HF_MS(400);
  run(&w, HF_SECONDS(10));
  assert_limit(&w, 1, 40);
  run(&w, HF_SECONDS(60));
  assert_limit(&w, 80, 100);
}

/* Without looks at an idle server the limit would creep up, for what is usual would count as good. */
static void limiter__hours_of_crowding_are_not_taken_for_usual(void **state) {
  (void)state;
  struct world w = make(10, 200);
  run(&w, HF_SECONDS(1800));
  assert_limit(&w, 10, 25);
}

static void limiter__failures_count(void **state) {
  (void)state;
  struct world w = make(200, 200);
  run(&w, HF_SECONDS(10));
  w.failing = 100;
  run(&w, HF_SECONDS(10));
  assert_limit(&w, 1, 5);
  w.failing = 20;
  run(&w, HF_SECONDS(10));
  assert_limit(&w, 10, 50);
  w.failing = 0;
  run(&w, HF_SECONDS(10));
  assert_limit(&w, 100, 100);
}

static void limiter__never_below_one(void **state) {
  (void)state;
  for (unsigned failing = 0; failing <= 100; failing += 100) {
    struct world w = make(1, 200);
    w.service = HF_SECONDS(2);
    w.failing = failing;
    run(&w, HF_SECONDS(600)); /* each step asserts it */
    assert_limit(&w, 1, 3);
  }
}

static void limiter__moves_only_when_it_is_used(void **state) {
  (void)state;
  struct world w = make(200, 4);
  run(&w, HF_SECONDS(60));
  assert_limit(&w, 16, 16);
}

static void limiter__slower_answers_to_few_calls_are_not_of_their_making(void **state) {
  (void)state;
  struct world w = make(200, 6);
  run(&w, HF_SECONDS(10));
  w.service = HF_MS(1000);
  run(&w, HF_SECONDS(60));
  assert_limit(&w, 16, 16);
}

static void limiter__what_started_before_the_window_says_nothing_of_it(void **state) {
  (void)state;
  struct hf_limiter l;
  hf_limiter_init(&l, &(struct hf_limiter_options)HF_LIMITER_OPTIONS_INIT);
  l.since = HF_SECONDS(5);
  for (int i = 0; i < 100; i++)
    hf_limiter_record(&l, &(struct hf_limiter_sample){.started = 0, .latency = 1, .in_flight = 16}, HF_SECONDS(6));
  assert_int_equal(l.answers, 0);
  assert_int_equal(hf_limiter_limit(&l), 16);
}

/* No look before it has run for half a minute. */
static struct hf_limiter measured(void) {
  struct hf_limiter l;
  hf_limiter_init(&l, &(struct hf_limiter_options){.max = 1000, .tolerance_percent = 150});
  l.checked_at = 0;
  return l;
}

static void end_calls(struct hf_limiter *l, unsigned count, hf_time latency, unsigned in_flight, hf_time now) {
  const struct hf_limiter_sample sample = {
      .started = l->since, .latency = latency, .failed = latency < 0, .in_flight = in_flight};
  for (unsigned i = 0; i < count; i++)
    hf_limiter_record(l, &sample, now);
}

enum { FAILED = -1 };

static void limiter__moves_by_its_formula(void **state) {
  (void)state;
  struct hf_limiter l = measured();
  assert_int_equal(l.limit, 16000);
  end_calls(&l, 8, HF_MS(100), 16, 1);
  assert_int_equal(l.limit, 17000); /* as usual: half of the root further, by half */
  end_calls(&l, 8, HF_MS(300), 17, 2);
  assert_int_equal(l.limit, 13780); /* three times as long, where one and a half is tolerated */
  end_calls(&l, 4, HF_MS(100), 13, 3);
  end_calls(&l, 4, FAILED, 13, 3);
  assert_int_equal(l.limit, 12985); /* half of them failed: a quarter less */
  end_calls(&l, 8, FAILED, 12, 4);
  assert_int_equal(l.limit, 10639);
  end_calls(&l, 8, HF_SECONDS(1), 10, 5);
  assert_int_equal(l.limit, 8794); /* never less than half at once */
  end_calls(&l, 7, HF_MS(200), 8, 6);
  end_calls(&l, 1, HF_MS(200) + 100, 8, 6);
  assert_int_equal(l.limit, 8431);
  end_calls(&l, 8, HF_MS(200), 8, 7);
  assert_int_equal(l.limit, 8102);
}

static void limiter__learns_what_is_usual_while_there_is_little_to_do(void **state) {
  (void)state;
  struct hf_limiter l = measured();
  end_calls(&l, 1, HF_MS(100), 1, 0);
  assert_int_equal(l.usual, HF_MS(100));
  end_calls(&l, 1, HF_MS(180), 8, 0); /* half of what may be in flight is little */
  assert_int_equal(l.usual, HF_MS(110));
  end_calls(&l, 6, HF_MS(110), 8, 0);
  assert_int_equal(l.limit, 16000);
  end_calls(&l, 1, HF_MS(500), 9, 0);
  assert_int_equal(l.usual, HF_MS(110));
  l = measured();
  end_calls(&l, 2, 0, 1, 0);
  assert_int_equal(l.usual, 1);
  l = measured();
  end_calls(&l, 2, HF_SECONDS(25 * 3600), 1, 0);
  assert_int_equal(l.usual, HF_SECONDS(24 * 3600));
}

static void limiter__windows_are_half_as_long_as_the_limit_within_bounds(void **state) {
  (void)state;
  static const struct {
    int64_t limit;
    unsigned ends;
  } rows[] = {{1000, 8}, {16000, 8}, {18000, 9}, {40000, 20}, {126000, 63}, {128000, 64}, {130000, 64}, {999000, 64}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct hf_limiter l = measured();
    l.limit = rows[i].limit;
    end_calls(&l, rows[i].ends - 1, HF_MS(100), 1000, 7);
    assert_int_equal(l.since, 0);
    end_calls(&l, 1, HF_MS(100), 1000, 7);
    assert_int_equal(l.since, 7);
    assert_int_equal(l.answers, 0);
  }
}

static void crowded_window(struct hf_limiter *l, hf_time now) {
  end_calls(l, 64, HF_MS(100), 1000, now);
}

static void limiter__looks_no_more_often_than_it_may(void **state) {
  (void)state;
  struct hf_limiter l = measured();
  l.limit = 400000;
  crowded_window(&l, HF_SECONDS(30) - 1);
  assert_int_equal(l.before, 0);
  crowded_window(&l, HF_SECONDS(30));
  assert_true(l.before > 400000);
  assert_int_equal(l.limit, l.before / 4);
  int64_t before = l.before;
  end_calls(&l, (unsigned)(l.limit / 2000), HF_MS(100), 1, HF_SECONDS(40)); /* it took ten seconds */
  assert_int_equal(l.before, 0);
  assert_int_equal(l.limit, before);
  crowded_window(&l, HF_SECONDS(40 + 160) - 1);
  assert_int_equal(l.before, 0);
  crowded_window(&l, HF_SECONDS(40 + 160));
  assert_true(l.before > 0);
}

static void limiter__need_not_look_where_there_was_little_to_do(void **state) {
  (void)state;
  struct hf_limiter l = measured();
  end_calls(&l, 8, HF_MS(100), 1, HF_SECONDS(100));
  end_calls(&l, 8, HF_MS(100), 16, HF_SECONDS(130) - 1);
  assert_int_equal(l.before, 0);
  end_calls(&l, 8, HF_MS(100), 17, HF_SECONDS(130));
  assert_true(l.before > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(limiter__starts_low_and_within_its_bound),
      cmocka_unit_test(limiter__grows_to_its_bound_when_the_server_takes_it),
      cmocka_unit_test(limiter__finds_what_the_server_takes),
      cmocka_unit_test(limiter__follows_a_drop_and_comes_back),
      cmocka_unit_test(limiter__does_not_starve_a_server_that_has_become_slower),
      cmocka_unit_test(limiter__hours_of_crowding_are_not_taken_for_usual),
      cmocka_unit_test(limiter__failures_count),
      cmocka_unit_test(limiter__never_below_one),
      cmocka_unit_test(limiter__moves_only_when_it_is_used),
      cmocka_unit_test(limiter__slower_answers_to_few_calls_are_not_of_their_making),
      cmocka_unit_test(limiter__what_started_before_the_window_says_nothing_of_it),
      cmocka_unit_test(limiter__moves_by_its_formula),
      cmocka_unit_test(limiter__learns_what_is_usual_while_there_is_little_to_do),
      cmocka_unit_test(limiter__windows_are_half_as_long_as_the_limit_within_bounds),
      cmocka_unit_test(limiter__looks_no_more_often_than_it_may),
      cmocka_unit_test(limiter__need_not_look_where_there_was_little_to_do),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
