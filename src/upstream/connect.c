#include "upstream/connect.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/list.h"
#include "gateway/loop.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>

enum { KEEPALIVE_IDLE_S = 30, KEEPALIVE_INTERVAL_S = 15, SMALLEST_BUFFER = 1024, LOOKUP_MS = 1000 };

struct hf_connect {
  struct hf_connector *connector;
  const struct hf_connect_events *events;
  void *ctx;
  CURLM *multi;
  CURL *easy;
  uv_timer_t timer;
  struct hf_list watches;
  struct lookup *lookup; /* the second question to the resolver, or NULL */
  char host[256];
  char text[CURL_ERROR_SIZE];
};

/* One socket that libcurl wants watched. It is freed in its close callback and by then belongs to no attempt. */
struct watch {
  uv_poll_t poll;
  struct hf_list link;
  struct hf_connect *connect;
  curl_socket_t socket;
};

/* libcurl says only that a name did not resolve. Whether it may later is asked once more; the answer may come when the
 * attempt is long gone, so the question has memory of its own. */
struct lookup {
  uv_getaddrinfo_t request;
  struct hf_connect *connect; /* NULL: nobody waits any more */
};

int hf_connector_init(struct hf_connector *connector, uv_loop_t *uv, struct hf_loop *loop) {
  *connector = (struct hf_connector){.uv = uv, .loop = loop};
  connector->scratch = hf_malloc(HF_CONNECTOR_SCRATCH);
  return connector->scratch ? 0 : HF_ERR_NOMEM;
}

void hf_connector_deinit(struct hf_connector *connector) {
  hf_free(connector->scratch);
  if (connector->started)
    curl_global_cleanup();
  *connector = (struct hf_connector){0};
}

static void advance(const struct hf_connect *connect) {
  hf_loop_advance(connect->connector->loop, hf_clock_now(), hf_clock_wall_ms());
}

static void on_watch_closed(uv_handle_t *handle) {
  hf_free(handle->data);
}

static void stop_watch(struct watch *watch) {
  hf_list_remove(&watch->link);
  watch->connect = NULL;
  uv_close((uv_handle_t *)&watch->poll, on_watch_closed);
}

static void on_timer_closed(uv_handle_t *handle) {
  hf_free(handle->data);
}

/* Lets go of all but the memory, which goes when the timer is closed. */
static void dismantle(struct hf_connect *connect) {
  if (connect->easy) {
    curl_multi_remove_handle(connect->multi, connect->easy);
    curl_easy_cleanup(connect->easy);
    curl_multi_cleanup(connect->multi);
  }
  connect->easy = NULL;
  connect->multi = NULL;
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &connect->watches)
    stop_watch(HF_CONTAINER_OF(it, struct watch, link));
  if (connect->lookup) {
    connect->lookup->connect = NULL;
    uv_cancel((uv_req_t *)&connect->lookup->request);
  }
  uv_close((uv_handle_t *)&connect->timer, on_timer_closed);
}

void hf_connect_cancel(struct hf_connect *connect) {
  dismantle(connect);
}

static void report_failure(struct hf_connect *connect, enum hf_evidence_kind kind) {
  const struct hf_connect_events *events = connect->events;
  void *ctx = connect->ctx;
  dismantle(connect);
  events->failed(ctx, &HF_EVIDENCE(kind), hf_str_from(connect->text));
}

static void on_lookup(uv_getaddrinfo_t *request, int status, struct addrinfo *result) {
  struct lookup *lookup = HF_CONTAINER_OF(request, struct lookup, request);
  struct hf_connect *connect = lookup->connect;
  uv_freeaddrinfo(result);
  hf_free(lookup);
  if (!connect)
    return;
  advance(connect);
  connect->lookup = NULL;
  bool none = status == UV_EAI_NONAME || status == UV_EAI_NODATA || status == UV_EAI_ADDRFAMILY;
  report_failure(connect, none ? HF_EVIDENCE_NO_SUCH_HOST : HF_EVIDENCE_DNS_TEMPORARY);
}

