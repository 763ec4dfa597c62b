/* The helper process that owns every child. See reaper.h for what it is for. */
#ifndef HF_UPSTREAM_REAPER_PROCESS_H
#define HF_UPSTREAM_REAPER_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/* Runs in the forked helper until the other end of `socket` is closed, kills what is left, and exits. With `heir`, what
 * a helper before it left alive is killed first. */
_Noreturn void hf_reaper_process_run(int socket, pid_t gateway, bool heir);

#endif
