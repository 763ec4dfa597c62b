#include "schema/compile.h"

#include "base/alloc.h"

int hf_compile_complain(struct hf_compiler *c, int code, uint32_t node, const char *what) {
  return hf_resources_complain(&c->resources, code, c->source, node, what);
}

static int out_of_memory(struct hf_compiler *c) {
  return hf_error_set(c->reterr, HF_ERR_NOMEM, "out of memory");
}

/* What a program may be made of at most. */
static int check_size(struct hf_compiler *c) {
  const struct hf_schema *s = c->schema;
  uint64_t nodes = (uint64_t)s->subs.count + s->ops.count + s->list.count + s->names.entry_count + s->patterns.count +
                   s->dependents.count + s->dynamics.count;
  if (nodes <= c->options->max_nodes)
    return 0;
  return hf_error_set(c->reterr, HF_ERR_LIMIT, "a schema whose program is larger than %u nodes", c->options->max_nodes);
}

static int use_resource(struct hf_compiler *c, struct hf_resource *resource) {
  if (resource->scope != HF_NONE)
    return 0;
  resource->scope = c->used.count;
  return hf_vec_push(&c->used, resource) ? 0 : out_of_memory(c);
}

/* The subschema at a node of any source. */
static int queue(struct hf_compiler *c, struct hf_source *source, uint32_t node, uint32_t *ret_sub) {
  if (source->subs[node]) {
    *ret_sub = source->subs[node] - 1;
    return 0;
  }
  struct hf_resource *resource = hf_source_resource(source, node);
  int r = use_resource(c, resource);
  if (r < 0)
    return r;
  struct hf_sub sub = {.node = node, .doc = (uint16_t)source->index, .types = HF_TYPE_ANY, .scope = resource->scope};
  if (!hf_vec_push(&c->schema->subs, sub))
    return out_of_memory(c);
  source->subs[node] = c->schema->subs.count;
  *ret_sub = c->schema->subs.count - 1;
  return check_size(c);
}

int hf_compile_child(struct hf_compiler *c, uint32_t node, uint32_t *ret_sub) {
  return queue(c, c->source, node, ret_sub);
}

int hf_compile_op(struct hf_compiler *c, const struct hf_op *op) {
  if (!hf_vec_push(&c->schema->ops, *op))
    return out_of_memory(c);
  c->schema->subs.at[c->sub].op_count++;
  return check_size(c);
}

int hf_compile_list(struct hf_compiler *c, uint32_t sub) {
  return hf_vec_push(&c->schema->list, sub) ? 0 : out_of_memory(c);
}

int hf_compile_text(struct hf_compiler *c, uint32_t node, struct hf_str *ret_text) {
  int r = hf_json_string(c->doc, node, &c->schema->arena, ret_text);
  if (r == HF_ERR_INVALID)
    return hf_compile_complain(c, r, node, "must be a string");
  return r < 0 ? out_of_memory(c) : 0;
}

int hf_compile_name(struct hf_compiler *c, uint32_t node, struct hf_str *ret_name) {
  struct hf_str raw = hf_json_span(c->doc, node);
  if (hf_json_type(c->doc, node) != HF_JSON_STRING || !(c->doc->nodes[node].flags & HF_JSON_ESCAPED))
    return hf_compile_text(c, node, ret_name);
  char *text = hf_arena_alloc(&c->schema->arena, raw.len);
  if (!text)
    return out_of_memory(c);
  *ret_name = (struct hf_str){text, hf_text_unescape(raw, false, text)};
  return 0;
}

/* The number that stands for the name of a dynamic anchor. */
static int anchor_id(struct hf_compiler *c, struct hf_str name, uint32_t *ret_id) {
  uintptr_t id = (uintptr_t)hf_map_get(&c->anchor_ids, name);
  if (id == 0) {
    id = c->anchor_ids.len + 1;
    if (hf_map_put(&c->anchor_ids, name, (void *)id) < 0)
      return out_of_memory(c);
  }
  *ret_id = (uint32_t)id - 1;
  return 0;
}

