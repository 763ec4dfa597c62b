/* How soon a list that its server says has changed is loaded again.
 *
 * The first notice counts at once. Those that follow in quick succession are taken together, with pauses that double:
 * up to a second while each loading brings something new, up to a minute while none does, for then the server may
 * announce a change whenever it is asked. A while without a notice ends the series. Pure. */
#ifndef HF_GATEWAY_CATALOG_PACE_H
#define HF_GATEWAY_CATALOG_PACE_H

#include "base/time.h"

#include <stdbool.h>

#define HF_PACE_MIN HF_MS(100)
#define HF_PACE_MAX_NEWS HF_SECONDS(1)
#define HF_PACE_MAX HF_SECONDS(60)

struct hf_pace {  /* all zero at first */
  hf_time began;  /* when it was last loaded for a notice; 0: never */
  hf_time pause;  /* that is kept after it */
  bool fruitless; /* it brought nothing new */
};

/* A notice came. Returns when the list may be loaded for it: `now`, or later. */
hf_time hf_pace_notice(const struct hf_pace *pace, hf_time now);

/* It is loaded for one or more notices. */
void hf_pace_began(struct hf_pace *pace, hf_time now);

/* What came of it. */
void hf_pace_ended(struct hf_pace *pace, bool news);

#endif
