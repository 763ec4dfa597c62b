#include "gateway/loop.h"

#include "base/error.h"

void hf_loop_init(struct hf_loop *loop, uint64_t seed, struct hf_log *log) {
  *loop = (struct hf_loop){.log = log, .turn_began = HF_TIME_NEVER};
  hf_heap_init(&loop->timers);
  hf_list_init(&loop->jobs);
  hf_random_init(&loop->random, seed);
}

void hf_loop_deinit(struct hf_loop *loop) {
  hf_heap_deinit(&loop->timers);
}

static void run_jobs(struct hf_loop *loop) {
  while (!hf_list_empty(&loop->jobs)) {
    struct hf_job *job = HF_CONTAINER_OF(loop->jobs.next, struct hf_job, link);
    hf_list_remove(&job->link);
    job->run(job);
  }
}

void hf_loop_advance(struct hf_loop *loop, hf_time now, int64_t wall_ms) {
  loop->now = hf_time_max(loop->now, now);
  loop->wall_ms = wall_ms;
  if (loop->turn_began == HF_TIME_NEVER)
    loop->turn_began = loop->now;
}

void hf_loop_turn_ended(struct hf_loop *loop, hf_time now) {
  if (loop->turn_began != HF_TIME_NEVER)
    loop->longest_turn = hf_time_max(loop->longest_turn, now - loop->turn_began);
  loop->turn_began = HF_TIME_NEVER;
}

void hf_loop_run(struct hf_loop *loop, hf_time now, int64_t wall_ms) {
  hf_loop_advance(loop, now, wall_ms);
  run_jobs(loop);
  struct hf_heap_node *top;
  while ((top = hf_heap_top(&loop->timers)) && top->at <= loop->now) {
    struct hf_timer *timer = HF_CONTAINER_OF(top, struct hf_timer, node);
    hf_heap_remove(&loop->timers, top);
    timer->fire(timer);
    run_jobs(loop);
  }
}

hf_time hf_loop_next(const struct hf_loop *loop) {
  if (!hf_list_empty(&loop->jobs))
    return loop->now;
  const struct hf_heap_node *top = hf_heap_top(&loop->timers);
  return top ? top->at : HF_TIME_NEVER;
}

int hf_timer_init(struct hf_loop *loop, struct hf_timer *timer, hf_timer_fn *fire) {
  *timer = (struct hf_timer){0};
  size_t wanted = loop->timer_count + 1;
  if (wanted > loop->timers.len && hf_heap_reserve(&loop->timers, wanted - loop->timers.len) < 0)
    return HF_ERR_NOMEM;
  timer->fire = fire;
  loop->timer_count = wanted;
  return 0;
}

void hf_timer_deinit(struct hf_loop *loop, struct hf_timer *timer) {
  if (!timer->fire)
    return;
  hf_heap_remove(&loop->timers, &timer->node);
  timer->fire = NULL;
  loop->timer_count--;
}

void hf_timer_set(struct hf_loop *loop, struct hf_timer *timer, hf_time at) {
  if (at == HF_TIME_NEVER)
    hf_heap_remove(&loop->timers, &timer->node);
  else
    (void)hf_heap_set(&loop->timers, &timer->node, at); /* cannot fail: its place was reserved */
}

void hf_timer_stop(struct hf_loop *loop, struct hf_timer *timer) {
  hf_heap_remove(&loop->timers, &timer->node);
}

void hf_job_init(struct hf_job *job, hf_job_fn *run) {
  hf_list_init(&job->link);
  job->run = run;
}

void hf_job_defer(struct hf_loop *loop, struct hf_job *job) {
  if (hf_list_empty(&job->link))
    hf_list_push_back(&loop->jobs, &job->link);
}

void hf_job_cancel(struct hf_job *job) {
  hf_list_remove(&job->link);
}
