#include "chaos/server.h"

#include "chaos/drift.h"
#include "chaos/ledger.h"
#include "chaos/pick.h"
#include "chaos/tools.h"

#include "base/clock.h"
#include "base/hex.h"
#include "base/random.h"
#include "json/scan.h"

#include <stdio.h>

static const char version_key[] = "io.modelcontextprotocol/protocolVersion";
static const char modern_version[] = "2026-07-28";

void hf_chaos_init(struct hf_chaos *chaos, const struct hf_chaos_options *options) {
  *chaos = (struct hf_chaos){.ledger = -1,
                             .eras = options->eras,
                             .http = options->http,
                             .sessions = !options->no_sessions,
                             .sse = options->sse,
                             .extra_tools = (long)options->extra_tools,
                             .key = options->key};
  hf_chaos_tools_set(chaos, options->tools, options->tools_count);
  hf_chaos_plan_init(&chaos->plan, options->seed);
  hf_map_init(&chaos->live, HF_CHAOS_SESSIONS_MAX);
  hf_chaos_memory_init(&chaos->memory);
}

void hf_chaos_deinit(struct hf_chaos *chaos) {
  hf_chaos_plan_deinit(&chaos->plan);
  hf_map_deinit(&chaos->live);
  hf_chaos_memory_deinit(&chaos->memory);
}

void hf_chaos_answer_init(struct hf_chaos_answer *answer) {
  *answer = (struct hf_chaos_answer){.status = 200};
  hf_buf_init(&answer->body, HF_CHAOS_MESSAGE_MAX);
  hf_buf_init(&answer->token, HF_CHAOS_ID_MAX);
  hf_buf_init(&answer->id, HF_CHAOS_ID_MAX + 4);
}

void hf_chaos_answer_deinit(struct hf_chaos_answer *answer) {
  hf_buf_deinit(&answer->body);
  hf_buf_deinit(&answer->token);
  hf_buf_deinit(&answer->id);
}

bool hf_chaos_is_modern(struct hf_str params) {
  return hf_pick_member(hf_pick_member(params, "_meta"), version_key).ptr != NULL;
}

bool hf_chaos_forget_session(struct hf_chaos *chaos, struct hf_str session) {
  return session.ptr != NULL && hf_map_remove(&chaos->live, session) != NULL;
}

int hf_chaos_start_session(struct hf_chaos *chaos, struct hf_chaos_answer *answer) {
  unsigned char secret[HF_CHAOS_SESSION_LEN];
  hf_chaos_must(hf_random_secret(secret, sizeof secret));
  hf_hex(secret, sizeof secret, answer->session);
  return hf_map_put(&chaos->live, hf_str_from(answer->session), chaos);
}

void hf_chaos_answer_error(struct hf_chaos_answer *answer, int status, long code, const char *text, const char *data) {
  hf_buf_reset(&answer->body, 4096);
  answer->status = status;
  hf_chaos_must(hf_buf_printf(&answer->body, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"error\":{\"code\":%ld,\"message\":",
                              HF_STR_FMT(answer->id.len > 0 ? hf_buf_str(&answer->id) : HF_STR("null")), code));
  hf_pick_quote(&answer->body, hf_str_from(text));
  hf_chaos_must(hf_buf_printf(&answer->body, "%s%s}}", data[0] != '\0' ? ",\"data\":" : "", data));
}

void hf_chaos_answer_progress(const struct hf_chaos_answer *answer, long step, struct hf_buf *buf) {
  hf_chaos_must(
      hf_buf_printf(buf,
                    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":"
                    "%.*s,\"progress\":%ld,\"total\":%ld}}",
                    HF_STR_FMT(hf_buf_str(&answer->token)), step, answer->steps));
}

