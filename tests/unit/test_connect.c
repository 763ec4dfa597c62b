/* Connecting: what each way of failing is called, TLS, and a resolver that hangs. */
#include "base/clock.h"
#include "base/error.h"
#include "daemon/loop.h"
#include "gateway/settings.h"
#include "upstream/http.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static pthread_mutex_t hang_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t hang_over = PTHREAD_COND_INITIALIZER;
static bool hang_is_over;
static atomic_int hanging;

static int hang(void) {
  pthread_mutex_lock(&hang_lock);
  hanging++;
  while (!hang_is_over)
    pthread_cond_wait(&hang_over, &hang_lock);
  hanging--;
  pthread_mutex_unlock(&hang_lock);
  return EAI_AGAIN;
}

/* Takes the place of the C library's for libcurl and libuv: names ending in .test are ours. */
__attribute__((visibility("default"))) int getaddrinfo(const char *node, const char *service,
                                                       const struct addrinfo *hints, struct addrinfo **result) {
  if (node && strcmp(node, "hang.test") == 0)
    return hang();
  if (node && strcmp(node, "later.test") == 0)
    return EAI_AGAIN;
  if (node && strcmp(node, "none.test") == 0)
    return EAI_NONAME;
  union {
    void *pointer;
    int (*function)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
  } real = {dlsym(RTLD_NEXT, "getaddrinfo")};
  return real.function(node, service, hints, result);
}

struct bench {
  uv_loop_t uv;
  struct hf_loop loop;
  struct hf_loop_driver driver;
  struct hf_connector connector;
  unsigned over;
  bool connected;
  enum hf_evidence_kind kind;
  enum hf_redirect redirect;
  char reason[256];
  size_t answer_len;
  struct hf_outgoing out;
};

static struct bench *bench_new(void) {
  struct bench *bench = calloc(1, sizeof *bench);
  uv_loop_init(&bench->uv);
  hf_loop_init(&bench->loop, 1, NULL);
  hf_loop_driver_init(&bench->driver, &bench->uv, &bench->loop);
  assert_int_equal(hf_connector_init(&bench->connector, &bench->uv, &bench->loop), 0);
  return bench;
}

static void bench_free(struct bench *bench) {
  hf_loop_driver_close(&bench->driver);
  for (int i = 0; i < 1000 && uv_run(&bench->uv, UV_RUN_NOWAIT); i++)
    ;
  assert_int_equal(uv_loop_close(&bench->uv), 0);
  hf_connector_deinit(&bench->connector);
  hf_loop_deinit(&bench->loop);
  free(bench);
}

static void on_patience(uv_timer_t *timer) {
  *(bool *)timer->data = true;
}

/* Runs until *flag or for `ms`; returns whether it was the flag. */
static bool run_until(struct bench *bench, const unsigned *flag, uint64_t ms) {
  bool over = false;
  uv_timer_t patience;
  uv_timer_init(&bench->uv, &patience);
  patience.data = &over;
  uv_timer_start(&patience, on_patience, ms, 1); /* again: it may fire in a turn that then waits for I/O */
  while (!over && !*flag)
    uv_run(&bench->uv, UV_RUN_ONCE);
  uv_close((uv_handle_t *)&patience, NULL);
  uv_run(&bench->uv, UV_RUN_NOWAIT);
  return *flag != 0;
}

static void on_connected(void *ctx, struct hf_wire *wire) {
  struct bench *bench = ctx;
  bench->connected = true;
  bench->over = 1;
  hf_wire_close(wire);
}

static void on_failed(void *ctx, const struct hf_evidence *evidence, struct hf_str reason) {
  struct bench *bench = ctx;
  bench->kind = evidence->kind;
  snprintf(bench->reason, sizeof bench->reason, "%.*s", HF_STR_FMT(reason));
  bench->over = 1;
}

static const struct hf_connect_events connect_events = {on_connected, on_failed};

static struct hf_connect *start(struct bench *bench, const char *url, hf_time timeout) {
  const struct hf_connect_options options = {.url = url, .tls_verify = true, .timeout = timeout};
  struct hf_connect *connect;
  assert_int_equal(hf_connect_start(&bench->connector, &options, &connect_events, bench, &connect), 0);
  assert_int_equal(bench->over, 0);
  return connect;
}

/* A listening socket that accepts nothing by itself. */
static int listen_on_loopback(int *ret_port) {
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t len = sizeof address;
  assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
  assert_int_equal(listen(fd, 8), 0);
  assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
  *ret_port = ntohs(address.sin_port);
  return fd;
}

