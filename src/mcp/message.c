#include "mcp/message.h"

#include "base/alloc.h"
#include "base/error.h"

enum {
  TEXT_MAX = 64 << 10,   /* one string with escapes */
  ARENA_MAX = 256 << 10, /* all of a message's */
  MESSAGE_NODES = 16 << 10,
};

static const struct field {
  enum hf_field parent;
  struct hf_str key;
} fields[HF_FIELD_COUNT] = {
#define FIELD_ROW(name, parent, key) [HF_FIELD_##name] = {HF_FIELD_##parent, {key, sizeof(key) - 1}},
    HF_FIELD_LIST(FIELD_ROW)
#undef FIELD_ROW
};

void hf_message_scan_options(size_t max_bytes, bool sequence, struct hf_json_options *ret_options) {
  *ret_options = (struct hf_json_options)HF_JSON_OPTIONS_INIT;
  ret_options->max_bytes = max_bytes;
  ret_options->max_nodes = MESSAGE_NODES;
  ret_options->tree_depth = 2;
  ret_options->expand_key = HF_STR("_meta");
  ret_options->sequence = sequence;
}

static bool is(const struct hf_message *m, enum hf_field field, enum hf_json_type type) {
  return m->at[field] && hf_json_type(&m->doc, m->at[field]) == type;
}

/* Notes where the fields of `parent` are. Goes on after a duplicate, so that the id is known for the answer. */
static int collect(struct hf_message *m, enum hf_field parent, enum hf_field *ret_duplicate) {
  int result = 0;
  if (hf_json_type(&m->doc, m->at[parent]) != HF_JSON_OBJECT)
    return 0;
  struct hf_json_iter iter = hf_json_iter(&m->doc, m->at[parent]);
  uint32_t key, value;
  while (hf_json_next(&m->doc, &iter, &key, &value)) {
    for (int i = HF_FIELD_ROOT + 1; i < HF_FIELD_COUNT; i++) {
      if (fields[i].parent != parent || !hf_json_string_is(&m->doc, key, fields[i].key))
        continue;
      if (m->at[i]) {
        *ret_duplicate = (enum hf_field)i;
        result = HF_ERR_DUPLICATE;
      }
      m->at[i] = value;
      break;
    }
  }
  return result;
}

static int collect_all(struct hf_message *m, struct hf_error *reterr) {
  static const enum hf_field parents[] = {HF_FIELD_ROOT,  HF_FIELD_PARAMS,      HF_FIELD_RESULT,
                                          HF_FIELD_ERROR, HF_FIELD_PARAMS_META, HF_FIELD_RESULT_META};
  int result = 0;
  for (size_t i = 0; i < sizeof parents / sizeof parents[0]; i++) {
    if (parents[i] != HF_FIELD_ROOT && !m->at[parents[i]])
      continue;
    enum hf_field duplicate = HF_FIELD_ROOT;
    if (collect(m, parents[i], &duplicate) < 0 && result == 0)
      result = hf_error_set(reterr, HF_ERR_DUPLICATE, "member '%.*s' occurs twice", HF_STR_FMT(fields[duplicate].key));
  }
  return result;
}

/* Integers may be of any size, for they are echoed as spelt. Returns HF_ID_NONE for what cannot be an id. */
static enum hf_id_type id_type(const struct hf_json_doc *doc, uint32_t node) {
  struct hf_str raw = hf_json_span(doc, node);
  enum hf_json_type type = hf_json_type(doc, node);
  if (raw.len > HF_MESSAGE_ID_MAX)
    return HF_ID_NONE;
  int64_t value;
  if (type == HF_JSON_NUMBER && hf_json_int64(raw, &value) != HF_ERR_INVALID)
    return HF_ID_INTEGER;
  return type == HF_JSON_STRING ? HF_ID_STRING : type == HF_JSON_NULL ? HF_ID_NULL : HF_ID_NONE;
}

static int read_id(struct hf_message *m, struct hf_error *reterr) {
  if (!m->at[HF_FIELD_ID])
    return 0;
  enum hf_id_type type = id_type(&m->doc, m->at[HF_FIELD_ID]);
  if (type == HF_ID_NONE || (type == HF_ID_NULL && m->at[HF_FIELD_METHOD]))
    return hf_error_set(reterr, HF_ERR_INVALID, "id must be a string or an integer of at most %d bytes",
                        HF_MESSAGE_ID_MAX);
  m->id_type = type;
  m->id = hf_message_raw(m, HF_FIELD_ID);
  return 0;
}