static void serve_opening(struct hf_chaos *chaos, bool modern, struct hf_str params, struct hf_chaos_answer *answer) {
  char version[32] = "2025-11-25";
  hf_chaos_must(hf_buf_printf(&answer->body, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{",
                              HF_STR_FMT(hf_buf_str(&answer->id))));
  if (modern) {
    hf_chaos_must(hf_buf_printf(&answer->body,
                                "\"resultType\":\"complete\",\"ttlMs\":60000,\"cacheScope\":\"public\","
                                "\"supportedVersions\":[\"%s\"],",
                                modern_version));
  } else {
    hf_pick_text(hf_pick_member(params, "protocolVersion"), version, sizeof version);
    bool known = strcmp(version, "2024-11-05") == 0 || strcmp(version, "2025-03-26") == 0 ||
                 strcmp(version, "2025-06-18") == 0 || strcmp(version, "2025-11-25") == 0;
    hf_chaos_must(hf_buf_printf(&answer->body, "\"protocolVersion\":\"%s\",", known ? version : "2025-11-25"));
    if (chaos->http && chaos->sessions && hf_chaos_start_session(chaos, answer) != 0) {
      answer->session[0] = '\0';
      hf_chaos_answer_error(answer, 503, -32000, "too many sessions", "");
      return;
    }
  }
  hf_chaos_must(hf_buf_printf(&answer->body, "\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"chaos\","
                                             "\"version\":\"1\"},\"instructions\":\"Breaks on purpose.\"}}"));
}

/* A request of the modern era says the same in its headers as in its body. */
static bool headers_agree(const struct hf_chaos_request *request, struct hf_str params, const char *method) {
  char version[32];
  char name[128];
  hf_pick_text(hf_pick_member(hf_pick_member(params, "_meta"), version_key), version, sizeof version);
  hf_pick_text(hf_pick_member(params, "name"), name, sizeof name);
  return hf_str_equal(request->version, hf_str_from(version)) &&
         hf_str_equal(request->method_header, hf_str_from(method)) &&
         (name[0] == '\0' || hf_str_equal(request->name_header, hf_str_from(name)));
}

/* Returns true if the request was answered: wrong era, no session, contradicting headers. */
static bool refuse(struct hf_chaos *chaos, const struct hf_chaos_request *request, struct hf_str params,
                   const char *method, bool modern, struct hf_chaos_answer *answer) {
  if (!modern && strcmp(method, "server/discover") == 0 && chaos->eras != HF_CHAOS_LEGACY) {
    hf_chaos_answer_error(answer, 400, -32602, "_meta lacks the protocol version", "");
    return true;
  }
  if (modern && (chaos->eras & HF_CHAOS_MODERN)) {
    char version[32];
    hf_pick_text(hf_pick_member(hf_pick_member(params, "_meta"), version_key), version, sizeof version);
    if (strcmp(version, modern_version) != 0) {
      hf_chaos_answer_error(answer, 400, -32022, "unsupported protocol version", "{\"supported\":[\"2026-07-28\"]}");
    } else if (hf_pick_member(hf_pick_member(params, "_meta"), "io.modelcontextprotocol/clientCapabilities").ptr ==
               NULL) {
      hf_chaos_answer_error(answer, 400, -32602, "_meta lacks the client capabilities", "");
    } else if (chaos->http && !headers_agree(request, params, method)) {
      hf_chaos_answer_error(answer, 400, -32020, "headers and body disagree", "");
    } else {
      return false;
    }
    return true;
  }
  if (chaos->eras == HF_CHAOS_MODERN) {
    hf_chaos_answer_error(answer, strcmp(method, "initialize") == 0 ? 404 : 400, -32601,
                          "this server speaks 2026-07-28", "");
    return true;
  }
  if (!chaos->http || !chaos->sessions || strcmp(method, "initialize") == 0) {
    return false;
  }
  if (request->session.ptr == NULL) {
    hf_chaos_answer_error(answer, 400, -32000, "Bad Request: no session id", "");
    return true;
  }
  if (hf_map_get(&chaos->live, request->session) == NULL) {
    hf_chaos_answer_error(answer, 404, -32001, "Session not found", "");
    return true;
  }
  return false;
}

bool hf_chaos_spoil(struct hf_chaos *chaos, struct hf_str session, struct hf_chaos_answer *answer) {
  const struct hf_chaos_fault *fault = &answer->fault;
  struct hf_str id = hf_buf_str(&answer->id);
  switch ((int)fault->kind) {
  case HF_CHAOS_SESSION:
    hf_chaos_forget_session(chaos, session);
    hf_chaos_answer_error(answer, fault->number > 0 && fault->number < 600 ? (int)fault->number : 200,
                          fault->number > 0 && fault->number < 600 ? -32001 : fault->number, "Session not found", "");
    return true;
  case HF_CHAOS_RPC:
    hf_chaos_answer_error(answer, 200, fault->number, "made to fail", "{\"made\":true}");
    return true;
  case HF_CHAOS_NEITHER:
    hf_chaos_must(hf_buf_printf(&answer->body, "{\"jsonrpc\":\"2.0\",\"id\":%.*s}", HF_STR_FMT(id)));
    return true;
  case HF_CHAOS_BOTH:
    hf_chaos_must(
        hf_buf_printf(&answer->body,
                      "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"content\":[]},\"error\":{\"code\":-32603,"
                      "\"message\":\"both\"}}",
                      HF_STR_FMT(id)));
    return true;
  case HF_CHAOS_GARBAGE:
    hf_chaos_must(
        hf_buf_printf(&answer->body, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"cont\x01", HF_STR_FMT(id)));
    return true;
  case HF_CHAOS_HTML:
    hf_chaos_must(hf_buf_printf(&answer->body, "<html><head><title>502 Bad Gateway</title></head></html>"));
    return true;
  case HF_CHAOS_ARRAY:
    hf_chaos_must(hf_buf_printf(&answer->body, "[{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{}}]", HF_STR_FMT(id)));
    return true;
  case HF_CHAOS_EMPTY:
    return true;
  default:
    return false;
  }
}

void hf_chaos_change_id(struct hf_chaos_answer *answer) {
  char id[HF_CHAOS_ID_MAX + 16];
  struct hf_str raw = hf_buf_str(&answer->id);
  int len = snprintf(id, sizeof id, answer->fault.kind == HF_CHAOS_WRONG_ID ? "9%.*s9" : "\"%.*s\"", HF_STR_FMT(raw));
  if (raw.len > 0 && raw.ptr[0] == '"') {
    len = snprintf(id, sizeof id, "%s", answer->fault.kind == HF_CHAOS_WRONG_ID ? "\"never issued\"" : "7");
  }
  hf_buf_reset(&answer->id, HF_CHAOS_ID_MAX);
  hf_chaos_must(hf_buf_append(&answer->id, id, len > 0 ? (size_t)len : 0));
}

/* The key under which a tool runs once; "" if there is none. */
static void read_token(const struct hf_chaos_tool *tool, const struct hf_chaos_request *request, struct hf_str params,
                       char token[HF_CHAOS_KEY_MAX + 1]) {
  struct hf_str header;
  token[0] = '\0';
  switch (tool->key_place) {
  case HF_CHAOS_KEY_NONE:
    return;
  case HF_CHAOS_KEY_ARGUMENT:
    hf_pick_text(hf_pick_member(hf_pick_member(params, "arguments"), tool->key_name), token, HF_CHAOS_KEY_MAX + 1);
    return;
  case HF_CHAOS_KEY_META:
    hf_pick_text(hf_pick_member(hf_pick_member(params, "_meta"), tool->key_name), token, HF_CHAOS_KEY_MAX + 1);
    return;
  case HF_CHAOS_KEY_HEADER:
    header = hf_pick_header(request->head, tool->key_name);
    header.len = header.len <= HF_CHAOS_KEY_MAX ? header.len : HF_CHAOS_KEY_MAX;
    memcpy(token, header.len > 0 ? header.ptr : "", header.len);
    token[header.len] = '\0';
  }
}

/* Executes it, if that is due: a key that is remembered stands for what was done before. Returns false if the request
 * was answered: the key is another call's. */
static bool run_tool(struct hf_chaos *chaos, const struct hf_chaos_request *request, struct hf_str params,
                     const char *name, const char *key, struct hf_chaos_answer *answer) {
  const struct hf_chaos_tool *tool = hf_chaos_tool_find(chaos, name);
  struct hf_str arguments = hf_pick_member(params, "arguments");
  int64_t now_ms = hf_clock_wall_ms();
  char token[HF_CHAOS_KEY_MAX + 1] = "";
  answer->number = chaos->executed;
  if (tool != NULL) {
    read_token(tool, request, params, token);
  }
  if (token[0] != '\0') {
    const struct hf_chaos_execution *before =
        hf_chaos_memory_find(&chaos->memory, name, token, now_ms - tool->key_ttl_ms);
    if (before != NULL && !hf_chaos_memory_same(before, arguments)) {
      hf_chaos_answer_error(answer, 200, -32602, "this idempotency key belongs to a call with other arguments", "");
      return false;
    }
    if (before != NULL) {
      answer->number = before->number;
      return true;
    }
    key = token;
  }
  if (answer->fault.executes) {
    chaos->executed++;
    hf_chaos_ledger_add(chaos->ledger, name, key, arguments);
    answer->number = hf_chaos_memory_add(&chaos->memory, name, key, arguments, now_ms)->number;
  }
  return true;
}

static void serve_call(struct hf_chaos *chaos, const struct hf_chaos_request *request, struct hf_str params,
                       bool modern, struct hf_chaos_answer *answer) {
  struct hf_str arguments = hf_pick_member(params, "arguments");
  char name[HF_CHAOS_TOOL_NAME_MAX + 1];
  char key[HF_CHAOS_KEY_MAX + 1];
  char own[300];
  struct hf_chaos_fault ignored;
  struct hf_error error;
  hf_pick_text(hf_pick_member(params, "name"), name, sizeof name);
  hf_pick_text(hf_pick_member(arguments, chaos->key), key, sizeof key);
  hf_pick_text(hf_pick_member(arguments, "_fault"), own, sizeof own);
  answer->is_call = true;
  if (own[0] != '\0' && hf_chaos_fault_parse(hf_str_from(own), &ignored, &error) != 0) {
    hf_chaos_answer_error(answer, 200, -32602, error.text, "");
    return;
  }
  answer->fault = hf_chaos_plan_pick(&chaos->plan, "tools/call", own, key);
  struct hf_str token = hf_pick_member(hf_pick_member(params, "_meta"), "progressToken");
  if (token.ptr != NULL && token.len <= HF_CHAOS_ID_MAX) {
    hf_chaos_must(hf_buf_append_str(&answer->token, token));
  }
  if (!hf_chaos_tool_known(chaos, name)) {
    hf_chaos_answer_error(answer, 200, -32602, "unknown tool", "");
    return;
  }
  if (!run_tool(chaos, request, params, name, key, answer)) {
    return;
  }
  if (answer->fault.kind == HF_CHAOS_WRONG_ID || answer->fault.kind == HF_CHAOS_STRING_ID) {
    hf_chaos_change_id(answer);
  }
  if (!hf_chaos_spoil(chaos, request->session, answer)) {
    hf_chaos_tool_answer(chaos, name, arguments, modern, answer);
  }
}

void hf_chaos_execute(struct hf_chaos *chaos, const struct hf_chaos_request *request) {
  struct hf_str params = hf_pick_member(request->message, "params");
  struct hf_chaos_answer answer;
  char name[HF_CHAOS_TOOL_NAME_MAX + 1];
  char key[HF_CHAOS_KEY_MAX + 1];
  hf_chaos_answer_init(&answer);
  answer.fault.executes = true;
  hf_pick_text(hf_pick_member(params, "name"), name, sizeof name);
  hf_pick_text(hf_pick_member(hf_pick_member(params, "arguments"), chaos->key), key, sizeof key);
  if (hf_chaos_tool_known(chaos, name)) {
    (void)run_tool(chaos, request, params, name, key, &answer);
  }
  hf_chaos_answer_deinit(&answer);
}

bool hf_chaos_well_formed(struct hf_str message) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.max_bytes = HF_CHAOS_MESSAGE_MAX;
  options.tree_depth = 1;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  bool good = hf_json_scan_feed(&scan, message.ptr, message.len, true) == 0;
  hf_json_scan_deinit(&scan);
  return good;
}

