#include "gateway/correct/correction.h"

#include "base/alloc.h"
#include "base/buf.h"

enum { KEY_MAX = 4096 };

struct loop {
  struct hf_list link;
  enum hf_correction_kind kind;
  hf_time until;
  unsigned count;
  bool anchored; /* one of them repeated another */
  bool told;     /* that it is enough */
  size_t bytes;
  struct hf_correction_try *tries[HF_CORRECTION_TRIES_MAX]; /* each with its texts behind it, owned; the oldest first */
  unsigned try_count;
  struct hf_str key; /* in the map */
};

const char *hf_correction_kind_name(enum hf_correction_kind kind) {
  static const char *const names[] = {
#define NAME(name, text) text,
      HF_CORRECTION_KIND_LIST(NAME)
#undef NAME
  };
  return names[kind];
}

const char *hf_correction_end_name(enum hf_correction_end end) {
  static const char *const names[] = {
#define NAME(name, text) text,
      HF_CORRECTION_END_LIST(NAME)
#undef NAME
  };
  return names[end];
}

static struct loop *loop_of(struct hf_list *link) {
  return HF_CONTAINER_OF(link, struct loop, link);
}

void hf_corrections_init(struct hf_corrections *corrections) {
  *corrections = (struct hf_corrections){0};
  hf_map_init(&corrections->loops, HF_CORRECTIONS_MAX);
  hf_list_init(&corrections->order);
}

static size_t size_of(const struct hf_correction_try *try) {
  return sizeof *try + try->reason.len + try->call.len;
}

static void forget_try(struct hf_corrections *corrections, struct loop *loop, unsigned index) {
  const size_t bytes = size_of(loop->tries[index]);
  loop->bytes -= bytes;
  corrections->bytes -= bytes;
  hf_free(loop->tries[index]);
  loop->try_count--;
  memmove(&loop->tries[index], &loop->tries[index + 1], (loop->try_count - index) * sizeof loop->tries[0]);
}

static void forget(struct hf_corrections *corrections, struct loop *loop) {
  while (loop->try_count > 0)
    forget_try(corrections, loop, loop->try_count - 1);
  corrections->bytes -= loop->bytes;
  hf_list_remove(&loop->link);
  (void)hf_map_remove(&corrections->loops, loop->key);
  hf_free(loop);
}

static void count(struct hf_corrections *corrections, enum hf_correction_kind kind, enum hf_correction_end what) {
  corrections->counts[kind][what]++;
}

static void abandon(struct hf_corrections *corrections, struct loop *loop) {
  if (!loop->told)
    count(corrections, loop->kind, HF_CORRECTION_END_ABANDONED);
  forget(corrections, loop);
}

void hf_corrections_deinit(struct hf_corrections *corrections) {
  while (!hf_list_empty(&corrections->order))
    forget(corrections, loop_of(corrections->order.next));
  hf_map_deinit(&corrections->loops);
}

static void forget_old(struct hf_corrections *corrections, hf_time now) {
  while (!hf_list_empty(&corrections->order) && loop_of(corrections->order.next)->until <= now)
    abandon(corrections, loop_of(corrections->order.next));
}

/* Makes room, but not of what is being added to. */
static void shrink(struct hf_corrections *corrections, const struct loop *kept) {
  while (corrections->bytes > HF_CORRECTIONS_BYTES_MAX && loop_of(corrections->order.next) != kept)
    abandon(corrections, loop_of(corrections->order.next));
}

/* What a loop is found by. The parts stand behind their lengths, so that no two places are the same bytes. */
static int write_key(const struct hf_correction_place *place, struct hf_buf *key) {
  const uint64_t head[] = {place->kind, place->session, place->principal.len};
  hf_buf_init(key, KEY_MAX);
  int r = hf_buf_append(key, head, sizeof head);
  if (r == 0)
    r = hf_buf_append_str(key, place->principal);
  return r < 0 ? r : hf_buf_append_str(key, place->tool);
}

static struct loop *add_loop(struct hf_corrections *corrections, enum hf_correction_kind kind, struct hf_str key) {
  if (corrections->loops.len >= HF_CORRECTIONS_MAX)
    abandon(corrections, loop_of(corrections->order.next));
  struct loop *loop = hf_calloc(1, sizeof *loop);
  if (!loop)
    return NULL;
  hf_list_init(&loop->link);
  if (hf_map_put(&corrections->loops, key, loop) < 0) {
    hf_free(loop);
    return NULL;
  }
  loop->kind = kind;
  loop->key = (struct hf_str){corrections->loops.entries[corrections->loops.len - 1].key, key.len};
  loop->bytes = sizeof *loop + key.len;
  corrections->bytes += loop->bytes;
  return loop;
}

static struct loop *find_or_add(struct hf_corrections *corrections, const struct hf_correction_place *place) {
  struct hf_buf key;
  struct loop *loop = NULL;
  if (write_key(place, &key) == 0) {
    loop = hf_map_get(&corrections->loops, hf_buf_str(&key));
    if (!loop)
      loop = add_loop(corrections, place->kind, hf_buf_str(&key));
  }
  hf_buf_deinit(&key);
  return loop;
}

