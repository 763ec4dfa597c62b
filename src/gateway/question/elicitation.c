#include "gateway/question/elicitation.h"

#include "base/alloc.h"
#include "gateway/gateway.h"
#include "mcp/compose.h"
#include "mcp/rewrite.h"
#include "json/value.h"
#include "json/write.h"

enum { ELICITATION_NODES_MAX = 4096, ELICITATION_ID_MAX = 1024, NOTICE_MAX = 8192 };

struct elicitation {
  struct hf_list link; /* in the gateway's list, the oldest first */
  struct hf_instance *instance;
  struct hf_client *client;
  struct hf_str id; /* unescaped, owned */
};

static void elicitation_free(struct hf_gateway *gateway, struct elicitation *elicitation) {
  hf_list_remove(&elicitation->link);
  gateway->elicitation_count--;
  hf_free((char *)elicitation->id.ptr);
  hf_free(elicitation);
}

static struct elicitation *of_link(struct hf_list *link) {
  return HF_CONTAINER_OF(link, struct elicitation, link);
}

static void note(struct hf_instance *instance, struct hf_client *client, struct hf_str id) {
  struct hf_gateway *gateway = instance->gateway;
  struct elicitation *elicitation = hf_calloc(1, sizeof *elicitation);
  char *copy = hf_strndup(id.ptr, id.len);
  if (!elicitation || !copy) {
    hf_free(elicitation);
    hf_free(copy);
    return; /* a notice less, which nobody may count on */
  }
  if (gateway->elicitation_count >= HF_ELICITATIONS_MAX)
    elicitation_free(gateway, of_link(gateway->elicitations.next));
  *elicitation = (struct elicitation){.instance = instance, .client = client, .id = {copy, id.len}};
  hf_list_push_back(&gateway->elicitations, &elicitation->link);
  gateway->elicitation_count++;
}

static void note_page(struct hf_instance *instance, struct hf_client *client, const struct hf_json_doc *doc,
                      uint32_t page) {
  uint32_t node;
  struct hf_str id;
  struct hf_arena arena;
  hf_arena_init(&arena, ELICITATION_ID_MAX);
  if (hf_json_type(doc, page) == HF_JSON_OBJECT && hf_json_member(doc, page, HF_STR("elicitationId"), &node) == 0 &&
      hf_json_type(doc, node) == HF_JSON_STRING && hf_json_string(doc, node, &arena, &id) == 0)
    note(instance, client, id);
  hf_arena_deinit(&arena);
}

/* Each of them in an error's `data.elicitations`, or the one that the params are. */
static void note_all(struct hf_instance *instance, struct hf_client *client, const struct hf_json_doc *doc) {
  uint32_t list, page;
  if (hf_json_type(doc, 0) != HF_JSON_OBJECT)
    return;
  if (hf_json_member(doc, 0, HF_STR("elicitations"), &list) < 0 || hf_json_type(doc, list) != HF_JSON_ARRAY) {
    note_page(instance, client, doc, 0);
    return;
  }
  struct hf_json_iter iter = hf_json_iter(doc, list);
  while (hf_json_next(doc, &iter, NULL, &page))
    note_page(instance, client, doc, page);
}

static void read_and_note(struct hf_instance *instance, struct hf_client *client, struct hf_str raw) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.max_nodes = ELICITATION_NODES_MAX;
  options.tree_depth = 3;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  if (client->era == HF_ERA_LEGACY && raw.ptr && hf_json_scan_feed(&scan, raw.ptr, raw.len, true) == 0) {
    const struct hf_json_doc doc = hf_json_doc(raw.ptr, &scan);
    note_all(instance, client, &doc);
  }
  hf_json_scan_deinit(&scan);
}

void hf_elicitation_note(struct hf_instance *instance, struct hf_client *client, struct hf_str params) {
  read_and_note(instance, client, params);
}

void hf_elicitation_note_error(struct hf_instance *instance, struct hf_client *client, struct hf_str data) {
  read_and_note(instance, client, data);
}

static struct elicitation *find(struct hf_instance *instance, struct hf_str id) {
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &instance->gateway->elicitations)
    if (of_link(it)->instance == instance && hf_str_equal(of_link(it)->id, id))
      return of_link(it);
  return NULL;
}

static void pass_on(struct hf_client *client, const struct hf_message *message) {
  struct hf_rewrite rewrite;
  struct hf_pieces text;
  hf_rewrite_begin(&rewrite, message);
  hf_pieces_init(&text);
  if (hf_rewrite_finish(&rewrite, &text) == 0)
    hf_client_notify(client, &text);
  hf_pieces_deinit(&text);
}

void hf_elicitation_complete(struct hf_instance *instance, const struct hf_message *message) {
  uint32_t node;
  struct hf_str id;
  struct hf_arena arena;
  if (hf_list_empty(&instance->gateway->elicitations) || !message->at[HF_FIELD_PARAMS])
    return;
  hf_arena_init(&arena, ELICITATION_ID_MAX);
  if (hf_json_member(&message->doc, message->at[HF_FIELD_PARAMS], HF_STR("elicitationId"), &node) == 0 &&
      hf_json_type(&message->doc, node) == HF_JSON_STRING && hf_json_string(&message->doc, node, &arena, &id) == 0) {
    struct elicitation *elicitation = find(instance, id);
    if (elicitation) {
      pass_on(elicitation->client, message);
      elicitation_free(instance->gateway, elicitation);
    }
  }
  hf_arena_deinit(&arena);
}

void hf_elicitation_tell(struct hf_exchange *exchange, struct hf_str id) {
  struct hf_buf params;
  struct hf_pieces pieces;
  struct hf_json_writer w;
  hf_buf_init(&params, NOTICE_MAX);
  hf_pieces_init(&pieces);
  hf_json_writer_init(&w, &params);
  hf_json_write_object(&w);
  hf_json_write_member_str(&w, "elicitationId", id);
  hf_json_write_object_end(&w);
  if (hf_json_write_finish(&w) == 0 && hf_compose_notice(&pieces, HF_METHOD_ELICIT_COMPLETE, hf_buf_str(&params)) == 0)
    hf_exchange_message(exchange, &pieces);
  hf_pieces_deinit(&pieces);
  hf_buf_deinit(&params);
}

void hf_elicitation_forget_client(struct hf_client *client) {
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &client->gateway->elicitations)
    if (of_link(it)->client == client)
      elicitation_free(client->gateway, of_link(it));
}

void hf_elicitation_forget_instance(struct hf_instance *instance) {
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &instance->gateway->elicitations)
    if (of_link(it)->instance == instance)
      elicitation_free(instance->gateway, of_link(it));
}
