/* What a start found out about a server's era is kept here, by command or URL: all upstreams of one server share it. */
#include "upstream/factory.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/map.h"
#include "upstream/http.h"
#include "upstream/stdio.h"
#include "upstream/upstream.h"

enum {
  SERVERS_MAX = 4096, /* beyond, nothing is remembered */
  KEY_MAX = 64 << 10,
};

struct hf_factory {
  struct hf_upstream_factory seam;
  uv_loop_t *uv;
  struct hf_loop *loop;
  struct hf_reaper *reaper;
  struct hf_connector connector;
  struct hf_map eras;
};

/* A key of all that decides which program or origin answers. Returns NULL if it cannot be remembered. */
static enum hf_era *remembered(struct hf_factory *factory, const struct hf_server_settings *settings) {
  struct hf_buf key;
  hf_buf_init(&key, KEY_MAX);
  int rc = 0;
  if (settings->transport == HF_TRANSPORT_HTTP) {
    rc = hf_buf_append_str(&key, settings->url);
  } else {
    rc = hf_buf_append_str(&key, settings->command);
    for (size_t i = 0; rc == 0 && i < settings->args.count; i++) {
      rc = hf_buf_append(&key, "", 1);
      if (rc == 0)
        rc = hf_buf_append_str(&key, settings->args.item[i]);
    }
  }
  enum hf_era *era = rc == 0 ? hf_map_get(&factory->eras, hf_buf_str(&key)) : NULL;
  if (!era && rc == 0 && (era = hf_calloc(1, sizeof *era)) && hf_map_put(&factory->eras, hf_buf_str(&key), era) < 0) {
    hf_free(era);
    era = NULL;
  }
  hf_buf_deinit(&key);
  return era;
}

static int make_transport(struct hf_factory *factory, const struct hf_server_settings *settings,
                          struct hf_upstream *upstream, struct hf_transport **ret_transport) {
  if (settings->transport == HF_TRANSPORT_STDIO) {
    const struct hf_stdio_options options = {.uv = factory->uv,
                                             .loop = factory->loop,
                                             .reaper = factory->reaper,
                                             .leave_grace = HF_STDIO_LEAVE_GRACE,
                                             .term_grace = HF_STDIO_TERM_GRACE};
    return hf_stdio_transport_new(&options, settings, &hf_upstream_transport_events, upstream, ret_transport);
  }
  struct hf_error error = {0};
  int rc = hf_http_transport_new(&factory->connector, settings, &hf_upstream_transport_events, upstream, ret_transport,
                                 &error);
  if (rc < 0)
    hf_log_event(factory->loop->log, HF_LOG_ERROR, "server cannot be used", HF_LOG_STR("server", settings->name),
                 HF_LOG_STR("reason", hf_str_from(error.text)));
  return rc;
}

static int open_upstream(void *ctx, const struct hf_server_settings *settings, struct hf_str capabilities,
                         const struct hf_upstream_events *events, void *owner, struct hf_upstream **ret_upstream) {
  static const struct hf_restart_options child = HF_RESTART_CHILD;
  static const struct hf_restart_options remote = HF_RESTART_REMOTE;
  struct hf_factory *factory = ctx;
  const struct hf_upstream_options options = {
      .loop = factory->loop,
      .settings = settings,
      .capabilities = capabilities,
      .restart = settings->transport == HF_TRANSPORT_STDIO ? child : remote,
      .remembered = remembered(factory, settings),
      .events = events,
      .owner = owner,
  };
  struct hf_upstream *upstream;
  struct hf_transport *transport;
  int rc = hf_upstream_new(&options, &upstream);
  if (rc < 0)
    return rc;
  rc = make_transport(factory, settings, upstream, &transport);
  if (rc < 0) {
    upstream->ops->free(upstream);
    return rc;
  }
  hf_upstream_attach(upstream, transport);
  *ret_upstream = upstream;
  return 0;
}

int hf_factory_new(uv_loop_t *uv, struct hf_loop *loop, struct hf_reaper *reaper, struct hf_factory **ret_factory) {
  struct hf_factory *factory = hf_calloc(1, sizeof *factory);
  if (!factory)
    return HF_ERR_NOMEM;
  int rc = hf_connector_init(&factory->connector, uv, loop);
  if (rc < 0) {
    hf_free(factory);
    return rc;
  }
  factory->uv = uv;
  factory->loop = loop;
  factory->reaper = reaper;
  factory->seam = (struct hf_upstream_factory){.open = open_upstream, .ctx = factory};
  hf_map_init(&factory->eras, SERVERS_MAX);
  *ret_factory = factory;
  return 0;
}

const struct hf_upstream_factory *hf_factory_seam(const struct hf_factory *factory) {
  return &factory->seam;
}

void hf_factory_free(struct hf_factory *factory) {
  if (!factory)
    return;
  for (size_t i = 0; i < factory->eras.len; i++)
    hf_free(factory->eras.entries[i].value);
  hf_map_deinit(&factory->eras);
  hf_connector_deinit(&factory->connector);
  hf_free(factory);
}
