/* Who wants to hear of what: subscriptions to resources.
 *
 * What is subscribed to is a topic of its server, however many clients want it: a legacy server is asked for it once, a
 * modern one names it in its feed, and both are told when nobody wants it any more. It outlives the server's session:
 * in the next one it is asked for again, and those who want it are told to look, for nobody told them meanwhile. */
#ifndef HF_GATEWAY_CATALOG_SUBSCRIPTION_H
#define HF_GATEWAY_CATALOG_SUBSCRIPTION_H

#include "gateway/exchange.h"
#include "json/write.h"

enum {
  HF_SUBSCRIPTIONS_MAX = 256, /* of one client */
  HF_TOPICS_MAX = 1 << 16,    /* of one server */
  HF_URI_BYTES_MAX = 8192,
};

/* How it stands with a URI at its server. */
enum hf_topic_state {
  HF_TOPIC_NONE,    /* nobody wants it */
  HF_TOPIC_NEW,     /* it was not asked for yet, in this session */
  HF_TOPIC_ASKED,   /* there is no answer yet */
  HF_TOPIC_HELD,    /* the server tells of it */
  HF_TOPIC_REFUSED, /* it does not */
};

struct hf_wish {
  struct hf_instance *instance;
  struct hf_str uri;          /* the server's own */
  struct hf_str shown;        /* as the client says it, if that is another; else absent */
  struct hf_exchange *listen; /* the request subscriptions/listen that it belongs to, or NULL: resources/subscribe */
};

/* Notes what the client wants; the same twice is once. Returns 0, HF_ERR_LIMIT or HF_ERR_NOMEM. */
int hf_subscription_add(struct hf_client *client, const struct hf_wish *wish);

/* Where the client has subscribed to this by resources/subscribe; `ret_uri` (optional) is borrowed. NULL: nowhere. */
struct hf_instance *hf_subscription_place(const struct hf_client *client, struct hf_str shown, struct hf_str *ret_uri);

/* resources/unsubscribe. Returns true if the server is to be told by the caller: nobody else wants it there. */
bool hf_subscription_remove(struct hf_client *client, struct hf_str shown);

void hf_subscription_forget_client(struct hf_client *client);
void hf_subscription_forget_instance(struct hf_instance *instance);

/* The request is over. A listening one's subscriptions end with it; one that asked for a topic asks no more. */
void hf_subscription_forget_request(struct hf_exchange *exchange);

enum hf_topic_state hf_subscription_state(const struct hf_instance *instance, struct hf_str uri);

/* What was refused before may be asked for again. */
void hf_subscription_forgive(struct hf_instance *instance, struct hf_str uri);

/* Sees to it that the server is asked for what is not asked for yet. */
void hf_subscription_ask(struct hf_instance *instance, struct hf_str uri);

/* The topic is asked for by a client's own request, `exchange`, until that is over; and what came of it. */
void hf_subscription_asked(const struct hf_exchange *exchange);
void hf_subscription_answered(const struct hf_exchange *exchange, bool good);

/* True while a topic that the listening request wants was not answered for. */
bool hf_subscription_is_open(const struct hf_exchange *listen);

/* Writes the URIs that the listening request is told of, as it said them. */
void hf_subscription_write_agreed(const struct hf_exchange *listen, struct hf_json_writer *w);

/* What came before the stream was acknowledged. */
void hf_subscription_catch_up(const struct hf_exchange *listen);

/* The upstream has a new session: what was asked of the old one is asked again. */
void hf_subscription_renew(struct hf_instance *instance);

/* A modern server's feed: writes the member `resourceSubscriptions` if anything is wanted, and returns whether it is;
 * what the server agreed to (`uris` an array of `doc`; `doc` NULL: all of it; no array: none of it); that it has no
 * feed; that nobody told of what happened before `opened`. */
bool hf_subscription_write_wanted(struct hf_instance *instance, struct hf_json_writer *w);
void hf_subscription_agreed(struct hf_instance *instance, const struct hf_json_doc *doc, uint32_t uris);
void hf_subscription_refused(struct hf_instance *instance);
void hf_subscription_missed(struct hf_instance *instance, hf_time opened);

/* An update of a resource, or of one below it, to those who subscribed to it. */
void hf_subscription_updated(struct hf_instance *instance, const struct hf_message *message);

#endif
