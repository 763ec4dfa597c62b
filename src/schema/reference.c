/* What references name: a resource, and a JSON Pointer or an anchor in it. */
#include "schema/resource.h"

#include "base/alloc.h"
#include "schema/uri.h"
#include "json/pointer.h"

enum {
  INDEX_FROM = 16, /* children from which on a container is searched by hash */
  SHOWN_MAX = 200,
};

/* What an item of an object or array is called in a JSON Pointer. */
static int name_child(struct hf_resources *resources, const struct hf_json_doc *doc, bool object, uint32_t key,
                      uint32_t ordinal, struct hf_str *ret_name) {
  if (object)
    return hf_json_string(doc, key, &resources->arena, ret_name);
  char digits[HF_DECIMAL_MAX];
  *ret_name = hf_arena_copy(&resources->arena, hf_str_decimal(ordinal, digits));
  return ret_name->ptr ? 0 : HF_ERR_NOMEM;
}

/* What is in a large object or array by hash, so that many references into it do not each walk over it. */
static int index_children(struct hf_resources *resources, struct hf_source *source, uint32_t container,
                          const struct hf_member_table **ret_table) {
  const struct hf_json_doc *doc = &source->document->doc;
  if (!source->tables)
    source->tables = hf_calloc(doc->count, sizeof *source->tables);
  if (!source->tables)
    return HF_ERR_NOMEM;
  if (source->tables[container] == 0) {
    struct hf_member_table table;
    int r = hf_member_names_begin(&resources->names, doc->nodes[container].count, &table);
    struct hf_json_iter iter = hf_json_iter(doc, container);
    uint32_t key = HF_JSON_NONE, value;
    for (uint32_t i = 0; r == 0 && hf_json_next(doc, &iter, &key, &value); i++) {
      struct hf_str name;
      r = name_child(resources, doc, iter.object, key, i, &name);
      if (r == 0)
        hf_member_names_add(&resources->names, &table, name)->value = value;
    }
    if (r < 0 || !hf_vec_push(&resources->tables, table))
      return HF_ERR_NOMEM;
    source->tables[container] = resources->tables.count;
  }
  *ret_table = &resources->tables.at[source->tables[container] - 1];
  return 0;
}

static int step(struct hf_resources *resources, struct hf_source *source, struct hf_str name, uint32_t *io_node) {
  const struct hf_json_doc *doc = &source->document->doc;
  if (doc->nodes[*io_node].count < INDEX_FROM)
    return hf_json_step(doc, *io_node, name, io_node);
  const struct hf_member_table *table;
  int r = index_children(resources, source, *io_node, &table);
  if (r < 0)
    return r;
  const struct hf_member_name *found = hf_member_names_find(&resources->names, table, name);
  if (!found)
    return HF_ERR_NOTFOUND;
  *io_node = found->value;
  return 0;
}

/* Follows a JSON Pointer from the root of a resource; it may lead into one that is embedded. */
static int follow(struct hf_resources *resources, struct hf_str pointer, struct hf_target *target) {
  struct hf_source *source = target->resource->source;
  int r = 0;
  while (pointer.len > 0 && r == 0) {
    hf_buf_reset(&resources->key, HF_URI_BYTES_MAX);
    r = hf_json_pointer_next(&pointer, &resources->key);
    if (r == 0)
      r = step(resources, source, hf_buf_str(&resources->key), &target->node);
  }
  if (r == 0)
    target->resource = hf_source_resource(source, target->node);
  return r;
}

static int resolve_fragment(struct hf_resources *resources, struct hf_str fragment, struct hf_target *target) {
  target->node = target->resource->node;
  if (fragment.len == 0)
    return 0;
  hf_buf_reset(&resources->uri, HF_URI_BYTES_MAX);
  int r = hf_uri_decode(fragment, &resources->uri);
  if (r < 0)
    return r;
  struct hf_str name = hf_buf_str(&resources->uri);
  if (name.len == 0 || name.ptr[0] == '/')
    return follow(resources, name, target);
  r = hf_resources_anchor(resources, target->resource, name, &target->anchor);
  if (r == 0)
    target->node = target->anchor->node;
  return r;
}

int hf_resources_resolve(struct hf_resources *resources, struct hf_resource *base, struct hf_str reference,
                         struct hf_target *ret_target) {
  struct hf_target target = {.resource = base};
  struct hf_str name, fragment;
  hf_uri_split(reference, &name, &fragment);
  int r = 0;
  if (name.len > 0) {
    hf_buf_reset(&resources->uri, HF_URI_BYTES_MAX);
    r = hf_uri_resolve(base->uri, name, &resources->uri);
    if (r < 0)
      return hf_error_set(resources->reterr, r, "a reference is too long for a URI");
    r = hf_resources_find(resources, hf_buf_str(&resources->uri), &target.resource);
    if (r < 0 && r != HF_ERR_NOTFOUND)
      return r; /* told */
  }
  if (r == 0)
    r = resolve_fragment(resources, fragment, &target);
  if (r == HF_ERR_NOMEM)
    return hf_error_set(resources->reterr, r, "out of memory");
  if (r < 0) {
    int code = r == HF_ERR_LIMIT ? HF_ERR_LIMIT : HF_ERR_NOTFOUND;
    return hf_error_set(resources->reterr, code, "'%.*s' refers to nothing that is known",
                        (int)(reference.len < SHOWN_MAX ? reference.len : SHOWN_MAX), reference.ptr);
  }
  *ret_target = target;
  return 0;
}
