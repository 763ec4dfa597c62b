/* A store that could not be opened at the start: tried again, in a thread, with growing pauses, until it can be. */
#ifndef HF_STORE_OPENING_H
#define HF_STORE_OPENING_H

#include "store/store.h"

struct hf_store_opening;

/* Called on the loop. */
struct hf_store_opening_events {
  /* It is open, and owned by who hears this. The opening has nothing more to do, and may be freed from here. */
  void (*opened)(void *ctx, struct hf_store *store);

  /* It could not be opened once more, and for another reason than before. */
  void (*failed)(void *ctx, const char *reason);
};

/* Begins with a pause; `first_pause` 0: a second. `why` is the reason that is known already. Copies the path, takes a
 * reference to `config`, whose store settings are used in the place of those of `options`. Returns 0 or HF_ERR_NOMEM.
 */
int hf_store_opening_new(const struct hf_store_options *options, struct hf_settings *config, const char *why,
                         hf_time first_pause, const struct hf_store_opening_events *events, void *ctx,
                         struct hf_store_opening **ret_opening);

/* Nothing is called any more. What is under way in the thread ends by itself, while the loop runs. NULL is fine. */
void hf_store_opening_free(struct hf_store_opening *opening);

#endif
