/* Replays of dead letters, as the console's questions ask for them: options are read, progress becomes lines.
 *
 * A replay whose asker is gone is stopped, and lives on until what it had started has ended. */
#ifndef HF_DAEMON_CONSOLE_REPLAY_H
#define HF_DAEMON_CONSOLE_REPLAY_H

#include "base/list.h"
#include "gateway/gateway.h"
#include "json/value.h"

struct hf_console_replay;

struct hf_console_replay_ops {
  void (*progress)(void *ctx, struct hf_str json);
  void (*done)(void *ctx, struct hf_str json); /* the last; the replay is gone with it */
};

/* Reads the question: a filter ("id", "tool", "provider", "class", "fingerprint", "sinceMs", "untilMs", "priority",
 * "limit") or "ids", and "concurrency", "intervalMs", "rampUpMs", "stopPercent", "dryRun", "reconcile", "executedNo",
 * "patch", "by". Adds it to `all`. Returns 0 and the replay, which is its asker's to leave; or an error of reading or
 * of hf_replay_start. */
int hf_console_replay_start(struct hf_gateway *gateway, struct hf_list *all, const struct hf_json_doc *question,
                            struct hf_arena *arena, const struct hf_console_replay_ops *ops, void *ctx,
                            struct hf_console_replay **ret_replay);

/* The asker is gone: no callback comes any more. */
void hf_console_replay_leave(struct hf_console_replay *replay);

/* Frees all of them, at the end of the gateway. */
void hf_console_replay_free_all(struct hf_list *all);

#endif
