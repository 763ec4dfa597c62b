/* The inside of the HTTP front, for its own files: the front, its connections, its requests.
 *
 * A request has two sides. The HTTP side lasts while libmicrohttpd works on it (`connection` is set); the gateway's
 * side from hf_client_handle to finish() (`waiting`). It is freed when both are over, whichever ends first. */
#ifndef HF_FRONT_HTTP_STATE_H
#define HF_FRONT_HTTP_STATE_H

#include "base/spare.h"
#include "front/acceptor.h"
#include "front/daemons.h"
#include "front/head.h"
#include "front/http.h"
#include "front/session.h"

#include <microhttpd.h>

struct hf_objection;
struct hf_request;

struct hf_peer {
  struct hf_list link; /* in `reading`, `idle` or `busy` */
  struct hf_front_http *front;
  struct hf_daemon *daemon;
  struct MHD_Connection *mhd;
  struct hf_request *request; /* the one libmicrohttpd works on */
  int fd;                     /* libmicrohttpd's */
  hf_time deadline;           /* in `reading` and `idle` */
  bool suspended;
  bool peer_gone; /* it closed its side, or all of it */
  uint64_t told;  /* the call whose answer was the last that it was sent whole; 0: none was */
};

enum hf_request_phase {
  HF_REQUEST_HEAD,      /* the request line is read */
  HF_REQUEST_BODY,      /* the head was good, the body is coming */
  HF_REQUEST_WAITING,   /* for the gateway; nothing is written */
  HF_REQUEST_ANSWERED,  /* `status` and `answer` are set */
  HF_REQUEST_STREAMING, /* `stream` is written */
  HF_REQUEST_QUEUED,    /* libmicrohttpd has the response */
};

struct hf_request {
  struct hf_reply reply;
  struct hf_list link;    /* in its session's requests */
  struct hf_list all;     /* in the front's requests */
  struct hf_list pending; /* in the front's pending ones: waiting, and could turn to SSE */
  struct hf_front_http *front;
  struct hf_settings *settings; /* a reference: a reload in between changes nothing */
  struct hf_peer *connection;   /* NULL: the HTTP side is over */
  struct hf_session *session;   /* or NULL */
  struct hf_stream *stream;     /* or NULL; the session's. This request reads it if it is its reader */
  enum hf_request_phase phase;
  bool waiting; /* the gateway has the reply */
  hf_time since;

  /* intake */
  size_t target_len; /* of the request line, as it came */
  const char *target_fault;
  const char *target;
  struct hf_head head;
  bool http_1_0;
  bool post;
  bool sse;                /* of the HTTP+SSE transport: a session's stream, or a POST to it */
  struct hf_str principal; /* borrowed from the settings */
  struct hf_str endpoint;  /* absent: all servers */
  char *endpoint_copy;     /* owned, unescaped */
  uint64_t received;       /* body bytes seen */
  struct hf_buf body;
  struct hf_json_scan scan;
  bool scanning;
  int scan_error; /* 0 or HF_ERR_AGAIN while good */

  /* the message */
  enum hf_era era;
  bool initialize;
  bool listen;
  char *id; /* owned, raw, or NULL */
  size_t id_len;

  /* the answer */
  int status;
  const char *type; /* of the answer; NULL: no body */
  const char *allow;
  bool counted; /* as an open stream */
  bool close;
  bool preflight;
  bool unauthorized;
  bool show_session;
  bool left; /* the peer had closed its side before it was there */
  bool retry_later;
  bool identity_only; /* the body was compressed */
  struct hf_pieces answer;
};

struct hf_front_http {
  uv_loop_t *uv;
  struct hf_loop *loop;
  struct hf_gateway *gateway;
  struct hf_settings *settings;
  hf_front_page_fn *page;
  void *page_context;

