/* Child processes of the demonstration: started with their output in files, ended by their process id. */
#ifndef DEMO_PROCESS_H
#define DEMO_PROCESS_H

#include <sys/types.h>

/* Starts `argv` with standard output and error in the files named (NULL: /dev/null). Returns the id, or -1. */
pid_t process_start(const char *const argv[], const char *out, const char *err);

/* SIGTERM, and SIGKILL if that does not help. */
void process_stop(pid_t pid);

/* Waits until `file` holds `mark` and a line end after it, and returns what stands between them in `text`; 0, or -1
 * when the process ended or 10 seconds passed. */
int process_await(pid_t pid, const char *file, const char *mark, char *text, size_t size);

#endif
