/* A format's name and, behind the first line end, a text: its check looks at nothing but the text, takes no memory, and
 * says the same each time. What is an address is one in the formats that hold addresses, too. */
#include "base/alloc.h"
#include "base/buf.h"
#include "require.h"
#include "schema/format.h"

static bool fits(const char *format, struct hf_str text) {
  return hf_format_find(hf_str_from(format))(text);
}

/* Is `before` `text` `behind` of that format? */
static bool fits_within(const char *format, const char *before, struct hf_str text, const char *behind) {
  struct hf_buf whole;
  hf_buf_init(&whole, SIZE_MAX);
  REQUIRE(hf_buf_append_str(&whole, hf_str_from(before)) == 0 && hf_buf_append_str(&whole, text) == 0 &&
          hf_buf_append_str(&whole, hf_str_from(behind)) == 0);
  bool good = fits(format, hf_buf_str(&whole));
  hf_buf_deinit(&whole);
  return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *start = (const char *)data;
  const char *end = size ? memchr(start, '\n', size) : NULL;
  struct hf_str name = {start, end ? (size_t)(end - start) : size};
  struct hf_str text = {end ? end + 1 : start + size, end ? size - name.len - 1 : 0};
  hf_format_check check = hf_format_find(name);
  if (check) {
    unsigned long before = hf_alloc_count();
    bool good = check(text);
    REQUIRE(check(text) == good && hf_alloc_count() == before);
  }
  if (fits("ipv4", text))
    REQUIRE(fits_within("ipv6", "::", text, "") && fits_within("uri", "a://", text, ":1"));
  if (fits("ipv6", text))
    REQUIRE(fits_within("uri", "a://[", text, "]/") && fits_within("email", "a@[IPv6:", text, "]"));
  if (fits("hostname", text))
    REQUIRE(fits_within("email", "a@", text, "") && fits_within("uri", "a://", text, ""));
  if (fits("hostname", text) &&
      !memmem(text.ptr, text.len, "--", 2)) /* those that are encoded have rules of their own */
    REQUIRE(fits("idn-hostname", text));
  if (fits("uri", text))
    REQUIRE(fits("iri", text) && fits("uri-reference", text));
  if (fits("date", text))
    REQUIRE(fits_within("date-time", "", text, "T00:00:00Z"));
  if (fits("time", text))
    REQUIRE(fits_within("date-time", "2020-02-29t", text, ""));
  return 0;
}
