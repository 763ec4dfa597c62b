#include "gateway/letter/replay.h"

#include "base/alloc.h"
#include "gateway/letter/replay_state.h"
#include "gateway/outcome.h"
#include "json/value.h"
#include "json/write.h"

enum { TEXTS_MAX = 1 << 20, LINE_MAX = 8192, RAMP_PARTS = 10 };

static const char *const ends[HF_REPLAY_END_COUNT] = {"replayed", "ran", "failed", "refused", "would_replay"};

static struct hf_str shown(struct hf_str s, size_t max) {
  return (struct hf_str){s.ptr, s.len < max ? s.len : max};
}

void hf_replay_tell(struct hf_replay *replay, const struct hf_letter *letter, const char *what, const char *why,
                    struct hf_str call) {
  enum { SHOWN_MAX = 200 };
  if (!replay->ops)
    return;
  struct hf_buf line;
  struct hf_json_writer w;
  hf_buf_init(&line, LINE_MAX);
  hf_json_writer_init(&w, &line);
  hf_json_write_object(&w);
  hf_json_write_member_str(&w, "letter", shown(letter->id, SHOWN_MAX));
  if (letter->tool.ptr)
    hf_json_write_member_str(&w, "tool", shown(letter->tool, SHOWN_MAX));
  hf_json_write_member_str(&w, "what", hf_str_from(what));
  if (why && why[0])
    hf_json_write_member_str(&w, "why", hf_str_from(why));
  if (call.ptr)
    hf_json_write_member_str(&w, "call", call);
  if (letter->executed.ptr)
    hf_json_write_member_str(&w, "executed", letter->executed);
  unsigned done = 0;
  for (int i = 0; i < HF_REPLAY_END_COUNT; i++)
    done += replay->ends[i];
  hf_json_write_member_int(&w, "done", done);
  hf_json_write_member_int(&w, "total", (int64_t)replay->id_count);
  hf_json_write_object_end(&w);
  if (hf_json_write_finish(&w) == 0)
    replay->ops->progress(replay->ctx, hf_buf_str(&line));
  hf_buf_deinit(&line);
}

static void finish(struct hf_replay *replay) {
  struct hf_buf line;
  struct hf_json_writer w;
  hf_buf_init(&line, LINE_MAX);
  hf_json_writer_init(&w, &line);
  hf_json_write_object(&w);
  hf_json_write_member_int(&w, "total", (int64_t)replay->id_count);
  for (int i = 0; i < HF_REPLAY_WOULD; i++)
    hf_json_write_member_int(&w, ends[i], replay->ends[i]);
  hf_json_write_member_int(&w, "left", (int64_t)(replay->id_count - replay->next));
  if (replay->error < 0)
    hf_json_write_member_str(&w, "stopped", hf_str_from(hf_err_text(replay->error)));
  else if (replay->stopped)
    hf_json_write_member_str(&w, "stopped", hf_str_from(replay->stopped));
  hf_json_write_object_end(&w);
  bool whole = hf_json_write_finish(&w) == 0;
  struct hf_loop *loop = replay->gateway->loop;
  hf_log_event(
      loop->log, HF_LOG_INFO, "replay ended", HF_LOG_INT("letters", (int64_t)replay->id_count),
      HF_LOG_INT("replayed", replay->ends[HF_REPLAY_REPLAYED]), HF_LOG_INT("failed", replay->ends[HF_REPLAY_FAILED]),
      HF_LOG_INT("refused", replay->ends[HF_REPLAY_REFUSED]), HF_LOG_STR("stopped", hf_str_from(replay->stopped)));
  const struct hf_replay_ops *ops = replay->ops;
  replay->ops = NULL;
  if (ops)
    ops->done(replay->ctx, whole ? hf_buf_str(&line) : HF_STR("{}")); /* may free the replay */
  hf_buf_deinit(&line);
}

/* How far the ramp has come, in tenths. */
static unsigned ramp(const struct hf_replay *replay) {
  hf_time gone = replay->gateway->loop->now - replay->began;
  if (gone >= replay->options.ramp_up)
    return RAMP_PARTS;
  return (unsigned)(gone * RAMP_PARTS / replay->options.ramp_up);
}

static unsigned allowed(const struct hf_replay *replay) {
  return 1 + (replay->options.concurrency - 1) * ramp(replay) / RAMP_PARTS;
}

static hf_time next_start(const struct hf_replay *replay) {
  if (replay->last_start == HF_TIME_NEVER)
    return replay->gateway->loop->now;
  unsigned part = ramp(replay);
  return hf_time_add(replay->last_start, replay->options.interval * RAMP_PARTS / (part ? part : 1));
}

