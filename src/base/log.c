/* A line is put together in a fixed buffer of PIPE_BUF bytes, so that writing it needs no memory and a pipe takes it
 * whole or not at all. The descriptor is opened anew where that is possible: the copy is non-blocking, while the
 * original, which other processes may share, stays as it was. */
#include "base/log.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/date.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
  LOG_LINE_MAX = PIPE_BUF,
  LOG_VALUE_MAX = 2048, /* as written: one long value leaves room for the others */
  LOG_TAIL = 16,        /* kept free for what ends a line: `…"}` and the newline */
  REPEATS = 64,         /* kinds of warnings that are counted at a time */
  REPEATS_MAX = 10,     /* of one kind in a window */
};

static const hf_time repeat_window = HF_SECONDS(10);

/* A storm of one kind of warning about one thing. */
struct repeat {
  uint64_t kind; /* hash of the event and its first text; 0: none */
  hf_time since;
  uint64_t count;
  char event[64];
  char about[64];
};

struct hf_log {
  int fd;
  bool owns_fd;
  bool is_socket;
  enum hf_log_level level;
  enum hf_log_format format;
  uint64_t lost;
  char rest[LOG_LINE_MAX]; /* of a line that a socket or terminal took only in part */
  size_t rest_len;
  struct repeat repeats[REPEATS];
};

struct line {
  char text[LOG_LINE_MAX];
  size_t len;
};

static const char *const level_names[] = {"error", "warn", "info", "debug"};

/* A second open file description of what `fd` refers to, non-blocking; -1 where the kernel gives none (sockets, or a
 * file of somebody else's). */
static int open_again(int fd) {
  char path[32];
  int n = snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  if (n < 0 || (size_t)n >= sizeof path)
    return -1;
  return open(path, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

struct hf_log *hf_log_new(int fd, enum hf_log_level level, enum hf_log_format format) {
  struct hf_log *log = hf_calloc(1, sizeof *log);
  if (!log)
    return NULL;
  struct stat status;
  int own = open_again(fd);
  *log = (struct hf_log){
      .fd = own < 0 ? fd : own,
      .owns_fd = own >= 0,
      .is_socket = fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode),
      .level = level,
      .format = format,
  };
  return log;
}

void hf_log_set(struct hf_log *log, enum hf_log_level level, enum hf_log_format format) {
  log->level = level;
  log->format = format;
}

bool hf_log_enabled(const struct hf_log *log, enum hf_log_level level) {
  return log && level <= log->level;
}

static size_t room(const struct line *line) {
  size_t end = sizeof line->text - LOG_TAIL;
  return line->len < end ? end - line->len : 0;
}

/* Appends all of `s`, or nothing if it would reach into the tail. */
static bool put(struct line *line, struct hf_str s) {
  if (!s.len)
    return true;
  if (s.len > room(line))
    return false;
  memcpy(line->text + line->len, s.ptr, s.len);
  line->len += s.len;
  return true;
}

/* Ends a line or a value: the tail is there for it. */
static void put_tail(struct line *line, struct hf_str s) {
  memcpy(line->text + line->len, s.ptr, s.len);
  line->len += s.len;
}

static bool is_continuation(unsigned char c) {
  return (c & 0xc0) == 0x80;
}

/* The length of the UTF-8 sequence at the start of `s`, or 0 if it is none (overlong and surrogates included). */
static size_t utf8_len(struct hf_str s) {
  const unsigned char *p = (const unsigned char *)s.ptr;
  if (p[0] < 0x80)
    return 1;
  size_t len = p[0] >= 0xc2 && p[0] <= 0xdf ? 2 : (p[0] & 0xf0) == 0xe0 ? 3 : p[0] >= 0xf0 && p[0] <= 0xf4 ? 4 : 0;
  if (len == 0 || s.len < len)
    return 0;
  for (size_t i = 1; i < len; i++)
    if (!is_continuation(p[i]))
      return 0;
  bool overlong = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xf0 && p[1] < 0x90);
  bool beyond = (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf4 && p[1] > 0x8f);
  return overlong || beyond ? 0 : len;
}

/* Writes the sequence of `len` bytes at `p` as it may stand in JSON and on a terminal: control characters, C1 included,
 * are escaped, and what is no UTF-8 (`len` 0) becomes U+FFFD. Returns false when the line is full. */
