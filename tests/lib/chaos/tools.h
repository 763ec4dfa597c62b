/* The faulty server's tools: what they are called, what they promise, what they answer. */
#ifndef CHAOS_TOOLS_H
#define CHAOS_TOOLS_H

#include "server.h"

bool chaos_tool_known(const struct chaos *chaos, const char *name);

/* Fills `answer` with the result of `tools/list`. */
void chaos_tools_list(const struct chaos *chaos, bool modern, struct chaos_answer *answer);

/* Fills `answer` with the result of a known tool, and with its progress steps. */
void chaos_tool_answer(struct chaos *chaos, const char *name, struct hf_str arguments, bool modern,
                       struct chaos_answer *answer);

#endif
