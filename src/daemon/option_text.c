#include "daemon/option_text.h"

#include "base/printer.h"
#include "daemon/options.h"
#include "json/write.h"

#include <stdio.h>

/* The places where options stand, in the order of a file. */
struct section {
  const char *title;
  unsigned scopes;
  const char *intro; /* lines of YAML that open it */
  int indent;
  bool sample; /* commented out in the defaults: it needs what only its writer knows */
};

static const struct section sections[] = {
    {"Top level", HF_SCOPE_TOP, "", 0, false},
    {"Policies (policies.NAME, and in a server, tool or, but for the breaker, a route)", HF_SCOPE_POLICY,
     "policies:\n  default:\n", 4, false},
    {"Policies of whole servers (policies.NAME, and in a server)", HF_SCOPE_PROVIDER, "", 4, false},
    {"Servers (mcpServers.NAME)", HF_SCOPE_SERVER, "mcpServers:\n  example:\n", 4, false},
    {"Tools (tools.PATTERN)", HF_SCOPE_TOOL, "tools:\n  \"example__*\":\n", 4, false},
    {"Answers (tools.PATTERN, routes.NAME)", HF_SCOPE_ANSWER, "", 4, false},
    {"Routes (routes.NAME)", HF_SCOPE_ROUTE, "# routes:\n#   example:\n", 4, true},
    {"Providers of a route (routes.NAME.providers, a list)", HF_SCOPE_TARGET, "", 6, true},
};

enum { SECTIONS = sizeof sections / sizeof sections[0] };

static const char *type_name(enum hf_option_type type) {
  switch (type) {
  case HF_OPTION_DURATION:
    return "duration";
  case HF_OPTION_SIZE:
    return "size";
  case HF_OPTION_COUNT:
    return "number";
  case HF_OPTION_PERCENT:
    return "percentage";
  case HF_OPTION_FLAG:
    return "true or false";
  case HF_OPTION_CHOICE:
  case HF_OPTION_WORD:
    return "one of";
  case HF_OPTION_TEXT:
    return "text";
  case HF_OPTION_TEXTS:
    return "list of texts";
  case HF_OPTION_PAIRS:
    return "mapping of texts";
  case HF_OPTION_STATUSES:
    return "list of numbers";
  case HF_OPTION_ADDRESS:
    return "address";
  case HF_OPTION_TOKENS:
    return "mapping of texts";
  case HF_OPTION_JSON:
    return "JSON Schema";
  case HF_OPTION_TEMPLATE:
    return "template";
  case HF_OPTION_CONDITION:
    return "condition";
  case HF_OPTION_TOOL:
    return "server__tool";
  case HF_OPTION_KEY:
    return "name";
  case HF_OPTION_PROVIDERS:
    return "list of mappings";
  case HF_OPTION_BLOCK:
    break;
  }
  return "see above";
}

static const char *empty_value(enum hf_option_type type) {
  switch ((int)type) {
  case HF_OPTION_TEXTS:
  case HF_OPTION_STATUSES:
    return "[]";
  case HF_OPTION_PAIRS:
  case HF_OPTION_TOKENS:
    return "{}";
  default:
    return NULL;
  }
}

static bool split_str(struct hf_str path, struct hf_str *ret_group, struct hf_str *ret_key) {
  const char *dot = memrchr(path.ptr, '.', path.len);
  *ret_group = (struct hf_str){path.ptr, dot ? (size_t)(dot - path.ptr) : 0};
  *ret_key = dot ? (struct hf_str){dot + 1, path.len - ret_group->len - 1} : path;
  return dot != NULL;
}

/* Into the group, which can be within another one, and what stands in it. */
static bool split(const char *path, struct hf_str *ret_group, struct hf_str *ret_key) {
  return split_str(hf_str_from(path), ret_group, ret_key);
}

/* Is `group` within `open`? A group within another one stands behind that one's own options. */
static bool is_within(struct hf_str group, struct hf_str open) {
  return open.len && hf_str_starts(group, open) && group.len > open.len && group.ptr[open.len] == '.';
}

