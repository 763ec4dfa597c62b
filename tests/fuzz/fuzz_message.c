/* A rewritten message is a message again, has the new values, and everything else as it was, byte for byte.
 *
 * The first byte of the input chooses the edits; the rest is the text. */
#include "base/error.h"
#include "mcp/rewrite.h"
#include "require.h"

enum edit { EDIT_ID = 1, EDIT_META = 2, EDIT_TOKEN = 4, EDIT_NAME = 16, EDIT_REMOVE = 32, EDIT_DROP = 64 };

/* The members that the edits below may touch, wherever they stand. */
static bool is_edited(const struct hf_json_doc *doc, uint32_t key) {
  static const char *const keys[] = {"id", "_meta", "name", "x", "k", "progressToken"};
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
    if (hf_json_string_is(doc, key, hf_str_from(keys[i])))
      return true;
  return false;
}

static bool next_untouched(const struct hf_json_doc *doc, struct hf_json_iter *iter, uint32_t *key, uint32_t *value) {
  while (hf_json_next(doc, iter, key, value))
    if (!is_edited(doc, *key))
      return true;
  return false;
}

/* Both objects have the same members in the same order, apart from edited ones and those at the nodes given. */
static void require_same(const struct hf_message *a, uint32_t a_object, const struct hf_message *b, uint32_t b_object) {
  struct hf_json_iter a_iter = hf_json_iter(&a->doc, a_object), b_iter = hf_json_iter(&b->doc, b_object);
  uint32_t a_key, a_value, b_key, b_value;
  for (;;) {
    bool a_more = next_untouched(&a->doc, &a_iter, &a_key, &a_value);
    bool b_more = next_untouched(&b->doc, &b_iter, &b_key, &b_value);
    if (b_more && !a->at[HF_FIELD_PARAMS] && b_value == b->at[HF_FIELD_PARAMS])
      b_more = next_untouched(&b->doc, &b_iter, &b_key, &b_value); /* made for a _meta */
    REQUIRE(a_more == b_more);
    if (!a_more)
      return;
    REQUIRE(hf_str_equal(hf_json_span(&a->doc, a_key), hf_json_span(&b->doc, b_key)));
    bool inside = a_object == 0 && (a_value == a->at[HF_FIELD_PARAMS] || a_value == a->at[HF_FIELD_RESULT]);
    if (inside && hf_json_type(&a->doc, a_value) == HF_JSON_OBJECT)
      require_same(a, a_value, b, b_value);
    else if (!inside)
      REQUIRE(hf_str_equal(hf_json_span(&a->doc, a_value), hf_json_span(&b->doc, b_value)));
  }
}

static void edit(struct hf_rewrite *rw, const struct hf_message *m, unsigned edits) {
  if (edits & EDIT_ID)
    hf_rewrite_set_id(rw, HF_STR("42"));
  if (edits & EDIT_META && m->kind != HF_MESSAGE_ERROR)
    hf_rewrite_set_meta(rw, HF_STR("k"), HF_STR("{\"v\":[1]}"));
  if (edits & EDIT_TOKEN && m->kind == HF_MESSAGE_REQUEST)
    hf_rewrite_set_progress_token(rw, HF_STR("\"token\""));
  if (edits & EDIT_NAME && m->name.ptr)
    hf_rewrite_set_name(rw, HF_STR("new\tname"));
  if (edits & EDIT_REMOVE)
    hf_rewrite_remove_member(rw, 0, HF_STR("x"));
  if (edits & EDIT_DROP && m->kind != HF_MESSAGE_ERROR)
    hf_rewrite_remove_meta(rw, HF_STR("progressToken"));
}

static void require_edited(const struct hf_message *m, const struct hf_message *out, unsigned edits) {
  REQUIRE(out->kind == m->kind || (edits & EDIT_ID));
  REQUIRE(hf_str_equal(out->id, edits & EDIT_ID ? HF_STR("42") : m->id));
  if (edits & EDIT_NAME && m->name.ptr)
    REQUIRE(hf_str_equal(out->name, HF_STR("new\tname")));
  if (edits & EDIT_TOKEN && m->kind == HF_MESSAGE_REQUEST && m->method != HF_METHOD_PROGRESS)
    REQUIRE(hf_str_equal(out->progress_token, edits & EDIT_DROP ? (struct hf_str){NULL, 0} : HF_STR("\"token\"")));
  uint32_t value;
  if (edits & EDIT_REMOVE)
    REQUIRE(hf_json_member(&out->doc, 0, HF_STR("x"), &value) == HF_ERR_NOTFOUND);
  require_same(m, 0, out, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  unsigned edits = data[0];
  struct hf_message m;
  struct hf_refusal refusal;
  if (hf_message_decode_copy((struct hf_str){(const char *)data + 1, size - 1}, &m, &refusal) < 0)
    return 0;

  struct hf_rewrite rw;
  struct hf_pieces pieces;
  hf_pieces_init(&pieces);
  hf_rewrite_begin(&rw, &m);
  edit(&rw, &m, edits);
  bool none = rw.count == 0;
  int r = hf_rewrite_finish(&rw, &pieces);
  if (r < 0) {
    /* A member named twice, a token that params lacks, or very many members to remove. */
    REQUIRE(r == HF_ERR_INVALID || r == HF_ERR_LIMIT);
    REQUIRE(pieces.count == 0);
  } else {
    struct hf_buf text;
    hf_buf_init(&text, 1 << 24);
    REQUIRE(hf_pieces_join(&pieces, &text) == 0);
    if (none)
      REQUIRE(hf_str_equal(hf_buf_str(&text), hf_message_bytes(&m)));
    struct hf_message out;
    REQUIRE(hf_message_decode(&text, &out, &refusal) == 0);
    require_edited(&m, &out, edits);
    hf_message_deinit(&out);
    hf_buf_deinit(&text);
  }
  hf_pieces_deinit(&pieces);
  hf_message_deinit(&m);
  return 0;
}
