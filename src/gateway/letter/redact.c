#include "gateway/letter/redact.h"

#include "json/pointer.h"
#include "json/scan.h"
#include "json/value.h"

enum { NAME_MAX_LEN = 256, SECRET = 1 << 7 /* beside enum hf_json_flag, in our own tape */ };

static const struct hf_str usual[] = {
    {"*token*", 7},        {"*secret*", 8},  {"*password*", 10}, {"*passwd*", 8},
    {"authorization", 13}, {"*api_key*", 9}, {"*apikey*", 8},    {"*private_key*", 13},
};

static char fold(char c) {
  if (c >= 'A' && c <= 'Z')
    return (char)(c - 'A' + 'a');
  return c == '-' ? '_' : c;
}

/* A name too long to be compared counts as a secret's. */
static bool folded(struct hf_str text, char fold_into[NAME_MAX_LEN], struct hf_str *ret_folded) {
  if (text.len > NAME_MAX_LEN)
    return false;
  for (size_t i = 0; i < text.len; i++)
    fold_into[i] = fold(text.ptr[i]);
  *ret_folded = (struct hf_str){fold_into, text.len};
  return true;
}

/* A name with a star in it is as good as a pattern, so it is redacted rather too often than too rarely. */
static bool matches(struct hf_str pattern, struct hf_str folded_name) {
  char space[NAME_MAX_LEN];
  struct hf_str folded_pattern;
  return folded(pattern, space, &folded_pattern) && hf_pattern_overlap(folded_pattern, folded_name);
}

static bool is_pointer(struct hf_str secret) {
  return secret.len > 0 && secret.ptr[0] == '/';
}

static bool is_secret(struct hf_str name, const struct hf_strings *secrets) {
  char space[NAME_MAX_LEN];
  struct hf_str folded_name;
  if (!folded(name, space, &folded_name))
    return true;
  for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++)
    if (matches(usual[i], folded_name))
      return true;
  for (size_t i = 0; secrets && i < secrets->count; i++)
    if (!is_pointer(secrets->item[i]) && matches(secrets->item[i], folded_name))
      return true;
  return false;
}

static int mark_members(const struct hf_json_scan *scan, struct hf_str raw, const struct hf_strings *secrets) {
  const struct hf_json_doc doc = hf_json_doc(raw.ptr, scan);
  struct hf_buf name;
  hf_buf_init(&name, raw.len + 4);
  int r = 0;
  for (uint32_t at = 0; at < scan->count && r == 0; at++) {
    if (hf_json_type(&doc, at) != HF_JSON_OBJECT)
      continue;
    struct hf_json_iter iter = hf_json_iter(&doc, at);
    uint32_t key;
    uint32_t value;
    while (r == 0 && hf_json_next(&doc, &iter, &key, &value)) {
      hf_buf_reset(&name, name.max);
      r = hf_json_unescape(hf_json_span(&doc, key), &name);
      if (r == 0 && is_secret(hf_buf_str(&name), secrets))
        scan->nodes[value].flags |= SECRET;
    }
  }
  hf_buf_deinit(&name);
  return r;
}

static int mark_pointers(const struct hf_json_scan *scan, struct hf_str raw, const struct hf_strings *secrets) {
  for (size_t i = 0; secrets && i < secrets->count; i++) {
    struct hf_str value;
    int r = is_pointer(secrets->item[i]) ? hf_json_pointer(raw, secrets->item[i], &value) : HF_ERR_NOTFOUND;
    if (r == HF_ERR_NOTFOUND || r == HF_ERR_INVALID)
      continue;
    if (r < 0)
      return r;
    const size_t start = (size_t)(value.ptr - raw.ptr);
    for (uint32_t at = 0; at < scan->count; at++)
      if (scan->nodes[at].start == start)
        scan->nodes[at].flags |= SECRET;
  }
  return 0;
}

static int write_rest(const struct hf_json_scan *scan, struct hf_str raw, struct hf_buf *out, bool *ret_changed) {
  size_t done = 0;
  int r = 0;
  bool changed = false;
  for (uint32_t at = 0; at < scan->count && r == 0;) {
    const struct hf_json_node *node = &scan->nodes[at];
    if (!(node->flags & SECRET)) {
      at++;
      continue;
    }
    r = hf_buf_append(out, raw.ptr + done, node->start - done);
    if (r == 0)
      r = hf_buf_append_str(out, HF_STR("\"[redacted]\""));
    done = node->end;
    at = node->next;
    changed = true;
  }
  if (ret_changed)
    *ret_changed = changed;
  return r == 0 ? hf_buf_append(out, raw.ptr + done, raw.len - done) : r;
}

int hf_redact(struct hf_str raw, const struct hf_strings *secrets, struct hf_buf *out, bool *ret_changed) {
  const struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  int r = hf_json_scan_feed(&scan, raw.ptr, raw.len, true);
  if (r == 0)
    r = mark_members(&scan, raw, secrets);
  if (r == 0)
    r = mark_pointers(&scan, raw, secrets);
  if (r == 0)
    r = write_rest(&scan, raw, out, ret_changed);
  hf_json_scan_deinit(&scan);
  return r;
}
