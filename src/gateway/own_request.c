#include "gateway/own_request.h"

#include "gateway/gateway.h"
#include "mcp/compose.h"
#include "json/value.h"
#include "json/write.h"

enum { OWN_REQUEST_MAX = 1 << 16, NAME_MAX_BYTES = 1 << 10 };

static void write_meta(const struct hf_instance *instance, struct hf_json_writer *w) {
  hf_json_write_key(w, "_meta");
  hf_json_write_object(w);
  hf_json_write_member_str(w, HF_META_VERSION, instance->version);
  hf_json_write_member_raw(w, HF_META_CAPABILITIES,
                           instance->capabilities.tasks ? HF_STR("{\"extensions\":{\"" HF_EXTENSION_TASKS "\":{}}}")
                                                        : HF_STR("{}"));
  hf_json_write_member_raw(w, HF_META_CLIENT_INFO, HF_STR(HF_IMPLEMENTATION));
  hf_json_write_object_end(w);
}

static int compose(const struct hf_instance *instance, const struct hf_own_request *request, uint64_t id,
                   struct hf_pieces *ret_text) {
  char digits[HF_DECIMAL_MAX];
  struct hf_buf params, text;
  hf_buf_init(&params, request->raw.len + request->second_raw.len + OWN_REQUEST_MAX);
  hf_buf_init(&text, request->raw.len + request->second_raw.len + 2 * OWN_REQUEST_MAX);
  struct hf_json_writer w;
  hf_json_writer_init(&w, &params);
  hf_json_write_object(&w);
  if (request->key)
    hf_json_write_member_raw(&w, request->key, request->raw);
  if (request->second_key)
    hf_json_write_member_raw(&w, request->second_key, request->second_raw);
  if (instance->era == HF_ERA_MODERN)
    write_meta(instance, &w);
  hf_json_write_object_end(&w);
  int r = hf_json_write_finish(&w);
  if (r == 0)
    r = hf_compose_request(&text, hf_str_decimal(id, digits), hf_method_info(request->method)->name,
                           hf_buf_str(&params));
  if (r == 0)
    r = hf_pieces_add_copy(ret_text, hf_buf_str(&text));
  hf_buf_deinit(&params);
  hf_buf_deinit(&text);
  return r;
}

/* What the request is about, where its transport wants that said outside as well. */
static struct hf_str name_of(const struct hf_own_request *request, struct hf_buf *name) {
  const bool named = hf_method_info(request->method)->target == HF_TARGET_TASK && request->key;
  return named && hf_json_unescape(request->raw, name) == 0 ? hf_buf_str(name) : (struct hf_str){NULL, 0};
}

int hf_own_request_send(struct hf_instance *instance, const struct hf_own_request *request,
                        struct hf_attempt_ref **ret_ref) {
  uint64_t id = hf_gateway_next_id(instance->gateway);
  struct hf_pieces text;
  struct hf_buf name;
  hf_pieces_init(&text);
  hf_buf_init(&name, NAME_MAX_BYTES);
  int r = compose(instance, request, id, &text);
  if (r == 0) {
    struct hf_upstream_request upstream = {.id = id,
                                           .method = request->method,
                                           .text = &text,
                                           .name = name_of(request, &name),
                                           .new_session = request->new_session,
                                           .connect_by = hf_time_add(instance->gateway->loop->now, request->patience),
                                           .events = request->events,
                                           .ctx = request->ctx};
    r = instance->upstream->ops->request(instance->upstream, &upstream, ret_ref);
  }
  hf_pieces_deinit(&text);
  hf_buf_deinit(&name);
  return r;
}

void hf_own_request_sent(void *ctx, size_t bytes, bool complete) {
  (void)ctx, (void)bytes, (void)complete;
}

void hf_own_request_life(void *ctx) {
  (void)ctx;
}

void hf_own_request_message(void *ctx, const struct hf_message *message) {
  (void)ctx, (void)message;
}
