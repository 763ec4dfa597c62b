#include "gateway/store.h"

const char *hf_letter_status_name(enum hf_letter_status status) {
  static const char *const names[HF_LETTER_STATUS_COUNT] = {
      [HF_LETTER_DEAD] = "dead",           [HF_LETTER_REPLAYING] = "replaying",     [HF_LETTER_REPLAYED] = "replayed",
      [HF_LETTER_DISCARDED] = "discarded", [HF_LETTER_QUARANTINED] = "quarantined",
  };
  return status < HF_LETTER_STATUS_COUNT ? names[status] : "unknown";
}

const char *hf_task_status_name(enum hf_task_status status) {
  static const char *const names[HF_TASK_STATUS_COUNT] = {
      [HF_TASK_WORKING] = "working", [HF_TASK_INPUT_REQUIRED] = "input_required", [HF_TASK_COMPLETED] = "completed",
      [HF_TASK_FAILED] = "failed",   [HF_TASK_CANCELLED] = "cancelled",
  };
  return status < HF_TASK_STATUS_COUNT ? names[status] : "unknown";
}
