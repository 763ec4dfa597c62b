/* The seam between the gateway and what outlives it: dead letters, intents, keys with their results, cached answers,
 * tasks.
 *
 * A store has its own thread behind a bounded queue. Nothing here blocks; what is asked for is copied; answers come on
 * the loop, in the order of the questions (refusals by a full queue come sooner). Several gateways share one store:
 * rows carry an owner, which is alive as long as it holds its lock, and nobody touches the rows of a living owner. What
 * a dead owner left open becomes letters.
 *
 * src/store implements it; tests and the simulator fill it with fakes. A gateway without a store has `NULL`. */
#ifndef HF_GATEWAY_STORE_H
#define HF_GATEWAY_STORE_H

#include "base/buf.h"
#include "base/error.h"
#include "base/str.h"
#include "base/time.h"
#include "policy/classify.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HF_FINGERPRINT_LEN = 32, HF_FINGERPRINT_HEX = 2 * HF_FINGERPRINT_LEN, HF_LETTER_ID_MAX = 32 };

/* SHA-256 of principal, server, tool and canonical arguments: equal calls are equal here. */
struct hf_fingerprint {
  uint8_t byte[HF_FINGERPRINT_LEN];
};

/* A call that is about to be sent and whose effect must not happen twice. */
struct hf_intent {
  struct hf_str call; /* its id, unique in the store: the key of the row */
  struct hf_str principal;
  struct hf_str server;    /* who may come to run it: "a, b" for a route */
  struct hf_str tool;      /* the name that the client used */
  struct hf_str route;     /* or absent */
  struct hf_str arguments; /* raw */
  struct hf_str key;       /* the idempotency key, or absent */
  struct hf_fingerprint fingerprint;
  struct hf_str trace_id; /* or absent */
  unsigned priority;
  int64_t at_ms; /* wall clock; of one with a key: when that was first sent */
};

enum hf_letter_status {
  HF_LETTER_DEAD,        /* waits for somebody */
  HF_LETTER_REPLAYING,   /* its owner is replaying it */
  HF_LETTER_REPLAYED,    /* done: `result` */
  HF_LETTER_DISCARDED,   /* by a person */
  HF_LETTER_QUARANTINED, /* came back too often */
  HF_LETTER_STATUS_COUNT
};

/* "dead", …; "unknown" for a number that is none. */
const char *hf_letter_status_name(enum hf_letter_status status);

/* The reason of a letter that was made of what a dead gateway left. */
#define HF_LETTER_GATEWAY_DIED "gateway_died"

enum { HF_LEFT_FOR_MS = 60 * 60 * 1000 }; /* so long equal calls are told of it */

/* A dead letter. Texts are borrowed by whoever gets one; absent ones have no pointer. Times are wall-clock ms. */
struct hf_letter {
  struct hf_str id;   /* "d-…"; given by the store */
  struct hf_str call; /* the call that failed last */
  struct hf_str principal;
  struct hf_str tool; /* the name that the client used: what a replay calls */
  struct hf_str route;
  struct hf_str providers; /* "a, b": those that were tried */
  struct hf_str reason;    /* the fault's name, or HF_LETTER_GATEWAY_DIED */
  struct hf_str end;       /* hf_call_end_name */
  struct hf_str executed;  /* "no", "maybe", "yes" */
  struct hf_str arguments; /* raw */
  struct hf_str schema;    /* hash of the tool's input schema when it failed, hex */
  struct hf_str attempts;  /* raw JSON array: every step with time, provider, fault, executed, breaker */
  struct hf_str key;
  struct hf_str trace_id;
  struct hf_str result;  /* raw JSON of the last replay's answer */
  struct hf_str history; /* raw JSON array of {"atMs", "what", "by", …}: replays, patches, discards */
  struct hf_fingerprint fingerprint;
  unsigned priority;
  int64_t first_ms; /* of the calls that came here, and of their key: how old it is decides whether it is trusted */
  int64_t last_ms;
  unsigned count; /* how often an equal call came here */
  unsigned replays;
  enum hf_letter_status status;
  bool redacted; /* something of `arguments` is not kept: no replay without a patch */
  bool expiring; /* announced: retention removes it within a day */
};