static void on_lookup_timer(uv_timer_t *timer) {
  struct hf_connect *connect = timer->data;
  advance(connect);
  report_failure(connect, HF_EVIDENCE_DNS_TEMPORARY);
}

/* Returns false if the question could not be asked. */
static bool ask_again(struct hf_connect *connect) {
  struct lookup *lookup = hf_calloc(1, sizeof *lookup);
  if (!lookup)
    return false;
  lookup->connect = connect;
  const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
  if (uv_getaddrinfo(connect->connector->uv, &lookup->request, on_lookup, connect->host, NULL, &hints) < 0) {
    hf_free(lookup);
    return false;
  }
  connect->lookup = lookup;
  uv_timer_start(&connect->timer, on_lookup_timer, LOOKUP_MS, 0);
  return true;
}

static enum hf_evidence_kind kind_of(CURLcode code, long os_errno) {
  switch ((int)code) {
  case CURLE_OPERATION_TIMEDOUT:
    return HF_EVIDENCE_CONNECT_TIMEOUT;
  case CURLE_SSL_CONNECT_ERROR:
  case CURLE_SSL_ENGINE_NOTFOUND:
    return HF_EVIDENCE_TLS_HANDSHAKE;
  case CURLE_PEER_FAILED_VERIFICATION:
  case CURLE_SSL_CERTPROBLEM:
  case CURLE_SSL_CACERT_BADFILE:
  case CURLE_SSL_ISSUER_ERROR:
  case CURLE_SSL_CRL_BADFILE:
  case CURLE_SSL_INVALIDCERTSTATUS:
  case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
    return HF_EVIDENCE_BAD_CERTIFICATE;
  case CURLE_UNSUPPORTED_PROTOCOL:
  case CURLE_URL_MALFORMAT:
    return HF_EVIDENCE_NO_SUCH_HOST;
  case CURLE_COULDNT_RESOLVE_PROXY:
    return HF_EVIDENCE_DNS_TEMPORARY;
  case CURLE_OUT_OF_MEMORY:
    return HF_EVIDENCE_LOCAL_LIMIT;
  default:
    return os_errno == ETIMEDOUT ? HF_EVIDENCE_CONNECT_TIMEOUT : HF_EVIDENCE_CONNECT_REFUSED;
  }
}

static void explain(struct hf_connect *connect, const char *what, const char *why) {
  int n = snprintf(connect->text, sizeof connect->text, "%s%s%s", what, why ? ": " : "", why ? why : "");
  if (n < 0)
    connect->text[0] = '\0';
}

static void fail_with(struct hf_connect *connect, CURLcode code) {
  long os_errno = 0;
  curl_easy_getinfo(connect->easy, CURLINFO_OS_ERRNO, &os_errno);
  if (connect->text[0] == '\0')
    explain(connect, curl_easy_strerror(code), NULL);
  if (code == CURLE_COULDNT_RESOLVE_HOST && ask_again(connect))
    return;
  if (code == CURLE_COULDNT_RESOLVE_HOST)
    report_failure(connect, HF_EVIDENCE_DNS_TEMPORARY);
  else
    report_failure(connect, kind_of(code, os_errno));
}

/* A proxy that is itself reached by TLS keeps even a plain exchange inside libcurl. */
static bool over_tls(CURL *easy, const char *scheme) {
  struct curl_tlssessioninfo *info = NULL;
  if (curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &info) == CURLE_OK && info && info->internals)
    return true;
  return strcasecmp(scheme, "https") == 0;
}

