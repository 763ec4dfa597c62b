#include "daemon/webhook.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/hex.h"
#include "daemon/curl_post.h"

#include <nettle/hmac.h>
#include <stdio.h>

enum { BODY_MAX = 64 << 10, HEADER_MAX = 256, TIMEOUT_MS = 10000, SIGNATURE_HEX = 2 * SHA256_DIGEST_SIZE };

struct letter {
  struct hf_list link;
  struct hf_buf body;
};

/* What the thread works on. It outlives its webhook if that goes first. */
struct transfer {
  uv_work_t work;
  struct hf_webhook *webhook; /* NULL: nobody waits for it */
  atomic_bool cancelled;
  char *url;          /* owned */
  struct hf_buf body; /* owned */
  struct curl_slist *headers;
  uint32_t timeout_ms;
  long status; /* 0: there was no answer */
  char error[CURL_ERROR_SIZE];
};

struct hf_webhook {
  uv_loop_t *uv;
  struct hf_loop *loop;
  char *url;
  char *secret;
  size_t secret_len;
  hf_time backoff;
  uint32_t timeout_ms;
  struct hf_list waiting; /* letters; the first is the one that is being sent */
  size_t waiting_count;
  unsigned tries; /* of the first */
  struct transfer *transfer;
  struct hf_timer timer;
};

static struct letter *first(struct hf_webhook *webhook) {
  return HF_CONTAINER_OF(webhook->waiting.next, struct letter, link);
}

static void drop(struct hf_webhook *webhook, struct letter *letter) {
  hf_list_remove(&letter->link);
  hf_buf_deinit(&letter->body);
  hf_free(letter);
  webhook->waiting_count--;
  webhook->tries = 0;
}

static void free_transfer(struct transfer *transfer) {
  curl_slist_free_all(transfer->headers);
  hf_buf_deinit(&transfer->body);
  hf_free(transfer->url);
  hf_free(transfer);
}

static bool add_header(struct transfer *transfer, const char *line) {
  struct curl_slist *headers = curl_slist_append(transfer->headers, line);
  if (headers)
    transfer->headers = headers;
  return headers != NULL;
}

/* The time is signed, too, so that an old alert that somebody plays back is seen to be one. */
static bool sign(const struct hf_webhook *webhook, struct transfer *transfer) {
  char header[HEADER_MAX];
  char seconds[HF_DECIMAL_MAX];
  const struct hf_str time = hf_str_decimal((uint64_t)(webhook->loop->wall_ms / 1000), seconds);
  int n = snprintf(header, sizeof header, "X-Holdfast-Timestamp: %.*s", HF_STR_FMT(time));
  if (n < 0 || !add_header(transfer, header))
    return false;
  if (!webhook->secret)
    return true;
  struct hmac_sha256_ctx hmac;
  uint8_t digest[SHA256_DIGEST_SIZE];
  char hex[SIGNATURE_HEX];
  hmac_sha256_set_key(&hmac, webhook->secret_len, (const uint8_t *)webhook->secret);
  hmac_sha256_update(&hmac, time.len, (const uint8_t *)time.ptr);
  hmac_sha256_update(&hmac, 1, (const uint8_t *)".");
  hmac_sha256_update(&hmac, transfer->body.len, (const uint8_t *)transfer->body.data);
  hmac_sha256_digest(&hmac, sizeof digest, digest);
  hf_hex(digest, sizeof digest, hex);
  n = snprintf(header, sizeof header, "X-Holdfast-Signature: sha256=%.*s", SIGNATURE_HEX, hex);
  return n > 0 && add_header(transfer, header);
}

static size_t on_answer(char *data, size_t size, size_t count, void *context) {
  (void)data;
  (void)context;
  return size * count;
}

/* On the pool's thread, with what belongs to the transfer only. */
static void run(uv_work_t *work) {
  struct transfer *transfer = HF_CONTAINER_OF(work, struct transfer, work);
  const struct hf_curl_post post = {
      .url = transfer->url,
      .body = &transfer->body,
      .headers = transfer->headers,
      .timeout_ms = transfer->timeout_ms,
      .cancelled = &transfer->cancelled,
      .on_answer = on_answer,
  };
  CURL *curl = hf_curl_post_new(&post);
  if (!curl)
    return;
  if (curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, transfer->error) == CURLE_OK && curl_easy_perform(curl) == CURLE_OK)
    (void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &transfer->status);
  curl_easy_cleanup(curl);
}

static void begin(struct hf_webhook *webhook);

/* What the receiver refuses for good is not said again. */
static bool may_repeat(long status) {
  return status == 0 || status == 408 || status == 429 || status >= 500;
}

static void settle(struct hf_webhook *webhook, long status, const char *error) {
  const bool taken = status >= 200 && status < 300;
  if (!taken && may_repeat(status) && webhook->tries < HF_WEBHOOK_TRIES) {
    const hf_time pause = webhook->backoff * (1 << (webhook->tries - 1));
    hf_timer_set(webhook->loop, &webhook->timer, hf_time_add(webhook->loop->now, pause));
    return;
  }
  if (!taken)
    hf_log_event(webhook->loop->log, HF_LOG_ERROR, "an alert could not be delivered to the webhook",
                 HF_LOG_STR("reason", hf_str_from(status ? "its status" : error)), HF_LOG_INT("status", status),
                 HF_LOG_INT("tries", webhook->tries));
  drop(webhook, first(webhook));
  begin(webhook);
}

