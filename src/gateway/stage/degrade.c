#include "gateway/stage/degrade.h"

#include "json/number.h"
#include "json/pointer.h"
#include "json/template.h"
#include "json/write.h"

static const struct {
  const char *name;
  enum hf_json_type type;
} schema_types[] = {
    {"null", HF_JSON_NULL},     {"boolean", HF_JSON_TRUE},  {"number", HF_JSON_NUMBER}, {"integer", HF_JSON_NUMBER},
    {"string", HF_JSON_STRING}, {"object", HF_JSON_OBJECT}, {"array", HF_JSON_ARRAY},
};

/* Two texts that are read together, each with its nodes as deep as is looked at. */
struct check {
  struct hf_json_scan value_scan;
  struct hf_json_scan schema_scan;
  struct hf_json_doc value;
  struct hf_json_doc schema;
  struct hf_arena arena;
};

static bool is_integer(struct hf_str raw) {
  struct hf_decimal number;
  return hf_decimal_read(raw, &number) == 0 && number.exponent >= 0;
}

/* `type` is the string that a schema has there. A type that nobody has heard of is not judged. */
static bool is_of_type(struct check *c, uint32_t value, uint32_t type) {
  enum hf_json_type found = hf_json_type(&c->value, value);
  if (found == HF_JSON_FALSE)
    found = HF_JSON_TRUE;
  for (size_t i = 0; i < sizeof schema_types / sizeof schema_types[0]; i++) {
    if (!hf_json_string_is(&c->schema, type, hf_str_from(schema_types[i].name)))
      continue;
    bool integer = hf_json_string_is(&c->schema, type, HF_STR("integer"));
    return found == schema_types[i].type && (!integer || is_integer(hf_json_span(&c->value, value)));
  }
  return true;
}

static bool is_of_some_type(struct check *c, uint32_t value, uint32_t types) {
  if (hf_json_type(&c->schema, types) != HF_JSON_ARRAY)
    return is_of_type(c, value, types);
  struct hf_json_iter iter = hf_json_iter(&c->schema, types);
  uint32_t type;
  while (hf_json_next(&c->schema, &iter, NULL, &type))
    if (is_of_type(c, value, type))
      return true;
  return false;
}

static int check_required(struct check *c, uint32_t required, struct hf_error *reterr) {
  struct hf_json_iter iter = hf_json_iter(&c->schema, required);
  uint32_t item, value;
  while (hf_json_type(&c->schema, required) == HF_JSON_ARRAY && hf_json_next(&c->schema, &iter, NULL, &item)) {
    struct hf_str name;
    if (hf_json_string(&c->schema, item, &c->arena, &name) == 0 && hf_json_member(&c->value, 0, name, &value) < 0)
      return hf_error_set(reterr, HF_ERR_INVALID,
                          "its structured content lacks '%.*s', which the output schema requires", HF_STR_FMT(name));
  }
  return 0;
}

static int check_types(struct check *c, uint32_t properties, struct hf_error *reterr) {
  struct hf_json_iter iter = hf_json_iter(&c->value, 0);
  uint32_t key, value, property, type;
  while (hf_json_next(&c->value, &iter, &key, &value)) {
    struct hf_str name;
    int r = hf_json_string(&c->value, key, &c->arena, &name);
    if (r < 0)
      return hf_error_set(reterr, r, "%s", hf_err_text(r));
    if (hf_json_member(&c->schema, properties, name, &property) == 0 &&
        hf_json_member(&c->schema, property, HF_STR("type"), &type) == 0 && !is_of_some_type(c, value, type))
      return hf_error_set(reterr, HF_ERR_INVALID,
                          "'%.*s' of its structured content is of another type than the output "
                          "schema says",
                          HF_STR_FMT(name));
  }
  return 0;
}

static int scan_to(struct hf_json_scan *scan, struct hf_str raw, uint32_t depth) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.tree_depth = depth;
  hf_json_scan_init(scan, &options);
  return hf_json_scan_feed(scan, raw.ptr, raw.len, true);
}

