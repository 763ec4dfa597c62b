#include "chaos/wire.h"

#include "chaos/pick.h"

#include "base/error.h"

#include <stdlib.h>
#include <time.h>

long hf_chaos_wire_read_chunks(struct hf_str in, struct hf_buf *body) {
  size_t at = 0;
  hf_buf_reset(body, SIZE_MAX);
  for (;;) {
    const char *end = at < in.len ? memmem(in.ptr + at, in.len - at, "\r\n", 2) : NULL;
    if (end == NULL) {
      return 0;
    }
    char *stop = NULL;
    unsigned long size = strtoul(in.ptr + at, &stop, 16);
    if (stop == in.ptr + at || size > HF_CHAOS_MESSAGE_MAX) {
      return HF_ERR_SYNTAX;
    }
    at = (size_t)(end + 2 - in.ptr);
    if (in.len < at + size + 2) {
      return 0;
    }
    hf_chaos_must(hf_buf_append(body, in.ptr + at, size));
    at += size + 2;
    if (size == 0) {
      return (long)at;
    }
  }
}

/* Goes on at the chunk at `*at`. */
static long end_of_chunks(struct hf_str in, size_t *at) {
  for (;;) {
    const char *end = *at < in.len ? memmem(in.ptr + *at, in.len - *at, "\r\n", 2) : NULL;
    if (end == NULL) {
      return 0;
    }
    char *stop = NULL;
    unsigned long size = strtoul(in.ptr + *at, &stop, 16);
    if (stop == in.ptr + *at || size > HF_CHAOS_MESSAGE_MAX) {
      return HF_ERR_SYNTAX;
    }
    size_t next = (size_t)(end + 2 - in.ptr) + size + 2;
    if (in.len < next) {
      return 0;
    }
    if (size == 0) {
      return (long)next;
    }
    *at = next;
  }
}

long hf_chaos_wire_answer_end(struct hf_str in, size_t *at) {
  const char *head_end = in.len > 0 ? memmem(in.ptr, in.len, "\r\n\r\n", 4) : NULL;
  if (head_end == NULL) {
    return 0;
  }
  struct hf_str head = {in.ptr, (size_t)(head_end - in.ptr)};
  struct hf_str length = hf_pick_header(head, "content-length");
  if (hf_pick_header(head, "transfer-encoding").ptr != NULL) {
    *at = *at == 0 ? head.len + 4 : *at;
    return end_of_chunks(in, at);
  }
  if (length.ptr == NULL) {
    return HF_ERR_CLOSED;
  }
  size_t whole = head.len + 4 + (size_t)hf_pick_number(length, 0);
  return in.len >= whole ? (long)whole : 0;
}

static bool is_answer(struct hf_str text) {
  return hf_chaos_well_formed(text) &&
         (hf_pick_member(text, "result").ptr != NULL || hf_pick_member(text, "error").ptr != NULL);
}

static struct hf_str next_line(struct hf_str *rest) {
  size_t len = 0;
  while (len < rest->len && rest->ptr[len] != '\n' && rest->ptr[len] != '\r') {
    len++;
  }
  struct hf_str line = {rest->ptr, len};
  size_t used = len + (len < rest->len);
  if (used < rest->len && used > len && rest->ptr[len] == '\r' && rest->ptr[used] == '\n') {
    used++;
  }
  *rest = (struct hf_str){rest->ptr + used, rest->len - used};
  return line;
}

void hf_chaos_wire_read_events(struct hf_str stream, struct hf_buf *message) {
  struct hf_buf data;
  hf_buf_init(&data, HF_CHAOS_MESSAGE_MAX);
  while (stream.len > 0) {
    struct hf_str line = next_line(&stream);
    if (hf_str_starts(line, HF_STR("data:"))) {
      hf_chaos_must(hf_buf_append(&data, line.ptr + 5, line.len - 5));
    }
    if (line.len == 0 || stream.len == 0) {
      if (is_answer(hf_str_trim(hf_buf_str(&data)))) {
        hf_buf_reset(message, SIZE_MAX);
        hf_chaos_must(hf_buf_append_str(message, hf_str_trim(hf_buf_str(&data))));
      }
      hf_buf_reset(&data, SIZE_MAX);
    }
  }
  hf_buf_deinit(&data);
}

static bool contains(struct hf_str s, const char *word) {
  return s.len > 0 && memmem(s.ptr, s.len, word, strlen(word)) != NULL;
}

