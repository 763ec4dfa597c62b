#include "store/opening.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <string.h>

#define FIRST_PAUSE HF_SECONDS(1)
#define LAST_PAUSE HF_SECONDS(60)

struct hf_store_opening {
  struct hf_store_options options;
  struct hf_settings *config;
  char *path;
  const struct hf_store_opening_events *events;
  void *ctx;
  struct hf_timer timer;
  hf_time pause;
  struct hf_error why;
  bool abandoned; /* while it works: freed when that has ended */

  uv_work_t work;
  bool working;
  struct hf_store *store; /* while it works */
  int result;
  struct hf_error error;
};

static void release(struct hf_store_opening *opening) {
  hf_timer_deinit(opening->options.loop, &opening->timer);
  hf_settings_free(opening->config);
  hf_free(opening->path);
  hf_free(opening);
}

static void try_later(struct hf_store_opening *opening) {
  struct hf_loop *loop = opening->options.loop;
  hf_timer_set(loop, &opening->timer, hf_time_add(loop->now, opening->pause));
  opening->pause = hf_time_min(2 * opening->pause, LAST_PAUSE);
}

/* In a thread of the pool: the disk may take its time. */
static void work(uv_work_t *request) {
  struct hf_store_opening *opening = request->data;
  opening->result = hf_store_open(opening->store, &opening->options, &opening->error);
}

static void tell_failure(struct hf_store_opening *opening) {
  bool same = strcmp(opening->why.text, opening->error.text) == 0;
  opening->why = opening->error;
  if (!same)
    opening->events->failed(opening->ctx, opening->why.text);
}

static void on_worked(uv_work_t *request, int status) {
  struct hf_store_opening *opening = request->data;
  struct hf_store *store = opening->store;
  opening->working = false;
  opening->store = NULL;
  if (opening->abandoned) {
    hf_store_free(store);
    release(opening);
    return;
  }
  hf_loop_advance(opening->options.loop, hf_clock_now(), hf_clock_wall_ms());
  if (status == 0 && opening->result == 0) {
    opening->events->opened(opening->ctx, store);
    return;
  }
  hf_store_free(store);
  try_later(opening);
  if (status == 0)
    tell_failure(opening);
}

static void on_due(struct hf_timer *timer) {
  struct hf_store_opening *opening = HF_CONTAINER_OF(timer, struct hf_store_opening, timer);
  if (hf_store_make(&opening->options, &opening->store) < 0) {
    try_later(opening);
    return;
  }
  opening->error = (struct hf_error){0};
  opening->work.data = opening;
  opening->working = uv_queue_work(opening->options.uv, &opening->work, work, on_worked) == 0;
  if (opening->working)
    return;
  hf_store_free(opening->store);
  opening->store = NULL;
  try_later(opening);
}

int hf_store_opening_new(const struct hf_store_options *options, struct hf_settings *config, const char *why,
                         hf_time first_pause, const struct hf_store_opening_events *events, void *ctx,
                         struct hf_store_opening **ret_opening) {
  struct hf_store_opening *opening = hf_calloc(1, sizeof *opening);
  char *path = hf_strndup(options->path, strlen(options->path));
  if (!opening || !path || hf_timer_init(options->loop, &opening->timer, on_due) < 0) {
    hf_free(path);
    hf_free(opening);
    return HF_ERR_NOMEM;
  }
  opening->options = *options;
  opening->path = path;
  opening->options.path = path;
  opening->config = hf_settings_ref(config);
  opening->options.settings = &config->store;
  opening->events = events;
  opening->ctx = ctx;
  opening->pause = first_pause ? first_pause : FIRST_PAUSE;
  hf_error_set(&opening->why, HF_ERR_IO, "%s", why);
  try_later(opening);
  *ret_opening = opening;
  return 0;
}

void hf_store_opening_free(struct hf_store_opening *opening) {
  if (!opening)
    return;
  hf_timer_stop(opening->options.loop, &opening->timer);
  opening->abandoned = opening->working;
  if (!opening->working)
    release(opening);
  else
    (void)uv_cancel((uv_req_t *)&opening->work); /* not if it has begun */
}
