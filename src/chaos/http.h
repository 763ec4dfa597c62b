/* The faulty server on Streamable HTTP: reads requests, writes answers, and breaks off wherever a fault says. */
#ifndef HF_CHAOS_HTTP_H
#define HF_CHAOS_HTTP_H

#include "chaos/server.h"

#include <uv.h>

struct hf_chaos_http;

/* Listens on 127.0.0.1; `port` 0 takes a free one. Returns owned, or NULL with `reterr`. */
struct hf_chaos_http *hf_chaos_http_new(uv_loop_t *loop, struct hf_chaos *chaos, int port, int *ret_port,
                                        struct hf_error *reterr);

/* Closes everything; run the loop until it is empty, then free. */
void hf_chaos_http_stop(struct hf_chaos_http *http);
void hf_chaos_http_free(struct hf_chaos_http *http);

#endif
