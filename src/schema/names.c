#include "schema/names.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/map.h"
#include "schema/vec.h"

/* Odd constants with no pattern in their bits (digits of the golden ratio and of the square root of two). */
static const uint64_t MIX_A = 0x9e3779b97f4a7c15U, MIX_B = 0x6a09e667f3bcc909U;

void hf_member_names_init(struct hf_member_names *names) {
  *names = (struct hf_member_names){.key = hf_map_hash("schema", strlen("schema"))};
}

void hf_member_names_deinit(struct hf_member_names *names) {
  hf_free(names->entries);
  hf_free(names->slots);
}

static uint64_t fold(uint64_t a, uint64_t b) {
  unsigned __int128 product = (unsigned __int128)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t read8(const char *p) {
  uint64_t value;
  memcpy(&value, p, sizeof value);
  return value;
}

static uint64_t read4(const char *p) {
  uint32_t value;
  memcpy(&value, p, sizeof value);
  return value;
}

/* Up to eight bytes, so that different texts of one length give different numbers. */
static uint64_t read_few(const char *p, size_t len) {
  if (len >= 4)
    return read4(p) << 32 | read4(p + len - 4);
  if (len == 0)
    return 0;
  return (uint64_t)(unsigned char)p[0] << 16 | (uint64_t)(unsigned char)p[len / 2] << 8 | (unsigned char)p[len - 1];
}

static uint32_t hash_of(uint64_t key, struct hf_str text) {
  const char *p = text.ptr;
  size_t len = text.len;
  uint64_t hash = key;
  for (; len > 16; len -= 16, p += 16)
    hash = fold(read8(p) ^ hash ^ MIX_A, read8(p + 8) ^ key);
  uint64_t low = len > 8 ? read8(p) : read_few(p, len), high = len > 8 ? read8(p + len - 8) : 0;
  hash = fold(low ^ hash ^ MIX_A, high ^ key ^ MIX_B);
  return (uint32_t)fold(hash ^ text.len, key ^ MIX_A);
}

int hf_member_names_begin(struct hf_member_names *names, uint32_t max, struct hf_member_table *ret_table) {
  uint32_t size = 2;
  while (size < max * 2)
    size *= 2;
  if (!hf_vec_room((void **)&names->entries, &names->entry_cap, names->entry_count, max, sizeof *names->entries) ||
      !hf_vec_room((void **)&names->slots, &names->slot_cap, names->slot_count, size, sizeof *names->slots))
    return HF_ERR_NOMEM;
  memset(names->slots + names->slot_count, 0, size * sizeof *names->slots);
  *ret_table = (struct hf_member_table){.first = names->entry_count, .slots = names->slot_count, .mask = size - 1};
  names->slot_count += size;
  return 0;
}

static struct hf_member_slot *find_slot(const struct hf_member_names *names, const struct hf_member_table *table,
                                        struct hf_str text, uint32_t hash) {
  struct hf_member_slot *slots = names->slots + table->slots;
  const struct hf_member_name *entries = names->entries ? names->entries + table->first : NULL;
  uint32_t at = hash & table->mask;
  while (slots[at].entry != 0 && (slots[at].hash != hash || !hf_str_equal(entries[slots[at].entry - 1].text, text)))
    at = (at + 1) & table->mask;
  return &slots[at];
}

struct hf_member_name *hf_member_names_add(struct hf_member_names *names, struct hf_member_table *table,
                                           struct hf_str text) {
  uint32_t hash = hash_of(names->key, text);
  struct hf_member_slot *slot = find_slot(names, table, text, hash);
  if (slot->entry == 0) {
    *slot = (struct hf_member_slot){hash, ++table->count};
    names->entries[names->entry_count++] = (struct hf_member_name){text, HF_NONE, 0};
  }
  return &names->entries[table->first + slot->entry - 1];
}

const struct hf_member_name *hf_member_names_find(const struct hf_member_names *names,
                                                  const struct hf_member_table *table, struct hf_str text) {
  const struct hf_member_slot *slot = find_slot(names, table, text, hash_of(names->key, text));
  return slot->entry == 0 ? NULL : &names->entries[table->first + slot->entry - 1];
}
