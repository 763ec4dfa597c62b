#include "gateway/catalog/param_header.h"

#include "mcp/field_value.h"
#include "json/value.h"

#include <stdio.h>

enum { SCHEMA_NODES_MAX = 1 << 18, SCHEMA_DEPTH_MAX = 64, ARGUMENT_NODES_MAX = 1 << 18, VALUE_MAX = 8192 };

/* The largest integers that a JavaScript server reads without loss. */
static const int64_t SAFE_INTEGER = (INT64_C(1) << 53) - 1;

struct reading {
  const struct hf_json_doc *doc;
  struct hf_arena *arena;
  struct hf_param_headers *headers;
  struct hf_error *reterr;
  struct hf_str path[HF_PARAM_PATH_MAX];
};

static bool is_primitive(const struct reading *r, uint32_t schema) {
  uint32_t type;
  if (hf_json_member(r->doc, schema, HF_STR("type"), &type) < 0)
    return false;
  return hf_json_string_is(r->doc, type, HF_STR("string")) || hf_json_string_is(r->doc, type, HF_STR("integer")) ||
         hf_json_string_is(r->doc, type, HF_STR("boolean"));
}

static int add_header(struct reading *r, uint32_t schema, uint32_t annotation, size_t depth) {
  struct hf_str suffix;
  if (hf_json_string(r->doc, annotation, r->arena, &suffix) < 0 || !hf_field_name_valid(suffix))
    return hf_error_set(r->reterr, HF_ERR_INVALID, "an x-mcp-header is no header name");
  if (!is_primitive(r, schema))
    return hf_error_set(r->reterr, HF_ERR_INVALID,
                        "x-mcp-header '%.*s' is on a parameter that is no string, integer "
                        "or boolean",
                        HF_STR_FMT(suffix));
  struct hf_param_headers *headers = r->headers;
  if (headers->count == HF_PARAM_HEADERS_MAX)
    return hf_error_set(r->reterr, HF_ERR_LIMIT, "more than %d x-mcp-header parameters", HF_PARAM_HEADERS_MAX);
  struct hf_str name = hf_arena_printf(r->arena, "Mcp-Param-%.*s", HF_STR_FMT(suffix));
  if (!name.ptr)
    return HF_ERR_NOMEM;
  for (size_t i = 0; i < headers->count; i++)
    if (hf_str_equal_nocase(headers->item[i].name, name))
      return hf_error_set(r->reterr, HF_ERR_INVALID, "x-mcp-header '%.*s' is there twice", HF_STR_FMT(suffix));
  struct hf_param_header *header = &headers->item[headers->count++];
  header->name = name;
  header->depth = depth;
  memcpy(header->path, r->path, sizeof header->path);
  return 0;
}

static int visit(struct reading *r, uint32_t node, size_t depth, bool reachable, unsigned nesting);

static int visit_properties(struct reading *r, uint32_t properties, size_t depth, bool reachable, unsigned nesting) {
  if (hf_json_type(r->doc, properties) != HF_JSON_OBJECT)
    return visit(r, properties, depth, false, nesting + 1); /* no schema that means anything */
  struct hf_json_iter iter = hf_json_iter(r->doc, properties);
  uint32_t key, value;
  int result = 0;
  while (result == 0 && hf_json_next(r->doc, &iter, &key, &value)) {
    bool fits = reachable && depth < HF_PARAM_PATH_MAX;
    if (fits && hf_json_string(r->doc, key, r->arena, &r->path[depth]) < 0)
      return HF_ERR_NOMEM;
    result = visit(r, value, depth + 1, fits, nesting + 1);
  }
  return result;
}

/* What an instance may hold is no schema, whatever it looks like. */
static bool is_data(const struct hf_json_doc *doc, uint32_t key) {
  static const struct hf_str data[] = {HF_STR("const"), HF_STR("enum"), HF_STR("default"), HF_STR("examples")};
  for (size_t i = 0; i < sizeof data / sizeof data[0]; i++)
    if (hf_json_string_is(doc, key, data[i]))
      return true;
  return false;
}

