/* The verdict and the tape do not depend on how the text was cut, and the verdict agrees with jansson's. */
#include "require.h"
#include "json/value.h"

#include <jansson.h>

static void scan_in_pieces(struct hf_json_scan *scan, const struct hf_json_options *options, const char *text,
                           size_t len) {
  hf_json_scan_init(scan, options);
  uint32_t state = (uint32_t)len;
  size_t at = 0;
  int r = HF_ERR_AGAIN;
  while (at < len && r == HF_ERR_AGAIN) {
    at += next_piece(&state, len - at);
    r = hf_json_scan_feed(scan, text, at, false);
  }
  if (r == HF_ERR_AGAIN)
    hf_json_scan_feed(scan, text, len, true);
}

static void check_pieces(const struct hf_json_options *options, const char *text, size_t len) {
  struct hf_json_scan whole, pieces;
  hf_json_scan_init(&whole, options);
  int r = hf_json_scan_feed(&whole, text, len, true);
  scan_in_pieces(&pieces, options, text, len);
  REQUIRE(whole.fault == pieces.fault);
  REQUIRE(whole.pos == pieces.pos);
  REQUIRE(whole.count == pieces.count);
  for (uint32_t i = 0; r == 0 && i < whole.count; i++) {
    REQUIRE(memcmp(&whole.nodes[i], &pieces.nodes[i], offsetof(struct hf_json_node, flags) + 1) == 0);
    REQUIRE(whole.nodes[i].start < whole.nodes[i].end && whole.nodes[i].end <= len);
    REQUIRE(whole.nodes[i].next > i && whole.nodes[i].next <= whole.count);
  }
  hf_json_scan_deinit(&whole);
  hf_json_scan_deinit(&pieces);
}

/* True if the text has an escape of a surrogate: jansson refuses lone ones, we forward them. */
static bool has_surrogate_escape(const char *text, size_t len) {
  for (size_t i = 0; i + 3 < len; i++)
    if (text[i] == '\\' && text[i + 1] == 'u' && (text[i + 2] | 0x20) == 'd' && text[i + 3] >= '8')
      return true;
  return false;
}

/* What jansson refuses for reasons of its own: it converts numbers, and its keys are C strings. */
static bool is_known_difference(enum json_error_code code, const char *text, size_t len) {
  switch ((int)code) {
  case json_error_numeric_overflow:
  case json_error_null_byte_in_key:
  case json_error_null_character:
    return true;
  case json_error_invalid_syntax:
    return has_surrogate_escape(text, len);
  default:
    return false;
  }
}

static void check_jansson(const char *text, size_t len) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  int r = hf_json_scan_feed(&scan, text, len, true);
  hf_json_scan_deinit(&scan);
  if (r == HF_ERR_LIMIT)
    return;
  json_error_t error;
  json_t *value = json_loadb(text, len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
  /* jansson takes a NUL between tokens for the end of the text (RFC 8259 allows none there). */
  if (value)
    REQUIRE(r == 0 || memchr(text, '\0', len));
  else if (r == 0)
    REQUIRE(is_known_difference(json_error_code(&error), text, len));
  json_decref(value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *text = (const char *)data;
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  check_pieces(&options, text, size);
  options.tree_depth = 2;
  options.expand_key = HF_STR("_meta");
  check_pieces(&options, text, size);
  options.max_bytes = 100;
  options.max_nodes = 10;
  options.max_depth = 5;
  check_pieces(&options, text, size);
  check_jansson(text, size);
  return 0;
}
