#include "mcp/rewrite.h"

#include "base/error.h"
#include "json/write.h"

enum {
  TEXT_MAX = HF_MESSAGE_BYTES_MAX, /* what all edits put in */
  COPY_BELOW = 1024,               /* shorter runs are copied: cheaper than one more piece */
  REFERENCES_MAX = 6,              /* with the copies between them these leave pieces for a transport's framing */
};

/* Stands for the `_meta` that the message lacks. */
static const uint32_t ABSENT_META = UINT32_MAX;

void hf_rewrite_begin(struct hf_rewrite *rw, const struct hf_message *message) {
  *rw = (struct hf_rewrite){.message = message};
  hf_buf_init(&rw->text, TEXT_MAX);
}

void hf_rewrite_deinit(struct hf_rewrite *rw) {
  hf_buf_deinit(&rw->text);
  rw->count = 0;
}

static const struct hf_json_node *node_at(const struct hf_rewrite *rw, uint32_t node) {
  return &rw->message->doc.nodes[node];
}

static void fail(struct hf_rewrite *rw, int error) {
  if (rw->error == 0)
    rw->error = error;
}

/* Keeps `raw`; returns where. */
static size_t keep(struct hf_rewrite *rw, struct hf_str raw) {
  size_t start = rw->text.len;
  int r = hf_buf_append_str(&rw->text, raw);
  if (r < 0)
    fail(rw, r);
  return start;
}

static struct hf_edit *find_edit(struct hf_rewrite *rw, enum hf_edit_kind kind, uint32_t node) {
  for (size_t i = 0; i < rw->count; i++)
    if (rw->edits[i].kind == kind && rw->edits[i].node == node)
      return &rw->edits[i];
  return NULL;
}

static void forget_edit(struct hf_rewrite *rw, struct hf_edit *edit) {
  size_t at = (size_t)(edit - rw->edits);
  memmove(edit, edit + 1, (rw->count - at - 1) * sizeof *edit);
  rw->count--;
}

static struct hf_edit *add_edit(struct hf_rewrite *rw, enum hf_edit_kind kind, uint32_t node, uint32_t at) {
  if (rw->error)
    return NULL;
  if (rw->count == HF_REWRITE_EDITS_MAX) {
    fail(rw, HF_ERR_LIMIT);
    return NULL;
  }
  struct hf_edit *edit = &rw->edits[rw->count];
  *edit = (struct hf_edit){.kind = kind, .node = node, .at = at};
  rw->count++;
  return edit;
}

void hf_rewrite_replace(struct hf_rewrite *rw, uint32_t node, struct hf_str raw) {
  const struct hf_json_node *n = node_at(rw, node);
  struct hf_edit *edit = find_edit(rw, HF_EDIT_REPLACE, node);
  if (!edit)
    edit = add_edit(rw, HF_EDIT_REPLACE, node, n->start);
  if (!edit)
    return;
  edit->drop = n->end - n->start;
  edit->start = keep(rw, raw);
  edit->len = raw.len;
}

static struct hf_str edit_key(const struct hf_rewrite *rw, const struct hf_edit *edit) {
  return (struct hf_str){rw->text.data + edit->key_start, edit->key_len};
}

/* The insertion of `key` (escaped) into `object`, if there is one. */
static struct hf_edit *find_insert(struct hf_rewrite *rw, uint32_t object, struct hf_str key) {
  for (size_t i = 0; i < rw->count; i++) {
    struct hf_edit *edit = &rw->edits[i];
    if (edit->kind == HF_EDIT_INSERT_MEMBER && edit->node == object && hf_str_equal(edit_key(rw, edit), key))
      return edit;
  }
  return NULL;
}

/* Escapes `key` behind the kept text; the caller either keeps it or cuts it off. */
static int put_key(struct hf_rewrite *rw, struct hf_str key, size_t *ret_start) {
  *ret_start = rw->text.len;
  int r = hf_json_escape(&rw->text, key);
  if (r < 0)
    fail(rw, r);
  return r;
}

static void insert_member(struct hf_rewrite *rw, uint32_t object, struct hf_str key, struct hf_str raw) {
  size_t start;
  if (put_key(rw, key, &start) < 0)
    return;
  size_t len = rw->text.len - start;
  struct hf_edit *edit = find_insert(rw, object, (struct hf_str){rw->text.data + start, len});
  if (!edit) {
    uint32_t at = object == ABSENT_META ? UINT32_MAX : node_at(rw, object)->start + 1;
    edit = add_edit(rw, HF_EDIT_INSERT_MEMBER, object, at);
    if (!edit)
      return;
    edit->key_start = start;
    edit->key_len = len;
  }
  edit->start = keep(rw, raw);
  edit->len = raw.len;
}

