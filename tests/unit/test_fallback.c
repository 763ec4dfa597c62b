#include "policy/fallback.h"

#include "base/alloc.h"
#include "policy/jitter.h"
#include "policy/provider.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define PASS HF_BREAKER_PASS
#define PROBE HF_BREAKER_PROBE
#define STOP HF_BREAKER_STOP
#define NEVER HF_TIME_NEVER

enum { NO_LUCK = 1 /* no exploring */, EXPLORE = 0 };

struct row {
  enum hf_order order;
  unsigned preferred;
  uint64_t random;
  struct hf_candidate candidates[4];
  unsigned count;
  unsigned expected[4];
  unsigned then_preferred;
};

static void fallback__orders(void **state) {
  (void)state;
  static const struct row rows[] = {
      {HF_ORDER_PRIORITY, 0, 1, {{PASS, NEVER, 1}}, 1, {0}, 0},
      {HF_ORDER_PRIORITY, 2, 0, {{PASS, 9, 1}, {PASS, 1, 9}, {PASS, 5, 1}}, 3, {0, 1, 2}, 0},
      {HF_ORDER_PRIORITY, 0, 1, {{STOP, 9, 1}, {PASS, 1, 9}, {PASS, 5, 1}}, 3, {1, 2, 0}, 1},
      {HF_ORDER_PRIORITY, 0, 1, {{STOP, 9, 1}, {STOP, 1, 9}, {PASS, 5, 1}}, 3, {2, 0, 1}, 2},
      {HF_ORDER_PRIORITY, 1, 1, {{STOP, 9, 1}, {STOP, 1, 9}, {STOP, 5, 1}}, 3, {0, 1, 2}, 1},
      {HF_ORDER_PRIORITY, 1, 1, {{PROBE, 9, 1}, {PASS, 1, 9}}, 2, {0, 1}, 0}, /* this call is the probe */

      {HF_ORDER_LATENCY, 0, NO_LUCK, {{PASS, 900, 1}, {PASS, 100, 1}, {PASS, 500, 1}}, 3, {1, 2, 0}, 1},
      {HF_ORDER_LATENCY, 0, NO_LUCK, {{PASS, 900, 1}, {PASS, NEVER, 1}, {PASS, 500, 1}}, 3, {2, 0, 1}, 2},
      {HF_ORDER_LATENCY, 2, NO_LUCK, {{PASS, NEVER, 1}, {PASS, NEVER, 1}, {PASS, NEVER, 1}}, 3, {0, 1, 2}, 0},
      {HF_ORDER_LATENCY, 0, NO_LUCK, {{STOP, 1, 1}, {PASS, 900, 1}, {PASS, 500, 1}}, 3, {2, 1, 0}, 2},
      {HF_ORDER_LATENCY, 1, NO_LUCK, {{STOP, 1, 1}, {STOP, 2, 1}}, 2, {0, 1}, 1},
      /* A fifth faster takes the place, less does not. */
      {HF_ORDER_LATENCY, 0, NO_LUCK, {{PASS, 100, 1}, {PASS, 81, 1}}, 2, {0, 1}, 0},
      {HF_ORDER_LATENCY, 0, NO_LUCK, {{PASS, 100, 1}, {PASS, 80, 1}}, 2, {1, 0}, 1},
      {HF_ORDER_LATENCY, 1, NO_LUCK, {{PASS, 81, 1}, {PASS, 100, 1}, {PASS, 90, 1}}, 3, {1, 0, 2}, 1},
      {HF_ORDER_LATENCY, 1, NO_LUCK, {{PASS, 81, 1}, {STOP, 100, 1}, {PASS, 90, 1}}, 3, {0, 2, 1}, 0},
      {HF_ORDER_LATENCY, 1, NO_LUCK, {{PASS, 100, 1}, {PASS, NEVER, 1}}, 2, {0, 1}, 0},
      /* Another one for once, and the preferred one stays preferred. */
      {HF_ORDER_LATENCY, 0, EXPLORE, {{PASS, 100, 1}, {PASS, NEVER, 1}}, 2, {1, 0}, 0},
      {HF_ORDER_LATENCY, 0, EXPLORE, {{PASS, 100, 1}, {PASS, 200, 1}, {PROBE, 300, 1}}, 3, {2, 0, 1}, 0},
      {HF_ORDER_LATENCY, 0, EXPLORE, {{PASS, 100, 1}, {PASS, 200, 1}, {PASS, NEVER, 1}}, 3, {2, 0, 1}, 0},
      {HF_ORDER_LATENCY, 0, EXPLORE, {{PASS, 100, 1}, {PASS, 200, 1}, {PASS, 300, 1}}, 3, {1, 0, 2}, 0},
      {HF_ORDER_LATENCY, 0, EXPLORE, {{PASS, 100, 1}, {STOP, NEVER, 1}}, 2, {0, 1}, 0},

      {HF_ORDER_SPLIT, 0, 0, {{PASS, 1, 1}, {PASS, 1, 5}, {PASS, 1, 3}}, 3, {1, 2, 0}, 1},
      {HF_ORDER_SPLIT, 0, UINT64_MAX, {{PASS, 1, 1}, {PASS, 1, 5}, {PASS, 1, 3}}, 3, {0, 1, 2}, 0},
      {HF_ORDER_SPLIT, 0, UINT64_MAX / 9 * 6, {{PASS, 1, 1}, {PASS, 1, 5}, {PASS, 1, 3}}, 3, {2, 1, 0}, 2},
      {HF_ORDER_SPLIT, 0, 0, {{PASS, 1, 1}, {STOP, 1, 5}, {PASS, 1, 3}}, 3, {2, 0, 1}, 2},
      {HF_ORDER_SPLIT, 0, UINT64_MAX, {{PASS, 1, 0}, {PASS, 1, 5}}, 2, {1, 0}, 1}, /* no weight: only as a fallback */
      {HF_ORDER_SPLIT, 0, UINT64_MAX, {{PASS, 1, 0}, {PASS, 1, 0}}, 2, {0, 1}, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const struct row *r = &rows[i];
    unsigned order[4] = {9, 9, 9, 9};
    unsigned preferred = hf_fallback_order(r->order, r->candidates, r->count, r->preferred, r->random, order);
    if (preferred != r->then_preferred)
      print_error("row %zu: preferred %u\n", i, preferred);
    assert_int_equal(preferred, r->then_preferred);
    for (unsigned k = 0; k < r->count; k++) {
      if (order[k] != r->expected[k])
        print_error("row %zu, place %u: %u\n", i, k, order[k]);
      assert_int_equal(order[k], r->expected[k]);
    }
  }
}

static void fallback__splits_by_weight(void **state) {
  (void)state;
  const struct hf_candidate candidates[] = {{PASS, 1, 10}, {PASS, 1, 60}, {STOP, 1, 1000}, {PROBE, 1, 30}};
  unsigned first[4] = {0};
  uint64_t random = 1;
  for (int i = 0; i < 10000; i++) {
    unsigned order[4];
    hf_fallback_order(HF_ORDER_SPLIT, candidates, 4, 0, hf_jitter_next(&random), order);
    first[order[0]]++;
    assert_int_equal(order[3], 2);
  }
  assert_in_range(first[0], 900, 1100);
  assert_in_range(first[1], 5800, 6200);
  assert_in_range(first[3], 2800, 3200);
}

static void fallback__explores_a_small_share(void **state) {
  (void)state;
  const struct hf_candidate candidates[] = {{PASS, 100, 1}, {PASS, 300, 1}, {PASS, 200, 1}};
  unsigned first[3] = {0};
  uint64_t random = 1;
  unsigned preferred = 0;
  for (int i = 0; i < 10000; i++) {
    unsigned order[3];
    preferred = hf_fallback_order(HF_ORDER_LATENCY, candidates, 3, preferred, hf_jitter_next(&random), order);
    assert_int_equal(preferred, 0);
    first[order[0]]++;
  }
  assert_in_range(first[0], 9400, 9600);
  assert_in_range(first[1], 200, 300);
  assert_in_range(first[2], 200, 300);
}

/* A route of two real providers, of which the preferred one is out for a while. */
struct route {
  struct hf_provider *providers[2];
  struct hf_provider_tool *tools[2];
  hf_time now;
};

static void make(struct route *route) {
  struct hf_provider_options options = HF_PROVIDER_OPTIONS_INIT;
  options.probe_timeout = 0;
  *route = (struct route){0};
  for (int i = 0; i < 2; i++) {
    struct hf_provider_actions out;
    route->providers[i] = hf_provider_new(&options, 1, 0);
    assert_int_equal(hf_provider_tool_get(route->providers[i], HF_STR("t"), &options.breaker, &route->tools[i]), 0);
    hf_provider_step(route->providers[i], &(struct hf_provider_event){.kind = HF_PROVIDER_UPSTREAM_READY}, 0, &out);
  }
}

static unsigned first_of(const struct route *route) {
  struct hf_candidate candidates[2] = {{.latency = NEVER}, {.latency = NEVER}};
  for (int i = 0; i < 2; i++)
    candidates[i].gate = hf_provider_gate(route->providers[i], route->tools[i], route->now);
  unsigned order[2];
  hf_fallback_order(HF_ORDER_PRIORITY, candidates, 2, 0, 1, order);
  return order[0];
}

static struct hf_permit go(struct route *route, unsigned to, struct hf_waiter *waiter) {
  struct hf_provider_actions out;
  *waiter = (struct hf_waiter){.tool = route->tools[to], .until = route->now + HF_SECONDS(50), .lease = HF_SECONDS(20)};
  struct hf_provider_event event = {.kind = HF_PROVIDER_ACQUIRE, .waiter = waiter};
  assert_int_equal(hf_provider_step(route->providers[to], &event, route->now, &out), 0);
  assert_int_equal(out.items[0].kind, HF_PROVIDER_GRANT); /* the order is right: nobody is refused */
  return out.items[0].permit;
}

static void back(struct route *route, unsigned from, struct hf_permit permit, bool good) {
  struct hf_provider_actions out;
  struct hf_provider_event event = {.kind = HF_PROVIDER_REPORT};
  event.report.tool = route->tools[from];
  event.report.report = (struct hf_report){
      .permit = permit, .blame = good ? HF_BLAME_SUCCESS : HF_BLAME_TOOL, .retry_after = -1, .latency = -1};
  hf_provider_step(route->providers[from], &event, route->now, &out);
}

/* Ten calls a second, each half a second long, so that others come while a probe is out. */
static void fallback__goes_back_to_the_preferred_one_when_its_breaker_closes(void **state) {
  (void)state;
  enum { CALLS = 600, IN_FLIGHT = 5 };
  struct route route;
  make(&route);
  struct hf_waiter waiters[IN_FLIGHT];
  struct hf_permit permits[IN_FLIGHT];
  unsigned to[IN_FLIGHT], last = 0, changes = 0, failures = 0, alone = 0;
  hf_time back_at = 0;
  for (int i = 0; i < CALLS + IN_FLIGHT; i++) {
    route.now = HF_MS(100) * i;
    bool out = route.now >= HF_SECONDS(10) && route.now < HF_SECONDS(40);
    int slot = i % IN_FLIGHT;
    if (i >= IN_FLIGHT) {
      bool good = to[slot] == 1 || !out;
      back(&route, to[slot], permits[slot], good);
      failures += !good;
    }
    if (i >= CALLS)
      continue;
    to[slot] = first_of(&route);
    permits[slot] = go(&route, to[slot], &waiters[slot]);
    if (to[slot] == 0 && permits[slot].tool_probe)
      alone++;
    changes += to[slot] != last && !permits[slot].tool_probe;
    if (last == 1 && to[slot] == 0 && !permits[slot].tool_probe)
      back_at = route.now;
    if (!permits[slot].tool_probe)
      last = to[slot];
  }
  assert_int_equal(changes, 2); /* away once, and back once */
  assert_in_range(alone, 2, 4);
  assert_true(failures <= 5 + IN_FLIGHT - 1 + alone - 1); /* the trip, what was in flight, probes that failed */
  assert_in_range(back_at, HF_SECONDS(40), HF_SECONDS(52));
  for (int i = 0; i < 2; i++)
    hf_provider_unref(route.providers[i]);
}

/* The greatest numbers that explore: they draw the last of those there are. */
static void fallback__explores_those_that_are_not_known(void **state) {
  (void)state;
  static const uint64_t last = UINT64_MAX / 20 * 20;
  static const struct row rows[] = {
      {HF_ORDER_LATENCY, 0, 19, {{PASS, 100, 1}, {PASS, NEVER, 1}}, 2, {0, 1}, 0},
      {HF_ORDER_LATENCY, 0, 20, {{PASS, 100, 1}, {PASS, NEVER, 1}}, 2, {1, 0}, 0},
      {HF_ORDER_LATENCY, 0, 21, {{PASS, 100, 1}, {PASS, NEVER, 1}}, 2, {0, 1}, 0},
      {HF_ORDER_LATENCY, 0, last, {{PASS, 100, 1}, {PASS, NEVER, 1}, {PASS, NEVER, 1}}, 3, {2, 0, 1}, 0},
      {HF_ORDER_LATENCY, 0, EXPLORE, {{PASS, 100, 1}, {PASS, NEVER, 1}, {PASS, NEVER, 1}}, 3, {1, 0, 2}, 0},
      {HF_ORDER_LATENCY, 0, last, {{PASS, 100, 1}, {PASS, 200, 1}, {PASS, 300, 1}}, 3, {2, 0, 1}, 0},
      {HF_ORDER_LATENCY, 0, last, {{PASS, 100, 1}, {PROBE, 200, 1}, {PASS, 300, 1}}, 3, {1, 0, 2}, 0},
      {HF_ORDER_LATENCY, 0, EXPLORE, {{PROBE, 100, 1}, {PASS, 200, 1}, {PASS, NEVER, 1}}, 3, {2, 0, 1}, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const struct row *row = &rows[i];
    unsigned order[4];
    unsigned preferred = hf_fallback_order(row->order, row->candidates, row->count, row->preferred, row->random, order);
    assert_int_equal(preferred, row->then_preferred);
    for (unsigned j = 0; j < row->count; j++)
      assert_int_equal(order[j], row->expected[j]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fallback__orders),
      cmocka_unit_test(fallback__splits_by_weight),
      cmocka_unit_test(fallback__explores_a_small_share),
      cmocka_unit_test(fallback__goes_back_to_the_preferred_one_when_its_breaker_closes),
      cmocka_unit_test(fallback__explores_those_that_are_not_known),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
