#include "base/alloc.h"
#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void arena__gives_zeroed_aligned_memory(void **state) {
  (void)state;
  struct hf_arena arena;
  hf_arena_init(&arena, 1 << 20);
  for (size_t size = 1; size < 5000; size += 37) {
    const char *p = hf_arena_alloc(&arena, size);
    assert_non_null(p);
    assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
    for (size_t i = 0; i < size; i++)
      assert_int_equal(p[i], 0);
  }
  hf_arena_deinit(&arena);
}

static void arena__refuses_to_pass_its_maximum(void **state) {
  (void)state;
  struct hf_arena arena;
  hf_arena_init(&arena, 64);
  assert_non_null(hf_arena_alloc(&arena, 48));
  assert_null(hf_arena_alloc(&arena, 17));
  assert_non_null(hf_arena_alloc(&arena, 16));
  assert_null(hf_arena_alloc(&arena, 1));
  hf_arena_deinit(&arena);
}

static void arena__refuses_sizes_that_overflow(void **state) {
  (void)state;
  struct hf_arena arena;
  hf_arena_init(&arena, SIZE_MAX);
  assert_null(hf_arena_alloc(&arena, SIZE_MAX));
  assert_null(hf_arena_alloc(&arena, SIZE_MAX - 20));
  assert_null(hf_arena_copy(&arena, (struct hf_str){"", SIZE_MAX}).ptr);
  hf_arena_deinit(&arena);
}

static void arena__copies_and_terminates(void **state) {
  (void)state;
  struct hf_arena arena;
  hf_arena_init(&arena, 4096);
  struct hf_str copy = hf_arena_copy(&arena, (struct hf_str){"hello world", 5});
  assert_int_equal(copy.len, 5);
  assert_string_equal(copy.ptr, "hello");
  struct hf_str empty = hf_arena_copy(&arena, (struct hf_str){NULL, 0});
  assert_string_equal(empty.ptr, "");
  hf_arena_deinit(&arena);
}

static void arena__prints(void **state) {
  (void)state;
  struct hf_arena arena;
  hf_arena_init(&arena, 4096);
  struct hf_str text = hf_arena_printf(&arena, "%s:%d", "port", 8080);
  assert_int_equal(text.len, 9);
  assert_string_equal(text.ptr, "port:8080");
  assert_null(hf_arena_printf(&arena, "%5000d", 1).ptr);
  hf_arena_deinit(&arena);
}

static void arena__survives_running_out_of_memory(void **state) {
  (void)state;
  struct hf_arena arena;
  hf_arena_init(&arena, 4096);
  hf_alloc_fail_after(0);
  assert_null(hf_arena_alloc(&arena, 8));
  assert_non_null(hf_arena_alloc(&arena, 8));
  assert_int_equal(arena.used, 16);
  hf_arena_deinit(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(arena__gives_zeroed_aligned_memory),
      cmocka_unit_test(arena__refuses_to_pass_its_maximum),
      cmocka_unit_test(arena__refuses_sizes_that_overflow),
      cmocka_unit_test(arena__copies_and_terminates),
      cmocka_unit_test(arena__prints),
      cmocka_unit_test(arena__survives_running_out_of_memory),
  };
  return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