static void succeed(struct hf_connect *connect) {
  curl_socket_t fd = CURL_SOCKET_BAD;
  const char *scheme = NULL;
  curl_easy_getinfo(connect->easy, CURLINFO_ACTIVESOCKET, &fd);
  curl_easy_getinfo(connect->easy, CURLINFO_SCHEME, &scheme);
  struct hf_wire wire = {.fd = -1};
  if (fd != CURL_SOCKET_BAD && over_tls(connect->easy, scheme ? scheme : "")) {
    curl_multi_setopt(connect->multi, CURLMOPT_SOCKETFUNCTION, NULL);
    curl_multi_setopt(connect->multi, CURLMOPT_TIMERFUNCTION, NULL);
    curl_easy_setopt(connect->easy, CURLOPT_ERRORBUFFER, NULL);
    wire = (struct hf_wire){fd, connect->easy, connect->multi};
    connect->easy = NULL;
    connect->multi = NULL;
  } else if (fd != CURL_SOCKET_BAD) {
    /* A plain socket needs libcurl no longer: a duplicate lives on while libcurl closes its own. */
    wire.fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
  }
  if (wire.fd < 0) {
    explain(connect, "cannot keep the socket", strerror(errno));
    report_failure(connect, HF_EVIDENCE_LOCAL_LIMIT);
    return;
  }
  const struct hf_connect_events *events = connect->events;
  void *ctx = connect->ctx;
  dismantle(connect);
  events->connected(ctx, &wire);
}

/* The last thing that is done with an attempt in any callback, for it may be gone afterwards. */
static void act(struct hf_connect *connect, curl_socket_t socket, int flags) {
  int running;
  if (curl_multi_socket_action(connect->multi, socket, flags, &running) != CURLM_OK) {
    /* A watch could not be made: libcurl would wait for what nobody watches. */
    explain(connect, "out of memory", NULL);
    report_failure(connect, HF_EVIDENCE_LOCAL_LIMIT);
    return;
  }
  int left;
  CURLMsg *message = curl_multi_info_read(connect->multi, &left);
  if (!message || message->msg != CURLMSG_DONE)
    return;
  CURLcode code = message->data.result;
  if (code == CURLE_OK)
    succeed(connect);
  else
    fail_with(connect, code);
}

static void on_watch(uv_poll_t *poll, int status, int events) {
  struct watch *watch = HF_CONTAINER_OF(poll, struct watch, poll);
  struct hf_connect *connect = watch->connect;
  if (!connect || !connect->multi || connect->lookup)
    return;
  advance(connect);
  int flags = status < 0 ? CURL_CSELECT_ERR : 0;
  if (events & UV_READABLE)
    flags |= CURL_CSELECT_IN;
  if (events & UV_WRITABLE)
    flags |= CURL_CSELECT_OUT;
  act(connect, watch->socket, flags);
}

static void on_timer(uv_timer_t *timer) {
  struct hf_connect *connect = timer->data;
  if (!connect->multi)
    return;
  advance(connect);
  act(connect, CURL_SOCKET_TIMEOUT, 0);
}

static struct watch *start_watch(struct hf_connect *connect, curl_socket_t socket) {
  struct watch *watch = hf_calloc(1, sizeof *watch);
  if (!watch)
    return NULL;
  if (uv_poll_init_socket(connect->connector->uv, &watch->poll, socket) < 0) {
    hf_free(watch);
    return NULL;
  }
  watch->poll.data = watch;
  watch->connect = connect;
  watch->socket = socket;
  hf_list_push_back(&connect->watches, &watch->link);
  return watch;
}

static int on_curl_socket(CURL *easy, curl_socket_t socket, int what, void *ctx, void *data) {
  (void)easy;
  struct hf_connect *connect = ctx;
  struct watch *watch = data;
  if (what == CURL_POLL_REMOVE) {
    if (watch)
      stop_watch(watch);
    curl_multi_assign(connect->multi, socket, NULL);
    return 0;
  }
  if (!watch) {
    watch = start_watch(connect, socket);
    if (!watch)
      return -1;
    curl_multi_assign(connect->multi, socket, watch);
  }
  int events = (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);
  return uv_poll_start(&watch->poll, events, on_watch) < 0 ? -1 : 0;
}

