#include "upstream/secrets.h"

#include "base/error.h"

static const char stars[] = "***";
enum { STARS_LEN = 3, CUT_MIN = 3 }; /* fewer bytes of a secret tell nothing */

/* Calls for each secret in `value`; without `to` it only counts. */
static size_t split(struct hf_str value, struct hf_str *to) {
  size_t count = 0;
  while (value.len) {
    const char *end = memchr(value.ptr, '\n', value.len);
    struct hf_str line = {value.ptr, end ? (size_t)(end - value.ptr) : value.len};
    value = (struct hf_str){line.ptr + line.len, value.len - line.len};
    if (end)
      value = (struct hf_str){value.ptr + 1, value.len - 1};
    line = hf_str_trim(line);
    if (line.len < HF_SECRET_MIN)
      continue;
    if (to)
      to[count] = line;
    count++;
  }
  return count;
}

static struct hf_str value_of(struct hf_str pair) {
  const char *equals = memchr(pair.ptr, '=', pair.len);
  size_t skip = equals ? (size_t)(equals - pair.ptr) + 1 : pair.len;
  return (struct hf_str){pair.ptr + skip, pair.len - skip};
}

int hf_secrets_init(struct hf_secrets *secrets, struct hf_arena *arena, const struct hf_strings *env) {
  *secrets = (struct hf_secrets){0};
  size_t count = 0;
  for (size_t i = 0; i < env->count; i++)
    count += split(value_of(env->item[i]), NULL);
  if (!count)
    return 0;
  secrets->item = hf_arena_alloc(arena, count * sizeof *secrets->item);
  if (!secrets->item)
    return HF_ERR_NOMEM;
  for (size_t i = 0; i < env->count; i++)
    secrets->count += split(value_of(env->item[i]), secrets->item + secrets->count);
  return 0;
}

/* The length of the longest secret at the start of `text`, or 0. */
static size_t match(const struct hf_secrets *secrets, const char *text, size_t len) {
  size_t longest = 0;
  for (size_t i = 0; i < secrets->count; i++) {
    struct hf_str secret = secrets->item[i];
    if (secret.len > longest && secret.len <= len && *secret.ptr == *text && memcmp(secret.ptr, text, secret.len) == 0)
      longest = secret.len;
  }
  return longest;
}

/* How much of the end of `text` may be the start of a secret whose rest was cut off. */
static size_t begun(const struct hf_secrets *secrets, const char *text, size_t len) {
  size_t most = 0;
  for (size_t i = 0; i < secrets->count; i++) {
    struct hf_str secret = secrets->item[i];
    for (size_t n = secret.len - 1 < len ? secret.len - 1 : len; n > most && n >= CUT_MIN; n--)
      if (memcmp(text + len - n, secret.ptr, n) == 0)
        most = n;
  }
  return most;
}

size_t hf_secrets_hide(const struct hf_secrets *secrets, char *text, size_t len, bool cut) {
  if (!secrets->count)
    return len;
  if (cut)
    len -= begun(secrets, text, len);
  size_t to = 0;
  for (size_t from = 0; from < len;) {
    size_t n = match(secrets, text + from, len - from);
    if (!n) {
      text[to++] = text[from++];
      continue;
    }
    memcpy(text + to, stars, STARS_LEN);
    to += STARS_LEN;
    from += n;
  }
  return to;
}
