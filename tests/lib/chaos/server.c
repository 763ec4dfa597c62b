#include "server.h"

#include "ledger.h"
#include "pick.h"
#include "tools.h"

#include "base/alloc.h"
#include "base/random.h"

static const char version_key[] = "io.modelcontextprotocol/protocolVersion";
static const char modern_version[] = "2026-07-28";

void chaos_init(struct chaos *chaos, uint64_t seed) {
  *chaos = (struct chaos){.ledger = -1, .eras = CHAOS_LEGACY, .sessions = true};
  chaos_faults_init(&chaos->faults, seed);
  hf_map_init(&chaos->live, CHAOS_SESSIONS_MAX);
}

void chaos_deinit(struct chaos *chaos) {
  chaos_faults_deinit(&chaos->faults);
  hf_map_deinit(&chaos->live);
}

void chaos_answer_init(struct chaos_answer *answer) {
  *answer = (struct chaos_answer){.status = 200};
  hf_buf_init(&answer->body, CHAOS_MESSAGE_MAX);
  hf_buf_init(&answer->token, 1024);
  hf_buf_init(&answer->id, 1024);
}

void chaos_answer_deinit(struct chaos_answer *answer) {
  hf_buf_deinit(&answer->body);
  hf_buf_deinit(&answer->token);
  hf_buf_deinit(&answer->id);
}

bool chaos_forget_session(struct chaos *chaos, struct hf_str session) {
  return session.ptr != NULL && hf_map_remove(&chaos->live, session) != NULL;
}

static void start_session(struct chaos *chaos, struct chaos_answer *answer) {
  unsigned char secret[CHAOS_SESSION_LEN];
  chaos_must(hf_random_secret(secret, sizeof secret));
  for (size_t i = 0; i < sizeof secret; i++) {
    answer->session[2 * i] = "0123456789abcdef"[secret[i] >> 4];
    answer->session[2 * i + 1] = "0123456789abcdef"[secret[i] & 15];
  }
  chaos_must(hf_map_put(&chaos->live, hf_str_from(answer->session), chaos));
}

static void put_error(struct chaos_answer *answer, int status, long code, const char *text, const char *data) {
  hf_buf_reset(&answer->body, 4096);
  answer->status = status;
  chaos_must(hf_buf_printf(&answer->body,
                           "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"error\":{\"code\":%ld,\"message\":\"%s\"%s%s}}",
                           HF_STR_FMT(hf_buf_str(&answer->id)), code, text, data[0] != '\0' ? ",\"data\":" : "", data));
}

void chaos_answer_progress(const struct chaos_answer *answer, long step, struct hf_buf *buf) {
  chaos_must(hf_buf_printf(buf,
                           "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":"
                           "%.*s,\"progress\":%ld,\"total\":%ld}}",
                           HF_STR_FMT(hf_buf_str(&answer->token)), step, answer->steps));
}

