#include "base/error.h"
#include "upstream/http1.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

struct outcome {
  int result; /* 0: complete; HF_ERR_AGAIN: wants more; else the reader's error */
  struct hf_buf body;
  size_t used;
};

/* Reads `text` in pieces of `step` bytes, each from memory of its own, so that reading past one is found. */
static void read_all(struct hf_http1_reader *reader, struct hf_str text, size_t step, struct outcome *out) {
  hf_http1_reader_init(reader);
  hf_buf_init(&out->body, 1 << 20);
  out->result = HF_ERR_AGAIN;
  out->used = 0;
  for (size_t at = 0; at < text.len && out->result == HF_ERR_AGAIN; at += step) {
    size_t n = text.len - at < step ? text.len - at : step;
    char *piece = malloc(n);
    memcpy(piece, text.ptr + at, n);
    size_t done = 0;
    enum hf_http1_event event;
    do {
      struct hf_str body = {NULL, 0};
      size_t used = 0;
      int r = hf_http1_read(reader, (struct hf_str){piece + done, n - done}, &event, &body, &used);
      if (r < 0) {
        out->result = r;
        break;
      }
      if (event == HF_HTTP1_BODY)
        assert_int_equal(hf_buf_append_str(&out->body, body), 0);
      done += used;
      out->used += used;
      if (event == HF_HTTP1_END)
        out->result = 0;
    } while (event != HF_HTTP1_MORE && event != HF_HTTP1_END);
    free(piece);
  }
}

static const size_t steps[] = {1, 2, 3, 7, 4096};
enum { STEPS = sizeof steps / sizeof *steps };

