/* Keywords that say something of a value itself. */
#include "schema/compile.h"

static const struct {
  struct hf_str name;
  uint8_t bits;
} type_names[] = {
    {{"null", 4}, 1 << HF_JSON_NULL},     {{"boolean", 7}, 1 << HF_JSON_FALSE | 1 << HF_JSON_TRUE},
    {{"object", 6}, 1 << HF_JSON_OBJECT}, {{"array", 5}, 1 << HF_JSON_ARRAY},
    {{"number", 6}, 1 << HF_JSON_NUMBER}, {{"string", 6}, 1 << HF_JSON_STRING},
    {{"integer", 7}, HF_TYPE_INTEGER},
};

static int read_type(struct hf_compiler *c, uint32_t node, uint8_t *io_bits) {
  for (size_t i = 0; i < sizeof type_names / sizeof type_names[0]; i++)
    if (hf_json_string_is(c->doc, node, type_names[i].name)) {
      *io_bits |= type_names[i].bits;
      return 0;
    }
  return hf_compile_complain(c, HF_ERR_INVALID, node, "is no type");
}

int hf_compile_type(struct hf_compiler *c, struct hf_sub *sub) {
  uint32_t node = c->words[HF_WORD_TYPE];
  if (node == HF_JSON_NONE)
    return 0;
  sub->type_node = node;
  sub->types = 0;
  if (hf_json_type(c->doc, node) != HF_JSON_ARRAY)
    return read_type(c, node, &sub->types);
  struct hf_json_iter iter = hf_json_iter(c->doc, node);
  uint32_t item;
  int r = 0;
  while (r == 0 && hf_json_next(c->doc, &iter, NULL, &item))
    r = read_type(c, item, &sub->types);
  return r;
}

static int compile_values(struct hf_compiler *c, uint32_t node, bool single) {
  struct hf_enum values = {.node = node, .single = single};
  int r = hf_member_names_begin(&c->schema->names, single ? 1 : c->doc->nodes[node].count, &values.strings);
  struct hf_json_iter iter = hf_json_iter(c->doc, node);
  uint32_t value = node;
  while (r == 0 && (single || hf_json_next(c->doc, &iter, NULL, &value))) {
    values.types |= hf_type_bit(hf_json_type(c->doc, value));
    struct hf_str text;
    if (hf_json_type(c->doc, value) == HF_JSON_STRING) {
      r = hf_compile_name(c, value, &text);
      if (r == 0)
        hf_member_names_add(&c->schema->names, &values.strings, text);
    }
    if (single)
      break;
  }
  if (r < 0 || !hf_vec_push(&c->schema->enums, values))
    return hf_error_set(c->reterr, HF_ERR_NOMEM, "out of memory");
  struct hf_op op = {.code = HF_OP_ENUM,
                     .types = UINT8_MAX,
                     .keyword = single ? HF_KEYWORD_CONST : HF_KEYWORD_ENUM,
                     .node = node,
                     .a = c->schema->enums.count - 1};
  return hf_compile_op(c, &op);
}

static int compile_enum(struct hf_compiler *c) {
  uint32_t node = c->words[HF_WORD_ENUM];
  if (node != HF_JSON_NONE) {
    if (hf_json_type(c->doc, node) != HF_JSON_ARRAY)
      return hf_compile_complain(c, HF_ERR_INVALID, node, "must be an array");
    int r = compile_values(c, node, false);
    if (r < 0)
      return r;
  }
  node = c->words[HF_WORD_CONST];
  return node == HF_JSON_NONE ? 0 : compile_values(c, node, true);
}

