#include "mcp/sse.h"

#include "base/error.h"
#include "mcp/message.h"

enum { KEEP_BYTES = 64 << 10, KEEP_NODES = 1024, RETRY_DIGITS_MAX = 12 };

enum state { ST_FIELD, ST_VALUE, ST_SKIP };

enum kind { KIND_OTHER, KIND_DATA, KIND_EVENT, KIND_ID, KIND_RETRY };

static const struct {
  struct hf_str name;
  enum kind kind;
} field_names[] = {
    {{"data", 4}, KIND_DATA}, {{"event", 5}, KIND_EVENT}, {{"id", 2}, KIND_ID}, {{"retry", 5}, KIND_RETRY}};

static const char bom[] = "\xef\xbb\xbf";
enum { BOM_LEN = 3, BOM_NONE = 4 };

void hf_sse_init(struct hf_sse *sse, size_t max_event, const struct hf_sse_handler *handler) {
  *sse = (struct hf_sse){.handler = *handler, .retry_ms = -1};
  struct hf_json_options options;
  hf_message_scan_options(max_event, false, &options);
  hf_json_scan_init(&sse->scan, &options);
  hf_buf_init(&sse->data, max_event);
  hf_buf_init(&sse->id, HF_SSE_ID_MAX);
  hf_buf_init(&sse->next_id, HF_SSE_ID_MAX);
  hf_buf_init(&sse->type, HF_SSE_TYPE_MAX);
  hf_buf_init(&sse->line, HF_SSE_ID_MAX);
}

void hf_sse_deinit(struct hf_sse *sse) {
  hf_json_scan_deinit(&sse->scan);
  hf_buf_deinit(&sse->data);
  hf_buf_deinit(&sse->id);
  hf_buf_deinit(&sse->next_id);
  hf_buf_deinit(&sse->type);
  hf_buf_deinit(&sse->line);
}

bool hf_sse_mid_event(const struct hf_sse *sse) {
  return sse->has_data || sse->has_id || sse->dropping || sse->retry_ms >= 0 || sse->state != ST_FIELD ||
         sse->field_len > 0;
}

static void reset_event(struct hf_sse *sse) {
  hf_buf_reset(&sse->data, KEEP_BYTES);
  hf_json_scan_reset(&sse->scan, KEEP_NODES);
  hf_buf_reset(&sse->type, HF_SSE_TYPE_MAX);
  hf_buf_reset(&sse->next_id, HF_SSE_ID_MAX);
  sse->has_id = sse->has_data = sse->dropping = false;
  sse->retry_ms = -1;
}

/* The event has grown too long: tells so at once, for the caller whose answer it is waits. */
static int drop_event(struct hf_sse *sse) {
  sse->dropping = true;
  int r = sse->handler.oversize(sse->handler.context, hf_message_peek_id(&sse->scan, hf_buf_str(&sse->data)));
  hf_buf_reset(&sse->data, 0);
  hf_json_scan_reset(&sse->scan, KEEP_NODES);
  return r;
}

static int append_data(struct hf_sse *sse, const char *bytes, size_t len) {
  if (sse->dropping)
    return 0;
  size_t room = sse->data.max - sse->data.len;
  int r = hf_buf_append(&sse->data, bytes, len < room ? len : room);
  if (r < 0)
    return r;
  /* The verdict waits until the event ends; a fault sticks. */
  r = hf_json_scan_feed(&sse->scan, sse->data.data, sse->data.len, false);
  if (r == HF_ERR_NOMEM)
    return r;
  return len > room ? drop_event(sse) : 0;
}

static int begin_value(struct hf_sse *sse) {
  struct hf_str name = {sse->field, sse->field_len};
  sse->kind = KIND_OTHER;
  for (size_t i = 0; i < sizeof field_names / sizeof field_names[0]; i++)
    if (hf_str_equal(field_names[i].name, name))
      sse->kind = (uint8_t)field_names[i].kind;
  sse->state = sse->kind == KIND_OTHER ? ST_SKIP : ST_VALUE;
  sse->space = true;
  sse->too_long = false;
  hf_buf_reset(&sse->line, HF_SSE_ID_MAX);
  if (sse->kind != KIND_DATA)
    return 0;
  bool first = !sse->has_data;
  sse->has_data = true;
  return first ? 0 : append_data(sse, "\n", 1);
}

static int read_value(struct hf_sse *sse, const char *bytes, size_t len) {
  if (len > 0 && sse->space) {
    sse->space = false;
    if (bytes[0] == ' ') {
      bytes++;
      len--;
    }
  }
  if (sse->kind == KIND_DATA)
    return len ? append_data(sse, bytes, len) : 0;
  int r = hf_buf_append(&sse->line, bytes, len);
  if (r == HF_ERR_LIMIT) {
    sse->too_long = true;
    return 0;
  }
  return r;
}

