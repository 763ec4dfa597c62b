/* Time and timers as the gateway sees them, without an event loop.
 *
 * The driver (libuv in the daemon, a virtual clock in tests) sets `now` at the start of each iteration and calls
 * hf_loop_run(); between two runs time stands still, so that one decision sees one time. Everything on the loop thread
 * shares one hf_loop. A timer fires once; jobs deferred during a run are run before it ends. */
#ifndef HF_GATEWAY_LOOP_H
#define HF_GATEWAY_LOOP_H

#include "base/heap.h"
#include "base/list.h"
#include "base/log.h"
#include "base/random.h"
#include "base/time.h"

struct hf_timer;
typedef void hf_timer_fn(struct hf_timer *timer);

struct hf_timer {
  struct hf_heap_node node;
  hf_timer_fn *fire; /* may free the timer's owner */
};

struct hf_job;
typedef void hf_job_fn(struct hf_job *job);

struct hf_job {
  struct hf_list link;
  hf_job_fn *run; /* may free the job's owner */
};

struct hf_loop {
  hf_time now;
  int64_t wall_ms;      /* for people and for dates in headers only */
  hf_time turn_began;   /* HF_TIME_NEVER: nothing has happened in this turn */
  hf_time longest_turn; /* since the start: what others had to wait for at most */
  struct hf_heap timers;
  size_t timer_count; /* initialised timers: each has its place in the heap reserved */
  struct hf_list jobs;
  struct hf_random random; /* jitter and choices; never secrets */
  struct hf_log *log;      /* borrowed; NULL logs nothing */
};

void hf_loop_init(struct hf_loop *loop, uint64_t seed, struct hf_log *log);
void hf_loop_deinit(struct hf_loop *loop);

/* Sets `now` (never backwards) without running anything: every I/O callback of a front or upstream begins with it, so
 * that what it causes is timed from when it happened and not from when the iteration began. */
void hf_loop_advance(struct hf_loop *loop, hf_time now, int64_t wall_ms);

/* Advances `now`, fires what is due and runs deferred jobs, including those they defer. */
void hf_loop_run(struct hf_loop *loop, hf_time now, int64_t wall_ms);

/* The driver is about to wait: the turn is over. */
void hf_loop_turn_ended(struct hf_loop *loop, hf_time now);

/* When hf_loop_run wants to be called next: now or earlier if jobs wait, HF_TIME_NEVER if nothing does. */
hf_time hf_loop_next(const struct hf_loop *loop);

/* Reserves the timer's place, so that setting it cannot fail. Returns 0 or HF_ERR_NOMEM. Every initialised timer must
 * be deinitialised before its memory goes. */
int hf_timer_init(struct hf_loop *loop, struct hf_timer *timer, hf_timer_fn *fire);
void hf_timer_deinit(struct hf_loop *loop, struct hf_timer *timer);

/* Sets or moves; HF_TIME_NEVER stops it. */
void hf_timer_set(struct hf_loop *loop, struct hf_timer *timer, hf_time at);
void hf_timer_stop(struct hf_loop *loop, struct hf_timer *timer);

void hf_job_init(struct hf_job *job, hf_job_fn *run);

/* Runs the job at the end of this or at the next iteration; deferring twice is once. */
void hf_job_defer(struct hf_loop *loop, struct hf_job *job);
void hf_job_cancel(struct hf_job *job);

#endif