/* Which letters. Absent and zero members say nothing. */
struct hf_letter_filter {
  struct hf_str id;
  struct hf_str tool;     /* a pattern with `*` */
  struct hf_str provider; /* one of those that were tried */
  struct hf_str reason;
  struct hf_str fingerprint; /* hex, or its beginning */
  int64_t since_ms;          /* of `last_ms` */
  int64_t until_ms;
  unsigned priority;
  bool any_status; /* else only those with `status` */
  enum hf_letter_status status;
  unsigned limit; /* 0: HF_LETTERS_MAX */
};

enum { HF_LETTERS_MAX = 10000 };

/* What is known of an idempotency key. */
struct hf_keyed {
  struct hf_str principal;
  struct hf_str server;
  struct hf_str tool;
  struct hf_str key;
  struct hf_fingerprint fingerprint; /* of the arguments as first sent */
  int64_t first_ms;                  /* when it was first sent */
  int64_t expires_ms;
  struct hf_str result; /* raw; absent while there is none */
};

struct hf_cached {
  struct hf_fingerprint fingerprint;
  struct hf_str result; /* raw */
  int64_t at_ms;
  int64_t expires_ms;
};

enum hf_task_status {
  HF_TASK_WORKING,
  HF_TASK_INPUT_REQUIRED,
  HF_TASK_COMPLETED, /* it has a result, an error of the tool's own included */
  HF_TASK_FAILED,    /* it has an error */
  HF_TASK_CANCELLED,
  HF_TASK_STATUS_COUNT
};

/* "working", …, as both protocols have it. */
const char *hf_task_status_name(enum hf_task_status status);

static inline bool hf_task_status_is_terminal(enum hf_task_status status) {
  return status != HF_TASK_WORKING && status != HF_TASK_INPUT_REQUIRED;
}

enum { HF_TASK_ID_MAX = 64, HF_SERVER_TASK_ID_MAX = 1024 };

/* A call whose answer its caller fetches by an id. Absent texts have no pointer. */
struct hf_stored_task {
  struct hf_str id; /* the gateway's, unguessable: the key of the row */
  struct hf_str principal;
  struct hf_str endpoint;    /* "" for all servers */
  struct hf_str call;        /* its id, which is that of its intent, too */
  struct hf_str tool;        /* the name that the client used */
  struct hf_str server;      /* where the server's own task is, by its name in the configuration; or absent */
  struct hf_str server_task; /* what that server calls it, or absent: the gateway runs it */
  struct hf_str letter;      /* as read: what was made of its intent when its gateway died; or absent */
  enum hf_task_status status;
  struct hf_str message; /* about the status, for people; or absent */
  struct hf_str result;  /* raw: of COMPLETED its result, of FAILED its JSON-RPC error object; else absent */
  int64_t created_ms;
  int64_t updated_ms;
  int64_t expires_ms; /* it is forgotten then */
  bool failed;        /* of COMPLETED: the result says isError */
  bool elsewhere;     /* as read: its owner is another gateway, which lives */
};

/* What is larger is not kept (HF_ERR_LIMIT): a result, so many tasks, all of their results. Nothing is forgotten for
 * something newer: whoever has an id was told how long it is good for. */
enum { HF_TASK_RESULT_MAX = 4 << 20, HF_TASKS_STORED_MAX = 65536, HF_TASKS_STORED_BYTES_MAX = 256 << 20 };

/* Which tasks are listed: those of this principal at this endpoint that have not expired, the oldest first. */
struct hf_task_filter {
  struct hf_str principal;
  struct hf_str endpoint;
  struct hf_str after; /* only newer ones than that with this id; or absent */
  unsigned limit;
};

