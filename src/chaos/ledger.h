/* What was executed: one line per execution, so that a double effect can be counted.
 *
 * `TOOL KEY MILLISECONDS PID ARGUMENTS`, appended with a single write each, so that several servers may share the file.
 * The arguments are the JSON text as it came; of a longer one the first bytes stand there, and "..." behind them. */
#ifndef HF_CHAOS_LEDGER_H
#define HF_CHAOS_LEDGER_H

#include "base/error.h"
#include "base/str.h"

enum { HF_CHAOS_LEDGER_ARGUMENTS_MAX = 2048, HF_CHAOS_LEDGER_KEY_MAX = 255 };

/* Returns a descriptor, or HF_ERR_IO. */
int hf_chaos_ledger_open(const char *path, struct hf_error *reterr);

/* `ledger` -1 records nothing. An empty key is written as "-", as are absent arguments; spaces and control characters
 * in a key as "_". A line that cannot be written ends the process: a ledger with a hole would prove nothing. */
void hf_chaos_ledger_add(int ledger, const char *tool, const char *key, struct hf_str arguments);

/* The key as it stands there. */
void hf_chaos_ledger_key(const char *key, char text[HF_CHAOS_LEDGER_KEY_MAX + 1]);

#endif
