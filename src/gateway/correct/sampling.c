#include "gateway/correct/sampling.h"

#include "base/error.h"
#include "json/value.h"
#include "json/write.h"

enum { RESULT_NODES_MAX = 4096, RESULT_BYTES_MAX = 1 << 20 };

int hf_sampling_params(struct hf_str instructions, struct hf_str message, uint32_t max_tokens, struct hf_buf *out) {
  struct hf_json_writer w;
  hf_json_writer_init(&w, out);
  hf_json_write_object(&w);
  hf_json_write_key(&w, "messages");
  hf_json_write_array(&w);
  hf_json_write_object(&w);
  hf_json_write_member_str(&w, "role", HF_STR("user"));
  hf_json_write_key(&w, "content");
  hf_json_write_object(&w);
  hf_json_write_member_str(&w, "type", HF_STR("text"));
  hf_json_write_member_str(&w, "text", message);
  hf_json_write_object_end(&w);
  hf_json_write_object_end(&w);
  hf_json_write_array_end(&w);
  hf_json_write_member_str(&w, "systemPrompt", instructions);
  hf_json_write_member_int(&w, "maxTokens", max_tokens);
  hf_json_write_object_end(&w);
  return hf_json_write_finish(&w);
}

static int append_part(const struct hf_json_doc *doc, uint32_t part, struct hf_buf *text, bool *io_found) {
  uint32_t node;
  if (hf_json_type(doc, part) != HF_JSON_OBJECT || hf_json_member(doc, part, HF_STR("type"), &node) < 0 ||
      hf_json_type(doc, node) != HF_JSON_STRING || !hf_json_string_is(doc, node, HF_STR("text")) ||
      hf_json_member(doc, part, HF_STR("text"), &node) < 0 || hf_json_type(doc, node) != HF_JSON_STRING)
    return 0;
  *io_found = true;
  return hf_json_unescape(hf_json_span(doc, node), text);
}

/* Since 2025-11-25 the content can be an array. */
static int read_content(const struct hf_json_doc *doc, struct hf_buf *text) {
  uint32_t content, part;
  bool found = false;
  if (hf_json_type(doc, 0) != HF_JSON_OBJECT || hf_json_member(doc, 0, HF_STR("content"), &content) < 0)
    return HF_ERR_INVALID;
  int r = 0;
  if (hf_json_type(doc, content) == HF_JSON_ARRAY) {
    struct hf_json_iter iter = hf_json_iter(doc, content);
    while (r == 0 && hf_json_next(doc, &iter, NULL, &part))
      r = append_part(doc, part, text, &found);
  } else {
    r = append_part(doc, content, text, &found);
  }
  return r < 0 || found ? r : HF_ERR_INVALID;
}

int hf_sampling_read(struct hf_str result, struct hf_buf *text) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.max_nodes = RESULT_NODES_MAX;
  options.max_bytes = RESULT_BYTES_MAX;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  int r = hf_json_scan_feed(&scan, result.ptr, result.len, true);
  if (r == 0) {
    const struct hf_json_doc doc = hf_json_doc(result.ptr, &scan);
    r = read_content(&doc, text);
  } else if (r == HF_ERR_SYNTAX) {
    r = HF_ERR_INVALID;
  }
  hf_json_scan_deinit(&scan);
  return r;
}