struct hf_store_stats {
  uint64_t depth[HF_LETTER_STATUS_COUNT];
  uint64_t waiting[HF_FAULT_COUNT + 1]; /* of those that are dead, by fault; the last: whose gateway died, and others */
  int64_t oldest_ms;                    /* of those that are dead; 0: none */
  uint64_t expiring;                    /* that retention removes within a day */
  uint64_t tasks;                       /* that are kept */
  uint64_t bytes;                       /* of the database */
  int error;                            /* of the newest write: 0, or why it failed */
};

/* Somebody who waits for an answer. `done` comes once, on the loop and never within the question, unless it is
 * forgotten before. The rest is the store's own; set it to zero. */
struct hf_store_wait {
  void (*done)(struct hf_store_wait *wait, int error,
               struct hf_str id); /* 0, or why it is not stored; `id`: a letter's */
  void *impl;
  struct hf_store_wait *next;
  int error;
};

typedef void hf_letter_fn(void *ctx, const struct hf_letter *letter);
typedef void hf_keyed_fn(void *ctx, const struct hf_keyed *keyed);
typedef void hf_cached_fn(void *ctx, const struct hf_cached *cached);
typedef void hf_stored_task_fn(void *ctx, const struct hf_stored_task *task);

/* Somebody who waits for rows: `row` for each, in several turns of the loop if there are many, then `done`. */
struct hf_store_query {
  hf_letter_fn *row;
  void (*done)(struct hf_store_query *query, int error);
  void *ctx; /* of `row` */
  void *impl;
  struct hf_store_query *next;
  int error;
};

/* Somebody who waits for tasks, likewise; all within one turn of the loop. */
struct hf_task_query {
  hf_stored_task_fn *row;
  void (*done)(struct hf_task_query *query, int error);
  void *ctx; /* of `row` */
  void *impl;
  struct hf_task_query *next;
  int error;
};

/* What the store tells of its own accord. */
enum hf_store_news {
  HF_NEWS_RECOVERED,   /* the letter was made of, or given back by, what a dead owner left */
  HF_NEWS_LEFT,        /* the same, whoever made it, and maybe told before; of the letter without its large parts */
  HF_NEWS_QUARANTINED, /* it came back too often */
  HF_NEWS_EXPIRING,    /* retention removes it within a day */
  HF_NEWS_EXPIRED,     /* retention has removed it */
  HF_NEWS_URGENT,      /* we wrote it, new or come back, and its priority is HF_PRIORITY_FIRST */
};

typedef void hf_store_news_fn(void *ctx, enum hf_store_news news, const struct hf_letter *letter);

struct hf_store;

struct hf_store_ops {
  /* Writes an intent, so that it survives the death of this process (not of the machine). Before the answer comes
   * HF_NEWS_LEFT, if an equal call was left by an owner that is dead by now. */
  void (*intend)(struct hf_store *store, const struct hf_intent *intent, struct hf_store_wait *wait);

  /* The intent is over, and there is no letter for it. Nobody waits. */
  void (*settle)(struct hf_store *store, struct hf_str call);

  /* Writes a letter, and ends the intent of its call with it, in one transaction that survives power loss. An equal one
   * that is still dead (or quarantined, or that we are replaying as this call: then `replays` rises, too) is not
   * written twice: its count rises, its attempts are the newest, `executed` is the maximum, and it is dead again, or
   * quarantined. If it fails, the intent stays, and becomes a letter when this owner ends; who wants none settles it.
   * Without `arguments` they are its intent's, and so is what makes it equal to others; where there is no intent, they
   * are not known. */
  void (*bury)(struct hf_store *store, const struct hf_letter *letter, struct hf_store_wait *wait);

