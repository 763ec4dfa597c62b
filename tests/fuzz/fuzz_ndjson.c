/* Messages and drops do not depend on how the stream was cut, each message is one JSON text, and behind a newline
 * reading starts afresh. */
#include "mcp/ndjson.h"
#include "require.h"

enum { MAX_FRAME = 200, LOG_MAX = 64 << 20 };

struct log {
  struct hf_buf text;
  size_t frames;
};

static int note_frame(void *context, struct hf_buf *buf, struct hf_json_scan *scan) {
  struct log *log = context;
  log->frames++;
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  struct hf_json_scan again;
  hf_json_scan_init(&again, &options);
  REQUIRE(hf_json_scan_feed(&again, buf->data, buf->len, true) == 0);
  hf_json_scan_deinit(&again);
  REQUIRE(scan->count > 0 && !memchr(buf->data, '\n', buf->len));
  int r = hf_buf_printf(&log->text, "frame %zu:", buf->len);
  return r == 0 ? hf_buf_append_str(&log->text, hf_buf_str(buf)) : r;
}

static int note_drop(void *context, const struct hf_ndjson_drop *drop) {
  struct log *log = context;
  int r = hf_buf_printf(&log->text, "drop %d %d:", (int)drop->kind, (int)drop->fault);
  if (r == 0 && drop->id.ptr)
    r = hf_buf_append_str(&log->text, drop->id);
  /* How much of a broken message had come depends on the cut; noise is told when its line is complete. */
  if (r == 0 && drop->kind == HF_NDJSON_NOISE)
    r = hf_buf_printf(&log->text, "%zu:", drop->len);
  if (r == 0 && drop->kind == HF_NDJSON_NOISE)
    r = hf_buf_append_str(&log->text, drop->head);
  return r;
}

static void read_all(const char *text, size_t len, bool pieces, struct log *log) {
  struct hf_ndjson_handler handler = {log, note_frame, note_drop};
  struct hf_ndjson nd;
  hf_ndjson_init(&nd, MAX_FRAME, &handler);
  uint32_t state = (uint32_t)len;
  for (size_t at = 0; at < len;) {
    size_t part = pieces ? next_piece(&state, len - at) : len;
    REQUIRE(hf_ndjson_feed(&nd, text + at, part) == 0);
    at += part;
  }
  static const char last[] = "\n{\"end\":1}\n";
  size_t before = log->frames;
  REQUIRE(hf_ndjson_feed(&nd, last, sizeof last - 1) == 0);
  REQUIRE(log->frames == before + 1);
  REQUIRE(hf_ndjson_eof(&nd) == 0);
  hf_ndjson_deinit(&nd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct log whole = {.frames = 0}, pieces = {.frames = 0};
  hf_buf_init(&whole.text, LOG_MAX);
  hf_buf_init(&pieces.text, LOG_MAX);
  read_all((const char *)data, size, false, &whole);
  read_all((const char *)data, size, true, &pieces);
  REQUIRE(hf_str_equal(hf_buf_str(&whole.text), hf_buf_str(&pieces.text)));
  hf_buf_deinit(&whole.text);
  hf_buf_deinit(&pieces.text);
  return 0;
}
