/* The faulty server on Streamable HTTP: reads requests, writes answers, and breaks off wherever a fault says. */
#ifndef HF_CHAOS_HTTP_H
#define HF_CHAOS_HTTP_H

#include "chaos/server.h"
#include "chaos/wire.h"

#include <uv.h>

struct hf_chaos_http;
struct hf_chaos_conn; /* a client's connection */

/* Who answers instead of the stand-in: a proxy. A request that it was given is over with hf_chaos_http_answer,
 * hf_chaos_http_passed or hf_chaos_http_end, or when its client is gone. */
struct hf_chaos_back {
  void *data;
  void (*request)(void *data, struct hf_chaos_conn *conn, const struct hf_chaos_wire_request *request);
  void (*gone)(void *data, struct hf_chaos_conn *conn); /* it is not to be used any more */
  void (*dying)(void *data);                            /* a fault ends this process */
};

/* Listens on 127.0.0.1; `port` 0 takes a free one. `back`, borrowed, is NULL for the stand-in. Returns owned, or NULL
 * with `reterr`. */
struct hf_chaos_http *hf_chaos_http_new(uv_loop_t *loop, struct hf_chaos *chaos, int port,
                                        const struct hf_chaos_back *back, int *ret_port, struct hf_error *reterr);

/* Answers as the fault says; takes the answer. */
void hf_chaos_http_answer(struct hf_chaos_conn *conn, struct hf_chaos_answer *answer);

/* Sends a message before the answer. Returns false if the client takes no event streams. */
bool hf_chaos_http_event(struct hf_chaos_conn *conn, struct hf_str message);

/* Opens a stream that is no answer, for such messages. */
void hf_chaos_http_listen(struct hf_chaos_conn *conn);

/* Passes bytes of an answer on as they are, but for what the fault does to bytes; then, that this was all. `last`: only
 * the end of the connection tells the client so. */
void hf_chaos_http_pass(struct hf_chaos_conn *conn, const struct hf_chaos_fault *fault, struct hf_str bytes);
void hf_chaos_http_passed(struct hf_chaos_conn *conn, bool last);

void hf_chaos_http_end(struct hf_chaos_conn *conn, bool reset);

/* Closes everything; run the loop until it is empty, then free. */
void hf_chaos_http_stop(struct hf_chaos_http *http);
void hf_chaos_http_free(struct hf_chaos_http *http);

#endif
