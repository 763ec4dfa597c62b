/* A hash map from byte strings to pointers.
 *
 * Keys are copied; values are the caller's. Hashing is SipHash-1-3 with a secret per process, so that names from
 * outside cannot be chosen to collide. Insertion order is kept by iteration unless elements were removed. */
#ifndef HF_BASE_MAP_H
#define HF_BASE_MAP_H

#include "base/str.h"

#include <stdint.h>

struct hf_map_entry {
  char *key; /* owned, NUL-terminated */
  size_t key_len;
  uint64_t hash;
  void *value;
};

struct hf_map {
  struct hf_map_entry *entries; /* dense */
  uint32_t *slots;              /* index into entries plus one; 0 is free */
  size_t len;
  size_t cap;
  size_t slot_count;
  size_t max;
};

/* `max` is the most entries it may hold. */
void hf_map_init(struct hf_map *map, size_t max);

/* Frees keys and table; the values are the caller's to free before. */
void hf_map_deinit(struct hf_map *map);

/* Returns the value or NULL. */
void *hf_map_get(const struct hf_map *map, struct hf_str key);

/* Sets or replaces. Returns 0, HF_ERR_LIMIT or HF_ERR_NOMEM. `value` is not NULL. */
int hf_map_put(struct hf_map *map, struct hf_str key, void *value);

/* Removes and returns the value, or NULL. The last entry takes the place of the removed one. */
void *hf_map_remove(struct hf_map *map, struct hf_str key);

/* Keyed SipHash-1-3 with the process secret. */
uint64_t hf_map_hash(const void *bytes, size_t len);

#endif
