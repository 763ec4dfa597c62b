#include "gateway/stage/cache.h"

#include "base/alloc.h"
#include "gateway/fingerprint.h"
#include "json/pointer.h"

enum {
  ENTRIES_MAX = 1 << 24,
  MAP_BYTES = 128, /* about what the map needs for an entry */
  KEEP_PART = 8,   /* an answer that is still the same is written again after this part of its life */
};

struct entry {
  struct hf_list link;
  struct hf_fingerprint fingerprint;
  hf_time at;      /* when it was the live answer */
  hf_time kept_at; /* when it was last written to the store; HF_TIME_NEVER: it was not */
  size_t len;
  char result[];
};

void hf_cache_init(struct hf_cache *cache, size_t max_bytes, struct hf_store *store) {
  *cache = (struct hf_cache){.max_bytes = max_bytes, .store = store};
  hf_map_init(&cache->entries, ENTRIES_MAX);
  hf_list_init(&cache->recent);
}

static size_t cost(size_t len) {
  return sizeof(struct entry) + MAP_BYTES + len;
}

static void drop(struct hf_cache *cache, struct entry *entry) {
  hf_map_remove(&cache->entries, hf_fingerprint_key(&entry->fingerprint));
  hf_list_remove(&entry->link);
  cache->bytes -= cost(entry->len);
  hf_free(entry);
}

/* Drops what was used least recently until this much fits. */
static void shrink(struct hf_cache *cache, size_t bytes) {
  while (!hf_list_empty(&cache->recent) && cache->bytes > bytes)
    drop(cache, HF_CONTAINER_OF(cache->recent.prev, struct entry, link));
}

void hf_cache_deinit(struct hf_cache *cache) {
  shrink(cache, 0);
  hf_map_deinit(&cache->entries);
}

void hf_cache_limit(struct hf_cache *cache, size_t max_bytes) {
  cache->max_bytes = max_bytes;
  shrink(cache, max_bytes);
}

bool hf_cache_concerns(const struct hf_message *request) {
  return !request->at[HF_FIELD_REQUEST_STATE] && !request->at[HF_FIELD_INPUT_RESPONSES] && !request->at[HF_FIELD_TASK];
}

/* True if the member is not there, or is the string or literal `raw`. */
static bool is_absent_or(const struct hf_json_doc *doc, struct hf_str name, struct hf_str raw) {
  uint32_t node;
  int r = hf_json_member(doc, 0, name, &node);
  return r == HF_ERR_NOTFOUND || (r == 0 && hf_str_equal(hf_json_span(doc, node), raw));
}

/* A gateway behind this one marks what is not its tool's own answer. */
static bool is_live(struct hf_str result) {
  struct hf_str source;
  int r = hf_json_pointer(result, HF_STR("/_meta/dev.holdfast~1outcome/source"), &source);
  return r == HF_ERR_NOTFOUND || (r == 0 && hf_str_equal(source, HF_STR("\"live\"")));
}

static bool is_good(struct hf_str result) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.tree_depth = 1;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  bool good = hf_json_scan_feed(&scan, result.ptr, result.len, true) == 0;
  if (good) {
    struct hf_json_doc doc = hf_json_doc(result.ptr, &scan);
    uint32_t node;
    good = hf_json_type(&doc, 0) == HF_JSON_OBJECT && is_absent_or(&doc, HF_STR("isError"), HF_STR("false")) &&
           is_absent_or(&doc, HF_STR("resultType"), HF_STR("\"complete\"")) &&
           hf_json_member(&doc, 0, HF_STR("task"), &node) == HF_ERR_NOTFOUND && is_live(result);
  }
  hf_json_scan_deinit(&scan);
  return good;
}

static struct entry *find(const struct hf_cache *cache, const struct hf_fingerprint *fingerprint) {
  return hf_map_get(&cache->entries, hf_fingerprint_key(fingerprint));
}

static struct hf_str result_of(const struct entry *entry) {
  return (struct hf_str){entry->result, entry->len};
}

