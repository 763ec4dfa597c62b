#include "base/spare.h"

#include "base/alloc.h"

#include <string.h>

#ifdef __SANITIZE_ADDRESS__
static const size_t kept_max = 0;
#else
static const size_t kept_max = 32;
#endif

/* Each block that is kept begins with a pointer to the next. */
static void *next_of(const void *block) {
  void *next;
  memcpy(&next, block, sizeof next);
  return next;
}

void *hf_spare_take(struct hf_spare *spare, size_t size) {
  void *block = spare->first;
  if (!block)
    return hf_malloc(size);
  spare->first = next_of(block);
  spare->count--;
  return block;
}

void hf_spare_give(struct hf_spare *spare, void *block) {
  if (!block)
    return;
  if (spare->count >= kept_max) {
    hf_free(block);
    return;
  }
  memcpy(block, &spare->first, sizeof spare->first);
  spare->first = block;
  spare->count++;
}

void hf_spare_deinit(struct hf_spare *spare) {
  while (spare->first) {
    void *block = spare->first;
    spare->first = next_of(block);
    hf_free(block);
  }
  spare->count = 0;
}
