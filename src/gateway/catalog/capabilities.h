/* What a server or client declared that it can do, as far as the gateway acts on it. */
#ifndef HF_GATEWAY_CATALOG_CAPABILITIES_H
#define HF_GATEWAY_CATALOG_CAPABILITIES_H

#include "base/buf.h"
#include "mcp/methods.h"

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
  bool tasks_call;   /* of 2025-11-25: makes tasks of calls that ask for it */
  bool tasks_cancel; /* likewise: and can be told to stop them */
  /* client */
  bool sampling;
  bool sampling_tools; /* the model may be given tools */
  bool elicitation;
  bool elicitation_form; /* said so; nothing said means this one */
  bool elicitation_url;
  bool roots;
  /* either */
  bool tasks; /* the extension io.modelcontextprotocol/tasks */
};

#define HF_EXTENSION_TASKS "io.modelcontextprotocol/tasks"

/* Reads a raw capabilities object; absent or unreadable text declares nothing. */
struct hf_capabilities hf_capabilities_read(struct hf_str raw);

/* May a client that declared these be sent this request? `params` is raw, or absent. */
bool hf_capabilities_cover(struct hf_capabilities client, enum hf_method method, struct hf_str params);

/* Appends the members of a raw capabilities object that say what its client can be asked, as an object. Returns 0 or
 * the buffer's error; what cannot be read declares nothing. */
int hf_capabilities_write_asked(struct hf_str raw, struct hf_buf *out);

/* Appends a raw capabilities object (absent or unreadable: an empty one) that declares the extension, or does not;
 * whatever else it says stays. Returns 0 or the buffer's error. */
int hf_capabilities_write_tasks(struct hf_str raw, bool declared, struct hf_buf *out);

/* What either has. */
struct hf_capabilities hf_capabilities_union(struct hf_capabilities a, struct hf_capabilities b);

#endif
