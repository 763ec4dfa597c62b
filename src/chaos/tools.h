/* The faulty server's tools: what they are called, what they promise, what they answer. */
#ifndef HF_CHAOS_TOOLS_H
#define HF_CHAOS_TOOLS_H

#include "chaos/server.h"

/* Takes these tools, borrowed, or its own if there are none. */
void hf_chaos_tools_set(struct hf_chaos *chaos, const struct hf_chaos_tool *tools, size_t count);

/* NULL if it is none of those with a description; borrowed. */
const struct hf_chaos_tool *hf_chaos_tool_find(const struct hf_chaos *chaos, const char *name);

bool hf_chaos_tool_known(const struct hf_chaos *chaos, const char *name);

/* Fills `answer` with the result of `tools/list`. */
void hf_chaos_tools_list(const struct hf_chaos *chaos, bool modern, struct hf_chaos_answer *answer);

/* Fills `answer` with the result of a known tool, and with its progress steps. */
void hf_chaos_tool_answer(struct hf_chaos *chaos, const char *name, struct hf_str arguments, bool modern,
                          struct hf_chaos_answer *answer);

#endif
