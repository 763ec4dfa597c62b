#include "daemon/options.h"

#include "daemon/option_json.h"
#include "daemon/quantity.h"
#include "daemon/tool_name.h"
#include "mcp/field_value.h"
#include "upstream/own_header.h"

#include <arpa/inet.h>
#include <stdio.h>

enum { SHOWN_MAX = 60, KEYS_MAX = 128, KEY_MAX_BYTES = 32, PATH_MAX_BYTES = 96, PORT_MAX = 65535, KEY_NAME_MAX = 128 };

int hf_choice_find(const char *choices, struct hf_str word) {
  int index = 0;
  for (struct hf_str rest = hf_str_from(choices);; index++) {
    const char *bar = memchr(rest.ptr, '|', rest.len);
    struct hf_str choice = {rest.ptr, bar ? (size_t)(bar - rest.ptr) : rest.len};
    if (hf_str_equal(choice, word))
      return index;
    if (!bar)
      return -1;
    rest = (struct hf_str){bar + 1, rest.len - choice.len - 1};
  }
}

static void *target_of(const struct hf_option *option, const struct hf_targets *targets) {
  char *base = NULL;
  switch (option->scope) {
  case HF_SCOPE_TOP:
    base = (char *)targets->top;
    break;
  case HF_SCOPE_SERVER:
    base = (char *)targets->server;
    break;
  case HF_SCOPE_POLICY:
    base = (char *)targets->policy;
    break;
  case HF_SCOPE_PROVIDER:
    base = (char *)targets->provider;
    break;
  case HF_SCOPE_TOOL:
    base = (char *)targets->tool;
    break;
  case HF_SCOPE_ANSWER:
    base = (char *)targets->answer;
    break;
  case HF_SCOPE_ROUTE:
    base = (char *)targets->route;
    break;
  case HF_SCOPE_TARGET:
    base = (char *)targets->target;
    break;
  }
  return base ? base + option->offset : NULL;
}

/* Reads a number of the option's unit. */
static int read_number(enum hf_option_type type, struct hf_str text, uint64_t *ret_number) {
  hf_time duration;
  unsigned long long count;
  int r;
  switch ((int)type) {
  case HF_OPTION_DURATION:
    r = hf_duration_parse(text, &duration);
    if (r == 0)
      *ret_number = (uint64_t)duration;
    return r;
  case HF_OPTION_SIZE:
    return hf_size_parse(text, ret_number);
  case HF_OPTION_PERCENT:
    return hf_percent_parse(text, ret_number);
  default:
    r = hf_str_to_u64(text, UINT64_MAX, &count);
    if (r == 0)
      *ret_number = count;
    return r;
  }
}

static const char *unit_hint(enum hf_option_type type) {
  switch ((int)type) {
  case HF_OPTION_DURATION:
    return "a duration such as 500ms, 2s, 5m or 1h";
  case HF_OPTION_SIZE:
    return "a size such as 4096, 64KiB or 16MiB";
  case HF_OPTION_PERCENT:
    return "a percentage such as 50%";
  default:
    return "a whole number";
  }
}

/* What may be quoted of a value: nothing of a secret one, and never what a variable held. */
static const char *shown(const struct hf_option *option, const struct hf_node *node, char text[SHOWN_MAX + 8]) {
  int len = node->text.len > SHOWN_MAX ? SHOWN_MAX : (int)node->text.len;
  int n = option->secret
              ? 0
              : snprintf(text, SHOWN_MAX + 8, "'%.*s%s'", len, node->text.ptr, node->text.len > SHOWN_MAX ? "…" : "");
  return n <= 0 ? "the value" : text;
}

static void store_number(enum hf_option_type type, void *member, uint64_t number) {
  if (type == HF_OPTION_DURATION)
    *(hf_time *)member = (hf_time)number;
  else
    *(uint32_t *)member = (uint32_t)number;
}

