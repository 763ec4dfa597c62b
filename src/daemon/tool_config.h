/* `tools` of a configuration: options by pattern over server__tool. */
#ifndef HF_DAEMON_TOOL_CONFIG_H
#define HF_DAEMON_TOOL_CONFIG_H

#include "daemon/server_config.h"

/* The servers are read already. Returns 0 or HF_ERR_NOMEM. */
int hf_tools_read(const struct hf_reader *reader, const struct hf_node *node, const struct hf_policies *policies,
                  struct hf_settings *settings);

#endif
