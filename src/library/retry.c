#include "holdfast/retry.h"

#include "policy/retry.h"

int hf_retry_after_read(const char *value, size_t len, int64_t wall_ms, hf_time *ret_pause) {
  return hf_retry_after_parse((struct hf_str){value, len}, wall_ms, ret_pause);
}
