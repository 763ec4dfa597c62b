#include "gateway/letter/replay_answer.h"

#include "policy/classify.h"
#include "json/value.h"

static const char *executed_named(struct hf_str name) {
  static const enum hf_executed all[] = {HF_EXECUTED_NO, HF_EXECUTED_MAYBE, HF_EXECUTED_YES};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    if (hf_str_equal(name, hf_str_from(hf_executed_name(all[i]))))
      return hf_executed_name(all[i]);
  return NULL;
}

const char *hf_replay_executed(struct hf_str before, const char *now) {
  static const enum hf_executed rising[] = {HF_EXECUTED_NO, HF_EXECUTED_MAYBE, HF_EXECUTED_YES};
  const char *known = executed_named(before);
  const char *most = hf_executed_name(HF_EXECUTED_NO);
  if (!known)
    known = hf_executed_name(HF_EXECUTED_MAYBE);
  for (size_t i = 0; i < sizeof rising / sizeof rising[0]; i++) {
    const char *name = hf_executed_name(rising[i]);
    if (strcmp(known, name) == 0 || strcmp(now, name) == 0)
      most = name;
  }
  return most;
}

static struct hf_str text_member(const struct hf_json_doc *doc, uint32_t object, struct hf_str name,
                                 struct hf_arena *arena) {
  uint32_t node;
  struct hf_str text;
  if (hf_json_member(doc, object, name, &node) < 0 || hf_json_string(doc, node, arena, &text) < 0)
    return (struct hf_str){NULL, 0};
  return hf_arena_copy(arena, text);
}

static void read_marker(struct hf_str letter_id, struct hf_arena *arena, struct hf_str raw,
                        struct hf_replay_verdict *v) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  if (hf_json_scan_feed(&scan, raw.ptr, raw.len, true) == 0 && scan.nodes[0].type == HF_JSON_OBJECT) {
    struct hf_json_doc doc = hf_json_doc(raw.ptr, &scan);
    uint32_t node;
    v->failed = hf_json_member(&doc, 0, HF_STR("reason"), &node) != HF_ERR_NOTFOUND;
    v->executed = executed_named(text_member(&doc, 0, HF_STR("executed"), arena));
    v->reason = text_member(&doc, 0, HF_STR("reason"), arena);
    v->source = text_member(&doc, 0, HF_STR("source"), arena);
    /* What a call that it joined came to is another letter's matter, be it the same one. */
    struct hf_str letter = text_member(&doc, 0, HF_STR("deadLetterId"), arena);
    const bool own = hf_json_member(&doc, 0, HF_STR("joined"), &node) == HF_ERR_NOTFOUND;
    v->buried = own && letter.ptr && hf_str_equal(letter, letter_id);
  }
  hf_json_scan_deinit(&scan);
}

/* A JSON-RPC error has the marker in its data. */
static struct hf_str find_marker(const struct hf_message *answer, struct hf_arena *arena) {
  struct hf_str marker = {NULL, 0};
  if (answer->kind == HF_MESSAGE_RESULT)
    return hf_message_raw(answer, HF_FIELD_META_OUTCOME);
  struct hf_str data = hf_message_raw(answer, HF_FIELD_ERROR_DATA);
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.tree_depth = 1;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  if (data.ptr && hf_json_scan_feed(&scan, data.ptr, data.len, true) == 0 && scan.nodes[0].type == HF_JSON_OBJECT) {
    struct hf_json_doc doc = hf_json_doc(data.ptr, &scan);
    uint32_t node;
    if (hf_json_member(&doc, 0, HF_STR(HF_META_OUTCOME), &node) == 0)
      marker = hf_arena_copy(arena, hf_json_span(&doc, node));
  }
  hf_json_scan_deinit(&scan);
  return marker;
}

/* Only a live and complete result without isError is what the letter's caller had wanted. Whatever does not say of
 * itself whether the tool ran may have run it. */
void hf_replay_judge(const struct hf_message *answer, struct hf_str letter_id, struct hf_arena *arena,
                     struct hf_replay_verdict *ret_verdict) {
  struct hf_replay_verdict *v = ret_verdict;
  *v = (struct hf_replay_verdict){0};
  struct hf_str marker = find_marker(answer, arena);
  if (marker.ptr)
    read_marker(letter_id, arena, marker, v);
  struct hf_str type = hf_message_raw(answer, HF_FIELD_RESULT_TYPE);
  bool complete = !type.ptr || hf_str_equal(type, HF_STR("\"complete\""));
  bool live = hf_str_equal(v->source, HF_STR("live")) && !v->failed;
  v->good = answer->kind == HF_MESSAGE_RESULT && !answer->is_error && complete && live;
  if (v->good)
    v->executed = hf_executed_name(HF_EXECUTED_YES);
  else if (!v->executed)
    v->executed = hf_executed_name(HF_EXECUTED_MAYBE);
  if (!v->reason.ptr && !complete)
    v->reason = HF_STR("the tool asks for something, and nobody is there to be asked");
}