static void on_done(uv_work_t *work, int status) {
  struct transfer *transfer = HF_CONTAINER_OF(work, struct transfer, work);
  struct hf_webhook *webhook = transfer->webhook;
  (void)status;
  if (webhook) {
    hf_loop_advance(webhook->loop, hf_clock_now(), hf_clock_wall_ms());
    webhook->transfer = NULL;
    settle(webhook, transfer->status, transfer->error[0] ? transfer->error : "no answer");
  }
  free_transfer(transfer);
}

static struct transfer *new_transfer(struct hf_webhook *webhook, struct hf_str body) {
  struct transfer *transfer = hf_calloc(1, sizeof *transfer);
  if (!transfer)
    return NULL;
  hf_buf_init(&transfer->body, BODY_MAX);
  atomic_init(&transfer->cancelled, false);
  transfer->webhook = webhook;
  transfer->timeout_ms = webhook->timeout_ms;
  transfer->url = hf_strndup(webhook->url, strlen(webhook->url));
  if (transfer->url && hf_buf_append_str(&transfer->body, body) == 0 &&
      add_header(transfer, "Content-Type: application/json") && add_header(transfer, "Expect:") &&
      sign(webhook, transfer))
    return transfer;
  free_transfer(transfer);
  return NULL;
}

/* Sends the first that waits. */
static void begin(struct hf_webhook *webhook) {
  if (webhook->transfer || hf_list_empty(&webhook->waiting))
    return;
  webhook->tries++;
  struct transfer *transfer = new_transfer(webhook, hf_buf_str(&first(webhook)->body));
  if (transfer && uv_queue_work(webhook->uv, &transfer->work, run, on_done) == 0) {
    webhook->transfer = transfer;
    return;
  }
  if (transfer)
    free_transfer(transfer);
  settle(webhook, 0, "out of memory");
}

static void on_due(struct hf_timer *timer) {
  begin(HF_CONTAINER_OF(timer, struct hf_webhook, timer));
}

int hf_webhook_send(struct hf_webhook *webhook, struct hf_str body) {
  if (webhook->waiting_count >= HF_WEBHOOK_WAITING_MAX)
    return HF_ERR_LIMIT;
  struct letter *letter = hf_calloc(1, sizeof *letter);
  if (!letter)
    return HF_ERR_NOMEM;
  hf_buf_init(&letter->body, BODY_MAX);
  int r = hf_buf_append_str(&letter->body, body);
  if (r < 0) {
    hf_free(letter);
    return r;
  }
  const bool idle = hf_list_empty(&webhook->waiting);
  hf_list_push_back(&webhook->waiting, &letter->link);
  webhook->waiting_count++;
  if (idle)
    begin(webhook);
  return 0;
}

int hf_webhook_new(const struct hf_webhook_options *options, struct hf_webhook **ret_webhook) {
  struct hf_webhook *webhook = hf_calloc(1, sizeof *webhook);
  if (!webhook)
    return HF_ERR_NOMEM;
  *webhook = (struct hf_webhook){
      .uv = options->uv,
      .loop = options->loop,
      .url = hf_strndup(options->url.ptr, options->url.len),
      .secret = options->secret.ptr ? hf_strndup(options->secret.ptr, options->secret.len) : NULL,
      .secret_len = options->secret.len,
      .backoff = options->backoff ? options->backoff : HF_SECONDS(1),
      .timeout_ms = options->timeout_ms ? options->timeout_ms : TIMEOUT_MS,
  };
  hf_list_init(&webhook->waiting);
  int r = webhook->url && (webhook->secret || !options->secret.ptr) ? 0 : HF_ERR_NOMEM;
  if (r == 0)
    r = hf_timer_init(webhook->loop, &webhook->timer, on_due);
  if (r == 0 && curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
    hf_timer_deinit(webhook->loop, &webhook->timer);
    r = HF_ERR_IO;
  }
  if (r < 0) {
    hf_free(webhook->url);
    hf_free(webhook->secret);
    hf_free(webhook);
    return r;
  }
  *ret_webhook = webhook;
  return 0;
}

/* libcurl stays initialised while a thread may still use it; the last transfers end within their timeout. */
void hf_webhook_free(struct hf_webhook *webhook) {
  if (!webhook)
    return;
  if (webhook->transfer) {
    atomic_store(&webhook->transfer->cancelled, true);
    webhook->transfer->webhook = NULL;
    (void)uv_cancel((uv_req_t *)&webhook->transfer->work);
  } else {
    curl_global_cleanup();
  }
  while (!hf_list_empty(&webhook->waiting))
    drop(webhook, first(webhook));
  hf_timer_deinit(webhook->loop, &webhook->timer);
  hf_free(webhook->url);
  hf_free(webhook->secret);
  hf_free(webhook);
}