/* `reachable`: by a chain of `properties` alone, `depth` names long. */
static int visit(struct reading *r, uint32_t node, size_t depth, bool reachable, unsigned nesting) {
  if (nesting > SCHEMA_DEPTH_MAX || hf_json_type(r->doc, node) < HF_JSON_ARRAY)
    return 0;
  bool object = hf_json_type(r->doc, node) == HF_JSON_OBJECT;
  struct hf_json_iter iter = hf_json_iter(r->doc, node);
  uint32_t key, value;
  int result = 0;
  while (result == 0 && hf_json_next(r->doc, &iter, &key, &value)) {
    if (object && hf_json_string_is(r->doc, key, HF_STR("x-mcp-header"))) {
      if (!reachable || depth == 0)
        return hf_error_set(r->reterr, HF_ERR_INVALID, "an x-mcp-header stands where no plain parameter is");
      result = add_header(r, node, value, depth);
    } else if (object && hf_json_string_is(r->doc, key, HF_STR("properties"))) {
      result = visit_properties(r, value, depth, reachable, nesting);
    } else if (!object || !is_data(r->doc, key)) {
      result = visit(r, value, depth, false, nesting + 1);
    }
  }
  return result;
}

int hf_param_headers_read(struct hf_str tool, struct hf_arena *arena, struct hf_param_headers *ret_headers,
                          struct hf_error *reterr) {
  *ret_headers = (struct hf_param_headers){0};
  if (!memmem(tool.ptr, tool.len, "x-mcp-header", sizeof "x-mcp-header" - 1))
    return 0;
  struct hf_param_headers headers = {.item =
                                         hf_arena_alloc(arena, HF_PARAM_HEADERS_MAX * sizeof(struct hf_param_header))};
  if (!headers.item)
    return HF_ERR_NOMEM;
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.max_nodes = SCHEMA_NODES_MAX;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  int r = hf_json_scan_feed(&scan, tool.ptr, tool.len, true);
  struct hf_json_doc doc = hf_json_doc(tool.ptr, &scan);
  uint32_t schema;
  if (r == 0 && hf_json_member(&doc, 0, HF_STR("inputSchema"), &schema) == 0) {
    struct reading reading = {&doc, arena, &headers, reterr, {{NULL, 0}}};
    r = visit(&reading, schema, 0, true, 0);
  }
  hf_json_scan_deinit(&scan);
  if (r == 0)
    *ret_headers = headers;
  return r;
}

/* The value at the header's path. Returns 0 or HF_ERR_NOTFOUND. */
static int find_value(const struct hf_json_doc *doc, const struct hf_param_header *header, uint32_t *ret_node) {
  uint32_t node = 0;
  for (size_t i = 0; i < header->depth; i++)
    if (hf_json_member(doc, node, header->path[i], &node) < 0)
      return HF_ERR_NOTFOUND;
  *ret_node = node;
  return 0;
}

/* A value as text. Returns 0, HF_ERR_NOTFOUND for null, HF_ERR_INVALID if it is nothing a header can carry,
 * HF_ERR_NOMEM. */
static int value_text(const struct hf_json_doc *doc, uint32_t node, struct hf_arena *arena, struct hf_str *ret_text) {
  int64_t number;
  switch (hf_json_type(doc, node)) {
  case HF_JSON_NULL:
    return HF_ERR_NOTFOUND;
  case HF_JSON_STRING:
    return hf_json_string(doc, node, arena, ret_text);
  case HF_JSON_TRUE:
  case HF_JSON_FALSE:
    *ret_text = hf_json_span(doc, node);
    return 0;
  case HF_JSON_NUMBER:
    if (hf_json_int64(hf_json_span(doc, node), &number) < 0 || number > SAFE_INTEGER || number < -SAFE_INTEGER)
      return HF_ERR_INVALID;
    *ret_text = hf_arena_printf(arena, "%lld", (long long)number);
    return ret_text->ptr ? 0 : HF_ERR_NOMEM;
  case HF_JSON_ARRAY:
  case HF_JSON_OBJECT:
    break;
  }
  return HF_ERR_INVALID;
}

static int scan_arguments(struct hf_str arguments, struct hf_json_scan *scan) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.max_nodes = ARGUMENT_NODES_MAX;
  options.tree_depth = HF_PARAM_PATH_MAX;
  hf_json_scan_init(scan, &options);
  struct hf_str text = arguments.ptr ? arguments : HF_STR("{}");
  return hf_json_scan_feed(scan, text.ptr, text.len, true);
}