/* What stands behind the key; NULL when there is nothing to be written without the writer's knowledge. */
static const char *shown_value(const struct hf_option *o) {
  const char *value = o->value[HF_PROFILE_STANDARD];
  return value ? value : empty_value(o->type);
}

static bool lists_choices(const struct hf_option *o) {
  return o->choices && (o->type == HF_OPTION_CHOICE || o->type == HF_OPTION_WORD);
}

/* Where a line stands, and whether it is commented out there. */
struct margin {
  int indent;
  bool sample;
  int inside; /* further, behind the mark of the comment */
};

static void put_line(struct hf_printer *out, const struct margin *margin, const struct hf_option *o,
                     struct hf_str key) {
  char left[96];
  const char *value = shown_value(o);
  int n = snprintf(left, sizeof left, "%*s%s%*s%.*s: %s", margin->indent, "", margin->sample || !value ? "# " : "",
                   margin->inside, "", HF_STR_FMT(key), value ? value : "…");
  int columns = n - (value ? 0 : (int)sizeof "…" - 2);
  hf_print(out, "%s%*s # %s", n < 0 ? "" : left, columns < 34 ? 34 - columns : 0, "", o->help);
  if (o->min || o->max)
    hf_print(out, " (%s%s%s)", o->min ? o->min : "", " to ", o->max ? o->max : "");
  if (lists_choices(o))
    hf_print(out, " (%s)", o->choices);
  hf_print(out, "\n");
}

static void put_group(struct hf_printer *out, const struct margin *margin, struct hf_str group) {
  hf_print(out, "%*s%s%*s%.*s:\n", margin->indent, "", margin->sample ? "# " : "", margin->inside, "",
           HF_STR_FMT(group));
}

/* A group is a sample when its first option has no default, for then the others mean nothing without it. */
static void put_section(struct hf_printer *out, const struct section *section) {
  size_t count;
  const struct hf_option *options = hf_options(&count);
  struct hf_str open = {"", 0};
  struct margin margin = {0};
  hf_print(out, "\n%s", section->intro);
  for (size_t i = 0; i < count; i++) {
    if (!(options[i].scope & section->scopes) || options[i].type == HF_OPTION_BLOCK)
      continue;
    struct hf_str group;
    struct hf_str key;
    bool grouped = split(options[i].path, &group, &key);
    if (!grouped || !hf_str_equal(group, open)) {
      struct hf_str outer, name;
      const int step = split_str(group, &outer, &name) ? 2 : 0;
      margin.sample = section->sample || (grouped && !shown_value(&options[i]));
      margin.indent = section->sample ? 0 : section->indent + step;
      margin.inside = section->sample ? section->indent + step : 0;
      if (grouped)
        put_group(out, &margin, name);
    }
    open = group;
    struct margin line = margin;
    if (grouped && line.sample)
      line.inside += 2;
    else if (grouped)
      line.indent += 2;
    put_line(out, &line, &options[i], key);
  }
}

int hf_option_text_defaults(struct hf_buf *text) {
  struct hf_printer out = {.buf = text};
  hf_print(&out, "# Every option with its default (profile standard). Write only what differs.\n"
                 "# Durations: 500ms 2s 5m 1h never; sizes: 4096 64KiB 16MiB; variables: ${NAME}, "
                 "${NAME:-text}.\n");
  for (size_t i = 0; i < SECTIONS; i++)
    put_section(&out, &sections[i]);
  return out.error;
}

static void schema_type(struct hf_json_writer *w, const char *type) {
  hf_json_write_member_str(w, "type", hf_str_from(type));
}

static void schema_pattern(struct hf_json_writer *w, const char *pattern) {
  schema_type(w, "string");
  hf_json_write_member_str(w, "pattern", hf_str_from(pattern));
}

static void schema_choices(struct hf_json_writer *w, const char *choices) {
  hf_json_write_key(w, "enum");
  hf_json_write_array(w);
  for (struct hf_str rest = hf_str_from(choices); rest.ptr;) {
    const char *bar = memchr(rest.ptr, '|', rest.len);
    size_t len = bar ? (size_t)(bar - rest.ptr) : rest.len;
    hf_json_write_str(w, (struct hf_str){rest.ptr, len});
    rest = bar ? (struct hf_str){bar + 1, rest.len - len - 1} : (struct hf_str){NULL, 0};
  }
  hf_json_write_array_end(w);
}

