/* The reasons of a run: written down as they are found, and taken back with what was tried in vain. */
#include "schema/run.h"

#include "json/pointer.h"

struct hf_errors_mark hf_errors_mark(const struct hf_schema_run *run) {
  return (struct hf_errors_mark){run->errors->count, run->errors->cut, run->errors->paths.len};
}

void hf_errors_back(struct hf_schema_run *run, struct hf_errors_mark mark) {
  run->errors->count = mark.count;
  run->errors->cut = mark.cut;
  run->errors->paths.len = mark.paths;
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
    r = to->via ? hf_json_pointer_append(doc, to->via->node - 1, out)
                : hf_json_pointer_between(doc, from->sub->node, to->sub->node, &run->steps, out);
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
