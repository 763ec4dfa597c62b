#include "weak_model.h"

#include "json/write.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DRAWS_MAX = 50, TEXT_MAX = 4096 };

static const unsigned counts[WEAK_FAULT_COUNT] = {
#define COUNT(name, count) [WEAK_##name] = (count),
    WEAK_FAULT_LIST(COUNT)
#undef COUNT
};

static bool chance(struct weak_model *model, unsigned percent) {
  return hf_random_below(&model->random, 100) < percent;
}

static void put(struct hf_buf *out, const char *text) {
  if (hf_buf_append(out, text, strlen(text)) < 0)
    abort();
}

static bool is_left_out(const struct task_argument *argument) {
  return strcmp(argument->value, "null") == 0;
}

static bool is_camel(const char *name) {
  for (; *name; name++)
    if (*name >= 'A' && *name <= 'Z')
      return true;
  return false;
}

static bool is_of_whole(enum weak_fault fault) {
  return fault == WEAK_TOOL || fault == WEAK_EXTRA || fault == WEAK_WRAPPED;
}

/* Can this argument be wrong in this way? */
static bool applies(enum weak_fault fault, const struct task_argument *a) {
  if (is_left_out(a))
    return fault == WEAK_NULL;
  switch ((int)fault) {
  case WEAK_STRINGIFIED:
    return a->type == TASK_LIST || a->type == TASK_OBJECT;
  case WEAK_BOOLEAN_TEXT:
    return a->type == TASK_BOOLEAN;
  case WEAK_MISSING:
    return a->needed;
  case WEAK_CHOICE_OTHER:
  case WEAK_CHOICE_CASE:
    return a->type == TASK_CHOICE;
  case WEAK_SCALAR:
    return a->type == TASK_LIST;
  case WEAK_LIST:
    return a->type == TASK_TEXT;
  case WEAK_NUMBER_TEXT:
    return a->type == TASK_INTEGER || a->type == TASK_NUMBER;
  case WEAK_FRACTION:
    return a->type == TASK_INTEGER;
  case WEAK_SPELLING:
    return is_camel(a->name);
  case WEAK_OTHER_TYPE:
    return a->type != TASK_OBJECT;
  case WEAK_SYNONYM:
    return true;
  }
  return false;
}

static enum weak_fault draw_fault(struct weak_model *model) {
  unsigned total = 0;
  for (int i = 1; i < WEAK_FAULT_COUNT; i++)
    total += counts[i];
  unsigned at = (unsigned)hf_random_below(&model->random, total);
  int fault = 1;
  while (at >= counts[fault])
    at -= counts[fault++];
  return (enum weak_fault)fault;
}

/* Draws until the mistake is one that can be made with this tool. */
static void make_mistake(struct weak_model *model, struct weak_call *call) {
  for (int draws = 0; draws < DRAWS_MAX; draws++) {
    enum weak_fault fault = draw_fault(model);
    call->variant = (unsigned)hf_random_below(&model->random, 2);
    if (is_of_whole(fault)) {
      call->whole = fault;
      return;
    }
    size_t first = hf_random_below(&model->random, call->tool->argument_count);
    for (size_t i = 0; i < call->tool->argument_count; i++) {
      size_t at = (first + i) % call->tool->argument_count;
      if (applies(fault, &call->tool->arguments[at])) {
        call->faults[at] = fault;
        return;
      }
    }
  }
}

struct weak_call weak_model_start(struct weak_model *model, const struct task_tool *tool) {
  struct weak_call call = {.tool = tool};
  /* One mistake is often not the only one. */
  for (int i = 0; i < TASK_ARGUMENTS_MAX && chance(model, i == 0 ? model->mistakes : 25); i++)
    make_mistake(model, &call);
  return call;
}

bool weak_call_is_right(const struct weak_call *call) {
  for (size_t i = 0; i < call->tool->argument_count; i++)
    if (call->faults[i])
      return false;
  return call->whole == WEAK_FINE;
}

void weak_call_name(const struct weak_call *call, struct hf_buf *out) {
  const char *name = call->tool->name;
  if (call->whole != WEAK_TOOL) {
    put(out, name);
  } else if (call->variant == 0) {
    for (; *name; name++)
      put(out, (char[2]){*name == '_' ? '-' : *name, '\0'});
  } else {
    put(out, "run_");
    put(out, strchr(name, '_') + 1);
  }
}

static void put_escaped(struct hf_buf *out, const char *text) {
  if (hf_json_escape(out, hf_str_from(text)) < 0)
    abort();
}

/* A list or object as Python prints it. */
static void put_python(struct hf_buf *out, const char *raw) {
  char text[TEXT_MAX];
  size_t len = 0;
  for (; *raw && len < sizeof text - 5; raw++) {
    if (strncmp(raw, "true", 4) == 0) {
      memcpy(text + len, "True", 4);
      len += 4;
      raw += 3;
    } else {
      text[len++] = (char)(*raw == '"' ? '\'' : *raw);
    }
  }
  text[len] = '\0';
  put_escaped(out, text);
}

/* The elements of a list of strings, with commas, as one string. */
static void put_joined(struct hf_buf *out, const char *raw) {
  put(out, "\"");
  for (; *raw; raw++)
    if (!strchr("[]\"", *raw))
      put(out, (char[2]){*raw, '\0'});
  put(out, "\"");
}