static void read_header(struct hf_chaos_wire_request *request, struct hf_str name, struct hf_str value, long *length) {
  if (hf_str_equal_nocase(name, HF_STR("content-length"))) {
    *length = hf_pick_number(value, 0);
  } else if (hf_str_equal_nocase(name, HF_STR("transfer-encoding"))) {
    *length = -1;
  } else if (hf_str_equal_nocase(name, HF_STR("accept"))) {
    request->streams = contains(value, "text/event-stream");
  } else if (hf_str_equal_nocase(name, HF_STR("connection"))) {
    request->closes = contains(value, "close");
  } else if (hf_str_equal_nocase(name, HF_STR("mcp-session-id"))) {
    request->session = value;
  } else if (hf_str_equal_nocase(name, HF_STR("mcp-protocol-version"))) {
    request->version = value;
  } else if (hf_str_equal_nocase(name, HF_STR("mcp-method"))) {
    request->method_header = value;
  } else if (hf_str_equal_nocase(name, HF_STR("mcp-name"))) {
    request->name_header = value;
  }
}

long hf_chaos_wire_read(struct hf_str in, struct hf_chaos_wire_request *request) {
  const char *head_end = in.len > 0 ? memmem(in.ptr, in.len, "\r\n\r\n", 4) : NULL;
  if (head_end == NULL) {
    return 0;
  }
  size_t head = (size_t)(head_end + 4 - in.ptr);
  request->head = (struct hf_str){in.ptr, head - 4};
  long length = 0;
  const char *blank = memchr(in.ptr, ' ', head);
  size_t method = blank ? (size_t)(blank - in.ptr) : head;
  if (method >= sizeof request->method) {
    return HF_ERR_SYNTAX;
  }
  memcpy(request->method, in.ptr, method);
  request->method[method] = '\0';
  const char *line = (const char *)memmem(in.ptr, head, "\r\n", 2) + 2;
  while (line < head_end) {
    const char *end = memmem(line, (size_t)(head_end + 2 - line), "\r\n", 2);
    const char *colon = memchr(line, ':', (size_t)(end - line));
    if (colon == NULL) {
      return HF_ERR_SYNTAX;
    }
    read_header(request, (struct hf_str){line, (size_t)(colon - line)},
                hf_str_trim((struct hf_str){colon + 1, (size_t)(end - colon - 1)}), &length);
    line = end + 2;
  }
  if (length > HF_CHAOS_MESSAGE_MAX) {
    return HF_ERR_LIMIT;
  }
  if (length < 0) {
    long chunks = hf_chaos_wire_read_chunks((struct hf_str){in.ptr + head, in.len - head}, &request->body);
    return chunks > 0 ? (long)head + chunks : chunks;
  }
  if ((long)(in.len - head) < length) {
    return 0;
  }
  hf_chaos_must(hf_buf_append(&request->body, in.ptr + head, (size_t)length));
  return (long)head + length;
}

static const char *status_text(int status) {
  switch (status) {
  case 200:
    return "OK";
  case 202:
    return "Accepted";
  case 404:
    return "Not Found";
  case 405:
    return "Method Not Allowed";
  case 429:
    return "Too Many Requests";
  case 503:
    return "Service Unavailable";
  default:
    return status < 500 ? "Bad Request" : "Server Error";
  }
}

/* "2" is passed on; "date+2" becomes the HTTP date in two seconds. */
static void put_retry_after(struct hf_buf *out, const char *text) {
  if (strncmp(text, "date", 4) != 0) {
    hf_chaos_must(hf_buf_printf(out, "Retry-After: %s\r\n", text));
    return;
  }
  char date[64];
  struct tm parts;
  time_t when = time(NULL) + strtol(text + 4, NULL, 10);
  size_t len = strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&when, &parts));
  hf_chaos_must(len > 0 ? 0 : HF_ERR_INVALID);
  hf_chaos_must(hf_buf_printf(out, "Retry-After: %s\r\n", date));
}

static void put_status(struct hf_buf *out, int status, const struct hf_chaos_answer *answer) {
  hf_chaos_must(hf_buf_printf(out, "HTTP/1.1 %d %s\r\n", status, status_text(status)));
  if (answer->session[0] != '\0') {
    hf_chaos_must(hf_buf_printf(out, "Mcp-Session-Id: %s\r\n", answer->session));
  }
}

static void put_chunk(struct hf_buf *out, struct hf_str bytes) {
  hf_chaos_must(hf_buf_printf(out, "%zx\r\n", bytes.len));
  hf_chaos_must(hf_buf_append_str(out, bytes));
  hf_chaos_must(hf_buf_append(out, "\r\n", 2));
}

static void put_chunked(struct hf_buf *out, struct hf_str body, const struct hf_chaos_fault *fault) {
  size_t size = fault->kind == HF_CHAOS_CHUNKED && fault->number > 0 ? (size_t)fault->number : body.len / 2 + 1;
  hf_chaos_must(hf_buf_printf(out, "Transfer-Encoding: chunked\r\n\r\n"));
  for (size_t at = 0; at < body.len; at += size) {
    size_t len = body.len - at < size ? body.len - at : size;
    if (at > 0 && fault->kind == HF_CHAOS_CHUNK_BAD) {
      hf_chaos_must(hf_buf_printf(out, "zz\r\n"));
    }
    put_chunk(out, (struct hf_str){body.ptr + at, len});
    if (fault->kind == HF_CHAOS_CHUNK_CUT) {
      return;
    }
  }
  hf_chaos_wire_put_stream_end(out);
}