  /* Sets the status of the letter with this id, and what else is not absent: result, call, key, arguments, executed
   * (known by proof, or by a person's word); priority, replays and last_ms (which never falls) unless they are 0.
   * `history` is one JSON object, which is appended to the letter's. Durably. Errors through `wait`: HF_ERR_NOTFOUND;
   * HF_ERR_BUSY if it is REPLAYING with a living owner that is not us, or is to be and already is: to begin a replay is
   * a change to REPLAYING, and only one can win (who has won may say more, by its `call`); HF_ERR_INVALID if what it is
   * does not become that (only DEAD becomes REPLAYING, only REPLAYING REPLAYED; back to DEAD is possible from
   * everywhere). */
  void (*change)(struct hf_store *store, const struct hf_letter *letter, struct hf_store_wait *wait);

  /* The newest first. */
  void (*letters)(struct hf_store *store, const struct hf_letter_filter *filter, struct hf_store_query *query);

  /* Notes a key before its first byte is sent, and its result afterwards (durably against the death of the process).
   * What is noted of a key that has not expired stays; HF_ERR_EXISTS if that is bound to other arguments. */
  void (*remember)(struct hf_store *store, const struct hf_keyed *keyed, struct hf_store_wait *wait);

  /* Keeps a cached answer over restarts. Nobody waits. */
  void (*keep)(struct hf_store *store, const struct hf_cached *cached);

  /* Adds counts to those that are there: a JSON array of {"hour": since 1970, "server", "tool", "counts": {what: n}}.
   * Nobody waits. Returns 0, or HF_ERR_LIMIT or HF_ERR_NOMEM for what it does not take. */
  int (*tally)(struct hf_store *store, struct hf_str rows);

  /* What was stored before, once at the start, before any call: keys that have not expired, and cached answers. */
  void (*load)(struct hf_store *store, hf_keyed_fn *keyed, hf_cached_fn *cached, void *ctx);

  /* Writes a task, new or known, as it is now; it is ours from then on. Durably against the death of the process.
   * Absent members and times that are 0 leave what is known as it is. Errors: HF_ERR_LIMIT; HF_ERR_BUSY if it is
   * another gateway's; HF_ERR_NOTFOUND if it is not known, and `created_ms` or `expires_ms` is 0. `wait` may be NULL:
   * nobody waits. */
  void (*keep_task)(struct hf_store *store, const struct hf_stored_task *task, struct hf_store_wait *wait);

  /* Forgets it, unless another gateway runs it. Nobody waits. */
  void (*drop_task)(struct hf_store *store, struct hf_str id);

  /* The one with this id that has not expired, or none, through `row` (a hf_stored_task_fn) of the query. Only for what
   * is not in memory: tasks of other gateways, and those that ended before this one was started. */
  void (*find_task)(struct hf_store *store, struct hf_str id, struct hf_task_query *query);

  /* Their results are not read. HF_ERR_NOTFOUND: there is no `after` (any more). */
  void (*list_tasks)(struct hf_store *store, const struct hf_task_filter *filter, struct hf_task_query *query);

  /* What dead owners left unfinished is ours from now on. Once, after `load`: what there is is told at once, and what
   * is left by those that die later, or could not be taken now, is told on the loop. Those with a `server_task` may
   * still be followed there: their intents become ours as they are, and no letter is made of them. Of all others it is
   * unknown whether they ran; their intents become letters, as ever. */
  void (*take_tasks)(struct hf_store *store, hf_stored_task_fn *task, void *ctx);

  /* Tells of its letters from now on, beginning with those that were recovered when it was opened, or not long before.
   */
  void (*watch)(struct hf_store *store, hf_store_news_fn *news, void *ctx);

  /* How it is, as last known: never waits. */
  void (*stats)(struct hf_store *store, struct hf_store_stats *ret_stats);

  /* The answer is not wanted any more; what was asked for is done all the same. */
  void (*forget)(struct hf_store *store, struct hf_store_wait *wait);
  void (*forget_query)(struct hf_store *store, struct hf_store_query *query);
  void (*forget_task_query)(struct hf_store *store, struct hf_task_query *query);

  /* Ids of calls are unique in the store: a prefix for this owner. */
  struct hf_str (*owner)(const struct hf_store *store);
};

/* The head of every implementation. */
struct hf_store {
  const struct hf_store_ops *ops;
};

#endif
