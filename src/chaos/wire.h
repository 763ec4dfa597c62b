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

/* Appends the whole answer, spoiled as its fault says, as JSON. */
void hf_chaos_wire_put_json(struct hf_buf *out, const struct hf_chaos_answer *answer);

/* Appends the head of an event stream, then events, then the end of the body. */
void hf_chaos_wire_put_stream_head(struct hf_buf *out, const struct hf_chaos_answer *answer);
void hf_chaos_wire_put_event(struct hf_buf *out, const struct hf_chaos_answer *answer, struct hf_str message);
void hf_chaos_wire_put_stream_end(struct hf_buf *out);

#endif