static void put_case(struct hf_buf *out, const char *raw) {
  for (; *raw; raw++) {
    bool lower = *raw >= 'a' && *raw <= 'z', upper = *raw >= 'A' && *raw <= 'Z';
    put(out, (char[2]){(char)(lower ? *raw - 'a' + 'A' : upper ? *raw - 'A' + 'a' : *raw), '\0'});
  }
}

static void put_quoted(struct hf_buf *out, const char *raw) {
  put(out, "\"");
  put(out, raw);
  put(out, "\"");
}

/* The value of an argument, as wrong as it is. */
static void put_value(struct hf_buf *out, const struct weak_call *call, size_t at) {
  const char *value = call->tool->arguments[at].value;
  switch ((int)call->faults[at]) {
  case WEAK_STRINGIFIED:
    call->variant ? put_python(out, value) : put_escaped(out, value);
    return;
  case WEAK_NULL:
    put(out, "null");
    return;
  case WEAK_BOOLEAN_TEXT:
    put(out, strcmp(value, "true") == 0 ? (call->variant ? "\"True\"" : "\"true\"")
                                        : (call->variant ? "\"False\"" : "\"false\""));
    return;
  case WEAK_CHOICE_OTHER:
    put(out, "\"default\"");
    return;
  case WEAK_SCALAR:
    put_joined(out, value);
    return;
  case WEAK_LIST:
    put(out, "[");
    put(out, value);
    put(out, ",\"another\"]");
    return;
  case WEAK_CHOICE_CASE:
    put_case(out, value);
    return;
  case WEAK_OTHER_TYPE:
    put(out, "{\"type\":\"value\",\"value\":");
    put(out, value);
    put(out, "}");
    return;
  case WEAK_NUMBER_TEXT:
    put_quoted(out, value);
    return;
  case WEAK_FRACTION:
    put(out, value);
    put(out, ".5");
    return;
  default:
    put(out, value);
  }
}

static void put_key(struct hf_buf *out, const struct weak_call *call, size_t at) {
  const char *name = call->tool->arguments[at].name;
  put(out, "\"");
  for (; call->faults[at] != WEAK_SYNONYM && *name; name++) {
    bool upper = call->faults[at] == WEAK_SPELLING && *name >= 'A' && *name <= 'Z';
    put(out, upper ? "_" : "");
    put(out, (char[2]){(char)(upper ? *name - 'A' + 'a' : *name), '\0'});
  }
  put(out, call->faults[at] == WEAK_SYNONYM ? "value\":" : "\":");
}

void weak_call_arguments(const struct weak_call *call, struct hf_buf *out) {
  put(out, call->whole == WEAK_WRAPPED ? "{\"params\":{" : "{");
  const char *between = "";
  for (size_t i = 0; i < call->tool->argument_count; i++) {
    enum weak_fault fault = call->faults[i];
    if (fault == WEAK_MISSING || (is_left_out(&call->tool->arguments[i]) && fault != WEAK_NULL))
      continue;
    put(out, between);
    put_key(out, call, i);
    put_value(out, call, i);
    between = ",";
  }
  if (call->whole == WEAK_EXTRA) {
    put(out, between);
    put(out, "\"verbose\":true");
  }
  put(out, call->whole == WEAK_WRAPPED ? "}}" : "}");
}

/* Is a word, raw JSON without its quotes, in the text? */
static bool says(const char *text, const char *raw) {
  char word[TEXT_MAX];
  size_t len = strlen(raw);
  bool quoted = len > 1 && raw[0] == '"';
  assert(len < sizeof word);
  memcpy(word, raw + quoted, len - 2 * (size_t)quoted);
  word[len - 2 * (size_t)quoted] = '\0';
  return strstr(text, word) != NULL;
}

/* Does the text say what is wrong with this argument, and what would be right? */
static bool is_told(const struct weak_call *call, size_t at, const char *text) {
  const struct task_argument *a = &call->tool->arguments[at];
  switch ((int)call->faults[at]) {
  case WEAK_CHOICE_OTHER:
  case WEAK_CHOICE_CASE:
    return says(text, a->value);
  case WEAK_MISSING:
  case WEAK_SYNONYM:
  case WEAK_SPELLING:
    return says(text, a->name);
  }
  struct hf_buf sent;
  hf_buf_init(&sent, TEXT_MAX);
  put_value(&sent, call, at);
  put(&sent, "");
  if (hf_buf_append(&sent, "", 1) < 0)
    abort();
  bool told = says(text, task_type_name(a->type)) && (says(text, a->name) || says(text, sent.data));
  hf_buf_deinit(&sent);
  return told;
}

static bool is_told_of_whole(const struct weak_call *call, const char *text) {
  if (call->whole == WEAK_TOOL)
    return says(text, call->tool->name);
  return says(text, call->whole == WEAK_EXTRA ? "verbose" : call->tool->arguments[0].name);
}

static bool mends(struct weak_model *model, bool told) {
  return chance(model, told ? model->follow : model->luck);
}

void weak_model_read(struct weak_model *model, struct weak_call *call, const char *text) {
  for (size_t i = 0; i < call->tool->argument_count; i++)
    if (call->faults[i] && mends(model, is_told(call, i, text)))
      call->faults[i] = WEAK_FINE;
  if (call->whole && mends(model, is_told_of_whole(call, text)))
    call->whole = WEAK_FINE;
}