static struct hf_correction_try *copy_try(const struct hf_correction_try *what) {
  const struct hf_str reason = hf_str_cut(what->reason, HF_CORRECTION_REASON_MAX);
  const struct hf_str call = hf_str_cut(what->call, HF_CORRECTION_CALL_MAX);
  struct hf_correction_try *copy = hf_calloc(1, sizeof *copy + reason.len + call.len);
  if (!copy)
    return NULL;
  *copy = *what;
  char *text = (char *)(copy + 1);
  memcpy(text, reason.ptr ? reason.ptr : "", reason.len);
  memcpy(text + reason.len, call.ptr ? call.ptr : "", call.len);
  copy->reason = (struct hf_str){text, reason.len};
  copy->call = (struct hf_str){text + reason.len, call.len};
  copy->times = 0;
  return copy;
}

/* The try as the loop has it, last of all; without memory for it NULL. */
static struct hf_correction_try *place_last(struct hf_corrections *corrections, struct loop *loop,
                                            const struct hf_correction_try *what) {
  unsigned at = 0;
  while (at < loop->try_count &&
         (loop->tries[at]->arguments != what->arguments || loop->tries[at]->error != what->error))
    at++;
  if (at < loop->try_count) {
    struct hf_correction_try *again = loop->tries[at];
    memmove(&loop->tries[at], &loop->tries[at + 1], (loop->try_count - at - 1) * sizeof loop->tries[0]);
    loop->tries[loop->try_count - 1] = again;
    again->at_ms = what->at_ms;
    return again;
  }
  struct hf_correction_try *copy = copy_try(what);
  if (!copy)
    return NULL;
  if (loop->try_count == HF_CORRECTION_TRIES_MAX)
    forget_try(corrections, loop, 0);
  loop->tries[loop->try_count++] = copy;
  loop->bytes += size_of(copy);
  corrections->bytes += size_of(copy);
  return copy;
}

static void compare(const struct loop *loop, const struct hf_correction_try *what, struct hf_correction_view *view) {
  for (unsigned i = 0; i < loop->try_count; i++) {
    view->same_arguments |= loop->tries[i]->arguments == what->arguments;
    view->same_error |= loop->tries[i]->error == what->error;
  }
}

/* What is enough of the tool's own errors is the same call with the same error: others may be a search. */
static bool is_enough(const struct loop *loop, const struct hf_correction_view *view,
                      const struct hf_correction_options *options) {
  const unsigned count = loop->kind == HF_CORRECTION_ERROR ? view->times : view->count;
  return options->max > 0 && count >= options->max;
}

static void describe(struct hf_corrections *corrections, struct loop *loop, struct hf_correction_view *view,
                     const struct hf_correction_options *options) {
  view->exhausted = is_enough(loop, view, options);
  view->ends = view->exhausted && !loop->told;
  loop->told |= view->exhausted;
  view->anchored = loop->kind == HF_CORRECTION_ERROR ? view->times > 1 : view->same_arguments || view->same_error;
  loop->anchored |= view->anchored;
  if (view->anchored)
    count(corrections, loop->kind, HF_CORRECTION_END_ANCHORED);
  if (view->ends)
    count(corrections, loop->kind, HF_CORRECTION_END_EXHAUSTED);
  for (unsigned i = 0; i < loop->try_count; i++)
    view->tries[view->try_count++] = loop->tries[i];
}

void hf_corrections_note(struct hf_corrections *corrections, const struct hf_correction_place *place,
                         const struct hf_correction_try *what, const struct hf_correction_options *options, hf_time now,
                         struct hf_correction_view *ret_view) {
  *ret_view = (struct hf_correction_view){.count = 1, .times = 1};
  forget_old(corrections, now);
  count(corrections, place->kind, HF_CORRECTION_END_FAILED);
  struct loop *loop = find_or_add(corrections, place);
  if (!loop)
    return;
  compare(loop, what, ret_view);
  hf_list_remove(&loop->link);
  hf_list_push_back(&corrections->order, &loop->link);
  loop->until = hf_time_add(now, options->ttl);
  ret_view->count = ++loop->count;
  struct hf_correction_try *placed = place_last(corrections, loop, what);
  if (placed)
    ret_view->times = ++placed->times;
  shrink(corrections, loop);
  describe(corrections, loop, ret_view, options);
}

unsigned hf_corrections_close(struct hf_corrections *corrections, const struct hf_correction_place *place, hf_time now,
                              bool *ret_anchored) {
  *ret_anchored = false;
  forget_old(corrections, now);
  if (corrections->loops.len == 0)
    return 0;
  struct hf_buf key;
  struct loop *loop = write_key(place, &key) == 0 ? hf_map_get(&corrections->loops, hf_buf_str(&key)) : NULL;
  unsigned tries = loop ? loop->count : 0;
  if (loop) {
    *ret_anchored = loop->anchored;
    count(corrections, loop->kind, HF_CORRECTION_END_CORRECTED);
    forget(corrections, loop);
  }
  hf_buf_deinit(&key);
  return tries;
}
