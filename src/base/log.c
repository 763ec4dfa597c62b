#include "base/log.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { LOG_LINE_MAX = 8192, LOG_VALUE_MAX = 2048 };

struct hf_log {
  int fd;
  enum hf_log_level level;
  enum hf_log_format format;
  uint64_t lost;
};

static const char *const level_names[] = {"error", "warn", "info", "debug"};

struct hf_log *hf_log_new(int fd, enum hf_log_level level, enum hf_log_format format) {
  struct hf_log *log = hf_malloc(sizeof *log);
  if (log)
    *log = (struct hf_log){.fd = fd, .level = level, .format = format};
  return log;
}

void hf_log_free(struct hf_log *log) {
  hf_free(log);
}

void hf_log_set(struct hf_log *log, enum hf_log_level level, enum hf_log_format format) {
  log->level = level;
  log->format = format;
}

bool hf_log_enabled(const struct hf_log *log, enum hf_log_level level) {
  return log && level <= log->level;
}

int hf_log_level_parse(struct hf_str s, enum hf_log_level *ret_level) {
  for (size_t i = 0; i < sizeof level_names / sizeof level_names[0]; i++) {
    if (hf_str_equal(s, hf_str_from(level_names[i]))) {
      *ret_level = (enum hf_log_level)i;
      return 0;
    }
  }
  return HF_ERR_INVALID;
}

/* Quotes for JSON; control characters and bytes above ASCII that are not valid UTF-8 would break readers, so all
 * control characters are escaped and the rest is passed. Long values are cut. */
static void append_quoted(struct hf_buf *line, struct hf_str s) {
  bool cut = s.len > LOG_VALUE_MAX;
  size_t len = cut ? LOG_VALUE_MAX : s.len;
  hf_buf_append(line, "\"", 1);
  for (size_t i = 0; i < len; i++) {
    unsigned char c = (unsigned char)s.ptr[i];
    if (c == '"' || c == '\\')
      hf_buf_printf(line, "\\%c", c);
    else if (c < 0x20 || c == 0x7f)
      hf_buf_printf(line, "\\u%04x", c);
    else
      hf_buf_append(line, &c, 1);
  }
  hf_buf_append_str(line, cut ? HF_STR("…\"") : HF_STR("\""));
}

static void append_time(struct hf_buf *line) {
  int64_t ms = hf_clock_wall_ms();
  time_t seconds = (time_t)(ms / 1000);
  struct tm tm;
  gmtime_r(&seconds, &tm);
  char text[32];
  size_t n = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
  hf_buf_append(line, text, n);
  hf_buf_printf(line, ".%03dZ", (int)(ms % 1000));
}

static void append_json(struct hf_buf *line, enum hf_log_level level, const char *event,
                        const struct hf_log_field *fields, size_t count) {
  hf_buf_append_str(line, HF_STR("{\"time\":\""));
  append_time(line);
  hf_buf_printf(line, "\",\"level\":\"%s\",\"event\":", level_names[level]);
  append_quoted(line, hf_str_from(event));
  for (size_t i = 0; i < count; i++) {
    if (fields[i].type == HF_LOG_FIELD_STR && !fields[i].str.ptr)
      continue;
    hf_buf_printf(line, ",\"%s\":", fields[i].key);
    if (fields[i].type == HF_LOG_FIELD_STR)
      append_quoted(line, fields[i].str);
    else
      hf_buf_printf(line, "%" PRId64, fields[i].number);
  }
  hf_buf_append_str(line, HF_STR("}\n"));
}

static bool needs_quotes(struct hf_str s) {
  if (s.len == 0)
    return true;
  for (size_t i = 0; i < s.len; i++) {
    unsigned char c = (unsigned char)s.ptr[i];
    if (c <= ' ' || c == '"' || c == '=' || c == '\\' || c == 0x7f)
      return true;
  }
  return false;
}

static void append_human(struct hf_buf *line, enum hf_log_level level, const char *event,
                         const struct hf_log_field *fields, size_t count) {
  append_time(line);
  hf_buf_printf(line, " %-5s %s", level_names[level], event);
  for (size_t i = 0; i < count; i++) {
    if (fields[i].type == HF_LOG_FIELD_STR && !fields[i].str.ptr)
      continue;
    hf_buf_printf(line, " %s=", fields[i].key);
    if (fields[i].type == HF_LOG_FIELD_INT)
      hf_buf_printf(line, "%" PRId64, fields[i].number);
    else if (needs_quotes(fields[i].str))
      append_quoted(line, fields[i].str);
    else
      hf_buf_append_str(line, fields[i].str);
  }
  hf_buf_append(line, "\n", 1);
}

/* A pipe that polls writable takes PIPE_BUF bytes at once, so lines up to that size never block; longer ones are rare
 * and cut by LOG_VALUE_MAX. Returns false if the line is lost. */
static bool write_line(struct hf_log *log, struct hf_str line) {
  struct pollfd ready = {.fd = log->fd, .events = POLLOUT};
  if (poll(&ready, 1, 0) != 1 || !(ready.revents & POLLOUT))
    return false;
  ssize_t n;
  do {
    n = write(log->fd, line.ptr, line.len);
  } while (n < 0 && errno == EINTR);
  return n >= 0;
}

void hf_log_write(struct hf_log *log, enum hf_log_level level, const char *event, const struct hf_log_field *fields,
                  size_t count) {
  if (!hf_log_enabled(log, level))
    return;

  struct hf_buf line;
  hf_buf_init(&line, (size_t)LOG_LINE_MAX * 2);
  if (log->lost) {
    struct hf_log_field lost = HF_LOG_INT("lines", (int64_t)log->lost);
    if (log->format == HF_LOG_JSON)
      append_json(&line, HF_LOG_WARN, "log lines lost", &lost, 1);
    else
      append_human(&line, HF_LOG_WARN, "log lines lost", &lost, 1);
  }
  if (log->format == HF_LOG_JSON)
    append_json(&line, level, event, fields, count);
  else
    append_human(&line, level, event, fields, count);

  if (write_line(log, hf_buf_str(&line)))
    log->lost = 0;
  else
    log->lost++;
  hf_buf_deinit(&line);
}
