#include "front/head.h"

#include "base/error.h"
#include "mcp/field_value.h"

static const struct {
  struct hf_str name;
  bool repeats;
} fields[HF_HEAD_COUNT] = {
#define HF_HEAD_ROW(field, name, repeats) {HF_STR(name), repeats},
    HF_HEAD_LIST(HF_HEAD_ROW)
#undef HF_HEAD_ROW
};

static bool is_value_char(unsigned char c) {
  return c == '\t' || (c >= 0x20 && c != 0x7f);
}

void hf_head_add(struct hf_head *head, struct hf_str name, struct hf_str value) {
  head->fields++;
  for (size_t i = 0; i < HF_HEAD_COUNT; i++) {
    if (!hf_str_equal_nocase(name, fields[i].name))
      continue;
    if (head->value[i].ptr && !fields[i].repeats && !head->fault)
      head->fault = i == HF_HEAD_HOST ? "repeated Host" : "repeated header";
    head->value[i] = hf_str_trim(value);
    if (i == HF_HEAD_ACCEPT)
      hf_accept_add(&head->accept, value);
    return;
  }
}

const char *hf_head_framing(const struct hf_head *head, bool http_1_0) {
  if (head->fault)
    return head->fault;
  struct hf_str host = head->value[HF_HEAD_HOST];
  if (!host.ptr || host.len == 0)
    return "missing Host";
  struct hf_str length = head->value[HF_HEAD_CONTENT_LENGTH];
  struct hf_str encoding = head->value[HF_HEAD_TRANSFER_ENCODING];
  if (encoding.ptr && length.ptr)
    return "both Content-Length and Transfer-Encoding";
  if (encoding.ptr && http_1_0)
    return "Transfer-Encoding in HTTP/1.0";
  if (encoding.ptr && !hf_str_equal_nocase(encoding, HF_STR("chunked")))
    return "unknown Transfer-Encoding";
  unsigned long long value;
  if (length.ptr && hf_str_to_u64(length, INT64_MAX, &value) < 0)
    return "malformed Content-Length";
  return NULL;
}

uint64_t hf_head_content_length(const struct hf_head *head) {
  unsigned long long value = 0;
  struct hf_str length = head->value[HF_HEAD_CONTENT_LENGTH];
  if (!length.ptr || hf_str_to_u64(length, INT64_MAX, &value) < 0)
    return 0;
  return value;
}

const char *hf_head_lines(struct hf_str block, size_t *ret_fields) {
  size_t at = 0;
  size_t count = 0;
  while (at < block.len) {
    if (block.ptr[at] == '\0') {
      if (block.len - at != 2 || block.ptr[at + 1] != '\0')
        return "malformed end of the head";
      *ret_fields = count;
      return NULL;
    }
    size_t name = at;
    while (at < block.len && hf_field_name_byte(block.ptr[at]))
      at++;
    if (at == name || at == block.len || block.ptr[at] != '\0')
      return block.ptr[name] == ' ' || block.ptr[name] == '\t' ? "folded header line" : "malformed header name";
    at++;
    while (at < block.len && is_value_char((unsigned char)block.ptr[at]))
      at++;
    if (block.len - at < 2 || block.ptr[at] != '\0' || block.ptr[at + 1] != '\0')
      return "malformed header line";
    at += 2;
    count++;
  }
  return "malformed end of the head";
}

const char *hf_head_target(struct hf_str target) {
  if (target.len == 0 || target.ptr[0] != '/')
    return "request target is no path";
  for (size_t i = 0; i < target.len; i++)
    if (target.ptr[i] <= 0x20 || target.ptr[i] == 0x7f || target.ptr[i] == '#')
      return "malformed request target";
  return NULL;
}

/* A weight of zero, however spelt, refuses the range. */
static bool weight_is_zero(struct hf_str params) {
  while (params.len > 0) {
    const char *semicolon = memchr(params.ptr, ';', params.len);
    size_t len = semicolon ? (size_t)(semicolon - params.ptr) : params.len;
    struct hf_str param = hf_str_trim((struct hf_str){params.ptr, len});
    if (param.len >= 3 && (param.ptr[0] == 'q' || param.ptr[0] == 'Q') && param.ptr[1] == '=') {
      for (size_t i = 2; i < param.len; i++)
        if (param.ptr[i] != '0' && param.ptr[i] != '.')
          return false;
      return true;
    }
    size_t skip = semicolon ? len + 1 : len;
    params = (struct hf_str){params.ptr + skip, params.len - skip};
  }
  return false;
}

enum { RANK_ANY = 1, RANK_TYPE, RANK_EXACT };

static void accept_range(struct hf_accept *accept, struct hf_str range) {
  const char *semicolon = memchr(range.ptr, ';', range.len);
  size_t len = semicolon ? (size_t)(semicolon - range.ptr) : range.len;
  struct hf_str type = hf_str_trim((struct hf_str){range.ptr, len});
  struct hf_str params = semicolon ? (struct hf_str){semicolon + 1, range.len - len - 1} : (struct hf_str){"", 0};
  bool takes = !weight_is_zero(params);
  uint8_t json = 0;
  uint8_t sse = 0;
  if (hf_str_equal_nocase(type, HF_STR("*/*")))
    json = sse = RANK_ANY;
  else if (hf_str_equal_nocase(type, HF_STR("application/*")))
    json = RANK_TYPE;
  else if (hf_str_equal_nocase(type, HF_STR("text/*")))
    sse = RANK_TYPE;
  else if (hf_str_equal_nocase(type, HF_STR("application/json")))
    json = RANK_EXACT;
  else if (hf_str_equal_nocase(type, HF_STR("text/event-stream")))
    sse = RANK_EXACT;
  if (json > accept->json_rank) {
    accept->json_rank = json;
    accept->json = takes;
  }
  if (sse > accept->sse_rank) {
    accept->sse_rank = sse;
    accept->sse = takes;
  }
}

void hf_accept_add(struct hf_accept *accept, struct hf_str value) {
  while (value.len > 0) {
    const char *comma = memchr(value.ptr, ',', value.len);
    size_t len = comma ? (size_t)(comma - value.ptr) : value.len;
    accept_range(accept, (struct hf_str){value.ptr, len});
    size_t skip = comma ? len + 1 : len;
    value = (struct hf_str){value.ptr + skip, value.len - skip};
  }
}

bool hf_head_is_json(struct hf_str content_type) {
  if (!content_type.ptr)
    return false;
  const char *semicolon = memchr(content_type.ptr, ';', content_type.len);
  size_t len = semicolon ? (size_t)(semicolon - content_type.ptr) : content_type.len;
  if (!hf_str_equal_nocase(hf_str_trim((struct hf_str){content_type.ptr, len}), HF_STR("application/json")))
    return false;
  if (!semicolon)
    return true;
  struct hf_str params = hf_str_trim((struct hf_str){semicolon + 1, content_type.len - len - 1});
  if (params.len < 8 || !hf_str_equal_nocase((struct hf_str){params.ptr, 8}, HF_STR("charset=")))
    return true;
  struct hf_str charset = {params.ptr + 8, params.len - 8};
  if (charset.len >= 2 && charset.ptr[0] == '"' && charset.ptr[charset.len - 1] == '"')
    charset = (struct hf_str){charset.ptr + 1, charset.len - 2};
  return hf_str_equal_nocase(charset, HF_STR("utf-8")) || hf_str_equal_nocase(charset, HF_STR("us-ascii")) ||
         hf_str_equal_nocase(charset, HF_STR("utf8"));
}
