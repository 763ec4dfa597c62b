#include "daemon/tool_name.h"

enum { SHOWN_MAX = 60 };

static int shown_len(struct hf_str s) {
  return s.len < SHOWN_MAX ? (int)s.len : SHOWN_MAX;
}

const struct hf_server_settings *hf_tool_name_server(const struct hf_settings *settings, struct hf_str name) {
  for (size_t i = 0; i < settings->server_count; i++)
    if (hf_str_equal(settings->servers[i].name, name))
      return &settings->servers[i];
  return NULL;
}

int hf_tool_name_nearest(const struct hf_reader *reader, struct hf_str name, const char **ret_nearest) {
  const struct hf_settings *settings = reader->settings;
  const char **names = hf_arena_alloc(reader->arena, (settings->server_count + 1) * sizeof *names);
  if (!names)
    return HF_ERR_NOMEM;
  for (size_t i = 0; i < settings->server_count; i++)
    names[i] = settings->servers[i].name.ptr;
  *ret_nearest = hf_nearest(name, names);
  return 0;
}

/* What stands before the first "__", or all of it. */
static struct hf_str first_part(struct hf_str text) {
  const char *end = memmem(text.ptr, text.len, "__", 2);
  return (struct hf_str){text.ptr, end ? (size_t)(end - text.ptr) : text.len};
}

static int tell_unknown(const struct hf_reader *reader, const char *path, struct hf_place place, struct hf_str text) {
  struct hf_str server = first_part(text);
  const char *nearest = NULL;
  int r = hf_tool_name_nearest(reader, server, &nearest);
  if (r < 0)
    return r;
  if (server.len == text.len)
    hf_problems_error(reader->problems, place, "%s: '%.*s' must be the name of a server, '__', and that of its tool",
                      path, shown_len(text), text.ptr);
  else
    hf_problems_error(reader->problems, place, "%s: there is no server '%.*s' in mcpServers%s%s%s", path,
                      shown_len(server), server.ptr, nearest ? "; did you mean '" : "", nearest ? nearest : "",
                      nearest ? "'?" : "");
  return 0;
}

int hf_tool_name_read(const struct hf_reader *reader, const char *path, struct hf_place place, struct hf_str text,
                      struct hf_tool_name *ret_name) {
  const struct hf_settings *settings = reader->settings;
  struct hf_str server = {NULL, 0};
  for (size_t i = 0; i < settings->server_count; i++) {
    struct hf_str name = settings->servers[i].name;
    bool begins = hf_str_starts(text, name) && text.len > name.len + 2 && memcmp(text.ptr + name.len, "__", 2) == 0;
    if (begins && (!server.ptr || name.len > server.len))
      server = name;
  }
  if (!server.ptr)
    return tell_unknown(reader, path, place, text);
  struct hf_str tool = {text.ptr + server.len + 2, text.len - server.len - 2};
  tool = hf_arena_copy(reader->arena, tool);
  if (!tool.ptr)
    return HF_ERR_NOMEM;
  *ret_name = (struct hf_tool_name){server, tool};
  return 0;
}
