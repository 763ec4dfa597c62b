/* `policies` and `mcpServers` of a configuration. */
#ifndef HF_DAEMON_SERVER_CONFIG_H
#define HF_DAEMON_SERVER_CONFIG_H

#include "daemon/options.h"

/* Why a server is left out that the file says to leave out. */
#define HF_SERVER_OFF "disabled in the configuration"

/* The named policies, kept as nodes: each is laid over what stands below it where it is used. */
struct hf_policies {
  const struct hf_node *named; /* the mapping, or NULL */
  struct hf_policy policy;     /* profile and `default` */
  struct hf_provider_options provider;
};

/* Checks all policies and reads the default one. Returns 0 or HF_ERR_NOMEM. */
int hf_policies_read(const struct hf_reader *reader, enum hf_profile profile, const struct hf_node *node,
                     struct hf_policies *ret_policies);

/* Lays the policy that `node` (of a server or tool) names with `policy:` over the targets. Returns 0 or HF_ERR_NOMEM.
 */
int hf_policies_apply(const struct hf_reader *reader, const struct hf_policies *policies, const struct hf_node *node,
                      const struct hf_targets *targets);

/* Tells what doesn't fit together in a policy. `where` names it. */
void hf_policy_check(const struct hf_reader *reader, struct hf_place place, const char *where,
                     const struct hf_policy *policy);

int hf_servers_read(const struct hf_reader *reader, const struct hf_node *node, const struct hf_policies *policies,
                    enum hf_instance_mode instance, struct hf_settings *settings);

/* One server from a command line. */
int hf_server_wrap(const struct hf_reader *reader, char *const *argv, const char *name, enum hf_instance_mode instance,
                   struct hf_settings *settings);

#endif
