/* The traces of a gateway: those of calls under way, and the last ones that have ended. */
#ifndef HF_GATEWAY_OBSERVE_TRACES_H
#define HF_GATEWAY_OBSERVE_TRACES_H

#include "base/list.h"
#include "base/spare.h"

#include <stddef.h>

struct hf_traces {
  struct hf_list live;
  struct hf_list ended; /* oldest first */
  size_t ended_count;
  struct hf_spare rooms;
};

void hf_traces_init(struct hf_traces *traces);
void hf_traces_deinit(struct hf_traces *traces);

#endif
