#include "schema/format.h"

#include "base/error.h"
#include "schema/ecma.h"
#include "schema/format_host.h"
#include "schema/format_time.h"
#include "schema/format_uri.h"

static bool is_hex(char c) {
  return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

static bool is_uuid(struct hf_str text) {
  if (text.len != 36)
    return false;
  for (size_t i = 0; i < text.len; i++) {
    bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text.ptr[i] != '-' : !is_hex(text.ptr[i]))
      return false;
  }
  return true;
}

static bool is_json_pointer(struct hf_str text) {
  if (text.len > 0 && text.ptr[0] != '/')
    return false;
  for (size_t i = 0; i < text.len; i++) {
    if (text.ptr[i] == '~' && (i + 1 == text.len || (text.ptr[i + 1] != '0' && text.ptr[i + 1] != '1')))
      return false;
  }
  return true;
}

static bool is_relative_json_pointer(struct hf_str text) {
  size_t digits = 0;
  while (digits < text.len && text.ptr[digits] >= '0' && text.ptr[digits] <= '9')
    digits++;
  if (digits == 0 || (digits > 1 && text.ptr[0] == '0'))
    return false;
  struct hf_str rest = {text.ptr + digits, text.len - digits};
  return hf_str_equal(rest, HF_STR("#")) || is_json_pointer(rest);
}

/* What is too long or too deep to tell is let through. */
static bool is_regex(struct hf_str text) {
  return hf_ecma_translate(text, NULL, NULL) != HF_ERR_SYNTAX;
}

hf_format_check hf_format_find(struct hf_str name) {
  static const struct {
    const char *name;
    hf_format_check check;
  } formats[] = {
      {"date-time", hf_format_date_time},
      {"date", hf_format_date},
      {"time", hf_format_time},
      {"duration", hf_format_duration},
      {"email", hf_format_email},
      {"idn-email", hf_format_idn_email},
      {"hostname", hf_format_hostname},
      {"idn-hostname", hf_format_idn_hostname},
      {"ipv4", hf_format_ipv4},
      {"ipv6", hf_format_ipv6},
      {"uri", hf_format_uri},
      {"uri-reference", hf_format_uri_reference},
      {"iri", hf_format_iri},
      {"iri-reference", hf_format_iri_reference},
      {"uri-template", hf_format_uri_template},
      {"json-pointer", is_json_pointer},
      {"relative-json-pointer", is_relative_json_pointer},
      {"regex", is_regex},
      {"uuid", is_uuid},
  };
  for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
    if (hf_str_equal(hf_str_from(formats[i].name), name))
      return formats[i].check;
  }
  return NULL;
}
