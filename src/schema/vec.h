/* Growable arrays whose items are named by index, and the index that names none. */
#ifndef HF_SCHEMA_VEC_H
#define HF_SCHEMA_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HF_NONE UINT32_MAX

/* Zeroed, it is empty. Whoever has it frees `at`. */
#define HF_VEC(type)                                                                                                   \
  struct {                                                                                                             \
    type *at;                                                                                                          \
    uint32_t count, cap;                                                                                               \
  }

/* Makes room for `extra` more in an array. Returns false when out of memory. */
bool hf_vec_room(void **io_items, uint32_t *io_cap, uint32_t count, uint32_t extra, size_t size);

/* Appends to a HF_VEC; false when out of memory. */
#define hf_vec_push(vec, ...)                                                                                          \
  (hf_vec_room((void **)&(vec)->at, &(vec)->cap, (vec)->count, 1, sizeof *(vec)->at) &&                                \
   ((vec)->at[(vec)->count++] = __VA_ARGS__, true))

#endif