static int read_kind(struct hf_message *m, struct hf_error *reterr) {
  bool method = m->at[HF_FIELD_METHOD] != 0;
  bool result = m->at[HF_FIELD_RESULT] != 0;
  bool error = m->at[HF_FIELD_ERROR] != 0;
  if (method + result + error != 1)
    return hf_error_set(reterr, HF_ERR_INVALID, "a message has one of method, result and error");
  if (!m->at[HF_FIELD_JSONRPC] || !hf_json_string_is(&m->doc, m->at[HF_FIELD_JSONRPC], HF_STR("2.0")))
    return hf_error_set(reterr, HF_ERR_INVALID, "jsonrpc must be '2.0'");
  if (result) {
    m->kind = HF_MESSAGE_RESULT;
    if (m->id_type != HF_ID_INTEGER && m->id_type != HF_ID_STRING)
      return hf_error_set(reterr, HF_ERR_INVALID, "a result needs the id of its request");
  } else if (error) {
    m->kind = HF_MESSAGE_ERROR;
  } else {
    m->kind = m->at[HF_FIELD_ID] ? HF_MESSAGE_REQUEST : HF_MESSAGE_NOTIFICATION;
  }
  return 0;
}

static int read_response(struct hf_message *m, struct hf_error *reterr) {
  if (m->kind == HF_MESSAGE_ERROR) {
    if (!is(m, HF_FIELD_ERROR, HF_JSON_OBJECT))
      return hf_error_set(reterr, HF_ERR_INVALID, "error must be an object");
    int64_t code;
    if (m->at[HF_FIELD_ERROR_CODE] && hf_json_int64(hf_message_raw(m, HF_FIELD_ERROR_CODE), &code) == 0)
      m->error_code = code;
    return 0;
  }
  if (!is(m, HF_FIELD_RESULT, HF_JSON_OBJECT))
    return hf_error_set(reterr, HF_ERR_INVALID, "result must be an object");
  if (m->at[HF_FIELD_RESULT_META] && !is(m, HF_FIELD_RESULT_META, HF_JSON_OBJECT))
    return hf_error_set(reterr, HF_ERR_INVALID, "result._meta must be an object");
  m->is_error = is(m, HF_FIELD_IS_ERROR, HF_JSON_TRUE);
  return 0;
}

static int read_token(struct hf_message *m, struct hf_error *reterr) {
  enum hf_field field = m->method == HF_METHOD_PROGRESS ? HF_FIELD_PARAM_PROGRESS_TOKEN : HF_FIELD_PROGRESS_TOKEN;
  if (!m->at[field])
    return 0;
  enum hf_id_type type = id_type(&m->doc, m->at[field]);
  if (type != HF_ID_STRING && type != HF_ID_INTEGER)
    return hf_error_set(reterr, HF_ERR_INVALID, "progressToken must be a string or an integer of at most %d bytes",
                        HF_MESSAGE_ID_MAX);
  m->progress_token = hf_message_raw(m, field);
  return 0;
}

/* A method that this message's era doesn't have needs nothing: it is unknown, not badly called. */
static bool needs(const struct hf_message *m, enum hf_target target) {
  const struct hf_method_info *info = hf_method_info(m->method);
  bool removed = m->at[HF_FIELD_META_VERSION] && !(info->flags & HF_METHOD_MODERN);
  return info->target == target && !removed;
}

/* params.name and params.uri: strings where they are, and there where the method needs them. */
static int read_target(struct hf_message *m, enum hf_field field, enum hf_target target, struct hf_str *ret_text,
                       struct hf_error *reterr) {
  int r = hf_message_string(m, field, ret_text);
  if (r == HF_ERR_NOTFOUND && !needs(m, target))
    return 0;
  if (r == HF_ERR_NOMEM)
    return hf_error_set(reterr, r, "out of memory");
  if (r < 0 && (r != HF_ERR_INVALID || m->method != HF_METHOD_UNKNOWN))
    return hf_error_set(reterr, HF_ERR_INVALID, "params.%.*s must be a string", HF_STR_FMT(fields[field].key));
  return 0;
}

