/* What a server says of one of its tasks: in the answer that makes it, when it is asked, or of its own accord. */
#ifndef HF_GATEWAY_TASK_SERVER_TASK_H
#define HF_GATEWAY_TASK_SERVER_TASK_H

#include "base/arena.h"
#include "base/time.h"
#include "gateway/store.h"
#include "mcp/message.h"

/* Spans of the text it was read from; absent ones have no pointer. */
struct hf_server_task {
  struct hf_str id;      /* raw, with its quotes */
  struct hf_str message; /* raw string: about the status, for people */
  struct hf_str result;  /* raw; of the extension, as the next two */
  struct hf_str error;
  struct hf_str requests; /* what it asks: raw object of raw requests */
  enum hf_task_status status;
  hf_time interval; /* how often it wants to be asked; 0: it does not say */
};

/* Reads a raw object. Returns 0, or HF_ERR_INVALID if it says neither id nor status. A status that is not known means
 * that it goes on. */
int hf_server_task_read(struct hf_str raw, struct hf_server_task *ret_task);

static inline bool hf_server_task_is_over(const struct hf_server_task *task) {
  return hf_task_status_is_terminal(task->status);
}

/* `io.modelcontextprotocol/related-task` in a `_meta` that is given raw, and the id in it; absent if there is none. */
struct hf_str hf_server_task_relation(struct hf_str meta);
struct hf_str hf_server_task_related(struct hf_str meta);

/* Makes a copy of a message (no error) without it: how one side calls a task is nobody else's business. Returns 0 or an
 * error. */
int hf_server_task_strip(const struct hf_message *message, struct hf_message *ret_message);

#endif
