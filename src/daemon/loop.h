/* Drives a struct hf_loop from libuv: timers and jobs run around each wait for I/O. */
#ifndef HF_DAEMON_LOOP_H
#define HF_DAEMON_LOOP_H

#include "gateway/loop.h"

#include <uv.h>

struct hf_loop_driver {
  struct hf_loop *loop; /* borrowed */
  uv_prepare_t prepare;
  uv_check_t check;
  uv_timer_t timer;
};

/* Attaches `loop` to `uv`, and ignores SIGPIPE and SIGXFSZ in this process: broken pipes and files at their limit are
 * told by the write that meets them. The driver stays where it is until the loop has run after hf_loop_driver_close.
 * While open it keeps uv_run going: end with uv_stop. */
void hf_loop_driver_init(struct hf_loop_driver *driver, uv_loop_t *uv, struct hf_loop *loop);

/* Closes its handles; run the loop once more to let them go. */
void hf_loop_driver_close(struct hf_loop_driver *driver);

#endif
