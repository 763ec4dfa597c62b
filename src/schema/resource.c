#include "schema/resource.h"

#include "base/alloc.h"
#include "schema/draft.h"
#include "schema/meta.h"
#include "schema/uri.h"
#include "json/pointer.h"

enum { LOADING_MAX = 4, POINTER_SHOWN_MAX = 200 };

void hf_resources_init(struct hf_resources *resources, struct hf_schema *schema,
                       const struct hf_schema_options *options, struct hf_error *reterr) {
  *resources = (struct hf_resources){.schema = schema, .options = options, .reterr = reterr, .draft = HF_DRAFT_2020};
  hf_arena_init(&resources->arena, HF_RESOURCE_MEMORY_MAX);
  hf_map_init(&resources->by_uri, HF_SCHEMA_RESOURCES_MAX);
  hf_map_init(&resources->anchors, HF_SCHEMA_NODES_MAX);
  hf_member_names_init(&resources->names);
  hf_buf_init(&resources->uri, HF_URI_BYTES_MAX);
  hf_buf_init(&resources->key, HF_URI_BYTES_MAX);
}

void hf_resources_deinit(struct hf_resources *resources) {
  for (uint32_t i = 0; i < resources->sources.count; i++) {
    struct hf_source *source = resources->sources.at[i];
    hf_free(source->subs);
    hf_free(source->tables);
    hf_free(source->resources.at);
  }
  hf_free(resources->sources.at);
  hf_free(resources->tables.at);
  hf_member_names_deinit(&resources->names);
  hf_map_deinit(&resources->by_uri);
  hf_map_deinit(&resources->anchors);
  hf_buf_deinit(&resources->uri);
  hf_buf_deinit(&resources->key);
  hf_arena_deinit(&resources->arena);
}

int hf_resources_complain(const struct hf_resources *resources, int code, const struct hf_source *source, uint32_t node,
                          const char *what) {
  if (!resources->reterr)
    return code;
  struct hf_buf pointer;
  hf_buf_init(&pointer, HF_SCHEMA_NESTING_MAX * HF_URI_BYTES_MAX);
  if (hf_json_pointer_of(&source->document->doc, node, &pointer) < 0)
    pointer.len = 0;
  if (pointer.len > POINTER_SHOWN_MAX)
    pointer.len = POINTER_SHOWN_MAX;
  int r = hf_error_set(resources->reterr, code, "'%.*s' %s", HF_STR_FMT(hf_buf_str(&pointer)), what);
  hf_buf_deinit(&pointer);
  return r;
}

static int out_of_memory(const struct hf_resources *resources) {
  (void)hf_error_set(resources->reterr, HF_ERR_NOMEM, "out of memory");
  return HF_ERR_NOMEM;
}

uint32_t hf_source_member(const struct hf_source *source, uint32_t object, const char *name) {
  uint32_t value;
  return hf_json_member(&source->document->doc, object, hf_str_from(name), &value) == 0 ? value : HF_JSON_NONE;
}

/* What a member of a schema is called, if it is a keyword of its draft. */
static enum hf_word word_at(const struct hf_json_doc *doc, uint32_t key, uint8_t draft) {
  struct hf_str raw = hf_json_span(doc, key);
  enum hf_word word = hf_word_find((struct hf_str){raw.ptr + 1, raw.len - 2});
  return word != HF_WORD_NONE && (hf_word_row(word)->drafts & draft) ? word : HF_WORD_NONE;
}

/* What identifies a schema object: nodes, HF_JSON_NONE where absent. */
struct identity {
  uint32_t id, id_4, schema, anchor, dynamic_anchor, recursive_anchor, ref;
};

