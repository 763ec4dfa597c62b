/* What a client sees of all servers together: merged lists, and the way from a shown name or URI to its server.
 *
 * Lists are in the order of the configuration, then of each server. At the endpoint of all servers tools and prompts
 * carry their server's name in front; at a server's own endpoint they are as they are. Resources keep their URIs, but
 * where an earlier server has the same: then they are shown by an alias (alias.h). */
#ifndef HF_GATEWAY_CATALOG_CATALOG_H
#define HF_GATEWAY_CATALOG_CATALOG_H

#include "gateway/exchange.h"

/* Answers a list request. */
void hf_catalog_list(struct hf_exchange *exchange);

/* Finds the target of a request that names a tool, a prompt or a resource, and fills exchange->target in. Returns 0,
 * HF_ERR_AGAIN (servers or lists that may have it are not known yet; never once the wait is over), or HF_ERR_NOTFOUND,
 * HF_ERR_UNAVAILABLE (its server is disabled), HF_ERR_LIMIT, HF_ERR_INVALID (names nothing). */
int hf_catalog_resolve(struct hf_exchange *exchange);

/* Fills in what is known of a tool (or whatever `kind` has) of this instance; `item` is its entry in the list, or NULL.
 * On success it holds references, which belong to the exchange once hf_catalog_add_target took it. */
int hf_catalog_target(struct hf_exchange *exchange, struct hf_instance *instance, enum hf_list_kind kind,
                      const struct hf_item *item, struct hf_str name, struct hf_target_tool *ret_target);

/* The target's entry in its server's list as it is now, or NULL: a list may be loaded anew during a call. */
const struct hf_item *hf_catalog_item(const struct hf_target_tool *target);

/* Appends a target to the exchange's; the first one becomes where it is at. Takes the references, whatever it returns:
 * 0, HF_ERR_LIMIT or HF_ERR_NOMEM. */
int hf_catalog_add_target(struct hf_exchange *exchange, const struct hf_target_tool *target);

/* A tool or route in a client's sight. Borrowed. */
struct hf_shown_tool {
  struct hf_str shown;  /* as the client calls it */
  struct hf_str own;    /* as its server does */
  struct hf_str server; /* absent: it is a route */
  struct hf_str schema; /* raw inputSchema, or absent */
  struct hf_str raw;    /* its entry in the list, or absent */
  bool only_reads;      /* as the configuration says, else its annotations */
  const struct hf_fit_settings *fit;
};

/* Calls back for each until it returns false. Hidden ones are in nobody's sight. */
typedef bool hf_catalog_visitor(void *ctx, const struct hf_shown_tool *tool);
void hf_catalog_visit(struct hf_client *client, hf_catalog_visitor *visitor, void *ctx);

/* A tool's description, raw with its quotes; absent if it has none. */
struct hf_str hf_catalog_description(const struct hf_shown_tool *tool);

/* Why the tool that was asked for was not found. */
enum hf_missing { HF_MISSING_UNKNOWN, HF_MISSING_HIDDEN, HF_MISSING_VANISHED };
enum hf_missing hf_catalog_missing(const struct hf_exchange *exchange);

/* The server whose name is in front of the tool's that was not found, if it has never listed its tools: nobody knows
 * whether it has this one. Else NULL. */
const struct hf_instance *hf_catalog_unlisted(const struct hf_exchange *exchange);

/* Enters the names of a list that was loaded, so that they are known before a client asks for the merged list. */
void hf_catalog_learn(struct hf_instance *instance, enum hf_list_kind kind);

/* Who serves a resource, or template, by its URI: the first server that lists it; the one that an alias names; the one
 * whose template fits best; the one that gave a link to it. `ret_own` is the server's own URI, borrowed. Returns
 * borrowed, or NULL. The other one takes, if nobody is known to have it, the only server that has resources at all. */
struct hf_instance *hf_catalog_locate_known(struct hf_client *client, struct hf_str uri, struct hf_str *ret_own);
struct hf_instance *hf_catalog_locate(struct hf_client *client, struct hf_str uri, struct hf_str *ret_own);

/* Starts what is not started, and says whether everything in the client's sight is settled. */
bool hf_catalog_settle(struct hf_client *client);

#endif
