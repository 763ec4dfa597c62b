#include "daemon/option_json.h"

#include "json/number.h"
#include "json/pointer.h"
#include "json/template.h"
#include "json/write.h"

#include <stdio.h>

enum { SHOWN_MAX = 60 };

static bool is_one_of(struct hf_str text, const char *words) {
  return hf_choice_find(words, text) >= 0;
}

static void write_word(struct hf_json_writer *w, struct hf_str text) {
  struct hf_decimal number;
  if (is_one_of(text, "true|True|TRUE"))
    hf_json_write_bool(w, true);
  else if (is_one_of(text, "false|False|FALSE"))
    hf_json_write_bool(w, false);
  else if (hf_decimal_read(text, &number) == 0)
    hf_json_write_raw(w, text);
  else
    hf_json_write_str(w, text);
}

/* As deep as the document is (HF_DOCUMENT_DEPTH_MAX). What it leaves open after an error is thrown away. */
static int write_node(const struct hf_reader *reader, const char *path, const struct hf_node *node,
                      struct hf_json_writer *w) {
  struct hf_str text = {NULL, 0};
  int r = 0;
  switch (node->kind) {
  case HF_NODE_NULL:
    hf_json_write_null(w);
    break;
  case HF_NODE_SCALAR:
    r = hf_option_expand(reader, path, node, &text);
    if (r == 0 && node->quoted)
      hf_json_write_str(w, text);
    else if (r == 0)
      write_word(w, text);
    break;
  case HF_NODE_SEQUENCE:
    hf_json_write_array(w);
    for (const struct hf_node *item = node->first; item && r == 0; item = item->next)
      r = write_node(reader, path, item, w);
    if (r == 0)
      hf_json_write_array_end(w);
    break;
  case HF_NODE_MAPPING:
    hf_json_write_object(w);
    for (const struct hf_node *item = node->first; item && r == 0; item = item->next) {
      hf_json_write_key_str(w, item->key);
      r = write_node(reader, path, item, w);
    }
    if (r == 0)
      hf_json_write_object_end(w);
    break;
  }
  return r;
}

/* Any value; with `text`, a scalar as a string whatever it looks like. */
static int read_raw(const struct hf_reader *reader, const char *path, const struct hf_node *node, bool text,
                    struct hf_str *ret_raw) {
  const size_t errors = reader->problems->errors;
  struct hf_node value = *node;
  value.quoted = node->quoted || text;
  struct hf_buf buf;
  struct hf_json_writer w;
  hf_buf_init(&buf, HF_OPTION_JSON_MAX);
  hf_json_writer_init(&w, &buf);
  int r = write_node(reader, path, &value, &w);
  if (r == 0)
    r = hf_json_write_finish(&w);
  if (r == HF_ERR_LIMIT) {
    hf_problems_error(reader->problems, node->place, "%s: larger than %d bytes as JSON", path, HF_OPTION_JSON_MAX);
    r = 0;
  } else if (r == 0 && reader->problems->errors == errors) {
    struct hf_str raw = hf_arena_copy(reader->arena, hf_buf_str(&buf));
    r = raw.ptr ? 0 : HF_ERR_NOMEM;
    if (r == 0)
      *ret_raw = raw;
  }
  hf_buf_deinit(&buf);
  return r;
}

static bool has_variable(const struct hf_node *node) {
  if (node->kind == HF_NODE_SCALAR && memmem(node->text.ptr, node->text.len, "${", 2))
    return true;
  for (const struct hf_node *item = node->first; item; item = item->next)
    if (has_variable(item))
      return true;
  return false;
}

/* The reason may quote the template, and must not when a variable is in it. Returns 0 or HF_ERR_NOMEM. */
static int check_template(const struct hf_reader *reader, const struct hf_option *option, const struct hf_node *node,
                          struct hf_str raw) {
  struct hf_error error = {0};
  int r = hf_template_check(raw, &error);
  if (r == HF_ERR_NOMEM)
    return r;
  if (r < 0)
    hf_problems_error(reader->problems, node->place, "%s: this template cannot be read: %s", option->path,
                      has_variable(node) ? hf_err_text(r) : error.text);
  return 0;
}

/* A text where an object may stand must be one hole, which becomes the object that it finds. */
static bool is_hole(struct hf_str text) {
  const char *end = text.len ? memmem(text.ptr, text.len, "}}", 2) : NULL;
  return end && hf_str_starts(text, HF_STR("{{")) && end == text.ptr + text.len - 2;
}

static bool is_of_kind(const struct hf_reader *reader, const struct hf_option *option, const struct hf_node *node) {
  bool object = strstr(option->choices, "object") != NULL;
  bool text = strstr(option->choices, "text") != NULL;
  if (object && text && node->kind == HF_NODE_SCALAR && !is_hole(node->text)) {
    hf_problems_error(reader->problems, node->place,
                      "%s: a mapping is needed here, or one hole that stands for an object, such as \"{{}}\"",
                      option->path);
    return false;
  }
  if (object && text && node->kind == HF_NODE_SCALAR)
    return true;
  return hf_option_wants(reader, option->path, node, object ? HF_NODE_MAPPING : HF_NODE_SCALAR);
}