/* Checks the object against what a schema says plainly: the members that it requires, and the types of members. */
static int check_schema(struct hf_str object, struct hf_str schema, struct hf_error *reterr) {
  enum { PROPERTY_TYPES = 4 }; /* the root, its `properties`, one of them, and its `type` if that is a list */
  struct check c;
  hf_arena_init(&c.arena, HF_DEGRADE_DEFAULT_BYTES * 8);
  int r = scan_to(&c.schema_scan, schema, PROPERTY_TYPES);
  int s = scan_to(&c.value_scan, object, 1);
  if (r == 0)
    r = s;
  if (r == 0) {
    c.schema = hf_json_doc(schema.ptr, &c.schema_scan);
    c.value = hf_json_doc(object.ptr, &c.value_scan);
    uint32_t node;
    if (hf_json_member(&c.schema, 0, HF_STR("required"), &node) == 0)
      r = check_required(&c, node, reterr);
    if (r == 0 && hf_json_member(&c.schema, 0, HF_STR("properties"), &node) == 0)
      r = check_types(&c, node, reterr);
  } else {
    hf_error_set(reterr, r, "the output schema cannot be read: %s", hf_err_text(r));
  }
  hf_json_scan_deinit(&c.schema_scan);
  hf_json_scan_deinit(&c.value_scan);
  hf_arena_deinit(&c.arena);
  return r;
}

static int fill(const struct hf_degrade *call, struct hf_str template, struct hf_buf *out, const char *what,
                struct hf_error *reterr) {
  if (!template.ptr)
    return 0;
  int r = hf_template_fill(template, call->arguments.ptr ? call->arguments : HF_STR("{}"), out);
  if (r == HF_ERR_NOTFOUND)
    return hf_error_set(reterr, r, "its %s needs an argument that the call does not have", what);
  return r < 0 ? hf_error_set(reterr, r, "its %s cannot be filled: %s", what, hf_err_text(r)) : 0;
}

static void write_text_item(struct hf_json_writer *w, struct hf_str raw_string) {
  hf_json_write_object(w);
  hf_json_write_member_str(w, "type", HF_STR("text"));
  hf_json_write_member_raw(w, "text", raw_string);
  hf_json_write_object_end(w);
}

/* Makes a JSON string of a value that is none. */
static int quote(struct hf_buf *value) {
  if (value->len > 0 && value->data[0] == '"')
    return 0;
  struct hf_buf string;
  hf_buf_init(&string, HF_DEGRADE_DEFAULT_BYTES * 2);
  int r = hf_json_escape(&string, hf_buf_str(value));
  if (r < 0) {
    hf_buf_deinit(&string);
    return r;
  }
  hf_buf_deinit(value);
  *value = string;
  return 0;
}

/* Structured content without a text of its own is said as text, too, for clients that read nothing else. */
static int write_default(struct hf_buf *text, const struct hf_buf *structured, struct hf_buf *out) {
  int r = 0;
  if (text->len == 0)
    r = hf_buf_append_str(text, hf_buf_str(structured));
  if (r == 0)
    r = quote(text);
  if (r < 0)
    return r;
  struct hf_json_writer w;
  hf_json_writer_init(&w, out);
  hf_json_write_object(&w);
  hf_json_write_key(&w, "content");
  hf_json_write_array(&w);
  write_text_item(&w, hf_buf_str(text));
  hf_json_write_array_end(&w);
  if (structured->len > 0)
    hf_json_write_member_raw(&w, "structuredContent", hf_buf_str(structured));
  hf_json_write_object_end(&w);
  return hf_json_write_finish(&w);
}

static int check_structured(const struct hf_degrade *call, struct hf_str structured, struct hf_error *reterr) {
  if (structured.len > 0 && structured.ptr[0] != '{')
    return hf_error_set(reterr, HF_ERR_INVALID, "its structured content is no object");
  if (!call->output_schema.ptr)
    return 0;
  if (structured.len == 0)
    return hf_error_set(reterr, HF_ERR_INVALID, "the tool has an output schema, and it has no structured content");
  return check_schema(structured, call->output_schema, reterr);
}

