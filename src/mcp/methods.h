/* The methods of MCP, both eras, both directions: one table that the rest reads. */
#ifndef HF_MCP_METHODS_H
#define HF_MCP_METHODS_H

#include "base/str.h"

#include <stdbool.h>

enum hf_method_flag {
  HF_METHOD_REQUEST = 1 << 0,   /* expects an answer; without it, a notification */
  HF_METHOD_TO_SERVER = 1 << 1, /* a client may send it */
  HF_METHOD_TO_CLIENT = 1 << 2, /* a server may send it */
  HF_METHOD_LEGACY = 1 << 3,    /* exists up to 2025-11-25 */
  HF_METHOD_MODERN = 1 << 4,    /* exists in 2026-07-28 */
  HF_METHOD_CACHEABLE = 1 << 5, /* its modern result carries ttlMs and cacheScope */
  HF_METHOD_INPUT = 1 << 6,     /* its modern result may be input_required */
};

/* The member of params that says what the message is about, and so where it goes. */
enum hf_target { HF_TARGET_NONE, HF_TARGET_NAME, HF_TARGET_URI, HF_TARGET_TASK, HF_TARGET_REF };

/* In the order of the table in methods.c. */
enum hf_method {
  HF_METHOD_UNKNOWN,
  HF_METHOD_INITIALIZE,
  HF_METHOD_INITIALIZED,
  HF_METHOD_DISCOVER,
  HF_METHOD_PING,
  HF_METHOD_CANCELLED,
  HF_METHOD_PROGRESS,
  HF_METHOD_TOOLS_LIST,
  HF_METHOD_TOOLS_CALL,
  HF_METHOD_TOOLS_CHANGED,
  HF_METHOD_PROMPTS_LIST,
  HF_METHOD_PROMPTS_GET,
  HF_METHOD_PROMPTS_CHANGED,
  HF_METHOD_RESOURCES_LIST,
  HF_METHOD_RESOURCES_TEMPLATES_LIST,
  HF_METHOD_RESOURCES_READ,
  HF_METHOD_RESOURCES_SUBSCRIBE,
  HF_METHOD_RESOURCES_UNSUBSCRIBE,
  HF_METHOD_RESOURCES_CHANGED,
  HF_METHOD_RESOURCES_UPDATED,
  HF_METHOD_COMPLETE,
  HF_METHOD_LOGGING_SET_LEVEL,
  HF_METHOD_LOG_MESSAGE,
  HF_METHOD_SAMPLING,
  HF_METHOD_ELICIT,
  HF_METHOD_ELICIT_COMPLETE,
  HF_METHOD_ROOTS_LIST,
  HF_METHOD_ROOTS_CHANGED,
  HF_METHOD_TASKS_GET,
  HF_METHOD_TASKS_RESULT,
  HF_METHOD_TASKS_UPDATE,
  HF_METHOD_TASKS_CANCEL,
  HF_METHOD_TASKS_LIST,
  HF_METHOD_TASKS_STATUS,
  HF_METHOD_TASKS_CHANGED,
  HF_METHOD_SUBSCRIPTIONS_LISTEN,
  HF_METHOD_SUBSCRIPTIONS_ACKNOWLEDGED,
  HF_METHOD_COUNT,
};

struct hf_method_info {
  enum hf_method method;
  struct hf_str name; /* "tools/call" */
  unsigned flags;     /* enum hf_method_flag */
  enum hf_target target;
  struct hf_str list; /* the array in the result of a list method ("tools"); absent for others */
};

/* Returns HF_METHOD_UNKNOWN for a name that is not in the table. */
enum hf_method hf_method_find(struct hf_str name);

/* Never NULL; HF_METHOD_UNKNOWN has an empty name and no flags. */
const struct hf_method_info *hf_method_info(enum hf_method method);

#endif