/* Replaces what is there of this call. */
static int insert(struct hf_cache *cache, const struct hf_fingerprint *fingerprint, struct hf_str result,
                  struct entry **ret_entry) {
  size_t bytes = cost(result.len);
  if (bytes > cache->max_bytes / HF_CACHE_SHARE)
    return HF_ERR_LIMIT;
  struct entry *entry = hf_malloc(sizeof *entry + result.len);
  if (!entry)
    return HF_ERR_NOMEM;
  *entry = (struct entry){.fingerprint = *fingerprint, .kept_at = HF_TIME_NEVER, .len = result.len};
  memcpy(entry->result, result.ptr, result.len);
  struct entry *old = find(cache, fingerprint);
  int r = hf_map_put(&cache->entries, hf_fingerprint_key(fingerprint), entry);
  if (r < 0) {
    hf_free(entry);
    return r;
  }
  if (old) {
    hf_list_remove(&old->link);
    cache->bytes -= cost(old->len);
    hf_free(old);
  }
  shrink(cache, cache->max_bytes - bytes);
  hf_list_push_front(&cache->recent, &entry->link);
  cache->bytes += bytes;
  *ret_entry = entry;
  return 0;
}

/* How long an answer can be of use. */
static hf_time lifetime(const struct hf_cache_settings *settings) {
  return hf_time_max(settings->ttl, settings->max_stale);
}

static void keep(struct hf_cache *cache, struct entry *entry, hf_time life, hf_time now, int64_t wall_ms) {
  struct hf_cached row = {
      .fingerprint = entry->fingerprint,
      .result = result_of(entry),
      .at_ms = wall_ms,
      .expires_ms = hf_time_add(wall_ms, life / HF_MS(1)),
  };
  entry->kept_at = now;
  cache->store->ops->keep(cache->store, &row);
}

int hf_cache_put(struct hf_cache *cache, const struct hf_cache_settings *settings,
                 const struct hf_fingerprint *fingerprint, struct hf_str result, hf_time now, int64_t wall_ms) {
  hf_time life = lifetime(settings);
  if (life <= 0 || !is_good(result))
    return HF_ERR_REFUSED;
  struct entry *entry = find(cache, fingerprint);
  bool is_same = entry && hf_str_equal(result_of(entry), result);
  if (is_same) {
    hf_list_remove(&entry->link);
    hf_list_push_front(&cache->recent, &entry->link);
  } else {
    int r = insert(cache, fingerprint, result, &entry);
    if (r < 0)
      return r;
  }
  entry->at = now;
  bool is_kept = entry->kept_at != HF_TIME_NEVER && now - entry->kept_at < life / KEEP_PART;
  if (settings->keep && cache->store && !is_kept)
    keep(cache, entry, life, now, wall_ms);
  return 0;
}

int hf_cache_restore(struct hf_cache *cache, const struct hf_cached *row, hf_time now, int64_t wall_ms) {
  int64_t age_ms;
  hf_time at;
  if (row->expires_ms <= wall_ms || __builtin_sub_overflow(wall_ms, row->at_ms, &age_ms) || age_ms < 0 ||
      __builtin_mul_overflow(age_ms, HF_MS(1), &at) || __builtin_sub_overflow(now, at, &at))
    return 0;
  struct entry *entry = find(cache, &row->fingerprint);
  if (entry && entry->at >= at)
    return 0;
  if (!is_good(row->result))
    return HF_ERR_REFUSED;
  int r = insert(cache, &row->fingerprint, row->result, &entry);
  if (r == 0)
    entry->at = entry->kept_at = at;
  return r;
}

int hf_cache_get(struct hf_cache *cache, const struct hf_fingerprint *fingerprint, hf_time now,
                 struct hf_str *ret_result, hf_time *ret_age) {
  struct entry *entry = find(cache, fingerprint);
  if (!entry)
    return HF_ERR_NOTFOUND;
  hf_list_remove(&entry->link);
  hf_list_push_front(&cache->recent, &entry->link);
  *ret_result = result_of(entry);
  *ret_age = hf_time_max(now - entry->at, 0);
  return 0;
}
