#include "front/rules.h"

#include "mcp/compose.h"
#include "mcp/field_value.h"

enum { HEADER_VALUE_MAX = 16 << 10 };

static void object(struct hf_objection *objection, int status, int code, const char *why) {
  objection->status = status;
  objection->code = code;
  (void)hf_error_set(&objection->why, HF_ERR_INVALID, "%s", why);
}

enum hf_era hf_rules_era(const struct hf_head *head, const struct hf_message *message) {
  if (message->at[HF_FIELD_META_VERSION] != HF_JSON_NONE)
    return HF_ERA_MODERN;
  if (message->kind == HF_MESSAGE_REQUEST && message->method == HF_METHOD_INITIALIZE)
    return HF_ERA_LEGACY;
  struct hf_str version = head->value[HF_HEAD_VERSION];
  if (version.ptr && hf_version_era(hf_version_parse(version)) == HF_ERA_MODERN)
    return HF_ERA_MODERN;
  return HF_ERA_LEGACY;
}

/* What `Mcp-Name` must say; absent if the method needs none. */
static struct hf_str target_of(struct hf_message *message) {
  struct hf_str text = {NULL, 0};
  switch (hf_method_info(message->method)->target) {
  case HF_TARGET_NAME:
    return message->name;
  case HF_TARGET_URI:
    return message->uri;
  case HF_TARGET_TASK:
    (void)hf_message_string(message, HF_FIELD_TASK_ID, &text);
    return text;
  case HF_TARGET_NONE:
  case HF_TARGET_REF:
    break;
  }
  return text;
}

static void check_name(const struct hf_head *head, struct hf_message *message, struct hf_objection *objection) {
  struct hf_str wanted = target_of(message);
  struct hf_str header = head->value[HF_HEAD_NAME];
  const bool exists = hf_method_info(message->method)->flags & HF_METHOD_MODERN; /* if not, that is what is wrong */
  if (!wanted.ptr || !exists)
    return;
  if (!header.ptr) {
    object(objection, 400, HF_RPC_HEADER_MISMATCH, "Mcp-Name header is missing");
    return;
  }
  struct hf_buf text;
  hf_buf_init(&text, HEADER_VALUE_MAX);
  if (hf_field_value_decode(&text, header) < 0)
    object(objection, 400, HF_RPC_HEADER_MISMATCH, "Mcp-Name header is malformed");
  else if (!hf_str_equal(hf_buf_str(&text), wanted))
    object(objection, 400, HF_RPC_HEADER_MISMATCH, "Mcp-Name header and message differ");
  hf_buf_deinit(&text);
}

static void check_meta(struct hf_message *message, struct hf_objection *objection) {
  struct hf_request_meta meta = {0};
  struct hf_error why = {0};
  int error = hf_request_meta_require(message, &meta, &why);
  if (error == HF_ERR_UNSUPPORTED) {
    object(objection, 400, HF_RPC_UNSUPPORTED_VERSION, "unsupported protocol version");
    objection->era = HF_ERA_MODERN;
    objection->requested = meta.version_text;
  } else if (error == HF_ERR_NOMEM) {
    object(objection, 500, HF_RPC_INTERNAL_ERROR, "out of memory");
  } else if (error) {
    object(objection, 400, HF_RPC_INVALID_PARAMS, why.text);
  }
}

void hf_rules_modern(const struct hf_head *head, struct hf_message *message, struct hf_objection *ret_objection) {
  *ret_objection = (struct hf_objection){0};
  if (message->kind != HF_MESSAGE_REQUEST)
    return;
  struct hf_str header = head->value[HF_HEAD_VERSION];
  struct hf_str method = head->value[HF_HEAD_METHOD];
  struct hf_str version = {NULL, 0};
  if (message->at[HF_FIELD_META_VERSION] != HF_JSON_NONE &&
      hf_message_string(message, HF_FIELD_META_VERSION, &version) == 0) {
    if (!header.ptr)
      object(ret_objection, 400, HF_RPC_HEADER_MISMATCH, "MCP-Protocol-Version header is missing");
    else if (!hf_str_equal(header, version))
      object(ret_objection, 400, HF_RPC_HEADER_MISMATCH, "MCP-Protocol-Version header and message differ");
  }
  if (!ret_objection->status)
    check_meta(message, ret_objection);
  if (!ret_objection->status && !method.ptr)
    object(ret_objection, 400, HF_RPC_HEADER_MISMATCH, "Mcp-Method header is missing");
  else if (!ret_objection->status && !hf_str_equal(method, message->method_name))
    object(ret_objection, 400, HF_RPC_HEADER_MISMATCH, "Mcp-Method header and message differ");
  if (!ret_objection->status)
    check_name(head, message, ret_objection);
}

void hf_rules_legacy(const struct hf_head *head, struct hf_objection *ret_objection) {
  *ret_objection = (struct hf_objection){0};
  struct hf_str version = head->value[HF_HEAD_VERSION];
  if (!version.ptr || hf_version_parse(version) != HF_VERSION_UNKNOWN)
    return;
  object(ret_objection, 400, HF_RPC_UNSUPPORTED_VERSION, "unsupported protocol version");
  ret_objection->era = HF_ERA_LEGACY;
  ret_objection->requested = version;
}

int hf_objection_text(const struct hf_objection *objection, struct hf_str id, struct hf_buf *buf) {
  if (objection->code == HF_RPC_UNSUPPORTED_VERSION)
    return hf_compose_unsupported_version(buf, id, objection->era, objection->requested);
  return hf_compose_error(buf, id, objection->code, hf_str_from(objection->why.text), (struct hf_str){NULL, 0});
}
