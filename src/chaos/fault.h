/* One way to fail, as it is written: `[exec+|noexec+]NAME[:ARGUMENT][*TIMES]`.
 *
 * For example `reset`, `exec+close`, `cut:17`, `status:429/2`, `delay:300*1`. `exec+` runs the tool before the fault,
 * `noexec+` does not; without it each fault does what its row in the table says. */
#ifndef HF_CHAOS_FAULT_H
#define HF_CHAOS_FAULT_H

#include "base/error.h"
#include "base/str.h"

enum hf_chaos_fault_kind {
  HF_CHAOS_NONE,
  /* instead of reading */
  HF_CHAOS_CLOSE_ACCEPT,
  HF_CHAOS_RESET_ACCEPT,
  HF_CHAOS_RESET_UNREAD,
  /* instead of answering */
  HF_CHAOS_RESET,
  HF_CHAOS_CLOSE,
  HF_CHAOS_STALL,
  HF_CHAOS_DEATH,
  HF_CHAOS_KILL,
  HF_CHAOS_REFUSE,
  HF_CHAOS_LATE,
  /* the answer, slowly or in part */
  HF_CHAOS_DELAY,
  HF_CHAOS_SLOW,
  HF_CHAOS_CUT,
  HF_CHAOS_CUT_CLOSE,
  HF_CHAOS_STALL_AFTER,
  HF_CHAOS_TRUNCATED,
  HF_CHAOS_CHUNKED,
  HF_CHAOS_CHUNK_BAD,
  HF_CHAOS_CHUNK_CUT,
  /* another answer */
  HF_CHAOS_GARBAGE,
  HF_CHAOS_HTML,
  HF_CHAOS_EMPTY,
  HF_CHAOS_WRONG_ID,
  HF_CHAOS_STRING_ID,
  HF_CHAOS_NEITHER,
  HF_CHAOS_BOTH,
  HF_CHAOS_ARRAY,
  HF_CHAOS_STATUS,
  HF_CHAOS_SESSION,
  HF_CHAOS_RPC,
  HF_CHAOS_ISERROR,
  /* the answer as an event stream */
  HF_CHAOS_SSE,
  /* bytes around an answer on stdio */
  HF_CHAOS_NOISE,
  /* another schema from here on */
  HF_CHAOS_DRIFT,
};

enum { HF_CHAOS_NUMBER_MAX = 100 * 1000 * 1000 };

struct hf_chaos_fault {
  enum hf_chaos_fault_kind kind;
  bool executes;
  long number;    /* bytes, milliseconds, status or code */
  char text[256]; /* the argument as written */
  long times;     /* 0: always */
};

/* Returns 0 or HF_ERR_INVALID with a text that names the nearest fault. `reterr` may be NULL. */
int hf_chaos_fault_parse(struct hf_str text, struct hf_chaos_fault *ret_fault, struct hf_error *reterr);

#endif
