/* The faulty server's protocol side: a message in, what to answer and how to spoil it out. No sockets here.
 *
 * Tools: `read` (read only), `put` (idempotent), `charge` (unsafe), `slow` (progress, then an answer), `big`, `echo`,
 * `pay` (unsafe, but for its `client_token`), `charged` (tells whether `charge` ran). Every one takes `key` (what the
 * ledger shows) and `_fault` (see fault.h). */
#ifndef HF_CHAOS_SERVER_H
#define HF_CHAOS_SERVER_H

#include "chaos/memory.h"
#include "chaos/options.h"
#include "chaos/plan.h"

#include "base/buf.h"

enum {
  HF_CHAOS_SESSION_LEN = 16,
  HF_CHAOS_SESSIONS_MAX = 65536,
  HF_CHAOS_MESSAGE_MAX = 256 << 20,
  HF_CHAOS_KEY_MAX = 255,
  HF_CHAOS_ID_MAX = 1024
};

struct hf_chaos {
  struct hf_chaos_plan plan;
  int ledger;
  int eras; /* of enum hf_chaos_era */
  bool http;
  bool sessions;                     /* hand out and insist on Mcp-Session-Id */
  bool sse;                          /* answer calls as event streams where the client takes them */
  const struct hf_chaos_tool *tools; /* borrowed */
  size_t tools_count;
  long extra_tools;   /* how many further `tool_N` are listed */
  long drifts;        /* how often a schema has changed */
  const char *key;    /* the argument that is a call's key; borrowed */
  struct hf_map live; /* session id → itself */
  struct hf_chaos_memory memory;
  unsigned long executed; /* by this process */
};

struct hf_chaos_request {
  struct hf_str message;
  struct hf_str session; /* the header; ptr NULL if absent, as for the next ones */
  struct hf_str version;
  struct hf_str method_header;
  struct hf_str name_header;
  struct hf_str head; /* all headers, raw */
};

struct hf_chaos_answer {
  struct hf_buf body;  /* the JSON-RPC message; empty: nothing to say (202) */
  struct hf_buf token; /* the caller's progress token, raw; empty: no progress */
  struct hf_buf id;    /* raw */
  int status;
  long steps; /* progress notes before the body */
  long step_ms;
  bool is_call;
  bool modern;                                /* of a proxy's: the request was of 2026-07-28 */
  unsigned long number;                       /* of the execution that it is the answer of */
  char session[HF_CHAOS_SESSION_LEN * 2 + 1]; /* to hand out, or "" */
  struct hf_chaos_fault fault;
};

void hf_chaos_init(struct hf_chaos *chaos, const struct hf_chaos_options *options);
void hf_chaos_deinit(struct hf_chaos *chaos);

void hf_chaos_answer_init(struct hf_chaos_answer *answer);
void hf_chaos_answer_deinit(struct hf_chaos_answer *answer);

/* Whether it is JSON: what picks members afterwards takes that for granted. */
bool hf_chaos_well_formed(struct hf_str message);

/* Executes what the request asks for (unless the fault says otherwise) and fills `answer`. */
void hf_chaos_serve(struct hf_chaos *chaos, const struct hf_chaos_request *request, struct hf_chaos_answer *answer);

/* Executes the tool that the request calls, and nothing else. */
void hf_chaos_execute(struct hf_chaos *chaos, const struct hf_chaos_request *request);

/* Appends progress note `step` (from 1) of a slow answer. */
void hf_chaos_answer_progress(const struct hf_chaos_answer *answer, long step, struct hf_buf *buf);

/* Faults that are another answer of the protocol; `session` is of the request, or absent. Returns false if the ordinary
 * answer is due. */
bool hf_chaos_spoil(struct hf_chaos *chaos, struct hf_str session, struct hf_chaos_answer *answer);

/* Makes the id one that the caller never issued, or one of another type, as the fault says. */
void hf_chaos_change_id(struct hf_chaos_answer *answer);

/* Fills `answer` with an error. `data` is raw JSON, or "". */
void hf_chaos_answer_error(struct hf_chaos_answer *answer, int status, long code, const char *text, const char *data);

/* Is this a request of 2026-07-28? */
bool hf_chaos_is_modern(struct hf_str params);

/* Puts a new session into `answer`. Returns 0 or HF_ERR_LIMIT. */
int hf_chaos_start_session(struct hf_chaos *chaos, struct hf_chaos_answer *answer);

/* Ends a session. Returns false if there was none. */
bool hf_chaos_forget_session(struct hf_chaos *chaos, struct hf_str session);

#endif
