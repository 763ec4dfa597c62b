#include "upstream/http1.h"

#include "base/error.h"
#include "mcp/field_value.h"

enum state {
  STATUS_LINE,
  HEADER_LINE,
  LENGTH_BODY,
  CLOSE_BODY,
  CHUNK_SIZE,
  CHUNK_EXTENSION,
  CHUNK_SIZE_LF,
  CHUNK_DATA,
  CHUNK_DATA_CR,
  CHUNK_DATA_LF,
  TRAILER_LINE,
  COMPLETE,
  FAILED,
};

enum { KEEP_HEAD_BYTES = 4096, CHUNK_DIGITS_MAX = 15, CHUNK_EXTENSION_MAX = 1024 };

static bool is_field_value(struct hf_str s) {
  for (size_t i = 0; i < s.len; i++) {
    unsigned char c = (unsigned char)s.ptr[i];
    if ((c < 0x20 && c != '\t') || c == 0x7f)
      return false;
  }
  return true;
}

int hf_http1_write_start(struct hf_buf *buf, struct hf_str method, struct hf_str target) {
  if (!hf_field_name_valid(method) || target.len == 0)
    return HF_ERR_INVALID;
  for (size_t i = 0; i < target.len; i++)
    if (target.ptr[i] <= 0x20 || target.ptr[i] >= 0x7f)
      return HF_ERR_INVALID;

  int r = hf_buf_append_str(buf, method);
  if (r == 0)
    r = hf_buf_append(buf, " ", 1);
  if (r == 0)
    r = hf_buf_append_str(buf, target);
  if (r == 0)
    r = hf_buf_append_str(buf, HF_STR(" HTTP/1.1\r\n"));
  return r;
}

int hf_http1_write_header(struct hf_buf *buf, struct hf_str name, struct hf_str value) {
  if (!hf_field_name_valid(name) || !is_field_value(value))
    return HF_ERR_INVALID;
  int r = hf_buf_append_str(buf, name);
  if (r == 0)
    r = hf_buf_append(buf, ": ", 2);
  if (r == 0)
    r = hf_buf_append_str(buf, value);
  if (r == 0)
    r = hf_buf_append(buf, "\r\n", 2);
  return r;
}

int hf_http1_write_end(struct hf_buf *buf) {
  return hf_buf_append(buf, "\r\n", 2);
}

const char *hf_http1_fault_text(enum hf_http1_fault fault) {
  static const char *const texts[] = {
#define HF_HTTP1_FAULT_TEXT(name, text) text,
      HF_HTTP1_FAULT_LIST(HF_HTTP1_FAULT_TEXT)
#undef HF_HTTP1_FAULT_TEXT
  };
  return (size_t)fault < sizeof texts / sizeof *texts ? texts[fault] : "unknown fault";
}

void hf_http1_reader_init(struct hf_http1_reader *reader) {
  hf_buf_init(&reader->head, HF_HTTP1_HEAD_MAX);
  hf_http1_reader_reset(reader);
}

void hf_http1_reader_deinit(struct hf_http1_reader *reader) {
  hf_buf_deinit(&reader->head);
}

static void start_over(struct hf_http1_reader *reader) {
  hf_buf_reset(&reader->head, KEEP_HEAD_BYTES);
  reader->state = STATUS_LINE;
  reader->status = 0;
  reader->keep_alive = false;
  reader->close_framed = false;
  reader->minor0 = false;
  reader->line_start = 0;
  reader->line_count = 0;
  reader->remaining = 0;
  reader->digits = 0;
  reader->trailer_bytes = 0;
}

void hf_http1_reader_reset(struct hf_http1_reader *reader) {
  start_over(reader);
  reader->interim = 0;
  reader->got_anything = false;
  reader->fault = HF_HTTP1_FAULT_NONE;
}