/* A part of a line without its end. */
static int read_part(struct hf_sse *sse, const char *bytes, size_t len) {
  if (sse->state == ST_FIELD) {
    size_t i = 0;
    while (i < len && bytes[i] != ':' && sse->field_len < HF_SSE_FIELD_MAX)
      sse->field[sse->field_len++] = bytes[i++];
    if (i == len)
      return 0;
    if (bytes[i] != ':' || sse->field_len == 0) {
      sse->state = ST_SKIP; /* a name that is none of ours, or a comment */
      return 0;
    }
    int r = begin_value(sse);
    if (r != 0)
      return r;
    bytes += i + 1;
    len -= i + 1;
  }
  return sse->state == ST_VALUE ? read_value(sse, bytes, len) : 0;
}

static int copy_line(struct hf_sse *sse, struct hf_buf *to) {
  hf_buf_reset(to, to->max);
  return hf_buf_append_str(to, hf_buf_str(&sse->line));
}

/* The value of an event, id or retry line is complete. */
static int end_value(struct hf_sse *sse) {
  struct hf_str value = hf_buf_str(&sse->line);
  int r = 0;
  if (sse->kind == KIND_EVENT && value.len <= HF_SSE_TYPE_MAX && !sse->too_long) {
    r = copy_line(sse, &sse->type);
  } else if (sse->kind == KIND_ID && !sse->too_long && !memchr(value.ptr, '\0', value.len)) {
    sse->has_id = true;
    r = copy_line(sse, &sse->next_id);
  } else if (sse->kind == KIND_RETRY && value.len > 0 && value.len <= RETRY_DIGITS_MAX) {
    unsigned long long retry_ms;
    if (hf_str_to_u64(value, INT64_MAX, &retry_ms) == 0)
      sse->retry_ms = (int64_t)retry_ms;
  }
  return r;
}

static void take_id(struct hf_sse *sse) {
  struct hf_buf old = sse->id;
  sse->id = sse->next_id;
  sse->next_id = old;
}

static int dispatch(struct hf_sse *sse) {
  int r = 0;
  if (sse->has_id)
    take_id(sse);
  if (!sse->dropping && (sse->has_data || sse->has_id || sse->retry_ms >= 0)) {
    struct hf_sse_event event = {
        .type = sse->type.len ? hf_buf_str(&sse->type) : HF_STR("message"),
        .has_id = sse->has_id,
        .id = hf_buf_str(&sse->id),
        .has_data = sse->has_data,
        .retry_ms = sse->retry_ms,
        .data = &sse->data,
        .scan = &sse->scan,
        .json = hf_json_scan_feed(&sse->scan, sse->data.data, sse->data.len, true),
    };
    r = event.json == HF_ERR_NOMEM ? HF_ERR_NOMEM : sse->handler.event(sse->handler.context, &event);
  }
  reset_event(sse);
  return r;
}

static int end_line(struct hf_sse *sse) {
  int r = 0;
  if (sse->state == ST_FIELD && sse->field_len == 0) {
    r = dispatch(sse);
  } else {
    if (sse->state == ST_FIELD) /* a name alone: an empty value */
      r = begin_value(sse);
    if (r == 0 && sse->state == ST_VALUE && sse->kind != KIND_DATA)
      r = end_value(sse);
  }
  sse->state = ST_FIELD;
  sse->field_len = 0;
  return r;
}

/* Takes a byte order mark at the start of the stream; returns the bytes it took. */
static size_t skip_bom(struct hf_sse *sse, const char *bytes, size_t len) {
  size_t i = 0;
  while (i < len && sse->bom < BOM_LEN) {
    if (bytes[i] != bom[sse->bom]) {
      if (sse->bom > 0)
        sse->state = ST_SKIP; /* its first bytes alone are an unknown field's name */
      sse->bom = BOM_NONE;
      break;
    }
    sse->bom++;
    i++;
  }
  return i;
}

int hf_sse_feed(struct hf_sse *sse, const char *bytes, size_t len) {
  size_t at = skip_bom(sse, bytes, len);
  const char *feed = NULL; /* the next line feed, or the end; found once, so that CR alone stays linear */
  while (at < len) {
    if (sse->skip_lf) {
      sse->skip_lf = false;
      if (bytes[at] == '\n') {
        at++;
        continue;
      }
    }
    if (!feed || feed < bytes + at) {
      feed = memchr(bytes + at, '\n', len - at);
      if (!feed)
        feed = bytes + len;
    }
    size_t left = (size_t)(feed - (bytes + at));
    const char *cr = memchr(bytes + at, '\r', left);
    const char *end = cr ? cr : feed;
    int r = read_part(sse, bytes + at, (size_t)(end - (bytes + at)));
    if (r != 0)
      return r;
    if (end == bytes + len)
      return 0;
    sse->skip_lf = *end == '\r';
    at = (size_t)(end - bytes) + 1;
    r = end_line(sse);
    if (r != 0)
      return r;
  }
  return 0;
}
