#include "daemon/pages.h"

#include "gateway/gateway.h"

int hf_pages_serve(void *context, struct hf_str path, struct hf_buf *body, const char **ret_type) {
  struct hf_gateway *gateway = context;
  if (hf_str_equal(path, HF_STR("/healthz"))) {
    *ret_type = "text/plain; charset=utf-8";
    return hf_buf_append_str(body, HF_STR("ok\n")) == 0 ? 200 : 503;
  }
  if (hf_str_equal(path, HF_STR("/readyz"))) {
    *ret_type = "application/json";
    return hf_gateway_ready(gateway, body) ? 200 : 503;
  }
  if (hf_str_equal(path, HF_STR("/metrics"))) {
    *ret_type = "text/plain; version=0.0.4; charset=utf-8";
    return hf_gateway_metrics(gateway, body) == 0 ? 200 : 503;
  }
  *ret_type = "text/plain; charset=utf-8";
  return 404;
}
