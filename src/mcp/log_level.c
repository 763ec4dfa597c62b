#include "mcp/log_level.h"

static const char *const levels[] = {"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"};

int hf_log_level_index(struct hf_str level) {
  for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++)
    if (hf_str_equal(level, hf_str_from(levels[i])))
      return (int)i;
  return -1;
}

const char *hf_log_level_name(int index) {
  return levels[index];
}

int hf_log_level_asked(const struct hf_message *request) {
  struct hf_str raw = hf_message_raw(request, HF_FIELD_LEVEL);
  return raw.len > 2 ? hf_log_level_index((struct hf_str){raw.ptr + 1, raw.len - 2}) : -1;
}

int hf_log_level_of(const struct hf_message *notification) {
  int index = hf_log_level_asked(notification);
  return index < 0 ? 0 : index;
}