static int compile_number(struct hf_compiler *c, enum hf_word word, enum hf_op_code code) {
  uint32_t node = c->words[word];
  if (node == HF_JSON_NONE)
    return 0;
  if (hf_json_type(c->doc, node) != HF_JSON_NUMBER)
    return hf_compile_complain(c, HF_ERR_INVALID, node, "must be a number");
  struct hf_number number = {.raw = hf_json_span(c->doc, node)};
  (void)hf_decimal_read(number.raw, &number.value);
  number.is_small = hf_number_small(number.raw, &number.small);
  if (code == HF_OP_MULTIPLE_OF && (number.value.negative || number.value.count == 0))
    return hf_compile_complain(c, HF_ERR_INVALID, node, "must be above 0");
  if (!hf_vec_push(&c->schema->numbers, number))
    return hf_error_set(c->reterr, HF_ERR_NOMEM, "out of memory");
  struct hf_op op = {.code = (uint8_t)code,
                     .types = 1 << HF_JSON_NUMBER,
                     .keyword = hf_word_row(word)->keyword,
                     .node = node,
                     .a = c->schema->numbers.count - 1};
  return hf_compile_op(c, &op);
}

/* In draft 4, whether a bound is in or out is said by a boolean beside it. */
static int compile_bound_4(struct hf_compiler *c, enum hf_word word, enum hf_op_code code, enum hf_word exclusive,
                           enum hf_op_code exclusive_code) {
  uint32_t node = c->words[exclusive];
  bool is_exclusive = false;
  if (node != HF_JSON_NONE && hf_json_bool(c->doc, node, &is_exclusive) < 0)
    return hf_compile_complain(c, HF_ERR_INVALID, node, "must be a boolean");
  return compile_number(c, word, is_exclusive ? exclusive_code : code);
}

static int compile_numbers(struct hf_compiler *c) {
  int r = compile_number(c, HF_WORD_MULTIPLE_OF, HF_OP_MULTIPLE_OF);
  if (r < 0)
    return r;
  if (c->resource->draft == HF_DRAFT_4) {
    r = compile_bound_4(c, HF_WORD_MAXIMUM, HF_OP_MAXIMUM, HF_WORD_EXCLUSIVE_MAXIMUM, HF_OP_EXCLUSIVE_MAXIMUM);
    return r < 0
               ? r
               : compile_bound_4(c, HF_WORD_MINIMUM, HF_OP_MINIMUM, HF_WORD_EXCLUSIVE_MINIMUM, HF_OP_EXCLUSIVE_MINIMUM);
  }
  static const struct {
    uint8_t word, code;
  } bounds[] = {{HF_WORD_MAXIMUM, HF_OP_MAXIMUM},
                {HF_WORD_EXCLUSIVE_MAXIMUM, HF_OP_EXCLUSIVE_MAXIMUM},
                {HF_WORD_MINIMUM, HF_OP_MINIMUM},
                {HF_WORD_EXCLUSIVE_MINIMUM, HF_OP_EXCLUSIVE_MINIMUM}};
  for (size_t i = 0; i < sizeof bounds / sizeof bounds[0] && r == 0; i++)
    r = compile_number(c, (enum hf_word)bounds[i].word, (enum hf_op_code)bounds[i].code);
  return r;
}

int hf_compile_count(struct hf_compiler *c, uint32_t node, uint32_t *ret_count) {
  int64_t value = -1;
  int r = hf_json_type(c->doc, node) == HF_JSON_NUMBER ? hf_json_int64(hf_json_span(c->doc, node), &value) : 0;
  if (r == HF_ERR_LIMIT && hf_json_span(c->doc, node).ptr[0] != '-')
    value = UINT32_MAX;
  if (r == HF_ERR_INVALID || value < 0)
    return hf_compile_complain(c, HF_ERR_INVALID, node, "must be a whole number that is not negative");
  *ret_count = value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
  return 0;
}

