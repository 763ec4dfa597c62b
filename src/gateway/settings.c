#include "gateway/settings.h"

#include "base/alloc.h"

enum { PATTERN_MAX = 1024 };

/* A text in three parts, so that "server__tool" need not be built to be looked at. */
struct text {
  struct hf_str part[3];
};

static size_t text_len(const struct text *text) {
  return text->part[0].len + text->part[1].len + text->part[2].len;
}

static char text_at(const struct text *text, size_t i) {
  const struct hf_str *part = text->part;
  while (i >= part->len)
    i -= part++->len;
  return part->ptr[i];
}

static bool at_star(struct hf_str pattern, size_t i) {
  return i < pattern.len && pattern.ptr[i] == '*';
}

/* Backtracks to the last star only, so that no pattern costs more than its length times the text's. */
static bool match(struct hf_str pattern, const struct text *text) {
  const size_t len = text_len(text);
  size_t p = 0;
  size_t t = 0;
  bool starred = false;
  size_t star_p = 0;
  size_t star_t = 0;
  while (t < len) {
    if (at_star(pattern, p)) {
      starred = true;
      star_p = ++p;
      star_t = t;
    } else if (p < pattern.len && pattern.ptr[p] == text_at(text, t)) {
      p++;
      t++;
    } else if (starred) {
      p = star_p;
      t = ++star_t;
    } else {
      return false;
    }
  }
  while (at_star(pattern, p))
    p++;
  return p == pattern.len;
}

bool hf_pattern_match(struct hf_str pattern, struct hf_str server, struct hf_str tool) {
  const struct text text = {{server, HF_STR("__"), tool}};
  return match(pattern, &text);
}

bool hf_pattern_inside(struct hf_str pattern, struct hf_str text) {
  char around[PATTERN_MAX + 2];
  if (pattern.len > PATTERN_MAX)
    return false;
  around[0] = '*';
  memcpy(around + 1, pattern.ptr, pattern.len);
  around[pattern.len + 1] = '*';
  const struct text whole = {{text}};
  return match((struct hf_str){around, pattern.len + 2}, &whole);
}

size_t hf_pattern_rank(struct hf_str pattern) {
  size_t literals = 0;
  for (size_t i = 0; i < pattern.len; i++)
    literals += pattern.ptr[i] != '*';
  return literals == pattern.len ? SIZE_MAX : literals;
}

/* When both have a star, some text fits between, so only what stands before the first and behind the last can clash. */
bool hf_pattern_overlap(struct hf_str a, struct hf_str b) {
  const struct text text_a = {{a}};
  const struct text text_b = {{b}};
  if (hf_pattern_rank(a) == SIZE_MAX)
    return match(b, &text_a);
  if (hf_pattern_rank(b) == SIZE_MAX)
    return match(a, &text_b);

  for (size_t i = 0; !at_star(a, i) && !at_star(b, i); i++)
    if (a.ptr[i] != b.ptr[i])
      return false;
  for (size_t i = 1; !at_star(a, a.len - i) && !at_star(b, b.len - i); i++)
    if (a.ptr[a.len - i] != b.ptr[b.len - i])
      return false;
  return true;
}

const struct hf_tool_settings *hf_settings_tool(const struct hf_settings *settings, struct hf_str server,
                                                struct hf_str tool) {
  const struct hf_tool_settings *best = NULL;
  size_t best_rank = 0;
  for (size_t i = 0; i < settings->tool_count; i++) {
    const struct hf_tool_settings *entry = &settings->tools[i];
    if (!hf_str_equal(entry->server, server) || !hf_pattern_match(entry->pattern, server, tool))
      continue;
    size_t rank = hf_pattern_rank(entry->pattern);
    if (!best || rank > best_rank) {
      best = entry;
      best_rank = rank;
    }
  }
  return best;
}

static bool same_strings(struct hf_strings a, struct hf_strings b) {
  if (a.count != b.count)
    return false;
  for (size_t i = 0; i < a.count; i++)
    if (!hf_str_equal(a.item[i], b.item[i]))
      return false;
  return true;
}

static bool same_statuses(const struct hf_server_settings *a, const struct hf_server_settings *b) {
  return a->not_executed_count == b->not_executed_count &&
         (a->not_executed_count == 0 ||
          memcmp(a->not_executed, b->not_executed, a->not_executed_count * sizeof a->not_executed[0]) == 0);
}

bool hf_server_settings_same_upstream(const struct hf_server_settings *a, const struct hf_server_settings *b) {
  return a->transport == b->transport && a->disabled == b->disabled && hf_str_equal(a->command, b->command) &&
         same_strings(a->args, b->args) && same_strings(a->env, b->env) && hf_str_equal(a->cwd, b->cwd) &&
         hf_str_equal(a->url, b->url) && a->sse == b->sse && hf_str_equal(a->endpoint, b->endpoint) &&
         same_strings(a->headers, b->headers) && hf_str_equal(a->proxy, b->proxy) &&
         hf_str_equal(a->ca_file, b->ca_file) && hf_str_equal(a->cert_file, b->cert_file) &&
         hf_str_equal(a->key_file, b->key_file) && a->tls_verify == b->tls_verify &&
         a->max_connections == b->max_connections && a->era == b->era && a->instance == b->instance &&
         a->stateful == b->stateful && a->start_timeout == b->start_timeout && a->idle_stop == b->idle_stop &&
         a->keepalive == b->keepalive && a->max_message == b->max_message && same_statuses(a, b);
}

struct hf_settings *hf_settings_new(void) {
  struct hf_settings *settings = hf_calloc(1, sizeof *settings);
  if (settings) {
    settings->refs = 1;
    hf_arena_init(&settings->arena, HF_SETTINGS_BYTES_MAX);
  }
  return settings;
}

struct hf_settings *hf_settings_ref(struct hf_settings *settings) {
  settings->refs++;
  return settings;
}

void hf_settings_free(struct hf_settings *settings) {
  if (!settings || --settings->refs > 0)
    return;
  hf_arena_deinit(&settings->arena);
  hf_free(settings);
}
