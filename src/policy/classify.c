#include "policy/classify.h"

#include <stddef.h>

/* The table. "As before" (cancelled, deadline, input required) is HF_EXECUTED_NO: the call takes the maximum. */
static const struct hf_verdict_row rows[HF_FAULT_COUNT] = {
#define ROW(fault, executed, repeat, blame, next)                                                                      \
  [HF_FAULT_##fault] = {HF_FAULT_##fault, HF_EXECUTED_##executed, HF_REPEAT_##repeat, HF_BLAME_##blame, HF_NEXT_##next}
    ROW(NONE, YES, NEVER, SUCCESS, NO),
    ROW(UNREACHABLE, NO, TRANSIENT, PROVIDER, YES),
    ROW(MISCONFIGURED, NO, NEVER, PROVIDER, YES),
    /* Waiting for half-open happens in the provider's queue; once refused, asking again at once is no use. */
    ROW(BREAKER_OPEN, NO, NEVER, NOBODY, YES),
    ROW(LOCAL_LIMIT, NO, TRANSIENT, NOBODY, YES),
    ROW(SESSION_LOST, NO, SESSION, NOBODY, NO),
    ROW(NOT_SENT, NO, TRANSIENT, PROVIDER, YES),
    ROW(BROKE, MAYBE, TRANSIENT, TOOL, SAFE),
    ROW(TIMED_OUT, MAYBE, TRANSIENT, TOOL, SAFE),
    ROW(RATE_LIMITED, NO, TRANSIENT, NOBODY, YES),
    ROW(REFUSED_UNEXECUTED, NO, TRANSIENT, PROVIDER, YES),
    ROW(SERVER_ERROR, MAYBE, TRANSIENT, TOOL, SAFE),
    ROW(BAD_REPLY, MAYBE, TRANSIENT, TOOL, SAFE),
    ROW(RPC_ERROR, MAYBE, TRANSIENT, TOOL, SAFE),
    ROW(REJECTED, NO, NEVER, NOBODY, NO),
    ROW(UNAUTHORIZED, NO, NEVER, NOBODY, YES),
    ROW(UNKNOWN_TOOL, NO, NEVER, NOBODY, YES),
    ROW(CONFLICT, MAYBE, NEVER, NOBODY, NO),
    ROW(REDIRECTED, MAYBE, NEVER, NOBODY, NO),
    ROW(TOOL_ERROR, YES, NEVER, NOBODY, SAFE),
    ROW(TOOL_TRANSIENT, YES, TRANSIENT, TOOL, SAFE),
    /* It answered, and not what its user needs; that is no fault of the server's. */
    ROW(UNEXPECTED, YES, NEVER, NOBODY, SAFE),
    ROW(RESULT_MISFIT, YES, NEVER, ANSWER, SAFE),
    /* The gateway's own word: nothing was sent. Another provider of a route may take what its mapping makes of it. */
    ROW(SCHEMA, NO, NEVER, NOBODY, YES),
    ROW(INPUT_REQUIRED, NO, NEVER, SUCCESS, NO),
    ROW(CANCELLED, NO, NEVER, NOBODY, NO),
    ROW(DEADLINE, NO, NEVER, NOBODY, NO),
    ROW(UNKNOWN, MAYBE, NEVER, NOBODY, NO),
    ROW(TASK_LOST, MAYBE, TRANSIENT, TOOL, SAFE),
    /* Somebody has stopped it there on purpose, and how far it had come nobody knows. */
    ROW(TASK_CANCELLED, MAYBE, NEVER, NOBODY, NO),
#undef ROW
};

/* Which row a status or code falls in, as ranges. The first match decides. */
struct range {
  int first;
  int last;
  enum hf_fault fault;
};

/* 307 and 308 ask for the same request elsewhere, so it was not executed here: where that isn't followed, somebody has
 * to configure the right place. 303 means "done, look there", and servers say 301 and 302 for it. */
static const struct range statuses[] = {
    {300, 306, HF_FAULT_REDIRECTED},   {307, 308, HF_FAULT_MISCONFIGURED}, {309, 399, HF_FAULT_REDIRECTED},
    {400, 400, HF_FAULT_REJECTED},     {401, 401, HF_FAULT_UNAUTHORIZED},  {403, 403, HF_FAULT_UNAUTHORIZED},
    {404, 405, HF_FAULT_UNKNOWN_TOOL}, {406, 406, HF_FAULT_REJECTED},      {408, 408, HF_FAULT_SERVER_ERROR},
    {409, 409, HF_FAULT_CONFLICT},     {413, 413, HF_FAULT_REJECTED},      {415, 415, HF_FAULT_REJECTED},
    {422, 422, HF_FAULT_REJECTED},     {425, 425, HF_FAULT_SERVER_ERROR},  {429, 429, HF_FAULT_RATE_LIMITED},
    {500, 500, HF_FAULT_SERVER_ERROR}, {502, 504, HF_FAULT_SERVER_ERROR},  {520, 529, HF_FAULT_SERVER_ERROR},
};

static const struct range codes[] = {
    {-32601, -32601, HF_FAULT_UNKNOWN_TOOL},   {-32602, -32602, HF_FAULT_REJECTED},
    {-32600, -32600, HF_FAULT_REJECTED},       {-32603, -32603, HF_FAULT_RPC_ERROR},
    {-32019, -32000, HF_FAULT_RPC_ERROR},      {-32022, -32020, HF_FAULT_REJECTED},
    {-32042, -32042, HF_FAULT_INPUT_REQUIRED}, /* URL elicitation of 2025-11-25: a question, not a fault */
};

static enum hf_fault find(const struct range *ranges, size_t count, int value) {
  for (size_t i = 0; i < count; i++) {
    if (value >= ranges[i].first && value <= ranges[i].last)
      return ranges[i].fault;
  }
  return HF_FAULT_UNKNOWN;
}

static enum hf_fault of_code(int code) {
  return find(codes, sizeof codes / sizeof *codes, code);
}

/* A server that lost a session says so in many ways, but says it first: what comes after a sign of life is about the
 * call. A bare 404 to a request with a session means it by the specification, unless the body names the method. */
static bool session_lost(const struct hf_evidence *e) {
  if (!e->carried_session || e->answered)
    return false;
  if (e->http_status == 404 && e->jsonrpc_code != -32601)
    return true;
  if (!e->says_session_lost)
    return false;
  if (e->http_status >= 300)
    return e->http_status == 400 || e->http_status == 503;
  return e->jsonrpc_code == -32600 || e->jsonrpc_code == -32001 || e->jsonrpc_code == -32015;
}

/* The status decides, for it may come from a balancer that knows nothing of the body. The body's code only tells apart
 * what a 4xx leaves open. */
static enum hf_fault of_status(const struct hf_evidence *e) {
  if (e->http_status == 503 && e->retry_after >= 0)
    return HF_FAULT_REFUSED_UNEXECUTED;
  if (e->listed_unexecuted)
    return HF_FAULT_REFUSED_UNEXECUTED;
  enum hf_fault fault = find(statuses, sizeof statuses / sizeof *statuses, e->http_status);
  if (fault == HF_FAULT_REJECTED && e->jsonrpc_code == -32601)
    return HF_FAULT_UNKNOWN_TOOL;
  return fault;
}

static enum hf_fault fault_of(const struct hf_evidence *e) {
  switch (e->kind) {
  case HF_EVIDENCE_CONNECT_REFUSED:
  case HF_EVIDENCE_CONNECT_TIMEOUT:
  case HF_EVIDENCE_TLS_HANDSHAKE:
  case HF_EVIDENCE_DNS_TEMPORARY:
  case HF_EVIDENCE_NOT_STARTED:
    /* "Never sent" does not stand against a count of bytes that says otherwise. */
    return e->handed_over ? HF_FAULT_BROKE : HF_FAULT_UNREACHABLE;
  case HF_EVIDENCE_NO_SUCH_HOST:
  case HF_EVIDENCE_BAD_CERTIFICATE:
  case HF_EVIDENCE_COMMAND_NOT_FOUND:
    return e->handed_over ? HF_FAULT_BROKE : HF_FAULT_MISCONFIGURED;
  case HF_EVIDENCE_BREAKER_OPEN:
    return HF_FAULT_BREAKER_OPEN;
  case HF_EVIDENCE_LOCAL_LIMIT:
    return HF_FAULT_LOCAL_LIMIT;
  case HF_EVIDENCE_BROKE:
    return e->handed_over ? HF_FAULT_BROKE : HF_FAULT_NOT_SENT;
  case HF_EVIDENCE_TIMED_OUT:
    return e->handed_over ? HF_FAULT_TIMED_OUT : HF_FAULT_NOT_SENT;
  case HF_EVIDENCE_HTTP_STATUS:
    return session_lost(e) ? HF_FAULT_SESSION_LOST : of_status(e);
  case HF_EVIDENCE_JSONRPC_ERROR:
    return session_lost(e) ? HF_FAULT_SESSION_LOST : of_code(e->jsonrpc_code);
  case HF_EVIDENCE_BAD_REPLY:
    return HF_FAULT_BAD_REPLY;
  case HF_EVIDENCE_TOOL_ERROR:
    return e->matches_transient ? HF_FAULT_TOOL_TRANSIENT : HF_FAULT_TOOL_ERROR;
  case HF_EVIDENCE_UNEXPECTED:
    return HF_FAULT_UNEXPECTED;
  case HF_EVIDENCE_RESULT_MISFIT:
    return HF_FAULT_RESULT_MISFIT;
  case HF_EVIDENCE_MISFIT:
    return e->handed_over ? HF_FAULT_UNKNOWN : HF_FAULT_SCHEMA;
  case HF_EVIDENCE_CANCELLED:
    return HF_FAULT_CANCELLED;
  case HF_EVIDENCE_DEADLINE:
    return HF_FAULT_DEADLINE;
  case HF_EVIDENCE_TASK_LOST:
    return HF_FAULT_TASK_LOST;
  case HF_EVIDENCE_TASK_CANCELLED:
    return HF_FAULT_TASK_CANCELLED;
  case HF_EVIDENCE_NONE:
    return HF_FAULT_UNKNOWN;
  }
  return HF_FAULT_UNKNOWN;
}

struct hf_verdict_row hf_classify(const struct hf_evidence *evidence) {
  return rows[fault_of(evidence)];
}

const struct hf_verdict_row *hf_fault_row(enum hf_fault fault) {
  return &rows[fault];
}

const char *hf_fault_name(enum hf_fault fault) {
  static const char *const names[HF_FAULT_COUNT] = {
#define NAME(name, text) [HF_FAULT_##name] = text,
      HF_FAULT_LIST(NAME)
#undef NAME
  };
  return names[fault];
}

const char *hf_redirect_text(enum hf_redirect redirect) {
  static const char *const texts[] = {
      [HF_REDIRECT_NONE] = "",
      [HF_REDIRECT_TO_GET] = "a redirect that would turn POST into GET",
      [HF_REDIRECT_ELSEWHERE] = "a redirect to another origin",
      [HF_REDIRECT_DOWNGRADE] = "a redirect from https to http",
      [HF_REDIRECT_TOO_MANY] = "one redirect too many, perhaps in a circle",
      [HF_REDIRECT_NOWHERE] = "a redirect to nowhere",
  };
  return texts[redirect];
}

const char *hf_executed_name(enum hf_executed executed) {
  static const char *const names[] = {"no", "maybe", "yes"};
  return names[executed];
}

const char *hf_safety_name(enum hf_safety safety) {
  static const char *const names[] = {"unsafe", "keyed", "idempotent", "read_only"};
  return names[safety];
}
