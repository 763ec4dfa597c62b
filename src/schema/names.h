/* Names of members, or strings of an enum, found by hash.
 *
 * All tables of a program share two arrays. Hashes are keyed with a secret of the process, so that neither a schema nor
 * a value can be made whose names collide. */
#ifndef HF_SCHEMA_NAMES_H
#define HF_SCHEMA_NAMES_H

#include "base/str.h"

#include <stdint.h>

struct hf_member_name {
  struct hf_str text; /* what it means, unescaped. Borrowed */
  uint32_t value;     /* the table's owner knows what; HF_NONE if nothing */
  uint32_t required;  /* node of the string in `required`; 0: it is not */
};

struct hf_member_slot {
  uint32_t hash;
  uint32_t entry; /* counted from 1; 0: free */
};

struct hf_member_names {
  uint64_t key;
  struct hf_member_name *entries; /* owned */
  struct hf_member_slot *slots;   /* owned */
  uint32_t entry_count, entry_cap;
  uint32_t slot_count, slot_cap;
};

/* One table within them. */
struct hf_member_table {
  uint32_t first; /* of its entries */
  uint32_t count;
  uint32_t slots; /* its first slot */
  uint32_t mask;  /* how many slots, less one */
};

void hf_member_names_init(struct hf_member_names *names);
void hf_member_names_deinit(struct hf_member_names *names);

/* Begins a table that will have at most `max` names; it is the last one until the next begins. Returns 0 or
 * HF_ERR_NOMEM. */
int hf_member_names_begin(struct hf_member_names *names, uint32_t max, struct hf_member_table *ret_table);

/* The entry of `text` in the last table; a new one has neither value nor requirement. Never more than were announced.
 */
struct hf_member_name *hf_member_names_add(struct hf_member_names *names, struct hf_member_table *table,
                                           struct hf_str text);

/* The entry, or NULL. */
const struct hf_member_name *hf_member_names_find(const struct hf_member_names *names,
                                                  const struct hf_member_table *table, struct hf_str text);

#endif