static bool put_character(struct line *line, const char *p, size_t len) {
  unsigned char c = (unsigned char)p[0];
  unsigned char second = len == 2 ? (unsigned char)p[1] : 0;
  bool is_c1 = c == 0xc2 && second < 0xa0;
  if (len == 0)
    return put(line, HF_STR("\\ufffd"));
  if (c == '"' || c == '\\')
    return put(line, (struct hf_str){(const char[]){'\\', p[0]}, 2});
  if (c >= 0x20 && c != 0x7f && !is_c1)
    return put(line, (struct hf_str){p, len});
  char escape[8];
  int n = snprintf(escape, sizeof escape, "\\u%04x", is_c1 ? second : c);
  return n > 0 && put(line, (struct hf_str){escape, (size_t)n});
}

/* Quotes for JSON. A value that doesn't fit is cut, and says so by an ellipsis. Returns false, with the line as it was,
 * if not even its quotes fit. */
static bool put_quoted(struct line *line, struct hf_str s) {
  if (!put(line, HF_STR("\"")))
    return false;
  size_t start = line->len;
  while (s.len) {
    size_t len = utf8_len(s);
    if (line->len - start >= LOG_VALUE_MAX || !put_character(line, s.ptr, len)) {
      put_tail(line, HF_STR("…"));
      break;
    }
    s.ptr += len ? len : 1;
    s.len -= len ? len : 1;
  }
  put_tail(line, HF_STR("\""));
  return true;
}

static bool put_number(struct line *line, int64_t number) {
  char text[24];
  int n = snprintf(text, sizeof text, "%" PRId64, number);
  return n > 0 && put(line, (struct hf_str){text, (size_t)n});
}

static void put_time(struct line *line) {
  char text[HF_DATE_MAX];
  put(line, hf_date_write(hf_clock_wall_ms(), text));
}

static bool is_absent(const struct hf_log_field *field) {
  return field->type == HF_LOG_FIELD_STR && !field->str.ptr;
}

static void put_json(struct line *line, enum hf_log_level level, const char *event, const struct hf_log_field *fields,
                     size_t count) {
  put(line, HF_STR("{\"time\":\""));
  put_time(line);
  put(line, HF_STR("\",\"level\":\""));
  put(line, hf_str_from(level_names[level]));
  put(line, HF_STR("\",\"event\":"));
  put_quoted(line, hf_str_from(event));
  for (size_t i = 0; i < count; i++) {
    size_t before = line->len;
    if (is_absent(&fields[i]))
      continue;
    bool fits =
        put(line, HF_STR(",\"")) && put(line, hf_str_from(fields[i].key)) && put(line, HF_STR("\":")) &&
        (fields[i].type == HF_LOG_FIELD_STR ? put_quoted(line, fields[i].str) : put_number(line, fields[i].number));
    if (!fits) {
      line->len = before;
      break;
    }
  }
  put_tail(line, HF_STR("}\n"));
}

/* Anything beyond plain ASCII words is quoted, and so checked and escaped. */
static bool needs_quotes(struct hf_str s) {
  for (size_t i = 0; i < s.len; i++) {
    unsigned char c = (unsigned char)s.ptr[i];
    if (c <= ' ' || c == '"' || c == '=' || c == '\\' || c >= 0x7f)
      return true;
  }
  return s.len == 0;
}

static bool put_word(struct line *line, struct hf_str s) {
  return !needs_quotes(s) && s.len <= LOG_VALUE_MAX && put(line, s) ? true : put_quoted(line, s);
}

static void put_human(struct line *line, enum hf_log_level level, const char *event, const struct hf_log_field *fields,
                      size_t count) {
  put_time(line);
  put(line, HF_STR(" "));
  put(line, hf_str_from(level_names[level]));
  put(line, (struct hf_str){"      ", 6 - strlen(level_names[level])});
  put(line, hf_str_from(event));
  for (size_t i = 0; i < count; i++) {
    size_t before = line->len;
    if (is_absent(&fields[i]))
      continue;
    bool fits =
        put(line, HF_STR(" ")) && put(line, hf_str_from(fields[i].key)) && put(line, HF_STR("=")) &&
        (fields[i].type == HF_LOG_FIELD_STR ? put_word(line, fields[i].str) : put_number(line, fields[i].number));
    if (!fits) {
      line->len = before;
      break;
    }
  }
  put_tail(line, HF_STR("\n"));
}

