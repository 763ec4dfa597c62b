#include "upstream/origin.h"

#include "base/alloc.h"
#include "base/base64.h"

#include <curl/curl.h>

static void cleanup_url(CURLU **url) {
  curl_url_cleanup(*url);
}
#define CLEANUP_URL __attribute__((cleanup(cleanup_url)))

static void cleanup_part(char **part) {
  curl_free(*part);
}
#define CLEANUP_PART __attribute__((cleanup(cleanup_part)))

static void init(struct hf_origin *origin) {
  hf_buf_init(&origin->base, HF_URL_MAX);
  hf_buf_init(&origin->host, HF_URL_MAX);
  hf_buf_init(&origin->target, HF_URL_MAX);
  hf_buf_init(&origin->authorization, HF_URL_MAX);
}

void hf_origin_deinit(struct hf_origin *origin) {
  hf_buf_deinit(&origin->base);
  hf_buf_deinit(&origin->host);
  hf_buf_deinit(&origin->target);
  hf_buf_deinit(&origin->authorization);
}

static int read_credentials(struct hf_origin *origin, CURLU *url) {
  CLEANUP_PART char *user = NULL;
  CLEANUP_PART char *password = NULL;
  curl_url_get(url, CURLUPART_USER, &user, CURLU_URLDECODE);
  curl_url_get(url, CURLUPART_PASSWORD, &password, CURLU_URLDECODE);
  if (!user && !password)
    return 0;
  struct hf_buf pair;
  hf_buf_init(&pair, HF_URL_MAX);
  int r = hf_buf_printf(&pair, "%s:%s", user ? user : "", password ? password : "");
  if (r == 0)
    r = hf_buf_append_str(&origin->authorization, HF_STR("Basic "));
  if (r == 0)
    r = hf_base64_encode(&origin->authorization, hf_buf_str(&pair));
  hf_buf_deinit(&pair);
  return r;
}

/* `base` always names the port, so that two spellings of one origin are one; `host` names it where it is not the
 * scheme's own. */
static int read_place(struct hf_origin *origin, CURLU *url) {
  CLEANUP_PART char *scheme = NULL;
  CLEANUP_PART char *host = NULL;
  CLEANUP_PART char *port = NULL;
  CLEANUP_PART char *odd_port = NULL;
  if (curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK ||
      curl_url_get(url, CURLUPART_HOST, &host, CURLU_PUNYCODE) != CURLUE_OK ||
      curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) != CURLUE_OK)
    return HF_ERR_INVALID;
  curl_url_get(url, CURLUPART_PORT, &odd_port, CURLU_NO_DEFAULT_PORT);
  if (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0)
    return HF_ERR_UNSUPPORTED;
  for (char *c = host; *c; c++)
    if (*c >= 'A' && *c <= 'Z')
      *c = (char)(*c + ('a' - 'A'));
  int r = hf_buf_printf(&origin->base, "%s://%s:%s/", scheme, host, port);
  if (r == 0)
    r = hf_buf_append(&origin->base, "", 1);
  if (r == 0)
    r = odd_port ? hf_buf_printf(&origin->host, "%s:%s", host, odd_port) : hf_buf_printf(&origin->host, "%s", host);
  return r;
}

static int read_target(struct hf_origin *origin, CURLU *url) {
  CLEANUP_PART char *path = NULL;
  CLEANUP_PART char *query = NULL;
  curl_url_get(url, CURLUPART_PATH, &path, 0);
  curl_url_get(url, CURLUPART_QUERY, &query, 0);
  if (query)
    return hf_buf_printf(&origin->target, "%s?%s", path ? path : "/", query);
  return hf_buf_printf(&origin->target, "%s", path ? path : "/");
}

static int read_all(struct hf_origin *origin, CURLU *url) {
  int r = read_place(origin, url);
  if (r == 0)
    r = read_target(origin, url);
  if (r == 0)
    r = read_credentials(origin, url);
  return r;
}

int hf_origin_parse(struct hf_origin *origin, struct hf_str url, struct hf_error *reterr) {
  init(origin);
  if (url.len >= HF_URL_MAX || memchr(url.ptr, '\0', url.len))
    return hf_error_set(reterr, HF_ERR_INVALID, "malformed url");
  HF_CLEANUP_FREE char *copy = hf_strndup(url.ptr, url.len);
  CLEANUP_URL CURLU *parts = curl_url();
  if (!copy || !parts)
    return hf_error_set(reterr, HF_ERR_NOMEM, "out of memory");
  CURLUcode code = curl_url_set(parts, CURLUPART_URL, copy, CURLU_URLENCODE);
  if (code != CURLUE_OK)
    return hf_error_set(reterr, HF_ERR_INVALID, "malformed url: %s", curl_url_strerror(code));
  int r = read_all(origin, parts);
  if (r == 0)
    return 0;
  hf_origin_deinit(origin);
  if (r == HF_ERR_NOMEM)
    return hf_error_set(reterr, r, "out of memory");
  return hf_error_set(reterr, HF_ERR_INVALID,
                      r == HF_ERR_UNSUPPORTED ? "url is neither http nor https" : "malformed url");
}

int hf_origin_resolve(const struct hf_origin *origin, struct hf_str from, struct hf_str reference,
                      struct hf_buf *target) {
  if (reference.len == 0 || reference.len >= HF_URL_MAX)
    return HF_ERR_INVALID;
  HF_CLEANUP_FREE char *copy = hf_strndup(reference.ptr, reference.len);
  HF_CLEANUP_FREE char *path = hf_strndup(from.ptr, from.len);
  CLEANUP_URL CURLU *url = curl_url();
  if (!copy || !path || !url)
    return HF_ERR_NOMEM;
  /* Set one over the other, the second is taken relative to the first. */
  if (curl_url_set(url, CURLUPART_URL, origin->base.data, 0) != CURLUE_OK ||
      curl_url_set(url, CURLUPART_URL, path, 0) != CURLUE_OK ||
      curl_url_set(url, CURLUPART_URL, copy, CURLU_URLENCODE) != CURLUE_OK)
    return HF_ERR_INVALID;
  struct hf_origin there;
  init(&there);
  int r = read_all(&there, url);
  if (r == HF_ERR_UNSUPPORTED || (r == 0 && !hf_str_equal(hf_buf_str(&there.base), hf_buf_str(&origin->base))))
    r = HF_ERR_REFUSED;
  if (r == 0) {
    hf_buf_reset(target, HF_URL_MAX);
    r = hf_buf_append_str(target, hf_buf_str(&there.target));
  }
  hf_origin_deinit(&there);
  return r;
}