static int fail(struct hf_http1_reader *reader, enum hf_http1_fault fault) {
  reader->state = FAILED;
  reader->fault = fault;
  reader->keep_alive = false;
  switch (fault) {
  case HF_HTTP1_FAULT_HEAD_SIZE:
  case HF_HTTP1_FAULT_HEADER_COUNT:
  case HF_HTTP1_FAULT_INTERIM:
    return HF_ERR_LIMIT;
  case HF_HTTP1_FAULT_NOMEM:
    return HF_ERR_NOMEM;
  case HF_HTTP1_FAULT_CUT:
    return HF_ERR_INCOMPLETE;
  case HF_HTTP1_FAULT_NONE:
  case HF_HTTP1_FAULT_HTTP2:
  case HF_HTTP1_FAULT_TLS:
  case HF_HTTP1_FAULT_NOT_HTTP:
  case HF_HTTP1_FAULT_STATUS:
  case HF_HTTP1_FAULT_SWITCHED:
  case HF_HTTP1_FAULT_LINE_END:
  case HF_HTTP1_FAULT_FOLDED:
  case HF_HTTP1_FAULT_HEADER:
  case HF_HTTP1_FAULT_BOTH_FRAMINGS:
  case HF_HTTP1_FAULT_LENGTH_REPEATED:
  case HF_HTTP1_FAULT_LENGTH:
  case HF_HTTP1_FAULT_CODING:
  case HF_HTTP1_FAULT_CHUNK_SIZE:
  case HF_HTTP1_FAULT_CHUNK_END:
  case HF_HTTP1_FAULT_TRAILER:
    break;
  }
  return HF_ERR_SYNTAX;
}

/* What the first bytes are when they don't begin a status line. An HTTP/2 server opens with a SETTINGS frame, and a TLS
 * server answers plain text with an alert: both deserve a word that helps. */
static enum hf_http1_fault foreign_protocol(struct hf_str head) {
  if (hf_str_starts(head, HF_STR("HTTP/2")) || hf_str_starts(head, HF_STR("PRI ")))
    return HF_HTTP1_FAULT_HTTP2;
  if (head.len >= 4 && head.ptr[0] == 0 && head.ptr[1] == 0 && head.ptr[3] == 4)
    return HF_HTTP1_FAULT_HTTP2;
  if (head.len >= 2 && (head.ptr[0] == 0x15 || head.ptr[0] == 0x16) && head.ptr[1] == 3)
    return HF_HTTP1_FAULT_TLS;
  return HF_HTTP1_FAULT_NOT_HTTP;
}

/* Checks what is there of a status line that has not ended: a server that speaks something else may never send a line
 * end, and should not be waited for. */
static bool may_be_status_line(struct hf_str head) {
  static const char prefix[] = "HTTP/1.";
  size_t n = head.len < sizeof prefix - 1 ? head.len : sizeof prefix - 1;
  return memcmp(head.ptr, prefix, n) == 0;
}

static int parse_status_line(struct hf_http1_reader *reader, struct hf_str line) {
  if (line.len < 12 || !hf_str_starts(line, HF_STR("HTTP/1.")))
    return fail(reader, HF_HTTP1_FAULT_STATUS);
  if ((line.ptr[7] != '0' && line.ptr[7] != '1') || line.ptr[8] != ' ')
    return fail(reader, HF_HTTP1_FAULT_STATUS);
  int status = 0;
  for (size_t i = 9; i < 12; i++) {
    if (line.ptr[i] < '0' || line.ptr[i] > '9')
      return fail(reader, HF_HTTP1_FAULT_STATUS);
    status = status * 10 + (line.ptr[i] - '0');
  }
  if (status < 100 || status > 599)
    return fail(reader, HF_HTTP1_FAULT_STATUS);
  if (line.len > 12 && (line.ptr[12] != ' ' || !is_field_value(line)))
    return fail(reader, HF_HTTP1_FAULT_STATUS);
  reader->minor0 = line.ptr[7] == '0';
  reader->status = status;
  reader->state = HEADER_LINE;
  return 0;
}

static int parse_header_line(struct hf_http1_reader *reader, struct hf_str line) {
  if (line.ptr[0] == ' ' || line.ptr[0] == '\t')
    return fail(reader, HF_HTTP1_FAULT_FOLDED);
  const char *colon = memchr(line.ptr, ':', line.len);
  if (!colon)
    return fail(reader, HF_HTTP1_FAULT_HEADER);
  struct hf_str name = {line.ptr, (size_t)(colon - line.ptr)};
  struct hf_str value = hf_str_trim((struct hf_str){colon + 1, line.len - name.len - 1});
  if (!hf_field_name_valid(name) || !is_field_value(value))
    return fail(reader, HF_HTTP1_FAULT_HEADER);
  if (reader->line_count == HF_HTTP1_HEADERS_MAX)
    return fail(reader, HF_HTTP1_FAULT_HEADER_COUNT);
  reader->lines[reader->line_count++] = (struct hf_http1_line){
      (uint32_t)(name.ptr - reader->head.data),
      (uint32_t)name.len,
      (uint32_t)(value.ptr - reader->head.data),
      (uint32_t)value.len,
  };
  return 0;
}

