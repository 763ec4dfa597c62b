#include "base/alloc.h"
#include "base/blob.h"
#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

static void assert_joined(const struct hf_pieces *pieces, const char *expected) {
  struct hf_buf buf;
  hf_buf_init(&buf, 1024);
  assert_int_equal(hf_pieces_join(pieces, &buf), 0);
  assert_int_equal(buf.len, strlen(expected));
  assert_int_equal(pieces->len, strlen(expected));
  assert_true(hf_str_equal(hf_buf_str(&buf), hf_str_from(expected)));
  hf_buf_deinit(&buf);
}

static void blob__takes_the_memory_of_a_buffer(void **state) {
  (void)state;
  struct hf_buf buf;
  hf_buf_init(&buf, 1024);
  assert_int_equal(hf_buf_append(&buf, "bytes", 5), 0);
  const char *data = buf.data;
  struct hf_blob *blob = hf_blob_take(&buf);
  assert_non_null(blob);
  assert_ptr_equal(hf_blob_str(blob).ptr, data);
  assert_int_equal(hf_blob_str(blob).len, 5);
  assert_null(buf.data);
  assert_int_equal(buf.max, 1024);
  hf_blob_unref(blob);
}

static void blob__leaves_the_buffer_alone_when_memory_runs_out(void **state) {
  (void)state;
  struct hf_buf buf;
  hf_buf_init(&buf, 1024);
  assert_int_equal(hf_buf_append(&buf, "bytes", 5), 0);
  hf_alloc_fail_after(0);
  assert_null(hf_blob_take(&buf));
  assert_true(hf_str_equal(hf_buf_str(&buf), HF_STR("bytes")));
  for (long n = 0; n < 2; n++) {
    hf_alloc_fail_after(n);
    assert_null(hf_blob_copy(HF_STR("bytes")));
  }
  hf_alloc_fail_after(-1);
  hf_buf_deinit(&buf);
}

static void blob__of_an_empty_buffer_is_empty_text(void **state) {
  (void)state;
  struct hf_buf buf;
  hf_buf_init(&buf, 16);
  struct hf_blob *blob = hf_blob_take(&buf);
  assert_non_null(blob);
  assert_non_null(hf_blob_str(blob).ptr);
  assert_int_equal(hf_blob_str(blob).len, 0);
  hf_blob_unref(blob);
  hf_blob_unref(NULL);
}

static void pieces__splice_runs_of_shared_bytes(void **state) {
  (void)state;
  struct hf_blob *blob = hf_blob_copy(HF_STR("{\"id\":1,\"x\":2}"));
  assert_non_null(blob);
  struct hf_str all = hf_blob_str(blob);
  struct hf_pieces pieces;
  hf_pieces_init(&pieces);
  assert_int_equal(hf_pieces_add(&pieces, blob, (struct hf_str){all.ptr, 6}), 0);
  assert_int_equal(hf_pieces_add_copy(&pieces, HF_STR("42")), 0);
  assert_int_equal(hf_pieces_add_copy(&pieces, HF_STR("")), 0);
  assert_int_equal(hf_pieces_add(&pieces, blob, (struct hf_str){all.ptr + 7, all.len - 7}), 0);
  hf_blob_unref(blob); /* the pieces hold their own references */
  assert_int_equal(pieces.count, 3);
  assert_joined(&pieces, "{\"id\":42,\"x\":2}");
  hf_pieces_deinit(&pieces);
  assert_int_equal(pieces.len, 0);
}

static void pieces__refuse_more_than_their_maximum(void **state) {
  (void)state;
  struct hf_pieces pieces;
  hf_pieces_init(&pieces);
  for (int i = 0; i < HF_PIECES_MAX; i++)
    assert_int_equal(hf_pieces_add_copy(&pieces, HF_STR("x")), 0);
  assert_int_equal(hf_pieces_add_copy(&pieces, HF_STR("y")), HF_ERR_LIMIT);
  assert_joined(&pieces, "xxxxxxxxxxxxxxxx");
  hf_pieces_deinit(&pieces);
}

