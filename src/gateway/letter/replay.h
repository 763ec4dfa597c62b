/* Dead letters, tried again through the same chain as any call.
 *
 * A replay takes the letters that a filter finds, the oldest first, or those that are named, one after the other or
 * several at once. A letter
 * that may have run is refused, unless a status check proves that it did not, or a person says so. Each is marked in
 * the store before anything is sent, and only one who replays it can mark it; what it became is written to it at the
 * end. Its call is one of the letter's principal, at the lowest priority, with the letter's idempotency key, and meets
 * breakers, limits and budgets like any other.
 *
 * A replay that is stopped starts nothing more, but what is under way ends as it must: the letters are honest. */
#ifndef HF_GATEWAY_LETTER_REPLAY_H
#define HF_GATEWAY_LETTER_REPLAY_H

#include "gateway/gateway.h"
#include "gateway/store.h"

struct hf_replay;

struct hf_replay_options {
  struct hf_letter_filter filter; /* `limit` letters at most, the newest ones; without an id only those that are dead */
  const struct hf_str *ids;       /* or these, in their order; HF_REPLAY_IDS_MAX at most, and no filter beside them */
  size_t id_count;
  unsigned concurrency;  /* calls at once; 0: 1 */
  hf_time interval;      /* from one start to the next; 0: as concurrency allows */
  hf_time ramp_up;       /* concurrency and rate rise from their lowest for so long */
  unsigned stop_percent; /* ends when more than this share of the last 10 failed; 0: never */
  bool dry_run;          /* only tells what would be done */
  bool reconcile;        /* letters that may have run: asks the status check first */
  bool executed_no;      /* a person says that none of them has run */
  struct hf_str patch;   /* a merge patch of the arguments; absent: none. Makes a new key of a key */
  struct hf_str by;      /* who, for the letters' history; absent: nobody in particular */
};

enum { HF_REPLAY_CONCURRENCY_MAX = 64, HF_REPLAY_IDS_MAX = 1000, HF_REPLAY_WINDOW = 10, HF_REPLAY_STOP_PERCENT = 50 };

struct hf_replay_ops {
  /* One JSON object: {"letter", "tool", "what", "why", "call", "executed", "done", "total"}, where `what` is
   * "would_replay", "refused", "started", "replayed", "ran" (the status check says that it had run) or "failed". */
  void (*progress)(void *ctx, struct hf_str json);

  /* Once, and nothing after it: {"total", "replayed", "ran", "failed", "refused", "left", "stopped": why}. It may free
   * the replay. */
  void (*done)(void *ctx, struct hf_str json);
};

/* Copies what it needs of `options`; `ops` stays borrowed. No callback comes from inside. Returns 0 and owned;
 * HF_ERR_UNSUPPORTED without a store; HF_ERR_INVALID for options that contradict each other or a patch that is no JSON
 * object; HF_ERR_NOMEM. */
int hf_replay_start(struct hf_gateway *gateway, const struct hf_replay_options *options,
                    const struct hf_replay_ops *ops, void *ctx, struct hf_replay **ret_replay);

/* Starts nothing more. `why` is constant. `done` comes when what is under way has ended. */
void hf_replay_stop(struct hf_replay *replay, const char *why);

/* Frees it. Calls that are under way are cancelled, and their letters stay marked until the store finds their owner
 * dead. Accepts NULL. */
void hf_replay_free(struct hf_replay *replay);

#endif