static struct identity read_identity(const struct hf_json_doc *doc, uint32_t object) {
  struct identity it = {0};
  struct hf_json_iter iter = hf_json_iter(doc, object);
  uint32_t key, value;
  while (hf_json_next(doc, &iter, &key, &value)) {
    struct hf_str raw = hf_json_span(doc, key);
    switch ((int)hf_word_find((struct hf_str){raw.ptr + 1, raw.len - 2})) {
    case HF_WORD_ID:
      it.id = value;
      break;
    case HF_WORD_ID_4:
      it.id_4 = value;
      break;
    case HF_WORD_SCHEMA:
      it.schema = value;
      break;
    case HF_WORD_ANCHOR:
      it.anchor = value;
      break;
    case HF_WORD_DYNAMIC_ANCHOR:
      it.dynamic_anchor = value;
      break;
    case HF_WORD_RECURSIVE_ANCHOR:
      it.recursive_anchor = value;
      break;
    case HF_WORD_REF:
      it.ref = value;
      break;
    default:
      break;
    }
  }
  return it;
}

static int text_of(struct hf_resources *resources, const struct hf_source *source, uint32_t node,
                   struct hf_str *ret_text) {
  int r = hf_json_string(&source->document->doc, node, &resources->arena, ret_text);
  if (r == HF_ERR_INVALID)
    return hf_resources_complain(resources, r, source, node, "must be a string");
  return r < 0 ? out_of_memory(resources) : 0;
}

/* The key of an anchor: its name alone is not unique. */
static int anchor_key(struct hf_resources *resources, const struct hf_resource *resource, struct hf_str name,
                      struct hf_str *ret_key) {
  hf_buf_reset(&resources->key, HF_URI_BYTES_MAX);
  int r = hf_buf_append(&resources->key, &resource, sizeof(const struct hf_resource *));
  if (r == 0)
    r = hf_buf_append_str(&resources->key, name);
  *ret_key = hf_buf_str(&resources->key);
  return r;
}

int hf_resources_anchor(struct hf_resources *resources, const struct hf_resource *resource, struct hf_str name,
                        const struct hf_anchor **ret_anchor) {
  struct hf_str key;
  int r = anchor_key(resources, resource, name, &key);
  if (r < 0)
    return r;
  *ret_anchor = hf_map_get(&resources->anchors, key);
  return *ret_anchor ? 0 : HF_ERR_NOTFOUND;
}

static int add_anchor(struct hf_resources *resources, struct hf_resource *resource, uint32_t node, struct hf_str name,
                      bool dynamic) {
  struct hf_anchor *anchor = hf_arena_alloc(&resources->arena, sizeof *anchor);
  if (!anchor)
    return out_of_memory(resources);
  *anchor = (struct hf_anchor){.name = name, .node = node, .dynamic = dynamic};
  struct hf_str key;
  int r = anchor_key(resources, resource, name, &key);
  if (r == 0)
    r = hf_map_put(&resources->anchors, key, anchor);
  if (r < 0)
    return hf_resources_complain(resources, r, resource->source, node, "has an anchor that is too much");
  if (dynamic) {
    anchor->next = resource->dynamics;
    resource->dynamics = anchor;
  }
  return 0;
}

/* Makes it known by its URI; the first one of a name has it. */
static int name_resource(struct hf_resources *resources, struct hf_resource *resource) {
  if (resource->uri.len == 0 || hf_map_get(&resources->by_uri, resource->uri))
    return 0;
  int r = hf_map_put(&resources->by_uri, resource->uri, resource);
  if (r == HF_ERR_LIMIT)
    return hf_resources_complain(resources, r, resource->source, resource->node, "is one resource too many");
  return r < 0 ? out_of_memory(resources) : 0;
}

static int add_resource(struct hf_resources *resources, struct hf_source *source, struct hf_resource *parent,
                        uint32_t node, struct hf_str uri, struct hf_resource **ret_resource) {
  struct hf_resource *resource = hf_arena_alloc(&resources->arena, sizeof *resource);
  struct hf_str copy = hf_arena_copy(&resources->arena, uri);
  if (!resource || !copy.ptr)
    return out_of_memory(resources);
  *resource = (struct hf_resource){.uri = copy,
                                   .source = source,
                                   .parent = parent,
                                   .node = node,
                                   .draft = parent ? parent->draft : resources->draft,
                                   .vocabularies = parent ? parent->vocabularies : HF_VOCABULARY_STANDARD,
                                   .scope = HF_NONE};
  if (!hf_vec_push(&source->resources, resource))
    return out_of_memory(resources);
  int r = name_resource(resources, resource);
  if (r == 0)
    *ret_resource = resource;
  return r;
}

