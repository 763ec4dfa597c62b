/* Calls an HTTP API under the kernel of libholdfast: embed URL [CALLS [PAUSE_MS]]
 *
 * Each call is a GET, made again where that can help and does no harm, and not made at all while the API is known to be
 * down. Build it with
 *
 *     cc -o embed embed.c $(pkg-config --cflags --libs libholdfast libcurl)
 *
 * and watch it against a server that you stop and start: embed http://127.0.0.1:8000/ 60 500 */
#include <holdfast/breaker.h>
#include <holdfast/error.h>
#include <holdfast/provider.h>
#include <holdfast/retry.h>
#include <holdfast/run.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include <curl/curl.h>

static hf_time now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return HF_SECONDS(t.tv_sec) + t.tv_nsec / 1000;
}

static int64_t wall_ms(void) {
  struct timeval t;
  gettimeofday(&t, NULL);
  return (int64_t)t.tv_sec * 1000 + t.tv_usec / 1000;
}

static int ms_until(hf_time t) {
  hf_time left = hf_time_max(0, t - now());
  return (int)(hf_time_min(left, HF_SECONDS(3600)) / 1000) + 1;
}

static void wait_until(hf_time t) {
  poll(NULL, 0, ms_until(t));
}

static size_t discard(char *bytes, size_t size, size_t count, void *unused) {
  (void)bytes;
  (void)unused;
  return size * count;
}

/* What curl saw, in the kernel's words. */
static struct hf_evidence evidence_of(CURL *curl, CURLcode code, long status) {
  double connected = 0;
  curl_easy_getinfo(curl, CURLINFO_CONNECT_TIME, &connected);
  switch ((int)code) {
  case CURLE_OK: {
    struct hf_evidence evidence = HF_EVIDENCE(HF_EVIDENCE_HTTP_STATUS);
    evidence.http_status = (int)status;
    struct curl_header *header;
    if (curl_easy_header(curl, "Retry-After", 0, CURLH_HEADER, -1, &header) == CURLHE_OK)
      hf_retry_after_read(header->value, strlen(header->value), wall_ms(), &evidence.retry_after);
    return evidence;
  }
  case CURLE_COULDNT_RESOLVE_HOST:
    return HF_EVIDENCE(HF_EVIDENCE_DNS_TEMPORARY);
  case CURLE_COULDNT_CONNECT:
    return HF_EVIDENCE(HF_EVIDENCE_CONNECT_REFUSED);
  case CURLE_SSL_CONNECT_ERROR:
    return HF_EVIDENCE(HF_EVIDENCE_TLS_HANDSHAKE);
  case CURLE_PEER_FAILED_VERIFICATION:
    return HF_EVIDENCE(HF_EVIDENCE_BAD_CERTIFICATE);
  case CURLE_OPERATION_TIMEDOUT:
    return HF_EVIDENCE(connected > 0 ? HF_EVIDENCE_TIMED_OUT : HF_EVIDENCE_CONNECT_TIMEOUT);
  default:
    return HF_EVIDENCE(HF_EVIDENCE_BROKE);
  }
}

/* Makes one attempt, and tells the run what happened. */
static long attempt(struct hf_run *run, const struct hf_run_order *order, const char *url) {
  struct hf_call_event event = {.kind = HF_CALL_ATTEMPT_DONE, .attempt = order->attempt};
  CURL *curl = curl_easy_init();
  if (!curl) {
    event.done.result = HF_ATTEMPT_FAULT;
    event.done.evidence = HF_EVIDENCE(HF_EVIDENCE_NOT_STARTED);
    hf_run_tell(run, &event, now());
    return 0;
  }
  curl_easy_setopt(curl, CURLOPT_URL, url);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, discard);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)ms_until(order->connect_by));
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)ms_until(order->answer_by));
  CURLcode code = curl_easy_perform(curl);

  /* Whether the server can have acted on it is known by what was handed over. */
  long status = 0, request_size = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(curl, CURLINFO_REQUEST_SIZE, &request_size);
  if (request_size > 0) {
    struct hf_call_event sent = {.kind = HF_CALL_ATTEMPT_SENT, .attempt = order->attempt};
    sent.sent.bytes = (size_t)request_size;
    sent.sent.complete = true;
    hf_run_tell(run, &sent, now());
  }
  if (code == CURLE_OK && status >= 200 && status < 300) {
    event.done.result = HF_ATTEMPT_SUCCESS;
  } else {
    event.done.result = HF_ATTEMPT_FAULT;
    event.done.evidence = evidence_of(curl, code, status);
  }
  hf_run_tell(run, &event, now());
  curl_easy_cleanup(curl);
  return status;
}

