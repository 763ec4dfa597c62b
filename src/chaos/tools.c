#include "chaos/tools.h"

#include "chaos/pick.h"

#include <stdio.h>

static const char own_schema[] =
    "{\"type\":\"object\",\"properties\":{\"key\":{\"type\":\"string\"},\"text\":{\"type\":\"string\"},\"steps\":{"
    "\"type\":\"integer\"},\"ms\":{\"type\":\"integer\"},\"bytes\":{\"type\":\"integer\"},\"_fault\":{\"type\":"
    "\"string\"},\"client_token\":{\"type\":\"string\"}}}";

enum { DAY_MS = 24 * 3600 * 1000 };

static const struct hf_chaos_tool own_tools[] = {
    {"read", "Reads the value of a key.", own_schema, "{\"readOnlyHint\":true}", NULL},
    {"put", "Sets a key. Twice is as good as once.", own_schema, "{\"destructiveHint\":false,\"idempotentHint\":true}",
     NULL},
    {"charge", "Charges an account. Twice is a disaster.", own_schema, NULL, NULL},
    {"slow", "Reports progress `steps` times, `ms` apart, then answers.", own_schema, "{\"readOnlyHint\":true}", NULL},
    {"big", "Answers `bytes` bytes of text.", own_schema, "{\"readOnlyHint\":true}", NULL},
    {"echo", "Answers its `text`.", own_schema, NULL, NULL},
    {"pay", "Charges an account, once for each `client_token` in a day.", own_schema, NULL, NULL, HF_CHAOS_KEY_ARGUMENT,
     "client_token", DAY_MS, NULL},
    {"charged", "Tells whether `charge` ran with these arguments.", own_schema, "{\"readOnlyHint\":true}", NULL,
     HF_CHAOS_KEY_NONE, NULL, 0, "charge"},
};

enum { OWN_TOOLS = sizeof own_tools / sizeof own_tools[0], BIG_MAX = 128 << 20, STEPS_MAX = 100000 };

void hf_chaos_tools_set(struct hf_chaos *chaos, const struct hf_chaos_tool *tools, size_t count) {
  chaos->tools = count > 0 ? tools : own_tools;
  chaos->tools_count = count > 0 ? count : OWN_TOOLS;
}

const struct hf_chaos_tool *hf_chaos_tool_find(const struct hf_chaos *chaos, const char *name) {
  for (size_t i = 0; i < chaos->tools_count; i++) {
    if (strcmp(chaos->tools[i].name, name) == 0) {
      return &chaos->tools[i];
    }
  }
  return NULL;
}

bool hf_chaos_tool_known(const struct hf_chaos *chaos, const char *name) {
  return hf_chaos_tool_find(chaos, name) != NULL ||
         (strncmp(name, "tool_", 5) == 0 &&
          hf_pick_number(hf_str_from(name + 5), chaos->extra_tools) < chaos->extra_tools);
}

