/* One client on standard input and output: a message a line, nothing else ever on standard output.
 *
 * Requests that were read are answered even if the input has ended meanwhile. A client that does not read makes the
 * front stop reading it, and is given up when it takes nothing for long. */
#ifndef HF_FRONT_STDIO_H
#define HF_FRONT_STDIO_H

#include "base/error.h"
#include "gateway/client.h"
#include "gateway/loop.h"
#include "gateway/settings.h"

#include <uv.h>

struct hf_front_stdio;

struct hf_front_stdio_options {
  uv_loop_t *uv;
  struct hf_loop *loop;
  struct hf_gateway *gateway;
  const struct hf_settings *settings; /* limits; read during the call */
  struct hf_str server;               /* one server with its own names, or absent for all */
  int in;                             /* borrowed; their flags are restored by hf_front_stdio_free */
  int out;
  void (*closed)(void *context); /* the client is gone and everything was said; once, from the loop */
  void *context;
};

/* Returns 0 and owned, HF_ERR_IO, or what hf_client_open says. */
int hf_front_stdio_new(const struct hf_front_stdio_options *options, struct hf_front_stdio **ret_front,
                       struct hf_error *reterr);

/* Run the loop once more to let its handles go. NULL is fine. */
void hf_front_stdio_free(struct hf_front_stdio *front);

#endif
