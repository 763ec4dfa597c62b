/* The headers of a request that the protocol or the framing of a message decides: no configuration may set them. */
#ifndef HF_UPSTREAM_OWN_HEADER_H
#define HF_UPSTREAM_OWN_HEADER_H

#include "base/str.h"

#include <stdbool.h>

bool hf_own_header(struct hf_str name);

#endif
