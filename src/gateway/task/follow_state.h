/* What is known of a task that an attempt follows. follow.c has its life, follow_poll.c the requests about it, and
 * follow_input.c what it asks. */
#ifndef HF_GATEWAY_TASK_FOLLOW_STATE_H
#define HF_GATEWAY_TASK_FOLLOW_STATE_H

#include "gateway/task/follow.h"
#include "gateway/task/server_task.h"

enum {
  HF_FOLLOW_KEYS_MAX = 64,    /* questions of one task */
  HF_FOLLOW_REFUSALS_MAX = 5, /* of requests about it, in a row */
};

/* So often it is asked for: within these bounds whatever the server says; if that says nothing, ever more seldom. */
#define HF_FOLLOW_SHORTEST HF_MS(50)
#define HF_FOLLOW_LONGEST HF_SECONDS(60)
#define HF_FOLLOW_FIRST HF_SECONDS(1)
#define HF_FOLLOW_SLOWEST HF_SECONDS(10)

/* An answer that takes longer than this is not waited for. */
#define HF_FOLLOW_PATIENCE HF_SECONDS(10)

/* Silence is not held against a server that cannot be reached, for so long: its task may be there when it is back. */
#define HF_FOLLOW_OUTAGE HF_SECONDS(600)

/* What one task has asked. In the arena. */
struct hf_follow_inputs {
  struct hf_str known[HF_FOLLOW_KEYS_MAX];  /* raw keys that it has used */
  struct hf_str answer[HF_FOLLOW_KEYS_MAX]; /* raw, or absent */
  size_t count;
  size_t first;  /* of those that go out together: to the end */
  size_t open;   /* not answered yet */
  bool answered; /* all of them, and the server has not taken note */
};

struct hf_follow {
  struct hf_live *live; /* NULL: nothing is followed here */
  struct hf_timer timer;
  struct hf_attempt_ref *poll;   /* tasks/get under way */
  struct hf_attempt_ref *result; /* tasks/result under way */
  struct hf_attempt_ref *update; /* tasks/update under way */
  struct hf_str id;              /* raw */
  struct hf_str name;            /* what that means */
  enum hf_task_status status;    /* as last told */
  hf_time interval;              /* as the server wants it; 0: it does not say */
  unsigned polls;                /* since it began, or something was new */
  unsigned failures;             /* in a row */
  unsigned refusals;             /* of those, by an answer */
  hf_time next;                  /* when it is asked for again */
  hf_time heard;                 /* when it was last answered for, or might have been */
  bool silence_is_ours;          /* nothing is expected of the server now */
  bool new_session;              /* the one it was made in is lost */
  bool hurried;                  /* there is news */
  uint64_t starts;               /* of its server, when it was made */
  struct hf_str said;            /* raw: the newest message about it, or absent */
  struct hf_follow_inputs *inputs;
};

/* The task of an attempt, or NULL. */
struct hf_follow *hf_follow_of(const struct hf_live *live);

struct hf_loop *hf_follow_loop(const struct hf_follow *follow);
struct hf_instance *hf_follow_instance(const struct hf_follow *follow);

/* Takes note of what the server says of it: life and message. Returns false if the exchange is gone. */
bool hf_follow_note(struct hf_follow *follow, const struct hf_server_task *task);

/* The end: `response` (or NULL) is what the attempt is answered with. The exchange may be gone. */
void hf_follow_finish(struct hf_follow *follow, const struct hf_evidence *evidence, const struct hf_message *response);

/* It cannot be told what became of it. Likewise. */
void hf_follow_lose(struct hf_follow *follow);

/* Gives up what is under way about it, and forgets it. */
void hf_follow_forget(struct hf_follow *follow);

/* The server is to stop it, best effort. */
void hf_follow_cancel(const struct hf_follow *follow);

/* Asks for it `after` from now; at once if there is nothing under way, whatever was planned. */
void hf_follow_plan(struct hf_follow *follow, hf_time after);
void hf_follow_hurry(struct hf_follow *follow);

/* When it is to be asked for next, from now. */
hf_time hf_follow_pause(struct hf_follow *follow);

/* Its timer: time to ask, or to give up waiting. The exchange may be gone. */
void hf_follow_due(struct hf_timer *timer);

/* It asks: `requests`, raw. The exchange may be gone. */
void hf_follow_ask(struct hf_follow *follow, struct hf_str requests);

#endif
