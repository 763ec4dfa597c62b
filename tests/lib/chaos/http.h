/* The faulty server on Streamable HTTP: reads requests, writes answers, and breaks off wherever a fault says. */
#ifndef CHAOS_HTTP_H
#define CHAOS_HTTP_H

#include "server.h"

#include <uv.h>

struct chaos_http;

/* Listens on 127.0.0.1; `port` 0 takes a free one. Returns owned, or NULL with a message on standard error. */
struct chaos_http *chaos_http_new(uv_loop_t *loop, struct chaos *chaos, int port, int *ret_port);

/* Closes everything; run the loop until it is empty, then free. */
void chaos_http_stop(struct chaos_http *http);
void chaos_http_free(struct chaos_http *http);

#endif
