#include "schema/schema.h"

const char *hf_keyword_name(enum hf_keyword keyword) {
  static const char *const names[] = {
#define HF_KEYWORD_NAME(name, text) text,
      HF_KEYWORD_LIST(HF_KEYWORD_NAME)
#undef HF_KEYWORD_NAME
  };
  return names[keyword];
}
