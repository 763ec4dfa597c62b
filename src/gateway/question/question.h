/* Requests of servers to the client whose call caused them: sampling, elicitation, roots; and the gateway's own.
 *
 * A question has an id of the gateway's towards the client and the server's own towards the server. It goes out on the
 * stream of the call it belongs to; it dies with its attempt, the client is told so, and a late answer is dropped. A
 * server that no client can be meant by, or whose client did not declare that it can answer, is refused at once. */
#ifndef HF_GATEWAY_QUESTION_QUESTION_H
#define HF_GATEWAY_QUESTION_QUESTION_H

#include "gateway/exchange.h"

enum {
  HF_QUESTIONS_MAX = 64,     /* open at one client */
  HF_QUESTIONS_HELD_MAX = 16 /* of one call that is held */
};

/* The client's response to a question of the gateway's own: a result or an error, borrowed. NULL: the client has gone
 * from the call, and nobody will answer; then the exchange must not end in this very turn. `tag` as it was asked. */
typedef void hf_question_fn(struct hf_exchange *exchange, const struct hf_message *response, unsigned tag);

struct hf_question {
  struct hf_list link; /* in its client's list */
  struct hf_client *client;
  struct hf_instance *instance; /* a reference; NULL: it is the gateway's own */
  hf_question_fn *answered;     /* of one that is */
  unsigned tag;                 /* likewise */
  struct hf_exchange *exchange; /* whose call it belongs to, or NULL */
  unsigned attempt;             /* of that call, when it was asked */
  bool guessed;                 /* that it belongs to this call: nothing says so */
  uint64_t id;                  /* towards the client */
  char *server_id;              /* raw, owned; NULL: none */
  char *relation;               /* raw, owned: which of the server's tasks asks, as that knows it; or NULL */
  char *held;                   /* of a modern client: the request as part of a result, raw, owned; NULL: it went out */
};

/* A server's request. `live`: the attempt on whose stream it came, or NULL if the transport can't tell. Borrows
 * `message`. */
void hf_question_ask(struct hf_instance *instance, const struct hf_live *live, const struct hf_message *message);

struct hf_own_question {
  enum hf_method method;
  struct hf_str params;       /* raw, or absent */
  const struct hf_live *live; /* whose attempt it dies with; NULL: the whole call */
  hf_question_fn *answered;
  unsigned tag;
};

/* A question of the gateway's own, about a call that it holds. It dies with the exchange, or by hf_question_void; then
 * `answered` is not called. A modern client hears of it by hf_held_asked, which the asker calls when it has asked all.
 * Returns 0; HF_ERR_UNSUPPORTED if the client did not declare that it can answer; HF_ERR_LIMIT if too many are open;
 * HF_ERR_NOMEM. */
int hf_question_ask_own(struct hf_exchange *exchange, const struct hf_own_question *what);

/* The server takes a request of its own back: the client is told so. Borrows `message`. */
void hf_question_withdraw(struct hf_instance *instance, const struct hf_message *message);

/* Of a call that is held for a modern client: how many are open; all of them as the `inputRequests` of a result,
 * appended; and what came back for them (raw, or absent), which goes to the server that asked. The last returns false
 * if the exchange is gone. */
size_t hf_question_count(const struct hf_exchange *exchange);
int hf_question_write_held(const struct hf_exchange *exchange, struct hf_buf *out);
bool hf_question_take_held(struct hf_exchange *exchange, struct hf_str responses);

/* The client's response. */
void hf_question_answer(struct hf_client *client, const struct hf_message *response);

/* The attempt that they belong to is over; NULL: the whole call. Returns how many of its questions that ends: a call
 * that goes on all the same has to be told so. */
unsigned hf_question_void(struct hf_exchange *exchange, const struct hf_live *live);

/* Nobody will answer: the server is told so and `why`, and the call is not paused any more. Returns false if that was
 * its end. */
bool hf_question_desert(struct hf_exchange *exchange, struct hf_str why);

/* The client is gone: its servers are told that nobody answers. */
void hf_question_close(struct hf_client *client);

#endif
