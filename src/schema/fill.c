#include "schema/fill.h"

#include "json/value.h"

#include <stdbool.h>
#include <stdint.h>

enum { FILL_NODES_MAX = 1 << 18, FILL_TREE_DEPTH = 2 * HF_SCHEMA_FILL_DEPTH + 4 };

/* Where a schema stands. */
enum place {
  PLACE_TOP,    /* arguments: always an object */
  PLACE_VALUE,  /* of a property, an element, or something that is referred to: every value has a type */
  PLACE_BRANCH, /* one of several that hold for one value: it need not say a type */
};

/* What the members of a schema hold. */
enum holds { HOLDS_SCHEMA, HOLDS_MAP, HOLDS_BRANCHES, HOLDS_ITEMS };

static const struct {
  struct hf_str key;
  enum holds holds;
} children[] = {
    {HF_STR("properties"), HOLDS_MAP},
    {HF_STR("patternProperties"), HOLDS_MAP},
    {HF_STR("$defs"), HOLDS_MAP},
    {HF_STR("definitions"), HOLDS_MAP},
    {HF_STR("additionalProperties"), HOLDS_SCHEMA},
    {HF_STR("items"), HOLDS_ITEMS},
    {HF_STR("prefixItems"), HOLDS_ITEMS},
    {HF_STR("anyOf"), HOLDS_BRANCHES},
    {HF_STR("oneOf"), HOLDS_BRANCHES},
    {HF_STR("allOf"), HOLDS_BRANCHES},
};

/* A keyword that tells the type of what it is about; NULL: that the type is told elsewhere, or not at all. */
static const struct {
  struct hf_str key;
  const char *type;
} signs[] = {
    {HF_STR("$ref"), NULL},
    {HF_STR("$dynamicRef"), NULL},
    {HF_STR("anyOf"), NULL},
    {HF_STR("oneOf"), NULL},
    {HF_STR("allOf"), NULL},
    {HF_STR("not"), NULL},
    {HF_STR("if"), NULL},
    {HF_STR("properties"), "object"},
    {HF_STR("patternProperties"), "object"},
    {HF_STR("additionalProperties"), "object"},
    {HF_STR("required"), "object"},
    {HF_STR("propertyNames"), "object"},
    {HF_STR("minProperties"), "object"},
    {HF_STR("maxProperties"), "object"},
    {HF_STR("items"), "array"},
    {HF_STR("prefixItems"), "array"},
    {HF_STR("contains"), "array"},
    {HF_STR("minItems"), "array"},
    {HF_STR("maxItems"), "array"},
    {HF_STR("uniqueItems"), "array"},
    {HF_STR("pattern"), "string"},
    {HF_STR("format"), "string"},
    {HF_STR("minLength"), "string"},
    {HF_STR("maxLength"), "string"},
    {HF_STR("multipleOf"), "number"},
    {HF_STR("minimum"), "number"},
    {HF_STR("maximum"), "number"},
    {HF_STR("exclusiveMinimum"), "number"},
    {HF_STR("exclusiveMaximum"), "number"},
};

struct fill {
  const struct hf_json_doc *doc;
  struct hf_str text; /* the whole schema */
  struct hf_buf *out;
  size_t done; /* bytes of `text` that were copied */
};

/* What occurs twice is there, and says nothing. */
static bool has(const struct hf_json_doc *doc, uint32_t schema, struct hf_str key, uint32_t *ret_node) {
  *ret_node = HF_JSON_NONE;
  return hf_json_member(doc, schema, key, ret_node) != HF_ERR_NOTFOUND;
}

static const char *type_of_value(const struct hf_json_doc *doc, uint32_t node) {
  switch (hf_json_type(doc, node)) {
  case HF_JSON_OBJECT:
    return "object";
  case HF_JSON_ARRAY:
    return "array";
  case HF_JSON_STRING:
    return "string";
  case HF_JSON_NUMBER:
    return "number";
  case HF_JSON_TRUE:
  case HF_JSON_FALSE:
    return "boolean";
  case HF_JSON_NULL:
    break;
  }
  return NULL;
}

/* The type of all values of an enum, if they have one. */
static const char *type_of_enum(const struct hf_json_doc *doc, uint32_t list) {
  struct hf_json_iter iter = hf_json_iter(doc, list);
  const char *type = NULL;
  uint32_t node;
  while (!iter.object && hf_json_next(doc, &iter, NULL, &node)) {
    const char *its = type_of_value(doc, node);
    if (!its || (type && !hf_str_equal(hf_str_from(its), hf_str_from(type))))
      return NULL;
    type = its;
  }
  return type;
}

/* NULL: none is to be added. */
static const char *missing_type(const struct hf_json_doc *doc, uint32_t schema, enum place place) {
  uint32_t node;
  if (has(doc, schema, HF_STR("type"), &node))
    return NULL;
  if (place == PLACE_TOP)
    return "object";
  if (has(doc, schema, HF_STR("enum"), &node) && hf_json_type(doc, node) == HF_JSON_ARRAY)
    return type_of_enum(doc, node);
  if (has(doc, schema, HF_STR("const"), &node))
    return type_of_value(doc, node);
  for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
    if (has(doc, schema, signs[i].key, &node))
      return signs[i].type;
  if (has(doc, schema, HF_STR("default"), &node) && type_of_value(doc, node))
    return type_of_value(doc, node);
  return place == PLACE_VALUE ? "string" : NULL;
}

