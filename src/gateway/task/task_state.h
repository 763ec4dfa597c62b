/* What a task is made of: task.c has its life, and the files beside it one noun each. */
#ifndef HF_GATEWAY_TASK_TASK_STATE_H
#define HF_GATEWAY_TASK_TASK_STATE_H

#include "base/map.h"
#include "gateway/task/task.h"
#include "json/write.h"

enum {
  HF_TASKS_ENDED_BYTES = 64 << 20, /* of results in memory; beyond, the oldest go */
  HF_TASK_ROUNDS_MAX = 16,         /* that one asks its client */
  HF_TASK_QUESTIONS_MAX = 16,      /* in one of them */
  HF_TASK_MESSAGE_MAX = 1024,      /* of a status message; what is longer is cut */
  HF_TASKS_MAX = 1 << 20,
  HF_TASK_ENDED_GRACE_MS = 60 * 1000, /* so long at least an end can be fetched, whatever the time to live */
};

struct hf_rewrite;

/* How long the store is waited for, to write down that there is a task, or that it has ended. */
#define HF_TASK_WRITE_WAIT HF_SECONDS(2)

struct hf_tasks {
  struct hf_gateway *gateway;
  struct hf_map by_id;
  struct hf_list running; /* not ended, or not written down yet as such */
  struct hf_list ended;   /* the oldest first */
  size_t running_count;
  size_t ended_bytes;
  uint64_t last_number;
  bool taken_over;
  bool stopping; /* nothing new begins: what servers run is left to the next gateway */
};

/* One of the questions of a round. Texts are owned. */
struct hf_task_question {
  char *key;     /* as the call has it, raw */
  char *shown;   /* unique among all of the task: what its client sees */
  char *request; /* raw */
  char *answer;  /* raw, or NULL: it is open */
  bool asked;    /* of a client of 2025-11-25, by a request: its answer is on the way */
};

struct hf_task_round {
  unsigned number;
  struct hf_exchange *asker; /* the request of tasks/result on whose stream they are asked */
  char *state;               /* raw, or NULL */
  struct hf_task_question questions[HF_TASK_QUESTIONS_MAX];
  size_t count;
};

/* Who is to be told when a task has ended: a request of tasks/result, or of tasks/cancel of 2025-11-25. */
struct hf_task_ties {
  struct hf_exchange *exchange;
  struct hf_timer later; /* when it has lasted for `taskAfter` */
  bool timed;
  bool keeps;              /* a stage keeps the call meanwhile */
  struct hf_task *draft;   /* that is being written down, to become this call's */
  struct hf_list awaiting; /* in a task's list of those who await it */
  struct hf_task *awaited;
  struct hf_list listening; /* of struct hf_task_listener */
  struct hf_task_query query;
  bool querying;
  void (*found)(struct hf_exchange *exchange, const struct hf_stored_task *row); /* NULL: there is none */
  bool had_row;
  struct hf_stored_task row; /* its texts are in the exchange's arena */
  struct hf_buf rows;        /* of a list, being written */
  struct hf_json_writer writer;
  unsigned row_count;
  char last[HF_TASK_ID_MAX]; /* id of the newest row */
};

struct hf_task_listener {
  struct hf_task *task;
  struct hf_list at_task;
  struct hf_list at_exchange;
  struct hf_exchange *exchange;
};

struct hf_task {
  struct hf_list link; /* running, or ended */
  struct hf_tasks *tasks;
  char id[HF_TASK_ID_MAX];
  uint64_t number; /* in the order in which they were made here */
  char *principal; /* NULL: nobody in particular */
  char *endpoint;  /* NULL: all servers */
  char *tool;
  char *server_task; /* and where it is; NULL: the gateway runs it */
  char *server;
  char call[32]; /* the id of the newest call that was made for it */
  enum hf_task_status status;
  char message[HF_TASK_MESSAGE_MAX + 1];
  int64_t created_ms;
  int64_t updated_ms;
  int64_t expires_ms;
  struct hf_timer expiry;