static int read_vocabularies(struct hf_resources *resources, const struct hf_resource *meta, uint8_t *ret_bits) {
  const struct hf_json_doc *doc = &meta->source->document->doc;
  uint32_t all = hf_source_member(meta->source, meta->node, "$vocabulary");
  if (all == HF_JSON_NONE || hf_json_type(doc, all) != HF_JSON_OBJECT || meta->draft < HF_DRAFT_2019)
    return 0;
  uint8_t bits = 0;
  struct hf_json_iter iter = hf_json_iter(doc, all);
  uint32_t key, value;
  while (hf_json_next(doc, &iter, &key, &value)) {
    const struct hf_str raw = hf_json_span(doc, key);
    int known = hf_draft_vocabulary(meta->draft, (struct hf_str){raw.ptr + 1, raw.len - 2});
    if (known >= 0)
      bits |= (uint8_t)known;
    else if (hf_json_type(doc, value) == HF_JSON_TRUE)
      return hf_resources_complain(resources, HF_ERR_UNSUPPORTED, meta->source, value,
                                   "is a vocabulary that is not known");
  }
  *ret_bits = bits;
  return 0;
}

/* Finds out what `uri`, the value of `$schema`, says. Returns 0; HF_ERR_NOTFOUND (not told) if it is known neither here
 * nor as a resource; HF_ERR_UNSUPPORTED, told, for a vocabulary that is needed and not known; or another error, told.
 */
static int find_draft(struct hf_resources *resources, struct hf_str uri, uint8_t *ret_draft,
                      uint8_t *ret_vocabularies) {
  uint8_t draft = hf_draft_known(uri);
  if (draft) {
    *ret_draft = draft;
    *ret_vocabularies = HF_VOCABULARY_STANDARD;
    return 0;
  }
  struct hf_str name, fragment;
  hf_uri_split(uri, &name, &fragment);
  struct hf_resource *meta;
  int r = hf_resources_find(resources, name, &meta);
  if (r != 0)
    return r;
  uint8_t bits = meta->vocabularies;
  r = read_vocabularies(resources, meta, &bits);
  if (r == 0) {
    *ret_draft = meta->draft;
    *ret_vocabularies = bits;
  }
  return r;
}

/* Reads `$schema` of a resource. Anything that is no draft leaves it as its parent is, except at the root. */
static int read_draft(struct hf_resources *resources, struct hf_resource *resource, uint32_t schema) {
  if (schema == HF_JSON_NONE)
    return 0;
  struct hf_str uri;
  int r = text_of(resources, resource->source, schema, &uri);
  if (r == 0)
    r = find_draft(resources, uri, &resource->draft, &resource->vocabularies);
  if (r == HF_ERR_NOTFOUND)
    return hf_resources_complain(resources, HF_ERR_UNSUPPORTED, resource->source, schema,
                                 "is a dialect that is not known");
  return r;
}

/* The root of a document is called what its `$id` says, too. */
static int rename_root(struct hf_resources *resources, struct hf_resource *root, struct hf_str uri) {
  root->uri = hf_arena_copy(&resources->arena, uri);
  if (!root->uri.ptr)
    return out_of_memory(resources);
  return name_resource(resources, root);
}

/* `$id`: a resource of its own, or up to draft 7 an anchor. `io_resource` is what the node is in. */
static int read_id(struct hf_resources *resources, struct hf_resource **io_resource, uint32_t node,
                   const struct identity *it, uint32_t id) {
  struct hf_resource *resource = *io_resource;
  struct hf_str text, name, fragment;
  int r = text_of(resources, resource->source, id, &text);
  if (r < 0)
    return r;
  hf_uri_split(text, &name, &fragment);
  if (name.len > 0) {
    hf_buf_reset(&resources->uri, HF_URI_BYTES_MAX);
    r = hf_uri_resolve(resource->uri, name, &resources->uri);
    if (r < 0)
      return hf_resources_complain(resources, r, resource->source, id, "is too long for a URI");
    struct hf_str uri = hf_buf_str(&resources->uri);
    if (node == resource->node) {
      r = rename_root(resources, resource, uri);
    } else {
      r = add_resource(resources, resource->source, resource, node, uri, io_resource);
      resource = *io_resource;
      if (r == 0)
        r = read_draft(resources, resource, it->schema);
    }
  }
  if (r == 0 && fragment.len > 0 && resource->draft < HF_DRAFT_2019)
    r = add_anchor(resources, resource, node, fragment, false);
  return r;
}

