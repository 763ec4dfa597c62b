/* What all POSTs have in common that libcurl makes whole, on a thread: HTTP only, no redirects, no signals, and an end
 * as soon as nobody waits for them. */
#ifndef HF_DAEMON_CURL_POST_H
#define HF_DAEMON_CURL_POST_H

#include "base/buf.h"

#include <curl/curl.h>
#include <stdatomic.h>

/* All of it is borrowed until the handle is gone. */
struct hf_curl_post {
  const char *url;
  const struct hf_buf *body;
  struct curl_slist *headers;
  long timeout_ms;        /* for all of it */
  atomic_bool *cancelled; /* looked at while it runs, at least once a second */
  curl_write_callback on_answer;
  void *ctx; /* its last argument */
};

/* Returns a handle to be performed, owned (curl_easy_cleanup), or NULL without memory. */
CURL *hf_curl_post_new(const struct hf_curl_post *post);

#endif
