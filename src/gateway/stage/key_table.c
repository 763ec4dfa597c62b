#include "gateway/stage/key_table.h"

#include "base/alloc.h"
#include "gateway/gateway.h"

static struct hf_key_entry *entry_of(struct hf_list *link) {
  return HF_CONTAINER_OF(link, struct hf_key_entry, link);
}

void hf_keys_init(struct hf_keys *keys, struct hf_gateway *gateway) {
  keys->gateway = gateway;
  keys->result_bytes = 0;
  hf_map_init(&keys->by_id, HF_KEYS_MAX);
  hf_map_init(&keys->by_round, HF_KEYS_MAX);
  hf_list_init(&keys->order);
}

/* What a round is found by: whoever answers the question brings its state and the same arguments. */
static void round_key(const struct hf_fingerprint *fingerprint, uint64_t state,
                      char text[HF_FINGERPRINT_LEN + sizeof(uint64_t)]) {
  memcpy(text, fingerprint->byte, HF_FINGERPRINT_LEN);
  memcpy(text + HF_FINGERPRINT_LEN, &state, sizeof state);
}

void hf_keys_close_round(struct hf_key_entry *entry) {
  char text[HF_FINGERPRINT_LEN + sizeof(uint64_t)];
  round_key(&entry->fingerprint, entry->round, text);
  struct hf_str key = {text, sizeof text};
  if (entry->in_round && hf_map_get(&entry->keys->by_round, key) == entry)
    (void)hf_map_remove(&entry->keys->by_round, key);
  entry->in_round = false;
}

static void drop_result(struct hf_key_entry *entry) {
  entry->keys->result_bytes -= entry->result.len;
  hf_free((void *)(uintptr_t)entry->result.ptr);
  entry->result = (struct hf_str){NULL, 0};
}

void hf_keys_drop(struct hf_key_entry *entry) {
  struct hf_keys *keys = entry->keys;
  hf_keys_close_round(entry);
  drop_result(entry);
  if (entry->store_waits)
    keys->gateway->store->ops->forget(keys->gateway->store, &entry->noted);
  hf_list_remove(&entry->link);
  (void)hf_map_remove(&keys->by_id, (struct hf_str){entry->id, entry->id_len});
  hf_free(entry);
}

void hf_keys_deinit(struct hf_keys *keys) {
  while (!hf_list_empty(&keys->order))
    hf_keys_drop(entry_of(keys->order.next));
  hf_map_deinit(&keys->by_id);
  hf_map_deinit(&keys->by_round);
}

static int append_part(struct hf_buf *id, struct hf_str part) {
  int r = hf_buf_append_int(id, (int64_t)part.len);
  if (r == 0)
    r = hf_buf_append_str(id, HF_STR(":"));
  return r < 0 ? r : hf_buf_append_str(id, part);
}

/* The key stands last, so that it can be found in it. */
int hf_keys_write_id(struct hf_buf *id, struct hf_str principal, struct hf_str server, struct hf_str tool,
                     struct hf_str key) {
  int r = append_part(id, principal);
  if (r == 0)
    r = append_part(id, server);
  if (r == 0)
    r = append_part(id, tool);
  return r < 0 ? r : append_part(id, key);
}

struct hf_key_entry *hf_keys_find(struct hf_keys *keys, struct hf_str id) {
  struct hf_key_entry *entry = hf_map_get(&keys->by_id, id);
  if (entry && entry->expires_ms <= keys->gateway->loop->wall_ms) {
    hf_keys_drop(entry);
    entry = NULL;
  }
  return entry;
}

struct hf_key_entry *hf_keys_add(struct hf_keys *keys, struct hf_str id, size_t key_len) {
  if (keys->by_id.len >= HF_KEYS_MAX)
    hf_keys_drop(entry_of(keys->order.next));
  struct hf_key_entry *entry = hf_calloc(1, sizeof *entry + id.len);
  if (!entry)
    return NULL;
  memcpy(entry->id, id.ptr, id.len);
  entry->id_len = id.len;
  entry->key = (struct hf_str){entry->id + id.len - key_len, key_len};
  entry->keys = keys;
  if (hf_map_put(&keys->by_id, id, entry) < 0) {
    hf_free(entry);
    return NULL;
  }
  hf_list_push_back(&keys->order, &entry->link);
  return entry;
}

void hf_keys_record(struct hf_key_entry *entry, struct hf_str result, int64_t at_ms) {
  struct hf_keys *keys = entry->keys;
  if (result.len > HF_KEY_RESULT_MAX)
    return;
  drop_result(entry);
  for (struct hf_list *it = keys->order.next;
       it != &keys->order && keys->result_bytes + result.len > HF_KEY_RESULTS_BYTES; it = it->next)
    drop_result(entry_of(it));
  char *copy = hf_strndup(result.ptr, result.len);
  if (!copy)
    return;
  entry->result = (struct hf_str){copy, result.len};
  entry->result_ms = at_ms;
  keys->result_bytes += result.len;
}

void hf_keys_open_round(struct hf_key_entry *entry, uint64_t state) {
  hf_keys_close_round(entry);
  char text[HF_FINGERPRINT_LEN + sizeof(uint64_t)];
  round_key(&entry->fingerprint, state, text);
  entry->round = state;
  entry->in_round = hf_map_put(&entry->keys->by_round, (struct hf_str){text, sizeof text}, entry) == 0;
}

struct hf_key_entry *hf_keys_find_round(const struct hf_keys *keys, const struct hf_fingerprint *fingerprint,
                                        uint64_t state) {
  char text[HF_FINGERPRINT_LEN + sizeof(uint64_t)];
  round_key(fingerprint, state, text);
  struct hf_key_entry *entry = hf_map_get(&keys->by_round, (struct hf_str){text, sizeof text});
  return entry && entry->expires_ms > keys->gateway->loop->wall_ms ? entry : NULL;
}