static int read_params(struct hf_message *m, struct hf_error *reterr) {
  if (m->at[HF_FIELD_PARAMS] && !is(m, HF_FIELD_PARAMS, HF_JSON_OBJECT) && !is(m, HF_FIELD_PARAMS, HF_JSON_NULL))
    return hf_error_set(reterr, HF_ERR_INVALID, "params must be an object");
  if (m->at[HF_FIELD_PARAMS_META] && !is(m, HF_FIELD_PARAMS_META, HF_JSON_OBJECT))
    return hf_error_set(reterr, HF_ERR_INVALID, "params._meta must be an object");
  int r = read_token(m, reterr);
  if (r == 0)
    r = read_target(m, HF_FIELD_NAME, HF_TARGET_NAME, &m->name, reterr);
  if (r == 0)
    r = read_target(m, HF_FIELD_URI, HF_TARGET_URI, &m->uri, reterr);
  return r;
}

/* Decodes what the members of the root say. Sets the code to answer a fault with. */
static int decode(struct hf_message *m, struct hf_error *reterr, int *ret_rpc_code) {
  *ret_rpc_code = HF_RPC_INVALID_REQUEST;
  enum hf_json_type root = hf_json_type(&m->doc, 0);
  if (root == HF_JSON_ARRAY)
    return hf_error_set(reterr, HF_ERR_UNSUPPORTED, "batches are not supported");
  if (root != HF_JSON_OBJECT)
    return hf_error_set(reterr, HF_ERR_INVALID, "a message is an object");

  int duplicate = collect_all(m, reterr);
  struct hf_error id_error;
  int r = read_id(m, &id_error);
  if (duplicate < 0)
    return duplicate;
  if (r < 0)
    return hf_error_set(reterr, r, "%s", id_error.text);
  r = read_kind(m, reterr);
  if (r < 0)
    return r;
  if (!m->at[HF_FIELD_METHOD])
    return read_response(m, reterr);

  r = hf_message_string(m, HF_FIELD_METHOD, &m->method_name);
  if (r < 0)
    return hf_error_set(reterr, r == HF_ERR_NOMEM ? r : HF_ERR_INVALID, "method must be a string");
  m->method = hf_method_find(m->method_name);
  *ret_rpc_code = HF_RPC_INVALID_PARAMS;
  return read_params(m, reterr);
}

static void refuse(struct hf_refusal *refusal, int rpc_code, const struct hf_error *why) {
  refusal->why = *why;
  refusal->rpc_code = why->code == HF_ERR_NOMEM ? HF_RPC_INTERNAL_ERROR : rpc_code;
}

static void set_id(struct hf_refusal *refusal, struct hf_str id) {
  refusal->id_len = id.len <= sizeof refusal->id ? id.len : 0;
  if (refusal->id_len)
    memcpy(refusal->id, id.ptr, id.len);
}

int hf_message_from_scan(struct hf_json_scan *scan, struct hf_buf *buf, struct hf_message *ret_message,
                         struct hf_refusal *ret_refusal) {
  struct hf_message m = {.doc = hf_json_doc(buf->data, scan)};
  hf_arena_init(&m.arena, ARENA_MAX);
  struct hf_error why;
  int rpc_code;
  int r = decode(&m, &why, &rpc_code);
  if (r == 0) {
    size_t whole = buf->len;
    buf->len = scan->nodes[0].end;
    m.blob = hf_blob_take(buf);
    if (!m.blob) {
      buf->len = whole;
      r = hf_error_set(&why, HF_ERR_NOMEM, "out of memory");
    }
  }
  if (r < 0) {
    refuse(ret_refusal, rpc_code, &why);
    /* Without an id it is a notification; with a result or error, a response: neither is answered. Something that is
     * none of the three gets its error. */
    ret_refusal->response = !m.at[HF_FIELD_METHOD] && (m.at[HF_FIELD_RESULT] || m.at[HF_FIELD_ERROR]);
    ret_refusal->notification = m.at[HF_FIELD_METHOD] && !m.at[HF_FIELD_ID];
    set_id(ret_refusal, m.id);
    hf_arena_deinit(&m.arena);
    return r;
  }
  m.nodes = scan->nodes;
  scan->nodes = NULL;
  scan->cap = 0;
  hf_json_scan_reset(scan, 0);
  *ret_message = m;
  return 0;
}

