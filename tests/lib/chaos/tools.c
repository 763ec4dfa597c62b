#include "tools.h"

#include "pick.h"

static const struct {
  const char *name;
  const char *description;
  const char *annotations;
} tools[] = {
    {"read", "Reads the value of a key.", "{\"readOnlyHint\":true}"},
    {"put", "Sets a key. Twice is as good as once.", "{\"destructiveHint\":false,\"idempotentHint\":true}"},
    {"charge", "Charges an account. Twice is a disaster.", NULL},
    {"slow", "Reports progress `steps` times, `ms` apart, then answers.", "{\"readOnlyHint\":true}"},
    {"big", "Answers `bytes` bytes of text.", "{\"readOnlyHint\":true}"},
    {"echo", "Answers its `text`.", NULL},
};

enum { TOOLS = sizeof tools / sizeof tools[0] };

bool chaos_tool_known(const struct chaos *chaos, const char *name) {
  for (size_t i = 0; i < TOOLS; i++) {
    if (strcmp(tools[i].name, name) == 0) {
      return true;
    }
  }
  return strncmp(name, "tool_", 5) == 0 && pick_number(hf_str_from(name + 5), chaos->extra_tools) < chaos->extra_tools;
}

static void put_head(struct chaos_answer *answer, bool modern) {
  chaos_must(hf_buf_printf(&answer->body, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{%s",
                           HF_STR_FMT(hf_buf_str(&answer->id)), modern ? "\"resultType\":\"complete\"," : ""));
}

void chaos_tools_list(const struct chaos *chaos, bool modern, struct chaos_answer *answer) {
  static const char schema[] =
      "{\"type\":\"object\",\"properties\":{\"key\":{\"type\":\"string\"},\"text\":{\"type\":\"string\"},\"steps\":{"
      "\"type\":\"integer\"},\"ms\":{\"type\":\"integer\"},\"bytes\":{\"type\":\"integer\"},\"_fault\":{\"type\":"
      "\"string\"}}}";
  put_head(answer, modern);
  if (modern) {
    chaos_must(hf_buf_printf(&answer->body, "\"ttlMs\":60000,\"cacheScope\":\"public\","));
  }
  chaos_must(hf_buf_printf(&answer->body, "\"tools\":["));
  for (size_t i = 0; i < TOOLS; i++) {
    chaos_must(hf_buf_printf(&answer->body, "%s{\"name\":\"%s\",\"description\":\"%s\",\"inputSchema\":%s%s%s}",
                             i > 0 ? "," : "", tools[i].name, tools[i].description, schema,
                             tools[i].annotations ? ",\"annotations\":" : "",
                             tools[i].annotations ? tools[i].annotations : ""));
  }
  for (long i = 0; i < chaos->extra_tools; i++) {
    chaos_must(hf_buf_printf(&answer->body, ",{\"name\":\"tool_%ld\",\"inputSchema\":{\"type\":\"object\"}}", i));
  }
  chaos_must(hf_buf_printf(&answer->body, "]}}"));
}

static void put_big(struct hf_buf *buf, long bytes) {
  static const char block[] = "QmFzZTY0IGlzIGhvdyBpbWFnZXMgdHJhdmVsLg==";
  chaos_must(hf_buf_append(buf, "\"", 1));
  for (long left = bytes; left > 0;) {
    size_t now = left < (long)sizeof block - 1 ? (size_t)left : sizeof block - 1;
    chaos_must(hf_buf_append(buf, block, now));
    left -= (long)now;
  }
  chaos_must(hf_buf_append(buf, "\"", 1));
}

void chaos_tool_answer(struct chaos *chaos, const char *name, struct hf_str arguments, bool modern,
                       struct chaos_answer *answer) {
  char key[256];
  char text[1024];
  pick_text(pick_member(arguments, "key"), key, sizeof key);
  bool fails = answer->fault.kind == CHAOS_ISERROR;
  put_head(answer, modern);
  chaos_must(
      hf_buf_printf(&answer->body, "%s\"content\":[{\"type\":\"text\",\"text\":", fails ? "\"isError\":true," : ""));
  struct hf_str own = pick_member(arguments, "text");
  if (fails) {
    pick_quote(&answer->body, hf_str_from(answer->fault.text[0] != '\0' ? answer->fault.text : "made to fail"));
  } else if (strcmp(name, "big") == 0) {
    put_big(&answer->body, pick_number(pick_member(arguments, "bytes"), 1 << 20));
  } else if (strcmp(name, "echo") == 0 && own.len > 0 && own.ptr[0] == '"') {
    chaos_must(hf_buf_append_str(&answer->body, own));
  } else {
    snprintf(text, sizeof text, "%s %s #%lu", name, key, chaos->executed);
    pick_quote(&answer->body, hf_str_from(text));
  }
  chaos_must(hf_buf_printf(&answer->body, "}]}}"));
  if (strcmp(name, "slow") == 0) {
    answer->steps = pick_number(pick_member(arguments, "steps"), 3);
    answer->step_ms = pick_number(pick_member(arguments, "ms"), 50);
  }
}