static int decide_framing(struct hf_http1_reader *reader) {
  size_t lengths = hf_http1_header_count(reader, HF_STR("content-length"));
  size_t codings = hf_http1_header_count(reader, HF_STR("transfer-encoding"));
  if (lengths && codings)
    return fail(reader, HF_HTTP1_FAULT_BOTH_FRAMINGS);
  if (lengths > 1)
    return fail(reader, HF_HTTP1_FAULT_LENGTH_REPEATED);

  unsigned long long length = 0;
  if (lengths && hf_str_to_u64(hf_http1_header(reader, HF_STR("content-length")), INT64_MAX, &length) < 0)
    return fail(reader, HF_HTTP1_FAULT_LENGTH);
  if (codings) {
    struct hf_str coding = hf_http1_header(reader, HF_STR("transfer-encoding"));
    if (codings > 1 || reader->minor0 || !hf_str_equal_nocase(coding, HF_STR("chunked")))
      return fail(reader, HF_HTTP1_FAULT_CODING);
  }

  bool bodiless = reader->status == 204 || reader->status == 304;
  if (bodiless) {
    /* A length here describes a body that is not sent, unless the server thinks otherwise: then its bytes would be
     * taken for the next response. */
    if (length || codings)
      reader->keep_alive = false;
    reader->state = COMPLETE;
  } else if (codings) {
    reader->state = CHUNK_SIZE;
  } else if (lengths) {
    reader->remaining = length;
    reader->state = length ? LENGTH_BODY : COMPLETE;
  } else {
    reader->close_framed = true;
    reader->keep_alive = false;
    reader->state = CLOSE_BODY;
  }
  return 0;
}

static void decide_keep_alive(struct hf_http1_reader *reader) {
  reader->keep_alive = !reader->minor0;
  for (uint32_t i = 0; i < reader->line_count; i++) {
    const struct hf_http1_line *line = &reader->lines[i];
    if (!hf_str_equal_nocase((struct hf_str){reader->head.data + line->name, line->name_len}, HF_STR("connection")))
      continue;
    struct hf_str value = {reader->head.data + line->value, line->value_len};
    if (hf_http1_has_token(value, HF_STR("close"))) {
      reader->keep_alive = false;
      return;
    }
    if (hf_http1_has_token(value, HF_STR("keep-alive")))
      reader->keep_alive = true;
  }
}

/* The empty line has come. An interim response is forgotten and the next one awaited. */
static int finish_head(struct hf_http1_reader *reader, bool *ret_head) {
  *ret_head = false;
  if (reader->status == 101)
    return fail(reader, HF_HTTP1_FAULT_SWITCHED);
  if (reader->status < 200) {
    if (++reader->interim > HF_HTTP1_INTERIM_MAX)
      return fail(reader, HF_HTTP1_FAULT_INTERIM);
    start_over(reader);
    return 0;
  }
  decide_keep_alive(reader);
  *ret_head = true;
  return decide_framing(reader);
}

/* Takes one line, or a part of it, into `head`. Returns 0 with *ret_line absent when it has not ended. */
static int take_line(struct hf_http1_reader *reader, struct hf_str bytes, struct hf_str *ret_line, size_t *ret_used) {
  *ret_line = (struct hf_str){NULL, 0};
  const char *lf = memchr(bytes.ptr, '\n', bytes.len);
  size_t used = lf ? (size_t)(lf - bytes.ptr) + 1 : bytes.len;
  int r = hf_buf_append(&reader->head, bytes.ptr, used);
  if (r < 0)
    return fail(reader, r == HF_ERR_NOMEM ? HF_HTTP1_FAULT_NOMEM : HF_HTTP1_FAULT_HEAD_SIZE);
  *ret_used = used;
  if (!lf)
    return 0;
  struct hf_str line = {reader->head.data + reader->line_start, reader->head.len - reader->line_start - 1};
  if (line.len == 0 || line.ptr[line.len - 1] != '\r')
    return fail(reader, HF_HTTP1_FAULT_LINE_END);
  line.len--;
  if (memchr(line.ptr, '\r', line.len))
    return fail(reader, HF_HTTP1_FAULT_LINE_END);
  reader->line_start = (uint32_t)reader->head.len;
  *ret_line = line;
  return 0;
}

