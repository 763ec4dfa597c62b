/* What is answered instead, when the live answer failed: the last good one, the configured default, or a plain word
 * that the tool is unavailable. Each of them is marked for programs (`_meta`) and says in its text what it is. */
#ifndef HF_GATEWAY_STAGE_DEGRADE_H
#define HF_GATEWAY_STAGE_DEGRADE_H

#include "base/buf.h"
#include "base/error.h"
#include "gateway/settings.h"
#include "gateway/stage/cache.h"

enum { HF_DEGRADE_DEFAULT_BYTES = 1 << 20 }; /* the most that a filled default may have */

/* The call that failed. All is borrowed. */
struct hf_degrade {
  struct hf_cache *cache; /* NULL: the call is none that hf_cache_concerns */
  const struct hf_tool_settings *settings;
  const struct hf_fingerprint *fingerprint; /* may be NULL without a cache */
  struct hf_str arguments;                  /* raw, or absent */
  struct hf_str output_schema;              /* raw, or absent */
  enum hf_fault fault;                      /* after HF_FAULT_UNAUTHORIZED no cached answer is given */
};

/* Appends the raw result that is the best substitute, not yet marked, to `ret_result`. Returns where it comes from;
 * HF_SOURCE_LIVE if there is none, or no memory for it: the call fails. `ret_age` is set for HF_SOURCE_CACHE.
 * `ret_refused` has a code if there is a default that cannot be given, and the reason: worth a line in the log. */
enum hf_source hf_degrade_find(const struct hf_degrade *call, hf_time now, struct hf_buf *ret_result, hf_time *ret_age,
                               struct hf_error *ret_refused);

/* Appends what the answer says of itself. `why` is the text of the failure: whole sentences; absent where nothing
 * failed, because a cached answer is younger than its ttl. Returns 0 or the buffer's error. */
int hf_degrade_text(enum hf_source source, enum hf_degraded_mode mode, hf_time age, struct hf_str why,
                    struct hf_buf *out);

/* Appends `result` with `marker` (raw JSON) as `_meta["dev.holdfast/outcome"]`, the only one, and a first item of its
 * `content` that is `text`. A member of either name that has another shape or comes twice is replaced; the two come
 * last, and all else stays as it is spelt. Returns 0; HF_ERR_INVALID if it is no object; HF_ERR_SYNTAX, HF_ERR_LIMIT or
 * HF_ERR_NOMEM. A result that cannot be marked must not be given; on an error `out` is as it was. */
int hf_degrade_mark(struct hf_str result, struct hf_str marker, struct hf_str text, struct hf_buf *out);

#endif