static void schema_items(struct hf_json_writer *w, const char *of, const char *type, const char *pattern) {
  hf_json_write_key(w, of);
  hf_json_write_object(w);
  if (pattern)
    schema_pattern(w, pattern);
  else
    schema_type(w, type);
  hf_json_write_object_end(w);
}

static void schema_providers(struct hf_json_writer *w) {
  schema_type(w, "array");
  hf_json_write_member_int(w, "minItems", 1);
  hf_json_write_member_int(w, "maxItems", HF_CALL_TARGETS_MAX);
  hf_json_write_member_raw(w, "items", HF_STR("{\"$ref\":\"#/$defs/provider\"}"));
}

/* A pointer and one operator. */
static void schema_condition(struct hf_json_writer *w) {
  hf_json_write_member_raw(
      w, "condition",
      HF_STR("{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"pointer\"],\"minProperties\":2,"
             "\"maxProperties\":2,\"properties\":{\"pointer\":{\"type\":\"string\"},\"equals\":true,\"not\":true,"
             "\"exists\":{\"type\":\"boolean\"},\"contains\":true,\"atLeast\":{\"type\":\"number\"}}}"));
}

static void schema_value(struct hf_json_writer *w, const struct hf_option *o) {
  switch (o->type) {
  case HF_OPTION_DURATION:
    schema_pattern(w, "^(never|0|[0-9]+([.][0-9]{1,6})?(us|ms|s|m|h|d)|.*[$][{].*)$");
    break;
  case HF_OPTION_SIZE:
    hf_json_write_key(w, "type");
    hf_json_write_raw(w, HF_STR("[\"string\",\"integer\"]"));
    hf_json_write_member_str(w, "pattern", HF_STR("^([0-9]+(B|KiB|MiB|GiB|kB|MB|GB)?|.*[$][{].*)$"));
    break;
  case HF_OPTION_COUNT:
    hf_json_write_key(w, "type");
    hf_json_write_raw(w, HF_STR("[\"integer\",\"string\"]"));
    if (o->min)
      hf_json_write_member_raw(w, "minimum", hf_str_from(o->min));
    if (o->max)
      hf_json_write_member_raw(w, "maximum", hf_str_from(o->max));
    break;
  case HF_OPTION_PERCENT:
    schema_pattern(w, "^([0-9]{1,3}%|.*[$][{].*)$");
    break;
  case HF_OPTION_FLAG:
    hf_json_write_key(w, "type");
    hf_json_write_raw(w, HF_STR("[\"boolean\",\"string\"]"));
    break;
  case HF_OPTION_CHOICE:
  case HF_OPTION_WORD:
    schema_choices(w, o->choices);
    break;
  case HF_OPTION_TEXT:
  case HF_OPTION_ADDRESS:
    schema_type(w, "string");
    break;
  case HF_OPTION_TEXTS:
    schema_type(w, "array");
    schema_items(w, "items", "string", NULL);
    break;
  case HF_OPTION_STATUSES:
    schema_type(w, "array");
    schema_items(w, "items", "integer", NULL);
    break;
  case HF_OPTION_PAIRS:
    schema_type(w, "object");
    schema_items(w, "additionalProperties", "string", NULL);
    break;
  case HF_OPTION_TOKENS:
    schema_type(w, "object");
    schema_items(w, "additionalProperties", "string", "^(sha256:[0-9a-fA-F]{64}|.*[$][{].*)$");
    break;
  case HF_OPTION_JSON:
    schema_type(w, "object");
    break;
  case HF_OPTION_TEMPLATE:
    hf_json_write_key(w, "type");
    hf_json_write_raw(w, strcmp(o->choices, "text") == 0     ? HF_STR("[\"string\",\"number\",\"boolean\"]")
                         : strcmp(o->choices, "object") == 0 ? HF_STR("\"object\"")
                                                             : HF_STR("[\"object\",\"string\"]"));
    break;
  case HF_OPTION_CONDITION:
    hf_json_write_member_str(w, "$ref", HF_STR("#/$defs/condition"));
    break;
  case HF_OPTION_TOOL:
    schema_pattern(w, "^.+__.+$|[$][{]");
    break;
  case HF_OPTION_PROVIDERS:
    schema_providers(w);
    break;
  case HF_OPTION_KEY:
  case HF_OPTION_BLOCK:
    schema_type(w, "string");
    break;
  }
}