int hf_param_headers_compute(const struct hf_param_headers *headers, struct hf_str arguments, struct hf_arena *arena,
                             struct hf_header *ret_header) {
  if (headers->count == 0)
    return 0;
  struct hf_json_scan scan;
  int r = scan_arguments(arguments, &scan);
  struct hf_json_doc doc = hf_json_doc(arguments.ptr ? arguments.ptr : "{}", &scan);
  int count = 0;
  for (size_t i = 0; r == 0 && i < headers->count; i++) {
    struct hf_str text = {NULL, 0};
    uint32_t node;
    int found = find_value(&doc, &headers->item[i], &node);
    if (found == 0)
      found = value_text(&doc, node, arena, &text);
    if (found == HF_ERR_NOMEM)
      r = found;
    if (found < 0)
      continue;
    struct hf_buf encoded;
    hf_buf_init(&encoded, VALUE_MAX);
    /* A value too long for a header is left to the server to object to. */
    if (hf_field_value_encode(&encoded, text) == 0)
      ret_header[count++] = (struct hf_header){headers->item[i].name, hf_arena_copy(arena, hf_buf_str(&encoded))};
    hf_buf_deinit(&encoded);
    if (count && !ret_header[count - 1].value.ptr)
      r = HF_ERR_NOMEM;
  }
  hf_json_scan_deinit(&scan);
  return r < 0 ? r : count;
}

bool hf_param_headers_know(const struct hf_param_headers *headers, struct hf_str name) {
  for (size_t i = 0; i < headers->count; i++)
    if (hf_str_equal_nocase(headers->item[i].name, name))
      return true;
  return false;
}

static const struct hf_header *find(const struct hf_header *came, size_t count, struct hf_str name) {
  for (size_t i = 0; i < count; i++)
    if (hf_str_equal_nocase(came[i].name, name))
      return &came[i];
  return NULL;
}

/* Numbers are compared as numbers: `42.0` is 42. */
static bool same_number(struct hf_str header, struct hf_str expected) {
  int64_t a, b;
  return hf_json_int64(header, &a) == 0 && hf_json_int64(expected, &b) == 0 && a == b;
}

static int check_one(const struct hf_param_header *header, const struct hf_json_doc *doc, const struct hf_header *came,
                     struct hf_arena *arena, struct hf_error *reterr) {
  struct hf_str expected = {NULL, 0};
  uint32_t node;
  int found = find_value(doc, header, &node);
  if (found == 0)
    found = value_text(doc, node, arena, &expected);
  if (found == HF_ERR_NOMEM)
    return found;
  if (found < 0)
    return came ? hf_error_set(reterr, HF_ERR_INVALID, "header mismatch: '%.*s' came without its argument",
                               HF_STR_FMT(header->name))
                : 0;
  if (!came)
    return hf_error_set(reterr, HF_ERR_INVALID, "header mismatch: '%.*s' is missing", HF_STR_FMT(header->name));
  struct hf_buf decoded;
  hf_buf_init(&decoded, VALUE_MAX);
  int r = hf_field_value_decode(&decoded, came->value);
  struct hf_str value = hf_buf_str(&decoded);
  bool number = hf_json_type(doc, node) == HF_JSON_NUMBER;
  bool same = r == 0 && (hf_str_equal(value, expected) || (number && same_number(value, expected)));
  hf_buf_deinit(&decoded);
  return same ? 0
              : hf_error_set(reterr, HF_ERR_INVALID, "header mismatch: '%.*s' differs from its argument",
                             HF_STR_FMT(header->name));
}

int hf_param_headers_check(const struct hf_param_headers *headers, struct hf_str arguments,
                           const struct hf_header *came, size_t came_count, struct hf_arena *arena,
                           struct hf_error *reterr) {
  if (headers->count == 0)
    return 0;
  struct hf_json_scan scan;
  int r = scan_arguments(arguments, &scan);
  struct hf_json_doc doc = hf_json_doc(arguments.ptr ? arguments.ptr : "{}", &scan);
  for (size_t i = 0; r == 0 && i < headers->count; i++)
    r = check_one(&headers->item[i], &doc, find(came, came_count, headers->item[i].name), arena, reterr);
  hf_json_scan_deinit(&scan);
  return r;
}
