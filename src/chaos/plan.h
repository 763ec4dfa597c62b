/* Which fault, if any, meets a request: from the call's own argument, from a script, or from seeded rates.
 *
 * The same seed, rates, script and requests give the same faults. */
#ifndef HF_CHAOS_PLAN_H
#define HF_CHAOS_PLAN_H

#include "chaos/fault.h"

#include "base/map.h"
#include "base/random.h"

struct hf_chaos_script_line {
  char method[64]; /* or "*" */
  struct hf_chaos_fault fault;
};

enum {
  HF_CHAOS_RATES_MAX = 32,
  HF_CHAOS_SCRIPT_MAX = 1024,            /* lines */
  HF_CHAOS_SCRIPT_BYTES_MAX = 256 << 10, /* of the file */
  HF_CHAOS_KEYS_MAX = 100000,
};

struct hf_chaos_plan {
  struct hf_random random;
  struct hf_chaos_fault rate_fault[HF_CHAOS_RATES_MAX];
  double rate[HF_CHAOS_RATES_MAX];
  size_t rates;
  struct hf_chaos_script_line *script; /* owned */
  size_t script_len;
  struct hf_map seen; /* fault and key → times met, for `*TIMES` */
};

void hf_chaos_plan_init(struct hf_chaos_plan *plan, uint64_t seed);
void hf_chaos_plan_deinit(struct hf_chaos_plan *plan);

/* "drop=0.05,execdrop=3%,delay:200=0.1". The rates of tools/call add up to 1 at most; `drift` is one of tools/list.
 * Returns 0 or HF_ERR_INVALID. */
int hf_chaos_plan_add_rates(struct hf_chaos_plan *plan, const char *text, struct hf_error *reterr);

/* Lines `METHOD FAULT`; blank ones and those that start with # are skipped. A line without `*TIMES` counts once.
 * Returns 0, HF_ERR_INVALID with the line's number, HF_ERR_LIMIT or HF_ERR_NOMEM. */
int hf_chaos_plan_add_script(struct hf_chaos_plan *plan, struct hf_str text, struct hf_error *reterr);

/* The fault for a request. `own` is the text of its `_fault` argument or "", `key` its key or "". */
struct hf_chaos_fault hf_chaos_plan_pick(struct hf_chaos_plan *plan, const char *method, const char *own,
                                         const char *key);

#endif
