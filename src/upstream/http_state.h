/* What the parts of the HTTP transport share: http.c owns it, post.c and stream.c use it. */
#ifndef HF_UPSTREAM_HTTP_STATE_H
#define HF_UPSTREAM_HTTP_STATE_H

#include "base/arena.h"
#include "base/spare.h"
#include "mcp/line_tail.h"
#include "upstream/answer.h"
#include "upstream/exchange.h"
#include "upstream/origin.h"
#include "upstream/pool.h"
#include "upstream/transport.h"

enum { HF_SESSION_ID_MAX = 1024, HF_HTTP_SETTINGS_MAX = 256 << 10 };

struct hf_http;

/* Where redirects led. */
struct hf_redirection {
  struct hf_buf target; /* empty: nowhere else */
  unsigned count;
};

/* The stream that a legacy server may open towards us (GET). */
struct hf_http_stream {
  struct hf_http *http;
  struct hf_http_exchange exchange;
  struct hf_answer answer;
  struct hf_timer timer;
  struct hf_timer patience; /* the end of `awaited` at the latest */
  struct hf_redirection redirection;
  unsigned failures; /* in a row */
  hf_time opened;    /* when the response began */
  bool wanted;
  bool streaming; /* the response is an event stream */
  bool got_message;
  bool awaited; /* calls are held until the server has answered the GET */
};

enum hf_channel_state {
  HF_CHANNEL_NONE,    /* Streamable HTTP is spoken, as far as we know */
  HF_CHANNEL_CLOSED,  /* the next message opens it */
  HF_CHANNEL_OPENING, /* until the server has named its endpoint */
  HF_CHANNEL_OPEN,
  HF_CHANNEL_LOST, /* closed() is about to be reported */
};

/* The one stream of the transport of 2024-11-05, on which all of the server's messages come. */
struct hf_http_channel {
  struct hf_http *http;
  enum hf_channel_state state;
  bool configured;
  bool probing; /* a server that refused to be initialized is asked whether it is an old one */
  bool told;    /* that it was found */
  struct hf_http_exchange exchange;
  struct hf_answer answer;
  struct hf_timer timer; /* the next GET, or the end of patience with the endpoint */
  bool due;              /* it is the next GET */
  hf_time patience;
  bool oversize; /* the rest of a message that was too long and had no id so far is passing */
  struct hf_line_tail tail;
  struct hf_redirection source; /* where the stream is */
  struct hf_buf endpoint;       /* where messages are posted */
  struct hf_buf override;       /* the configured path of it; empty: what the server says */
};

struct hf_http {
  struct hf_transport base;
  unsigned refs; /* the owner's, one of each post, and while a report is under way */
  bool freed;    /* by its owner: nothing is reported any more */
  bool closing;
  struct hf_connector *connector;
  struct hf_loop *loop;
  struct hf_arena arena; /* of the settings that were copied */
  struct hf_str server;  /* its name, for the log */
  uint16_t *not_executed;
  size_t not_executed_count;
  bool may_ask; /* the server is told of a client's capabilities, so it may ask for them */
  uint32_t max_message;
  uint32_t max_connections; /* for calls; a stream of the server's own comes on top */
  struct hf_origin origin;
  struct hf_buf fixed_head; /* header lines of every request */
  struct hf_pool pool;
  enum hf_era era;
  struct hf_buf version; /* agreed with a legacy server, or the modern one's; empty: none yet */
  struct hf_buf session; /* legacy session id; empty: none */
  struct hf_list posts;
  struct hf_spare spare_posts;
  struct hf_list ready; /* posts that were sent but not begun */
  struct hf_list held;  /* of these, what waits for the server's own stream, for the channel or for the greeting */
  bool greeting;        /* notifications/initialized is under way */
  size_t post_count;
  struct hf_job job;
  struct hf_job open_job;
  struct hf_http_stream stream;
  struct hf_http_channel channel;
  struct hf_http_exchange farewell; /* DELETE of the session */
  struct hf_timer farewell_timer;
};

void hf_http_hold(struct hf_http *http);
void hf_http_release(struct hf_http *http);

/* Writes the head of a request of ours into `head`. `out` may be NULL; `last_event_id` may be empty.
 * `ret_carried_session`: whether it has a session id. Returns 0, HF_ERR_INVALID, HF_ERR_LIMIT, HF_ERR_NOMEM. */
int hf_http_write_head(struct hf_http *http, struct hf_buf *head, struct hf_str method, struct hf_str target,
                       const struct hf_outgoing *out, struct hf_str last_event_id, bool *ret_carried_session);

/* True if `value`, a Content-Type, is `type`, whatever its parameters. */
bool hf_http_is_type(struct hf_str value, struct hf_str type);

/* True if a body of this Content-Type may be JSON: it says so, or it says nothing in particular, as careless servers
 * do. Whether it is will be seen. */
bool hf_http_may_be_json(struct hf_str type);

/* True if a GET with this answer is worth another one. */
bool hf_http_is_passing(int status);

/* What a Retry-After says, or -1. */
hf_time hf_http_retry_after(const struct hf_http *http, const struct hf_http1_reader *response);

/* redirect.c: what became of a POST to `from`; HF_REDIRECT_NONE with status 307 or 308: the target is set. */
enum hf_redirect hf_http_redirect_post(const struct hf_http *http, struct hf_str from,
                                       const struct hf_http1_reader *response, struct hf_redirection *redirection);

/* Where a GET goes: where redirects have led, or else the configured target. Borrowed. */
struct hf_str hf_http_get_target(const struct hf_http *http, const struct hf_redirection *redirection);

/* Returns true, and where to, if a GET may go elsewhere. */
bool hf_http_redirect_get(const struct hf_http *http, const struct hf_http1_reader *response,
                          struct hf_redirection *redirection);

/* post.c: one outgoing message. */
int hf_post_send(struct hf_http *http, struct hf_outgoing *out);
void hf_post_begin_ready(struct hf_http *http);
void hf_post_begin_held(struct hf_http *http); /* later, from the loop */
void hf_post_abort(struct hf_outgoing *out);
void hf_post_abort_all(struct hf_http *http);

/* Ends the request with this raw id, whose answer on the channel cannot be read; without an id, the one that waits if
 * it is the only one. */
void hf_post_fail_unreadable(struct hf_http *http, struct hf_str id);

/* The server is no old one: what was held ends with the refusal that it got. */
void hf_post_end_probe(struct hf_http *http);

/* stream.c */
int hf_http_stream_init(struct hf_http_stream *stream, struct hf_http *http);
void hf_http_stream_deinit(struct hf_http_stream *stream);
void hf_http_stream_start(struct hf_http_stream *stream);
void hf_http_stream_stop(struct hf_http_stream *stream);

/* channel.c */
int hf_http_channel_init(struct hf_http_channel *channel, struct hf_http *http,
                         const struct hf_server_settings *settings);
void hf_http_channel_deinit(struct hf_http_channel *channel);

/* A message waits for it: opens it, later, from the loop, if it is closed. */
void hf_http_channel_want(struct hf_http_channel *channel);

/* Opens it to find out whether the server is an old one. */
void hf_http_channel_probe(struct hf_http_channel *channel);

/* The endpoint refused `initialize`: everything ends, with closed(). */
void hf_http_channel_refuse(struct hf_http_channel *channel, const struct hf_evidence *answer);

/* The server does not know its session any more: everything ends, and closed() is reported later. */
void hf_http_channel_lose(struct hf_http_channel *channel);

/* Closes it without a word. */
void hf_http_channel_stop(struct hf_http_channel *channel);

#endif
