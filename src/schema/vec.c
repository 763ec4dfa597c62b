#include "schema/vec.h"

#include "base/alloc.h"

enum { FIRST_CAP = 16 };

bool hf_vec_room(void **io_items, uint32_t *io_cap, uint32_t count, uint32_t extra, size_t size) {
  uint64_t need = (uint64_t)count + extra;
  if (need <= *io_cap)
    return true;
  uint64_t cap = *io_cap ? *io_cap * 2ULL : FIRST_CAP;
  if (cap < need)
    cap = need;
  if (cap > UINT32_MAX)
    return false;
  void *items = hf_realloc(*io_items, cap * size);
  if (!items)
    return false;
  *io_items = items;
  *io_cap = (uint32_t)cap;
  return true;
}