static void schema_option(struct hf_json_writer *w, const struct hf_option *o, struct hf_str key) {
  hf_json_write_key_str(w, key);
  hf_json_write_object(w);
  hf_json_write_member_str(w, "description", hf_str_from(o->help));
  schema_value(w, o);
  const char *value = o->value[HF_PROFILE_STANDARD];
  if (value && o->type != HF_OPTION_COUNT && o->type != HF_OPTION_FLAG)
    hf_json_write_member_str(w, "default", hf_str_from(value));
  else if (value)
    hf_json_write_member_raw(w, "default", hf_str_from(value));
  hf_json_write_object_end(w);
}

/* May the group be a scalar, too? */
static bool may_be_alone(struct hf_str group) {
  size_t count;
  const struct hf_option *options = hf_options(&count);
  struct hf_str its, key;
  for (size_t i = 0; i < count; i++)
    if (options[i].alone && split(options[i].path, &its, &key) && hf_str_equal(its, group))
      return true;
  return false;
}

static void schema_group(struct hf_json_writer *w, struct hf_str group) {
  struct hf_str outer, name;
  (void)split_str(group, &outer, &name);
  hf_json_write_key_str(w, name);
  hf_json_write_object(w);
  if (may_be_alone(group))
    hf_json_write_member_raw(w, "type", HF_STR("[\"object\",\"string\"]"));
  else
    schema_type(w, "object");
  hf_json_write_member_bool(w, "additionalProperties", false);
  hf_json_write_key(w, "properties");
  hf_json_write_object(w);
}

static void schema_groups_end(struct hf_json_writer *w, unsigned *io_levels) {
  for (; *io_levels > 0; --*io_levels) {
    hf_json_write_object_end(w);
    hf_json_write_object_end(w);
  }
}

/* The properties of some scopes, without the group `but`; groups become objects of their own. */
static void schema_properties(struct hf_json_writer *w, unsigned scopes, struct hf_str but) {
  size_t count;
  const struct hf_option *options = hf_options(&count);
  struct hf_str open = {"", 0};
  unsigned levels = 0;
  for (size_t i = 0; i < count; i++) {
    if (!(options[i].scope & scopes) || (options[i].type == HF_OPTION_BLOCK && options[i].scope == HF_SCOPE_TOP))
      continue;
    struct hf_str group;
    struct hf_str key;
    bool grouped = split(options[i].path, &group, &key);
    if (grouped && hf_str_equal(group, but))
      continue;
    if (!hf_str_equal(group, open)) {
      if (!is_within(group, open))
        schema_groups_end(w, &levels);
      if (grouped)
        schema_group(w, group);
      levels += grouped;
      open = group;
    }
    schema_option(w, &options[i], key);
  }
  schema_groups_end(w, &levels);
}

static void schema_definition(struct hf_json_writer *w, const char *name, unsigned scopes, const char *but, bool open) {
  hf_json_write_key(w, name);
  hf_json_write_object(w);
  schema_type(w, "object");
  if (!open)
    hf_json_write_member_bool(w, "additionalProperties", false);
  hf_json_write_key(w, "properties");
  hf_json_write_object(w);
  schema_properties(w, scopes, hf_str_from(but));
  hf_json_write_object_end(w);
  hf_json_write_object_end(w);
}

static void schema_map(struct hf_json_writer *w, const char *name, const char *reference) {
  const struct hf_option *o = hf_option_find(HF_SCOPE_TOP, name);
  hf_json_write_key(w, name);
  hf_json_write_object(w);
  schema_type(w, "object");
  if (o)
    hf_json_write_member_str(w, "description", hf_str_from(o->help));
  hf_json_write_key(w, "additionalProperties");
  hf_json_write_object(w);
  hf_json_write_member_str(w, "$ref", hf_str_from(reference));
  hf_json_write_object_end(w);
  hf_json_write_object_end(w);
}