static int read_anchors(struct hf_resources *resources, struct hf_resource *resource, uint32_t node,
                        const struct identity *it) {
  struct hf_str name;
  int r = 0;
  if (it->anchor && resource->draft >= HF_DRAFT_2019) {
    r = text_of(resources, resource->source, it->anchor, &name);
    if (r == 0)
      r = add_anchor(resources, resource, node, name, false);
  }
  if (r == 0 && it->dynamic_anchor && resource->draft == HF_DRAFT_2020) {
    r = text_of(resources, resource->source, it->dynamic_anchor, &name);
    if (r == 0)
      r = add_anchor(resources, resource, node, name, true);
  }
  if (r == 0 && it->recursive_anchor && resource->draft == HF_DRAFT_2019 && node == resource->node &&
      hf_json_type(&resource->source->document->doc, it->recursive_anchor) == HF_JSON_TRUE)
    r = add_anchor(resources, resource, node, HF_STR(""), true);
  return r;
}

static int identify(struct hf_resources *resources, struct hf_resource *resource, uint32_t node);

static int identify_inside(struct hf_resources *resources, struct hf_resource *resource, uint32_t value,
                           unsigned shape) {
  const struct hf_json_doc *doc = &resource->source->document->doc;
  enum hf_json_type type = hf_json_type(doc, value);
  if ((shape & HF_SHAPE_SCHEMA) && type == HF_JSON_OBJECT)
    return identify(resources, resource, value);
  if (!((shape & HF_SHAPE_ARRAY) && type == HF_JSON_ARRAY) && !((shape & HF_SHAPE_MAP) && type == HF_JSON_OBJECT))
    return 0;
  struct hf_json_iter iter = hf_json_iter(doc, value);
  uint32_t child;
  while (hf_json_next(doc, &iter, NULL, &child)) {
    int r = identify(resources, resource, child);
    if (r < 0)
      return r;
  }
  return 0;
}

/* Registers what the schema at `node` is called, and all within it. */
static int identify(struct hf_resources *resources, struct hf_resource *resource, uint32_t node) {
  const struct hf_json_doc *doc = &resource->source->document->doc;
  if (hf_json_type(doc, node) != HF_JSON_OBJECT)
    return 0;
  struct identity it = read_identity(doc, node);
  uint8_t draft = resource->draft;
  int r = 0;
  if (node == resource->node) {
    r = read_draft(resources, resource, it.schema);
    draft = resource->draft;
  } else if (it.schema && (it.id || it.id_4)) {
    uint8_t ignored;
    struct hf_str uri;
    r = text_of(resources, resource->source, it.schema, &uri);
    if (r == 0)
      r = find_draft(resources, uri, &draft, &ignored);
    r = r == HF_ERR_NOTFOUND ? 0 : r;
  }
  if (r < 0)
    return r;
  uint32_t id = draft == HF_DRAFT_4 ? it.id_4 : it.id;
  if (id && hf_json_type(doc, id) == HF_JSON_STRING && !(it.ref && draft < HF_DRAFT_2019))
    r = read_id(resources, &resource, node, &it, id);
  if (r == 0)
    r = read_anchors(resources, resource, node, &it);

  struct hf_json_iter iter = hf_json_iter(doc, node);
  uint32_t key, value;
  while (r == 0 && hf_json_next(doc, &iter, &key, &value)) {
    enum hf_word word = word_at(doc, key, resource->draft);
    if (word != HF_WORD_NONE && hf_word_row(word)->shape != HF_SHAPE_PLAIN)
      r = identify_inside(resources, resource, value, hf_word_row(word)->shape);
  }
  return r;
}

static void free_document(struct hf_document *document) {
  hf_json_scan_deinit(&document->scan);
  hf_free(document->text);
  hf_free(document);
}

