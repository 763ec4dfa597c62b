#include "base/alloc.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { AT_HAND_MAX = 1024 };

/* Fault injection is process-wide by nature; these two are the only mutable globals of the layer. */
static atomic_long fail_countdown = -1;
static atomic_ulong allocation_count;

static bool must_fail(void) {
  /* Two threads may count as one here: tests that count have one, and a locked addition would cost every allocation. */
  unsigned long count = atomic_load_explicit(&allocation_count, memory_order_relaxed);
  atomic_store_explicit(&allocation_count, count + 1, memory_order_relaxed);
  if (atomic_load_explicit(&fail_countdown, memory_order_relaxed) < 0)
    return false;
  return atomic_fetch_sub_explicit(&fail_countdown, 1, memory_order_relaxed) == 0;
}

void hf_alloc_fail_after(long n) {
  atomic_store(&fail_countdown, n);
}

unsigned long hf_alloc_count(void) {
  return atomic_load(&allocation_count);
}

void *hf_malloc(size_t size) {
  return must_fail() ? NULL : malloc(size);
}

/* glibc's calloc passes by the blocks that free() keeps at hand (before 2.41), its malloc does not. What is larger may
 * come from the kernel, and be zero already. */
void *hf_calloc(size_t count, size_t size) {
  if (must_fail())
    return NULL;
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes) || bytes > AT_HAND_MAX)
    return calloc(count, size);
  void *block = malloc(bytes);
  return block ? memset(block, 0, bytes) : NULL;
}

void *hf_realloc(void *ptr, size_t size) {
  return must_fail() ? NULL : realloc(ptr, size);
}

void hf_free(void *ptr) {
  free(ptr);
}

char *hf_strndup(const char *bytes, size_t len) {
  if (len == SIZE_MAX)
    return NULL;
  char *copy = hf_malloc(len + 1);
  if (!copy)
    return NULL;
  if (len)
    memcpy(copy, bytes, len);
  copy[len] = '\0';
  return copy;
}

char *hf_concat(const char *a, const char *b) {
  size_t at = strlen(a);
  size_t end = at + strlen(b);
  char *text = hf_malloc(end + 1);
  if (!text)
    return NULL;
  memcpy(text, a, at);
  memcpy(text + at, b, end - at);
  text[end] = '\0';
  return text;
}

void hf_free_pointer(void *pointer_to_pointer) {
  void **pointer = pointer_to_pointer;
  hf_free(*pointer);
  *pointer = NULL;
}