int hf_option_text_schema(struct hf_buf *text) {
  struct hf_json_writer w;
  hf_json_writer_init(&w, text);
  hf_json_write_object(&w);
  hf_json_write_member_str(&w, "$schema", HF_STR("https://json-schema.org/draft/2020-12/schema"));
  hf_json_write_member_str(&w, "title", HF_STR("holdfast.yaml"));
  schema_type(&w, "object");
  hf_json_write_member_bool(&w, "additionalProperties", false);
  hf_json_write_key(&w, "properties");
  hf_json_write_object(&w);
  hf_json_write_key(&w, "$schema");
  hf_json_write_raw(&w, HF_STR("{\"type\":\"string\"}"));
  hf_json_write_key(&w, "inputs");
  hf_json_write_raw(&w, HF_STR("true"));
  schema_properties(&w, HF_SCOPE_TOP, HF_STR(""));
  schema_map(&w, "mcpServers", "#/$defs/server");
  schema_map(&w, "servers", "#/$defs/server");
  schema_map(&w, "policies", "#/$defs/policy");
  schema_map(&w, "tools", "#/$defs/tool");
  schema_map(&w, "routes", "#/$defs/route");
  hf_json_write_object_end(&w);
  hf_json_write_key(&w, "$defs");
  hf_json_write_object(&w);
  schema_definition(&w, "server", HF_SCOPE_SERVER | HF_SCOPE_POLICY | HF_SCOPE_PROVIDER, "", true);
  schema_definition(&w, "policy", HF_SCOPE_POLICY | HF_SCOPE_PROVIDER, "", false);
  schema_definition(&w, "tool", HF_SCOPE_TOOL | HF_SCOPE_ANSWER | HF_SCOPE_POLICY, "", false);
  schema_definition(&w, "route", HF_SCOPE_ROUTE | HF_SCOPE_ANSWER | HF_SCOPE_POLICY, "breaker", false);
  schema_definition(&w, "provider", HF_SCOPE_TARGET, "", false);
  schema_condition(&w);
  hf_json_write_object_end(&w);
  hf_json_write_object_end(&w);
  int r = hf_json_write_finish(&w);
  return r == 0 ? hf_buf_append_str(text, HF_STR("\n")) : r;
}

/* Roff takes a dot or quote at the start of a line, and any backslash, for its own. */
static void put_roff(struct hf_printer *out, const char *text) {
  if (*text == '.' || *text == '\'')
    hf_print(out, "\\&");
  for (; *text; text++) {
    if (*text == '\\')
      hf_print(out, "\\e");
    else if (*text == '`')
      hf_print(out, "\\(aq");
    else
      hf_print_bytes(out, text, 1);
  }
}

static void put_manual(struct hf_printer *out, const struct hf_option *o) {
  hf_print(out, ".It Ic %s\n", o->path);
  put_roff(out, o->help);
  hf_print(out, ".\n%s%s%s", type_name(o->type), lists_choices(o) ? " " : "", lists_choices(o) ? o->choices : "");
  if (o->min && o->max)
    hf_print(out, " from %s to %s", o->min, o->max);
  const char *const *v = o->value;
  if (v[0] && (strcmp(v[0], v[1]) != 0 || strcmp(v[2], v[1]) != 0) && o->type != HF_OPTION_WORD)
    hf_print(out, "; default %s (light: %s, enterprise: %s)", v[1], v[0], v[2]);
  else if (v[1])
    hf_print(out, "; default %s", v[1]);
  hf_print(out, "%s.\n", o->fixed ? "; a change needs a restart" : "");
}

int hf_option_text_manual(struct hf_buf *text) {
  struct hf_printer out = {.buf = text};
  size_t count;
  const struct hf_option *options = hf_options(&count);
  for (size_t s = 0; s < SECTIONS; s++) {
    hf_print(&out, ".Ss %s\n.Bl -tag -width Ds\n", sections[s].title);
    for (size_t i = 0; i < count; i++)
      if (options[i].scope & sections[s].scopes && options[i].type != HF_OPTION_BLOCK)
        put_manual(&out, &options[i]);
    hf_print(&out, ".El\n");
  }
  return out.error;
}
