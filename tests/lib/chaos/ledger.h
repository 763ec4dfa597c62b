/* What was executed: one line per execution, so that a double effect can be counted.
 *
 * `TOOL KEY MILLISECONDS PID`, appended with a single write each, so that several servers may share the file. */
#ifndef CHAOS_LEDGER_H
#define CHAOS_LEDGER_H

/* Returns a descriptor, or -1 with a message on standard error. */
int chaos_ledger_open(const char *path);

/* `ledger` -1 records nothing. An empty key is written as "-"; spaces and control characters in it as "_". */
void chaos_ledger_add(int ledger, const char *tool, const char *key);

#endif
