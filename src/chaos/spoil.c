#include "chaos/spoil.h"

#include "chaos/drift.h"
#include "chaos/ledger.h"
#include "chaos/pick.h"

static void put_tool_error(struct hf_chaos_answer *answer) {
  const struct hf_chaos_fault *fault = &answer->fault;
  hf_chaos_must(hf_buf_printf(&answer->body,
                              "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{%s\"isError\":true,\"content\":[{\"type\":"
                              "\"text\",\"text\":",
                              HF_STR_FMT(hf_buf_str(&answer->id)),
                              answer->modern ? "\"resultType\":\"complete\"," : ""));
  hf_pick_quote(&answer->body, hf_str_from(fault->text[0] != '\0' ? fault->text : "made to fail"));
  hf_chaos_must(hf_buf_printf(&answer->body, "}]}}"));
}

static void begin(const struct hf_chaos_fault *fault, struct hf_chaos_kind kind, struct hf_str id,
                  struct hf_chaos_answer *answer) {
  answer->fault = *fault;
  answer->is_call = kind.call;
  answer->modern = kind.modern;
  hf_chaos_must(hf_buf_append_str(&answer->id, id));
}

void hf_chaos_spoil_instead(struct hf_chaos *chaos, const struct hf_chaos_fault *fault,
                            const struct hf_chaos_glance *glance, struct hf_chaos_answer *answer) {
  begin(fault, glance->kind, glance->id, answer);
  if (answer->fault.kind == HF_CHAOS_WRONG_ID || answer->fault.kind == HF_CHAOS_STRING_ID) {
    hf_chaos_change_id(answer);
  }
  if (hf_chaos_spoil(chaos, (struct hf_str){NULL, 0}, answer)) {
    return;
  }
  if (answer->fault.kind == HF_CHAOS_ISERROR) {
    put_tool_error(answer);
  } else {
    hf_chaos_answer_error(answer, 200, -32000, "made to fail", "");
  }
}

void hf_chaos_splice(struct hf_str message, struct hf_str member, struct hf_str id, struct hf_buf *out) {
  size_t before = (size_t)(member.ptr - message.ptr);
  hf_chaos_must(hf_buf_append(out, message.ptr, before));
  hf_chaos_must(hf_buf_append_str(out, id));
  hf_chaos_must(hf_buf_append(out, member.ptr + member.len, message.len - before - member.len));
}

void hf_chaos_spoil_answer(struct hf_chaos *chaos, const struct hf_chaos_fault *fault, struct hf_chaos_kind kind,
                           struct hf_str id, struct hf_str message, struct hf_chaos_answer *answer) {
  begin(fault, kind, id, answer);
  switch ((int)answer->fault.kind) {
  case HF_CHAOS_WRONG_ID:
  case HF_CHAOS_STRING_ID:
    hf_chaos_change_id(answer);
    hf_chaos_splice(message, hf_pick_member(message, "id"), hf_buf_str(&answer->id), &answer->body);
    break;
  case HF_CHAOS_ISERROR:
    put_tool_error(answer);
    break;
  default:
    if (!hf_chaos_spoil(chaos, (struct hf_str){NULL, 0}, answer)) {
      hf_chaos_must(hf_buf_append_str(&answer->body, message));
    }
  }
  if (kind.list) {
    hf_chaos_must(hf_chaos_drift(&answer->body, chaos->drifts));
  }
}

struct hf_chaos_glance hf_chaos_glance(const struct hf_chaos *chaos, struct hf_str message) {
  struct hf_chaos_glance glance = {.id = {NULL, 0}};
  if (!hf_chaos_well_formed(message)) {
    return glance;
  }
  glance.params = hf_pick_member(message, "params");
  glance.kind.modern = hf_chaos_is_modern(glance.params);
  struct hf_str id = hf_pick_member(message, "id");
  if (id.ptr == NULL || id.len > HF_CHAOS_ID_MAX) {
    return glance;
  }
  glance.id = id;
  hf_pick_text(hf_pick_member(message, "method"), glance.method, sizeof glance.method);
  glance.kind.list = strcmp(glance.method, "tools/list") == 0;
  glance.kind.call = strcmp(glance.method, "tools/call") == 0;
  hf_pick_text(hf_pick_member(hf_pick_member(glance.params, "arguments"), chaos->key), glance.key, sizeof glance.key);
  return glance;
}

struct hf_chaos_fault hf_chaos_meet(struct hf_chaos *chaos, const struct hf_chaos_glance *glance) {
  struct hf_chaos_fault fault = hf_chaos_plan_pick(&chaos->plan, glance->method, "", glance->key);
  chaos->drifts += glance->kind.list && fault.kind == HF_CHAOS_DRIFT;
  if (glance->kind.call && fault.executes) {
    char name[HF_CHAOS_TOOL_NAME_MAX + 1];
    hf_pick_text(hf_pick_member(glance->params, "name"), name, sizeof name);
    hf_chaos_ledger_add(chaos->ledger, name, glance->key, hf_pick_member(glance->params, "arguments"));
  }
  return fault;
}
