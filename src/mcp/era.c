#include "mcp/era.h"

#include "base/error.h"

static const struct hf_str versions[HF_VERSION_COUNT] = {
    [HF_VERSION_UNKNOWN] = {"", 0},
    [HF_VERSION_2024_11_05] = {"2024-11-05", 10},
    [HF_VERSION_2025_03_26] = {"2025-03-26", 10},
    [HF_VERSION_2025_06_18] = {"2025-06-18", 10},
    [HF_VERSION_2025_11_25] = {"2025-11-25", 10},
    [HF_VERSION_2026_07_28] = {"2026-07-28", 10},
};

enum hf_version hf_version_parse(struct hf_str text) {
  for (int v = HF_VERSION_UNKNOWN + 1; v < HF_VERSION_COUNT; v++)
    if (hf_str_equal(versions[v], text))
      return (enum hf_version)v;
  return HF_VERSION_UNKNOWN;
}

struct hf_str hf_version_text(enum hf_version version) {
  return versions[version];
}

enum hf_era hf_version_era(enum hf_version version) {
  return version >= HF_VERSION_2026_07_28 ? HF_ERA_MODERN : HF_ERA_LEGACY;
}

static bool is_date(struct hf_str text) {
  static const char shape[] = "dddd-dd-dd";
  if (text.len != sizeof shape - 1)
    return false;
  for (size_t i = 0; i < text.len; i++)
    if (shape[i] == '-' ? text.ptr[i] != '-' : text.ptr[i] < '0' || text.ptr[i] > '9')
      return false;
  return true;
}

enum hf_version hf_version_negotiate(struct hf_str asked) {
  if (!is_date(asked))
    return HF_VERSION_LEGACY_NEWEST;
  /* Dates of one shape compare as text. */
  int v = HF_VERSION_LEGACY_NEWEST;
  while (v > HF_VERSION_UNKNOWN + 1 && memcmp(versions[v].ptr, asked.ptr, asked.len) > 0)
    v--;
  return (enum hf_version)v;
}

static bool is_type(const struct hf_message *m, enum hf_field field, enum hf_json_type type) {
  return m->at[field] && hf_json_type(&m->doc, m->at[field]) == type;
}

static int read_modern(struct hf_message *m, struct hf_request_meta *meta, struct hf_error *reterr) {
  int r = hf_message_string(m, HF_FIELD_META_VERSION, &meta->version_text);
  if (r == HF_ERR_NOMEM)
    return hf_error_set(reterr, r, "out of memory");
  if (r < 0)
    return hf_error_set(reterr, HF_ERR_INVALID, "_meta member '%s' must be a string", HF_META_VERSION);
  meta->era = HF_ERA_MODERN;
  meta->version = hf_version_parse(meta->version_text);
  if (meta->version == HF_VERSION_UNKNOWN || hf_version_era(meta->version) != HF_ERA_MODERN)
    return hf_error_set(reterr, HF_ERR_UNSUPPORTED, "unsupported protocol version");

  if (!is_type(m, HF_FIELD_META_CAPABILITIES, HF_JSON_OBJECT))
    return hf_error_set(reterr, HF_ERR_INVALID, "_meta must have '%s', an object", HF_META_CAPABILITIES);
  meta->capabilities = hf_message_raw(m, HF_FIELD_META_CAPABILITIES);
  if (m->at[HF_FIELD_META_CLIENT_INFO] && !is_type(m, HF_FIELD_META_CLIENT_INFO, HF_JSON_OBJECT))
    return hf_error_set(reterr, HF_ERR_INVALID, "_meta member '%s' must be an object", HF_META_CLIENT_INFO);
  r = hf_message_string(m, HF_FIELD_META_LOG_LEVEL, &meta->log_level);
  if (r == HF_ERR_NOMEM)
    return hf_error_set(reterr, r, "out of memory");
  if (r < 0 && r != HF_ERR_NOTFOUND)
    return hf_error_set(reterr, HF_ERR_INVALID, "_meta member '%s' must be a string", HF_META_LOG_LEVEL);
  return 0;
}

int hf_request_meta_read(struct hf_message *message, struct hf_request_meta *ret_meta, struct hf_error *reterr) {
  *ret_meta = (struct hf_request_meta){.era = HF_ERA_LEGACY};
  return message->at[HF_FIELD_META_VERSION] ? read_modern(message, ret_meta, reterr) : 0;
}

int hf_request_meta_require(struct hf_message *message, struct hf_request_meta *ret_meta, struct hf_error *reterr) {
  *ret_meta = (struct hf_request_meta){.era = HF_ERA_MODERN};
  if (!message->at[HF_FIELD_META_VERSION])
    return hf_error_set(reterr, HF_ERR_INVALID, "_meta must have '%s'", HF_META_VERSION);
  return read_modern(message, ret_meta, reterr);
}
