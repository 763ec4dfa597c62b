/* A client as the gateway knows it, behind the seam of client.h: what it declared, what it asked for, what is under
 * way.
 *
 * One per legacy session, stdio connection, or (principal, endpoint) of the modern era. Kept small: there may be
 * thousands that do nothing. */
#ifndef HF_GATEWAY_SESSION_H
#define HF_GATEWAY_SESSION_H

#include "gateway/catalog/capabilities.h"
#include "gateway/catalog/listing.h"
#include "gateway/client.h"
#include "gateway/gateway.h"

struct hf_client {
  struct hf_list link; /* in the gateway's list */
  struct hf_gateway *gateway;
  const struct hf_client_ops *ops;
  void *owner;
  char *server;             /* endpoint, or NULL for all; owned */
  char *principal;          /* or NULL; owned */
  bool stateless;           /* modern HTTP: many connections, whose ids may be alike */
  bool line;                /* it has a connection to itself: stdio */
  bool open;                /* one of the gateway's clients, as a front made it */
  uint64_t number;          /* which session it is; 0 for stateless ones, which are all one */
  struct hf_task *task;     /* it is the one of this task; NULL: it is none of a task */
  struct hf_client *origin; /* of such a one: who made the task, and whose own instances it uses; NULL: it has gone */
  uint64_t replay;          /* the number of its call, which replays a dead letter; 0: it is no such client */
  enum hf_era era;
  enum hf_version version; /* legacy: as negotiated; UNKNOWN before */
  bool initialized;
  struct hf_capabilities capabilities; /* legacy */
  char *raw_capabilities;              /* legacy, owned, or NULL */
  char *asked_capabilities;            /* the part that says what it can be asked; likewise */
  signed char log_level;               /* see mcp/log_level.h, or -1: what the server likes */
  bool counted;                        /* among those who hear log lines */
  unsigned listed;                     /* bit per enum hf_list_kind: it has seen the list */
  unsigned changed;                    /* bit per kind: to be announced */
  unsigned exchange_count;
  struct hf_list exchanges;
  struct hf_list questions; /* requests of servers that it has not answered */
  struct hf_list subscriptions;
  unsigned subscription_count;
};

/* Opens one that is no client to be counted, announced to or drained: the gateway's own, or a task's. It is closed as
 * any other. Returns 0 and owned, or HF_ERR_NOMEM. */
int hf_client_new(struct hf_gateway *gateway, const struct hf_client_options *options, struct hf_client **ret_client);

/* The servers in the client's sight, in order: NULL starts, NULL ends. */
struct hf_server *hf_client_next_server(const struct hf_client *client, struct hf_server *after);

/* True if what this instance lists is in the client's sight. */
bool hf_client_sees(const struct hf_client *client, const struct hf_instance *instance);

/* A message that belongs to no exchange. `text` is taken. */
void hf_client_notify(struct hf_client *client, struct hf_pieces *text);

#endif