/* Without a descriptor of its own, the log asks first: a pipe that polls writable takes PIPE_BUF bytes. */
static ssize_t write_some(const struct hf_log *log, const char *bytes, size_t len) {
  if (log->is_socket)
    return send(log->fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);
  struct pollfd ready = {.fd = log->fd, .events = POLLOUT};
  if (!log->owns_fd && (poll(&ready, 1, 0) != 1 || !(ready.revents & POLLOUT)))
    return -1;
  ssize_t n;
  do {
    n = write(log->fd, bytes, len);
  } while (n < 0 && errno == EINTR);
  return n;
}

/* Finishes a line that was taken only in part, so that lines never mix. */
static bool flush_rest(struct hf_log *log) {
  if (log->rest_len == 0)
    return true;
  ssize_t n = write_some(log, log->rest, log->rest_len);
  if (n < 0)
    return false;
  log->rest_len -= (size_t)n;
  memmove(log->rest, log->rest + n, log->rest_len);
  return log->rest_len == 0;
}

static bool write_line(struct hf_log *log, const struct line *line) {
  if (!flush_rest(log))
    return false;
  ssize_t n = write_some(log, line->text, line->len);
  if (n < 0)
    return false;
  log->rest_len = line->len - (size_t)n;
  memcpy(log->rest, line->text + n, log->rest_len);
  return true;
}

static bool write_event(struct hf_log *log, enum hf_log_level level, const char *event,
                        const struct hf_log_field *fields, size_t count) {
  struct line line;
  line.len = 0;
  if (log->format == HF_LOG_JSON)
    put_json(&line, level, event, fields, count);
  else
    put_human(&line, level, event, fields, count);
  return write_line(log, &line);
}

static void emit(struct hf_log *log, enum hf_log_level level, const char *event, const struct hf_log_field *fields,
                 size_t count) {
  if (log->lost) {
    struct hf_log_field lines = HF_LOG_INT("lines", (int64_t)log->lost);
    if (write_event(log, HF_LOG_WARN, "log lines lost", &lines, 1))
      log->lost = 0;
  }
  if (log->lost || !write_event(log, level, event, fields, count))
    log->lost++;
}

/* Ends a count, and says how many lines it left out. */
static void settle(struct hf_log *log, struct repeat *repeat) {
  if (repeat->kind && repeat->count > REPEATS_MAX) {
    const struct hf_log_field fields[] = {
        HF_LOG_STR("line", hf_str_from(repeat->event)),
        HF_LOG_STR("about", hf_str_from(repeat->about)),
        HF_LOG_INT("lines", (int64_t)(repeat->count - REPEATS_MAX)),
    };
    emit(log, HF_LOG_WARN, "repeated lines left out", fields, sizeof fields / sizeof fields[0]);
  }
  *repeat = (struct repeat){0};
}

static void keep(char *to, size_t size, struct hf_str from) {
  size_t n = from.len < size - 1 ? from.len : size - 1;
  if (n)
    memcpy(to, from.ptr, n);
  to[n] = '\0';
}

static uint64_t hash(uint64_t h, struct hf_str s) {
  for (size_t i = 0; i < s.len; i++)
    h = (h ^ (unsigned char)s.ptr[i]) * 0x100000001b3U;
  return h;
}

/* May this warning be written? A kind that another one pushes out of its place loses its count, not its lines. */
static bool is_rare(struct hf_log *log, const char *event, const struct hf_log_field *fields, size_t count) {
  struct hf_str about = {"", 0};
  if (count && fields[0].type == HF_LOG_FIELD_STR && fields[0].str.ptr)
    about = fields[0].str;
  uint64_t kind = hash(hash(0xcbf29ce484222325U, hf_str_from(event)), about) | 1;
  struct repeat *repeat = &log->repeats[(kind >> 1) % REPEATS];
  hf_time now = hf_clock_now();
  if (repeat->kind != kind || now - repeat->since >= repeat_window) {
    settle(log, repeat);
    repeat->kind = kind;
    repeat->since = now;
    keep(repeat->event, sizeof repeat->event, hf_str_from(event));
    keep(repeat->about, sizeof repeat->about, about);
  }
  return ++repeat->count <= REPEATS_MAX;
}

void hf_log_free(struct hf_log *log) {
  for (size_t i = 0; log && i < REPEATS; i++)
    settle(log, &log->repeats[i]);
  if (log && log->owns_fd)
    (void)close(log->fd);
  hf_free(log);
}

void hf_log_write(struct hf_log *log, enum hf_log_level level, const char *event, const struct hf_log_field *fields,
                  size_t count) {
  if (hf_log_enabled(log, level) && (level > HF_LOG_WARN || is_rare(log, event, fields, count)))
    emit(log, level, event, fields, count);
}
