#include "gateway/observe/tally.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "json/write.h"

#include <assert.h>

enum { KEY_MAX = 512, HOUR_MS = 60 * 60 * 1000 };

/* What surrounds the arguments of a call in what a model writes, and an error text that it reads: averages. */
enum { FRAME_TOKENS = 12, ERROR_TOKENS = 60 };

static const hf_time flush_every = HF_SECONDS(10);

struct place {
  char text[HF_TALLY_PLACE_LEN_MAX];
  size_t len;
  uint64_t count;
};

/* A tool in an hour. */
struct row {
  struct hf_str server; /* in the map's key */
  struct hf_str tool;
  struct hf_counts counts;
  struct place places[HF_TALLY_PLACES_MAX];
  size_t place_count;
};

static void on_flush(struct hf_timer *timer) {
  hf_tally_flush(HF_CONTAINER_OF(timer, struct hf_tally, flush));
}

int hf_tally_init(struct hf_tally *tally, struct hf_loop *loop) {
  *tally = (struct hf_tally){.loop = loop};
  hf_map_init(&tally->rows, HF_TALLY_TOOLS_MAX + 1);
  return hf_timer_init(loop, &tally->flush, on_flush);
}

static void drop_rows(struct hf_tally *tally) {
  for (size_t i = 0; i < tally->rows.len; i++)
    hf_free(tally->rows.entries[i].value);
  hf_map_deinit(&tally->rows);
  hf_map_init(&tally->rows, HF_TALLY_TOOLS_MAX + 1);
}

void hf_tally_deinit(struct hf_tally *tally) {
  if (!tally->loop)
    return;
  hf_tally_flush(tally);
  drop_rows(tally);
  hf_map_deinit(&tally->rows);
  hf_timer_deinit(tally->loop, &tally->flush);
}

static struct row *add_row(struct hf_tally *tally, struct hf_str key, size_t server_len) {
  struct row *row = hf_calloc(1, sizeof *row);
  if (!row || hf_map_put(&tally->rows, key, row) < 0) {
    hf_free(row);
    return NULL;
  }
  const char *copy = tally->rows.entries[tally->rows.len - 1].key;
  row->server = (struct hf_str){copy, server_len};
  row->tool = (struct hf_str){copy + server_len + 1, key.len - server_len - 1};
  if (tally->rows.len == 1)
    hf_timer_set(tally->loop, &tally->flush, hf_time_add(tally->loop->now, flush_every));
  return row;
}

static struct row *find_row(struct hf_tally *tally, struct hf_str server, struct hf_str tool) {
  if (!server.ptr)
    server = HF_STR("_unknown");
  if (!tool.ptr)
    tool = HF_STR("_unknown");
  if (server.len + tool.len + 1 > KEY_MAX)
    server = tool = HF_STR("_other");
  char key[KEY_MAX];
  memcpy(key, server.ptr, server.len);
  key[server.len] = '\0';
  memcpy(key + server.len + 1, tool.ptr, tool.len);
  const struct hf_str whole = {key, server.len + 1 + tool.len};
  struct row *row = hf_map_get(&tally->rows, whole);
  if (row || tally->rows.len < HF_TALLY_TOOLS_MAX)
    return row ? row : add_row(tally, whole, server.len);
  row = hf_map_get(&tally->rows, HF_STR("_other\0_other"));
  return row ? row : add_row(tally, HF_STR("_other\0_other"), sizeof "_other" - 1);
}

static void count_place(struct row *row, struct hf_str pointer) {
  if (!pointer.ptr)
    return;
  const size_t len = hf_str_cut(pointer, HF_TALLY_PLACE_LEN_MAX).len;
  for (size_t i = 0; i < row->place_count; i++) {
    struct place *place = &row->places[i];
    if (place->len == len && memcmp(place->text, pointer.ptr, len) == 0) {
      place->count++;
      return;
    }
  }
  if (row->place_count == HF_TALLY_PLACES_MAX) {
    row->counts.elsewhere++;
    return;
  }
  struct place *place = &row->places[row->place_count++];
  memcpy(place->text, pointer.ptr, len);
  place->len = len;
  place->count = 1;
}

static bool put_right(const struct hf_tally_call *call) {
  const enum hf_correction how = call->notes->corrected;
  return call->renamed || (call->repairs && call->repairs->count > 0) || how == HF_CORRECTION_CLIENT ||
         how == HF_CORRECTION_MODEL;
}

static enum hf_count good_end(const struct hf_tally_call *call) {
  const struct hf_outcome *outcome = call->outcome;
  if (call->shared || outcome->source != HF_SOURCE_LIVE)
    return HF_COUNT_CACHED;
  if (put_right(call))
    return HF_COUNT_REPAIRED;
  if (call->first_fault == HF_FAULT_NONE)
    return HF_COUNT_FIRST;
  return outcome->provider > 0 ? HF_COUNT_FELL_BACK : HF_COUNT_RETRIED;
}

/* What a model has to write and read of a failure that it sees. */
static uint64_t failure_tokens(const struct hf_tally_call *call) {
  const size_t said = call->answer_tokens + call->notes->feedback_tokens;
  return FRAME_TOKENS + call->arguments_tokens + (said ? said : ERROR_TOKENS);
}

static void count_good(struct row *row, const struct hf_tally_call *call) {
  const enum hf_count end = good_end(call);
  row->counts.count[end]++;
  row->counts.count[HF_COUNT_RENAMED] += end == HF_COUNT_REPAIRED && call->renamed;
  if (end != HF_COUNT_CACHED)
    row->counts.recovered[call->first_fault]++;
  if (call->notes->misfit != HF_MISFIT_NONE)
    row->counts.count[HF_COUNT_WARNED]++;
  if (end == HF_COUNT_RETRIED || end == HF_COUNT_FELL_BACK || end == HF_COUNT_REPAIRED)
    row->counts.count[HF_COUNT_TOKENS_SAVED] += FRAME_TOKENS + ERROR_TOKENS + call->arguments_tokens;
}

