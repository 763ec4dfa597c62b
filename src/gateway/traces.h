/* The traces of a gateway: those of calls under way, the last ones that have ended, and blocks to be used again. */
#ifndef HF_GATEWAY_TRACES_H
#define HF_GATEWAY_TRACES_H

#include "base/list.h"

#include <stddef.h>

struct hf_traces {
  struct hf_list live;
  struct hf_list ended; /* oldest first */
  struct hf_list spare;
  size_t ended_count;
  size_t spare_count;
};

void hf_traces_init(struct hf_traces *traces);
void hf_traces_deinit(struct hf_traces *traces);

#endif
