/* Structured log lines: JSON or human, to standard error, never blocking.
 *
 * A line is an event name and fields. Values are escaped here; secrets and arguments are never passed in. A sink that
 * is full (nobody reads standard error) loses lines, counts them, and says so when it can write again. Of warnings and
 * errors of one kind (the event and its first text) at most 10 are written in 10 seconds; how many were left out is
 * said with the next one after that, or at the end. */
#ifndef HF_BASE_LOG_H
#define HF_BASE_LOG_H

#include "base/str.h"

#include <stdint.h>

enum hf_log_level { HF_LOG_ERROR, HF_LOG_WARN, HF_LOG_INFO, HF_LOG_DEBUG };

enum hf_log_format { HF_LOG_HUMAN, HF_LOG_JSON };

enum hf_log_field_type { HF_LOG_FIELD_STR, HF_LOG_FIELD_INT };

struct hf_log_field {
  const char *key;
  enum hf_log_field_type type;
  struct hf_str str;
  int64_t number;
};

#define HF_LOG_STR(key, value) ((struct hf_log_field){(key), HF_LOG_FIELD_STR, (value), 0})
#define HF_LOG_INT(key, value) ((struct hf_log_field){(key), HF_LOG_FIELD_INT, {NULL, 0}, (value)})

struct hf_log;

/* Writes to `fd` (borrowed, open as long as the log). It is not switched to non-blocking, for it may be shared with
 * others. Returns owned or NULL. */
struct hf_log *hf_log_new(int fd, enum hf_log_level level, enum hf_log_format format);
void hf_log_free(struct hf_log *log);
void hf_log_set(struct hf_log *log, enum hf_log_level level, enum hf_log_format format);

/* True if a line of this level would be written; `log` may be NULL (nothing is). */
bool hf_log_enabled(const struct hf_log *log, enum hf_log_level level);

/* Writes one line: a time, the level, `event` (a short sentence, lower case) and the fields; absent strings are left
 * out. A line has at most PIPE_BUF bytes: long values are cut, and fields beyond it are dropped, so the important ones
 * come first. Bytes that are no UTF-8 are replaced. */
void hf_log_write(struct hf_log *log, enum hf_log_level level, const char *event, const struct hf_log_field *fields,
                  size_t count);

/* hf_log_event(log, HF_LOG_INFO, "child started", HF_LOG_STR("server", name), HF_LOG_INT("pid", pid)) */
#define hf_log_event(log, level, event, ...)                                                                           \
  hf_log_write((log), (level), (event), (const struct hf_log_field[]){__VA_ARGS__},                                    \
               sizeof((const struct hf_log_field[]){__VA_ARGS__}) / sizeof(struct hf_log_field))

#endif
