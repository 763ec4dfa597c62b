/* What a server or client declared that it can do, as far as the gateway acts on it. */
#ifndef HF_GATEWAY_CAPABILITIES_H
#define HF_GATEWAY_CAPABILITIES_H

#include "base/str.h"

#include <stdbool.h>

struct hf_capabilities {
  /* server */
  bool tools;
  bool tools_changed; /* announces changes of the list */
  bool prompts;
  bool prompts_changed;
  bool resources;
  bool resources_changed;
  bool resources_subscribe;
  bool completions;
  bool logging;
  /* client */
  bool sampling;
  bool elicitation;
  bool roots;
};

/* Reads a raw capabilities object; absent or unreadable text declares nothing. */
struct hf_capabilities hf_capabilities_read(struct hf_str raw);

/* What either has. */
struct hf_capabilities hf_capabilities_union(struct hf_capabilities a, struct hf_capabilities b);

#endif
