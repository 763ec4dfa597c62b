/* What the worlds of a whole gateway have of the chain: tools as they are configured, routes, standbys; and what their
 * servers are in truth. */
#ifndef SIM_CHAIN_H
#define SIM_CHAIN_H

#include "gateway/settings.h"

enum { SIM_SERVERS_MAX = 4, SIM_PRINCIPALS = 3 };

extern const char *const sim_tool_names[];
enum { SIM_TOOL_READ, SIM_TOOL_IDEMPOTENT, SIM_TOOL_UNSAFE, SIM_TOOL_KEYED, SIM_TOOL_STATUS, SIM_TOOL_COUNT };

/* Without the chain servers have no others than these, and agents ask for no others. */
enum { SIM_TOOLS_PLAIN = SIM_TOOL_UNSAFE + 1, SIM_TOOLS_ASKED = SIM_TOOL_STATUS };

struct sim_world;

/* A route of one tool over several servers. */
struct sim_route {
  bool present;
  enum hf_route_order order;
  unsigned servers[SIM_SERVERS_MAX];
  unsigned server_count;
  uint32_t weights[SIM_SERVERS_MAX];
  bool maps_result;
  struct hf_tool_settings tool;
};

/* Endpoints of one server are one site: they have the same tools, and know the same keys. */
struct sim_chain {
  bool on;
  unsigned site[SIM_SERVERS_MAX];     /* the number of its first server */
  int standby[SIM_SERVERS_MAX];       /* or -1 */
  bool child[SIM_SERVERS_MAX];        /* what was under way dies with it */
  hf_time truth_ttl[SIM_SERVERS_MAX]; /* by site: how long it remembers keys */
  struct hf_tool_settings tools[SIM_SERVERS_MAX][SIM_TOOL_COUNT];
  struct sim_route routes[SIM_TOOLS_ASKED];
};

/* `servers` are there. */
void sim_chain_draw(struct sim_chain *chain, struct sim_world *w, unsigned servers);

/* Fills tools and routes in; `servers` are there, those with `present`. Returns false when out of memory. */
bool sim_chain_fill(struct hf_settings *settings, const struct sim_chain *chain, const bool *present, unsigned servers,
                    const struct hf_policy *policy);

/* Names of servers are borrowed from here. */
const char *sim_server_name(unsigned server);

/* How a site calls the argument that says what is to be done. */
const char *sim_argument_name(const struct sim_chain *chain, unsigned server);

/* The first and the last server that a call can go to: those of the route if `server` is -1. */
bool sim_chain_reaches(const struct sim_chain *chain, int server, unsigned tool, unsigned to);

/* What holds for a call of this tool. */
const struct hf_tool_settings *sim_chain_tool(const struct sim_chain *chain, int server, unsigned tool);

#endif
