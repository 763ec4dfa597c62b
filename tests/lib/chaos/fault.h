/* Which fault, if any, meets a request: from the call's own argument, from a script, or from seeded rates.
 *
 * Written `[exec+|noexec+]NAME[:ARGUMENT][*TIMES]`: `reset`, `exec+close`, `cut:17`, `status:429/2`, `delay:300*1`.
 * `exec+` runs the tool before the fault, `noexec+` does not; without it each fault does what its row in the table
 * says. */
#ifndef CHAOS_FAULT_H
#define CHAOS_FAULT_H

#include "base/map.h"
#include "base/random.h"
#include "base/str.h"

#include <stdio.h>

enum chaos_fault_kind {
  CHAOS_NONE,
  /* instead of reading */
  CHAOS_CLOSE_ACCEPT,
  CHAOS_RESET_ACCEPT,
  CHAOS_RESET_UNREAD,
  /* instead of answering */
  CHAOS_RESET,
  CHAOS_CLOSE,
  CHAOS_STALL,
  CHAOS_DEATH,
  CHAOS_KILL,
  CHAOS_REFUSE,
  /* the answer, slowly or in part */
  CHAOS_DELAY,
  CHAOS_SLOW,
  CHAOS_CUT,
  CHAOS_CUT_CLOSE,
  CHAOS_STALL_AFTER,
  CHAOS_TRUNCATED,
  CHAOS_CHUNKED,
  CHAOS_CHUNK_BAD,
  CHAOS_CHUNK_CUT,
  /* another answer */
  CHAOS_GARBAGE,
  CHAOS_HTML,
  CHAOS_EMPTY,
  CHAOS_WRONG_ID,
  CHAOS_STRING_ID,
  CHAOS_NEITHER,
  CHAOS_BOTH,
  CHAOS_ARRAY,
  CHAOS_STATUS,
  CHAOS_SESSION,
  CHAOS_RPC,
  CHAOS_ISERROR,
  /* the answer as an event stream */
  CHAOS_SSE,
  /* bytes around an answer on stdio */
  CHAOS_NOISE,
};

struct chaos_fault {
  enum chaos_fault_kind kind;
  bool executes;
  long number;    /* bytes, milliseconds, status or code */
  char text[256]; /* the argument as written */
  long times;     /* 0: always */
};

struct chaos_script_line {
  char method[64]; /* or "*" */
  struct chaos_fault fault;
};

enum { CHAOS_RATES_MAX = 32, CHAOS_SCRIPT_MAX = 1024, CHAOS_KEYS_MAX = 100000 };

struct chaos_faults {
  struct hf_random random;
  struct chaos_fault rate_fault[CHAOS_RATES_MAX];
  double rate[CHAOS_RATES_MAX];
  size_t rates;
  struct chaos_script_line *script; /* owned */
  size_t script_len;
  struct hf_map seen; /* fault and key → times met, for `*TIMES` */
};

void chaos_faults_init(struct chaos_faults *faults, uint64_t seed);
void chaos_faults_deinit(struct chaos_faults *faults);

/* Returns 0 or HF_ERR_SYNTAX. */
int chaos_fault_parse(struct hf_str text, struct chaos_fault *ret_fault);

/* "drop=0.05,execdrop=0.03,delay:200=0.1" */
int chaos_faults_add_rates(struct chaos_faults *faults, const char *text);

/* Lines `METHOD FAULT`; blank ones and those that start with # are skipped. A line without `*TIMES` counts once. */
int chaos_faults_read_script(struct chaos_faults *faults, FILE *file);

/* The fault for a request. `own` is the text of its `_fault` argument or "", `key` its `key` argument or "". */
struct chaos_fault chaos_faults_pick(struct chaos_faults *faults, const char *method, const char *own, const char *key);

#endif
