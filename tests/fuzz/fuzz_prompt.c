/* Whatever strangers put into a tool's name, its schema, arguments and errors: between the two markers, each of which
 * is there once, is one line of JSON that means the same, in which no marker can be spelt. And a state that was not
 * signed is never taken for one that was. */
#include "gateway/correct/prompt.h"
#include "gateway/question/signed_state.h"
#include "require.h"
#include "json/canonical.h"
#include "json/value.h"

enum { OUT_MAX = 1 << 20 };

static const char opening[] = "<<<DATA\n";
static const char closing[] = "\nDATA>>>\n";

/* The text up to the next NUL, and what is behind it. */
static struct hf_str next_part(struct hf_str *io_rest) {
  const char *end = memchr(io_rest->ptr, '\0', io_rest->len);
  const struct hf_str part = {io_rest->ptr, end ? (size_t)(end - io_rest->ptr) : io_rest->len};
  const size_t taken = part.len + (end ? 1 : 0);
  *io_rest = (struct hf_str){io_rest->ptr + taken, io_rest->len - taken};
  return part;
}

static struct hf_str data_of(struct hf_str text) {
  const char *from = memmem(text.ptr, text.len, opening, sizeof opening - 1);
  REQUIRE(from);
  from += sizeof opening - 1;
  const char *end = text.ptr + text.len;
  const char *to = memmem(from, (size_t)(end - from), closing, sizeof closing - 1);
  REQUIRE(to);
  REQUIRE(!memmem(to + 1, (size_t)(end - to - 1), closing, sizeof closing - 1));
  REQUIRE(!memmem(from, (size_t)(end - from), opening, sizeof opening - 1));
  return (struct hf_str){from, (size_t)(to - from)};
}

static void check_member(const struct hf_json_doc *doc, struct hf_str name, struct hf_str raw) {
  uint32_t node;
  struct hf_buf was, is;
  hf_buf_init(&was, OUT_MAX);
  hf_buf_init(&is, OUT_MAX);
  REQUIRE(hf_json_member(doc, 0, name, &node) == 0);
  if (hf_json_canonical(raw, &was) == 0) {
    REQUIRE(hf_json_canonical(hf_json_span(doc, node), &is) == 0);
    REQUIRE(hf_str_equal(hf_buf_str(&was), hf_buf_str(&is)));
  }
  hf_buf_deinit(&was);
  hf_buf_deinit(&is);
}

static void check(struct hf_str text, const struct hf_prompt *prompt) {
  const struct hf_str data = data_of(text);
  for (size_t i = 0; i < data.len; i++)
    REQUIRE((unsigned char)data.ptr[i] >= ' ' && data.ptr[i] != '<' && data.ptr[i] != '>' && data.ptr[i] != 0x7f);
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.tree_depth = 1;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  REQUIRE(hf_json_scan_feed(&scan, data.ptr, data.len, true) == 0);
  const struct hf_json_doc doc = hf_json_doc(data.ptr, &scan);
  REQUIRE(doc.nodes[0].count == 4);
  check_member(&doc, HF_STR("schema"), prompt->schema);
  check_member(&doc, HF_STR("arguments"), prompt->arguments);
  hf_json_scan_deinit(&scan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct hf_str rest = {(const char *)data, size};
  struct hf_prompt prompt = {0};
  prompt.tool = next_part(&rest);
  prompt.schema = next_part(&rest);
  prompt.arguments = next_part(&rest);
  prompt.reasons = rest;
  struct hf_buf out;
  hf_buf_init(&out, OUT_MAX);
  if (hf_prompt_write(&prompt, &out) == 0)
    check(hf_buf_str(&out), &prompt);
  hf_buf_reset(&out, OUT_MAX);

  struct hf_error why;
  if (hf_prompt_read((struct hf_str){(const char *)data, size}, &out, &why) == 0) {
    struct hf_json_options options = HF_JSON_OPTIONS_INIT;
    options.tree_depth = 1;
    struct hf_json_scan scan;
    hf_json_scan_init(&scan, &options);
    REQUIRE(hf_json_scan_feed(&scan, out.data, out.len, true) == 0 && scan.nodes[0].type == HF_JSON_OBJECT);
    hf_json_scan_deinit(&scan);
  }
  hf_buf_deinit(&out);

  const struct hf_signer signer = {.key = {7}, .name = {1}};
  const struct hf_fingerprint call = {.byte = {3}};
  struct hf_signed_state state;
  REQUIRE(hf_signed_state_read(&signer, (struct hf_str){(const char *)data, size}, &call, 0, &state) < 0);
  return 0;
}
