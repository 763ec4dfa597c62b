#include "base/clock.h"

#include <time.h>

hf_time hf_clock_now(void) {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return HF_SECONDS(ts.tv_sec) + ts.tv_nsec / 1000;
}

int64_t hf_clock_wall_ms(void) {
  struct timespec ts;
  clock_gettime(CLOCK_REALTIME, &ts);
  return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}
