#include "base/alloc.h"
#include "base/error.h"
#include "gateway/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A timer and a job that write down when they ran. */
struct probe {
  struct hf_timer timer;
  struct hf_job job;
  struct hf_loop *loop;
  hf_time fired_at;
  int fired;
  int ran;
  int defers; /* how often the job defers itself again */
};

static void on_fire(struct hf_timer *timer) {
  struct probe *probe = HF_CONTAINER_OF(timer, struct probe, timer);
  probe->fired++;
  probe->fired_at = probe->loop->now;
  hf_job_defer(probe->loop, &probe->job);
}

static void on_run(struct hf_job *job) {
  struct probe *probe = HF_CONTAINER_OF(job, struct probe, job);
  probe->ran++;
  if (probe->defers-- > 0)
    hf_job_defer(probe->loop, job);
}

static void probe_init(struct probe *probe, struct hf_loop *loop) {
  *probe = (struct probe){.loop = loop};
  assert_int_equal(hf_timer_init(loop, &probe->timer, on_fire), 0);
  hf_job_init(&probe->job, on_run);
}

static void loop__fires_a_timer_once_when_it_is_due(void **state) {
  (void)state;
  struct hf_loop loop;
  struct probe probe;
  hf_loop_init(&loop, 1, NULL);
  probe_init(&probe, &loop);
  assert_true(hf_loop_next(&loop) == HF_TIME_NEVER);
  hf_timer_set(&loop, &probe.timer, HF_MS(10));
  assert_true(hf_loop_next(&loop) == HF_MS(10));
  hf_loop_run(&loop, HF_MS(10) - 1, 0);
  assert_int_equal(probe.fired, 0);
  hf_loop_run(&loop, HF_MS(12), 5);
  assert_int_equal(probe.fired, 1);
  assert_true(probe.fired_at == HF_MS(12));
  assert_int_equal(probe.ran, 1); /* the job it deferred ran in the same run */
  assert_int_equal(loop.wall_ms, 5);
  hf_loop_run(&loop, HF_MS(100), 0);
  assert_int_equal(probe.fired, 1);
  hf_timer_deinit(&loop, &probe.timer);
  hf_loop_deinit(&loop);
}

static void loop__time_never_goes_back(void **state) {
  (void)state;
  struct hf_loop loop;
  hf_loop_init(&loop, 1, NULL);
  hf_loop_advance(&loop, HF_MS(10), 0);
  hf_loop_advance(&loop, HF_MS(5), 0);
  assert_true(loop.now == HF_MS(10));
  hf_loop_deinit(&loop);
}

static void loop__stops_and_moves_timers(void **state) {
  (void)state;
  struct hf_loop loop;
  struct probe stopped;
  struct probe never;
  struct probe moved;
  hf_loop_init(&loop, 1, NULL);
  probe_init(&stopped, &loop);
  probe_init(&never, &loop);
  probe_init(&moved, &loop);
  hf_timer_set(&loop, &stopped.timer, 10);
  hf_timer_set(&loop, &never.timer, 10);
  hf_timer_set(&loop, &moved.timer, 10);
  hf_timer_stop(&loop, &stopped.timer);
  hf_timer_set(&loop, &never.timer, HF_TIME_NEVER);
  hf_timer_set(&loop, &moved.timer, 20);
  hf_loop_run(&loop, 15, 0);
  assert_int_equal(stopped.fired + never.fired + moved.fired, 0);
  hf_loop_run(&loop, 20, 0);
  assert_int_equal(stopped.fired + never.fired, 0);
  assert_int_equal(moved.fired, 1);
  hf_timer_deinit(&loop, &stopped.timer);
  hf_timer_deinit(&loop, &never.timer);
  hf_timer_deinit(&loop, &moved.timer);
  hf_timer_deinit(&loop, &moved.timer); /* harmless */
  assert_int_equal(loop.timer_count, 0);
  hf_loop_deinit(&loop);
}

static void loop__runs_jobs_that_jobs_defer(void **state) {
  (void)state;
  struct hf_loop loop;
  struct probe probe;
  hf_loop_init(&loop, 1, NULL);
  probe_init(&probe, &loop);
  probe.defers = 2;
  hf_job_defer(&loop, &probe.job);
  hf_job_defer(&loop, &probe.job); /* twice is once */
  assert_true(hf_loop_next(&loop) <= loop.now);
  hf_loop_run(&loop, 1, 0);
  assert_int_equal(probe.ran, 3);
  hf_job_defer(&loop, &probe.job);
  hf_job_cancel(&probe.job);
  hf_loop_run(&loop, 2, 0);
  assert_int_equal(probe.ran, 3);
  hf_timer_deinit(&loop, &probe.timer);
  hf_loop_deinit(&loop);
}

/* Setting must not fail, so the place is reserved by hf_timer_init. */
static void loop__setting_a_timer_needs_no_memory(void **state) {
  (void)state;
  enum { TIMERS = 100 };
  static struct probe probes[TIMERS];
  struct hf_loop loop;
  hf_loop_init(&loop, 1, NULL);
  struct probe unlucky;
  hf_alloc_fail_after(0);
  assert_int_equal(hf_timer_init(&loop, &unlucky.timer, on_fire), HF_ERR_NOMEM);
  assert_int_equal(loop.timer_count, 0);
  for (int i = 0; i < TIMERS; i++) {
    probe_init(&probes[i], &loop);
    if (i % 2)
      hf_timer_set(&loop, &probes[i].timer, 1000 - i);
  }
  unsigned long before = hf_alloc_count();
  for (int i = 0; i < TIMERS; i++)
    hf_timer_set(&loop, &probes[i].timer, 1000 - i);
  assert_true(hf_alloc_count() == before);
  hf_loop_run(&loop, 1000, 0);
  for (int i = 0; i < TIMERS; i++) {
    assert_int_equal(probes[i].fired, 1);
    hf_timer_deinit(&loop, &probes[i].timer);
  }
  hf_loop_deinit(&loop);
}

static void loop__knows_its_longest_turn(void **state) {
  (void)state;
  struct hf_loop loop;
  hf_loop_init(&loop, 1, NULL);
  hf_loop_turn_ended(&loop, 100); /* nothing had happened */
  assert_int_equal(loop.longest_turn, 0);
  hf_loop_advance(&loop, 1000, 0);
  hf_loop_advance(&loop, 1400, 0);
  hf_loop_turn_ended(&loop, 1500);
  hf_loop_run(&loop, 9000, 0);
  hf_loop_turn_ended(&loop, 9100);
  assert_int_equal(loop.longest_turn, 500);
  hf_loop_deinit(&loop);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(loop__fires_a_timer_once_when_it_is_due),
      cmocka_unit_test(loop__knows_its_longest_turn),
      cmocka_unit_test(loop__time_never_goes_back),
      cmocka_unit_test(loop__stops_and_moves_timers),
      cmocka_unit_test(loop__runs_jobs_that_jobs_defer),
      cmocka_unit_test(loop__setting_a_timer_needs_no_memory),
  };
  return cmocka_run_group_tests_name("loop", tests, NULL, NULL);
}
