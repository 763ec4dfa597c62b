#include "policy/window.h"

void hf_window_init(struct hf_window *window, hf_time span) {
  *window = (struct hf_window){.width = hf_time_max(1, span / HF_WINDOW_BUCKETS)};
}

void hf_window_reset(struct hf_window *window) {
  *window = (struct hf_window){.width = window->width, .head = window->head};
}

static struct hf_window_counts *bucket(struct hf_window *window, int64_t number) {
  return &window->buckets[number % HF_WINDOW_BUCKETS];
}

/* Moves the head to now and clears what it passes over. */
static void rotate(struct hf_window *window, hf_time now) {
  int64_t number = hf_time_max(0, now) / window->width;
  if (number <= window->head)
    return;
  if (number - window->head >= HF_WINDOW_BUCKETS) {
    hf_window_reset(window);
    window->head = number;
    return;
  }
  while (window->head < number)
    *bucket(window, ++window->head) = (struct hf_window_counts){0};
}

void hf_window_add(struct hf_window *window, hf_time now, uint32_t failures) {
  rotate(window, now);
  struct hf_window_counts *head = bucket(window, window->head);
  head->calls++;
  head->failures += failures;
}

struct hf_window_counts hf_window_counts(struct hf_window *window, hf_time now) {
  rotate(window, now);
  struct hf_window_counts sum = {0};
  for (int i = 0; i < HF_WINDOW_BUCKETS; i++) {
    sum.calls += window->buckets[i].calls;
    sum.failures += window->buckets[i].failures;
  }
  return sum;
}
