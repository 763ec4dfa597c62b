#include "policy/queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { WAITERS = 4 };

struct fixture {
  struct hf_list queue;
  struct hf_waiter waiters[WAITERS];
};

/* Only told apart. */
static char tools[2];

static struct hf_provider_tool *tool(int number) {
  return (struct hf_provider_tool *)(void *)&tools[number];
}

static struct hf_waiter waiter(unsigned priority, hf_time queued_at, int of, hf_time full_since) {
  return (struct hf_waiter){.priority = priority, .queued_at = queued_at, .tool = tool(of), .full_since = full_since};
}

/* 0: first; 1: of the other tool; 2: waits for something else; 3: last */
static void fill(struct fixture *f) {
  hf_list_init(&f->queue);
  f->waiters[0] = waiter(2, 100, 0, 100);
  f->waiters[1] = waiter(3, 200, 1, 200);
  f->waiters[2] = waiter(3, 300, 0, HF_TIME_NEVER);
  f->waiters[3] = waiter(5, 400, 0, 400);
  for (int i = 0; i < WAITERS; i++)
    hf_list_push_back(&f->queue, &f->waiters[i].node);
}

static void queue__places(void **state) {
  (void)state;
  static const struct {
    unsigned priority;
    hf_time queued_at;
    int before; /* which waiter; 4: the end */
    unsigned ahead, ahead_of_tool;
  } rows[] = {
      {1, 500, 0, 0, 0}, {2, 500, 1, 1, 1}, {3, 500, 3, 2, 1}, {4, 500, 3, 2, 1},           {5, 500, 4, 3, 2},
      {0, 500, 3, 2, 1}, {2, 100, 1, 1, 1}, {2, 99, 0, 0, 0},  {1, HF_SECONDS(9), 4, 3, 2},
  };
  struct fixture f;
  fill(&f);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct hf_waiter w = waiter(rows[i].priority, rows[i].queued_at, 0, HF_TIME_NEVER);
    struct hf_queue_place place = hf_queue_find(&f.queue, &w);
    struct hf_list *expected = rows[i].before < WAITERS ? &f.waiters[rows[i].before].node : &f.queue;
    assert_ptr_equal(place.next, expected);
    assert_int_equal(place.ahead, rows[i].ahead);
    assert_int_equal(place.ahead_of_tool, rows[i].ahead_of_tool);
  }
}

static void queue__last_gives_way_only_to_who_goes_before_it(void **state) {
  (void)state;
  struct fixture f;
  fill(&f);
  struct hf_waiter w = waiter(4, 500, 0, HF_TIME_NEVER);
  assert_ptr_equal(hf_queue_last_after(&f.queue, &w), &f.waiters[3]);
  w = waiter(5, 400, 0, HF_TIME_NEVER);
  assert_null(hf_queue_last_after(&f.queue, &w));
  hf_list_init(&f.queue);
  assert_null(hf_queue_last_after(&f.queue, &w));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(queue__places),
      cmocka_unit_test(queue__last_gives_way_only_to_who_goes_before_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
