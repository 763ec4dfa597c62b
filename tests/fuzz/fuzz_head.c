/* A head that is taken is one in which every line can be read in one way only. */
#include "front/guard.h"
#include "front/head.h"
#include "front/stream.h"
#include "require.h"

/* The lines of a good block, found again by looking for the NULs that stand for separators. */
static size_t add_lines(struct hf_str block, struct hf_head *head) {
  size_t lines = 0;
  while (block.len > 2) {
    size_t name = strnlen(block.ptr, block.len);
    size_t value = strnlen(block.ptr + name + 1, block.len - name - 1);
    for (size_t i = 0; i < value; i++)
      REQUIRE(block.ptr[name + 1 + i] != '\r' && block.ptr[name + 1 + i] != '\n');
    REQUIRE(name > 0 && block.ptr[0] != ' ' && block.ptr[0] != '\t');
    hf_head_add(head, (struct hf_str){block.ptr, name}, (struct hf_str){block.ptr + name + 1, value});
    size_t line = name + 1 + value + 2;
    REQUIRE(line <= block.len);
    block = (struct hf_str){block.ptr + line, block.len - line};
    lines++;
  }
  return lines;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const struct hf_str block = {(const char *)data, size};
  const struct hf_settings settings = {.listen_host = HF_STR("0.0.0.0")};
  struct hf_head head = {0};
  struct hf_stream_id id;
  size_t fields;
  (void)hf_head_target(block);
  (void)hf_stream_id_parse(block, &id);
  if (hf_head_lines(block, &fields))
    return 0;
  REQUIRE(add_lines(block, &head) == fields);
  REQUIRE(head.fields == fields);
  if (hf_head_framing(&head, false))
    return 0;
  const struct hf_str *value = head.value;
  REQUIRE(!value[HF_HEAD_CONTENT_LENGTH].ptr || !value[HF_HEAD_TRANSFER_ENCODING].ptr);
  REQUIRE(hf_head_content_length(&head) <= INT64_MAX);
  (void)hf_head_is_json(value[HF_HEAD_CONTENT_TYPE]);
  (void)hf_guard_host(&settings, value[HF_HEAD_HOST]);
  if (value[HF_HEAD_ORIGIN].ptr)
    (void)hf_guard_origin(&settings, value[HF_HEAD_HOST], value[HF_HEAD_ORIGIN]);
  REQUIRE(!hf_guard_principal(&settings, value[HF_HEAD_AUTHORIZATION]));
  return 0;
}
