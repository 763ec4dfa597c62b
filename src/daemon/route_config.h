/* `routes` of a configuration: tools of the gateway's own. */
#ifndef HF_DAEMON_ROUTE_CONFIG_H
#define HF_DAEMON_ROUTE_CONFIG_H

#include "daemon/server_config.h"

/* The servers and tools are read already. Returns 0 or HF_ERR_NOMEM. */
int hf_routes_read(const struct hf_reader *reader, const struct hf_node *node, const struct hf_policies *policies,
                   struct hf_settings *settings);

#endif
