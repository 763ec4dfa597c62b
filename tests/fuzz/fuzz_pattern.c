/* A pattern and, behind the first line end, a subject. Checking says the same as translating; what is translated is
 * ASCII, and compiles or is refused; a match ends within its steps, takes no memory, and finds the same each time. */
#include "base/alloc.h"
#include "require.h"
#include "schema/ecma.h"
#include "schema/pattern.h"
#include "schema/utf8.h"

enum { OUT_MAX = 1 << 20, STEPS = 1 << 16 };

static bool is_utf8(struct hf_str text) {
  uint32_t code;
  for (size_t len; text.len > 0; text = (struct hf_str){text.ptr + len, text.len - len}) {
    len = hf_utf8_read(text, &code);
    if (len == 0)
      return false;
  }
  return true;
}

static int check_translation(struct hf_str pattern) {
  struct hf_buf out;
  hf_buf_init(&out, OUT_MAX);
  struct hf_error error = {0};
  unsigned long before = hf_alloc_count();
  int checked = hf_ecma_translate(pattern, NULL, &error);
  REQUIRE(hf_alloc_count() == before);
  REQUIRE(checked == 0 || (error.code == checked && error.text[0]));
  int translated = hf_ecma_translate(pattern, &out, &error);
  REQUIRE(translated == checked || translated == HF_ERR_LIMIT);
  for (size_t i = 0; translated == 0 && i < out.len; i++)
    REQUIRE(out.data[i] > 0 && out.data[i] < 0x7f);
  hf_buf_deinit(&out);
  return checked;
}

static void check_match(const struct hf_regex *regex, struct hf_str subject) {
  struct hf_regex_memory *memory = hf_regex_memory_new();
  REQUIRE(memory);
  unsigned long before = hf_alloc_count();
  uint32_t steps = STEPS;
  int found = hf_regex_match(regex, memory, subject, &steps);
  REQUIRE(found == 0 || found == 1 || found == HF_ERR_LIMIT);
  REQUIRE(steps < STEPS);
  uint32_t again = STEPS;
  REQUIRE(hf_regex_match(regex, memory, subject, &again) == found && again == steps);
  uint32_t few = STEPS - steps - 1;
  if (found != HF_ERR_LIMIT)
    REQUIRE(hf_regex_match(regex, memory, subject, &few) == HF_ERR_LIMIT);
  REQUIRE(hf_alloc_count() == before);
  hf_regex_memory_free(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *text = (const char *)data;
  const char *end = size ? memchr(text, '\n', size) : NULL;
  struct hf_str pattern = {text, end ? (size_t)(end - text) : size};
  struct hf_str subject = {end ? end + 1 : text + size, end ? size - pattern.len - 1 : 0};
  int checked = check_translation(pattern);
  struct hf_regex *regex = NULL;
  struct hf_error error = {0};
  int r = hf_regex_compile(pattern, &regex, &error);
  REQUIRE((r == 0) == (regex != NULL));
  REQUIRE(r == 0 || (error.code == r && error.text[0]));
  REQUIRE(r == checked || r == HF_ERR_LIMIT || (checked == 0 && r == HF_ERR_UNSUPPORTED));
  if (regex && is_utf8(subject))
    check_match(regex, subject);
  hf_regex_free(regex);
  return 0;
}
