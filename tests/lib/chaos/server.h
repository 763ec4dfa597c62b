/* The faulty server's protocol side: a message in, what to answer and how to spoil it out. No sockets here.
 *
 * Tools: `read` (read only), `put` (idempotent), `charge` (unsafe), `slow` (progress, then an answer), `big`, `echo`.
 * Every one takes `key` (what the ledger shows) and `_fault` (see fault.h). */
#ifndef CHAOS_SERVER_H
#define CHAOS_SERVER_H

#include "fault.h"

#include "base/buf.h"

enum chaos_era { CHAOS_LEGACY = 1, CHAOS_MODERN = 2, CHAOS_EITHER = 3 };

enum { CHAOS_SESSION_LEN = 16, CHAOS_SESSIONS_MAX = 65536, CHAOS_MESSAGE_MAX = 256 << 20 };

struct chaos {
  struct chaos_faults faults;
  int ledger;
  int eras; /* of enum chaos_era */
  bool http;
  bool sessions;          /* hand out and insist on Mcp-Session-Id */
  bool sse;               /* answer calls as event streams where the client takes them */
  long extra_tools;       /* how many further `tool_N` are listed */
  struct hf_map live;     /* session id → itself */
  unsigned long executed; /* by this process */
};

struct chaos_request {
  struct hf_str message;
  struct hf_str session; /* the header; ptr NULL if absent, as for the next ones */
  struct hf_str version;
  struct hf_str method_header;
  struct hf_str name_header;
};

struct chaos_answer {
  struct hf_buf body;  /* the JSON-RPC message; empty: nothing to say (202) */
  struct hf_buf token; /* the caller's progress token, raw; empty: no progress */
  struct hf_buf id;    /* raw */
  int status;
  long steps; /* progress notes before the body */
  long step_ms;
  bool is_call;
  char session[CHAOS_SESSION_LEN * 2 + 1]; /* to hand out, or "" */
  struct chaos_fault fault;
};

void chaos_init(struct chaos *chaos, uint64_t seed);
void chaos_deinit(struct chaos *chaos);

void chaos_answer_init(struct chaos_answer *answer);
void chaos_answer_deinit(struct chaos_answer *answer);

/* Executes what the request asks for (unless the fault says otherwise) and fills `answer`. */
void chaos_serve(struct chaos *chaos, const struct chaos_request *request, struct chaos_answer *answer);

/* Appends progress note `step` (from 1) of a slow answer. */
void chaos_answer_progress(const struct chaos_answer *answer, long step, struct hf_buf *buf);

/* Ends a session. Returns false if there was none. */
bool chaos_forget_session(struct chaos *chaos, struct hf_str session);

#endif