/* Scans a text; the document belongs to the schema from then on. */
static int read_document(struct hf_resources *resources, struct hf_str text, bool owned,
                         struct hf_document **ret_document) {
  if (resources->schema->docs.count == UINT16_MAX)
    return hf_error_set(resources->reterr, HF_ERR_LIMIT, "too many documents");
  if (text.len > resources->options->max_bytes)
    return hf_error_set(resources->reterr, HF_ERR_LIMIT, "a schema of more than %zu bytes",
                        resources->options->max_bytes);
  struct hf_document *document = hf_calloc(1, sizeof *document);
  if (!document)
    return out_of_memory(resources);
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.max_depth = HF_SCHEMA_NESTING_MAX;
  options.max_nodes = resources->options->max_nodes * 4;
  hf_json_scan_init(&document->scan, &options);
  document->text = owned ? hf_strndup(text.ptr, text.len) : NULL;
  const char *base = owned ? document->text : text.ptr;
  int r = base ? hf_json_scan_feed(&document->scan, base, text.len, true) : HF_ERR_NOMEM;
  if (r < 0 && r != HF_ERR_NOMEM)
    r = hf_json_scan_error(&document->scan, resources->reterr);
  else if (r < 0 || !hf_vec_push(&resources->schema->docs, document))
    r = out_of_memory(resources);
  if (r < 0) {
    free_document(document);
    return r;
  }
  document->doc = hf_json_doc(base, &document->scan);
  *ret_document = document;
  return 0;
}

static struct hf_source *add_source(struct hf_resources *resources, struct hf_document *document) {
  struct hf_source *source = hf_arena_alloc(&resources->arena, sizeof *source);
  if (!source || !hf_vec_push(&resources->sources, source))
    return NULL;
  source->document = document;
  source->index = resources->schema->docs.count - 1;
  source->subs = hf_calloc(document->doc.count, sizeof *source->subs);
  return source->subs ? source : NULL;
}

int hf_resources_load(struct hf_resources *resources, struct hf_str uri, struct hf_str text, bool owned,
                      struct hf_resource **ret_root) {
  struct hf_document *document = NULL;
  int r = read_document(resources, text, owned, &document);
  if (r < 0 && uri.len > 0)
    (void)hf_error_wrap(resources->reterr, "resource '%.*s'", HF_STR_FMT(uri));
  struct hf_source *source = document ? add_source(resources, document) : NULL;
  if (!source)
    return r < 0 ? r : out_of_memory(resources);
  struct hf_resource *root = NULL;
  r = add_resource(resources, source, NULL, 0, uri, &root);
  if (!root)
    return r;
  resources->loading++;
  r = identify(resources, root, 0);
  resources->loading--;
  if (r == 0)
    *ret_root = root;
  return r;
}

int hf_resources_find(struct hf_resources *resources, struct hf_str uri, struct hf_resource **ret_resource) {
  struct hf_resource *found = hf_map_get(&resources->by_uri, uri);
  if (found) {
    *ret_resource = found;
    return 0;
  }
  if (resources->loading > LOADING_MAX)
    return HF_ERR_NOTFOUND;
  struct hf_str text = hf_meta_find(uri);
  bool owned = !text.ptr;
  for (size_t i = 0; i < resources->options->resource_count && !text.ptr; i++) {
    struct hf_str name, fragment;
    hf_uri_split(resources->options->resources[i].uri, &name, &fragment);
    if (hf_str_equal(name, uri))
      text = resources->options->resources[i].text;
  }
  if (!text.ptr)
    return HF_ERR_NOTFOUND;
  struct hf_str name = hf_arena_copy(&resources->arena, uri);
  return name.ptr ? hf_resources_load(resources, name, text, owned, ret_resource) : out_of_memory(resources);
}

struct hf_resource *hf_source_resource(const struct hf_source *source, uint32_t node) {
  uint32_t low = 0, high = source->resources.count;
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (source->resources.at[middle]->node <= node)
      low = middle;
    else
      high = middle;
  }
  struct hf_resource *resource = source->resources.at[low];
  while (resource->parent && node >= source->document->doc.nodes[resource->node].next)
    resource = resource->parent;
  return resource;
}