  struct hf_client *client;     /* its own; NULL once it has ended */
  struct hf_reply reply;        /* where its calls' answers go */
  struct hf_exchange *exchange; /* its call; NULL: it asks something, or has ended */
  struct hf_blob *request;      /* the message of its first call */
  char *token;                  /* a client's progress token, raw, or NULL */
  struct hf_task_round round;

  struct hf_message answer; /* of one that has ended; all zero: it was cancelled */
  bool ending;              /* its end is being written down, and is not told yet */
  enum hf_task_status end;  /* which */
  bool listed_as_ended;
  bool too_large;    /* for the store, which has a result that says so */
  bool resuming;     /* an earlier gateway left it, and its call has not got as far as its server */
  const char *quits; /* why its question is not answered; NULL: it may be */
  struct hf_job again;
  int64_t noticed_ms;            /* when its client was last told of a message */
  struct hf_exchange *draft_for; /* whose it is to become, while it is being written down */
  bool told;                     /* its client knows of it */
  bool failing;                  /* the store did not take its end */
  struct hf_store_wait wait;
  bool waiting;
  struct hf_list awaiting;  /* struct hf_task_ties */
  struct hf_list listeners; /* struct hf_task_listener */
};

static inline struct hf_gateway *hf_task_gateway(const struct hf_task *task) {
  return task->tasks->gateway;
}

static inline struct hf_task *hf_task_of_link(struct hf_list *link) {
  return HF_CONTAINER_OF(link, struct hf_task, link);
}

/* What this call has become, or is about to; NULL: no task. */
static inline struct hf_task *hf_task_made_of(const struct hf_exchange *exchange) {
  return exchange->task ? exchange->task : exchange->ties ? exchange->ties->draft : NULL;
}

static inline bool hf_task_has_ended(const struct hf_task *task) {
  return hf_task_status_is_terminal(task->status);
}

/* task_begin.c */

/* What `ties` there are of an exchange, made if need be. NULL: no memory. */
struct hf_task_ties *hf_task_ties_of(struct hf_exchange *exchange);

/* What was to become this call's task does not, and nobody was told of it. */
void hf_task_drop_draft(struct hf_exchange *exchange);

/* task.c */

/* The task of this id that this request may know of; NULL: there is none in memory. */
struct hf_task *hf_task_find(const struct hf_exchange *exchange, struct hf_str id);

/* May this request know of a task of that principal and endpoint? */
bool hf_task_is_of(const struct hf_exchange *exchange, struct hf_str principal, struct hf_str endpoint);

/* Its state is another one: kept, and told to those who listen. */
void hf_task_changed(struct hf_task *task);

/* What is going on, for people. */
void hf_task_note(struct hf_task *task, struct hf_str message);

/* Its own client, which sees what `origin` sees, or, if that is NULL, all servers. Returns 0 or HF_ERR_NOMEM. */
int hf_task_open_client(struct hf_task *task, const struct hf_client *origin);

/* May there be another one of this principal? Makes room for it. */
bool hf_tasks_have_room(struct hf_tasks *tasks, struct hf_str principal);

/* It has ended like that: `answer` (taken) is its result or error; NULL: it was cancelled. Told once it is written. */
void hf_task_end(struct hf_task *task, enum hf_task_status status, struct hf_message *answer);

/* It ends with a result of the gateway's own that says what has happened, as an error of the tool. */
void hf_task_end_with_text(struct hf_task *task, struct hf_str text);

/* One that nothing is known of but what its row says. NULL: no memory. */
struct hf_task *hf_task_new(struct hf_gateway *gateway, const struct hf_stored_task *row);
void hf_task_free(struct hf_task *task);

/* Its call is given up; `exchange` is gone, or goes on without it. */
void hf_task_drop_call(struct hf_task *task);

/* task_request.c */

/* Was this client of 2025-11-25 told that there are tasks? May it list them? */
bool hf_task_is_spoken(const struct hf_client *client);
bool hf_task_is_listed(const struct hf_client *client);

/* task_answer.c */