static void serve_opening(struct chaos *chaos, bool modern, struct hf_str params, struct chaos_answer *answer) {
  char version[32] = "2025-11-25";
  chaos_must(hf_buf_printf(&answer->body, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{",
                           HF_STR_FMT(hf_buf_str(&answer->id))));
  if (modern) {
    chaos_must(hf_buf_printf(&answer->body,
                             "\"resultType\":\"complete\",\"ttlMs\":60000,\"cacheScope\":\"public\","
                             "\"supportedVersions\":[\"%s\"],",
                             modern_version));
  } else {
    pick_text(pick_member(params, "protocolVersion"), version, sizeof version);
    bool known = strcmp(version, "2024-11-05") == 0 || strcmp(version, "2025-03-26") == 0 ||
                 strcmp(version, "2025-06-18") == 0 || strcmp(version, "2025-11-25") == 0;
    chaos_must(hf_buf_printf(&answer->body, "\"protocolVersion\":\"%s\",", known ? version : "2025-11-25"));
    if (chaos->http && chaos->sessions) {
      start_session(chaos, answer);
    }
  }
  chaos_must(hf_buf_printf(&answer->body, "\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"chaos\","
                                          "\"version\":\"1\"},\"instructions\":\"Breaks on purpose.\"}}"));
}

/* A request of the modern era says the same in its headers as in its body. */
static bool headers_agree(const struct chaos_request *request, struct hf_str params, const char *method) {
  char version[32];
  char name[128];
  pick_text(pick_member(pick_member(params, "_meta"), version_key), version, sizeof version);
  pick_text(pick_member(params, "name"), name, sizeof name);
  return hf_str_equal(request->version, hf_str_from(version)) &&
         hf_str_equal(request->method_header, hf_str_from(method)) &&
         (name[0] == '\0' || hf_str_equal(request->name_header, hf_str_from(name)));
}

/* Returns true if the request was answered: wrong era, no session, contradicting headers. */
static bool refuse(struct chaos *chaos, const struct chaos_request *request, struct hf_str params, const char *method,
                   bool modern, struct chaos_answer *answer) {
  if (!modern && strcmp(method, "server/discover") == 0 && chaos->eras != CHAOS_LEGACY) {
    put_error(answer, 400, -32602, "_meta lacks the protocol version", "");
    return true;
  }
  if (modern && (chaos->eras & CHAOS_MODERN)) {
    char version[32];
    pick_text(pick_member(pick_member(params, "_meta"), version_key), version, sizeof version);
    if (strcmp(version, modern_version) != 0) {
      put_error(answer, 400, -32022, "unsupported protocol version", "{\"supported\":[\"2026-07-28\"]}");
    } else if (pick_member(pick_member(params, "_meta"), "io.modelcontextprotocol/clientCapabilities").ptr == NULL) {
      put_error(answer, 400, -32602, "_meta lacks the client capabilities", "");
    } else if (chaos->http && !headers_agree(request, params, method)) {
      put_error(answer, 400, -32020, "headers and body disagree", "");
    } else {
      return false;
    }
    return true;
  }
  if (chaos->eras == CHAOS_MODERN) {
    put_error(answer, strcmp(method, "initialize") == 0 ? 404 : 400, -32601, "this server speaks 2026-07-28", "");
    return true;
  }
  if (!chaos->http || !chaos->sessions || strcmp(method, "initialize") == 0) {
    return false;
  }
  if (request->session.ptr == NULL) {
    put_error(answer, 400, -32000, "Bad Request: no session id", "");
    return true;
  }
  if (hf_map_get(&chaos->live, request->session) == NULL) {
    put_error(answer, 404, -32001, "Session not found", "");
    return true;
  }
  return false;
}

/* Faults that are another answer of the protocol. Returns false if the ordinary answer is due. */
static bool spoil(struct chaos *chaos, const struct chaos_request *request, struct chaos_answer *answer) {
  const struct chaos_fault *fault = &answer->fault;
  struct hf_str id = hf_buf_str(&answer->id);
  switch ((int)fault->kind) {
  case CHAOS_SESSION:
    chaos_forget_session(chaos, request->session);
    put_error(answer, fault->number > 0 && fault->number < 600 ? (int)fault->number : 200,
              fault->number > 0 && fault->number < 600 ? -32001 : fault->number, "Session not found", "");
    return true;
  case CHAOS_RPC:
    put_error(answer, 200, fault->number, "made to fail", "{\"made\":true}");
    return true;
  case CHAOS_NEITHER:
    chaos_must(hf_buf_printf(&answer->body, "{\"jsonrpc\":\"2.0\",\"id\":%.*s}", HF_STR_FMT(id)));
    return true;
  case CHAOS_BOTH:
    chaos_must(hf_buf_printf(&answer->body,
                             "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"content\":[]},\"error\":{\"code\":-32603,"
                             "\"message\":\"both\"}}",
                             HF_STR_FMT(id)));
    return true;
  case CHAOS_GARBAGE:
    chaos_must(hf_buf_printf(&answer->body, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"cont\x01", HF_STR_FMT(id)));
    return true;
  case CHAOS_HTML:
    chaos_must(hf_buf_printf(&answer->body, "<html><head><title>502 Bad Gateway</title></head></html>"));
    return true;
  case CHAOS_ARRAY:
    chaos_must(hf_buf_printf(&answer->body, "[{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{}}]", HF_STR_FMT(id)));
    return true;
  case CHAOS_EMPTY:
    return true;
  default:
    return false;
  }
}

static void change_id(struct chaos_answer *answer) {
  char id[1100];
  struct hf_str raw = hf_buf_str(&answer->id);
  int len = snprintf(id, sizeof id, answer->fault.kind == CHAOS_WRONG_ID ? "9%.*s9" : "\"%.*s\"", HF_STR_FMT(raw));
  if (raw.len > 0 && raw.ptr[0] == '"') {
    len = snprintf(id, sizeof id, "%s", answer->fault.kind == CHAOS_WRONG_ID ? "\"never issued\"" : "7");
  }
  hf_buf_reset(&answer->id, 1024);
  chaos_must(hf_buf_append(&answer->id, id, (size_t)len));
}

static void serve_call(struct chaos *chaos, const struct chaos_request *request, struct hf_str params, bool modern,
                       struct chaos_answer *answer) {
  struct hf_str arguments = pick_member(params, "arguments");
  char name[64];
  char key[256];
  char own[300];
  pick_text(pick_member(params, "name"), name, sizeof name);
  pick_text(pick_member(arguments, "key"), key, sizeof key);
  pick_text(pick_member(arguments, "_fault"), own, sizeof own);
  answer->is_call = true;
  answer->fault = chaos_faults_pick(&chaos->faults, "tools/call", own, key);
  struct hf_str token = pick_member(pick_member(params, "_meta"), "progressToken");
  if (token.ptr != NULL) {
    chaos_must(hf_buf_append_str(&answer->token, token));
  }
  if (!chaos_tool_known(chaos, name)) {
    put_error(answer, 200, -32602, "unknown tool", "");
    return;
  }
  if (answer->fault.executes) {
    chaos->executed++;
    chaos_ledger_add(chaos->ledger, name, key);
  }
  if (answer->fault.kind == CHAOS_WRONG_ID || answer->fault.kind == CHAOS_STRING_ID) {
    change_id(answer);
  }
  if (!spoil(chaos, request, answer)) {
    chaos_tool_answer(chaos, name, arguments, modern, answer);
  }
}

void chaos_serve(struct chaos *chaos, const struct chaos_request *request, struct chaos_answer *answer) {
  char method[64];
  struct hf_str params = pick_member(request->message, "params");
  struct hf_str id = pick_member(request->message, "id");
  pick_text(pick_member(request->message, "method"), method, sizeof method);
  bool modern = pick_member(pick_member(params, "_meta"), version_key).ptr != NULL;
  if (id.ptr == NULL) {
    if (strcmp(method, "notifications/cancelled") == 0) {
      struct hf_str cancelled = pick_member(params, "requestId");
      char text[64];
      snprintf(text, sizeof text, "%.*s", HF_STR_FMT(cancelled));
      chaos_ledger_add(chaos->ledger, "cancelled", text);
    }
    answer->status = 202;
    return;
  }
  chaos_must(hf_buf_append_str(&answer->id, id));
  if (refuse(chaos, request, params, method, modern, answer)) {
    return;
  }
  if (strcmp(method, "tools/call") == 0) {
    serve_call(chaos, request, params, modern, answer);
    return;
  }
  answer->fault = chaos_faults_pick(&chaos->faults, method, "", "");
  if (spoil(chaos, request, answer)) {
    return;
  }
  if (strcmp(method, modern ? "server/discover" : "initialize") == 0) {
    serve_opening(chaos, modern, params, answer);
  } else if (strcmp(method, "tools/list") == 0) {
    chaos_tools_list(chaos, modern, answer);
  } else if (strcmp(method, "ping") == 0 && !modern) {
    chaos_must(hf_buf_printf(&answer->body, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{}}",
                             HF_STR_FMT(hf_buf_str(&answer->id))));
  } else {
    put_error(answer, modern ? 404 : 200, -32601, "method not found", "");
  }
}