static int read_head(struct hf_http1_reader *reader, struct hf_str bytes, bool *ret_head, size_t *ret_used) {
  *ret_head = false;
  size_t total = 0;
  while (total < bytes.len && !*ret_head) {
    struct hf_str line;
    size_t used = 0;
    int r = take_line(reader, (struct hf_str){bytes.ptr + total, bytes.len - total}, &line, &used);
    total += used;
    if (reader->state == STATUS_LINE && !may_be_status_line(hf_buf_str(&reader->head)))
      return fail(reader, foreign_protocol(hf_buf_str(&reader->head)));
    if (r < 0)
      return r;
    if (!line.ptr)
      break;
    if (reader->state == STATUS_LINE)
      r = parse_status_line(reader, line);
    else if (line.len == 0)
      r = finish_head(reader, ret_head);
    else
      r = parse_header_line(reader, line);
    if (r < 0)
      return r;
  }
  *ret_used = total;
  return 0;
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return -1;
}

static void begin_chunk(struct hf_http1_reader *reader) {
  reader->digits = 0;
  reader->trailer_bytes = 0;
  reader->trailer_line_empty = true;
  reader->state = reader->remaining ? CHUNK_DATA : TRAILER_LINE;
}

static int chunk_size_byte(struct hf_http1_reader *reader, char c) {
  int digit = hex_digit(c);
  if (digit >= 0) {
    if (++reader->digits > CHUNK_DIGITS_MAX)
      return fail(reader, HF_HTTP1_FAULT_CHUNK_SIZE);
    reader->remaining = reader->remaining << 4 | (uint64_t)digit;
    return 0;
  }
  if (reader->digits == 0 || (c != ';' && c != '\r'))
    return fail(reader, HF_HTTP1_FAULT_CHUNK_SIZE);
  reader->trailer_bytes = 0;
  reader->state = c == ';' ? CHUNK_EXTENSION : CHUNK_SIZE_LF;
  return 0;
}

static int chunk_extension_byte(struct hf_http1_reader *reader, char c) {
  if (c == '\r') {
    reader->state = CHUNK_SIZE_LF;
    return 0;
  }
  bool odd = ((unsigned char)c < 0x20 && c != '\t') || c == 0x7f;
  if (odd || ++reader->trailer_bytes > CHUNK_EXTENSION_MAX)
    return fail(reader, HF_HTTP1_FAULT_CHUNK_SIZE);
  return 0;
}

/* Trailers are dropped, but their end must be found as strictly as that of a head. `remaining` is 1 behind a CR. */
static int trailer_byte(struct hf_http1_reader *reader, char c) {
  if (++reader->trailer_bytes > HF_HTTP1_HEAD_MAX)
    return fail(reader, HF_HTTP1_FAULT_HEAD_SIZE);
  if (reader->remaining) {
    if (c != '\n')
      return fail(reader, HF_HTTP1_FAULT_TRAILER);
    reader->remaining = 0;
    if (reader->trailer_line_empty)
      reader->state = COMPLETE;
    reader->trailer_line_empty = true;
    return 0;
  }
  if (c == '\r') {
    reader->remaining = 1;
    return 0;
  }
  bool folded = reader->trailer_line_empty && (c == ' ' || c == '\t' || c == ':');
  if (folded || ((unsigned char)c < 0x20 && c != '\t') || c == 0x7f)
    return fail(reader, HF_HTTP1_FAULT_TRAILER);
  reader->trailer_line_empty = false;
  return 0;
}

/* One byte of a chunk's frame. */
static int chunk_frame_byte(struct hf_http1_reader *reader, char c) {
  switch ((enum state)reader->state) {
  case CHUNK_SIZE:
    return chunk_size_byte(reader, c);
  case CHUNK_EXTENSION:
    return chunk_extension_byte(reader, c);
  case CHUNK_SIZE_LF:
    if (c != '\n')
      return fail(reader, HF_HTTP1_FAULT_LINE_END);
    begin_chunk(reader);
    return 0;
  case CHUNK_DATA_CR:
    if (c != '\r')
      return fail(reader, HF_HTTP1_FAULT_CHUNK_END);
    reader->state = CHUNK_DATA_LF;
    return 0;
  case CHUNK_DATA_LF:
    if (c != '\n')
      return fail(reader, HF_HTTP1_FAULT_CHUNK_END);
    reader->state = CHUNK_SIZE;
    return 0;
  case TRAILER_LINE:
    return trailer_byte(reader, c);
  case STATUS_LINE:
  case HEADER_LINE:
  case LENGTH_BODY:
  case CLOSE_BODY:
  case CHUNK_DATA:
  case COMPLETE:
  case FAILED:
    break;
  }
  return fail(reader, HF_HTTP1_FAULT_CHUNK_SIZE);
}

