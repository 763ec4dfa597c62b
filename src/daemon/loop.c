/* libuv runs, per turn: timers, prepare, the wait, I/O callbacks, check. Jobs that I/O callbacks deferred run in check;
 * what timers and anything else deferred runs in prepare, which then knows how long the wait may be. */
#include "daemon/loop.h"

#include "base/clock.h"

#include <signal.h>

static void run(struct hf_loop_driver *driver) {
  hf_loop_run(driver->loop, hf_clock_now(), hf_clock_wall_ms());
}

static void on_timer(uv_timer_t *timer) {
  run(timer->data);
}

/* libuv counts in milliseconds: rounding up means that a timer is never early, and so never spins. */
static void arm(struct hf_loop_driver *driver) {
  hf_time next = hf_loop_next(driver->loop);
  if (next == HF_TIME_NEVER) {
    uv_timer_stop(&driver->timer);
    return;
  }
  hf_time wait = hf_time_max(next - hf_clock_now(), 0);
  uv_update_time(driver->timer.loop);
  uv_timer_start(&driver->timer, on_timer, (uint64_t)((wait + 999) / 1000), 0);
}

static void on_prepare(uv_prepare_t *prepare) {
  struct hf_loop_driver *driver = prepare->data;
  run(driver);
  arm(driver);
  hf_loop_turn_ended(driver->loop, hf_clock_now());
}

static void on_check(uv_check_t *check) {
  run(check->data);
}

void hf_loop_driver_init(struct hf_loop_driver *driver, uv_loop_t *uv, struct hf_loop *loop) {
  (void)signal(SIGPIPE, SIG_IGN);
  (void)signal(SIGXFSZ, SIG_IGN);
  driver->loop = loop;
  uv_prepare_init(uv, &driver->prepare);
  uv_check_init(uv, &driver->check);
  uv_timer_init(uv, &driver->timer);
  driver->prepare.data = driver->check.data = driver->timer.data = driver;
  uv_prepare_start(&driver->prepare, on_prepare);
  uv_check_start(&driver->check, on_check);
  run(driver);
}

void hf_loop_driver_close(struct hf_loop_driver *driver) {
  uv_close((uv_handle_t *)&driver->prepare, NULL);
  uv_close((uv_handle_t *)&driver->check, NULL);
  uv_close((uv_handle_t *)&driver->timer, NULL);
}