  struct hf_acceptor acceptor;
  struct hf_daemons daemons;
  uv_poll_t daemon_poll;
  uv_poll_t hangup_poll; /* of an epoll set that hears of peers that close, suspended or not */
  int hangup_fd;
  int open_handles;
  struct hf_job run;     /* lets libmicrohttpd go on with what was resumed */
  struct hf_timer rerun; /* it has more to do */
  struct hf_timer tick;  /* deadlines, expiry, keep-alive */
  hf_time tick_every;
  hf_time last_keepalive;
  size_t ended; /* sessions, since memory was last given back */

  struct hf_list reading; /* connections whose request must be complete by `deadline`, in that order */
  struct hf_list idle;    /* between requests, likewise */
  struct hf_list busy;
  struct hf_list requests;
  struct hf_spare spare_requests;
  struct hf_list pending;
  struct hf_sessions sessions;
  struct hf_front_http_stats stats;

  bool draining;
  bool closing;
  void (*drained)(void *context);
  void *drained_context;
  struct hf_job drained_job;
};

/* http.c */
/* Lets a suspended connection go on. */
void hf_front_wake(struct hf_peer *peer);
/* Ends the connection, whatever it is doing. */
void hf_front_cut(struct hf_peer *peer);
void hf_front_end_session(struct hf_front_http *front, struct hf_session *session);
void hf_front_check_drained(struct hf_front_http *front);

/* request.c: from the request line to the gateway */
struct hf_request *hf_request_new(struct hf_front_http *front, const char *target);
enum MHD_Result hf_request_head(struct hf_request *request, struct MHD_Connection *mhd, const char *url,
                                const char *method, const char *version);
void hf_request_body(struct hf_request *request, struct hf_str bytes);
void hf_request_complete(struct hf_request *request, const char *method);

/* Opens a legacy session with its client. Returns NULL once the request is refused. */
struct hf_session *hf_request_open_session(struct hf_request *request);
/* Finds or makes the session that the request belongs to. Returns NULL once the request is refused. */
struct hf_session *hf_request_session(struct hf_request *request);
void hf_request_object(struct hf_request *request, const struct hf_objection *objection);

/* get.c: legacy sessions, without a message */
void hf_request_listen(struct hf_request *request);
void hf_request_end_session(struct hf_request *request);
/* Returns false once the request is refused: no stream for a client that does not take one, nor for one too many. */
bool hf_request_may_stream(struct hf_request *request);

/* sse_session.c: the transport of 2024-11-05 */
void hf_sse_open(struct hf_request *request);
void hf_sse_post(struct hf_request *request, struct hf_message *message);
/* To the session's stream; `text` is taken. */
void hf_sse_say(struct hf_request *request, struct hf_pieces *text);
void hf_sse_answer(struct hf_request *request, int status, struct hf_pieces *text);
/* No more calls come: the stream ends behind the last answer. */
void hf_sse_drain(struct hf_session *session);
/* The stream is over, and so is its session. */
void hf_sse_over(struct hf_request *request);

/* answer.c: from the gateway to the response */
void hf_request_refuse(struct hf_request *request, int status, int code, const char *why);
void hf_request_answer_empty(struct hf_request *request, int status);
int hf_request_open_stream(struct hf_request *request);
/* Its client takes an event with an id and no data, by which it can resume before anything else came. */
bool hf_request_is_primed(const struct hf_request *request);
void hf_request_read_stream(struct hf_request *request, struct hf_stream *stream, uint64_t after);

/* The gateway has let go of it, because its session ended. */
void hf_request_orphan(struct hf_request *request);

/* The call whose answer it has in full, to be sent or on its way; 0: none yet. */
uint64_t hf_request_answered_call(const struct hf_request *request);

/* libmicrohttpd is done with it, or the peer is gone. */
void hf_request_http_over(struct hf_request *request);
bool hf_request_takes_json(const struct hf_request *request);
bool hf_request_takes_sse(const struct hf_request *request);

/* Answers an idle stream's end, or cancels a subscription: nothing that a client waits for. */
void hf_request_close_idle(struct hf_request *request);
enum MHD_Result hf_request_respond(struct hf_request *request, struct MHD_Connection *mhd);
extern const struct hf_reply_ops hf_request_reply_ops;

#endif