void hf_rewrite_set_member(struct hf_rewrite *rw, uint32_t object, struct hf_str key, struct hf_str raw) {
  if (rw->error)
    return;
  const struct hf_json_doc *doc = &rw->message->doc;
  if (hf_json_type(doc, object) != HF_JSON_OBJECT || hf_json_opaque(doc, object)) {
    fail(rw, HF_ERR_INVALID);
    return;
  }
  uint32_t value;
  int r = hf_json_member(doc, object, key, &value);
  if (r == HF_ERR_NOTFOUND) {
    insert_member(rw, object, key, raw);
  } else if (r < 0) {
    fail(rw, HF_ERR_INVALID);
  } else {
    struct hf_edit *removal = find_edit(rw, HF_EDIT_REMOVE_MEMBER, value - 1);
    if (removal)
      forget_edit(rw, removal);
    hf_rewrite_replace(rw, value, raw);
  }
}

static void forget_insert(struct hf_rewrite *rw, uint32_t object, struct hf_str key) {
  size_t start;
  if (put_key(rw, key, &start) < 0)
    return;
  struct hf_edit *insert = find_insert(rw, object, (struct hf_str){rw->text.data + start, rw->text.len - start});
  if (insert)
    forget_edit(rw, insert);
  rw->text.len = start;
}

void hf_rewrite_remove_member(struct hf_rewrite *rw, uint32_t object, struct hf_str key) {
  if (rw->error)
    return;
  const struct hf_json_doc *doc = &rw->message->doc;
  forget_insert(rw, object, key);
  struct hf_json_iter iter = hf_json_iter(doc, object);
  uint32_t name, value;
  while (iter.object && hf_json_next(doc, &iter, &name, &value)) {
    if (!hf_json_string_is(doc, name, key) || find_edit(rw, HF_EDIT_REMOVE_MEMBER, name))
      continue;
    struct hf_edit *replacement = find_edit(rw, HF_EDIT_REPLACE, value);
    if (replacement)
      forget_edit(rw, replacement);
    struct hf_edit *edit = add_edit(rw, HF_EDIT_REMOVE_MEMBER, name, doc->nodes[name].start);
    if (!edit)
      return;
    edit->container = object;
  }
}

void hf_rewrite_set_id(struct hf_rewrite *rw, struct hf_str raw) {
  hf_rewrite_set_member(rw, 0, HF_STR("id"), raw);
}

void hf_rewrite_set_name(struct hf_rewrite *rw, struct hf_str name) {
  uint32_t node = rw->message->at[HF_FIELD_NAME];
  if (!node) {
    fail(rw, HF_ERR_INVALID);
    return;
  }
  struct hf_buf raw;
  hf_buf_init(&raw, TEXT_MAX);
  int r = hf_json_escape(&raw, name);
  if (r < 0)
    fail(rw, r);
  else
    hf_rewrite_replace(rw, node, hf_buf_str(&raw));
  hf_buf_deinit(&raw);
}

void hf_rewrite_set_progress_token(struct hf_rewrite *rw, struct hf_str raw) {
  const struct hf_message *m = rw->message;
  bool progress = m->method == HF_METHOD_PROGRESS;
  if (progress && !m->at[HF_FIELD_PARAM_PROGRESS_TOKEN])
    fail(rw, HF_ERR_INVALID);
  else if (progress && raw.ptr)
    hf_rewrite_replace(rw, m->at[HF_FIELD_PARAM_PROGRESS_TOKEN], raw);
  else if (progress)
    hf_rewrite_remove_member(rw, m->at[HF_FIELD_PARAMS], HF_STR("progressToken"));
  else if (raw.ptr)
    hf_rewrite_set_meta(rw, HF_STR("progressToken"), raw);
  else
    hf_rewrite_remove_meta(rw, HF_STR("progressToken"));
}

/* The object that a `_meta` of this message lives in. */
static enum hf_field meta_parent(const struct hf_message *m) {
  return m->kind == HF_MESSAGE_RESULT ? HF_FIELD_RESULT : HF_FIELD_PARAMS;
}

static uint32_t meta_node(const struct hf_message *m) {
  return m->at[m->kind == HF_MESSAGE_RESULT ? HF_FIELD_RESULT_META : HF_FIELD_PARAMS_META];
}

void hf_rewrite_set_meta(struct hf_rewrite *rw, struct hf_str key, struct hf_str raw) {
  if (rw->error)
    return;
  uint32_t node = meta_node(rw->message);
  if (rw->message->kind == HF_MESSAGE_ERROR)
    fail(rw, HF_ERR_INVALID);
  else if (node)
    hf_rewrite_set_member(rw, node, key, raw);
  else
    insert_member(rw, ABSENT_META, key, raw);
}

