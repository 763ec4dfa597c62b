#include "chaos/drift.h"

#include "chaos/pick.h"

#include "base/error.h"

#include <stdio.h>

/* What to put in, and where in the text. */
struct edit {
  const char *at;
  char text[96];
};

enum { EDITS_MAX = 2 };

static struct hf_str element(struct hf_str array, size_t wanted) {
  struct hf_str found = {NULL, 0};
  size_t count = hf_pick_count(array);
  if (count > 0) {
    found = hf_pick_element(array, wanted % count);
  }
  return found;
}

static bool holds_nothing(struct hf_str container) {
  struct hf_str inside = {container.ptr + 1, container.len - 2};
  for (size_t i = 0; i < inside.len; i++) {
    if (strchr(" \t\r\n", inside.ptr[i]) == NULL) {
      return false;
    }
  }
  return true;
}

/* Puts a member or element first in `inner`, or, where the schema has none of that name, an `inner` of its own. */
static int plan(struct edit *edit, struct hf_str schema, const char *name, char opens, const char *item) {
  struct hf_str inner = hf_pick_member(schema, name);
  int len;
  if (inner.len >= 2 && inner.ptr[0] == opens) {
    edit->at = inner.ptr + 1;
    len = snprintf(edit->text, sizeof edit->text, "%s%s", item, holds_nothing(inner) ? "" : ",");
  } else if (inner.ptr == NULL) {
    edit->at = schema.ptr + 1;
    len = snprintf(edit->text, sizeof edit->text, "\"%s\":%c%s%c%s", name, opens, item, opens == '{' ? '}' : ']',
                   holds_nothing(schema) ? "" : ",");
  } else {
    return HF_ERR_INVALID;
  }
  return len > 0 && (size_t)len < sizeof edit->text ? 0 : HF_ERR_LIMIT;
}

static int splice(struct hf_buf *list, const struct edit *edit) {
  size_t at = (size_t)(edit->at - list->data);
  size_t len = strlen(edit->text);
  int rc = hf_buf_reserve(list, len);
  if (rc == 0) {
    memmove(list->data + at + len, list->data + at, list->len - at);
    memcpy(list->data + at, edit->text, len);
    list->len += len;
  }
  return rc;
}

int hf_chaos_drift(struct hf_buf *list, long drifts) {
  char property[64];
  char name[32];
  const struct {
    const char *member;
    char opens;
    const char *item;
  } places[EDITS_MAX] = {{"required", '[', name}, {"properties", '{', property}};
  if (drifts <= 0 || snprintf(name, sizeof name, "\"drift_%ld\"", drifts) < 0 ||
      snprintf(property, sizeof property, "%s:{\"type\":\"string\"}", name) < 0) {
    return 0;
  }
  for (size_t i = 0; i < EDITS_MAX; i++) { /* each edit moves what is behind it, so each looks anew */
    struct edit edit;
    struct hf_str tools = hf_pick_path(hf_buf_str(list), "result.tools");
    struct hf_str schema = hf_pick_member(element(tools, (size_t)drifts - 1), "inputSchema");
    if (schema.len < 2 || schema.ptr[0] != '{' ||
        plan(&edit, schema, places[i].member, places[i].opens, places[i].item) != 0) {
      return 0;
    }
    int rc = splice(list, &edit);
    if (rc != 0) {
      return rc;
    }
  }
  return 0;
}
