#include "gateway/store.h"

const char *hf_letter_status_name(enum hf_letter_status status) {
  static const char *const names[HF_LETTER_STATUS_COUNT] = {
      [HF_LETTER_DEAD] = "dead",           [HF_LETTER_REPLAYING] = "replaying",     [HF_LETTER_REPLAYED] = "replayed",
      [HF_LETTER_DISCARDED] = "discarded", [HF_LETTER_QUARANTINED] = "quarantined",
  };
  return status < HF_LETTER_STATUS_COUNT ? names[status] : "unknown";
}
