#include "gateway/catalog/ttl.h"

enum { TTL_MS_MAX = 86400 * 1000 };

bool hf_ttl_read(const struct hf_message *response, int64_t *ret_ttl_ms) {
  uint32_t node;
  if (hf_json_member(&response->doc, response->at[HF_FIELD_RESULT], HF_STR("ttlMs"), &node) < 0 ||
      hf_json_int64(hf_json_span(&response->doc, node), ret_ttl_ms) < 0)
    return false;
  if (*ret_ttl_ms < 0)
    *ret_ttl_ms = 0;
  else if (*ret_ttl_ms > TTL_MS_MAX)
    *ret_ttl_ms = TTL_MS_MAX;
  return true;
}

bool hf_ttl_is_public(const struct hf_message *response) {
  uint32_t node;
  return hf_json_member(&response->doc, response->at[HF_FIELD_RESULT], HF_STR("cacheScope"), &node) == 0 &&
         hf_json_type(&response->doc, node) == HF_JSON_STRING &&
         hf_json_string_is(&response->doc, node, HF_STR("public"));
}

void hf_ttl_add(struct hf_ttl *ttl, hf_time until, hf_time now, bool is_public) {
  ttl->any = true;
  ttl->is_private = ttl->is_private || !is_public;
  if (until == HF_TIME_NEVER)
    return;
  const hf_time left = until > now ? until - now : 0;
  ttl->left = ttl->is_bounded ? hf_time_min(ttl->left, left) : left;
  ttl->is_bounded = true;
}

void hf_ttl_write(const struct hf_ttl *ttl, hf_time usual, struct hf_json_writer *w) {
  const hf_time left = ttl->is_bounded ? ttl->left : usual;
  hf_json_write_member_int(w, "ttlMs", left / HF_MS(1));
  hf_json_write_member_str(w, "cacheScope", ttl->any && !ttl->is_private ? HF_STR("public") : HF_STR("private"));
}