static void pieces__move_leaves_the_source_empty(void **state) {
  (void)state;
  struct hf_pieces from;
  struct hf_pieces to;
  hf_pieces_init(&from);
  hf_pieces_init(&to);
  assert_int_equal(hf_pieces_add_copy(&from, HF_STR("new")), 0);
  assert_int_equal(hf_pieces_add_copy(&to, HF_STR("old")), 0);
  hf_pieces_move(&to, &from);
  assert_joined(&to, "new");
  assert_joined(&from, "");
  hf_pieces_deinit(&to);
  hf_pieces_deinit(&from);
}

static void pieces__join_fails_whole(void **state) {
  (void)state;
  struct hf_pieces pieces;
  struct hf_buf buf;
  hf_pieces_init(&pieces);
  hf_buf_init(&buf, 5);
  assert_int_equal(hf_pieces_add_copy(&pieces, HF_STR("abc")), 0);
  assert_int_equal(hf_pieces_add_copy(&pieces, HF_STR("def")), 0);
  assert_int_equal(hf_pieces_join(&pieces, &buf), HF_ERR_LIMIT);
  assert_int_equal(buf.len, 0);
  hf_pieces_deinit(&pieces);
}

static void pieces__after_some_bytes_is_what_is_left(void **state) {
  (void)state;
  static const struct {
    size_t skip;
    size_t count;
    const char *first;
  } rows[] = {{0, 3, "abc"}, {2, 3, "c"}, {3, 2, "d"}, {4, 1, "ef"}, {5, 1, "f"}, {6, 0, NULL}};
  struct hf_pieces pieces;
  hf_pieces_init(&pieces);
  assert_int_equal(hf_pieces_add_copy(&pieces, HF_STR("abc")), 0);
  assert_int_equal(hf_pieces_add_copy(&pieces, HF_STR("d")), 0);
  assert_int_equal(hf_pieces_add_copy(&pieces, HF_STR("ef")), 0);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_str parts[HF_PIECES_MAX];
    assert_int_equal(hf_pieces_after(&pieces, rows[i].skip, parts), rows[i].count);
    if (rows[i].first)
      assert_true(hf_str_equal(parts[0], hf_str_from(rows[i].first)));
  }
  hf_pieces_deinit(&pieces);
}

static void pieces__are_written_from_where_the_last_write_ended(void **state) {
  (void)state;
  struct hf_pieces pieces;
  hf_pieces_init(&pieces);
  assert_int_equal(hf_pieces_add_copy(&pieces, HF_STR("abc")), 0);
  assert_int_equal(hf_pieces_add_copy(&pieces, HF_STR("def")), 0);
  int fds[2];
  char text[16];
  assert_int_equal(pipe(fds), 0);
  assert_int_equal(hf_pieces_write(fds[1], &pieces, 2), 4);
  assert_int_equal(read(fds[0], text, sizeof text), 4);
  assert_memory_equal(text, "cdef", 4);
  close(fds[0]);
  close(fds[1]);
  assert_int_equal(hf_pieces_write(fds[1], &pieces, 0), -1);
  hf_pieces_deinit(&pieces);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(blob__takes_the_memory_of_a_buffer),
      cmocka_unit_test(blob__leaves_the_buffer_alone_when_memory_runs_out),
      cmocka_unit_test(blob__of_an_empty_buffer_is_empty_text),
      cmocka_unit_test(pieces__splice_runs_of_shared_bytes),
      cmocka_unit_test(pieces__refuse_more_than_their_maximum),
      cmocka_unit_test(pieces__move_leaves_the_source_empty),
      cmocka_unit_test(pieces__join_fails_whole),
      cmocka_unit_test(pieces__after_some_bytes_is_what_is_left),
      cmocka_unit_test(pieces__are_written_from_where_the_last_write_ended),
  };
  return cmocka_run_group_tests_name("blob", tests, NULL, NULL);
}
