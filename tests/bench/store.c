/* What the store costs the loop's thread for a question with its answer, and how many are written in a second, with
 * some always under way. On a real disk, so that the syncs count. Usage: bench_store [DIRECTORY] */
#include "store/store.h"
#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

enum { TOTAL = 20000, ARGUMENT_BYTES = 500 };

struct bench;

struct slot {
  struct hf_store_wait wait;
  struct bench *bench;
  unsigned number;
};

struct bench {
  uv_loop_t uv;
  struct hf_loop loop;
  struct hf_store *store;
  bool letters;
  unsigned asked;
  unsigned answered;
  unsigned failed;
  char arguments[ARGUMENT_BYTES];
};

static void ask(struct slot *slot) {
  struct bench *bench = slot->bench;
  char call[16];
  slot->number = bench->asked++;
  int len = snprintf(call, sizeof call, "c-%u", slot->number);
  const struct hf_str id = {call, (size_t)len};
  const struct hf_str arguments = {bench->arguments, sizeof bench->arguments};
  struct hf_fingerprint fingerprint = {{0}};
  memcpy(fingerprint.byte, &slot->number, sizeof slot->number);
  if (bench->letters) {
    const struct hf_letter letter = {.call = id,
                                     .tool = HF_STR("orders__create"),
                                     .executed = HF_STR("maybe"),
                                     .arguments = arguments,
                                     .attempts = HF_STR("[]"),
                                     .fingerprint = fingerprint};
    bench->store->ops->bury(bench->store, &letter, &slot->wait);
  } else {
    const struct hf_intent intent = {.call = id,
                                     .tool = HF_STR("orders__create"),
                                     .server = HF_STR("orders"),
                                     .arguments = arguments,
                                     .fingerprint = fingerprint};
    bench->store->ops->intend(bench->store, &intent, &slot->wait);
  }
}

static void on_done(struct hf_store_wait *wait, int error, struct hf_str id) {
  (void)id;
  struct slot *slot = HF_CONTAINER_OF(wait, struct slot, wait);
  struct bench *bench = slot->bench;
  bench->answered++;
  bench->failed += error < 0;
  if (!bench->letters) {
    char call[16];
    int len = snprintf(call, sizeof call, "c-%u", slot->number);
    bench->store->ops->settle(bench->store, (struct hf_str){call, (size_t)len});
  }
  if (bench->asked < TOTAL)
    ask(slot);
}

static double cpu_seconds(void) {
  struct timespec ts;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
  return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static int run(const char *path, bool letters, unsigned in_flight) {
  struct bench *bench = calloc(1, sizeof *bench);
  struct slot *slots = calloc(in_flight, sizeof *slots);
  if (!bench || !slots)
    return 1;
  const struct hf_store_settings settings = {.max_age = HF_TIME_NEVER, .queue = 4096};
  uv_loop_init(&bench->uv);
  hf_loop_init(&bench->loop, 1, NULL);
  memset(bench->arguments, ' ', sizeof bench->arguments);
  memcpy(bench->arguments, "{}", 2);
  bench->letters = letters;
  const struct hf_store_options options = {.uv = &bench->uv, .loop = &bench->loop, .path = path, .settings = &settings};
  struct hf_error error = {0};
  if (hf_store_new(&options, &bench->store, &error) < 0) {
    fprintf(stderr, "%s\n", error.text);
    return 1;
  }
  const hf_time began = hf_clock_now();
  const double cpu_began = cpu_seconds();
  for (unsigned i = 0; i < in_flight; i++) {
    slots[i] = (struct slot){.wait = {.done = on_done}, .bench = bench};
    ask(&slots[i]);
  }
  while (bench->answered < TOTAL)
    uv_run(&bench->uv, UV_RUN_ONCE);
  const double seconds = (double)(hf_clock_now() - began) / 1e6;
  printf("%-8s %4u in flight: %7.0f a second, %5.2f us of the loop's CPU for each, %u failed\n",
         letters ? "letters" : "intents", in_flight, TOTAL / seconds, (cpu_seconds() - cpu_began) / TOTAL * 1e6,
         bench->failed);
  hf_store_free(bench->store);
  uv_run(&bench->uv, UV_RUN_DEFAULT);
  uv_loop_close(&bench->uv);
  hf_loop_deinit(&bench->loop);
  free(slots);
  free(bench);
  return 0;
}

int main(int argc, char **argv) {
  char dir[256];
  char path[300];
  int len = snprintf(dir, sizeof dir, "%s/holdfast-bench-XXXXXX", argc > 1 ? argv[1] : ".");
  if (len < 0 || (size_t)len >= sizeof dir || !mkdtemp(dir) || snprintf(path, sizeof path, "%s/holdfast.db", dir) < 0)
    return 1;
  static const unsigned in_flight[] = {1, 16, 256};
  int r = 0;
  for (size_t i = 0; i < 6 && r == 0; i++) {
    r = run(path, i >= 3, in_flight[i % 3]);
    static const char *const suffixes[] = {"", "-wal", "-shm", "-owners"};
    for (size_t j = 0; j < 4; j++) {
      char file[310];
      if (snprintf(file, sizeof file, "%s%s", path, suffixes[j]) > 0)
        (void)unlink(file);
    }
  }
  (void)rmdir(dir);
  return r;
}
