#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *hf_err_text(int code) {
  switch (code) {
  case 0:
    return "success";
#define HF_ERR_TEXT(name, number, text)                                                                                \
  case -(number):                                                                                                      \
    return text;
    HF_ERR_LIST(HF_ERR_TEXT)
#undef HF_ERR_TEXT
  default:
    return "unknown error";
  }
}

const char *hf_err_name(int code) {
  switch (code) {
  case 0:
    return "OK";
#define HF_ERR_NAME(name, number, text)                                                                                \
  case -(number):                                                                                                      \
    return #name;
    HF_ERR_LIST(HF_ERR_NAME)
#undef HF_ERR_NAME
  default:
    return "UNKNOWN";
  }
}

/* vsnprintf already cuts and terminates; only its encoding failure needs care. */
__attribute__((format(printf, 2, 0))) static void print_text(char *text, const char *format, va_list args) {
  if (vsnprintf(text, HF_ERROR_TEXT_MAX, format, args) < 0)
    text[0] = '\0';
}

int hf_error_set(struct hf_error *reterr, int code, const char *format, ...) {
  if (reterr) {
    va_list args;
    va_start(args, format);
    print_text(reterr->text, format, args);
    va_end(args);
    reterr->code = code;
  }
  return code;
}

int hf_error_wrap(struct hf_error *reterr, const char *format, ...) {
  if (!reterr)
    return HF_ERR_INVALID;

  char prefix[HF_ERROR_TEXT_MAX];
  va_list args;
  va_start(args, format);
  print_text(prefix, format, args);
  va_end(args);

  char inner[HF_ERROR_TEXT_MAX];
  memcpy(inner, reterr->text, sizeof inner);
  size_t used = strlen(prefix);
  memcpy(reterr->text, prefix, used);
  if (snprintf(reterr->text + used, sizeof reterr->text - used, ": %s", inner) < 0)
    reterr->text[used] = '\0';
  return reterr->code;
}
