#include "chaos/tools.h"

#include "chaos/pick.h"

#include <stdio.h>

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

bool hf_chaos_tool_known(const struct hf_chaos *chaos, const char *name) {
  for (size_t i = 0; i < TOOLS; i++) {
    if (strcmp(tools[i].name, name) == 0) {
      return true;
    }
  }
  return strncmp(name, "tool_", 5) == 0 &&
         hf_pick_number(hf_str_from(name + 5), chaos->extra_tools) < chaos->extra_tools;
}

static void put_head(struct hf_chaos_answer *answer, bool modern) {
  hf_chaos_must(hf_buf_printf(&answer->body, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{%s",
                              HF_STR_FMT(hf_buf_str(&answer->id)), modern ? "\"resultType\":\"complete\"," : ""));
}

void hf_chaos_tools_list(const struct hf_chaos *chaos, bool modern, struct hf_chaos_answer *answer) {
  static const char schema[] =
      "{\"type\":\"object\",\"properties\":{\"key\":{\"type\":\"string\"},\"text\":{\"type\":\"string\"},\"steps\":{"
      "\"type\":\"integer\"},\"ms\":{\"type\":\"integer\"},\"bytes\":{\"type\":\"integer\"},\"_fault\":{\"type\":"
      "\"string\"}}}";
  put_head(answer, modern);
  if (modern) {
    hf_chaos_must(hf_buf_printf(&answer->body, "\"ttlMs\":60000,\"cacheScope\":\"public\","));
  }
  hf_chaos_must(hf_buf_printf(&answer->body, "\"tools\":["));
  for (size_t i = 0; i < TOOLS; i++) {
    hf_chaos_must(hf_buf_printf(&answer->body, "%s{\"name\":\"%s\",\"description\":\"%s\",\"inputSchema\":%s%s%s}",
                                i > 0 ? "," : "", tools[i].name, tools[i].description, schema,
                                tools[i].annotations ? ",\"annotations\":" : "",
                                tools[i].annotations ? tools[i].annotations : ""));
  }
  for (long i = 0; i < chaos->extra_tools; i++) {
    hf_chaos_must(hf_buf_printf(&answer->body, ",{\"name\":\"tool_%ld\",\"inputSchema\":{\"type\":\"object\"}}", i));
  }
  hf_chaos_must(hf_buf_printf(&answer->body, "]}}"));
}

static void put_big(struct hf_buf *buf, long bytes) {
  static const char block[] = "QmFzZTY0IGlzIGhvdyBpbWFnZXMgdHJhdmVsLg==";
  hf_chaos_must(hf_buf_append(buf, "\"", 1));
  for (long left = bytes; left > 0;) {
    size_t now = left < (long)sizeof block - 1 ? (size_t)left : sizeof block - 1;
    hf_chaos_must(hf_buf_append(buf, block, now));
    left -= (long)now;
  }
  hf_chaos_must(hf_buf_append(buf, "\"", 1));
}

void hf_chaos_tool_answer(struct hf_chaos *chaos, const char *name, struct hf_str arguments, bool modern,
                          struct hf_chaos_answer *answer) {
  char key[HF_CHAOS_KEY_MAX + 1];
  char text[1024];
  hf_pick_text(hf_pick_member(arguments, chaos->key), key, sizeof key);
  bool fails = answer->fault.kind == HF_CHAOS_ISERROR;
  put_head(answer, modern);
  hf_chaos_must(
      hf_buf_printf(&answer->body, "%s\"content\":[{\"type\":\"text\",\"text\":", fails ? "\"isError\":true," : ""));
  struct hf_str own = hf_pick_member(arguments, "text");
  if (fails) {
    hf_pick_quote(&answer->body, hf_str_from(answer->fault.text[0] != '\0' ? answer->fault.text : "made to fail"));
  } else if (strcmp(name, "big") == 0) {
    put_big(&answer->body, hf_pick_number(hf_pick_member(arguments, "bytes"), 1 << 20));
  } else if (strcmp(name, "echo") == 0 && own.len > 0 && own.ptr[0] == '"') {
    hf_chaos_must(hf_buf_append_str(&answer->body, own));
  } else {
    int len = snprintf(text, sizeof text, "%s %s #%lu", name, key, chaos->executed);
    hf_pick_quote(&answer->body, (struct hf_str){text, len > 0 ? (size_t)len : 0});
  }
  hf_chaos_must(hf_buf_printf(&answer->body, "}]}}"));
  if (strcmp(name, "slow") == 0) {
    answer->steps = hf_pick_number(hf_pick_member(arguments, "steps"), 3);
    answer->step_ms = hf_pick_number(hf_pick_member(arguments, "ms"), 50);
  }
}