/* One call, from its start until it is answered or given up. */
static struct hf_outcome call(struct hf_run *run, const char *url, long *ret_status) {
  struct hf_run_order order;
  for (;;) {
    hf_run_next(run, now(), &order);
    switch (order.kind) {
    case HF_RUN_WAIT:
      wait_until(order.until);
      break;
    case HF_RUN_ATTEMPT:
      *ret_status = attempt(run, &order, url);
      break;
    case HF_RUN_ABORT:
      break; /* an attempt is over when attempt() returns */
    case HF_RUN_FINISHED:
      return order.outcome;
    }
  }
}

static void tell(unsigned number, const struct hf_outcome *outcome, long status) {
  printf("call %2u: ", number);
  if (outcome->end == HF_CALL_END_ANSWERED)
    printf("answered %ld at attempt %u", status, outcome->attempts);
  else if (outcome->attempts == 0)
    printf("not sent, %s", hf_fault_name(outcome->fault));
  else
    printf("failed after %u attempts, %s; executed: %s", outcome->attempts, hf_fault_name(outcome->fault),
           hf_executed_name(outcome->executed));
  printf(" (%ld ms)", (long)(outcome->elapsed / 1000));
  if (outcome->retry_after >= 0)
    printf(", try again in %ld ms", (long)(outcome->retry_after / 1000));
  printf("\n");
}

/* Says so when the breaker has changed. */
static void watch(const struct hf_provider_tool *tool, enum hf_breaker_state *state) {
  struct hf_breaker_view view;
  hf_breaker_view(hf_provider_tool_breaker(tool), &view);
  if (view.state != *state)
    printf("         the breaker was %s and is %s\n", hf_breaker_state_name(*state), hf_breaker_state_name(view.state));
  *state = view.state;
  fflush(stdout);
}

static int make_calls(struct hf_provider *provider, struct hf_provider_tool *tool, const char *url, unsigned calls,
                      hf_time pause) {
  /* Short times, so that there is something to see. A GET changes nothing, and may be sent again. */
  struct hf_run_options options = HF_RUN_OPTIONS_INIT;
  options.safety = HF_SAFETY_READ_ONLY;
  options.retry.attempts = 3;
  options.retry.base = HF_MS(50);
  options.timeout.attempt = HF_MS(500);
  options.timeout.deadline = HF_SECONDS(1);
  enum hf_breaker_state state = HF_BREAKER_CLOSED;
  for (unsigned i = 1; i <= calls; i++) {
    struct hf_run *run;
    options.seed = (uint64_t)now();
    int r = hf_run_new(provider, tool, &options, now(), &run);
    if (r < 0) {
      fprintf(stderr, "embed: %s\n", hf_err_text(r));
      return EXIT_FAILURE;
    }
    long status = 0;
    struct hf_outcome outcome = call(run, url, &status);
    hf_run_free(run);
    tell(i, &outcome, status);
    watch(tool, &state);
    if (i < calls)
      wait_until(now() + pause);
  }
  return EXIT_SUCCESS;
}

int main(int argc, char **argv) {
  if (argc < 2 || argc > 4) {
    fprintf(stderr, "usage: embed URL [CALLS [PAUSE_MS]]\n");
    return 2;
  }
  unsigned calls = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 20;
  hf_time pause = HF_MS(argc > 3 ? strtol(argv[3], NULL, 10) : 500);
  curl_global_init(CURL_GLOBAL_DEFAULT);

  struct hf_provider_options options = HF_PROVIDER_OPTIONS_INIT;
  options.breaker.failures = 3;
  options.breaker.open = options.breaker.max_open = HF_SECONDS(2);
  int result = EXIT_FAILURE;
  struct hf_provider_tool *tool;
  struct hf_provider *provider = hf_provider_new(&options, (uint64_t)now(), now());
  if (provider && hf_provider_tool_named(provider, "GET", &options.breaker, &tool) == 0)
    result = make_calls(provider, tool, argv[1], calls, pause);
  else
    fprintf(stderr, "embed: out of memory\n");
  hf_provider_unref(provider);
  curl_global_cleanup();
  return result;
}
