/* What a replay is made of: replay.c has the pace and the count, replay_letter.c takes one letter through it. */
#ifndef HF_GATEWAY_LETTER_REPLAY_STATE_H
#define HF_GATEWAY_LETTER_REPLAY_STATE_H

#include "gateway/letter/replay.h"
#include "gateway/stage/check.h"

enum hf_replay_end {
  HF_REPLAY_REPLAYED,
  HF_REPLAY_RAN,
  HF_REPLAY_FAILED,
  HF_REPLAY_REFUSED,
  HF_REPLAY_WOULD, /* a dry run's: nothing stands against it */
  HF_REPLAY_END_COUNT
};

struct hf_replay_id {
  char text[HF_LETTER_ID_MAX];
};

struct hf_replay {
  struct hf_list link; /* in the gateway's list */
  struct hf_gateway *gateway;
  struct hf_replay_options options; /* texts in `arena` */
  struct hf_arena arena;
  const struct hf_replay_ops *ops;
  void *ctx;
  struct hf_store_query query; /* for the ids */
  bool querying;
  int error;
  struct hf_replay_id *ids; /* the last one is the first to be taken: newest first, as the store has them */
  size_t id_count;
  size_t id_cap;
  size_t next;          /* how many were started */
  struct hf_list items; /* under way */
  unsigned active;
  struct hf_timer timer;
  struct hf_job job;
  hf_time began;
  hf_time last_start; /* HF_TIME_NEVER: none */
  unsigned ends[HF_REPLAY_END_COUNT];
  uint32_t recent; /* bits of the last ends, 1 for a failure, the newest lowest */
  unsigned recent_count;
  const char *stopped; /* why no more are started, or NULL */
};

/* Whether a tool may run again although it may have run. */
struct hf_replay_repeat {
  const char *why; /* its safety allows it, in words; NULL: it does not */
  int64_t left_ms; /* for so long: then the server forgets the key; 0: for ever */
};

/* What is going on with a letter. */
enum hf_replay_step {
  HF_REPLAY_FETCHING,
  HF_REPLAY_MARKING,
  HF_REPLAY_FETCHING_MARKED, /* what it says now that it is ours: it may have been replayed in between */
  HF_REPLAY_CHECKING,
  HF_REPLAY_NOTING,
  HF_REPLAY_CALLING,
  HF_REPLAY_SETTLING, /* what it became is being written */
};

struct hf_replay_item {
  struct hf_list link;
  struct hf_replay *replay;
  enum hf_replay_step step;
  char id[HF_LETTER_ID_MAX];
  struct hf_arena arena;          /* of the letter's texts */
  struct hf_letter letter;        /* as it was found */
  struct hf_letter marked_letter; /* what it says once it is marked */
  bool found;
  bool marked;
  struct hf_store_query query;
  struct hf_store_wait wait;
  bool querying;
  bool waiting;
  struct hf_check_call *check;
  struct hf_client *client;
  struct hf_reply reply;
  struct hf_job job; /* reads the answer, outside of what brought it */
  struct hf_buf answer;
  uint64_t number;         /* of its call */
  struct hf_str arguments; /* as they are sent */
  struct hf_str key;
  struct hf_replay_repeat repeat; /* of one that may have run */
  bool proved;                    /* that it has not run */
  enum hf_replay_end end;
  char why[HF_ERROR_TEXT_MAX];
  const char *executed; /* of the letter, as it ends; NULL: as it was */
};

/* Takes the letter of this id through the replay. Returns 0, or HF_ERR_NOMEM and nothing has happened. */
int hf_replay_item_start(struct hf_replay *replay, const char *id);

/* Cancels what is under way and frees it. */
void hf_replay_item_free(struct hf_replay_item *item);

/* By the safety of the letter's tool, as the gateway has it now. `patched`: with other arguments. */
struct hf_replay_repeat hf_replay_may_repeat(const struct hf_gateway *gateway, const struct hf_letter *letter,
                                             bool patched);

/* The tool that can have run, and the arguments that it got, in `arena`. NULL if that is not known. */
const struct hf_tool_settings *hf_replay_checked_tool(const struct hf_gateway *gateway, const struct hf_letter *letter,
                                                      struct hf_arena *arena, struct hf_str *ret_arguments);

/* Tells of it. `call` may be absent. */
void hf_replay_tell(struct hf_replay *replay, const struct hf_letter *letter, const char *what, const char *why,
                    struct hf_str call);

/* Counts it, and frees it. */
void hf_replay_ended(struct hf_replay_item *item);

#endif
