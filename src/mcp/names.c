#include "mcp/names.h"

#include "base/alloc.h"
#include "base/error.h"

#include <stdint.h>

enum { HASH_LEN = 10, TRIES_MAX = 16, PART_MAX = 1024 };

static bool is_legal_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
}

static bool is_legal_text(struct hf_str s) {
  for (size_t i = 0; i < s.len; i++)
    if (!is_legal_char(s.ptr[i]))
      return false;
  return true;
}

bool hf_name_legal(struct hf_str name) {
  return name.len >= 1 && name.len <= HF_NAME_MAX && is_legal_text(name);
}

void hf_names_init(struct hf_names *names, size_t max) {
  hf_map_init(&names->by_exposed, max);
  hf_map_init(&names->by_pair, max);
}

/* An entry is one allocation: the struct, then its three texts. */
static void free_name(struct hf_name *name) {
  hf_free(name);
}

void hf_names_deinit(struct hf_names *names) {
  for (size_t i = 0; i < names->by_exposed.len; i++)
    free_name(names->by_exposed.entries[i].value);
  hf_map_deinit(&names->by_exposed);
  hf_map_deinit(&names->by_pair);
}

/* FNV-1a over both parts, then the finaliser of MurmurHash3. Not keyed: it must be the same on every start. */
static uint64_t hash_pair(struct hf_str server, struct hf_str original, unsigned salt) {
  uint64_t h = 0xcbf29ce484222325ULL + salt;
  for (size_t i = 0; i < server.len; i++)
    h = (h ^ (unsigned char)server.ptr[i]) * 0x100000001b3ULL;
  h = (h ^ 0x100) * 0x100000001b3ULL; /* no byte: keeps "a","bc" and "ab","c" apart */
  for (size_t i = 0; i < original.len; i++)
    h = (h ^ (unsigned char)original.ptr[i]) * 0x100000001b3ULL;
  h = (h ^ h >> 33) * 0xff51afd7ed558ccdULL;
  h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53ULL;
  return h ^ h >> 33;
}

struct text {
  char bytes[HF_NAME_MAX];
  size_t len;
};

/* Appends as much as fits below `max`; a run of illegal bytes (one CJK character is three) becomes one underscore. */
static void add_mapped(struct text *text, struct hf_str s, size_t max) {
  bool run = false;
  for (size_t i = 0; i < s.len && text->len < max; i++) {
    bool legal = is_legal_char(s.ptr[i]);
    if (legal || !run)
      text->bytes[text->len++] = legal ? s.ptr[i] : '_';
    run = !legal;
  }
}

static void add_hash(struct text *text, uint64_t hash) {
  static const char digits[] = "abcdefghijklmnopqrstuvwxyz234567";
  text->bytes[text->len++] = '_';
  for (int i = 0; i < HASH_LEN; i++, hash >>= 5)
    text->bytes[text->len++] = digits[hash & 31];
}

/* True if "server__original" says the pair and no other does. The separator must be the first "__" in it, so a server's
 * name neither contains nor may complete one. */
static bool is_plain_pair(struct hf_str server, struct hf_str original) {
  size_t len = server.ptr ? server.len + 2 + original.len : original.len;
  if (len > HF_NAME_MAX || !is_legal_text(original))
    return false;
  if (!server.ptr)
    return true;
  if (server.len == 0 || !is_legal_text(server) || server.ptr[server.len - 1] == '_')
    return false;
  for (size_t i = 0; i + 1 < server.len; i++)
    if (server.ptr[i] == '_' && server.ptr[i + 1] == '_')
      return false;
  return true;
}

static void expose(struct text *text, struct hf_str server, struct hf_str original, unsigned salt) {
  enum { SERVER_MAX = 24 };
  bool plain = salt == 0 && is_plain_pair(server, original);
  size_t max = plain ? HF_NAME_MAX : HF_NAME_MAX - 1 - HASH_LEN;
  text->len = 0;
  if (server.ptr) {
    add_mapped(text, server, plain ? max : SERVER_MAX);
    text->bytes[text->len++] = '_';
    text->bytes[text->len++] = '_';
  }
  add_mapped(text, original, max);
  if (!plain)
    add_hash(text, hash_pair(server, original, salt));
}

/* The key of the way back: server, NUL, original; a server that is absent differs from an empty one. */
static int pair_key(struct hf_str server, struct hf_str original, char *key, size_t *ret_len) {
  if (server.len > PART_MAX || original.len > PART_MAX)
    return HF_ERR_INVALID;
  size_t at = 0;
  key[at++] = server.ptr ? 's' : '-';
  if (server.ptr) {
    memcpy(key + at, server.ptr, server.len);
    at += server.len;
  }
  key[at++] = '\0';
  memcpy(key + at, original.ptr, original.len);
  *ret_len = at + original.len;
  return 0;
}

static char *put_text(char *at, struct hf_str s, struct hf_str *ret_text) {
  if (!s.ptr)
    return at;
  memcpy(at, s.ptr, s.len);
  at[s.len] = '\0';
  *ret_text = (struct hf_str){at, s.len};
  return at + s.len + 1;
}

static struct hf_name *new_name(struct hf_str exposed, struct hf_str server, struct hf_str original) {
  struct hf_name *name = hf_calloc(1, sizeof *name + exposed.len + server.len + original.len + 3);
  if (!name)
    return NULL;
  char *at = (char *)(name + 1);
  at = put_text(at, exposed, &name->exposed);
  at = put_text(at, server, &name->server);
  put_text(at, original, &name->original);
  return name;
}

static int insert(struct hf_names *names, struct hf_str exposed, struct hf_str server, struct hf_str original,
                  struct hf_str key, struct hf_name **ret_name) {
  struct hf_name *name = new_name(exposed, server, original);
  if (!name)
    return HF_ERR_NOMEM;
  int r = hf_map_put(&names->by_pair, key, name);
  if (r == 0) {
    r = hf_map_put(&names->by_exposed, name->exposed, name);
    if (r < 0)
      hf_map_remove(&names->by_pair, key);
  }
  if (r < 0) {
    free_name(name);
    return r;
  }
  *ret_name = name;
  return 0;
}

int hf_names_add(struct hf_names *names, struct hf_str server, struct hf_str original, struct hf_name **ret_name) {
  char key[2 * PART_MAX + 2];
  size_t key_len;
  if (original.len == 0)
    return HF_ERR_INVALID;
  int r = pair_key(server, original, key, &key_len);
  if (r < 0)
    return r;
  struct hf_str pair = {key, key_len};
  struct hf_name *known = hf_map_get(&names->by_pair, pair);
  if (known) {
    *ret_name = known;
    return 0;
  }
  /* Only a name made to look like another's hash gets past the first try. */
  for (unsigned salt = 0; salt < TRIES_MAX; salt++) {
    struct text text;
    expose(&text, server, original, salt);
    struct hf_str exposed = {text.bytes, text.len};
    if (!hf_map_get(&names->by_exposed, exposed))
      return insert(names, exposed, server, original, pair, ret_name);
  }
  return HF_ERR_EXISTS;
}

struct hf_name *hf_names_find(const struct hf_names *names, struct hf_str exposed) {
  return hf_map_get(&names->by_exposed, exposed);
}

struct hf_name *hf_names_find_pair(const struct hf_names *names, struct hf_str server, struct hf_str original) {
  char key[2 * PART_MAX + 2];
  size_t key_len;
  if (original.len == 0 || pair_key(server, original, key, &key_len) < 0)
    return NULL;
  return hf_map_get(&names->by_pair, (struct hf_str){key, key_len});
}
