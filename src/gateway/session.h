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
  char *server;    /* endpoint, or NULL for all; owned */
  char *principal; /* or NULL; owned */
  bool stateless;  /* modern HTTP: many connections, whose ids may be alike */
  uint64_t number; /* which session it is; 0 for stateless ones, which are all one */
  uint64_t replay; /* the number of its call, which replays a dead letter; 0: it is no such client */
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

/* The servers in the client's sight, in order: NULL starts, NULL ends. */
struct hf_server *hf_client_next_server(const struct hf_client *client, struct hf_server *after);

/* True if what this instance lists is in the client's sight. */
bool hf_client_sees(const struct hf_client *client, const struct hf_instance *instance);

/* A message that belongs to no exchange. `text` is taken. */
void hf_client_notify(struct hf_client *client, struct hf_pieces *text);

#endif
