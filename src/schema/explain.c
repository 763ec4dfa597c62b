#include "schema/run.h"

enum { PATHS_MAX = 256 << 10, FIRST_REASON_STEPS = 4096 };

void hf_schema_errors_init(struct hf_schema_errors *errors) {
  errors->count = 0;
  errors->cut = false;
  hf_buf_init(&errors->paths, PATHS_MAX);
}

void hf_schema_errors_deinit(struct hf_schema_errors *errors) {
  hf_buf_deinit(&errors->paths);
}

struct hf_errors_mark hf_errors_mark(const struct hf_schema_run *run) {
  return (struct hf_errors_mark){run->errors->count, run->errors->cut, run->errors->paths.len};
}

void hf_errors_back(struct hf_schema_run *run, struct hf_errors_mark mark) {
  run->errors->count = mark.count;
  run->errors->cut = mark.cut;
  run->errors->paths.len = mark.paths;
}

static int append_token(struct hf_buf *out, const struct hf_json_doc *doc, uint32_t key) {
  struct hf_str raw = hf_json_span(doc, key);
  struct hf_buf text;
  hf_buf_init(&text, raw.len);
  int r = hf_json_unescape(raw, &text);
  if (r == 0)
    r = hf_buf_append(out, "/", 1);
  for (size_t i = 0; i < text.len && r == 0; i++) {
    char c = text.data[i];
    r = c == '~' ? hf_buf_append(out, "~0", 2) : c == '/' ? hf_buf_append(out, "~1", 2) : hf_buf_append(out, &c, 1);
  }
  hf_buf_deinit(&text);
  return r;
}

/* The way from a node down to one within it. Each value that is passed by lowers `io_steps`, which may be NULL. */
static int append_way(struct hf_buf *out, const struct hf_json_doc *doc, uint32_t from, uint32_t to,
                      uint32_t *io_steps) {
  int r = 0;
  while (from != to && r == 0) {
    struct hf_json_iter iter = hf_json_iter(doc, from);
    uint32_t key = HF_JSON_NONE, value = HF_JSON_NONE, ordinal = 0;
    bool found = false;
    while (!found && hf_json_next(doc, &iter, &key, &value)) {
      found = to < doc->nodes[value].next;
      ordinal++;
    }
    if (!found || (io_steps && *io_steps < ordinal))
      return found ? HF_ERR_LIMIT : HF_ERR_INVALID;
    if (io_steps)
      *io_steps -= ordinal;
    r = iter.object ? append_token(out, doc, key) : hf_buf_append(out, "/", 1);
    if (r == 0 && !iter.object)
      r = hf_buf_append_int(out, ordinal - 1);
    from = to < value ? to : value; /* a key stands before its value */
  }
  return r;
}

int hf_json_pointer_of(const struct hf_json_doc *doc, uint32_t node, struct hf_buf *out) {
  return append_way(out, doc, 0, node, NULL);
}

/* The frames from the root on, and how each of them came to the next. */
static int append_path(struct hf_schema_run *run, const struct hf_frame *frame, struct hf_buf *out) {
  const struct hf_frame *way[HF_SCHEMA_DEPTH_MAX + 1];
  size_t count = 0;
  for (; frame; frame = frame->up)
    way[count++] = frame;
  if (!hf_run_spend(run, (uint32_t)count))
    return HF_ERR_LIMIT;
  int r = 0;
  for (size_t i = count - 1; i > 0 && r == 0; i--) {
    const struct hf_frame *from = way[i], *to = way[i - 1];
    const struct hf_json_doc *doc = hf_frame_doc(run, from);
    r = to->via ? append_token(out, doc, to->via->node - 1)
                : append_way(out, doc, from->sub->node, to->sub->node, &run->steps);
  }
  return r;
}

static int write_path(struct hf_schema_run *run, const struct hf_frame *frame, struct hf_schema_error *error) {
  struct hf_buf *paths = &run->errors->paths;
  size_t start = paths->len;
  int r = append_path(run, frame, paths);
  if (r == 0 && error->keyword != HF_KEYWORD_FALSE) {
    const char *name = hf_keyword_name(error->keyword);
    r = hf_buf_append(paths, "/", 1);
    if (r == 0)
      r = hf_buf_append(paths, name, strlen(name));
  }
  if (!hf_run_spend(run, 1 + (uint32_t)((paths->len - start) / HF_STEP_BYTES)))
    r = r < 0 ? r : HF_ERR_LIMIT;
  error->path = (uint32_t)start;
  error->path_len = (uint32_t)(paths->len - start);
  return r;
}

int hf_run_report(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_schema_error *error) {
  struct hf_schema_errors *errors = run->errors;
  if (!errors)
    return HF_ERR_INVALID;
  if (errors->count == HF_SCHEMA_ERRORS_MAX) {
    errors->cut = true;
    return HF_ERR_INVALID;
  }
  struct hf_schema_error *item = &errors->item[errors->count];
  *item = *error;
  item->at.doc = hf_frame_doc(run, frame);
  item->at.schema = frame->sub->node;
  item->parent = run->parent;
  item->branch = run->branch;
  int r = write_path(run, frame, item);
  if (r < 0)
    return r;
  errors->count++;
  return HF_ERR_INVALID;
}

int hf_run_report_parent(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_schema_error *error) {
  int r = hf_run_report(run, frame, error);
  if (!run->errors->cut && r == HF_ERR_INVALID) {
    run->parent = (int)run->errors->count - 1;
    run->branch = 0;
  }
  return r;
}

int hf_run_fail(struct hf_schema_run *run, const struct hf_frame *frame, const struct hf_op *op) {
  if (!run->errors)
    return HF_ERR_INVALID;
  struct hf_schema_error error = {
      .keyword = (enum hf_keyword)op->keyword, .at.keyword = op->node, .value = frame->node};
  return hf_run_report(run, frame, &error);
}

/* The verdict is that of a check. If the bounds do not suffice to find all reasons, there are those that were found;
 * not those of branches whose sisters were not all tried, unless there are no others. */
int hf_schema_explain(const struct hf_schema *schema, struct hf_schema_run *run, const struct hf_json_doc *doc,
                      uint32_t node, struct hf_schema_errors *errors) {
  errors->count = 0;
  errors->cut = false;
  hf_buf_reset(&errors->paths, PATHS_MAX);
  int verdict = hf_run_root(run, schema, doc, node, NULL, HF_SCHEMA_STEPS_MAX);
  if (verdict != HF_ERR_INVALID)
    return verdict;
  /* Enough to come to the first reason again and to write it down, else what is left. */
  uint32_t left = run->steps, enough = HF_SCHEMA_STEPS_MAX - left + FIRST_REASON_STEPS;
  int r = hf_run_root(run, schema, doc, node, errors, left > enough ? left : enough);
  if (r != HF_ERR_LIMIT)
    return r;
  if (run->certain != HF_NONE && run->certain > 0)
    errors->count = run->certain;
  errors->cut = true;
  return HF_ERR_INVALID;
}
