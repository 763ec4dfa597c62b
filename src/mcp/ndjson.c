#include "mcp/ndjson.h"

#include "base/error.h"
#include "mcp/message.h"

enum { CHUNK_MIN = 256, KEEP_BYTES = 64 << 10, KEEP_NODES = 1024 };

enum state {
  ST_START,   /* at a line's start, or behind a message */
  ST_BRACKET, /* behind `[`: an array of messages, or a banner such as "[info] ready" */
  ST_FRAME,
  ST_NOISE,
  ST_DROP, /* the rest of a line that was told */
};

static const char bom[] = "\xef\xbb\xbf";
enum { BOM_LEN = 3 };

void hf_ndjson_init(struct hf_ndjson *nd, size_t max_frame, const struct hf_ndjson_handler *handler) {
  *nd = (struct hf_ndjson){.handler = *handler};
  struct hf_json_options options;
  hf_message_scan_options(max_frame, true, &options);
  hf_json_scan_init(&nd->scan, &options);
  /* One byte more than allowed is what shows that there is too much. */
  hf_buf_init(&nd->buf, max_frame + 1);
}

void hf_ndjson_limit(struct hf_ndjson *nd, uint32_t max_depth, uint32_t max_nodes) {
  struct hf_json_options options = nd->scan.options;
  options.max_depth = max_depth;
  options.max_nodes = max_nodes;
  hf_json_scan_deinit(&nd->scan);
  hf_json_scan_init(&nd->scan, &options);
}

void hf_ndjson_deinit(struct hf_ndjson *nd) {
  hf_json_scan_deinit(&nd->scan);
  hf_buf_deinit(&nd->buf);
}

static bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void restart(struct hf_ndjson *nd, enum state state) {
  hf_json_scan_reset(&nd->scan, KEEP_NODES);
  hf_buf_reset(&nd->buf, KEEP_BYTES);
  nd->noise = 0;
  nd->bom = 0;
  nd->state = (uint8_t)state;
}

static int tell(struct hf_ndjson *nd, enum hf_ndjson_drop_kind kind, size_t len, enum state next) {
  struct hf_str text = hf_buf_str(&nd->buf);
  struct hf_ndjson_drop drop = {.kind = kind, .head = text, .len = len};
  if (drop.head.len > HF_NDJSON_HEAD_MAX)
    drop.head.len = HF_NDJSON_HEAD_MAX;
  if (kind != HF_NDJSON_NOISE) {
    drop.id = hf_message_peek_id(&nd->scan, text);
    drop.fault = nd->scan.fault;
  }
  int r = nd->handler.dropped(nd->handler.context, &drop);
  restart(nd, next);
  return r;
}

/* Collects the head of a line that is no message. */
static int add_noise(struct hf_ndjson *nd, const char *bytes, size_t len) {
  nd->noise += len;
  size_t room = nd->buf.len < HF_NDJSON_HEAD_MAX ? HF_NDJSON_HEAD_MAX - nd->buf.len : 0;
  if (room > nd->buf.max - nd->buf.len)
    room = nd->buf.max - nd->buf.len;
  return hf_buf_append(&nd->buf, bytes, len < room ? len : room);
}

static int end_noise(struct hf_ndjson *nd) {
  if (nd->noise == nd->buf.len && nd->buf.len && nd->buf.data[nd->buf.len - 1] == '\r') {
    nd->buf.len--;
    nd->noise--;
  }
  return tell(nd, HF_NDJSON_NOISE, nd->noise, ST_START);
}

/* Reads what stands between messages. Takes one byte, or none where the next state is to read it. */
static int read_start(struct hf_ndjson *nd, char c, size_t *ret_taken) {
  *ret_taken = 1;
  if (c == bom[nd->bom]) {
    nd->bom = (uint8_t)((nd->bom + 1) % BOM_LEN);
    return 0;
  }
  if (nd->bom > 0) {
    *ret_taken = 0;
    nd->state = ST_NOISE;
    return add_noise(nd, bom, nd->bom);
  }
  if (is_space(c))
    return 0;
  *ret_taken = 0;
  nd->state = c == '{' ? ST_FRAME : c == '[' ? ST_BRACKET : ST_NOISE;
  return 0;
}

static int read_bracket(struct hf_ndjson *nd, char c, size_t *ret_taken) {
  *ret_taken = 0;
  bool first = nd->buf.len == 0;
  bool more = first || (is_space(c) && c != '\n');
  if (more && nd->buf.len < HF_NDJSON_HEAD_MAX && nd->buf.len + 1 < nd->buf.max) {
    *ret_taken = 1;
    return hf_buf_append(&nd->buf, &c, 1);
  }
  if (c == '{') {
    nd->state = ST_FRAME;
  } else {
    nd->state = ST_NOISE;
    nd->noise = nd->buf.len;
  }
  return 0;
}

