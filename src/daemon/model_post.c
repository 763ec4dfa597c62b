#include "daemon/model_post.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "daemon/curl_post.h"
#include "daemon/model_api.h"
#include "policy/retry.h"

enum { RETRY_AFTER_MAX = 64, STATUS_OK = 200 };

struct hf_model_post {
  uv_work_t work;
  struct hf_loop *loop;
  hf_model_post_fn *done; /* NULL: nobody waits for it */
  void *ctx;
  atomic_bool cancelled;
  struct hf_buf url;  /* with its NUL */
  struct hf_buf body; /* of the request */
  struct curl_slist *headers;
  long connect_ms;
  long total_ms;

  /* What the thread found. */
  CURLcode code;
  long status;
  bool sent;
  bool connected;
  struct hf_buf answer;
  char retry_after[RETRY_AFTER_MAX];
};

static void post_free(struct hf_model_post *post) {
  curl_slist_free_all(post->headers);
  hf_buf_deinit(&post->url);
  hf_buf_deinit(&post->body);
  hf_buf_deinit(&post->answer);
  hf_free(post);
}

static size_t on_answer(char *data, size_t size, size_t count, void *context) {
  struct hf_model_post *post = context;
  return hf_buf_append(&post->answer, data, size * count) == 0 ? size * count : 0;
}

static void look(struct hf_model_post *post, CURL *curl) {
  long request = 0;
  double connected = 0;
  struct curl_header *header;
  (void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &post->status);
  if (curl_easy_getinfo(curl, CURLINFO_REQUEST_SIZE, &request) == CURLE_OK)
    post->sent = request > 0;
  if (curl_easy_getinfo(curl, CURLINFO_CONNECT_TIME, &connected) == CURLE_OK)
    post->connected = connected > 0;
  if (curl_easy_header(curl, "Retry-After", 0, CURLH_HEADER, -1, &header) == CURLHE_OK &&
      strlen(header->value) < sizeof post->retry_after)
    memcpy(post->retry_after, header->value, strlen(header->value) + 1);
}

/* On the pool's thread, with what belongs to the post only. */
static void run(uv_work_t *work) {
  struct hf_model_post *post = HF_CONTAINER_OF(work, struct hf_model_post, work);
  const struct hf_curl_post what = {
      .url = post->url.data,
      .body = &post->body,
      .headers = post->headers,
      .timeout_ms = post->total_ms,
      .cancelled = &post->cancelled,
      .on_answer = on_answer,
      .ctx = post,
  };
  CURL *curl = hf_curl_post_new(&what);
  post->code = CURLE_OUT_OF_MEMORY;
  if (!curl)
    return;
  if (curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, post->connect_ms) == CURLE_OK) {
    post->code = curl_easy_perform(curl);
    look(post, curl);
  }
  curl_easy_cleanup(curl);
}

static struct hf_evidence evidence_of(const struct hf_model_post *post, int64_t wall_ms) {
  struct hf_evidence evidence = HF_EVIDENCE(HF_EVIDENCE_HTTP_STATUS);
  switch ((int)post->code) {
  case CURLE_OK:
    if (post->status == STATUS_OK)
      return HF_EVIDENCE(HF_EVIDENCE_NONE);
    evidence.http_status = (int)post->status;
    if (post->retry_after[0])
      (void)hf_retry_after_parse(hf_str_from(post->retry_after), wall_ms, &evidence.retry_after);
    return evidence;
  case CURLE_OUT_OF_MEMORY:
    return HF_EVIDENCE(HF_EVIDENCE_LOCAL_LIMIT);
  case CURLE_COULDNT_RESOLVE_PROXY:
  case CURLE_COULDNT_RESOLVE_HOST:
    return HF_EVIDENCE(HF_EVIDENCE_DNS_TEMPORARY);
  case CURLE_UNSUPPORTED_PROTOCOL:
  case CURLE_URL_MALFORMAT:
    return HF_EVIDENCE(HF_EVIDENCE_NO_SUCH_HOST);
  case CURLE_COULDNT_CONNECT:
    return HF_EVIDENCE(HF_EVIDENCE_CONNECT_REFUSED);
  case CURLE_SSL_CONNECT_ERROR:
    return HF_EVIDENCE(HF_EVIDENCE_TLS_HANDSHAKE);
  case CURLE_PEER_FAILED_VERIFICATION:
    return HF_EVIDENCE(HF_EVIDENCE_BAD_CERTIFICATE);
  case CURLE_OPERATION_TIMEDOUT:
    return HF_EVIDENCE(post->connected ? HF_EVIDENCE_TIMED_OUT : HF_EVIDENCE_CONNECT_TIMEOUT);
  case CURLE_WRITE_ERROR: /* on_answer had enough of it */
    return HF_EVIDENCE(HF_EVIDENCE_BAD_REPLY);
  default:
    return HF_EVIDENCE(HF_EVIDENCE_BROKE);
  }
}

static void on_done(uv_work_t *work, int status) {
  struct hf_model_post *post = HF_CONTAINER_OF(work, struct hf_model_post, work);
  (void)status;
  if (post->done) {
    hf_loop_advance(post->loop, hf_clock_now(), hf_clock_wall_ms());
    const struct hf_model_reply reply = {
        .sent = post->sent,
        .evidence = evidence_of(post, post->loop->wall_ms),
        .status = (int)post->status,
        .body = hf_buf_str(&post->answer),
    };
    post->done(post->ctx, &reply);
  }
  post_free(post);
}

static int copy_headers(struct hf_model_post *post, struct hf_str lines) {
  for (size_t at = 0; at < lines.len; at += strlen(lines.ptr + at) + 1) {
    struct curl_slist *headers = curl_slist_append(post->headers, lines.ptr + at);
    if (!headers)
      return HF_ERR_NOMEM;
    post->headers = headers;
  }
  return 0;
}

static long ms_until(const struct hf_loop *loop, hf_time t) {
  const hf_time left = hf_time_min(hf_time_max(t - loop->now, 0), HF_SECONDS(24 * 3600));
  return (long)(left / HF_MS(1)) + 1; /* 0 would be for ever */
}

int hf_model_post_start(const struct hf_model_post_options *options, struct hf_model_post **ret_post) {
  struct hf_model_post *post = hf_calloc(1, sizeof *post);
  if (!post)
    return HF_ERR_NOMEM;
  hf_buf_init(&post->url, options->url->len + 1);
  hf_buf_init(&post->body, options->body.len);
  hf_buf_init(&post->answer, HF_MODEL_ANSWER_MAX);
  atomic_init(&post->cancelled, false);
  post->loop = options->loop;
  post->done = options->done;
  post->ctx = options->ctx;
  post->connect_ms = ms_until(options->loop, options->connect_by);
  post->total_ms = ms_until(options->loop, options->answer_by);
  int r = hf_buf_append(&post->url, options->url->data, options->url->len + 1);
  if (r == 0)
    r = hf_buf_append_str(&post->body, options->body);
  if (r == 0)
    r = copy_headers(post, hf_buf_str(options->headers));
  if (r == 0 && uv_queue_work(options->uv, &post->work, run, on_done) < 0)
    r = HF_ERR_NOMEM;
  if (r < 0)
    post_free(post);
  else
    *ret_post = post;
  return r;
}

void hf_model_post_cancel(struct hf_model_post *post) {
  if (!post)
    return;
  post->done = NULL;
  atomic_store(&post->cancelled, true);
  (void)uv_cancel((uv_req_t *)&post->work);
}
