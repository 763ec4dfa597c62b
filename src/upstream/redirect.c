/* Redirects: only within the origin, for what is sent holds secrets, and never from POST to GET. */
#include "base/error.h"
#include "upstream/http_state.h"

enum { REDIRECTS_MAX = 3 };

static bool is_downgrade(const struct hf_origin *origin, struct hf_str location) {
  static const struct hf_str plain = HF_STR("http:");
  return hf_str_starts(hf_buf_str(&origin->base), HF_STR("https:")) && location.len > plain.len &&
         hf_str_equal_nocase((struct hf_str){location.ptr, plain.len}, plain);
}

enum hf_redirect hf_http_redirect_post(const struct hf_http *http, struct hf_str from,
                                       const struct hf_http1_reader *response, struct hf_redirection *redirection) {
  if (response->status >= 301 && response->status <= 303)
    return HF_REDIRECT_TO_GET;
  if (response->status != 307 && response->status != 308)
    return HF_REDIRECT_NONE;
  if (redirection->count >= REDIRECTS_MAX)
    return HF_REDIRECT_TOO_MANY;
  struct hf_str location = hf_http1_header(response, HF_STR("location"));
  int r = hf_origin_resolve(&http->origin, from, location, &redirection->target);
  if (r == HF_ERR_REFUSED && is_downgrade(&http->origin, location))
    return HF_REDIRECT_DOWNGRADE;
  if (r < 0)
    return r == HF_ERR_REFUSED ? HF_REDIRECT_ELSEWHERE : HF_REDIRECT_NOWHERE;
  redirection->count++;
  return HF_REDIRECT_NONE;
}

struct hf_str hf_http_get_target(const struct hf_http *http, const struct hf_redirection *redirection) {
  return hf_buf_str(redirection->target.len ? &redirection->target : &http->origin.target);
}

bool hf_http_redirect_get(const struct hf_http *http, const struct hf_http1_reader *response,
                          struct hf_redirection *redirection) {
  bool redirect = response->status >= 301 && response->status <= 308 && response->status != 304;
  struct hf_str location = hf_http1_header(response, HF_STR("location"));
  if (!redirect || redirection->count >= REDIRECTS_MAX)
    return false;
  struct hf_buf there;
  hf_buf_init(&there, HF_URL_MAX);
  if (hf_origin_resolve(&http->origin, hf_http_get_target(http, redirection), location, &there) < 0) {
    hf_buf_deinit(&there);
    return false;
  }
  hf_buf_deinit(&redirection->target);
  redirection->target = there;
  redirection->count++;
  return true;
}
