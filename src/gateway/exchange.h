/* One request of a client while it is under way: from the front's hands until its answer, exactly one, is back in them.
 *
 * Short ones are answered where they stand. Those that need servers or lists wait, and are tried again when something
 * changes or their time is over. Calls go on in the pipeline. */
#ifndef HF_GATEWAY_EXCHANGE_H
#define HF_GATEWAY_EXCHANGE_H

#include "gateway/client.h"
#include "gateway/instance.h"
#include "gateway/loop.h"
#include "gateway/observe/tally.h"
#include "gateway/session.h"
#include "gateway/store.h"
#include "mcp/era.h"
#include "mcp/message.h"
#include "policy/call.h"
#include "schema/repair.h"

enum hf_stage {
  HF_STAGE_NEW,
  HF_STAGE_WAITING,   /* for servers or lists; `resume` tries again */
  HF_STAGE_HELD,      /* a stage before the call keeps it: it waits for the store, or for an equal call */
  HF_STAGE_CALLING,   /* in the pipeline */
  HF_STAGE_LISTENING, /* subscriptions/listen: open until one side ends it */
  HF_STAGE_DONE,
};

enum { HF_EXCHANGE_EVENTS_MAX = 6, HF_LIVE_MAX = 2 };

struct hf_exchange;
struct hf_ask;
struct hf_follow;
struct hf_held;
struct hf_round;
struct hf_task;
struct hf_task_ties;

/* One provider that can answer a call, once it is known. In the exchange's arena. */
struct hf_target_tool {
  struct hf_instance *instance; /* a reference; NULL: none is known */
  struct hf_settings *config;   /* a reference: what `policy` and the like point into */
  struct hf_provider_tool *breaker;
  struct hf_str name; /* the server's own, or absent if it is not a matter of a name */
  struct hf_str uri;  /* likewise of a resource, where its client says another; else absent */
  bool listed;        /* the name is one of the catalog, not of the caller's making */
  bool configured;    /* its safety is the configuration's word, not an annotation's */
  enum hf_safety safety;
  unsigned server; /* equal for the endpoints of one server */
  struct hf_param_headers headers;
  struct hf_str arguments; /* raw, what is sent to it in place of the caller's, once that is known */
  const struct hf_policy *policy;
  const struct hf_fit_settings *fit;
  const struct hf_tool_settings *tool;     /* never NULL once there is an instance */
  const struct hf_route_provider *mapping; /* of a route, or NULL */
  const struct hf_strings *transient_errors;
  struct hf_str disabled_reason; /* if there is no instance for that; borrowed from the settings */
};

/* An attempt in flight. */
struct hf_live {
  struct hf_list at_instance; /* in the list of its target's instance */
  struct hf_exchange *exchange;
  struct hf_target_tool *target;
  struct hf_attempt_ref *ref; /* NULL: none is in flight here */
  unsigned attempt;
  uint64_t upstream_id;
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
  bool could_go;         /* a provider of its route is known: the others are waited for a moment only */
  hf_time wait_until;    /* while WAITING */
  struct hf_timer timer; /* of the wait, then of the call */
  hf_time started;
  uint64_t number; /* the call id */
  struct hf_arena arena;
  bool has_headers; /* as the reply had them; in the arena */
  struct hf_header *headers;
  size_t header_count;

  /* Who can answer it. */
  struct hf_target_tool nowhere; /* until a provider is known */
  struct hf_target_tool *target; /* the one that it is at; never NULL */
  struct hf_target_tool *targets;
  size_t target_count;
  size_t target_cap;
  struct hf_settings *config;            /* a reference: what `route` and `tool` point into; NULL: that of the target */
  const struct hf_route_settings *route; /* or NULL */
  const char *principal;                 /* its client's, who may go; in the arena; NULL: nobody in particular */
  const struct hf_tool_settings
      *tool;                  /* what holds for the whole call: the route's, or its tool's; NULL: no tools/call */
  struct hf_call_hints hints; /* the caller's */
  unsigned priority;

  /* The stages before the call. */
  unsigned stage_next;
  struct hf_str arguments; /* raw, in place of the caller's: repaired or corrected; absent: they are the caller's */
  const struct hf_repairs *repairs; /* what was done to them; in the arena; NULL: nothing */
  bool listed_anew;                 /* the newest schema was asked for */
  struct hf_str asked_name;         /* the name that the caller gave, if `request.name` is another now; in the arena */
  const char *corrected;            /* who gave others ("corrected_by_client"); constant; NULL: nobody */
  struct hf_tally_notes notes;      /* what the stages have to say for the count of the call */
  struct hf_str refusal; /* what it is answered with once its letter is written; in the arena; absent: nothing is */
  enum hf_fault refused_for;
  struct hf_ask *ask;                /* what models were asked about them; in the arena; NULL: nothing */
  struct hf_fingerprint fingerprint; /* of principal, tool and arguments; made when first wanted */
  bool has_fingerprint;
  struct hf_str key;    /* idempotency key, or absent */
  int64_t key_first_ms; /* wall clock: when it was first sent; 0: never before */
  bool key_given;       /* the key is the caller's own word */
  struct hf_flight *flight;
  struct hf_list follower; /* in its flight's list, while HELD by it */
  struct hf_list leaving;  /* its client is away, and it is given up at `away_until` */
  hf_time away_until;
  bool away;              /* its client's stream broke, and may be resumed; the reply takes what comes */
  bool alone;             /* it goes on without a client, until it ends */
  struct hf_str given_up; /* why it was cancelled, if its client did not say so; constant; absent: it did */
  struct hf_store_wait store_wait;
  bool store_waits; /* the store has an answer to give */
  bool intended;    /* there is an intent to be settled */

