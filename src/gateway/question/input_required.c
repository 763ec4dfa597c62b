#include "gateway/question/input_required.h"

#include "gateway/outcome.h"
#include "json/value.h"
#include "json/write.h"

int hf_input_request_write(enum hf_method method, struct hf_str params, struct hf_buf *out) {
  struct hf_json_writer w;
  hf_json_writer_init(&w, out);
  hf_json_write_object(&w);
  hf_json_write_member_str(&w, "method", hf_method_info(method)->name);
  if (params.ptr)
    hf_json_write_member_raw(&w, "params", params);
  hf_json_write_object_end(&w);
  return hf_json_write_finish(&w);
}

int hf_input_required_write(const struct hf_exchange *exchange, const struct hf_input_required *what,
                            struct hf_buf *out) {
  const struct hf_outcome outcome = {
      .executed = what->executed,
      .elapsed = exchange->client->gateway->loop->now - exchange->started,
      .retry_after = -1,
  };
  struct hf_buf marker;
  hf_buf_init(&marker, HF_OUTCOME_MARKER_MAX);
  int r = hf_outcome_marker(exchange, &outcome, &marker);
  if (r == 0) {
    struct hf_json_writer w;
    hf_json_writer_init(&w, out);
    hf_json_write_object(&w);
    hf_json_write_member_str(&w, "resultType", HF_STR("input_required"));
    hf_json_write_member_raw(&w, "inputRequests", what->requests);
    hf_json_write_member_str(&w, "requestState", what->state);
    hf_json_write_key(&w, "_meta");
    hf_json_write_object(&w);
    hf_json_write_member_raw(&w, HF_META_OUTCOME, hf_buf_str(&marker));
    hf_json_write_object_end(&w);
    hf_json_write_object_end(&w);
    r = hf_json_write_finish(&w);
  }
  hf_buf_deinit(&marker);
  return r;
}

/* Since a legacy client tells the pages that it is to open apart by an id, it needs one. */
static int write_params(struct hf_exchange *exchange, const struct hf_json_doc *doc, uint32_t node,
                        struct hf_buf *out) {
  const struct hf_str raw = hf_json_span(doc, node);
  uint32_t mode, id;
  if (hf_json_type(doc, node) != HF_JSON_OBJECT || hf_json_member(doc, node, HF_STR("mode"), &mode) < 0 ||
      !hf_str_equal(hf_json_span(doc, mode), HF_STR("\"url\"")) ||
      hf_json_member(doc, node, HF_STR("elicitationId"), &id) != HF_ERR_NOTFOUND)
    return hf_buf_append_str(out, raw);
  int r = hf_buf_printf(out, "{\"elicitationId\":\"holdfast-%llu\",",
                        (unsigned long long)hf_gateway_next_id(exchange->client->gateway));
  return r == 0 ? hf_buf_append(out, raw.ptr + 1, raw.len - 1) : r;
}

int hf_input_request_read(struct hf_exchange *exchange, const struct hf_json_doc *doc, uint32_t request,
                          enum hf_method *ret_method, struct hf_buf *params) {
  uint32_t node;
  struct hf_str name;
  if (hf_json_type(doc, request) != HF_JSON_OBJECT || hf_json_member(doc, request, HF_STR("method"), &node) < 0 ||
      hf_json_string(doc, node, &exchange->arena, &name) < 0)
    return HF_ERR_INVALID;
  *ret_method = hf_method_find(name);
  return hf_json_member(doc, request, HF_STR("params"), &node) == 0 ? write_params(exchange, doc, node, params) : 0;
}
