#include "gateway/correct/example.h"

#include "json/pointer.h"
#include "json/write.h"

enum {
  DEPTH_MAX = 12,
  VIEWS_MAX = 16,
  STEPS_MAX = 2000,
  BRANCHES_TRIED = 4,
  ITEMS_MAX = 3,
  PADDED_MAX = 64,
};

struct maker {
  const struct hf_json_doc *doc;
  struct hf_json_writer w;
  uint32_t branch; /* which of an anyOf or oneOf is shown */
  unsigned steps;
  bool lost; /* it takes too long, or goes too deep */
};

/* The schemas that hold for one value: what it says itself, refers to, and is part of. */
struct views {
  uint32_t node[VIEWS_MAX];
  unsigned count;
};

static bool has(const struct maker *m, uint32_t schema, struct hf_str name, uint32_t *ret_node) {
  return hf_json_member(m->doc, schema, name, ret_node) == 0;
}

/* A reference into the document itself, by pointer. */
static bool follow(const struct maker *m, uint32_t ref, uint32_t *ret_node) {
  struct hf_str raw = hf_json_span(m->doc, ref);
  if (hf_json_type(m->doc, ref) != HF_JSON_STRING || raw.len < 3 || raw.ptr[1] != '#')
    return false;
  return hf_json_pointer_walk(m->doc, (struct hf_str){raw.ptr + 2, raw.len - 3}, ret_node) == 0;
}

static void look_through(struct maker *m, uint32_t schema, unsigned depth, struct views *views);

/* All of a list of schemas, or the one of them that is shown. */
static void look_through_list(struct maker *m, uint32_t list, bool all, unsigned depth, struct views *views) {
  uint32_t item, count = m->doc->nodes[list].count;
  if (hf_json_type(m->doc, list) != HF_JSON_ARRAY || count == 0)
    return;
  uint32_t wanted = m->branch < count ? m->branch : count - 1;
  struct hf_json_iter iter = hf_json_iter(m->doc, list);
  for (uint32_t i = 0; hf_json_next(m->doc, &iter, NULL, &item); i++)
    if (all || i == wanted)
      look_through(m, item, depth, views);
}

static void look_through(struct maker *m, uint32_t schema, unsigned depth, struct views *views) {
  uint32_t node;
  if (++m->steps > STEPS_MAX || depth == 0 || views->count == VIEWS_MAX) {
    m->lost = true;
    return;
  }
  if (hf_json_type(m->doc, schema) != HF_JSON_OBJECT)
    return;
  views->node[views->count++] = schema;
  if (has(m, schema, HF_STR("$ref"), &node) && follow(m, node, &node))
    look_through(m, node, depth - 1, views);
  if (has(m, schema, HF_STR("allOf"), &node))
    look_through_list(m, node, true, depth - 1, views);
  if (has(m, schema, HF_STR("anyOf"), &node))
    look_through_list(m, node, false, depth - 1, views);
  if (has(m, schema, HF_STR("oneOf"), &node))
    look_through_list(m, node, false, depth - 1, views);
}

/* The first of the views that says it. */
static bool says(const struct maker *m, const struct views *views, const char *name, uint32_t *ret_node) {
  for (unsigned i = 0; i < views->count; i++)
    if (has(m, views->node[i], hf_str_from(name), ret_node))
      return true;
  return false;
}

static bool says_int(const struct maker *m, const struct views *views, const char *name, int64_t *ret_value) {
  uint32_t node;
  return says(m, views, name, &node) && hf_json_int64(hf_json_span(m->doc, node), ret_value) == 0;
}

static bool first_of(const struct maker *m, const struct views *views, const char *name, uint32_t *ret_node) {
  uint32_t list;
  if (!says(m, views, name, &list) || hf_json_type(m->doc, list) != HF_JSON_ARRAY)
    return false;
  struct hf_json_iter iter = hf_json_iter(m->doc, list);
  return hf_json_next(m->doc, &iter, NULL, ret_node);
}

static bool write_given(struct maker *m, const struct views *views) {
  uint32_t node;
  if (!says(m, views, "const", &node) && !first_of(m, views, "examples", &node) && !says(m, views, "default", &node) &&
      !first_of(m, views, "enum", &node))
    return false;
  hf_json_write_raw(&m->w, hf_json_span(m->doc, node));
  return true;
}

static void write_value(struct maker *m, uint32_t schema, unsigned depth, unsigned salt);

static const struct {
  const char *format;
  const char *text;
} formats[] = {
    {"date-time", "2030-01-31T12:00:00Z"},
    {"date", "2030-01-31"},
    {"time", "12:00:00Z"},
    {"email", "name@example.com"},
    {"ipv4", "192.0.2.1"},
    {"uuid", "3fa85f64-5717-4562-b3fc-2c963f66afa6"},
    {"uri", "https://example.com/"},
    {"url", "https://example.com/"},
    {"hostname", "example.com"},
    {"ipv6", "2001:db8::1"},
};

