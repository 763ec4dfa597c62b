#include "daemon/console_replay.h"

#include "base/alloc.h"
#include "gateway/letter/replay.h"

struct hf_console_replay {
  struct hf_list link;
  struct hf_replay *replay;
  const struct hf_console_replay_ops *ops; /* NULL once the asker is gone */
  void *ctx;
};

static void on_progress(void *ctx, struct hf_str json) {
  struct hf_console_replay *replay = ctx;
  if (replay->ops)
    replay->ops->progress(replay->ctx, json); /* the asker may be gone when it returns */
}

static void release(struct hf_console_replay *replay) {
  hf_list_remove(&replay->link);
  hf_replay_free(replay->replay);
  hf_free(replay);
}

static void on_done(void *ctx, struct hf_str json) {
  struct hf_console_replay *replay = ctx;
  if (replay->ops)
    replay->ops->done(replay->ctx, json);
  release(replay);
}

/* What a member is read into. */
enum kind { TEXT, WALL_MS, DURATION_MS, COUNT, FLAG, RAW };

static const struct {
  struct hf_str name;
  enum kind kind;
  size_t at; /* in struct hf_replay_options */
} members[] = {
#define MEMBER(name, kind, field)                                                                                      \
  { {"" name, sizeof(name) - 1}, kind, offsetof(struct hf_replay_options, field) }
    MEMBER("id", TEXT, filter.id),
    MEMBER("tool", TEXT, filter.tool),
    MEMBER("provider", TEXT, filter.provider),
    MEMBER("class", TEXT, filter.reason),
    MEMBER("fingerprint", TEXT, filter.fingerprint),
    MEMBER("sinceMs", WALL_MS, filter.since_ms),
    MEMBER("untilMs", WALL_MS, filter.until_ms),
    MEMBER("priority", COUNT, filter.priority),
    MEMBER("limit", COUNT, filter.limit),
    MEMBER("concurrency", COUNT, concurrency),
    MEMBER("intervalMs", DURATION_MS, interval),
    MEMBER("rampUpMs", DURATION_MS, ramp_up),
    MEMBER("stopPercent", COUNT, stop_percent),
    MEMBER("dryRun", FLAG, dry_run),
    MEMBER("reconcile", FLAG, reconcile),
    MEMBER("executedNo", FLAG, executed_no),
    MEMBER("patch", RAW, patch),
    MEMBER("by", TEXT, by),
#undef MEMBER
};

static int read_number(struct hf_str raw, enum kind kind, char *field) {
  int64_t value;
  int r = hf_json_int64(raw, &value);
  if (r < 0)
    return r;
  if (value < 0 || (kind != WALL_MS && value > INT32_MAX))
    return HF_ERR_INVALID;
  if (kind == COUNT)
    *(unsigned *)(void *)field = (unsigned)value;
  else if (kind == DURATION_MS)
    *(hf_time *)(void *)field = HF_MS(value);
  else
    *(int64_t *)(void *)field = value;
  return 0;
}

static int read_options(const struct hf_json_doc *doc, struct hf_arena *arena, struct hf_replay_options *options) {
  for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
    char *field = (char *)options + members[i].at;
    uint32_t node;
    int r = hf_json_member(doc, 0, members[i].name, &node);
    if (r == HF_ERR_NOTFOUND)
      continue;
    if (r == 0 && members[i].kind == TEXT)
      r = hf_json_string(doc, node, arena, (struct hf_str *)(void *)field);
    else if (r == 0 && members[i].kind == FLAG)
      r = hf_json_bool(doc, node, (bool *)(void *)field);
    else if (r == 0 && members[i].kind == RAW)
      *(struct hf_str *)(void *)field = hf_json_span(doc, node);
    else if (r == 0)
      r = read_number(hf_json_span(doc, node), members[i].kind, field);
    if (r < 0)
      return r;
  }
  return 0;
}

static int read_ids(const struct hf_json_doc *doc, struct hf_arena *arena, struct hf_replay_options *options) {
  uint32_t array, node;
  int r = hf_json_member(doc, 0, HF_STR("ids"), &array);
  if (r < 0)
    return r == HF_ERR_NOTFOUND ? 0 : r;
  const size_t count = hf_json_type(doc, array) == HF_JSON_ARRAY ? doc->nodes[array].count : 0;
  if (count == 0 || count > HF_REPLAY_IDS_MAX)
    return HF_ERR_INVALID;
  struct hf_str *ids = hf_arena_alloc(arena, count * sizeof *ids);
  if (!ids)
    return HF_ERR_NOMEM;
  struct hf_json_iter iter = hf_json_iter(doc, array);
  while (r == 0 && hf_json_next(doc, &iter, NULL, &node))
    r = hf_json_string(doc, node, arena, &ids[options->id_count++]);
  options->ids = ids;
  return r;
}

int hf_console_replay_start(struct hf_gateway *gateway, struct hf_list *all, const struct hf_json_doc *question,
                            struct hf_arena *arena, const struct hf_console_replay_ops *ops, void *ctx,
                            struct hf_console_replay **ret_replay) {
  static const struct hf_replay_ops replay_ops = {on_progress, on_done};
  struct hf_replay_options options = {.stop_percent = HF_REPLAY_STOP_PERCENT};
  int r = read_options(question, arena, &options);
  if (r == 0)
    r = read_ids(question, arena, &options);
  if (r < 0)
    return r;
  struct hf_console_replay *replay = hf_calloc(1, sizeof *replay);
  if (!replay)
    return HF_ERR_NOMEM;
  replay->ops = ops;
  replay->ctx = ctx;
  r = hf_replay_start(gateway, &options, &replay_ops, replay, &replay->replay);
  if (r < 0) {
    hf_free(replay);
    return r;
  }
  hf_list_push_back(all, &replay->link);
  *ret_replay = replay;
  return 0;
}

void hf_console_replay_leave(struct hf_console_replay *replay) {
  replay->ops = NULL;
  hf_replay_stop(replay->replay, "nobody waits for it any more");
}

void hf_console_replay_free_all(struct hf_list *all) {
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, all)
    release(HF_CONTAINER_OF(it, struct hf_console_replay, link));
}
