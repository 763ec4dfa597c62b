/* The idempotency keys that the gateway knows: with what each was sent first, and what came of it.
 *
 * Bounded in number, and in the bytes of results: the oldest go first, and the server still knows them. */
#ifndef HF_GATEWAY_STAGE_KEY_TABLE_H
#define HF_GATEWAY_STAGE_KEY_TABLE_H

#include "base/list.h"
#include "base/map.h"
#include "gateway/store.h"

enum {
  HF_KEYS_MAX = 16384,
  HF_KEY_RESULT_MAX = 1 << 20, /* larger results are not kept */
  HF_KEY_RESULTS_BYTES = 16 << 20,
  HF_KEY_CALL_MAX = 32,
};

struct hf_gateway;

struct hf_keys {
  struct hf_gateway *gateway;
  struct hf_map by_id;
  struct hf_map by_round;
  struct hf_list order; /* oldest first */
  size_t result_bytes;
};

struct hf_key_entry {
  struct hf_list link;
  struct hf_keys *keys;
  struct hf_fingerprint fingerprint; /* of the arguments as first sent */
  int64_t first_ms;
  int64_t expires_ms;
  bool given;     /* the caller's own; else it is kept only for a question's round */
  bool refused;   /* another gateway knows it, with other arguments */
  uint64_t round; /* state of the open question, hashed */
  bool in_round;
  struct hf_str result; /* raw, owned, or absent */
  int64_t result_ms;
  char call[HF_KEY_CALL_MAX]; /* who sent it first; empty: one before this process */
  struct hf_store_wait noted;
  bool store_waits;
  struct hf_str key; /* within `id` */
  size_t id_len;
  char id[];
};

void hf_keys_init(struct hf_keys *keys, struct hf_gateway *gateway);
void hf_keys_deinit(struct hf_keys *keys);

/* Appends what an entry is found by. */
int hf_keys_write_id(struct hf_buf *id, struct hf_str principal, struct hf_str server, struct hf_str tool,
                     struct hf_str key);

/* NULL if there is none that the server can still remember. */
struct hf_key_entry *hf_keys_find(struct hf_keys *keys, struct hf_str id);

/* Adds one, whose key is the end of its id. Returns NULL when out of memory. */
struct hf_key_entry *hf_keys_add(struct hf_keys *keys, struct hf_str id, size_t key_len);
void hf_keys_drop(struct hf_key_entry *entry);

/* Keeps a copy of a raw result, if there is room for it. */
void hf_keys_record(struct hf_key_entry *entry, struct hf_str result, int64_t at_ms);

/* The server asks something before it goes on: who answers brings the same arguments and `state` (hashed) with them. */
void hf_keys_open_round(struct hf_key_entry *entry, uint64_t state);
void hf_keys_close_round(struct hf_key_entry *entry);
struct hf_key_entry *hf_keys_find_round(const struct hf_keys *keys, const struct hf_fingerprint *fingerprint,
                                        uint64_t state);

#endif