static void http1__reads_responses_in_any_pieces(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int status;
    const char *body;
    bool keep_alive;
    size_t rest; /* bytes behind the response */
  } cases[] = {
      {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", 200, "abc", true, 0},
      {"HTTP/1.1 200\r\ncontent-length:0\r\n\r\n", 200, "", true, 0},
      {"HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", 200, "", true, 0},
      {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: Foo, CLOSE\r\n\r\na", 200, "a", false, 0},
      {"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", 200, "a", false, 0},
      {"HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: keep-alive\r\n\r\na", 200, "a", true, 0},
      {"HTTP/1.1 204 No\r\n\r\n", 204, "", true, 0},
      {"HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\n", 204, "", false, 0},
      {"HTTP/1.1 304 Same\r\nContent-Length: 5\r\n\r\n", 304, "", false, 0},
      {"HTTP/1.1 100 Go\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nz", 200,
       "z", true, 0},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n3\r\nabc\r\nA;q=\"r\"\r\n0123456789\r\n000\r\n\r\n", 200,
       "abc0123456789", true, 0},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX: y\r\nZ:\r\n\r\nmore", 200, "a", true, 4},
      {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab", 200, "a", true, 1},
      {"HTTP/1.1 500 \xc3\xa4\r\nContent-Length: 0\r\nX-Obs: \xff\r\n\r\n", 500, "", true, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (size_t j = 0; j < STEPS; j++) {
      struct hf_http1_reader reader;
      struct outcome out;
      read_all(&reader, hf_str_from(cases[i].text), steps[j], &out);
      assert_int_equal(out.result, 0);
      assert_int_equal(reader.status, cases[i].status);
      assert_true(hf_str_equal(hf_buf_str(&out.body), hf_str_from(cases[i].body)));
      assert_int_equal(reader.keep_alive, cases[i].keep_alive);
      assert_int_equal(out.used, strlen(cases[i].text) - cases[i].rest);
      hf_buf_deinit(&out.body);
      hf_http1_reader_deinit(&reader);
    }
}

#define OK "HTTP/1.1 200 OK\r\n"
#define CHUNKED OK "Transfer-Encoding: chunked\r\n\r\n"

static void http1__refuses_what_is_ambiguous(void **state) {
  (void)state;
  static const struct {
    const char *text;
    size_t len;
    enum hf_http1_fault fault;
  } cases[] = {
#define CASE(text, fault) {text, sizeof text - 1, HF_HTTP1_FAULT_##fault}
      CASE(OK "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", BOTH_FRAMINGS),
      CASE(OK "Content-Length: 1\r\nContent-Length: 1\r\n\r\n", LENGTH_REPEATED),
      CASE(OK "Content-Length: 1, 1\r\n\r\n", LENGTH),
      CASE(OK "Content-Length: +1\r\n\r\n", LENGTH),
      CASE(OK "Content-Length: -1\r\n\r\n", LENGTH),
      CASE(OK "Content-Length: 0x1\r\n\r\n", LENGTH),
      CASE(OK "Content-Length: 1 2\r\n\r\n", LENGTH),
      CASE(OK "Content-Length:\r\n\r\n", LENGTH),
      CASE(OK "Content-Length: 99999999999999999999\r\n\r\n", LENGTH),
      CASE(OK "Transfer-Encoding: gzip, chunked\r\n\r\n", CODING),
      CASE(OK "Transfer-Encoding: identity\r\n\r\n", CODING),
      CASE(OK "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", CODING),
      CASE(OK "Transfer-Encoding: \x0b"
              "chunked\r\n\r\n",
           HEADER),
      CASE("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", CODING),
      CASE(OK "A: b\r\n c\r\n\r\n", FOLDED),
      CASE(OK " A: b\r\n\r\n", FOLDED),
      CASE(OK "A : b\r\n\r\n", HEADER),
      CASE(OK ": b\r\n\r\n", HEADER),
      CASE(OK "no colon\r\n\r\n", HEADER),
      CASE(OK "A: b\0c\r\n\r\n", HEADER),
      CASE(OK "A: b\n\r\n", LINE_END),
      CASE(OK "A: b\rc\r\n\r\n", LINE_END),
      CASE("HTTP/1.1 200 OK\n\n", LINE_END),
      CASE(OK "\n", LINE_END),
      CASE("HTTP/1.1 20 OK\r\n\r\n", STATUS),
      CASE("HTTP/1.1 2000 OK\r\n\r\n", STATUS),
      CASE("HTTP/1.1 099 OK\r\n\r\n", STATUS),
      CASE("HTTP/1.1  200 OK\r\n\r\n", STATUS),
      CASE("HTTP/1.2 200 OK\r\n\r\n", STATUS),
      CASE("HTTP/1.1 101 Switching\r\n\r\n", SWITCHED),
      CASE("HTTP/2 200\r\n\r\n", HTTP2),
      CASE("\0\0\x12\x04\0\0\0\0\0", HTTP2),
      CASE("PRI * HTTP/2.0\r\n", HTTP2),
      CASE("\x15\x03\x01\0\x02\x02\x46", TLS),
      CASE("220 smtp.example\r\n", NOT_HTTP),
      CASE("http/1.1 200 OK\r\n", NOT_HTTP),
      CASE(CHUNKED "\r\n", CHUNK_SIZE),
      CASE(CHUNKED "g\r\n", CHUNK_SIZE),
      CASE(CHUNKED "-1\r\n", CHUNK_SIZE),
      CASE(CHUNKED "0x1\r\n", CHUNK_SIZE),
      CASE(CHUNKED " 1\r\n", CHUNK_SIZE),
      CASE(CHUNKED "1 \r\na", CHUNK_SIZE),
      CASE(CHUNKED "1\na", CHUNK_SIZE),
      CASE(CHUNKED "1\ra", LINE_END),
      CASE(CHUNKED "1;\na", CHUNK_SIZE),
      CASE(CHUNKED "10000000000000000\r\n", CHUNK_SIZE),
      CASE(CHUNKED "1\r\nab\r\n", CHUNK_END),
      CASE(CHUNKED "1\r\na\n", CHUNK_END),
      CASE(CHUNKED "0\r\n x\r\n\r\n", TRAILER),
      CASE(CHUNKED "0\r\nA: b\n\r\n", TRAILER),
      CASE(CHUNKED "0\r\n\rx", TRAILER),
#undef CASE
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (size_t j = 0; j < STEPS; j++) {
      struct hf_http1_reader reader;
      struct outcome out;
      read_all(&reader, (struct hf_str){cases[i].text, cases[i].len}, steps[j], &out);
      if (reader.fault != cases[i].fault && steps[j] > 4)
        fail_msg("case %zu: %s", i, hf_http1_fault_text(reader.fault));
      assert_true(out.result == HF_ERR_SYNTAX);
      assert_false(reader.keep_alive);
      hf_buf_deinit(&out.body);
      hf_http1_reader_deinit(&reader);
    }
}

static void http1__ends_a_body_with_the_connection_only_where_nothing_else_does(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int result;
    const char *body;
  } cases[] = {
      {"HTTP/1.0 200 OK\r\n\r\nabc", 0, "abc"},
      {OK "Content-Type: text/event-stream\r\n\r\n", 0, ""},
      {OK "Content-Length: 3\r\n\r\nab", HF_ERR_INCOMPLETE, "ab"},
      {CHUNKED "3\r\nabc\r\n", HF_ERR_INCOMPLETE, "abc"},
      {CHUNKED "0\r\n", HF_ERR_INCOMPLETE, ""},
      {OK "A: b", HF_ERR_INCOMPLETE, ""},
      {"HTTP/1.1 100 Go\r\n\r\n", HF_ERR_INCOMPLETE, ""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct hf_http1_reader reader;
    struct outcome out;
    read_all(&reader, hf_str_from(cases[i].text), 4096, &out);
    assert_int_equal(out.result, HF_ERR_AGAIN);
    assert_int_equal(hf_http1_read_eof(&reader), cases[i].result);
    assert_false(reader.keep_alive);
    assert_true(hf_str_equal(hf_buf_str(&out.body), hf_str_from(cases[i].body)));
    hf_buf_deinit(&out.body);
    hf_http1_reader_deinit(&reader);
  }
}

static void http1__bounds_heads_interims_and_trailers(void **state) {
  (void)state;
  struct hf_buf text;
  hf_buf_init(&text, 1 << 20);
  struct hf_http1_reader reader;
  struct outcome out;

  hf_buf_append_str(&text, HF_STR(OK "A: "));
  for (size_t i = 0; i < HF_HTTP1_HEAD_MAX; i++)
    hf_buf_append(&text, "x", 1);
  read_all(&reader, hf_buf_str(&text), 1000, &out);
  assert_int_equal(out.result, HF_ERR_LIMIT);
  assert_int_equal(reader.fault, HF_HTTP1_FAULT_HEAD_SIZE);
  hf_http1_reader_deinit(&reader);

  hf_buf_reset(&text, 0);
  hf_buf_append_str(&text, HF_STR(OK));
  for (size_t i = 0; i <= HF_HTTP1_HEADERS_MAX; i++)
    hf_buf_append_str(&text, HF_STR("A: b\r\n"));
  read_all(&reader, hf_buf_str(&text), 1000, &out);
  assert_int_equal(reader.fault, HF_HTTP1_FAULT_HEADER_COUNT);
  hf_http1_reader_deinit(&reader);

  hf_buf_reset(&text, 0);
  for (size_t i = 0; i <= HF_HTTP1_INTERIM_MAX; i++)
    hf_buf_append_str(&text, HF_STR("HTTP/1.1 100 Go\r\n\r\n"));
  read_all(&reader, hf_buf_str(&text), 1000, &out);
  assert_int_equal(reader.fault, HF_HTTP1_FAULT_INTERIM);
  hf_http1_reader_deinit(&reader);

  hf_buf_reset(&text, 0);
  hf_buf_append_str(&text, HF_STR(CHUNKED "0\r\n"));
  for (size_t i = 0; i < HF_HTTP1_HEAD_MAX; i++)
    hf_buf_append_str(&text, HF_STR("x"));
  hf_buf_append_str(&text, HF_STR("\r\n\r\n"));
  read_all(&reader, hf_buf_str(&text), 1000, &out);
  assert_int_equal(reader.fault, HF_HTTP1_FAULT_HEAD_SIZE);
  hf_http1_reader_deinit(&reader);
  hf_buf_deinit(&text);
}

static void http1__finds_headers_in_any_case(void **state) {
  (void)state;
  struct hf_http1_reader reader;
  struct outcome out;
  read_all(&reader, HF_STR(OK "Mcp-Session-Id: \t abc \r\nX:\r\nx: 2\r\nContent-Length: 0\r\n\r\n"), 1, &out);
  assert_int_equal(out.result, 0);
  assert_true(hf_str_equal(hf_http1_header(&reader, HF_STR("mcp-session-ID")), HF_STR("abc")));
  assert_int_equal(hf_http1_header_count(&reader, HF_STR("x")), 2);
  assert_non_null(hf_http1_header(&reader, HF_STR("x")).ptr);
  assert_null(hf_http1_header(&reader, HF_STR("y")).ptr);
  hf_http1_reader_deinit(&reader);
}

static void http1__writes_requests_that_cannot_be_split(void **state) {
  (void)state;
  struct hf_buf buf;
  hf_buf_init(&buf, 1024);
  assert_int_equal(hf_http1_write_start(&buf, HF_STR("POST"), HF_STR("/a?b")), 0);
  assert_int_equal(hf_http1_write_header(&buf, HF_STR("A"), HF_STR("b\tc")), 0);
  assert_int_equal(hf_http1_write_header(&buf, HF_STR("A"), HF_STR("b\r\nC: d")), HF_ERR_INVALID);
  assert_int_equal(hf_http1_write_header(&buf, HF_STR("A"), HF_STR("b\0c")), HF_ERR_INVALID);
  assert_int_equal(hf_http1_write_header(&buf, HF_STR("A b"), HF_STR("c")), HF_ERR_INVALID);
  assert_int_equal(hf_http1_write_header(&buf, HF_STR(""), HF_STR("c")), HF_ERR_INVALID);
  assert_int_equal(hf_http1_write_end(&buf), 0);
  assert_true(hf_str_equal(hf_buf_str(&buf), HF_STR("POST /a?b HTTP/1.1\r\nA: b\tc\r\n\r\n")));
  assert_int_equal(hf_http1_write_start(&buf, HF_STR("GET"), HF_STR("/a b")), HF_ERR_INVALID);
  assert_int_equal(hf_http1_write_start(&buf, HF_STR("GET"), HF_STR("/\r\n")), HF_ERR_INVALID);
  assert_int_equal(hf_http1_write_start(&buf, HF_STR("G T"), HF_STR("/")), HF_ERR_INVALID);
  hf_buf_deinit(&buf);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(http1__reads_responses_in_any_pieces),
      cmocka_unit_test(http1__refuses_what_is_ambiguous),
      cmocka_unit_test(http1__ends_a_body_with_the_connection_only_where_nothing_else_does),
      cmocka_unit_test(http1__bounds_heads_interims_and_trailers),
      cmocka_unit_test(http1__finds_headers_in_any_case),
      cmocka_unit_test(http1__writes_requests_that_cannot_be_split),
  };
  return cmocka_run_group_tests_name("http1", tests, NULL, NULL);
}