static const struct hf_anchor *recursive_anchor(const struct hf_resource *resource) {
  const struct hf_anchor *anchor = resource->draft == HF_DRAFT_2019 ? resource->dynamics : NULL;
  return anchor && anchor->name.len == 0 ? anchor : NULL;
}

static int compile_reference(struct hf_compiler *c, enum hf_word word) {
  uint32_t node = c->words[word];
  if (node == HF_JSON_NONE)
    return 0;
  struct hf_str text;
  struct hf_target target = {.resource = c->resource};
  int r = hf_compile_text(c, node, &text);
  if (r == 0)
    r = hf_resources_resolve(&c->resources, c->resource, text, &target);
  struct hf_op op = {.code = HF_OP_REF, .types = UINT8_MAX, .node = node};
  if (r == 0)
    r = queue(c, target.resource->source, target.node, &op.a);
  if (r < 0)
    return r;
  const struct hf_anchor *anchor = NULL;
  if (word == HF_WORD_DYNAMIC_REF && target.anchor && target.anchor->dynamic)
    anchor = target.anchor;
  if (word == HF_WORD_RECURSIVE_REF && target.node == target.resource->node)
    anchor = recursive_anchor(target.resource);
  if (anchor) {
    op.code = HF_OP_DYNAMIC_REF;
    c->dynamic = true;
    r = anchor_id(c, anchor->name, &op.b);
  }
  return r < 0 ? r : hf_compile_op(c, &op);
}

int hf_compile_references(struct hf_compiler *c) {
  int r = compile_reference(c, HF_WORD_REF);
  if (r == 0)
    r = compile_reference(c, HF_WORD_DYNAMIC_REF);
  return r < 0 ? r : compile_reference(c, HF_WORD_RECURSIVE_REF);
}

/* Finds the keywords of the schema in turn that its draft and vocabularies have. */
static int read_words(struct hf_compiler *c, uint32_t object) {
  memset(c->words, 0, sizeof c->words);
  struct hf_json_iter iter = hf_json_iter(c->doc, object);
  uint32_t key, value;
  while (hf_json_next(c->doc, &iter, &key, &value)) {
    struct hf_str raw = hf_json_span(c->doc, key);
    enum hf_word word = hf_word_find((struct hf_str){raw.ptr + 1, raw.len - 2});
    if (word == HF_WORD_NONE)
      continue;
    const struct hf_word_row *row = hf_word_row(word);
    if (!(row->drafts & c->resource->draft) || !(row->vocabularies & c->resource->vocabularies))
      continue;
    if (c->words[word] != HF_JSON_NONE)
      return hf_compile_complain(c, HF_ERR_INVALID, value, "is said twice");
    c->words[word] = value;
  }
  /* Up to draft 7, nothing stands beside a reference. */
  uint32_t ref = c->words[HF_WORD_REF];
  if (ref != HF_JSON_NONE && c->resource->draft < HF_DRAFT_2019) {
    memset(c->words, 0, sizeof c->words);
    c->words[HF_WORD_REF] = ref;
  }
  return 0;
}

static int compile_object(struct hf_compiler *c, struct hf_sub *sub) {
  int r = read_words(c, sub->node);
  if (r < 0)
    return r;
  if (c->resource->draft == HF_DRAFT_4)
    sub->flags |= HF_SUB_STRICT;
  if (c->words[HF_WORD_UNEVALUATED_ITEMS] || c->words[HF_WORD_UNEVALUATED_PROPERTIES])
    sub->flags |= HF_SUB_UNEVALUATED;
  r = hf_compile_type(c, sub);
  if (r < 0)
    return r;
  static int (*const parts[])(struct hf_compiler *) = {
      hf_compile_assertions, hf_compile_members, hf_compile_items, hf_compile_references, hf_compile_logic,
  };
  for (size_t i = 0; i < sizeof parts / sizeof parts[0] && r == 0; i++)
    r = parts[i](c);
  return r;
}

