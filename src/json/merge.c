#include "json/merge.h"

#include "json/value.h"
#include "json/write.h"

struct merging {
  struct hf_json_doc target;
  struct hf_json_doc patch;
  struct hf_arena arena; /* of unescaped keys */
  struct hf_json_writer w;
};

/* The node of the target, or that there is none. */
struct place {
  bool there;
  uint32_t node;
};

static int merge(struct merging *m, struct place place, uint32_t patch);

static int find(struct merging *m, const struct hf_json_doc *of_key, uint32_t key, const struct hf_json_doc *doc,
                uint32_t object, struct place *ret_place) {
  struct hf_str name;
  int r = hf_json_string(of_key, key, &m->arena, &name);
  if (r == 0)
    r = hf_json_member(doc, object, name, &ret_place->node);
  ret_place->there = r == 0;
  return r == HF_ERR_NOTFOUND ? 0 : r;
}

/* The members that were there: changed, removed, or as they are. */
static int merge_old(struct merging *m, uint32_t object, uint32_t patch) {
  struct hf_json_iter iter = hf_json_iter(&m->target, object);
  uint32_t key, value;
  while (hf_json_next(&m->target, &iter, &key, &value)) {
    struct place change;
    int r = find(m, &m->target, key, &m->patch, patch, &change);
    if (r < 0)
      return r;
    if (change.there && hf_json_type(&m->patch, change.node) == HF_JSON_NULL)
      continue;
    hf_json_write_key_raw(&m->w, hf_json_span(&m->target, key));
    if (change.there)
      r = merge(m, (struct place){true, value}, change.node);
    else
      hf_json_write_raw(&m->w, hf_json_span(&m->target, value));
    if (r < 0)
      return r;
  }
  return 0;
}

static int merge_new(struct merging *m, struct place object, uint32_t patch) {
  struct hf_json_iter iter = hf_json_iter(&m->patch, patch);
  uint32_t key, value;
  while (hf_json_next(&m->patch, &iter, &key, &value)) {
    struct place old = {false, HF_JSON_NONE};
    int r = object.there ? find(m, &m->patch, key, &m->target, object.node, &old) : 0;
    if (r < 0)
      return r;
    if (old.there || hf_json_type(&m->patch, value) == HF_JSON_NULL)
      continue;
    hf_json_write_key_raw(&m->w, hf_json_span(&m->patch, key));
    r = merge(m, old, value);
    if (r < 0)
      return r;
  }
  return 0;
}

static int merge(struct merging *m, struct place place, uint32_t patch) {
  if (hf_json_type(&m->patch, patch) != HF_JSON_OBJECT) {
    hf_json_write_raw(&m->w, hf_json_span(&m->patch, patch));
    return 0;
  }
  place.there = place.there && hf_json_type(&m->target, place.node) == HF_JSON_OBJECT;
  hf_json_write_object(&m->w);
  int r = place.there ? merge_old(m, place.node, patch) : 0;
  if (r == 0)
    r = merge_new(m, place, patch);
  hf_json_write_object_end(&m->w);
  return r;
}

int hf_json_merge(struct hf_str target, struct hf_str patch, struct hf_buf *out) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  struct hf_json_scan of_target, of_patch;
  hf_json_scan_init(&of_target, &options);
  options.max_depth = HF_JSON_MERGE_DEPTH;
  options.max_nodes = HF_JSON_MERGE_NODES;
  hf_json_scan_init(&of_patch, &options);
  int r = hf_json_scan_feed(&of_target, target.ptr, target.len, true);
  if (r == 0)
    r = hf_json_scan_feed(&of_patch, patch.ptr, patch.len, true);
  if (r == 0) {
    struct merging m = {.target = hf_json_doc(target.ptr, &of_target), .patch = hf_json_doc(patch.ptr, &of_patch)};
    hf_arena_init(&m.arena, target.len + patch.len + (1 << 20));
    hf_json_writer_init(&m.w, out);
    r = merge(&m, (struct place){true, 0}, 0);
    if (r == 0)
      r = hf_json_write_finish(&m.w);
    hf_arena_deinit(&m.arena);
  }
  hf_json_scan_deinit(&of_target);
  hf_json_scan_deinit(&of_patch);
  return r;
}
