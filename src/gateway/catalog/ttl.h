/* How long what a server said may be used, and by whom: `ttlMs` and `cacheScope` of 2026-07-28, read and written.
 *
 * What the gateway puts together of several answers is as good as the worst of them: the shortest time that is left,
 * and for everybody only if all of it is. */
#ifndef HF_GATEWAY_CATALOG_TTL_H
#define HF_GATEWAY_CATALOG_TTL_H

#include "base/time.h"
#include "mcp/message.h"
#include "json/write.h"

#include <stdbool.h>

/* The result's `ttlMs`; a negative one counts as 0. Returns false if it has none that is a number. */
bool hf_ttl_read(const struct hf_message *response, int64_t *ret_ttl_ms);

/* Is its `cacheScope` "public"? */
bool hf_ttl_is_public(const struct hf_message *response);

struct hf_ttl { /* all zero at first */
  bool any;
  bool is_private;
  bool is_bounded;
  hf_time left; /* if it is */
};

/* Something is good until `until`; HF_TIME_NEVER: for as long as is usual. */
void hf_ttl_add(struct hf_ttl *ttl, hf_time until, hf_time now, bool is_public);

/* Writes both members; `usual` if nothing says otherwise. */
void hf_ttl_write(const struct hf_ttl *ttl, hf_time usual, struct hf_json_writer *w);

#endif
