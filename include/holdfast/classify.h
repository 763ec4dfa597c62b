/* The fault table: what a piece of evidence says about a call.
 *
 * Evidence is what an upstream or the gateway saw; a fault is the row it falls in. The row alone decides whether the
 * tool can have run, whether a repeat may help, and who is to blame. Nothing else in the library answers those
 * questions, and evidence without a row is "maybe executed, not transient". "Tool" stands for whatever is called: an
 * operation of an HTTP API, a remote procedure. The rows with their reasons are in docs/policy.md. */
#ifndef HOLDFAST_CLASSIFY_H
#define HOLDFAST_CLASSIFY_H

#include "holdfast/api.h"
#include "holdfast/time.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whether the tool can have run. Ordered: a call's is the maximum over its attempts and never falls. */
enum hf_executed { HF_EXECUTED_NO, HF_EXECUTED_MAYBE, HF_EXECUTED_YES };

/* What a repeat of a tool does. Everything but `unsafe` may be sent again to the same server when it may have run. */
enum hf_safety { HF_SAFETY_UNSAFE, HF_SAFETY_KEYED, HF_SAFETY_IDEMPOTENT, HF_SAFETY_READ_ONLY };

/* What was seen. Whether the request had been handed over whole, and whether anything had come back before, is not the
 * reporter's to say: the call knows it from its own events (see struct hf_evidence). */
enum hf_evidence_kind {
  HF_EVIDENCE_NONE,              /* nothing to say; without a row */
  HF_EVIDENCE_CONNECT_REFUSED,   /* nobody listens, unreachable */
  HF_EVIDENCE_CONNECT_TIMEOUT,   /* no connection, or no byte taken, in time */
  HF_EVIDENCE_TLS_HANDSHAKE,     /* broken, not rejected */
  HF_EVIDENCE_DNS_TEMPORARY,     /* the resolver may know later */
  HF_EVIDENCE_NOT_STARTED,       /* the child was dead before the write, or ended while it started */
  HF_EVIDENCE_NO_SUCH_HOST,      /* the resolver says there is none */
  HF_EVIDENCE_BAD_CERTIFICATE,   /* not accepted */
  HF_EVIDENCE_COMMAND_NOT_FOUND, /* no such program, or not executable */
  HF_EVIDENCE_BREAKER_OPEN,      /* ours; made by the provider */
  HF_EVIDENCE_LOCAL_LIMIT,       /* ours: bulkhead, queue, rate */
  HF_EVIDENCE_BROKE,             /* connection reset, stream ended without an answer, child died in flight */
  HF_EVIDENCE_TIMED_OUT,         /* idle or attempt timer; made by the call itself */
  HF_EVIDENCE_HTTP_STATUS,       /* `http_status`, and `jsonrpc_code` when the body was an error */
  HF_EVIDENCE_BAD_REPLY,         /* no JSON, HTML, a foreign id, neither result nor error, over a limit */
  HF_EVIDENCE_JSONRPC_ERROR,     /* `jsonrpc_code` with a 2xx status or over stdio */
  HF_EVIDENCE_TOOL_ERROR,        /* a result with `isError: true` */
  HF_EVIDENCE_UNEXPECTED,        /* a result that fails what is expected of the tool's results */
  HF_EVIDENCE_RESULT_MISFIT,     /* a result that does not fit the output schema of its tool */
  HF_EVIDENCE_MISFIT,            /* ours: what would have been sent does not fit the tool's schema */
  HF_EVIDENCE_CANCELLED,         /* the caller cancelled; made by the call itself */
  HF_EVIDENCE_DEADLINE,          /* the deadline passed; made by the call itself */
  HF_EVIDENCE_TASK_LOST,         /* the server had made a task of it, and does not know what became of that */
  HF_EVIDENCE_TASK_CANCELLED,    /* the server has cancelled the task that it had made of it */
};

/* Why a redirect was not followed. */
enum hf_redirect {
  HF_REDIRECT_NONE,      /* there was none */
  HF_REDIRECT_TO_GET,    /* 301, 302, 303: the POST would have become a GET */
  HF_REDIRECT_ELSEWHERE, /* to another origin */
  HF_REDIRECT_DOWNGRADE, /* from https to http */
  HF_REDIRECT_TOO_MANY,  /* after as many as are followed: a loop, mostly */
  HF_REDIRECT_NOWHERE,   /* without a location that can be used */
};

/* The Content-Encoding of an answer that could not be read because of it. */
enum hf_encoding { HF_ENCODING_READ, HF_ENCODING_BR, HF_ENCODING_ZSTD, HF_ENCODING_COMPRESS, HF_ENCODING_OTHER };

struct hf_evidence {
  enum hf_evidence_kind kind;
  int http_status;     /* 0 when there was none */
  int jsonrpc_code;    /* 0 when there was none */
  hf_time retry_after; /* from the answer, already a duration (hf_retry_after_parse); negative when there was none */
  enum hf_redirect redirect;

  bool carried_session;   /* the request had a session id */
  bool says_session_lost; /* the answer's text speaks of an unknown, missing, expired or terminated session */
  bool listed_unexecuted; /* `http_status` is in the server's `notExecuted` */
  bool matches_transient; /* an `isError` text matches the tool's `transientErrors` */
  bool child_dead;        /* the process that might still run it has ended */