void hf_rewrite_remove_meta(struct hf_rewrite *rw, struct hf_str key) {
  if (rw->error)
    return;
  uint32_t node = meta_node(rw->message);
  if (node)
    hf_rewrite_remove_member(rw, node, key);
  else
    forget_insert(rw, ABSENT_META, key);
}

/* Turns the members kept for a missing `_meta` into one edit of the object it belongs to. */
static void settle_meta(struct hf_rewrite *rw) {
  struct hf_buf meta;
  hf_buf_init(&meta, TEXT_MAX);
  struct hf_edit *edit;
  int r = 0;
  while (r == 0 && (edit = find_edit(rw, HF_EDIT_INSERT_MEMBER, ABSENT_META)) != NULL) {
    r = hf_buf_append_str(&meta, meta.len ? HF_STR(",") : HF_STR("{"));
    if (r == 0)
      r = hf_buf_append_str(&meta, edit_key(rw, edit));
    if (r == 0)
      r = hf_buf_append_str(&meta, HF_STR(":"));
    if (r == 0)
      r = hf_buf_append(&meta, rw->text.data + edit->start, edit->len);
    forget_edit(rw, edit);
  }
  bool any = meta.len > 0;
  if (r == 0 && any)
    r = hf_buf_append_str(&meta, HF_STR("}"));

  uint32_t parent = rw->message->at[meta_parent(rw->message)];
  if (r == 0 && any && parent && hf_json_type(&rw->message->doc, parent) == HF_JSON_OBJECT) {
    hf_rewrite_set_member(rw, parent, HF_STR("_meta"), hf_buf_str(&meta));
  } else if (r == 0 && any) {
    struct hf_buf params;
    hf_buf_init(&params, TEXT_MAX);
    r = hf_buf_append_str(&params, HF_STR("{\"_meta\":"));
    if (r == 0)
      r = hf_buf_append_str(&params, hf_buf_str(&meta));
    if (r == 0)
      r = hf_buf_append_str(&params, HF_STR("}"));
    if (r == 0)
      hf_rewrite_set_member(rw, 0, HF_STR("params"), hf_buf_str(&params));
    hf_buf_deinit(&params);
  }
  hf_buf_deinit(&meta);
  if (r < 0)
    fail(rw, r);
}

/* The span of a removed member with the one comma that goes with it. Where several go, spans may overlap. */
static void settle_removal(struct hf_rewrite *rw, struct hf_edit *edit) {
  const struct hf_json_doc *doc = &rw->message->doc;
  uint32_t value = edit->node + 1;
  uint32_t after = doc->nodes[value].next;
  if (after < doc->nodes[edit->container].next) {
    edit->drop = doc->nodes[after].start - edit->at;
    return;
  }
  uint32_t end = doc->nodes[value].end;
  struct hf_json_iter iter = hf_json_iter(doc, edit->container);
  uint32_t key, other;
  while (hf_json_next(doc, &iter, &key, &other) && key != edit->node)
    if (!find_edit(rw, HF_EDIT_REMOVE_MEMBER, key))
      edit->at = doc->nodes[other].end;
  edit->drop = end - edit->at;
}

/* True if any member of the object stays behind what is inserted at its front. */
static bool has_rest(const struct hf_rewrite *rw, uint32_t object) {
  uint32_t left = node_at(rw, object)->count;
  for (size_t i = 0; i < rw->count; i++)
    left -= rw->edits[i].kind == HF_EDIT_REMOVE_MEMBER && rw->edits[i].container == object;
  return left > 0;
}

static bool is_insert(const struct hf_edit *edit) {
  return edit->kind == HF_EDIT_INSERT_MEMBER;
}

/* Insertions stand before a removal at the same place; else the order of the calls is kept. */
static bool stands_after(const struct hf_edit *a, const struct hf_edit *b) {
  return a->at != b->at ? a->at > b->at : !is_insert(a) && is_insert(b);
}

static void sort_edits(struct hf_rewrite *rw) {
  for (size_t i = 1; i < rw->count; i++) {
    struct hf_edit edit = rw->edits[i];
    size_t j = i;
    for (; j > 0 && stands_after(&rw->edits[j - 1], &edit); j--)
      rw->edits[j] = rw->edits[j - 1];
    rw->edits[j] = edit;
  }
}

/* The output while it is put together: copied bytes in one buffer, and between them long runs of the message. */
struct output {
  struct hf_buf copied;
  struct {
    size_t copied_to; /* copied bytes that stand before it */
    uint32_t start;
    uint32_t len;
  } reference[REFERENCES_MAX];
  size_t references;
};

