#include "base/arena.h"

#include "base/alloc.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

struct hf_arena_chunk {
  struct hf_arena_chunk *next;
  size_t len;
  size_t cap;
  alignas(max_align_t) char data[];
};

/* The first chunk with its header stays below 1 KiB: malloc keeps blocks of that size at hand. */
enum { CHUNK_MIN = 976, CHUNK_MAX = 65536 };

void hf_arena_init(struct hf_arena *arena, size_t max) {
  *arena = (struct hf_arena){.max = max};
}

void hf_arena_deinit(struct hf_arena *arena) {
  struct hf_arena_chunk *chunk = arena->chunks;
  while (chunk) {
    struct hf_arena_chunk *next = chunk->next;
    hf_free(chunk);
    chunk = next;
  }
  arena->chunks = NULL;
  arena->used = 0;
}

static struct hf_arena_chunk *add_chunk(struct hf_arena *arena, size_t size) {
  size_t cap = arena->chunks ? arena->chunks->cap * 2 : CHUNK_MIN;
  if (cap > CHUNK_MAX)
    cap = CHUNK_MAX;
  if (cap < size)
    cap = size;
  size_t total;
  struct hf_arena_chunk *chunk = __builtin_add_overflow(sizeof *chunk, cap, &total) ? NULL : hf_malloc(total);
  if (!chunk)
    return NULL;
  *chunk = (struct hf_arena_chunk){.next = arena->chunks, .cap = cap};
  arena->chunks = chunk;
  return chunk;
}

void *hf_arena_alloc(struct hf_arena *arena, size_t size) {
  size_t rounded;
  if (__builtin_add_overflow(size, alignof(max_align_t) - 1, &rounded))
    return NULL;
  rounded &= ~(alignof(max_align_t) - 1);
  if (rounded > arena->max - arena->used)
    return NULL;

  struct hf_arena_chunk *chunk = arena->chunks;
  if (!chunk || chunk->cap - chunk->len < rounded) {
    chunk = add_chunk(arena, rounded);
    if (!chunk)
      return NULL;
  }
  void *ptr = chunk->data + chunk->len;
  chunk->len += rounded;
  arena->used += rounded;
  memset(ptr, 0, rounded);
  return ptr;
}

struct hf_str hf_arena_copy(struct hf_arena *arena, struct hf_str s) {
  char *copy = s.len < SIZE_MAX ? hf_arena_alloc(arena, s.len + 1) : NULL;
  if (!copy)
    return (struct hf_str){NULL, 0};
  if (s.len)
    memcpy(copy, s.ptr, s.len);
  return (struct hf_str){copy, s.len};
}

struct hf_str hf_arena_printf(struct hf_arena *arena, const char *format, ...) {
  va_list args;
  va_start(args, format);
  va_list again;
  va_copy(again, args);
  int n = vsnprintf(NULL, 0, format, args);
  va_end(args);

  struct hf_str s = {NULL, 0};
  char *text = n < 0 ? NULL : hf_arena_alloc(arena, (size_t)n + 1);
  if (text && vsnprintf(text, (size_t)n + 1, format, again) == n)
    s = (struct hf_str){text, (size_t)n};
  va_end(again);
  return s;
}
