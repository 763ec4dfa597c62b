/* One request of a client while it is under way: from the front's hands until its answer, exactly one, is back in them.
 *
 * Short ones are answered where they stand. Those that need servers or lists wait, and are tried again when something
 * changes or their time is over. Calls go on in the pipeline. */
#ifndef HF_GATEWAY_EXCHANGE_H
#define HF_GATEWAY_EXCHANGE_H

#include "gateway/client.h"
#include "gateway/instance.h"
#include "gateway/loop.h"
#include "gateway/session.h"
#include "mcp/era.h"
#include "mcp/message.h"
#include "policy/call.h"

enum hf_stage {
  HF_STAGE_NEW,
  HF_STAGE_WAITING,   /* for servers or lists; `resume` tries again */
  HF_STAGE_CALLING,   /* in the pipeline */
  HF_STAGE_LISTENING, /* subscriptions/listen: open until one side ends it */
  HF_STAGE_DONE,
};

enum { HF_EXCHANGE_EVENTS_MAX = 4 };

struct hf_exchange;

/* What a call is about, once it is known. */
struct hf_target_tool {
  struct hf_instance *instance; /* a reference */
  struct hf_settings *config;   /* a reference: what `policy` and `transient_errors` point into */
  struct hf_provider_tool *breaker;
  struct hf_str name; /* the server's own, or absent if it is not a matter of a name; in the exchange's arena */
  bool listed;        /* the name is one of the catalog, not of the caller's making */
  enum hf_safety safety;
  struct hf_param_headers headers; /* in the exchange's arena */
  const struct hf_policy *policy;
  const struct hf_strings *transient_errors; /* likewise */
  struct hf_str disabled_reason;             /* if there is no instance for that; borrowed from the settings */
};

struct hf_exchange {
  struct hf_list link;    /* in its client's list */
  struct hf_list waiting; /* in the gateway's list, while WAITING */
  struct hf_client *client;
  struct hf_reply *reply; /* NULL once the client is gone from it */
  struct hf_message request;
  struct hf_request_meta meta;
  enum hf_era era; /* of this request */
  enum hf_stage stage;
  void (*resume)(struct hf_exchange *exchange);
  bool wait_over;
  struct hf_timer timer; /* of the wait, then of the call */
  hf_time started;
  uint64_t number; /* the call id */
  struct hf_arena arena;
  bool has_headers; /* as the reply had them; in the arena */
  struct hf_header *headers;
  size_t header_count;

  /* In the pipeline. */
  struct hf_list at_instance;
  struct hf_target_tool target;
  struct hf_call call;
  struct hf_call_event events[HF_EXCHANGE_EVENTS_MAX]; /* that wait for their step */
  unsigned event_count;
  bool stepping;
  struct hf_job job;
  struct hf_attempt_ref *ref; /* the attempt in flight */
  unsigned attempt;
  uint64_t upstream_id;
  double progress; /* the highest the client has seen */
  bool has_progress;
  const struct hf_message *response; /* during the step of its arrival */

  /* LISTENING: what was asked for. */
  unsigned listens; /* bit per enum hf_list_kind */
};

/* Takes `request`. Returns it in the client's list, or NULL when out of memory (then `request` is untouched). */
struct hf_exchange *hf_exchange_new(struct hf_client *client, struct hf_message *request, struct hf_reply *reply);

/* Answers with `result` or `error` (raw) and ends it. */
void hf_exchange_result(struct hf_exchange *exchange, struct hf_str result);
void hf_exchange_error(struct hf_exchange *exchange, int code, struct hf_str message, struct hf_str data);

/* Answers with `text` (taken) and ends it. */
void hf_exchange_finish(struct hf_exchange *exchange, int http_status, struct hf_pieces *text);

/* What the modern HTTP transport wants for an error with this code, ours or the server's: most are answers as good as
 * any (200). */
int hf_exchange_status(int64_t code);

/* Waits until something changes, at most `wait`, then calls `resume` again and again until it answers or goes on. */
void hf_exchange_wait(struct hf_exchange *exchange, hf_time wait, void (*resume)(struct hf_exchange *exchange));

/* The waiting is over, whatever it brought. */
void hf_exchange_go_on(struct hf_exchange *exchange);

/* The client cancels it, or is gone from it (then `reply` is NULL). The exchange is gone when it returns. */
void hf_exchange_cancel(struct hf_exchange *exchange);

/* Ends a cancelled one: the front gets HF_STATUS_CANCELLED if it still waits. */
void hf_exchange_end_cancelled(struct hf_exchange *exchange);

/* Ends it without an answer. */
void hf_exchange_drop(struct hf_exchange *exchange);

/* A message before the answer. `text` is taken. */
void hf_exchange_message(struct hf_exchange *exchange, struct hf_pieces *text);

#endif
