/* The last good answers of read-only tools, around a call: a fresh one before it, an old one or the default when it has
 * failed. The answers are in gateway/stage/cache.h; what is made of them, in gateway/stage/degrade.h. */
#ifndef HF_GATEWAY_STAGE_CACHED_H
#define HF_GATEWAY_STAGE_CACHED_H

#include "gateway/stage/stage.h"

/* Answers with one that is young enough (`cache.ttl`). */
enum hf_stage_result hf_cached_before(struct hf_exchange *exchange);

/* Keeps a good answer. */
void hf_cached_landed(struct hf_exchange *exchange, const struct hf_message *response,
                      const struct hf_outcome *outcome);

/* What can stand in for an answer that could not be had, put into `exchange->substitute`: HF_SOURCE_LIVE if nothing
 * can. */
enum hf_source hf_cached_substitute(struct hf_exchange *exchange, hf_time *ret_age);

#endif
