/* The gateway: configured servers, clients, and what they share.
 *
 * It is handed its loop, its settings and a factory of upstreams, owns everything between the fronts and the upstreams,
 * and does no I/O. Everything happens on the loop thread. */
#ifndef HF_GATEWAY_GATEWAY_H
#define HF_GATEWAY_GATEWAY_H

#include "base/buf.h"
#include "base/list.h"
#include "base/map.h"
#include "base/spare.h"
#include "gateway/catalog/link.h"
#include "gateway/catalog/verbosity.h"
#include "gateway/client.h"
#include "gateway/correct/correction.h"
#include "gateway/instance.h"
#include "gateway/loop.h"
#include "gateway/observe/metrics.h"
#include "gateway/observe/tally.h"
#include "gateway/observe/traces.h"
#include "gateway/question/signed_state.h"
#include "gateway/settings.h"
#include "gateway/stage/cache.h"
#include "gateway/stage/key_table.h"
#include "gateway/store.h"
#include "gateway/upstream.h"
#include "gateway/validator.h"
#include "mcp/names.h"

#include <stdint.h>

struct hf_aways;
struct hf_flights;
struct hf_lost_calls;
struct hf_tasks;
struct hf_model;

/* One configured server. */
struct hf_server {
  struct hf_list link; /* in the gateway's list, in the order of the configuration */
  struct hf_gateway *gateway;
  struct hf_settings *config;
  const struct hf_server_settings *settings; /* in `config` */
  struct hf_instance *shared;                /* NULL if every client has its own, or it is disabled */
  struct hf_list own;                        /* the clients' own instances */
  struct hf_verbosity verbosity;             /* of those clients that see it alone */
};

struct hf_gateway {
  struct hf_loop *loop;
  struct hf_settings *settings;
  struct hf_upstream_factory factory;
  struct hf_list servers;
  struct hf_map by_name; /* to struct hf_server */
  struct hf_names tool_names;
  struct hf_names prompt_names;
  struct hf_map routes;        /* what is remembered of each by its name: route.c */
  struct hf_map route_schemas; /* likewise */
  struct hf_map route_fits;    /* whether a provider fits: likewise */
  struct hf_list clients;
  size_t client_count;
  struct hf_client *nobody; /* the gateway itself: status checks, and calls whose client has gone; in no list */
  struct hf_store *store;   /* borrowed; NULL: there is none */
  char *database;           /* where it is, or would be; owned; NULL: none is wanted */
  char *store_trouble;      /* why it is not open, owned */
  hf_store_news_fn *hear;   /* who hears its news besides, or NULL */
  void *hear_ctx;
  struct hf_model *model;  /* borrowed; NULL: there is none */
  struct hf_signer signer; /* of questions to modern clients */
  struct hf_cache cache;
  struct hf_keys keys;
  struct hf_corrections corrections;
  struct hf_flights *flights;
  struct hf_aways *aways;
  struct hf_lost_calls *lost;
  struct hf_tasks *tasks;
  struct hf_list held; /* calls that are held open for clients that are asked something */
  size_t held_count;
  struct hf_list pages; /* states about pages that were given out */
  size_t page_count;
  hf_time next_complaint;        /* about a store that fails */
  struct hf_list waiting;        /* exchanges that wait for servers or lists */
  struct hf_job wake;            /* looks through them */
  struct hf_job announce;        /* tells clients what has changed */
  struct hf_verbosity verbosity; /* of those clients that see all servers */
  struct hf_links links;         /* that results have given */
  struct hf_list elicitations;   /* pages that clients were asked to open */
  size_t elicitation_count;
  struct hf_list ending; /* instances that nobody refers to any more and that are stopping */
  struct hf_metrics metrics;
  struct hf_tally tally;
  struct hf_validator validator;
  struct hf_traces traces;
  struct hf_spare spare_exchanges;
  struct hf_list replays; /* of dead letters, under way */
  size_t calls;           /* in flight */
  size_t own_instances;
  uint64_t next_id; /* upstream ids, question ids: never used twice */
  uint64_t next_call;
  uint64_t last_client; /* number of the newest session */
  uint64_t late_answers;
  bool draining; /* no new calls */
  bool stopping; /* no calls are left, and the upstreams have been told to stop */
  bool closing;  /* being freed: nothing is waited for */
  void (*drained)(void *ctx);
  void *drained_ctx;
  struct hf_timer drain_timer;
};

