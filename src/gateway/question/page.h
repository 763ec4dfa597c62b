/* Pages that have to be opened before a call can be made: an older server's error -32042, towards modern clients.
 *
 * That error does not exist in their era, so it becomes a result that asks. Nothing was executed, and nothing is held:
 * the request that comes back with everything accepted is the call anew, once. What a signed state says is good for one
 * such request. */
#ifndef HF_GATEWAY_QUESTION_PAGE_H
#define HF_GATEWAY_QUESTION_PAGE_H

#include "gateway/exchange.h"

enum {
  HF_PAGES_MAX = 1024,  /* states that wait for their request; the oldest goes */
  HF_PAGE_TRIES_MAX = 8 /* of one call */
};

enum { HF_RPC_PAGE_REQUIRED = -32042 };

/* Is this answer that error, to a client that does not know it? */
bool hf_page_is_wanted(const struct hf_exchange *exchange, const struct hf_message *response);

/* Makes the result that asks. Returns 0 and the message; HF_ERR_UNSUPPORTED if its client did not declare that it opens
 * pages, HF_ERR_LIMIT after too many, HF_ERR_INVALID if the error names no page, HF_ERR_NOMEM. */
int hf_page_tell(struct hf_exchange *exchange, const struct hf_message *response, struct hf_message *ret_made);

/* A request that comes back: it goes on as one as any other (false), or is refused and gone (true). */
bool hf_page_return(struct hf_exchange *exchange);

/* No state is good any more. */
void hf_page_forget(struct hf_gateway *gateway);

#endif
