/* Opening connections: names, proxies, TLS, happy eyeballs and timeouts are libcurl's, driven by libuv.
 *
 * A connector is one per process; each attempt has a multi handle of its own, so that libcurl's connection cache never
 * closes a connection that is ours. A resolver that hangs holds up nobody: it runs in a thread that is left behind. */
#ifndef HF_UPSTREAM_CONNECT_H
#define HF_UPSTREAM_CONNECT_H

#include "base/str.h"
#include "base/time.h"
#include "policy/classify.h"
#include "upstream/wire.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct hf_loop;

struct hf_connector {
  uv_loop_t *uv;        /* borrowed */
  struct hf_loop *loop; /* borrowed */
  bool started;         /* libcurl is initialised: by the first attempt, for that costs time and memory */
  char *scratch;        /* what connections read into; HF_CONNECTOR_SCRATCH bytes */
};

enum { HF_CONNECTOR_SCRATCH = 64 << 10 };

/* Returns 0 or HF_ERR_NOMEM. All that uses it must be gone before _deinit. */
int hf_connector_init(struct hf_connector *connector, uv_loop_t *uv, struct hf_loop *loop);
void hf_connector_deinit(struct hf_connector *connector);

/* Where to and how; all strings NUL-terminated and borrowed for the call. */
struct hf_connect_options {
  const char *url;   /* scheme://host:port/ without credentials */
  const char *proxy; /* NULL: from the environment, as curl does */
  const char *ca_file;
  const char *cert_file;
  const char *key_file;
  bool tls_verify;
  hf_time timeout;
};

struct hf_connect;

struct hf_connect_events {
  /* The attempt succeeded: `wire` is the receiver's. The attempt is gone. */
  void (*connected)(void *ctx, struct hf_wire *wire);

  /* It failed; `reason` is one line for people, borrowed. The attempt is gone. */
  void (*failed)(void *ctx, const struct hf_evidence *evidence, struct hf_str reason);
};

/* Starts an attempt; its event comes later, from the loop. Returns 0 and the attempt, or HF_ERR_NOMEM. */
int hf_connect_start(struct hf_connector *connector, const struct hf_connect_options *options,
                     const struct hf_connect_events *events, void *ctx, struct hf_connect **ret_connect);

/* Gives it up: no event follows. */
void hf_connect_cancel(struct hf_connect *connect);

#endif