static int compile_counts(struct hf_compiler *c) {
  static const struct {
    uint8_t word, code, type;
  } rows[] = {
      {HF_WORD_MAX_LENGTH, HF_OP_MAX_LENGTH, HF_JSON_STRING},
      {HF_WORD_MIN_LENGTH, HF_OP_MIN_LENGTH, HF_JSON_STRING},
      {HF_WORD_MAX_ITEMS, HF_OP_MAX_ITEMS, HF_JSON_ARRAY},
      {HF_WORD_MIN_ITEMS, HF_OP_MIN_ITEMS, HF_JSON_ARRAY},
      {HF_WORD_MAX_PROPERTIES, HF_OP_MAX_PROPERTIES, HF_JSON_OBJECT},
      {HF_WORD_MIN_PROPERTIES, HF_OP_MIN_PROPERTIES, HF_JSON_OBJECT},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    uint32_t node = c->words[rows[i].word];
    if (node == HF_JSON_NONE)
      continue;
    struct hf_op op = {.code = rows[i].code,
                       .types = hf_type_bit((enum hf_json_type)rows[i].type),
                       .keyword = hf_word_row((enum hf_word)rows[i].word)->keyword,
                       .node = node};
    int r = hf_compile_count(c, node, &op.a);
    if (r == 0)
      r = hf_compile_op(c, &op);
    if (r < 0)
      return r;
  }
  return 0;
}

int hf_compile_regex(struct hf_compiler *c, uint32_t node, uint32_t *ret_regex) {
  struct hf_str text;
  int r = hf_compile_text(c, node, &text);
  if (r < 0)
    return r;
  if (c->schema->regexes.count >= HF_SCHEMA_PATTERNS_MAX)
    return hf_compile_complain(c, HF_ERR_LIMIT, node, "is one pattern too many");
  struct hf_regex *regex;
  struct hf_error why = {0};
  r = hf_regex_compile(text, &regex, &why);
  if (r < 0) {
    r = hf_compile_complain(c, r, node, "is a pattern that cannot be used");
    if (c->reterr && why.code < 0) {
      struct hf_error where = *c->reterr;
      (void)hf_error_set(c->reterr, r, "%.250s: %.250s", where.text, why.text);
    }
    return r;
  }
  if (!hf_vec_push(&c->schema->regexes, regex)) {
    hf_regex_free(regex);
    return hf_error_set(c->reterr, HF_ERR_NOMEM, "out of memory");
  }
  c->schema->regex_bytes += hf_regex_size(regex);
  if (c->schema->regex_bytes > HF_SCHEMA_PATTERN_MEMORY_MAX)
    return hf_compile_complain(c, HF_ERR_LIMIT, node, "makes the patterns too large");
  *ret_regex = c->schema->regexes.count - 1;
  return 0;
}

static int compile_pattern(struct hf_compiler *c) {
  uint32_t node = c->words[HF_WORD_PATTERN];
  if (node == HF_JSON_NONE)
    return 0;
  struct hf_op op = {.code = HF_OP_PATTERN, .types = 1 << HF_JSON_STRING, .keyword = HF_KEYWORD_PATTERN, .node = node};
  int r = hf_compile_regex(c, node, &op.a);
  return r < 0 ? r : hf_compile_op(c, &op);
}

static int compile_format(struct hf_compiler *c) {
  uint32_t node = c->words[HF_WORD_FORMAT];
  if (node == HF_JSON_NONE ||
      !(c->options->assert_format || (c->resource->vocabularies & HF_VOCABULARY_FORMAT_ASSERTION)))
    return 0;
  struct hf_str name;
  int r = hf_compile_text(c, node, &name);
  if (r < 0)
    return r;
  hf_format_check check = hf_format_find(name);
  if (!check)
    return 0;
  if (!hf_vec_push(&c->schema->formats, check))
    return hf_error_set(c->reterr, HF_ERR_NOMEM, "out of memory");
  struct hf_op op = {.code = HF_OP_FORMAT,
                     .types = 1 << HF_JSON_STRING,
                     .keyword = HF_KEYWORD_FORMAT,
                     .node = node,
                     .a = c->schema->formats.count - 1};
  return hf_compile_op(c, &op);
}

int hf_compile_assertions(struct hf_compiler *c) {
  static int (*const parts[])(struct hf_compiler *) = {
      compile_enum, compile_numbers, compile_counts, compile_pattern, compile_format,
  };
  int r = 0;
  for (size_t i = 0; i < sizeof parts / sizeof parts[0] && r == 0; i++)
    r = parts[i](c);
  return r;
}