struct hf_str hf_message_peek_id(const struct hf_json_scan *scan, struct hf_str text) {
  struct hf_str none = {NULL, 0};
  if (scan->count == 0 || scan->nodes[0].type != HF_JSON_OBJECT)
    return none;
  struct hf_json_doc doc = hf_json_doc(text.ptr, scan);
  /* Open containers do not know their end yet, so the tape is walked by what is known: a value that has ended. */
  uint32_t key = 1;
  while (key + 1 < scan->count) {
    const struct hf_json_node *value = &scan->nodes[key + 1];
    bool ended = value->end > value->start && value->next > key + 1;
    if (!ended)
      return none;
    if (hf_json_string_is(&doc, key, HF_STR("id"))) {
      enum hf_id_type type = id_type(&doc, key + 1);
      return type == HF_ID_INTEGER || type == HF_ID_STRING ? hf_json_span(&doc, key + 1) : none;
    }
    key = value->next;
  }
  return none;
}

int hf_message_refuse_scan(const struct hf_json_scan *scan, struct hf_str text, struct hf_refusal *ret_refusal) {
  struct hf_error why;
  int r = hf_json_scan_error(scan, &why);
  ret_refusal->response = false;
  ret_refusal->notification = false;
  refuse(ret_refusal, r == HF_ERR_LIMIT ? HF_RPC_INVALID_REQUEST : HF_RPC_PARSE_ERROR, &why);
  set_id(ret_refusal, hf_message_peek_id(scan, text));
  return r;
}

int hf_message_decode(struct hf_buf *buf, struct hf_message *ret_message, struct hf_refusal *ret_refusal) {
  struct hf_json_options options;
  hf_message_scan_options(HF_MESSAGE_BYTES_MAX, false, &options);
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  int r = hf_json_scan_feed(&scan, buf->data, buf->len, true);
  r = r < 0 ? hf_message_refuse_scan(&scan, hf_buf_str(buf), ret_refusal)
            : hf_message_from_scan(&scan, buf, ret_message, ret_refusal);
  hf_json_scan_deinit(&scan);
  return r;
}

int hf_message_decode_copy(struct hf_str text, struct hf_message *ret_message, struct hf_refusal *ret_refusal) {
  struct hf_buf buf;
  hf_buf_init(&buf, HF_MESSAGE_BYTES_MAX);
  int r = hf_buf_append_str(&buf, text);
  if (r < 0) {
    struct hf_error why;
    hf_error_set(&why, r, "%s", hf_err_text(r));
    *ret_refusal = (struct hf_refusal){0};
    refuse(ret_refusal, HF_RPC_INVALID_REQUEST, &why);
  } else {
    r = hf_message_decode(&buf, ret_message, ret_refusal);
  }
  hf_buf_deinit(&buf);
  return r;
}

void hf_message_deinit(struct hf_message *message) {
  hf_blob_unref(message->blob);
  hf_free(message->nodes);
  hf_arena_deinit(&message->arena);
  *message = (struct hf_message){0};
}

void hf_message_move(struct hf_message *to, struct hf_message *from) {
  hf_message_deinit(to);
  *to = *from;
  *from = (struct hf_message){0};
}

struct hf_str hf_message_bytes(const struct hf_message *message) {
  return hf_json_span(&message->doc, 0);
}

struct hf_str hf_message_raw(const struct hf_message *message, enum hf_field field) {
  uint32_t node = message->at[field];
  return node ? hf_json_span(&message->doc, node) : (struct hf_str){NULL, 0};
}

bool hf_message_is_pending(const struct hf_message *result) {
  struct hf_str type = hf_message_raw(result, HF_FIELD_RESULT_TYPE);
  return type.ptr && !hf_str_equal(type, HF_STR("\"complete\""));
}

int hf_message_string(struct hf_message *message, enum hf_field field, struct hf_str *ret_text) {
  uint32_t node = message->at[field];
  if (!node)
    return HF_ERR_NOTFOUND;
  const struct hf_json_node *n = &message->doc.nodes[node];
  if (n->flags & HF_JSON_ESCAPED && n->end - n->start > TEXT_MAX)
    return HF_ERR_LIMIT;
  return hf_json_string(&message->doc, node, &message->arena, ret_text);
}