void hf_chaos_serve(struct hf_chaos *chaos, const struct hf_chaos_request *request, struct hf_chaos_answer *answer) {
  char method[64];
  if (!hf_chaos_well_formed(request->message)) {
    hf_chaos_answer_error(answer, 400, -32700, "the message is not JSON", "");
    return;
  }
  struct hf_str params = hf_pick_member(request->message, "params");
  struct hf_str id = hf_pick_member(request->message, "id");
  hf_pick_text(hf_pick_member(request->message, "method"), method, sizeof method);
  bool modern = hf_chaos_is_modern(params);
  if (id.ptr == NULL) {
    if (strcmp(method, "notifications/cancelled") == 0) {
      struct hf_str cancelled = hf_pick_member(params, "requestId");
      char text[64] = "";
      memcpy(text, cancelled.len > 0 ? cancelled.ptr : "",
             cancelled.len < sizeof text ? cancelled.len : sizeof text - 1);
      hf_chaos_ledger_add(chaos->ledger, "cancelled", text, (struct hf_str){NULL, 0});
    }
    answer->status = 202;
    return;
  }
  if (id.len > HF_CHAOS_ID_MAX) {
    hf_chaos_answer_error(answer, 400, -32600, "the id is too long", "");
    return;
  }
  hf_chaos_must(hf_buf_append_str(&answer->id, id));
  if (refuse(chaos, request, params, method, modern, answer)) {
    return;
  }
  if (strcmp(method, "tools/call") == 0) {
    serve_call(chaos, request, params, modern, answer);
    return;
  }
  answer->fault = hf_chaos_plan_pick(&chaos->plan, method, "", "");
  if (hf_chaos_spoil(chaos, request->session, answer)) {
    return;
  }
  if (strcmp(method, modern ? "server/discover" : "initialize") == 0) {
    serve_opening(chaos, modern, params, answer);
  } else if (strcmp(method, "tools/list") == 0) {
    chaos->drifts += answer->fault.kind == HF_CHAOS_DRIFT;
    hf_chaos_tools_list(chaos, modern, answer);
    hf_chaos_must(hf_chaos_drift(&answer->body, chaos->drifts));
  } else if (strcmp(method, "ping") == 0 && !modern) {
    hf_chaos_must(hf_buf_printf(&answer->body, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{}}",
                                HF_STR_FMT(hf_buf_str(&answer->id))));
  } else {
    hf_chaos_answer_error(answer, modern ? 404 : 200, -32601, "method not found", "");
  }
}