static void put_head(struct hf_chaos_answer *answer, bool modern) {
  hf_chaos_must(hf_buf_printf(&answer->body, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{%s",
                              HF_STR_FMT(hf_buf_str(&answer->id)), modern ? "\"resultType\":\"complete\"," : ""));
}

static void put_tool(struct hf_buf *body, const struct hf_chaos_tool *tool, bool first) {
  hf_chaos_must(hf_buf_printf(body, "%s{\"name\":", first ? "" : ","));
  hf_pick_quote(body, hf_str_from(tool->name));
  if (tool->description != NULL) {
    hf_chaos_must(hf_buf_printf(body, ",\"description\":"));
    hf_pick_quote(body, hf_str_from(tool->description));
  }
  hf_chaos_must(hf_buf_printf(body, ",\"inputSchema\":%s", tool->schema ? tool->schema : "{\"type\":\"object\"}"));
  hf_chaos_must(hf_buf_printf(body, "%s%s}", tool->annotations ? ",\"annotations\":" : "",
                              tool->annotations ? tool->annotations : ""));
}

void hf_chaos_tools_list(const struct hf_chaos *chaos, bool modern, struct hf_chaos_answer *answer) {
  put_head(answer, modern);
  if (modern) {
    hf_chaos_must(hf_buf_printf(&answer->body, "\"ttlMs\":60000,\"cacheScope\":\"public\","));
  }
  hf_chaos_must(hf_buf_printf(&answer->body, "\"tools\":["));
  for (size_t i = 0; i < chaos->tools_count; i++) {
    put_tool(&answer->body, &chaos->tools[i], i == 0);
  }
  for (long i = 0; i < chaos->extra_tools; i++) {
    hf_chaos_must(hf_buf_printf(&answer->body, ",{\"name\":\"tool_%ld\",\"inputSchema\":{\"type\":\"object\"}}", i));
  }
  hf_chaos_must(hf_buf_printf(&answer->body, "]}}"));
}

static void put_big(struct hf_buf *buf, long bytes) {
  static const char block[] = "QmFzZTY0IGlzIGhvdyBpbWFnZXMgdHJhdmVsLg==";
  hf_chaos_must(hf_buf_append(buf, "\"", 1));
  for (long left = bytes < BIG_MAX ? bytes : BIG_MAX; left > 0;) {
    size_t now = left < (long)sizeof block - 1 ? (size_t)left : sizeof block - 1;
    hf_chaos_must(hf_buf_append(buf, block, now));
    left -= (long)now;
  }
  hf_chaos_must(hf_buf_append(buf, "\"", 1));
}

/* The end of an answer that says so in words and as data. */
static void put_told(struct hf_chaos_answer *answer, const char *tool, unsigned long count) {
  char text[HF_CHAOS_TOOL_NAME_MAX + 64];
  int len = snprintf(text, sizeof text, "%s ran %lu time%s", tool, count, count == 1 ? "" : "s");
  hf_pick_quote(&answer->body, (struct hf_str){text, len > 0 ? (size_t)len : 0});
  hf_chaos_must(hf_buf_printf(&answer->body, "}],\"structuredContent\":{\"happened\":%s,\"count\":%lu}}}",
                              count > 0 ? "true" : "false", count));
}

static long within(struct hf_str value, long otherwise, long most) {
  long number = hf_pick_number(value, otherwise);
  return number < 0 ? otherwise : number > most ? most : number;
}

void hf_chaos_tool_answer(struct hf_chaos *chaos, const char *name, struct hf_str arguments, bool modern,
                          struct hf_chaos_answer *answer) {
  char key[HF_CHAOS_KEY_MAX + 1];
  char text[1024];
  hf_pick_text(hf_pick_member(arguments, chaos->key), key, sizeof key);
  const struct hf_chaos_tool *tool = hf_chaos_tool_find(chaos, name);
  bool fails = answer->fault.kind == HF_CHAOS_ISERROR;
  put_head(answer, modern);
  hf_chaos_must(
      hf_buf_printf(&answer->body, "%s\"content\":[{\"type\":\"text\",\"text\":", fails ? "\"isError\":true," : ""));
  struct hf_str own = hf_pick_member(arguments, "text");
  if (fails) {
    hf_pick_quote(&answer->body, hf_str_from(answer->fault.text[0] != '\0' ? answer->fault.text : "made to fail"));
  } else if (tool != NULL && tool->tells != NULL) {
    put_told(answer, tool->tells, hf_chaos_memory_count(&chaos->memory, tool->tells, arguments));
    return;
  } else if (tool != NULL && tool->text != NULL) {
    hf_pick_quote(&answer->body, hf_str_from(tool->text));
  } else if (strcmp(name, "big") == 0) {
    put_big(&answer->body, hf_pick_number(hf_pick_member(arguments, "bytes"), 1 << 20));
  } else if (strcmp(name, "echo") == 0 && own.len > 0 && own.ptr[0] == '"') {
    hf_chaos_must(hf_buf_append_str(&answer->body, own));
  } else {
    int len = snprintf(text, sizeof text, "%s %s #%lu", name, key, answer->number);
    hf_pick_quote(&answer->body, (struct hf_str){text, len > 0 ? (size_t)len : 0});
  }
  hf_chaos_must(hf_buf_printf(&answer->body, "}]}}"));
  if (strcmp(name, "slow") == 0 && (tool == NULL || tool->text == NULL)) {
    answer->steps = within(hf_pick_member(arguments, "steps"), 3, STEPS_MAX);
    answer->step_ms = within(hf_pick_member(arguments, "ms"), 50, HF_CHAOS_WAIT_MS_MAX);
  }
}
