#include "pick.h"

#include <stdio.h>
#include <stdlib.h>

void chaos_must(int rc) {
  if (rc != 0) {
    fputs("chaos: out of memory\n", stderr);
    abort();
  }
}

static size_t skip_space(struct hf_str s, size_t at) {
  while (at < s.len && (s.ptr[at] == ' ' || s.ptr[at] == '\t' || s.ptr[at] == '\n' || s.ptr[at] == '\r')) {
    at++;
  }
  return at;
}

static size_t skip_string(struct hf_str s, size_t at) {
  for (at++; at < s.len && s.ptr[at] != '"'; at++) {
    if (s.ptr[at] == '\\') {
      at++;
    }
  }
  return at < s.len ? at + 1 : s.len;
}

static size_t skip_value(struct hf_str s, size_t at) {
  size_t depth = 0;
  while (at < s.len) {
    char c = s.ptr[at];
    if (c == '"') {
      at = skip_string(s, at);
    } else if (c == '{' || c == '[') {
      depth++;
      at++;
    } else if (c == '}' || c == ']') {
      if (depth == 0) {
        return at;
      }
      depth--;
      at++;
    } else if (c == ',' && depth == 0) {
      return at;
    } else {
      at++;
      continue;
    }
    if (depth == 0) {
      return at;
    }
  }
  return s.len;
}

struct hf_str pick_member(struct hf_str object, const char *key) {
  size_t at = skip_space(object, 0);
  if (at >= object.len || object.ptr[at] != '{') {
    return (struct hf_str){NULL, 0};
  }
  size_t key_len = strlen(key);
  at = skip_space(object, at + 1);
  while (at < object.len && object.ptr[at] == '"') {
    size_t name = at + 1;
    at = skip_string(object, at);
    size_t name_len = at - 1 - name;
    at = skip_space(object, at);
    at = skip_space(object, at + 1); /* the colon */
    size_t value = at;
    at = skip_value(object, at);
    if (name_len == key_len && memcmp(object.ptr + name, key, key_len) == 0) {
      return hf_str_trim((struct hf_str){object.ptr + value, at - value});
    }
    at = skip_space(object, at);
    at = skip_space(object, at + 1); /* the comma */
  }
  return (struct hf_str){NULL, 0};
}

struct hf_str pick_path(struct hf_str object, const char *path) {
  char name[64];
  while (*path != '\0' && object.ptr != NULL) {
    size_t len = strcspn(path, ".");
    if (len >= sizeof name) {
      return (struct hf_str){NULL, 0};
    }
    memcpy(name, path, len);
    name[len] = '\0';
    object = pick_member(object, name);
    path += len;
    path += *path == '.';
  }
  return object;
}

static char unescape(char c) {
  switch (c) {
  case 'n':
    return '\n';
  case 't':
    return '\t';
  case 'r':
    return '\r';
  case 'b':
    return '\b';
  case 'f':
    return '\f';
  default:
    return c;
  }
}

void pick_text(struct hf_str value, char *text, size_t size) {
  size_t out = 0;
  if (value.len >= 2 && value.ptr[0] == '"') {
    for (size_t i = 1; i + 1 < value.len && out + 1 < size; i++) {
      char c = value.ptr[i];
      if (c == '\\') {
        c = unescape(value.ptr[++i]);
        if (c == 'u') { /* keys and fault names are ASCII: what isn't shows as a mark */
          c = '?';
          i += 4;
        }
      }
      text[out++] = c;
    }
  }
  text[out] = '\0';
}

long pick_number(struct hf_str value, long otherwise) {
  char text[32];
  if (value.ptr == NULL || value.len == 0 || value.len >= sizeof text) {
    return otherwise;
  }
  memcpy(text, value.ptr, value.len);
  text[value.len] = '\0';
  char *end = NULL;
  long number = strtol(text, &end, 10);
  return end == text ? otherwise : number;
}

void pick_quote(struct hf_buf *buf, struct hf_str text) {
  chaos_must(hf_buf_append(buf, "\"", 1));
  for (size_t i = 0; i < text.len; i++) {
    unsigned char c = (unsigned char)text.ptr[i];
    if (c == '"' || c == '\\') {
      chaos_must(hf_buf_printf(buf, "\\%c", c));
    } else if (c < 0x20) {
      chaos_must(hf_buf_printf(buf, "\\u%04x", c));
    } else {
      chaos_must(hf_buf_append(buf, &text.ptr[i], 1));
    }
  }
  chaos_must(hf_buf_append(buf, "\"", 1));
}
