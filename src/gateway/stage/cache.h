/* The last good answers of tools whose configuration says `cache`, in memory and bounded by bytes: what was used least
 * recently goes first. With `keep` they are also in the store, and come back from it at the start.
 *
 * Only what a tool really answered comes in: no errors, no `isError`, no questions or tasks, nothing that a gateway
 * behind marked as not live, and nothing of a request that goes on with an earlier one. */
#ifndef HF_GATEWAY_STAGE_CACHE_H
#define HF_GATEWAY_STAGE_CACHE_H

#include "base/list.h"
#include "base/map.h"
#include "base/time.h"
#include "gateway/settings.h"
#include "gateway/store.h"
#include "mcp/message.h"

enum { HF_CACHE_SHARE = 4 }; /* one answer may take this part of the whole cache, and no more */

struct hf_cache {
  struct hf_map entries; /* by fingerprint */
  struct hf_list recent; /* the one used last is the first */
  size_t bytes;
  size_t max_bytes;
  struct hf_store *store; /* borrowed, or NULL */
};

/* `max_bytes`: limits.cache_bytes. `store` outlives the cache, or is NULL. */
void hf_cache_init(struct hf_cache *cache, size_t max_bytes, struct hf_store *store);
void hf_cache_deinit(struct hf_cache *cache);

/* A reload brought another limit. */
void hf_cache_limit(struct hf_cache *cache, size_t max_bytes);

/* May the answer to this tools/call be put into a cache, or come from one? */
bool hf_cache_concerns(const struct hf_message *request);

/* Remembers the raw result of a live call, copied, at `now` and, by the wall clock, `wall_ms`. Returns 0;
 * HF_ERR_REFUSED if it is none of those that are remembered; HF_ERR_LIMIT if it is too large; HF_ERR_NOMEM. After a
 * result that is not remembered the one from before stays. */
int hf_cache_put(struct hf_cache *cache, const struct hf_cache_settings *settings,
                 const struct hf_fingerprint *fingerprint, struct hf_str result, hf_time now, int64_t wall_ms);

/* Takes in a row that the store had from before. What has expired, what is older than what is here and what claims to
 * be from the future is left out, which is no error. Returns as hf_cache_put. */
int hf_cache_restore(struct hf_cache *cache, const struct hf_cached *row, hf_time now, int64_t wall_ms);

/* Finds the answer and how old it is; whether that is young enough is the caller's to say. `ret_result` is borrowed
 * until the cache changes. Returns 0 or HF_ERR_NOTFOUND. */
int hf_cache_get(struct hf_cache *cache, const struct hf_fingerprint *fingerprint, hf_time now,
                 struct hf_str *ret_result, hf_time *ret_age);

#endif
