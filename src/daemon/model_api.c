#include "daemon/model_api.h"

#include "json/value.h"
#include "json/write.h"

enum { NODES_MAX = 1 << 14 };

static bool ends_with(struct hf_str s, struct hf_str end) {
  return s.len >= end.len && memcmp(s.ptr + s.len - end.len, end.ptr, end.len) == 0;
}

/* The base addresses of these APIs are written in as many ways as there are programs that take them. */
static struct hf_str missing_path(enum hf_model_api api, struct hf_str url) {
  if (api == HF_MODEL_OPENAI)
    return ends_with(url, HF_STR("/chat/completions")) ? HF_STR("") : HF_STR("/chat/completions");
  if (ends_with(url, HF_STR("/messages")))
    return HF_STR("");
  return ends_with(url, HF_STR("/v1")) ? HF_STR("/messages") : HF_STR("/v1/messages");
}

int hf_model_api_url(const struct hf_model_settings *settings, struct hf_buf *out) {
  struct hf_str url = settings->url;
  while (url.len > 0 && url.ptr[url.len - 1] == '/')
    url.len--;
  int r = hf_buf_append_str(out, url);
  if (r == 0)
    r = hf_buf_append_str(out, missing_path(settings->api, url));
  if (r == 0)
    r = hf_buf_append(out, "", 1);
  if (r == 0)
    out->len--;
  return r;
}

static int add_line(struct hf_buf *out, struct hf_str name, struct hf_str value) {
  int r = hf_buf_append_str(out, name);
  if (r == 0)
    r = hf_buf_append_str(out, value);
  return r == 0 ? hf_buf_append(out, "", 1) : r;
}

int hf_model_api_headers(const struct hf_model_settings *settings, struct hf_buf *out) {
  const bool anthropic = settings->api == HF_MODEL_ANTHROPIC;
  int r = add_line(out, HF_STR("Content-Type: "), HF_STR("application/json"));
  if (r == 0 && anthropic)
    r = add_line(out, HF_STR("anthropic-version: "), HF_STR("2023-06-01"));
  if (r == 0 && settings->key.len > 0)
    r = add_line(out, anthropic ? HF_STR("x-api-key: ") : HF_STR("Authorization: Bearer "), settings->key);
  return r == 0 ? add_line(out, HF_STR("Expect:"), HF_STR("")) : r;
}

static void write_message(struct hf_json_writer *w, const char *role, struct hf_str content) {
  hf_json_write_object(w);
  hf_json_write_member_str(w, "role", hf_str_from(role));
  hf_json_write_member_str(w, "content", content);
  hf_json_write_object_end(w);
}

/* OpenAI's own models take the newer name only, most servers that speak its API the older one only. */
static const char *max_tokens_name(const struct hf_model_settings *settings) {
  static const char host[] = "://api.openai.com";
  const bool own = memmem(settings->url.ptr, settings->url.len, host, sizeof host - 1) != NULL;
  return settings->api == HF_MODEL_OPENAI && own ? "max_completion_tokens" : "max_tokens";
}

int hf_model_api_body(const struct hf_model_settings *settings, struct hf_str instructions, struct hf_str message,
                      struct hf_buf *out) {
  struct hf_json_writer w;
  hf_json_writer_init(&w, out);
  hf_json_write_object(&w);
  hf_json_write_member_str(&w, "model", settings->name);
  hf_json_write_member_int(&w, max_tokens_name(settings), settings->max_tokens);
  if (settings->api == HF_MODEL_ANTHROPIC)
    hf_json_write_member_str(&w, "system", instructions);
  hf_json_write_key(&w, "messages");
  hf_json_write_array(&w);
  if (settings->api == HF_MODEL_OPENAI)
    write_message(&w, "system", instructions);
  write_message(&w, "user", message);
  hf_json_write_array_end(&w);
  hf_json_write_object_end(&w);
  return hf_json_write_finish(&w);
}

static bool find(const struct hf_json_doc *doc, uint32_t object, const char *name, enum hf_json_type type,
                 uint32_t *ret_node) {
  return hf_json_type(doc, object) == HF_JSON_OBJECT && hf_json_member(doc, object, hf_str_from(name), ret_node) == 0 &&
         hf_json_type(doc, *ret_node) == type;
}

/* The texts of an array of parts; other kinds of parts say nothing here. */
static int append_parts(const struct hf_json_doc *doc, uint32_t parts, struct hf_buf *text) {
  struct hf_json_iter iter = hf_json_iter(doc, parts);
  uint32_t part, node;
  int r = 0;
  while (r == 0 && hf_json_next(doc, &iter, NULL, &part))
    if (find(doc, part, "type", HF_JSON_STRING, &node) && hf_json_string_is(doc, node, HF_STR("text")) &&
        find(doc, part, "text", HF_JSON_STRING, &node))
      r = hf_json_unescape(hf_json_span(doc, node), text);
  return r;
}

static int read_openai(const struct hf_json_doc *doc, struct hf_buf *text) {
  uint32_t choices, choice, message, content;
  if (!find(doc, 0, "choices", HF_JSON_ARRAY, &choices))
    return HF_ERR_INVALID;
  struct hf_json_iter iter = hf_json_iter(doc, choices);
  if (!hf_json_next(doc, &iter, NULL, &choice) || !find(doc, choice, "message", HF_JSON_OBJECT, &message))
    return HF_ERR_INVALID;
  if (find(doc, message, "content", HF_JSON_STRING, &content))
    return hf_json_unescape(hf_json_span(doc, content), text);
  return find(doc, message, "content", HF_JSON_ARRAY, &content) ? append_parts(doc, content, text) : 0;
}

static int read_anthropic(const struct hf_json_doc *doc, struct hf_buf *text) {
  uint32_t content;
  return find(doc, 0, "content", HF_JSON_ARRAY, &content) ? append_parts(doc, content, text) : HF_ERR_INVALID;
}

static int64_t add_usage(const struct hf_json_doc *doc, uint32_t usage, const char *name, int64_t sum) {
  uint32_t node;
  int64_t tokens;
  if (!find(doc, usage, name, HF_JSON_NUMBER, &node) || hf_json_int64(hf_json_span(doc, node), &tokens) < 0 ||
      tokens < 0 || tokens > INT32_MAX)
    return sum;
  return (sum < 0 ? 0 : sum) + tokens;
}

static int64_t usage_of(const struct hf_json_doc *doc) {
  static const char *const names[] = {"prompt_tokens", "completion_tokens",           "input_tokens",
                                      "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"};
  uint32_t usage;
  int64_t sum = -1;
  if (find(doc, 0, "usage", HF_JSON_OBJECT, &usage))
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
      sum = add_usage(doc, usage, names[i], sum);
  return sum;
}

int hf_model_api_read(enum hf_model_api api, struct hf_str body, struct hf_buf *text, int64_t *ret_tokens) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.max_bytes = HF_MODEL_ANSWER_MAX;
  options.max_nodes = NODES_MAX;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  int r = hf_json_scan_feed(&scan, body.ptr, body.len, true);
  if (r == 0) {
    const struct hf_json_doc doc = hf_json_doc(body.ptr, &scan);
    r = api == HF_MODEL_OPENAI ? read_openai(&doc, text) : read_anthropic(&doc, text);
    if (r == 0)
      *ret_tokens = usage_of(&doc);
  } else if (r == HF_ERR_SYNTAX) {
    r = HF_ERR_INVALID;
  }
  hf_json_scan_deinit(&scan);
  return r;
}
