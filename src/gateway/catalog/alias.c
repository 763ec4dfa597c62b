#include "gateway/catalog/alias.h"

#include <string.h>

static const struct hf_str scheme = HF_STR("holdfast://");

static bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         (c != '\0' && strchr("-._~", c) != NULL);
}

int hf_alias_write(struct hf_buf *out, struct hf_str server, struct hf_str uri) {
  static const char digits[] = "0123456789ABCDEF";
  int r = hf_buf_append_str(out, scheme);
  for (size_t i = 0; r == 0 && i < server.len; i++) {
    const unsigned char c = (unsigned char)server.ptr[i];
    const char escaped[] = {'%', digits[c >> 4], digits[c & 15]};
    r = is_plain((char)c) ? hf_buf_append(out, &server.ptr[i], 1) : hf_buf_append(out, escaped, sizeof escaped);
  }
  if (r == 0)
    r = hf_buf_append_str(out, HF_STR("/"));
  return r == 0 ? hf_buf_append_str(out, uri) : r;
}

static int digit(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool hf_alias_read(struct hf_str text, char server[HF_ALIAS_SERVER_MAX], struct hf_str *ret_server,
                   struct hf_str *ret_uri) {
  size_t at = scheme.len, len = 0;
  if (!hf_str_starts(text, scheme))
    return false;
  while (at < text.len && text.ptr[at] != '/') {
    char c = text.ptr[at++];
    if (len == HF_ALIAS_SERVER_MAX)
      return false;
    if (c == '%') {
      const int high = at < text.len ? digit(text.ptr[at]) : -1;
      const int low = at + 1 < text.len ? digit(text.ptr[at + 1]) : -1;
      if (high < 0 || low < 0)
        return false;
      c = (char)(high << 4 | low);
      at += 2;
    }
    server[len++] = c;
  }
  if (at >= text.len || len == 0)
    return false;
  *ret_server = (struct hf_str){server, len};
  *ret_uri = (struct hf_str){text.ptr + at + 1, text.len - at - 1};
  return ret_uri->len > 0;
}