static int compile_sub(struct hf_compiler *c, uint32_t index) {
  struct hf_sub *sub = &c->schema->subs.at[index];
  c->sub = index;
  c->source = c->resources.sources.at[sub->doc];
  c->resource = c->used.at[sub->scope];
  c->doc = &c->source->document->doc;
  sub->first_op = c->schema->ops.count;
  enum hf_json_type type = hf_json_type(c->doc, sub->node);
  if (type == HF_JSON_OBJECT)
    return compile_object(c, sub);
  if (type != HF_JSON_TRUE && type != HF_JSON_FALSE)
    return hf_compile_complain(c, HF_ERR_INVALID, sub->node, "must be a schema: an object or a boolean");
  if (type == HF_JSON_FALSE)
    sub->flags |= HF_SUB_FALSE;
  return 0;
}

/* A reference that is dynamic may lead to any of these. */
static int queue_dynamic_anchors(struct hf_compiler *c, const struct hf_resource *resource) {
  for (const struct hf_anchor *anchor = resource->dynamics; anchor; anchor = anchor->next) {
    uint32_t sub;
    int r = queue(c, resource->source, anchor->node, &sub);
    if (r < 0)
      return r;
  }
  return 0;
}

static int compile_all(struct hf_compiler *c) {
  uint32_t resources = 0;
  int r = 0;
  for (uint32_t i = 0; i < c->schema->subs.count && r == 0; i++) {
    r = compile_sub(c, i);
    while (r == 0 && c->dynamic && i + 1 == c->schema->subs.count && resources < c->used.count)
      r = queue_dynamic_anchors(c, c->used.at[resources++]);
  }
  return r;
}

/* Writes down which dynamic anchors each resource has. */
static int list_dynamic_anchors(struct hf_compiler *c) {
  for (uint32_t i = 0; i < c->used.count; i++) {
    const struct hf_resource *resource = c->used.at[i];
    struct hf_scope scope = {.first_dynamic = c->schema->dynamics.count};
    for (const struct hf_anchor *anchor = c->dynamic ? resource->dynamics : NULL; anchor; anchor = anchor->next) {
      struct hf_dynamic dynamic = {.sub = resource->source->subs[anchor->node] - 1};
      int r = anchor_id(c, anchor->name, &dynamic.name);
      if (r < 0)
        return r;
      if (!hf_vec_push(&c->schema->dynamics, dynamic))
        return out_of_memory(c);
      scope.dynamic_count++;
    }
    if (!hf_vec_push(&c->schema->scopes, scope))
      return out_of_memory(c);
  }
  return check_size(c);
}

static int compile_text(struct hf_compiler *c, struct hf_str text) {
  struct hf_resource *root = NULL;
  int r = hf_resources_load(&c->resources, HF_STR(""), text, true, &root);
  if (r < 0)
    return r;
  c->resources.draft = root->draft;
  uint32_t sub;
  r = queue(c, root->source, 0, &sub);
  if (r == 0)
    r = compile_all(c);
  return r < 0 ? r : list_dynamic_anchors(c);
}

int hf_schema_compile(struct hf_str text, const struct hf_schema_options *options, struct hf_schema **ret_schema,
                      struct hf_error *reterr) {
  struct hf_schema *schema = hf_calloc(1, sizeof *schema);
  if (!schema)
    return hf_error_set(reterr, HF_ERR_NOMEM, "out of memory");
  hf_arena_init(&schema->arena, options->max_bytes * 2);
  hf_member_names_init(&schema->names);
  struct hf_compiler c = {.schema = schema, .options = options, .reterr = reterr};
  hf_resources_init(&c.resources, schema, options, reterr);
  hf_map_init(&c.anchor_ids, HF_SCHEMA_NODES_MAX);
  int r = compile_text(&c, text);
  hf_map_deinit(&c.anchor_ids);
  hf_free(c.used.at);
  hf_resources_deinit(&c.resources);
  if (r < 0) {
    hf_schema_free(schema);
    return r;
  }
  *ret_schema = schema;
  return 0;
}
