/* The stream by which a modern server tells of changes: one subscriptions/listen, whoever wants to hear of what.
 *
 * When more is wanted, or less, another stream is opened with the new filter, and the old one is ended once the new one
 * is acknowledged: nothing falls between the two. A stream that ends is opened again, ever later while none lasts; what
 * it may have missed is made up for (lists are loaded anew, subscribers are told to look). A server that does not know
 * the request is asked for its lists when their time is up. */
#ifndef HF_GATEWAY_CATALOG_FEED_H
#define HF_GATEWAY_CATALOG_FEED_H

#include "gateway/loop.h"
#include "gateway/upstream.h"

struct hf_feed;
struct hf_instance;

struct hf_feed_stream {
  struct hf_feed *feed;
  struct hf_attempt_ref *ref; /* NULL: it is not open */
  bool acknowledged;
  hf_time opened;
};

struct hf_feed {
  struct hf_instance *instance;
  struct hf_feed_stream streams[2]; /* the one in use, and one that is to take its place */
  struct hf_timer timer;            /* until one is opened */
  hf_time opened;                   /* the newest */
  unsigned failures;                /* streams in a row that did not last */
  unsigned told;                    /* bit per enum hf_list_kind: the one in use tells of its changes */
  bool refused;                     /* the server does not know the request */
  bool missed;                      /* there was a time without a stream */
};

int hf_feed_init(struct hf_feed *feed, struct hf_instance *instance);
void hf_feed_deinit(struct hf_feed *feed);

/* The server is ready: begins anew. */
void hf_feed_start(struct hf_feed *feed);

/* What is wanted of the server has changed. Takes several such changes together. */
void hf_feed_change(struct hf_feed *feed);

/* Nobody wants anything any more. */
void hf_feed_stop(struct hf_feed *feed);

#endif