static void set_number(const struct hf_reader *reader, const struct hf_option *option, const struct hf_node *node,
                       struct hf_str text, void *member) {
  char quoted[SHOWN_MAX + 8];
  uint64_t number = 0;
  uint64_t min = 0;
  uint64_t max = 0;
  int r = read_number(option->type, text, &number);
  if (r == HF_ERR_SYNTAX) {
    hf_problems_error(reader->problems, node->place, "%s: %s is not %s", option->path, shown(option, node, quoted),
                      unit_hint(option->type));
    return;
  }
  bool low = r == 0 && option->min && read_number(option->type, hf_str_from(option->min), &min) == 0 && number < min;
  bool high = r < 0 || (option->max && read_number(option->type, hf_str_from(option->max), &max) == 0 && number > max);
  if (low)
    hf_problems_error(reader->problems, node->place, "%s: %s is too small: the least is %s", option->path,
                      shown(option, node, quoted), option->min);
  else if (high)
    hf_problems_error(reader->problems, node->place, "%s: %s is too large: the most is %s", option->path,
                      shown(option, node, quoted), option->max);
  else
    store_number(option->type, member, number);
}

static void set_flag(const struct hf_reader *reader, const struct hf_option *option, const struct hf_node *node,
                     struct hf_str text, bool *member) {
  char quoted[SHOWN_MAX + 8];
  if (hf_str_equal(text, HF_STR("true")))
    *member = true;
  else if (hf_str_equal(text, HF_STR("false")))
    *member = false;
  else
    hf_problems_error(reader->problems, node->place, "%s: %s is neither true nor false", option->path,
                      shown(option, node, quoted));
}

static bool check_choice(const struct hf_reader *reader, const struct hf_option *option, const struct hf_node *node,
                         struct hf_str text, int *ret_index) {
  char quoted[SHOWN_MAX + 8];
  *ret_index = hf_choice_find(option->choices, text);
  if (*ret_index < 0)
    hf_problems_error(reader->problems, node->place, "%s: %s is not one of %s", option->path,
                      shown(option, node, quoted), option->choices);
  return *ret_index >= 0;
}

int hf_option_expand(const struct hf_reader *reader, const char *path, const struct hf_node *node,
                     struct hf_str *ret_text) {
  struct hf_str name = {NULL, 0};
  *ret_text = (struct hf_str){NULL, 0};
  int r = hf_expand(reader->arena, node->text, reader->variable, ret_text, &name);
  if (r == HF_ERR_NOTFOUND && reader->missing) {
    if (!reader->missing->ptr)
      *reader->missing = hf_arena_printf(reader->arena, "the variable '%.*s' in %s is not set", HF_STR_FMT(name), path);
    return reader->missing->ptr ? 0 : HF_ERR_NOMEM;
  }
  if (r == HF_ERR_NOTFOUND)
    hf_problems_error(reader->problems, node->place, "%s: the variable '%.*s' is not set", path, HF_STR_FMT(name));
  else if (r == HF_ERR_SYNTAX || r == HF_ERR_LIMIT)
    hf_problems_error(reader->problems, node->place,
                      "%s: cannot expand '${…}': write ${NAME} or ${NAME:-text}, and $${ for a literal ${", path);
  return r == HF_ERR_NOMEM ? r : 0;
}

/* Copies a string for the settings; absent stays absent. */
static int keep(const struct hf_reader *reader, struct hf_str text, struct hf_str *ret_copy) {
  if (!text.ptr)
    return 0;
  struct hf_str copy = hf_arena_copy(reader->arena, text);
  if (!copy.ptr)
    return HF_ERR_NOMEM;
  *ret_copy = copy;
  return 0;
}

bool hf_option_wants(const struct hf_reader *reader, const char *path, const struct hf_node *node,
                     enum hf_node_kind kind) {
  if (node->kind == kind)
    return true;
  hf_problems_error(reader->problems, node->place, "%s: %s is needed here, not %s", path, hf_node_kind_name(kind),
                    hf_node_kind_name(node->kind));
  return false;
}