static void count_bad(struct row *row, const struct hf_tally_call *call) {
  const struct hf_outcome *outcome = call->outcome;
  const enum hf_misfit_kind misfit = call->notes->misfit;
  if (outcome->end == HF_CALL_END_CHECKED)
    row->counts.count[HF_COUNT_CHECKED]++;
  else if (misfit != HF_MISFIT_NONE)
    row->counts.misfit[misfit]++;
  else
    row->counts.ended[outcome->fault]++;
  row->counts.count[HF_COUNT_STALE] += outcome->source == HF_SOURCE_CACHE;
  row->counts.count[HF_COUNT_DEFAULTED] += outcome->source == HF_SOURCE_DEGRADED;
  row->counts.count[HF_COUNT_MAYBE] += call->unsafe && outcome->executed == HF_EXECUTED_MAYBE;
  if (outcome->fault == HF_FAULT_CANCELLED)
    return;
  if (outcome->source == HF_SOURCE_LIVE && outcome->end != HF_CALL_END_CHECKED)
    row->counts.count[HF_COUNT_TOKENS_FAILED] += failure_tokens(call);
  else
    row->counts.count[HF_COUNT_TOKENS_SAVED] += FRAME_TOKENS + ERROR_TOKENS + call->arguments_tokens;
}

static void count_notes(struct row *row, const struct hf_tally_call *call) {
  const struct hf_tally_notes *notes = call->notes;
  if (notes->misfit != HF_MISFIT_NONE)
    count_place(row, notes->pointer);
  for (unsigned i = 0; call->repairs && i < call->repairs->count; i++)
    row->counts.repair[call->repairs->item[i].kind]++;
  row->counts.asked[notes->asked]++;
  row->counts.asked[notes->tried]++;
  row->counts.corrected[notes->corrected]++;
  row->counts.count[HF_COUNT_STOPPED] += notes->stopped;
  row->counts.count[HF_COUNT_UNDONE_TRIES] += notes->undone_tries;
  row->counts.count[HF_COUNT_TOKENS_FEEDBACK] += notes->feedback_tokens;
}

static void count_time(struct row *row, hf_time elapsed) {
  const int64_t ms = elapsed / HF_MS(1);
  size_t i = 0;
  while (i < HF_COUNTS_LATENCIES - 1 && ms > hf_counts_latency_ms[i])
    i++;
  row->counts.latency[i]++;
  row->counts.count[HF_COUNT_ELAPSED_MS] += (uint64_t)(ms > 0 ? ms : 0);
}

void hf_tally_count(struct hf_tally *tally, const struct hf_tally_call *call) {
  if (!tally->store)
    return;
  const int64_t hour = tally->loop->wall_ms / HOUR_MS;
  if (tally->rows.len > 0 && hour != tally->hour)
    hf_tally_flush(tally);
  if (tally->rows.len == 0)
    tally->hour = hour; /* what the store has refused is counted with its own hour, and takes the next calls with it */
  struct row *row = find_row(tally, call->server, call->tool);
  if (!row)
    return;
  row->counts.count[HF_COUNT_CALLS]++;
  row->counts.count[HF_COUNT_ATTEMPTS] += call->outcome->attempts;
  if (call->outcome->fault == HF_FAULT_NONE)
    count_good(row, call);
  else
    count_bad(row, call);
  count_notes(row, call);
  count_time(row, call->outcome->elapsed);
  row->counts.count[HF_COUNT_LETTERS] += call->outcome->letter == HF_LETTER_WRITTEN;
  row->counts.count[HF_COUNT_LETTERS_LOST] += call->outcome->letter == HF_LETTER_FAILED;
}

static void write_row(const struct row *row, int64_t hour, struct hf_json_writer *w) {
  hf_json_write_object(w);
  hf_json_write_member_int(w, "hour", hour);
  hf_json_write_member_str(w, "server", row->server);
  hf_json_write_member_str(w, "tool", row->tool);
  hf_json_write_key(w, "counts");
  hf_json_write_object(w);
  hf_counts_write(&row->counts, w);
  for (size_t i = 0; i < row->place_count; i++)
    hf_counts_write_one(w, HF_STR(HF_COUNTS_PLACE), (struct hf_str){row->places[i].text, row->places[i].len},
                        row->places[i].count);
  hf_json_write_object_end(w);
  hf_json_write_object_end(w);
}

static int write_rows(const struct hf_tally *tally, struct hf_buf *out) {
  struct hf_json_writer w;
  hf_json_writer_init(&w, out);
  hf_json_write_array(&w);
  for (size_t i = 0; i < tally->rows.len; i++)
    write_row(tally->rows.entries[i].value, tally->hour, &w);
  hf_json_write_array_end(&w);
  return hf_json_write_finish(&w);
}

void hf_tally_flush(struct hf_tally *tally) {
  hf_timer_stop(tally->loop, &tally->flush);
  if (!tally->store || tally->rows.len == 0)
    return;
  struct hf_buf text;
  hf_buf_init(&text, HF_TALLY_FLUSH_BYTES_MAX);
  int r = write_rows(tally, &text);
  if (r == 0)
    r = tally->store->ops->tally(tally->store, hf_buf_str(&text));
  hf_buf_deinit(&text);
  if (r == 0)
    drop_rows(tally);
  else
    hf_timer_set(tally->loop, &tally->flush, hf_time_add(tally->loop->now, flush_every));
}
