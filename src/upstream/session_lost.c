/* The wordings are those of the official SDKs in several languages and of gateways seen in the wild. A text counts if
 * it names a session and says that there is none: both, so that a tool's own "not found" is no lost session. */
#include "upstream/session_lost.h"

enum { TEXT_MAX = 4096 };

static const struct hf_str ends[] = {
    {"not found", 9},   {"unknown", 7},       {"terminated", 10},   {"expired", 7},  {"invalid", 7},
    {"missing", 7},     {"not exist", 9},     {"no valid", 8},      {"required", 8}, {"closed", 6},
    {"no session", 10}, {"unrecognized", 12}, {"no transport", 12},
};

static char lower(char c) {
  return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool contains(struct hf_str text, struct hf_str needle) {
  for (size_t i = 0; i + needle.len <= text.len; i++) {
    size_t k = 0;
    while (k < needle.len && lower(text.ptr[i + k]) == needle.ptr[k])
      k++;
    if (k == needle.len)
      return true;
  }
  return false;
}

bool hf_says_session_lost(struct hf_str text) {
  if (text.len > TEXT_MAX)
    text.len = TEXT_MAX;
  if (contains(text, HF_STR("server not initialized")))
    return true;
  if (!contains(text, HF_STR("session")))
    return false;
  for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
    if (contains(text, ends[i]))
      return true;
  }
  return false;
}
