/* The bytes of an HTTP request and of the many ways to answer it. Pure: buffers in, buffers out. */
#ifndef HF_CHAOS_WIRE_H
#define HF_CHAOS_WIRE_H

#include "chaos/server.h"

struct hf_chaos_wire_request {
  char method[16];
  bool streams; /* Accept names text/event-stream */
  bool closes;  /* Connection: close */
  struct hf_str session, version, method_header, name_header;
  struct hf_str head; /* request line and headers */
  struct hf_buf body;
};

/* Reads one request from the front of `in`. Returns its length in bytes, 0 if there is more to come, or HF_ERR_SYNTAX.
 * The strings borrow from `in`; `request->body` is set up by the caller and appended to. */
long hf_chaos_wire_read(struct hf_str in, struct hf_chaos_wire_request *request);

/* Where the answer that `in` begins with ends. Returns its length, 0 if there is more to come, HF_ERR_CLOSED if the end
 * of the connection is its end, or HF_ERR_SYNTAX. `*at`, 0 first, is how far it looked. */
long hf_chaos_wire_answer_end(struct hf_str in, size_t *at);

/* Decodes a chunked body from the front of `in` into `body`. Returns its length there, 0 if there is more to come, or
 * HF_ERR_SYNTAX. */
long hf_chaos_wire_read_chunks(struct hf_str in, struct hf_buf *body);

/* Finds in an event stream the last message that is an answer, and appends it. */
void hf_chaos_wire_read_events(struct hf_str stream, struct hf_buf *message);

/* Appends the whole answer, spoiled as its fault says, as JSON. */
void hf_chaos_wire_put_json(struct hf_buf *out, const struct hf_chaos_answer *answer);

/* Appends the head of an event stream, then events, then the end of the body. */
void hf_chaos_wire_put_stream_head(struct hf_buf *out, const struct hf_chaos_answer *answer);
void hf_chaos_wire_put_event(struct hf_buf *out, const struct hf_chaos_answer *answer, struct hf_str message);
void hf_chaos_wire_put_stream_end(struct hf_buf *out);

#endif
