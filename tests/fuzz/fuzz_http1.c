/* What a response is does not depend on how the stream was cut; a complete one says where it ended, and bytes behind it
 * are never looked at. */
#include "base/error.h"
#include "require.h"
#include "upstream/http1.h"

struct outcome {
  int result; /* 0: complete; HF_ERR_AGAIN: wants more; else the error */
  int eof;    /* the verdict when the stream ends here */
  int status;
  bool keep_alive;
  size_t used;
  size_t headers;
  struct hf_buf body;
};

static void take(struct hf_http1_reader *reader, struct hf_str piece, struct outcome *out) {
  size_t done = 0;
  for (;;) {
    enum hf_http1_event event;
    struct hf_str body = {NULL, 0};
    size_t used = 0;
    out->result = hf_http1_read(reader, (struct hf_str){piece.ptr + done, piece.len - done}, &event, &body, &used);
    if (out->result < 0)
      return;
    REQUIRE(used <= piece.len - done);
    if (event == HF_HTTP1_BODY)
      REQUIRE(body.len > 0 && hf_buf_append_str(&out->body, body) == 0);
    if (event == HF_HTTP1_HEAD)
      REQUIRE(reader->status >= 200 && reader->status <= 599);
    done += used;
    out->used += used;
    if (event == HF_HTTP1_MORE) {
      REQUIRE(done == piece.len);
      out->result = HF_ERR_AGAIN;
    }
    if (event == HF_HTTP1_MORE || event == HF_HTTP1_END)
      return;
  }
}

static void read_all(struct hf_str text, bool pieces, struct outcome *out) {
  struct hf_http1_reader reader;
  hf_http1_reader_init(&reader);
  *out = (struct outcome){.result = HF_ERR_AGAIN};
  hf_buf_init(&out->body, 64 << 20);
  uint32_t state = (uint32_t)text.len;
  for (size_t at = 0; at < text.len && out->result == HF_ERR_AGAIN;) {
    size_t part = pieces ? next_piece(&state, text.len - at) : text.len;
    take(&reader, (struct hf_str){text.ptr + at, part}, out);
    at += part;
  }
  REQUIRE((out->result < 0 && out->result != HF_ERR_AGAIN) == (reader.fault != HF_HTTP1_FAULT_NONE));
  out->eof = hf_http1_read_eof(&reader);
  out->status = reader.status;
  out->keep_alive = reader.keep_alive;
  out->headers = reader.line_count;
  hf_http1_reader_deinit(&reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct hf_str text = {(const char *)data, size};
  struct outcome whole, pieces, again;
  read_all(text, false, &whole);
  read_all(text, true, &pieces);
  REQUIRE(whole.result == pieces.result);
  REQUIRE(whole.eof == pieces.eof);
  REQUIRE(hf_str_equal(hf_buf_str(&whole.body), hf_buf_str(&pieces.body)));
  if (whole.result == 0) {
    REQUIRE(whole.status == pieces.status && whole.keep_alive == pieces.keep_alive && whole.used == pieces.used);
    read_all((struct hf_str){text.ptr, whole.used}, true, &again);
    REQUIRE(again.result == 0 && again.used == whole.used && again.headers == whole.headers);
    hf_buf_deinit(&again.body);
  }
  hf_buf_deinit(&whole.body);
  hf_buf_deinit(&pieces.body);
  return 0;
}