static int make_default(const struct hf_degrade *call, struct hf_buf *out, struct hf_error *reterr) {
  const struct hf_default_settings *settings = &call->settings->fallback;
  struct hf_buf text, structured;
  hf_buf_init(&text, HF_DEGRADE_DEFAULT_BYTES);
  hf_buf_init(&structured, HF_DEGRADE_DEFAULT_BYTES);
  int r = fill(call, settings->structured, &structured, "structured content", reterr);
  if (r == 0)
    r = fill(call, settings->text, &text, "text", reterr);
  if (r == 0)
    r = check_structured(call, hf_buf_str(&structured), reterr);
  if (r == 0) {
    r = write_default(&text, &structured, out);
    if (r < 0)
      hf_error_set(reterr, r, "%s", hf_err_text(r));
  }
  hf_buf_deinit(&text);
  hf_buf_deinit(&structured);
  return r;
}

static bool find_cached(const struct hf_degrade *call, hf_time now, struct hf_buf *ret_result, hf_time *ret_age) {
  struct hf_str result;
  hf_time age;
  if (!call->cache || call->fault == HF_FAULT_UNAUTHORIZED ||
      hf_cache_get(call->cache, call->fingerprint, now, &result, &age) < 0 || age > call->settings->cache.max_stale ||
      hf_buf_append_str(ret_result, result) < 0)
    return false;
  *ret_age = age;
  return true;
}

static bool make_explicit(struct hf_buf *ret_result) {
  return hf_buf_append_str(ret_result, HF_STR("{\"content\":[],\"isError\":true}")) == 0;
}

enum hf_source hf_degrade_find(const struct hf_degrade *call, hf_time now, struct hf_buf *ret_result, hf_time *ret_age,
                               struct hf_error *ret_refused) {
  const struct hf_tool_settings *settings = call->settings;
  size_t start = ret_result->len;
  ret_refused->code = 0;
  if (settings->degraded == HF_DEGRADED_EXPLICIT)
    return make_explicit(ret_result) ? HF_SOURCE_DEGRADED : HF_SOURCE_LIVE;
  if (settings->cache.max_stale > 0 && find_cached(call, now, ret_result, ret_age))
    return HF_SOURCE_CACHE;
  if (!settings->fallback.text.ptr && !settings->fallback.structured.ptr)
    return HF_SOURCE_LIVE;
  if (make_default(call, ret_result, ret_refused) == 0)
    return HF_SOURCE_DEGRADED;
  ret_result->len = start;
  return HF_SOURCE_LIVE;
}

static int append_age(hf_time age, struct hf_buf *out) {
  static const struct {
    hf_time unit;
    const char *name;
  } units[] = {{HF_SECONDS(86400), "days"}, {HF_SECONDS(3600), "hours"}, {HF_SECONDS(60), "minutes"}};
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
    if (age >= 2 * units[i].unit)
      return hf_buf_printf(out, "%lld %s", (long long)(age / units[i].unit), units[i].name);
  return hf_buf_printf(out, "%lld s", (long long)(age / HF_SECONDS(1)));
}

static int append_cached(hf_time age, struct hf_str why, struct hf_buf *out) {
  int r = hf_buf_append_str(out, HF_STR("This is not a live answer: it is the tool's last good answer to the same "
                                        "arguments, from "));
  if (r == 0)
    r = append_age(age, out);
  if (r == 0 && !why.ptr)
    return hf_buf_append_str(out, HF_STR(" ago, which is young enough by the configuration. Nothing was sent."));
  return r == 0 ? hf_buf_append_str(out, HF_STR(" ago, and may be out of date. Why there is no live one: ")) : r;
}