static int deliver(struct hf_ndjson *nd) {
  nd->buf.len = nd->scan.pos;
  int r = nd->handler.frame(nd->handler.context, &nd->buf, &nd->scan);
  restart(nd, ST_START);
  return r;
}

/* Feeds the scanner a part of what is there, no more than as much again as it has: so bytes behind a message are copied
 * seldom enough for the whole to stay linear. */
static int read_frame(struct hf_ndjson *nd, const char *bytes, size_t len, size_t *ret_taken) {
  size_t before = nd->buf.len;
  size_t part = before > CHUNK_MIN ? before : CHUNK_MIN;
  if (part > len)
    part = len;
  if (part > nd->buf.max - before)
    part = nd->buf.max - before;
  const char *newline = memchr(bytes, '\n', part);
  if (newline)
    part = (size_t)(newline - bytes);

  *ret_taken = part;
  int r = hf_buf_append(&nd->buf, bytes, part);
  if (r < 0)
    return r;
  r = hf_json_scan_feed(&nd->scan, nd->buf.data, nd->buf.len, false);
  if (r == 0) {
    *ret_taken = nd->scan.pos - before;
    return deliver(nd);
  }
  if (r == HF_ERR_NOMEM)
    return r;
  if (r == HF_ERR_LIMIT)
    return tell(nd, HF_NDJSON_OVERSIZE, nd->buf.len, ST_DROP);
  if (r != HF_ERR_AGAIN)
    return tell(nd, HF_NDJSON_BROKEN, nd->buf.len, ST_DROP);
  if (!newline)
    return 0;
  (*ret_taken)++;
  nd->scan.fault = HF_JSON_FAULT_CUT;
  return tell(nd, HF_NDJSON_BROKEN, nd->buf.len, ST_START);
}

static int read_rest(struct hf_ndjson *nd, const char *bytes, size_t len, size_t *ret_taken) {
  const char *newline = memchr(bytes, '\n', len);
  size_t part = newline ? (size_t)(newline - bytes) : len;
  *ret_taken = part + (newline != NULL);
  if (nd->state == ST_NOISE) {
    int r = add_noise(nd, bytes, part);
    return r < 0 || !newline ? r : end_noise(nd);
  }
  if (newline)
    restart(nd, ST_START);
  return 0;
}

int hf_ndjson_feed(struct hf_ndjson *nd, const char *bytes, size_t len) {
  size_t at = 0;
  while (at < len) {
    size_t taken = 0;
    int r = 0;
    switch ((enum state)nd->state) {
    case ST_START:
      r = read_start(nd, bytes[at], &taken);
      break;
    case ST_BRACKET:
      r = read_bracket(nd, bytes[at], &taken);
      break;
    case ST_FRAME:
      r = read_frame(nd, bytes + at, len - at, &taken);
      break;
    case ST_NOISE:
    case ST_DROP:
      r = read_rest(nd, bytes + at, len - at, &taken);
      break;
    }
    if (r != 0)
      return r;
    at += taken;
  }
  return 0;
}

int hf_ndjson_eof(struct hf_ndjson *nd) {
  switch ((enum state)nd->state) {
  case ST_FRAME:
    return tell(nd, HF_NDJSON_CUT, nd->buf.len, ST_START);
  case ST_BRACKET:
    nd->noise = nd->buf.len;
    return end_noise(nd);
  case ST_NOISE:
    return end_noise(nd);
  case ST_START:
  case ST_DROP:
    break;
  }
  restart(nd, ST_START);
  return 0;
}

static bool has_break(struct hf_str s) {
  return memchr(s.ptr, '\n', s.len) || memchr(s.ptr, '\r', s.len);
}

static int add_without_breaks(struct hf_pieces *out, struct hf_str bytes) {
  struct hf_buf buf;
  hf_buf_init(&buf, bytes.len);
  int r = hf_buf_append_str(&buf, bytes);
  for (size_t i = 0; r == 0 && i < buf.len; i++)
    if (buf.data[i] == '\n' || buf.data[i] == '\r')
      buf.data[i] = ' ';
  struct hf_blob *blob = r == 0 ? hf_blob_take(&buf) : NULL;
  if (r == 0)
    r = blob ? hf_pieces_add(out, blob, hf_blob_str(blob)) : HF_ERR_NOMEM;
  hf_blob_unref(blob);
  hf_buf_deinit(&buf);
  return r;
}

int hf_ndjson_write(struct hf_pieces *out, const struct hf_pieces *message) {
  int r = 0;
  for (size_t i = 0; r == 0 && i < message->count; i++) {
    const struct hf_piece *piece = &message->piece[i];
    r = has_break(piece->bytes) ? add_without_breaks(out, piece->bytes) : hf_pieces_add(out, piece->blob, piece->bytes);
  }
  return r == 0 ? hf_pieces_add_copy(out, HF_STR("\n")) : r;
}