static void write_string(struct maker *m, const struct views *views, unsigned salt) {
  uint32_t format;
  int64_t least = 0, most = PADDED_MAX;
  for (size_t i = 0; salt == 0 && says(m, views, "format", &format) && i < sizeof formats / sizeof formats[0]; i++) {
    if (hf_json_type(m->doc, format) == HF_JSON_STRING &&
        hf_json_string_is(m->doc, format, hf_str_from(formats[i].format))) {
      hf_json_write_str(&m->w, hf_str_from(formats[i].text));
      return;
    }
  }
  char text[PADDED_MAX];
  memset(text, '.', sizeof text);
  size_t len = 3 + salt;
  (void)says_int(m, views, "minLength", &least);
  (void)says_int(m, views, "maxLength", &most);
  if (least > (int64_t)len && least <= PADDED_MAX)
    len = (size_t)least;
  if (most >= 0 && most < (int64_t)len)
    len = (size_t)most;
  hf_json_write_str(&m->w, (struct hf_str){text, len});
}

/* Whole numbers only: what a bound with a fraction asks for is left to the check. */
static void write_number(struct maker *m, const struct views *views, unsigned salt) {
  int64_t value = 1, bound;
  if (says_int(m, views, "exclusiveMinimum", &bound) && bound < INT64_MAX)
    value = bound + 1;
  else if (says_int(m, views, "exclusiveMaximum", &bound) && bound <= value && bound > INT64_MIN)
    value = bound - 1;
  else if (says_int(m, views, "minimum", &bound) || (says_int(m, views, "maximum", &bound) && bound < value) ||
           says_int(m, views, "multipleOf", &bound))
    value = bound;
  hf_json_write_int(&m->w, value < INT64_MAX - salt ? value + salt : value);
}

static void write_array(struct maker *m, const struct views *views, unsigned depth) {
  uint32_t prefix, items, item;
  int64_t least = 1, most = ITEMS_MAX;
  bool has_items = says(m, views, "items", &items);
  struct hf_json_iter iter = {0};
  if (says(m, views, "prefixItems", &prefix) ||
      (has_items && hf_json_type(m->doc, items) == HF_JSON_ARRAY && (prefix = items)))
    iter = hf_json_iter(m->doc, prefix);
  has_items = has_items && hf_json_type(m->doc, items) == HF_JSON_OBJECT;
  (void)says_int(m, views, "minItems", &least);
  (void)says_int(m, views, "maxItems", &most);
  least = least < 1 ? 1 : least;
  least = most < least ? most : least;
  hf_json_write_array(&m->w);
  for (int64_t i = 0; i < least && i < ITEMS_MAX && !m->lost; i++) {
    if (hf_json_next(m->doc, &iter, NULL, &item))
      write_value(m, item, depth, 0);
    else if (has_items)
      write_value(m, items, depth, (unsigned)i);
    else
      hf_json_write_str(&m->w, HF_STR("..."));
  }
  hf_json_write_array_end(&m->w);
}

/* What a member's name, raw, is to hold; HF_JSON_NONE if nobody says. */
static uint32_t property(const struct maker *m, const struct views *views, struct hf_str name) {
  uint32_t properties, node;
  for (unsigned i = 0; i < views->count; i++)
    if (has(m, views->node[i], HF_STR("properties"), &properties) && has(m, properties, name, &node))
      return node;
  for (unsigned i = 0; i < views->count; i++)
    if (has(m, views->node[i], HF_STR("additionalProperties"), &node) && hf_json_type(m->doc, node) == HF_JSON_OBJECT)
      return node;
  return HF_JSON_NONE;
}

/* Was the member `name`, of view `view` and place `at` in its list, asked for before? */
static bool was_before(const struct maker *m, const struct views *views, unsigned view, uint32_t at) {
  for (unsigned i = 0; i <= view; i++) {
    uint32_t required, other;
    if (!has(m, views->node[i], HF_STR("required"), &required) || hf_json_type(m->doc, required) != HF_JSON_ARRAY)
      continue;
    struct hf_json_iter iter = hf_json_iter(m->doc, required);
    while (hf_json_next(m->doc, &iter, NULL, &other)) {
      if (other == at)
        return false;
      if (hf_str_equal(hf_json_span(m->doc, other), hf_json_span(m->doc, at)))
        return true;
    }
  }
  return false;
}

static void write_member(struct maker *m, const struct views *views, uint32_t name, unsigned depth) {
  struct hf_buf text;
  hf_buf_init(&text, HF_SCHEMA_BYTES_MAX);
  if (hf_json_unescape(hf_json_span(m->doc, name), &text) < 0) {
    m->lost = true;
  } else {
    uint32_t schema = property(m, views, hf_buf_str(&text));
    hf_json_write_key_raw(&m->w, hf_json_span(m->doc, name));
    if (schema != HF_JSON_NONE)
      write_value(m, schema, depth, 0);
    else
      hf_json_write_str(&m->w, HF_STR("..."));
  }
  hf_buf_deinit(&text);
}

