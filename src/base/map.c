#include "base/map.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/random.h"

#include <pthread.h>

enum { MAP_MIN_SLOTS = 8 };

static uint64_t secret[2];
static pthread_once_t secret_once = PTHREAD_ONCE_INIT;

/* Without a secret the map still works; only the defence against chosen collisions is gone. */
static void draw_secret(void) {
  if (hf_random_secret(secret, sizeof secret) < 0)
    secret[0] = secret[1] = 0x9e3779b97f4a7c15ULL;
}

static uint64_t rotate_left(uint64_t x, int k) {
  return (x << k) | (x >> (64 - k));
}

static void sip_round(uint64_t v[4]) {
  v[0] += v[1];
  v[1] = rotate_left(v[1], 13) ^ v[0];
  v[0] = rotate_left(v[0], 32);
  v[2] += v[3];
  v[3] = rotate_left(v[3], 16) ^ v[2];
  v[0] += v[3];
  v[3] = rotate_left(v[3], 21) ^ v[0];
  v[2] += v[1];
  v[1] = rotate_left(v[1], 17) ^ v[2];
  v[2] = rotate_left(v[2], 32);
}

uint64_t hf_map_hash(const void *bytes, size_t len) {
  pthread_once(&secret_once, draw_secret);
  uint64_t v[4] = {secret[0] ^ 0x736f6d6570736575ULL, secret[1] ^ 0x646f72616e646f6dULL,
                   secret[0] ^ 0x6c7967656e657261ULL, secret[1] ^ 0x7465646279746573ULL};
  const unsigned char *p = bytes;
  size_t rest = len;
  for (; rest >= 8; rest -= 8, p += 8) {
    uint64_t m;
    memcpy(&m, p, 8);
    v[3] ^= m;
    sip_round(v);
    v[0] ^= m;
  }
  uint64_t last = (uint64_t)len << 56;
  for (size_t i = 0; i < rest; i++)
    last |= (uint64_t)p[i] << (8 * i);
  v[3] ^= last;
  sip_round(v);
  v[0] ^= last;
  v[2] ^= 0xff;
  for (int i = 0; i < 3; i++)
    sip_round(v);
  return v[0] ^ v[1] ^ v[2] ^ v[3];
}

void hf_map_init(struct hf_map *map, size_t max) {
  *map = (struct hf_map){.max = max};
}

void hf_map_deinit(struct hf_map *map) {
  for (size_t i = 0; i < map->len; i++)
    hf_free(map->entries[i].key);
  hf_free(map->entries);
  hf_free(map->slots);
  hf_map_init(map, map->max);
}

/* Returns the slot that holds the key, or the free one where it would go. The table is never full. */
static size_t find_slot(const struct hf_map *map, struct hf_str key, uint64_t hash) {
  size_t mask = map->slot_count - 1;
  for (size_t slot = hash & mask;; slot = (slot + 1) & mask) {
    uint32_t index = map->slots[slot];
    if (index == 0)
      return slot;
    const struct hf_map_entry *entry = &map->entries[index - 1];
    if (entry->hash == hash && hf_str_equal((struct hf_str){entry->key, entry->key_len}, key))
      return slot;
  }
}

void *hf_map_get(const struct hf_map *map, struct hf_str key) {
  if (map->len == 0)
    return NULL;
  uint32_t index = map->slots[find_slot(map, key, hf_map_hash(key.ptr, key.len))];
  return index ? map->entries[index - 1].value : NULL;
}

static int grow(struct hf_map *map) {
  size_t slot_count = map->slot_count ? map->slot_count * 2 : MAP_MIN_SLOTS;
  size_t cap = slot_count / 2;
  uint32_t *slots = hf_calloc(slot_count, sizeof *slots);
  if (!slots)
    return HF_ERR_NOMEM;
  struct hf_map_entry *entries = hf_realloc(map->entries, cap * sizeof *entries);
  if (!entries) {
    hf_free(slots);
    return HF_ERR_NOMEM;
  }
  hf_free(map->slots);
  map->slots = slots;
  map->entries = entries;
  map->slot_count = slot_count;
  map->cap = cap;
  for (size_t i = 0; i < map->len; i++) {
    size_t slot = entries[i].hash & (slot_count - 1);
    while (slots[slot])
      slot = (slot + 1) & (slot_count - 1);
    slots[slot] = (uint32_t)(i + 1);
  }
  return 0;
}

int hf_map_put(struct hf_map *map, struct hf_str key, void *value) {
  uint64_t hash = hf_map_hash(key.ptr, key.len);
  if (map->len) {
    uint32_t index = map->slots[find_slot(map, key, hash)];
    if (index) {
      map->entries[index - 1].value = value;
      return 0;
    }
  }
  if (map->len >= map->max || map->len >= UINT32_MAX / 4)
    return HF_ERR_LIMIT;
  if (map->len == map->cap && grow(map) < 0)
    return HF_ERR_NOMEM;

  char *copy = hf_strndup(key.ptr, key.len);
  if (!copy)
    return HF_ERR_NOMEM;
  size_t slot = find_slot(map, key, hash);
  map->entries[map->len++] = (struct hf_map_entry){copy, key.len, hash, value};
  map->slots[slot] = (uint32_t)map->len;
  return 0;
}

/* Closes the gap at `hole` by moving back every later entry of the run whose home lies at or before it. */
static void shift_back(struct hf_map *map, size_t hole) {
  size_t mask = map->slot_count - 1;
  for (size_t slot = (hole + 1) & mask; map->slots[slot]; slot = (slot + 1) & mask) {
    size_t home = map->entries[map->slots[slot] - 1].hash & mask;
    if (((slot - home) & mask) >= ((slot - hole) & mask)) {
      map->slots[hole] = map->slots[slot];
      hole = slot;
    }
  }
  map->slots[hole] = 0;
}

void *hf_map_remove(struct hf_map *map, struct hf_str key) {
  if (map->len == 0)
    return NULL;
  size_t slot = find_slot(map, key, hf_map_hash(key.ptr, key.len));
  uint32_t index = map->slots[slot];
  if (index == 0)
    return NULL;

  struct hf_map_entry *entry = &map->entries[index - 1];
  void *value = entry->value;
  hf_free(entry->key);
  shift_back(map, slot);

  struct hf_map_entry *last = &map->entries[--map->len];
  if (last != entry) {
    size_t last_slot = last->hash & (map->slot_count - 1);
    while (map->slots[last_slot] != map->len + 1)
      last_slot = (last_slot + 1) & (map->slot_count - 1);
    *entry = *last;
    map->slots[last_slot] = index;
  }
  return value;
}