static void connect__names_each_way_of_failing(void **state) {
  (void)state;
  int port;
  int silent = listen_on_loopback(&port);
  char tls_to_silence[64];
  snprintf(tls_to_silence, sizeof tls_to_silence, "https://127.0.0.1:%d/", port);
  const struct {
    const char *url;
    enum hf_evidence_kind kind;
  } cases[] = {
      {"http://127.0.0.1:1/", HF_EVIDENCE_CONNECT_REFUSED},
      {"http://none.test:80/", HF_EVIDENCE_NO_SUCH_HOST},
      {"http://later.test:80/", HF_EVIDENCE_DNS_TEMPORARY},
      {tls_to_silence, HF_EVIDENCE_CONNECT_TIMEOUT},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct bench *bench = bench_new();
    start(bench, cases[i].url, HF_MS(300));
    assert_true(run_until(bench, &bench->over, 3000));
    assert_false(bench->connected);
    assert_int_equal(bench->kind, cases[i].kind);
    assert_true(bench->reason[0] != '\0');
    bench_free(bench);
  }
  close(silent);
}

static void connect__isnt_held_up_by_a_resolver_that_hangs(void **state) {
  (void)state;
  int port;
  int fd = listen_on_loopback(&port);
  char url[64];
  snprintf(url, sizeof url, "http://127.0.0.1:%d/", port);
  struct bench *hung = bench_new();
  struct hf_connect *given_up = start(hung, "http://hang.test:80/", HF_SECONDS(30));
  hf_time began = hf_clock_now();

  /* Others connect meanwhile, */
  hung->over = 0;
  start(hung, url, HF_SECONDS(2));
  assert_true(run_until(hung, &hung->over, 3000));
  assert_true(hung->connected);

  /* the attempt ends in its time, */
  hung->over = 0;
  start(hung, "http://hang.test:80/", HF_MS(150));
  assert_true(run_until(hung, &hung->over, 3000));
  assert_int_equal(hung->kind, HF_EVIDENCE_CONNECT_TIMEOUT);

  /* and giving one up, and going away, doesn't wait for the thread. */
  assert_true(hanging > 0);
  hf_connect_cancel(given_up);
  bench_free(hung);
  assert_true(hf_clock_now() - began < HF_SECONDS(2));
  close(fd);
}

static int release_resolvers(void **state) {
  (void)state;
  pthread_mutex_lock(&hang_lock);
  hang_is_over = true;
  pthread_cond_broadcast(&hang_over);
  pthread_mutex_unlock(&hang_lock);
  return 0;
}

struct tls_server {
  pid_t pid;
  int in;
  int port;
  char folder[64];
  char cert[96];
  char key[96];
};

static void run_openssl(struct tls_server *server) {
  pid_t pid = fork();
  if (pid == 0) {
    int nowhere = open("/dev/null", O_RDWR);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    execlp("openssl", "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
           "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", server->key,
           "-out", server->cert, (char *)NULL);
    _exit(127);
  }
  int status;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(status, 0);
}