int hf_option_json(const struct hf_reader *reader, const struct hf_option *option, const struct hf_node *node,
                   struct hf_str *ret_raw) {
  if (!is_of_kind(reader, option, node))
    return 0;
  struct hf_str raw = {NULL, 0};
  int r = read_raw(reader, option->path, node, node->kind == HF_NODE_SCALAR, &raw);
  if (r == 0 && raw.ptr && option->type == HF_OPTION_TEMPLATE)
    r = check_template(reader, option, node, raw);
  if (r == 0 && raw.ptr)
    *ret_raw = raw;
  return r;
}

static const char operators[] = "equals|not|exists|contains|atLeast";

static void tell_unknown(const struct hf_reader *reader, const char *path, const struct hf_node *entry) {
  static const char *const keys[] = {"pointer", "equals", "not", "exists", "contains", "atLeast", NULL};
  const char *nearest = hf_nearest(entry->key, keys);
  hf_problems_error(reader->problems, entry->place, "unknown key '%.*s' in %s%s%s%s",
                    (int)(entry->key.len < SHOWN_MAX ? entry->key.len : SHOWN_MAX), entry->key.ptr, path,
                    nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

static int read_pointer(const struct hf_reader *reader, const char *path, const struct hf_node *node,
                        struct hf_str *ret_pointer) {
  struct hf_str text = {NULL, 0};
  struct hf_error error = {0};
  if (!hf_option_wants(reader, path, node, HF_NODE_SCALAR))
    return 0;
  int r = hf_option_expand(reader, path, node, &text);
  if (r < 0 || !text.ptr)
    return r;
  if (hf_json_pointer_check(text, &error) < 0) {
    hf_problems_error(reader->problems, node->place,
                      "%s.pointer is no JSON Pointer such as /structuredContent/status%s%s", path,
                      has_variable(node) ? "" : ": ", has_variable(node) ? "" : error.text);
    return 0;
  }
  *ret_pointer = hf_arena_copy(reader->arena, text);
  return ret_pointer->ptr ? 0 : HF_ERR_NOMEM;
}

static void check_operand(const struct hf_reader *reader, const char *path, const struct hf_node *node,
                          enum hf_operator op, struct hf_str value) {
  struct hf_decimal number;
  bool flag = hf_str_equal(value, HF_STR("true")) || hf_str_equal(value, HF_STR("false"));
  if (op == HF_OPERATOR_EXISTS && !flag)
    hf_problems_error(reader->problems, node->place, "%s.exists must be true or false", path);
  else if (op == HF_OPERATOR_AT_LEAST && hf_decimal_read(value, &number) < 0)
    hf_problems_error(reader->problems, node->place, "%s.atLeast must be a number", path);
}

static int read_operand(const struct hf_reader *reader, const char *path, const struct hf_node *node,
                        enum hf_operator op, struct hf_condition *condition) {
  struct hf_str value = {NULL, 0};
  if (condition->value.ptr) {
    hf_problems_error(reader->problems, node->place, "%s: only one of %s may stand here", path, operators);
    return 0;
  }
  int r = read_raw(reader, path, node, false, &value);
  if (r < 0 || !value.ptr)
    return r;
  check_operand(reader, path, node, op, value);
  *condition = (struct hf_condition){.pointer = condition->pointer, .op = op, .value = value};
  return 0;
}

int hf_option_condition(const struct hf_reader *reader, const struct hf_option *option, const struct hf_node *node,
                        struct hf_condition *ret_condition) {
  struct hf_condition condition = {0};
  const size_t errors = reader->problems->errors;
  if (!hf_option_wants(reader, option->path, node, HF_NODE_MAPPING))
    return 0;
  int r = 0;
  for (const struct hf_node *entry = node->first; entry && r == 0; entry = entry->next) {
    int op = hf_choice_find(operators, entry->key);
    if (op >= 0)
      r = read_operand(reader, option->path, entry, (enum hf_operator)op, &condition);
    else if (hf_str_equal(entry->key, HF_STR("pointer")))
      r = read_pointer(reader, option->path, entry, &condition.pointer);
    else
      tell_unknown(reader, option->path, entry);
  }
  if (r < 0 || reader->problems->errors > errors)
    return r;
  if (!condition.pointer.ptr || !condition.value.ptr)
    hf_problems_error(reader->problems, node->place, "%s needs '%s'", option->path,
                      condition.pointer.ptr ? "equals', 'not', 'exists', 'contains' or 'atLeast" : "pointer");
  else
    *ret_condition = condition;
  return 0;
}
