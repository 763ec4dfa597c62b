/* One upstream as the gateway uses it: shared by all clients, or one client's own.
 *
 * It joins what belongs together: the upstream behind its seam, the provider that hands out permits for it, its lists,
 * and the exchanges under way at it. Provider actions become events of exchanges here and nowhere else. It is counted
 * by its exchanges, so that a reload or a client's end retires it without pulling it from under a call. */
#ifndef HF_GATEWAY_INSTANCE_H
#define HF_GATEWAY_INSTANCE_H

#include "base/map.h"
#include "gateway/catalog/capabilities.h"
#include "gateway/catalog/feed.h"
#include "gateway/catalog/listing.h"
#include "gateway/loop.h"
#include "gateway/settings.h"
#include "gateway/upstream.h"
#include "policy/provider.h"

struct hf_gateway;
struct hf_server;
struct hf_client;

struct hf_instance {
  struct hf_list link; /* in its server's list */
  struct hf_gateway *gateway;
  struct hf_client *client; /* whose own it is; NULL: shared */
  struct hf_settings *config;
  const struct hf_server_settings *settings; /* in `config` */
  struct hf_settings *opened_with;           /* what the upstream borrows from; outlives reloads */
  unsigned refs;
  bool retired;      /* no new exchange comes; ends with the last reference */
  bool stopping;     /* nobody refers to it; freed when its upstream has stopped, or has had its time to */
  struct hf_job end; /* frees it outside the upstream's own callback */

  struct hf_upstream *upstream;
  enum hf_upstream_phase phase;
  enum hf_era era; /* and the rest of the hello, when READY */
  struct hf_capabilities capabilities;
  struct hf_str version; /* constant; absent before the first hello */
  char *server_info;     /* raw object, owned, or NULL */
  char *instructions;    /* raw string, owned, or NULL */
  char *reason;          /* why it is DOWN or PARKED, owned, or NULL */
  int64_t pid;
  uint64_t starts;
  hf_time heard; /* when it last answered something, or got READY */

  struct hf_provider *provider;
  struct hf_timer provider_timer;
  struct hf_attempt_ref *probe;    /* a synthetic one, under way */
  struct hf_attempt_ref *discover; /* server/discover, asked anew, under way */
  hf_time discovered_at;           /* when it last ended, or when the hello came */
  hf_time hello_expires;           /* by the server's own word; HF_TIME_NEVER: it said nothing */
  bool hello_is_public;            /* likewise: it is the same for everybody */

  struct hf_listing lists[HF_LIST_COUNT];
  struct hf_list attempts;   /* struct hf_live: in flight here */
  struct hf_feed feed;       /* of a modern server */
  struct hf_map topics;      /* what is subscribed to: subscription.c */
  unsigned changed;          /* bit per enum hf_list_kind: clients are still to be told */
  int log_level;             /* the one that the session was last asked for, or -1 */
  int log_request;           /* the least that a modern request asked for, or -1 … */
  hf_time log_request_until; /* … and how long that counts */
};

/* Opens one, IDLE. `client` NULL: shared. Returns 0 and owned with one reference, or an error of the factory. */
int hf_instance_new(struct hf_gateway *gateway, struct hf_settings *config, const struct hf_server_settings *settings,
                    struct hf_client *client, struct hf_str capabilities, struct hf_instance **ret_instance);
struct hf_instance *hf_instance_ref(struct hf_instance *instance);
void hf_instance_unref(struct hf_instance *instance);

/* Takes it out of service: what is under way goes on, then the upstream is stopped politely and freed. Drops a
 * reference. */
void hf_instance_retire(struct hf_instance *instance);

/* False once the upstream has nothing left to stop. */
bool hf_instance_running(const struct hf_instance *instance);

/* Frees one that is stopping, at once. */
void hf_instance_free(struct hf_instance *instance);

/* Asks the upstream to start. */
void hf_instance_start(struct hf_instance *instance);

/* True once nothing more is to be waited for: READY with its lists loaded (or failed), or DOWN. */
bool hf_instance_settled(const struct hf_instance *instance);

/* Steps the provider and performs what comes of it. */
void hf_instance_step(struct hf_instance *instance, const struct hf_provider_event *event);

/* True if nothing that the server announces of this list can be missed. */
bool hf_instance_announces(const struct hf_instance *instance, enum hf_list_kind kind);

/* A list was loaded, or could not be. */
void hf_instance_listed(struct hf_instance *instance, enum hf_list_kind kind, bool changed);

/* Loads anew what is stale, for one who is about to read it. */
void hf_instance_refresh(struct hf_instance *instance, enum hf_list_kind kind);

/* A notification of the upstream that is not about a call under way. Borrows `message`. */
void hf_instance_message(struct hf_instance *instance, const struct hf_message *message);

/* Sends a message that belongs to no call. `text` is taken. */
void hf_instance_post(struct hf_instance *instance, struct hf_pieces *text);

/* Sends a request of the gateway's own whose answer nobody waits for. */
void hf_instance_tell(struct hf_instance *instance, enum hf_method method, const char *key, struct hf_str raw);

/* Asks a modern server anew what it can do, if what it said is stale and it was not asked since `since`. Returns true
 * while its answer is waited for. */
bool hf_instance_rediscover(struct hf_instance *instance, hf_time since);

#endif