  /* Filled in by hf_call_step from the attempt's own events; reporters leave them false. */
  bool handed_over; /* the last byte of the request was handed over */
  bool answered;    /* there had been a sign of life before this evidence */

  enum hf_encoding unread_encoding;
};

/* An evidence of `kind` with nothing else known: retry_after is absent. */
#ifdef __cplusplus
#define HF_EVIDENCE(k) hf_evidence_of(k)
static inline struct hf_evidence hf_evidence_of(enum hf_evidence_kind kind) {
  struct hf_evidence evidence = {};
  evidence.kind = kind;
  evidence.retry_after = -1;
  return evidence;
}
#else
#define HF_EVIDENCE(k)                                                                                                 \
  (struct hf_evidence) {                                                                                               \
    .kind = (k), .retry_after = -1                                                                                     \
  }
#endif

/* The rows. The second column is the name that logs, metrics and the outcome marker show. */
#define HF_FAULT_LIST(X)                                                                                               \
  X(NONE, "none")                                                                                                      \
  X(UNREACHABLE, "unreachable")                                                                                        \
  X(MISCONFIGURED, "misconfigured")                                                                                    \
  X(BREAKER_OPEN, "breaker_open")                                                                                      \
  X(LOCAL_LIMIT, "local_limit")                                                                                        \
  X(SESSION_LOST, "session_lost")                                                                                      \
  X(NOT_SENT, "not_sent")                                                                                              \
  X(BROKE, "connection_lost")                                                                                          \
  X(TIMED_OUT, "timed_out")                                                                                            \
  X(RATE_LIMITED, "rate_limited")                                                                                      \
  X(REFUSED_UNEXECUTED, "unavailable")                                                                                 \
  X(SERVER_ERROR, "server_error")                                                                                      \
  X(BAD_REPLY, "bad_reply")                                                                                            \
  X(RPC_ERROR, "rpc_error")                                                                                            \
  X(REJECTED, "rejected")                                                                                              \
  X(UNAUTHORIZED, "unauthorized")                                                                                      \
  X(UNKNOWN_TOOL, "unknown_tool")                                                                                      \
  X(CONFLICT, "conflict")                                                                                              \
  X(REDIRECTED, "redirected")                                                                                          \
  X(TOOL_ERROR, "tool_error")                                                                                          \
  X(TOOL_TRANSIENT, "tool_error_transient")                                                                            \
  X(UNEXPECTED, "unexpected_result")                                                                                   \
  X(RESULT_MISFIT, "result_misfit")                                                                                    \
  X(SCHEMA, "schema")                                                                                                  \
  X(INPUT_REQUIRED, "input_required")                                                                                  \
  X(CANCELLED, "cancelled")                                                                                            \
  X(DEADLINE, "deadline")                                                                                              \
  X(UNKNOWN, "unknown")                                                                                                \
  X(TASK_LOST, "task_lost")                                                                                            \
  X(TASK_CANCELLED, "task_cancelled")

enum hf_fault {
#define HF_FAULT_ENUM(name, text) HF_FAULT_##name,
  HF_FAULT_LIST(HF_FAULT_ENUM)
#undef HF_FAULT_ENUM
      HF_FAULT_COUNT
};

enum hf_repeat {
  HF_REPEAT_NEVER,
  HF_REPEAT_TRANSIENT, /* by rule 4: after a backoff, within attempts, budget and deadline */
  HF_REPEAT_SESSION,   /* once, at once, in a new session */
};

enum hf_blame {
  HF_BLAME_NOBODY,   /* neutral: neither closes nor opens a breaker */
  HF_BLAME_TOOL,     /* after the request was written */
  HF_BLAME_PROVIDER, /* connection faults */
  HF_BLAME_SUCCESS,  /* no fault at all */
  HF_BLAME_ANSWER,   /* the tool's failure, in an answer that shows that its server works */
};

/* May another provider of a route be tried? */
enum hf_next {
  HF_NEXT_NO,
  HF_NEXT_YES,
  HF_NEXT_SAFE, /* only where that cannot run an effect twice (rule 7) */
};

struct hf_verdict_row {
  enum hf_fault fault;
  enum hf_executed executed; /* of this attempt alone; HF_EXECUTED_NO also stands for "as before" */
  enum hf_repeat repeat;
  enum hf_blame blame;
  enum hf_next next;
};

/* Looks the evidence up. Total: every input has an answer. A call (holdfast/call.h) does it with what it knows besides.
 */
HF_API struct hf_verdict_row hf_classify(const struct hf_evidence *evidence);

/* The constant row of a fault. */
HF_API const struct hf_verdict_row *hf_fault_row(enum hf_fault fault);

/* The constant name of a fault ("rate_limited"), for logs, metrics and the outcome marker. */
HF_API const char *hf_fault_name(enum hf_fault fault);

/* What redirect was not followed ("a redirect to another origin"), for people; "" for HF_REDIRECT_NONE. */
HF_API const char *hf_redirect_text(enum hf_redirect redirect);

/* "no", "maybe", "yes". */
HF_API const char *hf_executed_name(enum hf_executed executed);

/* "unsafe", "keyed", "idempotent", "read_only". */
HF_API const char *hf_safety_name(enum hf_safety safety);

/* May a tool of this safety be sent again to the same server when it may have run? */
static inline bool hf_safety_allows_repeat(enum hf_safety safety) {
  return safety != HF_SAFETY_UNSAFE;
}

#ifdef __cplusplus
}
#endif

#endif