static void start_some(struct hf_replay *replay) {
  hf_time now = replay->gateway->loop->now;
  hf_time wait = HF_TIME_NEVER;
  if (replay->gateway->draining && !replay->stopped)
    replay->stopped = "the gateway is shutting down";
  while (!replay->stopped && replay->next < replay->id_count && replay->active < allowed(replay)) {
    wait = next_start(replay);
    if (wait > now)
      break;
    wait = HF_TIME_NEVER;
    const char *id = replay->ids[replay->id_count - 1 - replay->next].text;
    if (hf_replay_item_start(replay, id) < 0) {
      hf_replay_stop(replay, "out of memory");
      break;
    }
    replay->next++;
    replay->last_start = now;
  }
  bool ramping = replay->options.ramp_up && ramp(replay) < RAMP_PARTS && replay->next < replay->id_count;
  if (ramping && !replay->stopped)
    wait = hf_time_min(wait, hf_time_add(now, replay->options.ramp_up / RAMP_PARTS + 1));
  hf_timer_set(replay->gateway->loop, &replay->timer, wait);
}

static void run(struct hf_job *job) {
  struct hf_replay *replay = HF_CONTAINER_OF(job, struct hf_replay, job);
  if (!replay->ops || replay->querying)
    return;
  start_some(replay);
  if (replay->active == 0 && (replay->stopped || replay->next == replay->id_count))
    finish(replay);
}

static void on_due(struct hf_timer *timer) {
  run(&HF_CONTAINER_OF(timer, struct hf_replay, timer)->job);
}

static void look_for_spike(struct hf_replay *replay) {
  unsigned failures = (unsigned)__builtin_popcount(replay->recent & ((1U << HF_REPLAY_WINDOW) - 1));
  if (replay->options.stop_percent && replay->recent_count >= HF_REPLAY_WINDOW &&
      failures * 100 > replay->options.stop_percent * HF_REPLAY_WINDOW)
    hf_replay_stop(replay, "too many of the last letters failed");
}

void hf_replay_ended(struct hf_replay_item *item) {
  struct hf_replay *replay = item->replay;
  char id[HF_CALL_ID_MAX];
  replay->ends[item->end]++;
  replay->active--;
  if (item->end == HF_REPLAY_REPLAYED || item->end == HF_REPLAY_FAILED) {
    replay->recent = replay->recent << 1 | (item->end == HF_REPLAY_FAILED);
    replay->recent_count++;
  }
  item->letter.id = hf_str_from(item->id);
  if (item->executed)
    item->letter.executed = hf_str_from(item->executed);
  hf_replay_tell(replay, &item->letter, ends[item->end], item->why[0] ? item->why : item->repeat.why,
                 item->number ? hf_outcome_id_of(item->number, id) : (struct hf_str){NULL, 0});
  hf_replay_item_free(item);
  look_for_spike(replay);
  hf_job_defer(replay->gateway->loop, &replay->job);
}

static void put_id(struct hf_replay_id *id, struct hf_str text) {
  *id = (struct hf_replay_id){{0}};
  memcpy(id->text, text.ptr, text.len);
}

static void on_row(void *ctx, const struct hf_letter *letter) {
  struct hf_replay *replay = ctx;
  if (replay->error < 0 || letter->id.len >= HF_LETTER_ID_MAX)
    return;
  if (replay->id_count == replay->id_cap) {
    size_t cap = replay->id_cap ? replay->id_cap * 2 : 16;
    struct hf_replay_id *ids = hf_realloc(replay->ids, cap * sizeof *ids);
    if (!ids) {
      replay->error = HF_ERR_NOMEM;
      return;
    }
    replay->ids = ids;
    replay->id_cap = cap;
  }
  put_id(&replay->ids[replay->id_count++], letter->id);
}

static void begin(struct hf_replay *replay) {
  replay->began = replay->gateway->loop->now;
  hf_job_defer(replay->gateway->loop, &replay->job);
}

static void on_rows(struct hf_store_query *query, int error) {
  struct hf_replay *replay = HF_CONTAINER_OF(query, struct hf_replay, query);
  replay->querying = false;
  if (replay->error == 0)
    replay->error = error;
  if (replay->error < 0)
    replay->stopped = "the letters could not be read";
  begin(replay);
}

static bool is_object(struct hf_str raw) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.tree_depth = 1;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  bool yes = hf_json_scan_feed(&scan, raw.ptr, raw.len, true) == 0 && scan.nodes[0].type == HF_JSON_OBJECT;
  hf_json_scan_deinit(&scan);
  return yes;
}

/* Absent texts stay absent. Returns false when out of memory. */
static bool keep(struct hf_replay *replay, struct hf_str *text) {
  if (!text->ptr)
    return true;
  *text = hf_arena_copy(&replay->arena, *text);
  return text->ptr != NULL;
}

