#include "chaos/pick.h"

#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>

void hf_chaos_must(int rc) {
  if (rc != 0) {
    (void)fprintf(stderr, "chaos: %s\n", hf_err_text(rc));
    exit(1);
  }
}

void *hf_chaos_have(void *memory) {
  hf_chaos_must(memory == NULL ? HF_ERR_NOMEM : 0);
  return memory;
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

bool hf_pick_next(struct hf_str object, size_t *at, struct hf_str *ret_name, struct hf_str *ret_value) {
  if (*at == 0) {
    *at = skip_space(object, 0);
    *at = *at < object.len && object.ptr[*at] == '{' ? skip_space(object, *at + 1) : object.len;
  }
  if (*at >= object.len || object.ptr[*at] != '"') {
    return false;
  }
  size_t name = *at + 1;
  size_t end = skip_string(object, *at);
  *ret_name = (struct hf_str){object.ptr + name, end > name ? end - 1 - name : 0};
  size_t value = skip_space(object, skip_space(object, end) + 1); /* behind the colon */
  end = skip_value(object, value);
  *ret_value = value > end ? (struct hf_str){NULL, 0} : hf_str_trim((struct hf_str){object.ptr + value, end - value});
  *at = skip_space(object, skip_space(object, end) + 1); /* behind the comma */
  return true;
}

struct hf_str hf_pick_member(struct hf_str object, const char *key) {
  struct hf_str wanted = hf_str_from(key);
  struct hf_str name;
  struct hf_str value;
  size_t at = 0;
  while (hf_pick_next(object, &at, &name, &value)) {
    if (hf_str_equal(name, wanted)) {
      return value;
    }
  }
  return (struct hf_str){NULL, 0};
}

/* Reads the element at `*at` and goes behind it. Returns false at the end of the array. */
static bool next_element(struct hf_str array, size_t *at, struct hf_str *ret_element) {
  *at = skip_space(array, *at);
  size_t end = skip_value(array, *at);
  if (*at >= array.len || end <= *at) {
    return false;
  }
  *ret_element = hf_str_trim((struct hf_str){array.ptr + *at, end - *at});
  end = skip_space(array, end);
  *at = end < array.len && array.ptr[end] == ',' ? end + 1 : array.len;
  return true;
}

struct hf_str hf_pick_element(struct hf_str array, size_t index) {
  struct hf_str element = {NULL, 0};
  size_t at = 1;
  if (array.len < 2 || array.ptr[0] != '[') {
    return element;
  }
  for (size_t i = 0; next_element(array, &at, &element); i++) {
    if (i == index) {
      return element;
    }
  }
  return (struct hf_str){NULL, 0};
}

size_t hf_pick_count(struct hf_str array) {
  struct hf_str element;
  size_t count = 0;
  size_t at = 1;
  while (array.len >= 2 && array.ptr[0] == '[' && next_element(array, &at, &element)) {
    count++;
  }
  return count;
}

struct hf_str hf_pick_path(struct hf_str object, const char *path) {
  char name[64];
  while (*path != '\0' && object.ptr != NULL) {
    size_t len = strcspn(path, ".");
    if (len >= sizeof name) {
      return (struct hf_str){NULL, 0};
    }
    memcpy(name, path, len);
    name[len] = '\0';
    object = hf_pick_member(object, name);
    path += len;
    path += *path == '.';
  }
  return object;
}

struct hf_str hf_pick_header(struct hf_str head, const char *name) {
  struct hf_str wanted = hf_str_from(name);
  while (head.len > 0) {
    const char *end = memmem(head.ptr, head.len, "\r\n", 2);
    struct hf_str line = {head.ptr, end ? (size_t)(end - head.ptr) : head.len};
    const char *colon = line.len > 0 ? memchr(line.ptr, ':', line.len) : NULL;
    if (colon != NULL && hf_str_equal_nocase((struct hf_str){line.ptr, (size_t)(colon - line.ptr)}, wanted)) {
      return hf_str_trim((struct hf_str){colon + 1, (size_t)(line.ptr + line.len - colon - 1)});
    }
    size_t used = end ? line.len + 2 : line.len;
    head = (struct hf_str){head.ptr + used, head.len - used};
  }
  return (struct hf_str){NULL, 0};
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

void hf_pick_text(struct hf_str value, char *text, size_t size) {
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

long hf_pick_number(struct hf_str value, long otherwise) {
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

void hf_pick_quote(struct hf_buf *buf, struct hf_str text) {
  hf_chaos_must(hf_buf_append(buf, "\"", 1));
  for (size_t i = 0; i < text.len; i++) {
    unsigned char c = (unsigned char)text.ptr[i];
    if (c == '"' || c == '\\') {
      hf_chaos_must(hf_buf_printf(buf, "\\%c", c));
    } else if (c < 0x20) {
      hf_chaos_must(hf_buf_printf(buf, "\\u%04x", c));
    } else {
      hf_chaos_must(hf_buf_append(buf, &text.ptr[i], 1));
    }
  }
  hf_chaos_must(hf_buf_append(buf, "\"", 1));
}