static void write_object(struct maker *m, const struct views *views, unsigned depth) {
  hf_json_write_object(&m->w);
  for (unsigned i = 0; i < views->count; i++) {
    uint32_t required, name;
    if (!has(m, views->node[i], HF_STR("required"), &required) || hf_json_type(m->doc, required) != HF_JSON_ARRAY)
      continue;
    struct hf_json_iter iter = hf_json_iter(m->doc, required);
    while (!m->lost && hf_json_next(m->doc, &iter, NULL, &name))
      if (hf_json_type(m->doc, name) == HF_JSON_STRING && !was_before(m, views, i, name))
        write_member(m, views, name, depth);
  }
  hf_json_write_object_end(&m->w);
}

enum shape { SHAPE_OBJECT, SHAPE_ARRAY, SHAPE_STRING, SHAPE_NUMBER, SHAPE_BOOLEAN, SHAPE_NULL };

/* By the first of its types that is not null, else by what else it says. */
static enum shape shape_of(const struct maker *m, const struct views *views) {
  static const struct {
    const char *type;
    enum shape shape;
  } types[] = {{"object", SHAPE_OBJECT},  {"array", SHAPE_ARRAY},   {"string", SHAPE_STRING},
               {"integer", SHAPE_NUMBER}, {"number", SHAPE_NUMBER}, {"boolean", SHAPE_BOOLEAN},
               {"null", SHAPE_NULL}};
  static const struct {
    const char *keyword;
    enum shape shape;
  } hints[] = {{"properties", SHAPE_OBJECT}, {"required", SHAPE_OBJECT}, {"items", SHAPE_ARRAY},
               {"prefixItems", SHAPE_ARRAY}, {"minimum", SHAPE_NUMBER},  {"maximum", SHAPE_NUMBER}};
  uint32_t type, node;
  bool given = says(m, views, "type", &type);
  if (given && hf_json_type(m->doc, type) == HF_JSON_ARRAY) {
    struct hf_json_iter iter = hf_json_iter(m->doc, type);
    while (hf_json_next(m->doc, &iter, NULL, &node)) {
      type = node;
      if (hf_json_type(m->doc, node) == HF_JSON_STRING && !hf_json_string_is(m->doc, node, HF_STR("null")))
        break;
    }
  }
  for (size_t i = 0; given && i < sizeof types / sizeof types[0]; i++)
    if (hf_json_type(m->doc, type) == HF_JSON_STRING && hf_json_string_is(m->doc, type, hf_str_from(types[i].type)))
      return types[i].shape;
  for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++)
    if (says(m, views, hints[i].keyword, &node))
      return hints[i].shape;
  return SHAPE_STRING;
}

/* `salt` makes the elements of an array differ. */
static void write_value(struct maker *m, uint32_t schema, unsigned depth, unsigned salt) {
  struct views views = {.count = 0};
  if (depth == 0)
    m->lost = true;
  else
    look_through(m, schema, DEPTH_MAX, &views);
  if (m->lost) {
    hf_json_write_null(&m->w);
    return;
  }
  if (write_given(m, &views))
    return;
  switch (shape_of(m, &views)) {
  case SHAPE_OBJECT:
    write_object(m, &views, depth - 1);
    break;
  case SHAPE_ARRAY:
    write_array(m, &views, depth - 1);
    break;
  case SHAPE_STRING:
    write_string(m, &views, salt);
    break;
  case SHAPE_NUMBER:
    write_number(m, &views, salt);
    break;
  case SHAPE_BOOLEAN:
    hf_json_write_bool(&m->w, false);
    break;
  case SHAPE_NULL:
    hf_json_write_null(&m->w);
    break;
  }
}

static int check(const struct hf_schema *schema, struct hf_schema_run *run, struct hf_str raw) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  int r = hf_json_scan_feed(&scan, raw.ptr, raw.len, true);
  if (r == 0) {
    const struct hf_json_doc doc = hf_json_doc(raw.ptr, &scan);
    r = hf_schema_check(schema, run, &doc, 0);
  }
  hf_json_scan_deinit(&scan);
  return r;
}

int hf_example_write(const struct hf_schema *schema, struct hf_schema_run *run, size_t max, struct hf_buf *out) {
  int r = HF_ERR_NOTFOUND;
  for (uint32_t branch = 0; r == HF_ERR_NOTFOUND && branch < BRANCHES_TRIED; branch++) {
    struct hf_buf text;
    hf_buf_init(&text, max);
    struct maker m = {.doc = hf_schema_doc(schema), .branch = branch};
    hf_json_writer_init(&m.w, &text);
    write_value(&m, 0, DEPTH_MAX, 0);
    int made = hf_json_write_finish(&m.w);
    if (made == HF_ERR_NOMEM)
      r = made;
    else if (made == 0 && !m.lost && check(schema, run, hf_buf_str(&text)) == 0)
      r = hf_buf_append_str(out, hf_buf_str(&text));
    hf_buf_deinit(&text);
  }
  return r;
}
