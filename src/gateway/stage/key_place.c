#include "gateway/stage/key_place.h"

#include "json/write.h"

enum { ARGUMENTS_MAX = HF_MESSAGE_BYTES_MAX };

/* Scans one level of `raw`. Returns false if it is no object that can be read; `scan` wants its deinit all the same. */
static bool read_object(struct hf_str raw, struct hf_json_scan *scan, struct hf_json_doc *ret_doc) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.tree_depth = 1;
  options.max_bytes = ARGUMENTS_MAX;
  hf_json_scan_init(scan, &options);
  if (!raw.ptr || hf_json_scan_feed(scan, raw.ptr, raw.len, true) < 0 || scan->nodes[0].type != HF_JSON_OBJECT)
    return false;
  *ret_doc = hf_json_doc(raw.ptr, scan);
  return true;
}

/* What was read as part of the message before can only lack memory now. */
static bool is_object(struct hf_str raw) {
  return raw.ptr && raw.ptr[0] == '{';
}

/* Reads a member that holds a key. An empty one, or null, is none; a number counts as it is spelt. Returns 0,
 * HF_ERR_NOTFOUND, HF_ERR_INVALID for what can be none, or HF_ERR_NOMEM. */
static int read_key(struct hf_exchange *exchange, const struct hf_json_doc *doc, struct hf_str name,
                    struct hf_str *ret_key) {
  uint32_t node;
  int r = hf_json_member(doc, 0, name, &node);
  if (r < 0)
    return r == HF_ERR_NOTFOUND ? r : HF_ERR_INVALID;
  enum hf_json_type type = hf_json_type(doc, node);
  struct hf_str text = hf_json_span(doc, node);
  if (type == HF_JSON_STRING)
    r = hf_json_string(doc, node, &exchange->arena, &text);
  else if (type == HF_JSON_NULL)
    return HF_ERR_NOTFOUND;
  else if (type != HF_JSON_NUMBER)
    return HF_ERR_INVALID;
  if (r < 0)
    return r;
  if (text.len == 0)
    return HF_ERR_NOTFOUND;
  if (text.len > HF_KEY_BYTES_MAX)
    return HF_ERR_INVALID;
  *ret_key = hf_arena_copy(&exchange->arena, text);
  return ret_key->ptr ? 0 : HF_ERR_NOMEM;
}

/* Appends the object without its member `name`, so that a key is no part of what it is bound to. */
static int write_without(const struct hf_json_doc *doc, struct hf_str name, struct hf_buf *out) {
  struct hf_json_iter iter = hf_json_iter(doc, 0);
  uint32_t key, value;
  int r = hf_buf_append_str(out, HF_STR("{"));
  while (r == 0 && hf_json_next(doc, &iter, &key, &value)) {
    if (hf_json_string_is(doc, key, name))
      continue;
    if (out->len > 1)
      r = hf_buf_append_str(out, HF_STR(","));
    if (r == 0)
      r = hf_buf_append_str(out, hf_json_span(doc, key));
    if (r == 0)
      r = hf_buf_append_str(out, HF_STR(":"));
    if (r == 0)
      r = hf_buf_append_str(out, hf_json_span(doc, value));
  }
  return r < 0 ? r : hf_buf_append_str(out, HF_STR("}"));
}

static int read_hint(struct hf_exchange *exchange, struct hf_str *ret_key) {
  struct hf_json_scan scan;
  struct hf_json_doc doc;
  struct hf_str hints = hf_message_raw(&exchange->request, HF_FIELD_META_CALL);
  int r = is_object(hints) ? HF_ERR_NOMEM : HF_ERR_NOTFOUND;
  if (read_object(hints, &scan, &doc))
    r = read_key(exchange, &doc, HF_STR("idempotencyKey"), ret_key);
  /* The replay of a letter says how old its key is; nobody else is believed. */
  uint32_t node;
  int64_t first_ms;
  if (r == 0 && exchange->replay && hf_json_member(&doc, 0, HF_STR("keyFirstMs"), &node) == 0 &&
      hf_json_int64(hf_json_span(&doc, node), &first_ms) == 0)
    exchange->key_first_ms = first_ms;
  hf_json_scan_deinit(&scan);
  return r;
}

/* The key among the arguments, which have their identity without it. */
static int read_argument(struct hf_exchange *exchange, struct hf_str name, struct hf_str *ret_key) {
  struct hf_str arguments = hf_exchange_arguments(exchange);
  struct hf_json_scan scan;
  struct hf_json_doc doc;
  struct hf_buf rest;
  hf_buf_init(&rest, ARGUMENTS_MAX);
  int r = is_object(arguments) ? HF_ERR_NOMEM : arguments.ptr ? HF_ERR_UNSUPPORTED : HF_ERR_NOTFOUND;
  if (read_object(arguments, &scan, &doc)) {
    r = read_key(exchange, &doc, name, ret_key);
    if (r != HF_ERR_INVALID && write_without(&doc, name, &rest) == 0)
      (void)hf_exchange_identify_by(exchange, hf_buf_str(&rest));
  }
  hf_json_scan_deinit(&scan);
  hf_buf_deinit(&rest);
  return r;
}

