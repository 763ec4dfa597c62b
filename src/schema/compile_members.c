/* Keywords about the members of objects. */
#include "schema/compile.h"

static int need(struct hf_compiler *c, uint32_t node, enum hf_json_type type) {
  if (hf_json_type(c->doc, node) == type)
    return 0;
  return hf_compile_complain(c, HF_ERR_INVALID, node,
                             type == HF_JSON_OBJECT ? "must be an object" : "must be an array of strings");
}

static int add_properties(struct hf_compiler *c, struct hf_object *object, uint32_t properties) {
  struct hf_json_iter iter = hf_json_iter(c->doc, properties);
  uint32_t key, value;
  while (hf_json_next(c->doc, &iter, &key, &value)) {
    struct hf_str text;
    uint32_t sub = HF_NONE;
    int r = hf_compile_name(c, key, &text);
    if (r == 0)
      r = hf_compile_child(c, value, &sub);
    if (r < 0)
      return r;
    struct hf_member_name *name = hf_member_names_add(&c->schema->names, &object->names, text);
    if (name->value != HF_NONE)
      return hf_compile_complain(c, HF_ERR_INVALID, value, "is said twice");
    name->value = sub;
  }
  return 0;
}

static int add_required(struct hf_compiler *c, struct hf_object *object, uint32_t required) {
  struct hf_json_iter iter = hf_json_iter(c->doc, required);
  uint32_t item;
  while (hf_json_next(c->doc, &iter, NULL, &item)) {
    struct hf_str text;
    int r = hf_compile_name(c, item, &text);
    if (r < 0)
      return r;
    struct hf_member_name *name = hf_member_names_add(&c->schema->names, &object->names, text);
    object->required_count += name->required == 0;
    name->required = item;
  }
  return 0;
}

static int add_patterns(struct hf_compiler *c, struct hf_object *object, uint32_t patterns) {
  object->first_pattern = c->schema->patterns.count;
  struct hf_json_iter iter = hf_json_iter(c->doc, patterns);
  uint32_t key, value;
  while (hf_json_next(c->doc, &iter, &key, &value)) {
    struct hf_pattern_sub pattern;
    int r = hf_compile_regex(c, key, &pattern.regex);
    if (r == 0)
      r = hf_compile_child(c, value, &pattern.sub);
    if (r < 0)
      return r;
    if (!hf_vec_push(&c->schema->patterns, pattern))
      return hf_error_set(c->reterr, HF_ERR_NOMEM, "out of memory");
    object->pattern_count++;
  }
  return 0;
}

static int add_members(struct hf_compiler *c, struct hf_object *object) {
  uint32_t properties = c->words[HF_WORD_PROPERTIES], required = c->words[HF_WORD_REQUIRED];
  uint32_t patterns = c->words[HF_WORD_PATTERN_PROPERTIES];
  int r = 0;
  if (properties)
    r = need(c, properties, HF_JSON_OBJECT);
  if (r == 0 && required)
    r = need(c, required, HF_JSON_ARRAY);
  if (r == 0 && patterns)
    r = need(c, patterns, HF_JSON_OBJECT);
  if (r < 0)
    return r;
  uint32_t most = (properties ? c->doc->nodes[properties].count : 0) + (required ? c->doc->nodes[required].count : 0);
  if (hf_member_names_begin(&c->schema->names, most, &object->names) < 0)
    return hf_error_set(c->reterr, HF_ERR_NOMEM, "out of memory");
  if (properties)
    r = add_properties(c, object, properties);
  if (r == 0 && required)
    r = add_required(c, object, required);
  if (r == 0 && patterns)
    r = add_patterns(c, object, patterns);
  return r;
}

