/* What was executed, remembered: so that a key stands for what was done under it, and that it can be asked what was.
 *
 * A server that writes a ledger knows what stands there, also what it did before it died, and what others that share
 * the file did: together they are one server. The oldest executions are forgotten for new ones. */
#ifndef HF_CHAOS_MEMORY_H
#define HF_CHAOS_MEMORY_H

#include "base/buf.h"
#include "base/error.h"
#include "base/str.h"

#include <stdint.h>

enum { HF_CHAOS_MEMORY_MAX = 65536 };

struct hf_chaos_execution {
  char *tool; /* owned, with what follows in one piece */
  char *key;
  char *arguments; /* as the ledger has them */
  int64_t at_ms;
  unsigned long number; /* from 1 */
};

struct hf_chaos_memory {
  struct hf_chaos_execution *ring; /* owned */
  unsigned long count;             /* ever */
  int file;                        /* the ledger, to read; -1: none */
  long pid;                        /* whose lines are known already; 0: nobody's */
  struct hf_buf unread;            /* a line that is not whole yet */
};

void hf_chaos_memory_init(struct hf_chaos_memory *memory);
void hf_chaos_memory_deinit(struct hf_chaos_memory *memory);

/* Remembers what stands in the ledger at `path`, and what will; if that is no file that can be read twice, only what it
 * is told. */
void hf_chaos_memory_follow(struct hf_chaos_memory *memory, const char *path);

/* Returns what is remembered of it: borrowed, until the next execution. */
const struct hf_chaos_execution *hf_chaos_memory_add(struct hf_chaos_memory *memory, const char *tool, const char *key,
                                                     struct hf_str arguments, int64_t at_ms);

/* The first execution of `tool` under `key` since `since_ms`, borrowed; NULL if there is none. */
const struct hf_chaos_execution *hf_chaos_memory_find(struct hf_chaos_memory *memory, const char *tool, const char *key,
                                                      int64_t since_ms);

/* How often `tool` ran with arguments among which those of `asked`, a JSON object, are. */
unsigned long hf_chaos_memory_count(struct hf_chaos_memory *memory, const char *tool, struct hf_str asked);

/* Were these its arguments? */
bool hf_chaos_memory_same(const struct hf_chaos_execution *execution, struct hf_str arguments);

#endif
