/* Blocks of one size that are kept for the next one instead of going back to the heap: for what every call needs and
 * malloc does not keep at hand (glibc: beyond 1 KiB). Bounded. Under AddressSanitizer nothing is kept, so that it sees
 * who uses what was given back. */
#ifndef HF_BASE_SPARE_H
#define HF_BASE_SPARE_H

#include <stddef.h>

/* All zero is an empty one. */
struct hf_spare {
  void *first;
  unsigned count;
};

/* A block whose content is undefined, owned, or NULL. `size` is the same in all calls with this `spare`, and at least
 * that of a pointer. */
void *hf_spare_take(struct hf_spare *spare, size_t size);

/* Takes the block; accepts NULL. */
void hf_spare_give(struct hf_spare *spare, void *block);

/* Frees what is kept. */
void hf_spare_deinit(struct hf_spare *spare);

#endif
