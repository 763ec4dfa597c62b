/* Memory that is freed all at once: one arena per call, or per configuration. */
#ifndef HF_BASE_ARENA_H
#define HF_BASE_ARENA_H

#include "base/str.h"

struct hf_arena_chunk;

struct hf_arena {
  struct hf_arena_chunk *chunks; /* newest first */
  size_t used;                   /* bytes handed out */
  size_t max;
};

void hf_arena_init(struct hf_arena *arena, size_t max);
void hf_arena_deinit(struct hf_arena *arena);

/* Returns zeroed memory aligned for any type, valid until _deinit; NULL when out of memory or past `max`. */
void *hf_arena_alloc(struct hf_arena *arena, size_t size);

/* Copies and NUL-terminates; an absent string becomes an empty one. Returns ptr NULL on failure. */
struct hf_str hf_arena_copy(struct hf_arena *arena, struct hf_str s);

/* Prints into the arena. Returns ptr NULL on failure. */
struct hf_str hf_arena_printf(struct hf_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
