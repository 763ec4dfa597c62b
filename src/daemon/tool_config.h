/* `tools` of a configuration: options by pattern over server__tool. */
#ifndef HF_DAEMON_TOOL_CONFIG_H
#define HF_DAEMON_TOOL_CONFIG_H

#include "daemon/server_config.h"

/* The servers are read already. Returns 0 or HF_ERR_NOMEM. */
int hf_tools_read(const struct hf_reader *reader, const struct hf_node *node, const struct hf_policies *policies,
                  struct hf_settings *settings);

/* Tells what doesn't fit together in what tools and routes have in common. `node` holds it; `where` names it; `writes`
 * is who may not have a cache, absent when all that answers is configured as read-only. */
void hf_answer_check(const struct hf_reader *reader, const struct hf_node *node, const char *where,
                     const struct hf_tool_settings *answer, struct hf_str writes);

#endif