static int on_curl_timer(CURLM *multi, long timeout_ms, void *ctx) {
  (void)multi;
  struct hf_connect *connect = ctx;
  if (timeout_ms < 0)
    return uv_timer_stop(&connect->timer) < 0 ? -1 : 0;
  return uv_timer_start(&connect->timer, on_timer, (uint64_t)timeout_ms, 0) < 0 ? -1 : 0;
}

static CURLcode set_text(CURL *easy, CURLoption option, const char *value) {
  return value ? curl_easy_setopt(easy, option, value) : CURLE_OK;
}

static bool configure(struct hf_connect *connect, const struct hf_connect_options *options) {
  CURL *easy = connect->easy;
  hf_time ms = options->timeout / 1000;
  long timeout_ms = ms < 1 ? 1 : ms > INT32_MAX ? INT32_MAX : (long)ms;
  CURLcode failed = 0;
  failed |= curl_easy_setopt(easy, CURLOPT_URL, options->url);
  failed |= curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  failed |= curl_easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L);
  failed |= curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
  failed |= curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  failed |= curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
  failed |= curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
  failed |= curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)SMALLEST_BUFFER);
  failed |= curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, timeout_ms);
  failed |= curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  failed |= curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, (long)KEEPALIVE_IDLE_S);
  failed |= curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, (long)KEEPALIVE_INTERVAL_S);
  failed |= curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, connect->text);
  /* Without a tunnel a proxy would want requests in absolute form, and could answer in the server's place. */
  failed |= curl_easy_setopt(easy, CURLOPT_HTTPPROXYTUNNEL, 1L);
  failed |= curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  failed |= curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, options->tls_verify ? 1L : 0L);
  failed |= curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, options->tls_verify ? 2L : 0L);
  failed |= set_text(easy, CURLOPT_PROXY, options->proxy);
  failed |= set_text(easy, CURLOPT_CAINFO, options->ca_file);
  failed |= set_text(easy, CURLOPT_SSLCERT, options->cert_file);
  failed |= set_text(easy, CURLOPT_SSLKEY, options->key_file);
  return failed == CURLE_OK;
}

static bool assemble(struct hf_connect *connect, const struct hf_connect_options *options) {
  connect->easy = curl_easy_init();
  connect->multi = connect->easy ? curl_multi_init() : NULL;
  if (!connect->multi || !configure(connect, options))
    return false;
  curl_multi_setopt(connect->multi, CURLMOPT_SOCKETFUNCTION, on_curl_socket);
  curl_multi_setopt(connect->multi, CURLMOPT_SOCKETDATA, connect);
  curl_multi_setopt(connect->multi, CURLMOPT_TIMERFUNCTION, on_curl_timer);
  curl_multi_setopt(connect->multi, CURLMOPT_TIMERDATA, connect);
  return curl_multi_add_handle(connect->multi, connect->easy) == CURLM_OK;
}

static void copy_host(struct hf_connect *connect, const char *url) {
  const char *start = strstr(url, "://");
  start = start ? start + 3 : url;
  size_t n = start[0] == '[' ? strcspn(start, "]") : strcspn(start, ":/");
  if (start[0] == '[')
    start++, n--;
  if (n < sizeof connect->host)
    memcpy(connect->host, start, n);
}

int hf_connect_start(struct hf_connector *connector, const struct hf_connect_options *options,
                     const struct hf_connect_events *events, void *ctx, struct hf_connect **ret_connect) {
  if (!connector->started && curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
    return HF_ERR_NOMEM;
  connector->started = true;
  struct hf_connect *connect = hf_calloc(1, sizeof *connect);
  if (!connect)
    return HF_ERR_NOMEM;
  connect->connector = connector;
  connect->events = events;
  connect->ctx = ctx;
  hf_list_init(&connect->watches);
  copy_host(connect, options->url);
  uv_timer_init(connector->uv, &connect->timer);
  connect->timer.data = connect;
  if (!assemble(connect, options)) {
    dismantle(connect);
    return HF_ERR_NOMEM;
  }
  *ret_connect = connect;
  return 0;
}
