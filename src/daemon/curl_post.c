#include "daemon/curl_post.h"

static int on_progress(void *context, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d) {
  (void)a, (void)b, (void)c, (void)d;
  const atomic_bool *cancelled = context;
  return atomic_load(cancelled);
}

CURL *hf_curl_post_new(const struct hf_curl_post *post) {
  CURL *curl = curl_easy_init();
  if (!curl)
    return NULL;
  bool good = curl_easy_setopt(curl, CURLOPT_URL, post->url) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_POSTFIELDS, post->body->data) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, (long)post->body->len) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_HTTPHEADER, post->headers) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_USERAGENT, "holdfast/" HF_VERSION_TEXT) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, post->timeout_ms) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, post->on_answer) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_WRITEDATA, post->ctx) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_XFERINFODATA, post->cancelled) == CURLE_OK;
  if (good)
    return curl;
  curl_easy_cleanup(curl);
  return NULL;
}