static void tls_start(struct tls_server *server, bool asks_for_certificate) {
  snprintf(server->folder, sizeof server->folder, "/tmp/hf-tls-XXXXXX");
  assert_non_null(mkdtemp(server->folder));
  snprintf(server->cert, sizeof server->cert, "%s/cert.pem", server->folder);
  snprintf(server->key, sizeof server->key, "%s/key.pem", server->folder);
  run_openssl(server);
  assert_non_null(getenv("HF_TEST_DATA"));
  char script[4096];
  snprintf(script, sizeof script, "%s/../unit/tls_server.py", getenv("HF_TEST_DATA"));
  int in[2];
  int out[2];
  assert_int_equal(pipe(in), 0);
  assert_int_equal(pipe(out), 0);
  server->pid = fork();
  if (server->pid == 0) {
    dup2(in[0], 0);
    dup2(out[1], 1);
    close(in[1]);
    close(out[0]);
    execlp("python3", "python3", script, server->cert, server->key, asks_for_certificate ? server->cert : NULL,
           (char *)NULL);
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  server->in = in[1];
  char line[16] = "";
  for (size_t n = 0; n < sizeof line - 1 && !strchr(line, '\n'); n++)
    assert_int_equal(read(out[0], line + n, 1), 1);
  close(out[0]);
  server->port = (int)strtol(line, NULL, 10);
}

static void tls_stop(struct tls_server *server) {
  close(server->in);
  waitpid(server->pid, NULL, 0);
  unlink(server->cert);
  unlink(server->key);
  rmdir(server->folder);
}

static void on_message(void *owner, struct hf_outgoing *out, const struct hf_message *message) {
  (void)out;
  ((struct bench *)owner)->answer_len = hf_blob_str(message->blob).len;
}

static void on_done(void *owner, struct hf_outgoing *out, const struct hf_evidence *evidence) {
  struct bench *bench = owner;
  bench->kind = evidence->kind;
  bench->redirect = evidence->redirect;
  bench->over = 1;
  hf_pieces_deinit(&out->text);
}

static void on_sent(void *owner, struct hf_outgoing *out, size_t bytes, bool complete) {
  (void)owner;
  (void)out;
  (void)bytes;
  (void)complete;
}

static const struct hf_transport_events transport_events = {.sent = on_sent, .message = on_message, .done = on_done};

static void call(struct bench *bench, struct hf_transport *transport, size_t padding) {
  bench->over = 0;
  bench->kind = HF_EVIDENCE_DEADLINE;
  bench->out = (struct hf_outgoing){.is_request = true, .id = 7, .connect_by = hf_clock_now() + HF_SECONDS(3)};
  hf_pieces_add_copy(&bench->out.text, HF_STR("{\"jsonrpc\":\"2.0\",\"id\":7,"));
  char *filler = malloc(padding + 1);
  memset(filler, ' ', padding + 1);
  hf_pieces_add_copy(&bench->out.text, (struct hf_str){filler, padding + 1});
  free(filler);
  hf_pieces_add_copy(&bench->out.text, HF_STR("\"method\":\"ping\"}"));
  assert_int_equal(transport->ops->send(transport, &bench->out), 0);
  assert_true(run_until(bench, &bench->over, 5000));
}

static struct hf_transport *open_tls(struct bench *bench, const struct tls_server *server, const char *ca, bool verify,
                                     size_t size) {
  char url[64];
  snprintf(url, sizeof url, "https://127.0.0.1:%d/%zu", server->port, size);
  const struct hf_server_settings settings = {.name = HF_STR("t"),
                                              .url = hf_str_from(url),
                                              .ca_file = hf_str_from(ca),
                                              .tls_verify = verify,
                                              .max_connections = 2,
                                              .max_message = 8 << 20};
  struct hf_transport *transport;
  assert_int_equal(hf_http_transport_new(&bench->connector, &settings, &transport_events, bench, &transport, NULL), 0);
  return transport;
}

static void connect__speaks_tls_and_checks_certificates(void **state) {
  (void)state;
  enum { SIZE = 3 << 20 };
  struct tls_server server;
  tls_start(&server, false);
  struct bench *bench = bench_new();

  struct hf_transport *transport = open_tls(bench, &server, NULL, true, 0);
  call(bench, transport, 0);
  assert_int_equal(bench->kind, HF_EVIDENCE_BAD_CERTIFICATE);
  transport->ops->free(transport);

  transport = open_tls(bench, &server, NULL, false, 0);
  call(bench, transport, 0);
  assert_int_equal(bench->kind, HF_EVIDENCE_NONE);
  transport->ops->free(transport);

  /* Large both ways, and again on the warm connection. */
  transport = open_tls(bench, &server, server.cert, true, SIZE);
  for (int i = 0; i < 3; i++) {
    call(bench, transport, i == 1 ? 0 : SIZE);
    assert_int_equal(bench->kind, HF_EVIDENCE_NONE);
    assert_int_equal(bench->answer_len, SIZE + 42);
  }
  transport->ops->free(transport);
  bench_free(bench);
  tls_stop(&server);
}

/* tls.cert and tls.key */
static void connect__shows_its_certificate_to_a_server_that_asks(void **state) {
  (void)state;
  struct tls_server server;
  tls_start(&server, true);
  struct bench *bench = bench_new();
  char url[64];
  snprintf(url, sizeof url, "https://127.0.0.1:%d/0", server.port);
  struct hf_server_settings settings = {.name = HF_STR("t"),
                                        .url = hf_str_from(url),
                                        .ca_file = hf_str_from(server.cert),
                                        .tls_verify = true,
                                        .max_connections = 1,
                                        .max_message = 1024};
  for (int with = 0; with < 2; with++) {
    settings.cert_file = hf_str_from(with ? server.cert : NULL);
    settings.key_file = hf_str_from(with ? server.key : NULL);
    struct hf_transport *transport;
    assert_int_equal(hf_http_transport_new(&bench->connector, &settings, &transport_events, bench, &transport, NULL),
                     0);
    call(bench, transport, 0);
    if (with)
      assert_int_equal(bench->kind, HF_EVIDENCE_NONE);
    else
      assert_int_not_equal(bench->kind, HF_EVIDENCE_NONE);
    transport->ops->free(transport);
  }
  /* A certificate without its key is no use. */
  settings.key_file = (struct hf_str){NULL, 0};
  struct hf_transport *transport;
  assert_int_equal(hf_http_transport_new(&bench->connector, &settings, &transport_events, bench, &transport, NULL), 0);
  call(bench, transport, 0);
  assert_int_not_equal(bench->kind, HF_EVIDENCE_NONE);
  transport->ops->free(transport);
  bench_free(bench);
  tls_stop(&server);
}

static void connect__follows_no_redirect_from_https_to_http(void **state) {
  (void)state;
  struct tls_server server;
  tls_start(&server, false);
  struct bench *bench = bench_new();
  char url[64];
  snprintf(url, sizeof url, "https://127.0.0.1:%d/plain", server.port);
  const struct hf_server_settings settings = {.name = HF_STR("t"),
                                              .url = hf_str_from(url),
                                              .ca_file = hf_str_from(server.cert),
                                              .tls_verify = true,
                                              .max_connections = 1,
                                              .max_message = 1024};
  struct hf_transport *transport;
  assert_int_equal(hf_http_transport_new(&bench->connector, &settings, &transport_events, bench, &transport, NULL), 0);
  call(bench, transport, 0);
  assert_int_equal(bench->kind, HF_EVIDENCE_HTTP_STATUS);
  assert_int_equal(bench->redirect, HF_REDIRECT_DOWNGRADE);
  transport->ops->free(transport);
  bench_free(bench);
  tls_stop(&server);
}

/* What is no TLS is known as soon as it is there, however patient the attempt and whether or not the peer hangs up. */
static void connect__calls_a_broken_handshake_by_its_name(void **state) {
  (void)state;
#define JUNK(bytes) bytes, sizeof bytes - 1
  const struct {
    const char *bytes;
    size_t len;
  } cases[] = {
      {JUNK("HTTP/1.1 400 Bad\r\n\r\n")},
      {JUNK("SSH-2.0-OpenSSH_9\r\n")},
      {JUNK("<!DOCTYPE html>\n<html>")},
      {JUNK("\0\0\0\0\0\0\0\0")},
      {JUNK("\x15\x03\x03\0\x02\x02\x28")},         /* a fatal alert */
      {JUNK("\x16\x03\x03\0\x04\x01\0\0\0")},       /* a client's greeting */
      {JUNK("\x16\x03\x03\0\x08\x02\0\0\x04....")}, /* a server's, and nonsense */
      {JUNK("\x16\x03\x03\xff\xff.....")},          /* longer than any record */
      {JUNK("\x17\x03\x03\0\x10................")}, /* data before the keys */
      {JUNK("\x16\x09\x09\0\x04....")},             /* no such version */
      {JUNK("")},                                   /* nothing, and the end */
  };
#undef JUNK
  int port;
  int fd = listen_on_loopback(&port);
  char url[64];
  snprintf(url, sizeof url, "https://127.0.0.1:%d/", port);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct bench *bench = bench_new();
    hf_time began = hf_clock_now();
    start(bench, url, HF_SECONDS(60));
    unsigned never = 0;
    run_until(bench, &never, 30);
    int peer = accept(fd, NULL, NULL);
    if (cases[i].len)
      assert_int_equal(write(peer, cases[i].bytes, cases[i].len), (ssize_t)cases[i].len);
    else
      close(peer);
    assert_true(run_until(bench, &bench->over, 10000));
    assert_int_equal(bench->kind, HF_EVIDENCE_TLS_HANDSHAKE);
    assert_true(bench->reason[0] != '\0');
    assert_true(hf_clock_now() - began < HF_SECONDS(10));
    if (cases[i].len)
      close(peer);
    bench_free(bench);
  }
  close(fd);
}

int main(void) {
  /* The servers here are on loopback, whatever proxy the machine wants for others. */
  unsetenv("http_proxy");
  unsetenv("https_proxy");
  unsetenv("HTTPS_PROXY");
  unsetenv("all_proxy");
  unsetenv("ALL_PROXY");
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(connect__names_each_way_of_failing),
      cmocka_unit_test_teardown(connect__isnt_held_up_by_a_resolver_that_hangs, release_resolvers),
      cmocka_unit_test(connect__speaks_tls_and_checks_certificates),
      cmocka_unit_test(connect__shows_its_certificate_to_a_server_that_asks),
      cmocka_unit_test(connect__follows_no_redirect_from_https_to_http),
      cmocka_unit_test(connect__calls_a_broken_handshake_by_its_name),
  };
  return cmocka_run_group_tests_name("connect", tests, NULL, NULL);
}