/* What is said of a task, whether it is in memory or in the store. */
struct hf_task_view {
  struct hf_str id;
  enum hf_task_status status;
  struct hf_str message;
  int64_t created_ms;
  int64_t updated_ms;
  int64_t ttl_ms;
  struct hf_str result;       /* raw: result or error */
  bool failed;                /* the result says isError */
  const struct hf_task *task; /* NULL: it is in the store only */
};

struct hf_task_view hf_task_view(const struct hf_task *task);
struct hf_task_view hf_task_view_row(const struct hf_gateway *gateway, const struct hf_stored_task *row);

enum hf_task_form {
  HF_TASK_BARE,    /* the state alone */
  HF_TASK_DETAILED /* with questions, result or error: of the extension only */
};

/* Writes the members of a Task into the object that is open. */
void hf_task_write(const struct hf_task_view *view, enum hf_era era, enum hf_task_form form, int64_t now_ms,
                   struct hf_json_writer *w);

/* Answers a request with what is known of the task: of tasks/get, and of tasks/cancel of 2025-11-25. Ends it. */
void hf_task_answer_state(struct hf_exchange *exchange, const struct hf_task_view *view);

/* Answers tasks/result. Ends it. */
void hf_task_answer_result(struct hf_exchange *exchange, const struct hf_task_view *view);

/* Appends the answer to the request that has become a task. Returns 0 or the buffer's error. */
int hf_task_write_created(const struct hf_task *task, struct hf_str id, enum hf_era era, struct hf_buf *out);

/* Says in a message's `_meta` which task it is about. */
void hf_task_relate(struct hf_rewrite *rewrite, struct hf_str id);

/* Composes a notification about its state. Returns 0 or an error. */
int hf_task_compose_notice(const struct hf_task *task, enum hf_era era, struct hf_str subscription,
                           struct hf_pieces *ret_text);

/* task_store.c */

/* Writes the row as it is, or is about to be. `wait` may be NULL. Without a store nothing happens, and nobody waits. */
void hf_task_keep(struct hf_task *task, struct hf_store_wait *wait);

/* When what its client was told it is good for ends; rows of what has not ended are kept for longer. */
int64_t hf_task_row_expires_ms(const struct hf_gateway *gateway, const struct hf_stored_task *row);

/* Notes at which server it is, and what that calls it. Returns 0 or HF_ERR_NOMEM. */
int hf_task_set_server(struct hf_task *task, struct hf_str name, struct hf_str server_task);

/* Its call is made anew, to follow what its server does. */
void hf_task_resume(struct hf_task *task);

/* It can't be followed any more: ends it. `letter` is what was made of its intent, or absent. */
void hf_task_lost(struct hf_task *task, struct hf_str letter);

/* task_ask.c */

/* The call asks: `response` (borrowed) is input_required. */
void hf_task_ask(struct hf_task *task, struct hf_message *response);

/* Appends what is open, as an object of requests. */
int hf_task_write_questions(const struct hf_task *task, struct hf_buf *out);

/* Answers to some of it, as a raw object. False: they are none, and nothing was taken. */
bool hf_task_take_answers(struct hf_task *task, struct hf_str responses);

/* Nobody answers: it ends. */
void hf_task_quit(struct hf_task *task);

/* All is answered, and the call is made again. */
void hf_task_call_again(struct hf_task *task);

/* A request of tasks/result waits: what is open is asked there. The task may go on, or end. */
void hf_task_ask_there(struct hf_task *task, struct hf_exchange *exchange);

/* Nobody is asked any more. */
void hf_task_round_deinit(struct hf_task_round *round);

/* task_methods.c */

/* Answers with an empty result. Ends it. */
void hf_task_answer_nothing(struct hf_exchange *exchange);

/* The exchange goes: it awaits nothing, and asks nobody. */
void hf_task_untie(struct hf_exchange *exchange);

/* task_listen.c */

/* Its state, to those who listen, and to a client of 2025-11-25 that made it. */
void hf_task_tell(struct hf_task *task);

/* What its call's server says meanwhile. Borrowed. */
void hf_task_hears(struct hf_task *task, const struct hf_message *message);

void hf_task_forget_listeners(struct hf_task *task);
void hf_task_stop_listening(struct hf_task_ties *ties);

#endif
