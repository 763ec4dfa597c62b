/* The events do not depend on how the stream was cut. */
#include "mcp/sse.h"
#include "require.h"

enum { MAX_EVENT = 200, LOG_MAX = 64 << 20 };

static int note_event(void *context, struct hf_sse_event *event) {
  struct hf_buf *log = context;
  int r = hf_buf_printf(log, "%d %d %d %lld %zu %zu %zu|", event->json, event->has_id, event->has_data,
                        (long long)event->retry_ms, event->type.len, event->id.len, event->data->len);
  if (r == 0)
    r = hf_buf_append_str(log, event->type);
  if (r == 0)
    r = hf_buf_append_str(log, event->id);
  return r == 0 ? hf_buf_append_str(log, hf_buf_str(event->data)) : r;
}

static int note_oversize(void *context, struct hf_str id) {
  struct hf_buf *log = context;
  int r = hf_buf_append_str(log, HF_STR("oversize"));
  return r == 0 ? hf_buf_append_str(log, id) : r;
}

static void parse(const char *text, size_t len, bool pieces, struct hf_buf *log) {
  struct hf_sse_handler handler = {log, note_event, note_oversize};
  struct hf_sse sse;
  hf_sse_init(&sse, MAX_EVENT, &handler);
  uint32_t state = (uint32_t)len;
  for (size_t at = 0; at < len;) {
    size_t part = pieces ? next_piece(&state, len - at) : len;
    REQUIRE(hf_sse_feed(&sse, text + at, part) == 0);
    at += part;
  }
  hf_sse_deinit(&sse);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct hf_buf whole, pieces;
  hf_buf_init(&whole, LOG_MAX);
  hf_buf_init(&pieces, LOG_MAX);
  parse((const char *)data, size, false, &whole);
  parse((const char *)data, size, true, &pieces);
  REQUIRE(hf_str_equal(hf_buf_str(&whole), hf_buf_str(&pieces)));
  hf_buf_deinit(&whole);
  hf_buf_deinit(&pieces);
  return 0;
}