void hf_chaos_wire_put_json(struct hf_buf *out, const struct hf_chaos_answer *answer) {
  const struct hf_chaos_fault *fault = &answer->fault;
  struct hf_str body = hf_buf_str(&answer->body);
  if (fault->kind == HF_CHAOS_STATUS) {
    put_status(out, (int)fault->number, answer);
    if (fault->text[0] != '\0') {
      put_retry_after(out, fault->text);
    }
    hf_chaos_must(hf_buf_printf(out, "Content-Type: text/plain\r\nContent-Length: 12\r\n\r\nmade to fail"));
    return;
  }
  put_status(out, answer->status, answer);
  if (answer->status == 202 || answer->status == 405) {
    hf_chaos_must(hf_buf_printf(out, "Content-Length: 0\r\n\r\n"));
    return;
  }
  hf_chaos_must(
      hf_buf_printf(out, "Content-Type: %s\r\n", fault->kind == HF_CHAOS_HTML ? "text/html" : "application/json"));
  if (fault->kind == HF_CHAOS_CHUNKED || fault->kind == HF_CHAOS_CHUNK_BAD || fault->kind == HF_CHAOS_CHUNK_CUT) {
    put_chunked(out, body, fault);
    return;
  }
  enum { MISSING = 100 };
  size_t said = body.len + (fault->kind == HF_CHAOS_TRUNCATED ? MISSING : 0);
  hf_chaos_must(hf_buf_printf(out, "Content-Length: %zu\r\n\r\n", said));
  hf_chaos_must(hf_buf_append_str(out, body));
}

void hf_chaos_wire_put_stream_head(struct hf_buf *out, const struct hf_chaos_answer *answer) {
  put_status(out, 200, answer);
  hf_chaos_must(hf_buf_printf(out, "Content-Type: text/event-stream\r\nCache-Control: no-cache\r\n"
                                   "Transfer-Encoding: chunked\r\n\r\n"));
}

static const char *line_end(const char *style, size_t line) {
  static const char *const ends[] = {"\n", "\r\n", "\r"};
  if (strcmp(style, "crlf") == 0) {
    return "\r\n";
  }
  if (strcmp(style, "cr") == 0) {
    return "\r";
  }
  return strcmp(style, "mixed") == 0 ? ends[line % 3] : "\n";
}

/* Breaks a message after its commas, so that each part stands on a data line of its own. */
static void put_data_lines(struct hf_buf *event, struct hf_str message, const char *style, size_t *line) {
  bool multi = strcmp(style, "multi") == 0;
  bool quoted = false;
  size_t start = 0;
  for (size_t i = 0; i < message.len; i++) {
    if (message.ptr[i] == '"' && (i == 0 || message.ptr[i - 1] != '\\')) {
      quoted = !quoted;
    }
    if (i + 1 == message.len || (multi && !quoted && message.ptr[i] == ',')) {
      hf_chaos_must(hf_buf_append(event, "data: ", strcmp(style, "nospace") == 0 ? 5 : 6));
      hf_chaos_must(hf_buf_append(event, message.ptr + start, i + 1 - start));
      hf_chaos_must(hf_buf_printf(event, "%s", line_end(style, (*line)++)));
      start = i + 1;
    }
  }
}

void hf_chaos_wire_put_event(struct hf_buf *out, const struct hf_chaos_answer *answer, struct hf_str message) {
  const char *style = answer->fault.kind == HF_CHAOS_SSE ? answer->fault.text : "";
  struct hf_buf event;
  size_t line = 0;
  hf_buf_init(&event, HF_CHAOS_MESSAGE_MAX);
  if (strcmp(style, "bom") == 0) {
    hf_chaos_must(hf_buf_printf(&event, "\xEF\xBB\xBF"));
  }
  if (strcmp(style, "comments") == 0) {
    hf_chaos_must(hf_buf_printf(&event, ": keep-alive\n\n:\nretry: 100\n\nid: only\n\nevent: unknown\ndata: {}\n\n"));
  }
  if (strcmp(style, "untyped") != 0) {
    hf_chaos_must(hf_buf_printf(&event, "event: message%s", line_end(style, line)));
    line++;
  }
  put_data_lines(&event, message, style, &line);
  if (strcmp(style, "no_final") != 0) {
    hf_chaos_must(hf_buf_printf(&event, "%s", line_end(style, strcmp(style, "mixed") == 0 ? 0 : line)));
  }
  put_chunk(out, hf_buf_str(&event));
  hf_buf_deinit(&event);
}

void hf_chaos_wire_put_stream_end(struct hf_buf *out) {
  hf_chaos_must(hf_buf_printf(out, "0\r\n\r\n"));
}