  /* In the pipeline. */
  struct hf_call call;
  struct hf_call_event events[HF_EXCHANGE_EVENTS_MAX]; /* that wait for their step */
  unsigned event_count;
  bool stepping;
  struct hf_job job;
  struct hf_live live[HF_LIVE_MAX];
  double progress; /* the highest the client has seen */
  bool has_progress;
  const struct hf_message *response; /* of the newest attempt that brought one, while the call may pass it on */
  unsigned response_attempt;
  const struct hf_target_tool *response_target;
  struct hf_str result_misfit;  /* what is wrong with it, if it does not fit its outputSchema; in the arena */
  struct hf_message kept;       /* holds it over turns of the loop */
  unsigned question_count;      /* questions of its call, or of its own, that are open */
  struct hf_round *round;       /* of questions of a modern server; in the arena; NULL: it asked nothing */
  struct hf_held *held;         /* open for a client that is asked; in the arena; NULL: it never was */
  struct hf_task *task;         /* that its answer goes to; NULL: to its client */
  struct hf_task_ties *ties;    /* what else it has to do with tasks; in the arena; NULL: nothing */
  bool wants_task;              /* a client of 2025-11-25 has asked for one */
  int64_t task_ttl_ms;          /* that it asked for; 0: it did not say */
  struct hf_follow *follow;     /* of a task at its server; in the arena; NULL: there is none */
  struct hf_str server_says;    /* the last that is known of how it is, for a task it becomes later; in the arena */
  struct hf_str server_task;    /* the id of one that an earlier gateway was told; in the arena; absent: it is sent */
  unsigned pages;               /* how often its caller opened pages for it; then its state is not for the server */
  struct hf_str unasked;        /* why its client was not asked, or did not answer; in the arena; absent: neither */
  struct hf_check_call *check;  /* a status check under way */
  struct hf_str sent_arguments; /* those of the last attempt, if they were not the caller's own */
  struct hf_buf substitute;     /* the raw result of an answer that is not live, without marks */
  struct hf_str joined;         /* id of the call whose answer this one shares, or absent; in the arena */
  char letter_id[HF_LETTER_ID_MAX];
  struct hf_trace *trace; /* what was decided, step by step; NULL: nobody listens */
  bool replay;            /* of a dead letter: makes no new one */
  bool is_check;          /* a status check of another call: neither cached, joined, degraded nor written down */

  /* LISTENING: what was asked for. */
  unsigned listens;       /* bit per enum hf_list_kind */
  unsigned listen_missed; /* of these, what was not told because it was not acknowledged yet */
  struct hf_list subscriptions;
  unsigned subscription_count;
};

/* Whose call it is; "" for nobody in particular. */
struct hf_str hf_exchange_principal(const struct hf_exchange *exchange);

/* The arguments of the call, raw: the caller's, or what repair or correction made of them; absent if there are none. */
struct hf_str hf_exchange_arguments(const struct hf_exchange *exchange);

/* Fills `fingerprint` in, once. Returns false if it cannot be told (no memory, arguments that say a member twice). */
bool hf_exchange_identify(struct hf_exchange *exchange);

/* The same for one whose arguments hold something that is not part of its identity: these are without it. */
bool hf_exchange_identify_by(struct hf_exchange *exchange, struct hf_str arguments);

/* Its client goes, and it goes on without one: as one of the gateway's own client. */
void hf_exchange_disown(struct hf_exchange *exchange);

/* Its client is another one from now on: the one that came back to it. */
void hf_exchange_adopt(struct hf_exchange *exchange, struct hf_client *client);

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

/* How long a call to a route waits for a provider that starts when another one is ready. */
#define HF_ROUTE_WAIT HF_MS(500)

/* Waits until something changes, at most `wait`, then calls `resume` again and again until it answers or goes on. Of
 * several waits the end that is first counts. */
void hf_exchange_wait(struct hf_exchange *exchange, hf_time wait, void (*resume)(struct hf_exchange *exchange));

/* A stage keeps it, at most until `until`, when `resume` is called with `wait_over` set; the stage's own event comes
 * before, mostly, and calls hf_pipeline_go_on. */
void hf_exchange_hold(struct hf_exchange *exchange, hf_time until, void (*resume)(struct hf_exchange *exchange));

/* The waiting is over, whatever it brought. */
void hf_exchange_go_on(struct hf_exchange *exchange);

/* The client cancels it, or is gone from it (then `reply` is NULL). The exchange is gone when it returns. */
void hf_exchange_cancel(struct hf_exchange *exchange);

/* Ends a cancelled one: the front gets HF_STATUS_CANCELLED if it still waits. */
void hf_exchange_end_cancelled(struct hf_exchange *exchange);

/* Its client has cancelled it, and it goes on all the same: the front gets HF_STATUS_CANCELLED. */
void hf_exchange_dismiss(struct hf_exchange *exchange);

/* Ends it without an answer. */
void hf_exchange_drop(struct hf_exchange *exchange);

/* A message before the answer. `text` is taken. */
void hf_exchange_message(struct hf_exchange *exchange, struct hf_pieces *text);

#endif