/* Takes `settings` on success. Copies `factory`. Returns 0, HF_ERR_NOMEM, or an error of the settings. */
int hf_gateway_new(struct hf_loop *loop, struct hf_settings *settings, const struct hf_upstream_factory *factory,
                   struct hf_gateway **ret_gateway);

/* Gives it what outlives it, before anything else, or when it can be had at last; without one nothing does. Borrowed.
 */
void hf_gateway_use_store(struct hf_gateway *gateway, struct hf_store *store);

/* Says where the database is, and, while there is no store, why; both are told to who asks how things are. Copied: what
 * finds no memory is not told. */
void hf_gateway_note_database(struct hf_gateway *gateway, const char *path, const char *trouble);

/* Gives it a language model to ask, before any call comes, for good. Borrowed. */
void hf_gateway_use_model(struct hf_gateway *gateway, struct hf_model *model);

/* Lets somebody else hear what the store tells. NULL: nobody. */
void hf_gateway_hear_news(struct hf_gateway *gateway, hf_store_news_fn *hear, void *ctx);

/* Starts what is to be started at once. */
void hf_gateway_start(struct hf_gateway *gateway);

/* Every client is closed before. */
void hf_gateway_free(struct hf_gateway *gateway);

/* Goes over to new settings (taken on success): servers that are unchanged stay as they are, also what was learnt about
 * them; changed and removed ones end when their calls have; parked ones are tried again. */
int hf_gateway_reload(struct hf_gateway *gateway, struct hf_settings *settings, struct hf_error *reterr);

/* How long an upstream that is told to stop is waited for. */
#define HF_STOP_WAIT HF_SECONDS(5)

/* No new calls. When those in flight have ended, or been answered because time was up, the upstreams are stopped;
 * `done` is called when they have, or have had their time to. */
void hf_gateway_drain(struct hf_gateway *gateway, void (*done)(void *ctx), void *ctx);

/* Prometheus text. */
int hf_gateway_metrics(struct hf_gateway *gateway, struct hf_buf *out);

/* True if it takes calls: not draining, and at least one server usable or not tried yet. Appends a JSON object that
 * says for each server how it is. */
bool hf_gateway_ready(struct hf_gateway *gateway, struct hf_buf *out);

/* Appends a JSON object: servers with phase, era, breaker, queue, pid, lists; clients; calls. */
int hf_gateway_status(struct hf_gateway *gateway, struct hf_buf *out);

uint64_t hf_gateway_next_id(struct hf_gateway *gateway);

/* The number of the next call: never 0. */
uint64_t hf_gateway_next_call(struct hf_gateway *gateway);

struct hf_server *hf_gateway_server(const struct hf_gateway *gateway, struct hf_str name);

/* The instance that serves this client at this server, made if need be; NULL if there is none (disabled, limit). */
struct hf_instance *hf_server_instance(struct hf_server *server, struct hf_client *client);

/* Something that waiting exchanges may wait for has happened. */
void hf_gateway_wake(struct hf_gateway *gateway);

/* Lists of this instance have changed for those who have seen them; `kinds` has a bit per enum hf_list_kind. */
void hf_gateway_list_changed(struct hf_gateway *gateway, struct hf_instance *instance, unsigned kinds);

/* An upstream has stopped, whatever the reason: the last one of a drain ends the drain. */
void hf_gateway_upstream_ended(struct hf_gateway *gateway);

/* A call has ended: the last one of a drain ends the drain. */
void hf_gateway_call_ended(struct hf_gateway *gateway);

#endif
