/* The protocol's log levels, by index: "debug" is 0, "emergency" the highest. */
#ifndef HF_MCP_LOG_LEVEL_H
#define HF_MCP_LOG_LEVEL_H

#include "mcp/message.h"

/* The index of a level, or -1. */
int hf_log_level_index(struct hf_str level);

const char *hf_log_level_name(int index);

/* The `level` that logging/setLevel asks for, or -1. */
int hf_log_level_asked(const struct hf_message *request);

/* The level of a log notification; the lowest if it has none that is known. */
int hf_log_level_of(const struct hf_message *notification);

#endif
