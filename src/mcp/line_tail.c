#include "mcp/line_tail.h"

#include <string.h>

void hf_line_tail_add(struct hf_line_tail *tail, struct hf_str bytes) {
  if (bytes.len && bytes.ptr[bytes.len - 1] == '\n')
    bytes.len--;
  size_t take = bytes.len < HF_LINE_TAIL_MAX ? bytes.len : HF_LINE_TAIL_MAX;
  size_t keep = tail->len + take > HF_LINE_TAIL_MAX ? HF_LINE_TAIL_MAX - take : tail->len;
  memmove(tail->bytes, tail->bytes + tail->len - keep, keep);
  memcpy(tail->bytes + keep, bytes.ptr + bytes.len - take, take);
  tail->len = keep + take;
}

static size_t without_spaces(const struct hf_line_tail *tail, char squeezed[static HF_LINE_TAIL_MAX]) {
  size_t len = 0;
  for (size_t i = 0; i < tail->len; i++) {
    if (tail->bytes[i] != ' ' && tail->bytes[i] != '\r' && tail->bytes[i] != '\t')
      squeezed[len++] = tail->bytes[i];
  }
  return len;
}

/* Only one brace may follow, so that the id is the message's own and not that of something in it. */
struct hf_str hf_line_tail_id(const struct hf_line_tail *tail) {
  static const struct hf_str version = {",\"jsonrpc\":\"2.0\"", 16};
  static const struct hf_str key = {"\"id\":", 5};
  char squeezed[HF_LINE_TAIL_MAX];
  size_t len = without_spaces(tail, squeezed);
  if (len == 0 || squeezed[--len] != '}')
    return (struct hf_str){NULL, 0};
  if (len > version.len && memcmp(squeezed + len - version.len, version.ptr, version.len) == 0)
    len -= version.len;
  size_t end = len;
  while (len && squeezed[len - 1] >= '0' && squeezed[len - 1] <= '9')
    len--;
  if (len < key.len || memcmp(squeezed + len - key.len, key.ptr, key.len) != 0)
    return (struct hf_str){NULL, 0};
  /* Digits that only the squeezing put together are not found. */
  struct hf_str digits = {squeezed + len, end - len};
  const char *found = digits.len ? memmem(tail->bytes, tail->len, digits.ptr, digits.len) : NULL;
  return (struct hf_str){found, found ? digits.len : 0};
}