static int set_texts(const struct hf_reader *reader, const struct hf_option *option, const struct hf_node *node,
                     struct hf_strings *member) {
  bool pairs = option->type == HF_OPTION_PAIRS;
  if (!hf_option_wants(reader, option->path, node, pairs ? HF_NODE_MAPPING : HF_NODE_SEQUENCE))
    return 0;
  struct hf_strings list = {.item = hf_arena_alloc(reader->arena, (node->count + 1) * sizeof(struct hf_str))};
  if (!list.item)
    return HF_ERR_NOMEM;
  for (const struct hf_node *item = node->first; item; item = item->next) {
    if (item->kind != HF_NODE_SCALAR && !(pairs && item->kind == HF_NODE_NULL)) {
      hf_problems_error(reader->problems, item->place, "%s: each entry must be a string, not %s", option->path,
                        hf_node_kind_name(item->kind));
      continue;
    }
    char where[PATH_MAX_BYTES];
    if (snprintf(where, sizeof where, pairs ? "%s.%.*s" : "%s", option->path, HF_STR_FMT(item->key)) < 0)
      where[0] = '\0';
    struct hf_str text;
    int r = hf_option_expand(reader, where, item, &text);
    if (r == 0 && text.ptr)
      text =
          pairs ? hf_arena_printf(reader->arena, "%.*s%s%.*s", HF_STR_FMT(item->key), option->choices, HF_STR_FMT(text))
                : hf_arena_copy(reader->arena, text);
    else if (r == 0)
      continue;
    if (r < 0 || !text.ptr)
      return HF_ERR_NOMEM;
    list.item[list.count++] = text;
  }
  *member = list;
  return 0;
}

static int set_statuses(const struct hf_reader *reader, const struct hf_option *option, const struct hf_node *node,
                        struct hf_server_settings *server) {
  if (!hf_option_wants(reader, option->path, node, HF_NODE_SEQUENCE))
    return 0;
  uint16_t *list = hf_arena_alloc(reader->arena, (node->count + 1) * sizeof *list);
  if (!list)
    return HF_ERR_NOMEM;
  size_t count = 0;
  for (const struct hf_node *item = node->first; item; item = item->next) {
    unsigned long long status;
    if (item->kind != HF_NODE_SCALAR || hf_str_to_u64(item->text, 599, &status) < 0 || status < 400)
      hf_problems_error(reader->problems, item->place, "%s: each entry must be an HTTP status from 400 to 599",
                        option->path);
    else
      list[count++] = (uint16_t)status;
  }
  server->not_executed = list;
  server->not_executed_count = count;
  return 0;
}