static int put_original(struct output *out, const struct hf_rewrite *rw, uint32_t start, uint32_t end) {
  if (end - start < COPY_BELOW || out->references == REFERENCES_MAX)
    return hf_buf_append(&out->copied, rw->message->doc.base + start, end - start);
  out->reference[out->references].copied_to = out->copied.len;
  out->reference[out->references].start = start;
  out->reference[out->references].len = end - start;
  out->references++;
  return 0;
}

static int put_edit(struct output *out, const struct hf_rewrite *rw, size_t i) {
  const struct hf_edit *edit = &rw->edits[i];
  if (edit->kind == HF_EDIT_REMOVE_MEMBER)
    return 0;
  bool insert = is_insert(edit);
  int r = 0;
  if (insert && i > 0 && is_insert(&rw->edits[i - 1]) && rw->edits[i - 1].node == edit->node)
    r = hf_buf_append_str(&out->copied, HF_STR(","));
  if (r == 0 && insert)
    r = hf_buf_append_str(&out->copied, edit_key(rw, edit));
  if (r == 0 && insert)
    r = hf_buf_append_str(&out->copied, HF_STR(":"));
  if (r == 0)
    r = hf_buf_append(&out->copied, rw->text.data + edit->start, edit->len);
  bool last = i + 1 == rw->count || !is_insert(&rw->edits[i + 1]) || rw->edits[i + 1].node != edit->node;
  if (r == 0 && insert && last && has_rest(rw, edit->node))
    r = hf_buf_append_str(&out->copied, HF_STR(","));
  return r;
}

static int put_all(struct output *out, const struct hf_rewrite *rw) {
  const struct hf_json_node *root = node_at(rw, 0);
  uint32_t at = root->start;
  int r = 0;
  for (size_t i = 0; r == 0 && i < rw->count; i++) {
    const struct hf_edit *edit = &rw->edits[i];
    if (edit->at < at && edit->kind != HF_EDIT_REMOVE_MEMBER)
      return HF_ERR_INVALID; /* inside a value that another edit replaces or removes */
    if (edit->at > at)
      r = put_original(out, rw, at, edit->at);
    if (r == 0)
      r = put_edit(out, rw, i);
    if (edit->at + edit->drop > at)
      at = edit->at + edit->drop;
  }
  return r == 0 ? put_original(out, rw, at, root->end) : r;
}

static int add_pieces(struct hf_pieces *pieces, struct output *out, const struct hf_rewrite *rw) {
  struct hf_blob *blob = hf_blob_take(&out->copied);
  if (!blob)
    return HF_ERR_NOMEM;
  struct hf_str copied = hf_blob_str(blob);
  size_t at = 0;
  int r = 0;
  for (size_t i = 0; r == 0 && i < out->references; i++) {
    size_t to = out->reference[i].copied_to;
    r = hf_pieces_add(pieces, blob, (struct hf_str){copied.ptr + at, to - at});
    if (r == 0)
      r = hf_pieces_add(pieces, rw->message->blob,
                        (struct hf_str){rw->message->doc.base + out->reference[i].start, out->reference[i].len});
    at = to;
  }
  if (r == 0)
    r = hf_pieces_add(pieces, blob, (struct hf_str){copied.ptr + at, copied.len - at});
  hf_blob_unref(blob);
  return r;
}

/* After an error an edit can speak of text that was not kept. */
static void settle(struct hf_rewrite *rw) {
  settle_meta(rw);
  for (size_t i = 0; i < rw->count; i++)
    if (rw->edits[i].kind == HF_EDIT_REMOVE_MEMBER)
      settle_removal(rw, &rw->edits[i]);
  sort_edits(rw);
}

int hf_rewrite_finish(struct hf_rewrite *rw, struct hf_pieces *pieces) {
  if (rw->error == 0)
    settle(rw);

  struct output out = {.references = 0};
  hf_buf_init(&out.copied, (size_t)HF_MESSAGE_BYTES_MAX + TEXT_MAX);
  if (rw->error == 0)
    rw->error = put_all(&out, rw);
  if (rw->error == 0)
    rw->error = add_pieces(pieces, &out, rw);
  hf_buf_deinit(&out.copied);
  int r = rw->error;
  hf_rewrite_deinit(rw);
  return r;
}

int hf_rewrite_finish_message(struct hf_rewrite *rw, struct hf_message *ret_message) {
  struct hf_pieces pieces;
  struct hf_buf text;
  struct hf_refusal refusal;
  hf_pieces_init(&pieces);
  hf_buf_init(&text, HF_MESSAGE_BYTES_MAX);
  int r = hf_rewrite_finish(rw, &pieces);
  if (r == 0)
    r = hf_pieces_join(&pieces, &text);
  if (r == 0)
    r = hf_message_decode(&text, ret_message, &refusal);
  hf_pieces_deinit(&pieces);
  hf_buf_deinit(&text);
  return r;
}
