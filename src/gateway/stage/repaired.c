#include "gateway/stage/repaired.h"

#include "gateway/correct/amend.h"
#include "gateway/correct/feedback.h"
#include "mcp/compose.h"

enum { TEXT_MAX = 64 << 10, POINTER_SHOWN_MAX = 200, TOLD_MAX = 8, CORRECTED_SHOWN_MAX = 4096 };

bool hf_repaired(const struct hf_exchange *exchange) {
  return exchange->repairs || exchange->corrected || exchange->asked_name.ptr;
}

static void write_one(struct hf_json_writer *w, const char *kind, struct hf_str pointer, struct hf_str from,
                      struct hf_str to, size_t max) {
  hf_json_write_object(w);
  hf_json_write_member_str(w, "kind", hf_str_from(kind));
  hf_json_write_member_str(w, "pointer", hf_str_cut(pointer, POINTER_SHOWN_MAX));
  if (from.ptr)
    hf_json_write_member_str(w, "from", hf_str_cut(from, max));
  if (to.ptr)
    hf_json_write_member_str(w, "to", hf_str_cut(to, max));
  hf_json_write_object_end(w);
}

void hf_repaired_write(const struct hf_exchange *exchange, struct hf_json_writer *w) {
  const struct hf_repairs *repairs = exchange->repairs;
  hf_json_write_array(w);
  if (exchange->asked_name.ptr)
    write_one(w, "tool_renamed", HF_STR(""), exchange->asked_name, exchange->request.name, HF_REPAIR_SHOWN_MAX);
  /* What a model made up is shown as it was sent. */
  if (exchange->corrected)
    write_one(w, exchange->corrected, HF_STR(""), hf_message_raw(&exchange->request, HF_FIELD_ARGUMENTS),
              exchange->arguments, CORRECTED_SHOWN_MAX);
  for (unsigned i = 0; repairs && i < repairs->count; i++)
    write_one(w, hf_repair_name(repairs->item[i].kind), repairs->item[i].pointer, repairs->item[i].from,
              repairs->item[i].to, HF_REPAIR_SHOWN_MAX);
  hf_json_write_array_end(w);
}

/* Raw JSON that is whole stays in its own quotes; what was cut, or is none, gets new ones. */
static int append_value(struct hf_str raw, struct hf_buf *out) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.tree_depth = 0;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  bool whole = raw.len < HF_REPAIR_SHOWN_MAX && !memchr(raw.ptr, '\n', raw.len) &&
               hf_json_scan_feed(&scan, raw.ptr, raw.len, true) == 0;
  hf_json_scan_deinit(&scan);
  return whole ? hf_buf_append_str(out, raw) : hf_feedback_quote(raw, HF_REPAIR_SHOWN_MAX, out);
}

static int append_repair(const struct hf_repair *repair, struct hf_buf *out) {
  int r = hf_buf_append_str(out, HF_STR("\n- "));
  if (r == 0)
    r = repair->pointer.len ? hf_feedback_quote(repair->pointer, POINTER_SHOWN_MAX, out)
                            : hf_buf_append_str(out, HF_STR("the arguments"));
  if (r == 0 && repair->from.ptr) {
    r = hf_buf_append_str(out, HF_STR(": "));
    if (r == 0)
      r = append_value(repair->from, out);
  }
  if (r == 0 && !repair->to.ptr)
    r = hf_buf_append_str(out, HF_STR(" was left out"));
  else if (r == 0)
    r = hf_buf_append_str(out, HF_STR(" became "));
  if (r == 0 && repair->to.ptr)
    r = append_value(repair->to, out);
  return r < 0 ? r : hf_buf_printf(out, " (%s)", hf_repair_name(repair->kind));
}

int hf_repaired_text(const struct hf_exchange *exchange, struct hf_buf *out) {
  const struct hf_repairs *repairs = exchange->repairs;
  int r = hf_buf_append_str(out, HF_STR("This call was put right before it was sent. Make it so yourself next time:"));
  if (r == 0 && exchange->asked_name.ptr) {
    r = hf_buf_append_str(out, HF_STR("\n- the tool is called "));
    if (r == 0)
      r = hf_feedback_quote(exchange->request.name, POINTER_SHOWN_MAX, out);
    if (r == 0)
      r = hf_buf_append_str(out, HF_STR(", not "));
    if (r == 0)
      r = hf_feedback_quote(exchange->asked_name, POINTER_SHOWN_MAX, out);
  }
  if (r == 0 && exchange->corrected) {
    r = hf_buf_append_str(out, HF_STR("\n- other arguments that fit its schema were sent: "));
    if (r == 0)
      r = append_value(exchange->arguments, out);
  }
  for (unsigned i = 0; repairs && r == 0 && i < repairs->count && i < TOLD_MAX; i++)
    r = append_repair(&repairs->item[i], out);
  if (r == 0 && repairs && repairs->count > TOLD_MAX)
    r = hf_buf_printf(out, "\n- and %u more", repairs->count - TOLD_MAX);
  return r;
}

static int make(struct hf_str result, struct hf_str text, struct hf_message *ret_made) {
  const struct hf_amendment what = {.last = text};
  struct hf_refusal refusal;
  struct hf_buf amended, message;
  hf_buf_init(&amended, HF_MESSAGE_BYTES_MAX);
  hf_buf_init(&message, HF_MESSAGE_BYTES_MAX);
  int r = hf_amend(result, &what, &amended);
  if (r == 0)
    r = hf_compose_result(&message, HF_STR("0"), hf_buf_str(&amended));
  if (r == 0)
    r = hf_message_decode(&message, ret_made, &refusal);
  hf_buf_deinit(&message);
  hf_buf_deinit(&amended);
  return r;
}

const struct hf_message *hf_repaired_amend(const struct hf_exchange *exchange, const struct hf_message *response,
                                           struct hf_message *ret_made) {
  *ret_made = (struct hf_message){0};
  if (!hf_repaired(exchange) || response->kind != HF_MESSAGE_RESULT || hf_message_is_pending(response))
    return response;
  struct hf_buf text;
  hf_buf_init(&text, TEXT_MAX);
  int r = hf_repaired_text(exchange, &text);
  if (r == 0)
    r = make(hf_message_raw(response, HF_FIELD_RESULT), hf_buf_str(&text), ret_made);
  hf_buf_deinit(&text);
  return r == 0 ? ret_made : response;
}