/* Is this the type, or one of them? */
static bool is_typed(const struct hf_json_doc *doc, uint32_t schema, const char *added, struct hf_str type) {
  uint32_t node, each;
  if (added)
    return hf_str_equal(hf_str_from(added), type);
  if (!has(doc, schema, HF_STR("type"), &node))
    return false;
  if (hf_json_type(doc, node) == HF_JSON_STRING)
    return hf_json_string_is(doc, node, type);
  struct hf_json_iter iter = hf_json_iter(doc, node);
  while (hf_json_type(doc, node) == HF_JSON_ARRAY && hf_json_next(doc, &iter, NULL, &each))
    if (hf_json_type(doc, each) == HF_JSON_STRING && hf_json_string_is(doc, each, type))
      return true;
  return false;
}

static int copy_until(struct fill *fill, size_t end) {
  int r = hf_buf_append(fill->out, fill->text.ptr + fill->done, end - fill->done);
  if (r == 0)
    fill->done = end;
  return r;
}

static size_t end_of(const struct fill *fill, uint32_t node) {
  const struct hf_str span = hf_json_span(fill->doc, node);
  return (size_t)(span.ptr - fill->text.ptr) + span.len;
}

/* Before the brace that ends it; `comma` tells whether anything stands before. */
static int add_member(struct fill *fill, bool *comma, struct hf_str member) {
  int r = *comma ? hf_buf_append_str(fill->out, HF_STR(",")) : 0;
  *comma = true;
  return r == 0 ? hf_buf_append_str(fill->out, member) : r;
}

static int add_missing(struct fill *fill, uint32_t schema, enum place place) {
  const struct hf_json_doc *doc = fill->doc;
  const char *type = missing_type(doc, schema, place);
  uint32_t node, key;
  struct hf_json_iter iter = hf_json_iter(doc, schema);
  bool comma = hf_json_next(doc, &iter, &key, &node);
  int r = copy_until(fill, end_of(fill, schema) - 1);
  if (r == 0 && type) {
    r = add_member(fill, &comma, HF_STR("\"type\":\""));
    if (r == 0)
      r = hf_buf_append_str(fill->out, hf_str_from(type));
    if (r == 0)
      r = hf_buf_append_str(fill->out, HF_STR("\""));
  }
  if (r == 0 && is_typed(doc, schema, type, HF_STR("object")) && !has(doc, schema, HF_STR("properties"), &node))
    r = add_member(fill, &comma, HF_STR("\"properties\":{}"));
  if (r == 0 && is_typed(doc, schema, type, HF_STR("array")) && !has(doc, schema, HF_STR("items"), &node))
    r = add_member(fill, &comma, HF_STR("\"items\":{\"type\":\"string\"}"));
  return r;
}

static int visit(struct fill *fill, uint32_t schema, enum place place, unsigned depth);

static int visit_each(struct fill *fill, uint32_t node, enum place place, unsigned depth) {
  struct hf_json_iter iter = hf_json_iter(fill->doc, node);
  uint32_t key, each;
  int r = 0;
  while (r == 0 && hf_json_next(fill->doc, &iter, iter.object ? &key : NULL, &each))
    r = visit(fill, each, place, depth);
  return r;
}

static int visit_child(struct fill *fill, uint32_t key, uint32_t node, unsigned depth) {
  const enum hf_json_type type = hf_json_type(fill->doc, node);
  for (size_t i = 0; i < sizeof children / sizeof children[0]; i++) {
    if (!hf_json_string_is(fill->doc, key, children[i].key))
      continue;
    switch (children[i].holds) {
    case HOLDS_MAP:
      return type == HF_JSON_OBJECT ? visit_each(fill, node, PLACE_VALUE, depth) : 0;
    case HOLDS_BRANCHES:
      return type == HF_JSON_ARRAY ? visit_each(fill, node, PLACE_BRANCH, depth) : 0;
    case HOLDS_ITEMS:
      return type == HF_JSON_ARRAY ? visit_each(fill, node, PLACE_VALUE, depth) : visit(fill, node, PLACE_VALUE, depth);
    case HOLDS_SCHEMA:
      return visit(fill, node, PLACE_VALUE, depth);
    }
  }
  return 0;
}

/* In the order of the text, so that it is copied once, with what is missing put in on the way. */
static int visit(struct fill *fill, uint32_t schema, enum place place, unsigned depth) {
  if (hf_json_type(fill->doc, schema) != HF_JSON_OBJECT || depth == HF_SCHEMA_FILL_DEPTH)
    return 0;
  struct hf_json_iter iter = hf_json_iter(fill->doc, schema);
  uint32_t key, node;
  int r = 0;
  while (r == 0 && hf_json_next(fill->doc, &iter, &key, &node))
    r = visit_child(fill, key, node, depth + 1);
  return r == 0 ? add_missing(fill, schema, place) : r;
}

int hf_schema_fill(struct hf_str schema, struct hf_buf *out) {
  if (!schema.ptr || schema.len == 0 || schema.ptr[0] != '{')
    return hf_buf_append_str(out, HF_STR("{\"type\":\"object\",\"properties\":{}}"));
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.tree_depth = FILL_TREE_DEPTH;
  options.max_nodes = FILL_NODES_MAX;
  options.max_bytes = HF_SCHEMA_FILL_BYTES;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  int r = hf_json_scan_feed(&scan, schema.ptr, schema.len, true);
  if (r == 0) {
    const struct hf_json_doc doc = hf_json_doc(schema.ptr, &scan);
    struct fill fill = {.doc = &doc, .text = schema, .out = out};
    r = visit(&fill, 0, PLACE_TOP, 0);
    if (r == 0)
      r = copy_until(&fill, schema.len);
  }
  hf_json_scan_deinit(&scan);
  return r;
}