static int compile_members(struct hf_compiler *c) {
  uint32_t additional = c->words[HF_WORD_ADDITIONAL_PROPERTIES];
  if (!c->words[HF_WORD_PROPERTIES] && !c->words[HF_WORD_REQUIRED] && !c->words[HF_WORD_PATTERN_PROPERTIES] &&
      !additional)
    return 0;
  struct hf_object object = {
      .additional = HF_NONE, .additional_node = additional, .required_node = c->words[HF_WORD_REQUIRED]};
  int r = add_members(c, &object);
  if (r == 0 && additional)
    r = hf_compile_child(c, additional, &object.additional);
  if (r < 0)
    return r;
  if (!hf_vec_push(&c->schema->objects, object))
    return hf_error_set(c->reterr, HF_ERR_NOMEM, "out of memory");
  struct hf_op op = {.code = HF_OP_OBJECT, .types = 1 << HF_JSON_OBJECT, .a = c->schema->objects.count - 1};
  return hf_compile_op(c, &op);
}

static int compile_names(struct hf_compiler *c) {
  uint32_t node = c->words[HF_WORD_PROPERTY_NAMES];
  if (node == HF_JSON_NONE)
    return 0;
  struct hf_op op = {
      .code = HF_OP_PROPERTY_NAMES, .types = 1 << HF_JSON_OBJECT, .keyword = HF_KEYWORD_PROPERTY_NAMES, .node = node};
  int r = hf_compile_child(c, node, &op.a);
  return r < 0 ? r : hf_compile_op(c, &op);
}

static int check_strings(struct hf_compiler *c, uint32_t list) {
  struct hf_json_iter iter = hf_json_iter(c->doc, list);
  uint32_t item;
  while (hf_json_next(c->doc, &iter, NULL, &item))
    if (hf_json_type(c->doc, item) != HF_JSON_STRING)
      return hf_compile_complain(c, HF_ERR_INVALID, item, "must be a string");
  return 0;
}

/* What is needed, or must hold, where a member is: lists of names, schemas, or (`dependencies`) either. */
static int compile_dependents(struct hf_compiler *c, enum hf_word word) {
  const bool lists = word != HF_WORD_DEPENDENT_SCHEMAS, schemas = word != HF_WORD_DEPENDENT_REQUIRED;
  uint32_t node = c->words[word];
  if (node == HF_JSON_NONE)
    return 0;
  int r = need(c, node, HF_JSON_OBJECT);
  struct hf_op op = {.code = HF_OP_DEPENDENT,
                     .types = 1 << HF_JSON_OBJECT,
                     .keyword = hf_word_row(word)->keyword,
                     .node = node,
                     .a = c->schema->dependents.count};
  struct hf_json_iter iter = hf_json_iter(c->doc, node);
  uint32_t key, value;
  while (r == 0 && hf_json_next(c->doc, &iter, &key, &value)) {
    struct hf_dependent dependent = {.sub = HF_NONE, .list = value};
    bool is_list = lists && hf_json_type(c->doc, value) == HF_JSON_ARRAY;
    r = hf_compile_name(c, key, &dependent.name);
    if (r == 0 && is_list)
      r = check_strings(c, value);
    else if (r == 0 && schemas)
      r = hf_compile_child(c, value, &dependent.sub);
    else if (r == 0)
      r = need(c, value, HF_JSON_ARRAY);
    if (r == 0 && !hf_vec_push(&c->schema->dependents, dependent))
      return hf_error_set(c->reterr, HF_ERR_NOMEM, "out of memory");
    op.b++;
  }
  return r < 0 ? r : hf_compile_op(c, &op);
}

int hf_compile_members(struct hf_compiler *c) {
  int r = compile_members(c);
  if (r == 0)
    r = compile_names(c);
  if (r == 0)
    r = compile_dependents(c, HF_WORD_DEPENDENT_REQUIRED);
  if (r == 0)
    r = compile_dependents(c, HF_WORD_DEPENDENT_SCHEMAS);
  return r < 0 ? r : compile_dependents(c, HF_WORD_DEPENDENCIES);
}