/* "host:port", "[::1]:port", ":port" (loopback). */
static int set_address(const struct hf_reader *reader, const struct hf_option *option, const struct hf_node *node,
                       struct hf_str text, struct hf_settings *settings) {
  char quoted[SHOWN_MAX + 8];
  const char *colon = text.len ? memrchr(text.ptr, ':', text.len) : NULL;
  struct hf_str host = {text.ptr, colon ? (size_t)(colon - text.ptr) : 0};
  struct hf_str port_text = colon ? (struct hf_str){colon + 1, text.len - host.len - 1} : HF_STR("");
  if (host.len >= 2 && host.ptr[0] == '[' && host.ptr[host.len - 1] == ']')
    host = (struct hf_str){host.ptr + 1, host.len - 2};
  else if (host.len && memchr(host.ptr, ':', host.len))
    colon = NULL;
  unsigned long long port;
  if (!colon || hf_str_to_u64(port_text, PORT_MAX, &port) < 0) {
    hf_problems_error(reader->problems, node->place,
                      "%s: %s is not an address such as 127.0.0.1:8080, [::1]:8080 or localhost:8080", option->path,
                      shown(option, node, quoted));
    return 0;
  }
  settings->listen_port = (uint16_t)port;
  return keep(reader, host.len ? host : HF_STR("127.0.0.1"), &settings->listen_host);
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool read_hash(struct hf_str text, uint8_t hash[32]) {
  if (!hf_str_starts(text, HF_STR("sha256:")) || text.len != 7 + 64)
    return false;
  for (size_t i = 0; i < 32; i++) {
    int high = hex_digit(text.ptr[7 + 2 * i]);
    int low = hex_digit(text.ptr[8 + 2 * i]);
    if (high < 0 || low < 0)
      return false;
    hash[i] = (uint8_t)(high << 4 | low);
  }
  return true;
}

static int set_tokens(const struct hf_reader *reader, const struct hf_option *option, const struct hf_node *node,
                      struct hf_settings *settings) {
  if (!hf_option_wants(reader, option->path, node, HF_NODE_MAPPING))
    return 0;
  struct hf_principal_settings *list = hf_arena_alloc(reader->arena, (node->count + 1) * sizeof *list);
  if (!list)
    return HF_ERR_NOMEM;
  size_t count = 0;
  for (const struct hf_node *item = node->first; item; item = item->next) {
    struct hf_str text = {NULL, 0};
    int r = item->kind == HF_NODE_SCALAR ? hf_option_expand(reader, option->path, item, &text) : 0;
    if (r < 0)
      return r;
    if (!item->key.len || !text.ptr || !read_hash(text, list[count].token_sha256))
      hf_problems_error(reader->problems, item->place,
                        "%s: '%.*s' must be \"sha256:\" and 64 hexadecimal digits; `holdfast token` makes a token and "
                        "prints this",
                        option->path, (int)(item->key.len < SHOWN_MAX ? item->key.len : SHOWN_MAX), item->key.ptr);
    else if ((r = keep(reader, item->key, &list[count].name)) < 0)
      return r;
    else
      count++;
  }
  settings->principals = list;
  settings->principal_count = count;
  return 0;
}

/* Where a keyed tool takes its key: the last part of the option's path. */
static int set_key(const struct hf_reader *reader, const struct hf_option *option, const struct hf_node *node,
                   struct hf_str text, struct hf_key_settings *key) {
  char quoted[SHOWN_MAX + 8];
  const char *last = strrchr(option->path, '.');
  int place = last ? hf_choice_find("argument|meta|header", hf_str_from(last + 1)) : -1;
  bool header = place + 1 == HF_KEY_HEADER;
  if (key->place != HF_KEY_NONE) {
    hf_problems_error(reader->problems, node->place, "%s: only one of argument, meta and header takes the key",
                      option->path);
  } else if (text.len == 0 || text.len > KEY_NAME_MAX) {
    hf_problems_error(reader->problems, node->place, "%s: a name of 1 to %d bytes is needed here", option->path,
                      KEY_NAME_MAX);
  } else if (header && !hf_field_name_valid(text)) {
    hf_problems_error(reader->problems, node->place, "%s: %s is no header name", option->path,
                      shown(option, node, quoted));
  } else if (header && hf_own_header(text)) {
    hf_problems_error(reader->problems, node->place, "%s: %s is set by holdfast itself", option->path,
                      shown(option, node, quoted));
  } else {
    key->place = (enum hf_key_place)(place + 1);
    return keep(reader, text, &key->name);
  }
  return 0;
}

static int set_scalar(const struct hf_reader *reader, const struct hf_option *option, const struct hf_node *node,
                      const struct hf_targets *targets) {
  void *member = target_of(option, targets);
  struct hf_str text;
  int index;
  int r = hf_option_expand(reader, option->path, node, &text);
  if (r < 0 || !text.ptr)
    return r;
  switch ((int)option->type) {
  case HF_OPTION_FLAG:
    set_flag(reader, option, node, text, member);
    return 0;
  case HF_OPTION_CHOICE:
    if (check_choice(reader, option, node, text, &index))
      *(unsigned *)member = (unsigned)index;
    return 0;
  case HF_OPTION_WORD:
    return check_choice(reader, option, node, text, &index) ? keep(reader, text, member) : 0;
  case HF_OPTION_TEXT:
    return keep(reader, text, member);
  case HF_OPTION_ADDRESS:
    return set_address(reader, option, node, text, targets->top);
  case HF_OPTION_TOOL:
    return hf_tool_name_read(reader, option->path, node->place, text, member);
  case HF_OPTION_KEY:
    return set_key(reader, option, node, text, member);
  default:
    set_number(reader, option, node, text, member);
    return 0;
  }
}

int hf_option_set(const struct hf_reader *reader, const struct hf_option *option, const struct hf_node *node,
                  const struct hf_targets *targets) {
  if (node->kind == HF_NODE_NULL)
    return 0;
  switch ((int)option->type) {
  case HF_OPTION_TEXTS:
  case HF_OPTION_PAIRS:
    return set_texts(reader, option, node, target_of(option, targets));
  case HF_OPTION_STATUSES:
    return set_statuses(reader, option, node, targets->server);
  case HF_OPTION_TOKENS:
    return set_tokens(reader, option, node, targets->top);
  case HF_OPTION_JSON:
  case HF_OPTION_TEMPLATE:
    return hf_option_json(reader, option, node, target_of(option, targets));
  case HF_OPTION_CONDITION:
    return hf_option_condition(reader, option, node, target_of(option, targets));
  case HF_OPTION_PROVIDERS:
  case HF_OPTION_BLOCK:
    return 0;
  default:
    return hf_option_wants(reader, option->path, node, HF_NODE_SCALAR) ? set_scalar(reader, option, node, targets) : 0;
  }
}

int hf_options_defaults(struct hf_arena *arena, enum hf_profile profile, const struct hf_targets *targets) {
  size_t count;
  const struct hf_option *options = hf_options(&count);
  struct hf_problems problems;
  hf_problems_init(&problems);
  const struct hf_reader reader = {.arena = arena, .problems = &problems};
  int r = 0;
  for (size_t i = 0; i < count && r == 0; i++) {
    const char *value = options[i].value[profile];
    if (!value || !target_of(&options[i], targets))
      continue;
    const struct hf_node node = {.kind = HF_NODE_SCALAR, .text = hf_str_from(value)};
    r = hf_option_set(&reader, &options[i], &node, targets);
  }
  return r == 0 && problems.errors ? HF_ERR_INVALID : r;
}

/* Is `path` the group `prefix`, or in it? Then `ret_key` is the next part of its name. */
static bool in_group(const char *path, struct hf_str prefix, struct hf_str *ret_key) {
  struct hf_str whole = hf_str_from(path);
  if (!hf_str_starts(whole, prefix))
    return false;
  struct hf_str rest = {whole.ptr + prefix.len, whole.len - prefix.len};
  const char *dot = memchr(rest.ptr, '.', rest.len);
  *ret_key = (struct hf_str){rest.ptr, dot ? (size_t)(dot - rest.ptr) : rest.len};
  return true;
}

/* The keys in a group, and which of them a person may have meant. */
struct keys {
  char names[KEYS_MAX][KEY_MAX_BYTES];
  const char *candidates[KEYS_MAX + 1];
  size_t count;
};

static void add_key(struct keys *keys, const struct hf_option *option, struct hf_str prefix) {
  struct hf_str key;
  if (keys->count == KEYS_MAX || !in_group(option->path, prefix, &key) || key.len >= KEY_MAX_BYTES)
    return;
  char *name = keys->names[keys->count];
  memcpy(name, key.ptr, key.len);
  name[key.len] = '\0';
  keys->candidates[keys->count++] = name;
  keys->candidates[keys->count] = NULL;
}

bool hf_option_resembles(enum hf_scope scope, struct hf_str key) {
  struct keys keys = {.count = 0};
  size_t count;
  const struct hf_option *options = hf_options(&count);
  for (size_t i = 0; i < count; i++)
    if (options[i].scope == scope)
      add_key(&keys, &options[i], HF_STR(""));
  return hf_nearest(key, keys.candidates) != NULL;
}

static void tell_unknown(const struct hf_reader *reader, const struct hf_node *entry, const char *where,
                         struct hf_str prefix, const struct hf_targets *targets) {
  struct keys keys = {.count = 0};
  size_t count;
  const struct hf_option *options = hf_options(&count);
  for (size_t i = 0; i < count; i++)
    if (target_of(&options[i], targets))
      add_key(&keys, &options[i], prefix);
  const char *nearest = hf_nearest(entry->key, keys.candidates);
  hf_problems_error(reader->problems, entry->place, "unknown key '%.*s' in %s%s%.*s%s%s%s",
                    (int)(entry->key.len < SHOWN_MAX ? entry->key.len : SHOWN_MAX), entry->key.ptr, where,
                    prefix.len ? "." : "", prefix.len ? (int)prefix.len - 1 : 0, prefix.ptr,
                    nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

static int read_group(const struct hf_reader *reader, const struct hf_node *node, const char *where,
                      const struct hf_targets *targets, struct hf_str prefix, hf_foreign_fn *foreign);

static int read_entry(const struct hf_reader *reader, const struct hf_node *entry, const char *where,
                      const struct hf_targets *targets, struct hf_str prefix) {
  char buffer[PATH_MAX_BYTES];
  int n = snprintf(buffer, sizeof buffer, "%.*s%.*s.", HF_STR_FMT(prefix),
                   (int)(entry->key.len < SHOWN_MAX ? entry->key.len : SHOWN_MAX), entry->key.ptr);
  struct hf_str group = {buffer, n > 0 && (size_t)n < sizeof buffer ? (size_t)n : 0};
  struct hf_str path = {buffer, group.len ? group.len - 1 : 0};

  size_t count;
  const struct hf_option *options = hf_options(&count);
  bool is_group = false;
  for (size_t i = 0; i < count; i++) {
    if (!target_of(&options[i], targets))
      continue;
    if (hf_str_equal(hf_str_from(options[i].path), path))
      return hf_option_set(reader, &options[i], entry, targets);
    bool inside = group.len && hf_str_starts(hf_str_from(options[i].path), group);
    if (inside && options[i].alone && entry->kind == HF_NODE_SCALAR)
      return hf_option_set(reader, &options[i], entry, targets);
    is_group = is_group || inside;
  }
  if (is_group && entry->kind == HF_NODE_NULL)
    return 0;
  if (is_group && entry->kind == HF_NODE_MAPPING)
    return read_group(reader, entry, where, targets, group, NULL);
  if (is_group)
    hf_problems_error(reader->problems, entry->place, "%.*s: a mapping is needed here, not %s", HF_STR_FMT(path),
                      hf_node_kind_name(entry->kind));
  else
    tell_unknown(reader, entry, where, prefix, targets);
  return 0;
}

static int read_group(const struct hf_reader *reader, const struct hf_node *node, const char *where,
                      const struct hf_targets *targets, struct hf_str prefix, hf_foreign_fn *foreign) {
  int r = 0;
  for (const struct hf_node *entry = node->first; entry && r == 0; entry = entry->next)
    if (!foreign || !foreign(reader, entry))
      r = read_entry(reader, entry, where, targets, prefix);
  return r;
}

int hf_options_read(const struct hf_reader *reader, const struct hf_node *node, const char *where,
                    const struct hf_targets *targets, hf_foreign_fn *foreign) {
  if (node->kind == HF_NODE_NULL)
    return 0;
  if (node->kind != HF_NODE_MAPPING) {
    hf_problems_error(reader->problems, node->place, "%s: a mapping is needed here, not %s", where,
                      hf_node_kind_name(node->kind));
    return 0;
  }
  return read_group(reader, node, where, targets, HF_STR(""), foreign);
}
