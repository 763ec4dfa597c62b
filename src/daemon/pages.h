/* The pages for operators: /healthz, /readyz, /metrics. */
#ifndef HF_DAEMON_PAGES_H
#define HF_DAEMON_PAGES_H

#include "front/http.h"

/* A hf_front_page_fn; `context` is the struct hf_gateway. */
int hf_pages_serve(void *context, struct hf_str path, struct hf_buf *body, const char **ret_type);

#endif
