#include "gateway/catalog/link.h"

#include "base/alloc.h"
#include "gateway/catalog/alias.h"
#include "gateway/catalog/catalog.h"
#include "gateway/exchange.h"
#include "gateway/gateway.h"
#include "json/write.h"

#include <string.h>

enum { LINK_NODES_MAX = 1 << 16, LINK_DEPTH = 5, URI_MAX = 8192 };

struct link {
  struct hf_list link;
  struct hf_str uri; /* owned, as the server's name */
  struct hf_str server;
};

/* A pass over the content of one result. */
struct pass {
  const struct hf_exchange *exchange;
  const struct hf_instance *instance; /* whose result it is */
  struct hf_json_doc doc;
  struct hf_str text; /* the content */
  struct hf_buf made; /* a copy with other URIs, up to `done` bytes of the content */
  size_t done;
  struct hf_arena arena;
};

static void link_free(struct hf_links *links, struct link *link) {
  hf_map_remove(&links->by_uri, link->uri);
  hf_list_remove(&link->link);
  hf_free((char *)link->uri.ptr);
  hf_free((char *)link->server.ptr);
  hf_free(link);
}

static struct link *oldest(const struct hf_links *links) {
  return HF_CONTAINER_OF(links->order.next, struct link, link);
}

void hf_links_init(struct hf_links *links) {
  hf_map_init(&links->by_uri, HF_LINKS_MAX);
  hf_list_init(&links->order);
}

void hf_links_deinit(struct hf_links *links) {
  while (!hf_list_empty(&links->order))
    link_free(links, oldest(links));
  hf_map_deinit(&links->by_uri);
}

struct hf_str hf_links_find(const struct hf_links *links, struct hf_str uri) {
  const struct link *link = hf_map_get(&links->by_uri, uri);
  return link ? link->server : (struct hf_str){NULL, 0};
}

/* Without memory it is not remembered. */
static void remember(struct hf_links *links, struct hf_str uri, struct hf_str server) {
  if (links->by_uri.len >= HF_LINKS_MAX)
    link_free(links, oldest(links));
  struct link *link = hf_calloc(1, sizeof *link);
  char *copy = hf_strndup(uri.ptr, uri.len), *name = hf_strndup(server.ptr, server.len);
  if (link && copy && name && hf_map_put(&links->by_uri, uri, link) == 0) {
    *link = (struct link){.uri = {copy, uri.len}, .server = {name, server.len}};
    hf_list_push_back(&links->order, &link->link);
    return;
  }
  hf_free(link);
  hf_free(copy);
  hf_free(name);
}

static bool is_of_the_web(struct hf_str uri) {
  return hf_str_starts(uri, HF_STR("http://")) || hf_str_starts(uri, HF_STR("https://"));
}

/* Copies up to the URI, and an alias in its place. */
static int put_alias(struct pass *pass, uint32_t node, struct hf_str uri) {
  const struct hf_str old = hf_json_span(&pass->doc, node);
  const size_t at = (size_t)(old.ptr - pass->text.ptr);
  struct hf_buf alias;
  hf_buf_init(&alias, 2 * URI_MAX);
  int r = hf_alias_write(&alias, pass->instance->settings->name, uri);
  if (r == 0)
    r = hf_buf_append(&pass->made, pass->text.ptr + pass->done, at - pass->done);
  if (r == 0)
    r = hf_json_escape(&pass->made, hf_buf_str(&alias));
  if (r == 0)
    pass->done = at + old.len;
  hf_buf_deinit(&alias);
  return r;
}

static int visit_uri(struct pass *pass, uint32_t holder) {
  struct hf_client *client = pass->exchange->client;
  uint32_t node;
  struct hf_str uri, own;
  if (hf_json_member(&pass->doc, holder, HF_STR("uri"), &node) < 0 ||
      hf_json_type(&pass->doc, node) != HF_JSON_STRING || hf_json_string(&pass->doc, node, &pass->arena, &uri) < 0 ||
      uri.len == 0 || uri.len > URI_MAX)
    return 0;
  const struct hf_instance *there = hf_catalog_locate_known(client, uri, &own);
  if (!there)
    remember(&client->gateway->links, uri, pass->instance->settings->name);
  else if (there->settings != pass->instance->settings && !is_of_the_web(uri))
    return put_alias(pass, node, uri);
  return 0;
}

