/* A gateway before one shop, with tools whose effects must not happen twice: what the tests of the stages around a call
 * share. `pay` is unsafe, `order` keyed (its key is the argument "token", unless a test moves it), `look` read-only and
 * cached for ten minutes, `note` idempotent. */
#ifndef HF_TEST_SHOP_H
#define HF_TEST_SHOP_H

#include "fake_store.h"
#include "gateway_world.h"

#define SHOP_COALESCE HF_SECONDS(30)
#define SHOP_KEY_TTL HF_SECONDS(3600)

struct shop {
  struct world world;
  struct fake_client ann; /* modern: stateless, one stream a request */
  struct fake_client bob; /* another principal */
  struct fake_upstream *upstream;
  struct hf_tool_settings *pay, *order, *look, *note;
};

/* `store` NULL: there is none. */
void shop_open(struct shop *shop, struct fake_store *store);

/* Without a store, and with a server of its own for each client: it is there once the client has called. */
void shop_open_own(struct shop *shop);
void shop_close(struct shop *shop);

/* A modern tools/call; `arguments` and `more` (members of `_meta` with a leading comma, or "") are raw. */
void shop_call(struct shop *shop, struct fake_client *client, struct fake_reply *reply, const char *tool,
               const char *arguments, const char *more);

/* The same with further members of params (with a leading comma). */
void shop_call_with(struct shop *shop, struct fake_client *client, struct fake_reply *reply, const char *tool,
                    const char *arguments, const char *more, const char *params);

/* How many calls the server got. */
size_t shop_count(const struct shop *shop);

/* The idempotency key in the text of what was sent: its characters, copied into `key`. */
void shop_key_sent(const struct hf_attempt_ref *ref, char key[64]);

#define SHOP_OK(text) "{\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}]}"

#endif