static bool keep_ids(struct hf_replay *replay, const struct hf_replay_options *options) {
  if (options->id_count == 0)
    return true;
  replay->ids = hf_calloc(options->id_count, sizeof *replay->ids);
  if (!replay->ids)
    return false;
  replay->id_count = replay->id_cap = options->id_count;
  for (size_t i = 0; i < options->id_count; i++)
    put_id(&replay->ids[options->id_count - 1 - i], options->ids[i]);
  replay->options.ids = NULL;
  return true;
}

static bool keep_options(struct hf_replay *replay, const struct hf_replay_options *options) {
  replay->options = *options;
  struct hf_letter_filter *filter = &replay->options.filter;
  if (filter->id.ptr)
    filter->any_status = true;
  if (!filter->any_status)
    filter->status = HF_LETTER_DEAD;
  if (replay->options.concurrency == 0)
    replay->options.concurrency = 1;
  if (options->dry_run)
    replay->options.interval = replay->options.ramp_up = 0;
  return keep_ids(replay, options) && keep(replay, &filter->id) && keep(replay, &filter->tool) &&
         keep(replay, &filter->provider) && keep(replay, &filter->reason) && keep(replay, &filter->fingerprint) &&
         keep(replay, &replay->options.patch) && keep(replay, &replay->options.by);
}

static bool ids_are_good(const struct hf_replay_options *options) {
  const struct hf_letter_filter *f = &options->filter;
  bool filtered = f->id.ptr || f->tool.ptr || f->provider.ptr || f->reason.ptr || f->fingerprint.ptr || f->since_ms ||
                  f->until_ms || f->priority || f->limit;
  bool good = options->id_count == 0 || (options->id_count <= HF_REPLAY_IDS_MAX && !filtered);
  for (size_t i = 0; good && i < options->id_count; i++)
    good = options->ids[i].len > 0 && options->ids[i].len < HF_LETTER_ID_MAX;
  return good;
}

static void find_letters(struct hf_replay *replay) {
  struct hf_store *store = replay->gateway->store;
  replay->query = (struct hf_store_query){.row = on_row, .done = on_rows, .ctx = replay};
  replay->querying = true;
  store->ops->letters(store, &replay->options.filter, &replay->query);
}

int hf_replay_start(struct hf_gateway *gateway, const struct hf_replay_options *options,
                    const struct hf_replay_ops *ops, void *ctx, struct hf_replay **ret_replay) {
  if (!gateway->store)
    return HF_ERR_UNSUPPORTED;
  if (options->concurrency > HF_REPLAY_CONCURRENCY_MAX || (options->reconcile && options->executed_no) ||
      options->interval < 0 || options->interval > HF_SECONDS(86400) || options->ramp_up < 0 ||
      options->ramp_up > HF_SECONDS(86400) || (options->patch.ptr && !is_object(options->patch)) ||
      !ids_are_good(options))
    return HF_ERR_INVALID;
  struct hf_replay *replay = hf_calloc(1, sizeof *replay);
  if (!replay)
    return HF_ERR_NOMEM;
  replay->gateway = gateway;
  replay->ops = ops;
  replay->ctx = ctx;
  replay->last_start = HF_TIME_NEVER;
  hf_list_init(&replay->link);
  hf_list_init(&replay->items);
  hf_job_init(&replay->job, run);
  hf_arena_init(&replay->arena, TEXTS_MAX);
  if (hf_timer_init(gateway->loop, &replay->timer, on_due) < 0) {
    hf_free(replay);
    return HF_ERR_NOMEM;
  }
  if (!keep_options(replay, options)) {
    hf_replay_free(replay);
    return HF_ERR_NOMEM;
  }
  hf_list_push_back(&gateway->replays, &replay->link);
  if (replay->id_count)
    begin(replay);
  else
    find_letters(replay);
  *ret_replay = replay;
  return 0;
}

void hf_replay_stop(struct hf_replay *replay, const char *why) {
  if (!replay->stopped)
    replay->stopped = why;
  hf_job_defer(replay->gateway->loop, &replay->job);
}

void hf_replay_free(struct hf_replay *replay) {
  if (!replay)
    return;
  struct hf_store *store = replay->gateway->store;
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &replay->items)
    hf_replay_item_free(HF_CONTAINER_OF(it, struct hf_replay_item, link));
  if (replay->querying)
    store->ops->forget_query(store, &replay->query);
  hf_list_remove(&replay->link);
  hf_timer_deinit(replay->gateway->loop, &replay->timer);
  hf_job_cancel(&replay->job);
  hf_arena_deinit(&replay->arena);
  hf_free(replay->ids);
  hf_free(replay);
}