/* A block of content that is a link, or has a resource in it. */
static int visit_block(struct pass *pass, uint32_t block) {
  uint32_t type, resource;
  if (hf_json_type(&pass->doc, block) != HF_JSON_OBJECT ||
      hf_json_member(&pass->doc, block, HF_STR("type"), &type) < 0 || hf_json_type(&pass->doc, type) != HF_JSON_STRING)
    return 0;
  if (hf_json_string_is(&pass->doc, type, HF_STR("resource_link")))
    return visit_uri(pass, block);
  if (hf_json_string_is(&pass->doc, type, HF_STR("resource")) &&
      hf_json_member(&pass->doc, block, HF_STR("resource"), &resource) == 0 &&
      hf_json_type(&pass->doc, resource) == HF_JSON_OBJECT)
    return visit_uri(pass, resource);
  return 0;
}

static int visit_blocks(struct pass *pass, uint32_t node) {
  struct hf_json_iter iter = hf_json_iter(&pass->doc, node);
  uint32_t each;
  int r = 0;
  if (iter.object)
    return visit_block(pass, node);
  while (r == 0 && hf_json_next(&pass->doc, &iter, NULL, &each))
    r = visit_block(pass, each);
  return r;
}

static int visit_messages(struct pass *pass) {
  struct hf_json_iter iter = hf_json_iter(&pass->doc, 0);
  uint32_t each, content;
  int r = 0;
  while (r == 0 && !iter.object && hf_json_next(&pass->doc, &iter, NULL, &each))
    if (hf_json_type(&pass->doc, each) == HF_JSON_OBJECT &&
        hf_json_member(&pass->doc, each, HF_STR("content"), &content) == 0)
      r = visit_blocks(pass, content);
  return r;
}

static void look_through(struct pass *pass, bool messages, uint32_t at, struct hf_rewrite *rewrite) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.tree_depth = LINK_DEPTH;
  options.max_nodes = LINK_NODES_MAX;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  if (hf_json_scan_feed(&scan, pass->text.ptr, pass->text.len, true) == 0) {
    pass->doc = hf_json_doc(pass->text.ptr, &scan);
    int r = messages ? visit_messages(pass) : visit_blocks(pass, 0);
    if (r == 0 && pass->done > 0) {
      r = hf_buf_append(&pass->made, pass->text.ptr + pass->done, pass->text.len - pass->done);
      if (r == 0)
        hf_rewrite_replace(rewrite, at, hf_buf_str(&pass->made));
    }
  }
  hf_json_scan_deinit(&scan);
}

void hf_links_pass(const struct hf_exchange *exchange, const struct hf_message *response, struct hf_rewrite *rewrite) {
  static const struct hf_str sign = HF_STR("\"resource");
  const bool messages = exchange->request.method == HF_METHOD_PROMPTS_GET;
  uint32_t at = response->at[HF_FIELD_CONTENT];
  if (exchange->client->server || !exchange->target->instance ||
      (exchange->request.method != HF_METHOD_TOOLS_CALL && !messages) ||
      (messages && hf_json_member(&response->doc, response->at[HF_FIELD_RESULT], HF_STR("messages"), &at) < 0) || !at)
    return;
  struct pass pass = {.exchange = exchange, .instance = exchange->target->instance};
  pass.text = hf_json_span(&response->doc, at);
  if (pass.text.len > HF_LINK_TEXT_MAX || pass.text.ptr[0] != '[' ||
      !memmem(pass.text.ptr, pass.text.len, sign.ptr, sign.len))
    return;
  hf_buf_init(&pass.made, 2 * (size_t)HF_LINK_TEXT_MAX);
  hf_arena_init(&pass.arena, HF_LINK_TEXT_MAX);
  look_through(&pass, messages, at, rewrite);
  hf_arena_deinit(&pass.arena);
  hf_buf_deinit(&pass.made);
}
