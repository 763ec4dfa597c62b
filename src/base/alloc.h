/* The one way to the heap, so that a test can make the nth allocation fail.
 *
 * Out of memory is an error that callers handle and tests inject, never an abort. */
#ifndef HF_BASE_ALLOC_H
#define HF_BASE_ALLOC_H

#include <stddef.h>

/* All return owned memory or NULL. hf_calloc zeroes and checks the product for overflow. */
void *hf_malloc(size_t size);
void *hf_calloc(size_t count, size_t size);
void *hf_realloc(void *ptr, size_t size);
void hf_free(void *ptr);

/* Copies `len` bytes and adds a NUL. Returns owned, or NULL. */
char *hf_strndup(const char *bytes, size_t len);

/* One text behind the other. Returns owned, or NULL. */
char *hf_concat(const char *a, const char *b);

/* For tests: the allocation after `n` further ones fails, once; -1 turns it off. */
void hf_alloc_fail_after(long n);

/* For tests: how many allocations were made since the start. */
unsigned long hf_alloc_count(void);

/* Frees at scope end: `HF_CLEANUP_FREE char *text = NULL;` */
void hf_free_pointer(void *pointer_to_pointer);
#define HF_CLEANUP_FREE __attribute__((cleanup(hf_free_pointer)))

#endif