int hf_degrade_text(enum hf_source source, enum hf_degraded_mode mode, hf_time age, struct hf_str why,
                    struct hf_buf *out) {
  int r;
  if (source == HF_SOURCE_CACHE)
    r = append_cached(age, why, out);
  else if (mode == HF_DEGRADED_EXPLICIT)
    r = hf_buf_append_str(out,
                          HF_STR("This tool is unavailable, and there is no answer from it. Tell the user, and ask "
                                 "how to go on: wait and try again, use another tool, or go on without it. Why: "));
  else
    r = hf_buf_append_str(out,
                          HF_STR("This is not an answer of the tool: it is a stand-in that was configured for when "
                                 "the tool fails. Do not take it for data. Why there is no answer: "));
  return r == 0 && why.ptr ? hf_buf_append_str(out, why) : r;
}

/* Writes the object `meta` with our marker, and without any other. */
static void write_meta(struct hf_json_writer *w, const struct hf_json_doc *doc, uint32_t meta, struct hf_str marker) {
  hf_json_write_object(w);
  hf_json_write_member_raw(w, HF_META_OUTCOME, marker);
  struct hf_json_iter iter = hf_json_iter(doc, meta);
  uint32_t key, value;
  while (meta && iter.object && hf_json_next(doc, &iter, &key, &value)) {
    if (hf_json_string_is(doc, key, HF_STR(HF_META_OUTCOME)))
      continue;
    hf_json_write_key_raw(w, hf_json_span(doc, key));
    hf_json_write_raw(w, hf_json_span(doc, value));
  }
  hf_json_write_object_end(w);
}

/* What stands between the brackets of an array. */
static struct hf_str inside(struct hf_str array) {
  struct hf_str s = {array.ptr + 1, array.len - 2};
  while (s.len > 0 && strchr(" \t\n\r", s.ptr[0]))
    s.ptr++, s.len--;
  return s;
}

static void write_content(struct hf_json_writer *w, const struct hf_json_doc *doc, uint32_t content,
                          struct hf_str text) {
  hf_json_write_array(w);
  hf_json_write_object(w);
  hf_json_write_member_str(w, "type", HF_STR("text"));
  hf_json_write_member_str(w, "text", text);
  hf_json_write_object_end(w);
  if (content && hf_json_type(doc, content) == HF_JSON_ARRAY) {
    struct hf_str rest = inside(hf_json_span(doc, content));
    if (rest.len > 0)
      hf_json_write_raw(w, rest); /* the elements and the commas between them */
  }
  hf_json_write_array_end(w);
}

static int write_marked(const struct hf_json_doc *doc, struct hf_str marker, struct hf_str text, struct hf_buf *out) {
  struct hf_json_writer w;
  hf_json_writer_init(&w, out);
  hf_json_write_object(&w);
  struct hf_json_iter iter = hf_json_iter(doc, 0);
  uint32_t key, value;
  uint32_t meta = HF_JSON_NONE, content = HF_JSON_NONE; /* the first of each; others go */
  while (hf_json_next(doc, &iter, &key, &value)) {
    if (hf_json_string_is(doc, key, HF_STR("_meta"))) {
      meta = meta ? meta : value;
    } else if (hf_json_string_is(doc, key, HF_STR("content"))) {
      content = content ? content : value;
    } else {
      hf_json_write_key_raw(&w, hf_json_span(doc, key));
      hf_json_write_raw(&w, hf_json_span(doc, value));
    }
  }
  hf_json_write_key(&w, "content");
  write_content(&w, doc, content, text);
  hf_json_write_key(&w, "_meta");
  write_meta(&w, doc, meta, marker);
  hf_json_write_object_end(&w);
  return hf_json_write_finish(&w);
}

int hf_degrade_mark(struct hf_str result, struct hf_str marker, struct hf_str text, struct hf_buf *out) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.tree_depth = 1;
  options.expand_key = HF_STR("_meta");
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  size_t start = out->len;
  int r = hf_json_scan_feed(&scan, result.ptr, result.len, true);
  if (r == 0) {
    struct hf_json_doc doc = hf_json_doc(result.ptr, &scan);
    r = hf_json_type(&doc, 0) == HF_JSON_OBJECT ? write_marked(&doc, marker, text, out) : HF_ERR_INVALID;
  }
  if (r < 0)
    out->len = start;
  hf_json_scan_deinit(&scan);
  return r;
}
