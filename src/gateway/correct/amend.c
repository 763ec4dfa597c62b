#include "gateway/correct/amend.h"

#include "json/value.h"
#include "json/write.h"

/* Copies the result up to `at`, and goes on there. */
struct copy {
  struct hf_str result;
  size_t done;
  struct hf_buf *out;
  int error;
};

static void put(struct copy *copy, struct hf_str text) {
  if (copy->error == 0)
    copy->error = hf_buf_append_str(copy->out, text);
}

static void copy_to(struct copy *copy, size_t at) {
  put(copy, (struct hf_str){copy->result.ptr + copy->done, at - copy->done});
  copy->done = at;
}

static void put_block(struct copy *copy, struct hf_str text) {
  put(copy, HF_STR("{\"type\":\"text\",\"text\":"));
  if (copy->error == 0)
    copy->error = hf_json_escape(copy->out, text);
  put(copy, HF_STR("}"));
}

static bool is_empty(struct hf_str container) {
  for (size_t i = 1; i + 1 < container.len; i++)
    if (!strchr(" \t\n\r", container.ptr[i]))
      return false;
  return true;
}

/* The array at `start`, or the place where a member of that name is to be made. */
static void amend_content(struct copy *copy, const struct hf_json_node *content, const struct hf_amendment *what) {
  const bool empty =
      is_empty((struct hf_str){copy->result.ptr + content->start, (size_t)content->end - content->start});
  copy_to(copy, content->start + 1);
  if (what->first.ptr) {
    put_block(copy, what->first);
    put(copy, empty ? HF_STR("") : HF_STR(","));
  }
  copy_to(copy, content->end - 1);
  if (what->last.ptr) {
    put(copy, empty && !what->first.ptr ? HF_STR("") : HF_STR(","));
    put_block(copy, what->last);
  }
}

static void amend_error(struct copy *copy, const struct hf_json_node *is_error) {
  copy_to(copy, is_error->start);
  put(copy, HF_STR("true"));
  copy->done = is_error->end;
}

/* What is not there is made at the end. */
static void add_missing(struct copy *copy, const struct hf_json_doc *doc, bool content, const struct hf_amendment *what,
                        bool error) {
  struct hf_str comma = doc->nodes[0].count ? HF_STR(",") : HF_STR("");
  copy_to(copy, doc->nodes[0].end - 1);
  if (!content) {
    put(copy, comma);
    put(copy, HF_STR("\"content\":["));
    if (what->first.ptr)
      put_block(copy, what->first);
    put(copy, what->first.ptr && what->last.ptr ? HF_STR(",") : HF_STR(""));
    if (what->last.ptr)
      put_block(copy, what->last);
    put(copy, HF_STR("]"));
    comma = HF_STR(",");
  }
  if (what->is_error && !error) {
    put(copy, comma);
    put(copy, HF_STR("\"isError\":true"));
  }
  copy_to(copy, copy->result.len);
}

static int amend(const struct hf_json_doc *doc, struct hf_str result, const struct hf_amendment *what,
                 struct hf_buf *out) {
  uint32_t content = HF_JSON_NONE, error = HF_JSON_NONE;
  int r = hf_json_type(doc, 0) == HF_JSON_OBJECT ? 0 : HF_ERR_INVALID;
  if (r == 0)
    r = hf_json_member(doc, 0, HF_STR("content"), &content);
  if (r == 0 || r == HF_ERR_NOTFOUND)
    r = hf_json_member(doc, 0, HF_STR("isError"), &error);
  if (r < 0 && r != HF_ERR_NOTFOUND)
    return r;
  if (content && hf_json_type(doc, content) != HF_JSON_ARRAY)
    return HF_ERR_INVALID;
  struct copy copy = {.result = result, .out = out};
  const bool replaces = what->is_error && error;
  if (replaces && (!content || error < content))
    amend_error(&copy, &doc->nodes[error]);
  if (content)
    amend_content(&copy, &doc->nodes[content], what);
  if (replaces && content && error > content)
    amend_error(&copy, &doc->nodes[error]);
  add_missing(&copy, doc, content != HF_JSON_NONE, what, error != HF_JSON_NONE);
  return copy.error;
}

int hf_amend(struct hf_str result, const struct hf_amendment *what, struct hf_buf *out) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.tree_depth = 1;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  const size_t start = out->len;
  int r = hf_json_scan_feed(&scan, result.ptr, result.len, true);
  if (r == 0) {
    const struct hf_json_doc doc = hf_json_doc(result.ptr, &scan);
    r = amend(&doc, result, what, out);
  }
  if (r < 0)
    out->len = start;
  hf_json_scan_deinit(&scan);
  return r;
}
