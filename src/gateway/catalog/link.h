/* Resources that results lead to (`resource_link`, embedded ones), at the endpoint of all servers.
 *
 * A link need not be in any list, so the server that gave it is remembered: that is where it is read. Where its URI
 * leads to another server already, the link is shown by its alias; all others stay as they are, and so do links into
 * the web (`http:`, `https:`), which clients may follow themselves. */
#ifndef HF_GATEWAY_CATALOG_LINK_H
#define HF_GATEWAY_CATALOG_LINK_H

#include "base/list.h"
#include "base/map.h"
#include "mcp/rewrite.h"

struct hf_exchange;

enum {
  HF_LINKS_MAX = 4096,        /* that are remembered; the oldest goes */
  HF_LINK_TEXT_MAX = 2 << 20, /* bytes of content that are looked through for links */
};

struct hf_links {
  struct hf_map by_uri; /* to struct link */
  struct hf_list order; /* the oldest first */
};

void hf_links_init(struct hf_links *links);
void hf_links_deinit(struct hf_links *links);

/* The name of the server that gave a link to this URI; absent if none did. */
struct hf_str hf_links_find(const struct hf_links *links, struct hf_str uri);

/* Remembers what a result of this exchange leads to, and rewrites what would lead elsewhere. */
void hf_links_pass(const struct hf_exchange *exchange, const struct hf_message *response, struct hf_rewrite *rewrite);

#endif