static struct hf_str take_body(struct hf_http1_reader *reader, struct hf_str bytes) {
  size_t n = reader->remaining < bytes.len ? (size_t)reader->remaining : bytes.len;
  reader->remaining -= n;
  if (reader->remaining == 0)
    reader->state = reader->state == CHUNK_DATA ? CHUNK_DATA_CR : COMPLETE;
  return (struct hf_str){bytes.ptr, n};
}

static int read_body(struct hf_http1_reader *reader, struct hf_str bytes, enum hf_http1_event *ret_event,
                     struct hf_str *ret_body, size_t *ret_used) {
  for (size_t at = 0;;) {
    struct hf_str rest = {bytes.ptr + at, bytes.len - at};
    if (reader->state == COMPLETE) {
      *ret_event = HF_HTTP1_END;
      *ret_used = at;
      return 0;
    }
    if (rest.len == 0) {
      *ret_event = HF_HTTP1_MORE;
      *ret_used = at;
      return 0;
    }
    if (reader->state == LENGTH_BODY || reader->state == CHUNK_DATA || reader->state == CLOSE_BODY) {
      *ret_body = reader->state == CLOSE_BODY ? rest : take_body(reader, rest);
      *ret_event = HF_HTTP1_BODY;
      *ret_used = at + ret_body->len;
      return 0;
    }
    int r = chunk_frame_byte(reader, rest.ptr[0]);
    if (r < 0)
      return r;
    at++;
  }
}

int hf_http1_read(struct hf_http1_reader *reader, struct hf_str bytes, enum hf_http1_event *ret_event,
                  struct hf_str *ret_body, size_t *ret_used) {
  if (reader->state == FAILED)
    return fail(reader, reader->fault);
  if (bytes.len)
    reader->got_anything = true;
  if (reader->state != STATUS_LINE && reader->state != HEADER_LINE)
    return read_body(reader, bytes, ret_event, ret_body, ret_used);

  bool head;
  size_t used = 0;
  int r = read_head(reader, bytes, &head, &used);
  if (r < 0)
    return r;
  *ret_event = head ? HF_HTTP1_HEAD : HF_HTTP1_MORE;
  *ret_used = used;
  return 0;
}

int hf_http1_read_eof(struct hf_http1_reader *reader) {
  if (reader->state == COMPLETE)
    return 0;
  if (reader->state == CLOSE_BODY) {
    reader->state = COMPLETE;
    return 0;
  }
  if (reader->state == FAILED)
    return HF_ERR_INCOMPLETE;
  return fail(reader, HF_HTTP1_FAULT_CUT);
}

struct hf_str hf_http1_header(const struct hf_http1_reader *reader, struct hf_str name) {
  for (uint32_t i = 0; i < reader->line_count; i++) {
    const struct hf_http1_line *line = &reader->lines[i];
    if (hf_str_equal_nocase((struct hf_str){reader->head.data + line->name, line->name_len}, name))
      return (struct hf_str){reader->head.data + line->value, line->value_len};
  }
  return (struct hf_str){NULL, 0};
}

size_t hf_http1_header_count(const struct hf_http1_reader *reader, struct hf_str name) {
  size_t count = 0;
  for (uint32_t i = 0; i < reader->line_count; i++) {
    const struct hf_http1_line *line = &reader->lines[i];
    if (hf_str_equal_nocase((struct hf_str){reader->head.data + line->name, line->name_len}, name))
      count++;
  }
  return count;
}

bool hf_http1_has_token(struct hf_str value, struct hf_str token) {
  while (value.len) {
    const char *comma = memchr(value.ptr, ',', value.len);
    size_t n = comma ? (size_t)(comma - value.ptr) : value.len;
    if (hf_str_equal_nocase(hf_str_trim((struct hf_str){value.ptr, n}), token))
      return true;
    size_t step = comma ? n + 1 : n;
    value.ptr += step;
    value.len -= step;
  }
  return false;
}
