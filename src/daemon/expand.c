#include "daemon/expand.h"

#include "base/buf.h"
#include "base/error.h"

enum { EXPANDED_MAX = 1 << 20 };

static bool is_name(struct hf_str s) {
  for (size_t i = 0; i < s.len; i++) {
    char c = s.ptr[i];
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (!letter && (i == 0 || c < '0' || c > '9'))
      return false;
  }
  return s.len > 0;
}

static struct hf_str find(struct hf_str text, struct hf_str what) {
  const char *at = text.len ? memmem(text.ptr, text.len, what.ptr, what.len) : NULL;
  return at ? (struct hf_str){at, text.len - (size_t)(at - text.ptr)} : (struct hf_str){NULL, 0};
}

/* Appends the value of `inside`, what stands between the braces. */
static int append_value(struct hf_arena *arena, struct hf_str inside, hf_variable_fn *variable, struct hf_buf *out,
                        struct hf_str *ret_variable) {
  struct hf_str name = inside;
  struct hf_str otherwise = find(inside, HF_STR(":-"));
  if (otherwise.ptr) {
    name.len = inside.len - otherwise.len;
    otherwise.ptr += 2;
    otherwise.len -= 2;
  }
  if (hf_str_starts(name, HF_STR("env:"))) {
    name.ptr += 4;
    name.len -= 4;
  }

  struct hf_str copy = hf_arena_copy(arena, is_name(name) ? name : inside);
  if (!copy.ptr)
    return HF_ERR_NOMEM;
  *ret_variable = copy;
  if (!is_name(name)) {
    /* Editors have variables of their own (`${input:token}`, `${workspaceFolder}`); nobody sets those here. */
    return find(inside, HF_STR(":")).ptr && !find(inside, HF_STR("${")).ptr ? HF_ERR_NOTFOUND : HF_ERR_SYNTAX;
  }
  if (otherwise.ptr && find(otherwise, HF_STR("${")).ptr)
    return HF_ERR_SYNTAX;
  const char *value = variable(copy.ptr);
  if (otherwise.ptr && (!value || !*value))
    return hf_buf_append_str(out, otherwise);
  return value ? hf_buf_append_str(out, hf_str_from(value)) : HF_ERR_NOTFOUND;
}

static int expand_into(struct hf_arena *arena, struct hf_str text, hf_variable_fn *variable, struct hf_buf *out,
                       struct hf_str *ret_variable) {
  while (text.len) {
    struct hf_str at = find(text, HF_STR("${"));
    if (!at.ptr)
      return hf_buf_append_str(out, text);
    size_t before = text.len - at.len;
    bool escaped = before > 0 && at.ptr[-1] == '$';
    int r = hf_buf_append(out, text.ptr, escaped ? before - 1 : before);
    if (r == 0 && escaped) {
      r = hf_buf_append_str(out, HF_STR("${"));
      text = (struct hf_str){at.ptr + 2, at.len - 2};
    } else if (r == 0) {
      struct hf_str close = find(at, HF_STR("}"));
      if (!close.ptr) {
        *ret_variable = hf_arena_copy(arena, HF_STR("${"));
        return HF_ERR_SYNTAX;
      }
      r = append_value(arena, (struct hf_str){at.ptr + 2, (size_t)(close.ptr - at.ptr) - 2}, variable, out,
                       ret_variable);
      text = (struct hf_str){close.ptr + 1, close.len - 1};
    }
    if (r < 0)
      return r;
  }
  return 0;
}

int hf_expand(struct hf_arena *arena, struct hf_str text, hf_variable_fn *variable, struct hf_str *ret_text,
              struct hf_str *ret_variable) {
  if (!find(text, HF_STR("${")).ptr) {
    *ret_text = text;
    return 0;
  }
  struct hf_buf out;
  hf_buf_init(&out, EXPANDED_MAX);
  int r = expand_into(arena, text, variable, &out, ret_variable);
  if (r == 0) {
    struct hf_str copy = hf_arena_copy(arena, hf_buf_str(&out));
    if (copy.ptr)
      *ret_text = copy;
    else
      r = HF_ERR_NOMEM;
  }
  hf_buf_deinit(&out);
  return r;
}