static bool fits_header(struct hf_str key) {
  for (size_t i = 0; i < key.len; i++)
    if (key.ptr[i] <= ' ' || key.ptr[i] > '~')
      return false;
  return true;
}

/* The caller's own key: its hint, else the argument that the model gave. */
int hf_key_read_given(struct hf_exchange *exchange, const struct hf_key_settings *settings, struct hf_str *ret_key) {
  struct hf_str argument;
  int in_argument = HF_ERR_NOTFOUND;
  if (settings->place == HF_KEY_ARGUMENT)
    in_argument = read_argument(exchange, settings->name, &argument);
  if (in_argument == HF_ERR_UNSUPPORTED || in_argument == HF_ERR_NOMEM)
    return in_argument;
  int r = read_hint(exchange, ret_key);
  if (r == HF_ERR_NOTFOUND && in_argument != HF_ERR_NOTFOUND) {
    r = in_argument;
    if (r == 0)
      *ret_key = argument;
  }
  return r == 0 && settings->place == HF_KEY_HEADER && !fits_header(*ret_key) ? HF_ERR_INVALID : r;
}

static bool takes(const struct hf_exchange *exchange, const struct hf_target_tool *target, enum hf_key_place place) {
  return exchange->key.ptr && target->safety == HF_SAFETY_KEYED && target->tool && target->tool->key.place == place;
}

/* The object with the key as its first member, or in the place of the value that is there. One that says the same
 * already stays as it is. */
static int write_with(const struct hf_json_doc *doc, struct hf_str raw, struct hf_str name, struct hf_str key,
                      struct hf_buf *out) {
  uint32_t node;
  int r = hf_json_member(doc, 0, name, &node);
  if (r == 0) {
    struct hf_str value = hf_json_span(doc, node);
    if (hf_json_type(doc, node) == HF_JSON_NUMBER && hf_str_equal(value, key))
      return hf_buf_append_str(out, raw);
    size_t before = (size_t)(value.ptr - raw.ptr), after = before + value.len;
    r = hf_buf_append(out, raw.ptr, before);
    if (r == 0)
      r = hf_json_escape(out, key);
    return r < 0 ? r : hf_buf_append(out, raw.ptr + after, raw.len - after);
  }
  if (r != HF_ERR_NOTFOUND)
    return r;
  r = hf_buf_append_str(out, HF_STR("{"));
  if (r == 0)
    r = hf_json_escape(out, name);
  if (r == 0)
    r = hf_buf_append_str(out, HF_STR(":"));
  if (r == 0)
    r = hf_json_escape(out, key);
  if (r == 0 && doc->nodes[0].count > 0)
    r = hf_buf_append_str(out, HF_STR(","));
  return r < 0 ? r : hf_buf_append(out, raw.ptr + 1, raw.len - 1);
}

int hf_key_put_argument(struct hf_exchange *exchange, const struct hf_target_tool *target, struct hf_str *arguments) {
  if (!takes(exchange, target, HF_KEY_ARGUMENT))
    return 0;
  struct hf_str raw = arguments->ptr ? *arguments : HF_STR("{}");
  struct hf_json_scan scan;
  struct hf_json_doc doc;
  struct hf_buf out;
  hf_buf_init(&out, ARGUMENTS_MAX);
  int r = HF_ERR_INVALID;
  if (read_object(raw, &scan, &doc))
    r = write_with(&doc, raw, target->tool->key.name, exchange->key, &out);
  hf_json_scan_deinit(&scan);
  if (r == 0) {
    struct hf_str copy = hf_arena_copy(&exchange->arena, hf_buf_str(&out));
    if (copy.ptr)
      *arguments = copy;
    else
      r = HF_ERR_NOMEM;
  }
  hf_buf_deinit(&out);
  return r;
}

int hf_key_meta(const struct hf_exchange *exchange, const struct hf_target_tool *target, struct hf_str *ret_name,
                struct hf_buf *raw) {
  if (!takes(exchange, target, HF_KEY_META))
    return HF_ERR_NOTFOUND;
  *ret_name = target->tool->key.name;
  return hf_json_escape(raw, exchange->key);
}

bool hf_key_header(const struct hf_exchange *exchange, const struct hf_target_tool *target,
                   struct hf_header *ret_header) {
  if (!takes(exchange, target, HF_KEY_HEADER))
    return false;
  *ret_header = (struct hf_header){target->tool->key.name, exchange->key};
  return true;
}
