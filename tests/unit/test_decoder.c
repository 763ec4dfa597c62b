#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "upstream/decoder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

enum { GZIP = 31, ZLIB = 15, RAW = -15, TEXT_MAX = 64 << 20 };

static const char hello[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[]}}";

static void compress_as(int window_bits, struct hf_str text, struct hf_buf *out) {
  z_stream zlib = {0};
  char piece[4096];
  assert_int_equal(deflateInit2(&zlib, 9, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
  zlib.next_in = (z_const Bytef *)text.ptr;
  zlib.avail_in = (uInt)text.len;
  int r;
  do {
    zlib.next_out = (Bytef *)piece;
    zlib.avail_out = sizeof piece;
    r = deflate(&zlib, Z_FINISH);
    assert_int_equal(hf_buf_append(out, piece, sizeof piece - zlib.avail_out), 0);
  } while (r == Z_OK);
  assert_int_equal(r, Z_STREAM_END);
  deflateEnd(&zlib);
}

/* Feeds `step` bytes at a time, each from memory of its own. */
static int decode(struct hf_decoder *decoder, struct hf_str bytes, size_t step, struct hf_buf *out) {
  for (size_t at = 0; at < bytes.len; at += step) {
    size_t len = bytes.len - at < step ? bytes.len - at : step;
    char *copy = hf_strndup(bytes.ptr + at, len);
    struct hf_str rest = {copy, len};
    struct hf_str piece;
    int r;
    do {
      size_t used = 0;
      r = hf_decoder_read(decoder, rest, &used, &piece);
      assert_true(used <= rest.len && piece.len <= HF_DECODER_PIECE);
      rest.ptr += used;
      rest.len -= used;
      if (r == 0)
        r = hf_buf_append_str(out, piece);
    } while (r == 0 && (rest.len || piece.len == HF_DECODER_PIECE));
    hf_free(copy);
    if (r < 0)
      return r;
  }
  return 0;
}

static void assert_decodes(enum hf_coding coding, const struct hf_buf *bytes, const char *text) {
  for (size_t step = 1; step <= bytes->len; step++) {
    struct hf_decoder *decoder;
    struct hf_buf out;
    hf_buf_init(&out, TEXT_MAX);
    assert_int_equal(hf_decoder_new(coding, &decoder), 0);
    assert_int_equal(decode(decoder, hf_buf_str(bytes), step, &out), 0);
    assert_true(hf_str_equal(hf_buf_str(&out), hf_str_from(text)));
    assert_true(hf_decoder_is_done(decoder));
    hf_decoder_free(decoder);
    hf_buf_deinit(&out);
  }
}

static void decoder__reads_each_coding_in_any_pieces(void **state) {
  (void)state;
  static const struct {
    int window_bits;
    enum hf_coding coding;
  } cases[] = {{GZIP, HF_CODING_GZIP}, {ZLIB, HF_CODING_DEFLATE}, {RAW, HF_CODING_DEFLATE}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct hf_buf bytes;
    hf_buf_init(&bytes, TEXT_MAX);
    compress_as(cases[i].window_bits, hf_str_from(hello), &bytes);
    assert_decodes(cases[i].coding, &bytes, hello);
    hf_buf_deinit(&bytes);
  }
}

static void decoder__members_follow_each_other_and_what_is_none_is_dropped(void **state) {
  (void)state;
  struct hf_buf bytes;
  hf_buf_init(&bytes, TEXT_MAX);
  compress_as(GZIP, HF_STR("one, "), &bytes);
  compress_as(GZIP, HF_STR("two"), &bytes);
  assert_int_equal(hf_buf_append(&bytes, "\0\0\0\0", 4), 0);
  assert_decodes(HF_CODING_GZIP, &bytes, "one, two");
  hf_buf_deinit(&bytes);
}

static void decoder__an_empty_text_is_one(void **state) {
  (void)state;
  struct hf_buf bytes;
  hf_buf_init(&bytes, TEXT_MAX);
  compress_as(RAW, HF_STR(""), &bytes);
  assert_decodes(HF_CODING_DEFLATE, &bytes, "");
  hf_buf_deinit(&bytes);
}

static void decoder__tells_where_a_text_is_cut_off(void **state) {
  (void)state;
  struct hf_buf bytes;
  hf_buf_init(&bytes, TEXT_MAX);
  compress_as(GZIP, hf_str_from(hello), &bytes);
  for (size_t len = 0; len <= bytes.len; len++) {
    struct hf_decoder *decoder;
    struct hf_buf out;
    hf_buf_init(&out, TEXT_MAX);
    assert_int_equal(hf_decoder_new(HF_CODING_GZIP, &decoder), 0);
    assert_int_equal(decode(decoder, (struct hf_str){bytes.data, len}, 100, &out), 0);
    assert_int_equal(hf_decoder_is_done(decoder), len == 0 || len == bytes.len);
    hf_decoder_free(decoder);
    hf_buf_deinit(&out);
  }
  hf_buf_deinit(&bytes);
}

static void decoder__refuses_what_is_not_coded_so(void **state) {
  (void)state;
  struct hf_decoder *decoder;
  struct hf_buf out;
  hf_buf_init(&out, TEXT_MAX);
  assert_int_equal(hf_decoder_new(HF_CODING_GZIP, &decoder), 0);
  assert_int_equal(decode(decoder, hf_str_from(hello), 100, &out), HF_ERR_SYNTAX);
  assert_int_equal(out.len, 0);
  hf_decoder_free(decoder);
}

static void decoder__what_grows_comes_in_pieces(void **state) {
  (void)state;
  struct hf_buf text, bytes, out;
  hf_buf_init(&text, TEXT_MAX);
  hf_buf_init(&bytes, TEXT_MAX);
  hf_buf_init(&out, 1 << 20);
  assert_int_equal(hf_buf_reserve(&text, 32 << 20), 0);
  memset(text.data, 'x', 32 << 20);
  compress_as(GZIP, (struct hf_str){text.data, 32 << 20}, &bytes);
  assert_true(bytes.len < 40 << 10);
  struct hf_decoder *decoder;
  assert_int_equal(hf_decoder_new(HF_CODING_GZIP, &decoder), 0);
  assert_int_equal(decode(decoder, hf_buf_str(&bytes), bytes.len, &out), HF_ERR_LIMIT);
  assert_int_equal(out.len, 1 << 20);
  hf_decoder_free(decoder);
  hf_buf_deinit(&text);
  hf_buf_deinit(&bytes);
  hf_buf_deinit(&out);
}

static void decoder__knows_the_names(void **state) {
  (void)state;
  assert_int_equal(hf_coding_of((struct hf_str){NULL, 0}), HF_CODING_IDENTITY);
  assert_int_equal(hf_coding_of(HF_STR("")), HF_CODING_IDENTITY);
  assert_int_equal(hf_coding_of(HF_STR("Identity")), HF_CODING_IDENTITY);
  assert_int_equal(hf_coding_of(HF_STR(" GZIP ")), HF_CODING_GZIP);
  assert_int_equal(hf_coding_of(HF_STR("x-gzip")), HF_CODING_GZIP);
  assert_int_equal(hf_coding_of(HF_STR("deflate")), HF_CODING_DEFLATE);
  assert_int_equal(hf_coding_of(HF_STR("br")), HF_CODING_UNKNOWN);
  assert_int_equal(hf_coding_of(HF_STR("gzip, gzip")), HF_CODING_UNKNOWN);
}

static void decoder__memory_may_end_at_any_allocation(void **state) {
  (void)state;
  struct hf_buf bytes;
  hf_buf_init(&bytes, TEXT_MAX);
  compress_as(GZIP, hf_str_from(hello), &bytes);
  bool done = false;
  for (long n = 0; !done; n++) {
    struct hf_decoder *decoder = NULL;
    size_t used;
    struct hf_str piece;
    hf_alloc_fail_after(n);
    int r = hf_decoder_new(HF_CODING_GZIP, &decoder);
    if (r == 0)
      r = hf_decoder_read(decoder, hf_buf_str(&bytes), &used, &piece);
    hf_alloc_fail_after(-1);
    done = r == 0;
    assert_true(done || r == HF_ERR_NOMEM);
    hf_decoder_free(decoder);
    assert_true(n < 10);
  }
  hf_buf_deinit(&bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(decoder__reads_each_coding_in_any_pieces),
      cmocka_unit_test(decoder__members_follow_each_other_and_what_is_none_is_dropped),
      cmocka_unit_test(decoder__an_empty_text_is_one),
      cmocka_unit_test(decoder__tells_where_a_text_is_cut_off),
      cmocka_unit_test(decoder__refuses_what_is_not_coded_so),
      cmocka_unit_test(decoder__what_grows_comes_in_pieces),
      cmocka_unit_test(decoder__knows_the_names),
      cmocka_unit_test(decoder__memory_may_end_at_any_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
