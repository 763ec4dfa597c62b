#include "upstream/child_log.h"

enum { LINES_PER_WINDOW = 50 };

static const hf_time window_length = HF_SECONDS(10);

void hf_child_log_init(struct hf_child_log *child_log, struct hf_log *log, struct hf_str server,
                       const struct hf_secrets *secrets) {
  *child_log = (struct hf_child_log){.log = log, .server = server, .secrets = secrets};
}

static bool allow(struct hf_child_log *child_log, hf_time now) {
  if (now - child_log->window >= window_length) {
    if (child_log->suppressed)
      hf_log_event(child_log->log, HF_LOG_WARN, "lines of a server were left out of the log",
                   HF_LOG_STR("server", child_log->server), HF_LOG_INT("lines", child_log->suppressed));
    child_log->window = now;
    child_log->lines = child_log->suppressed = 0;
  }
  if (child_log->lines < LINES_PER_WINDOW) {
    child_log->lines++;
    return true;
  }
  child_log->suppressed++;
  return false;
}

static void keep_tail(struct hf_child_log *child_log, struct hf_str bytes) {
  if (bytes.len > HF_CHILD_LOG_TAIL_MAX) {
    bytes.ptr += bytes.len - HF_CHILD_LOG_TAIL_MAX;
    bytes.len = HF_CHILD_LOG_TAIL_MAX;
  }
  size_t keep = child_log->tail_len;
  if (keep + bytes.len > HF_CHILD_LOG_TAIL_MAX)
    keep = HF_CHILD_LOG_TAIL_MAX - bytes.len;
  memmove(child_log->tail, child_log->tail + child_log->tail_len - keep, keep);
  memcpy(child_log->tail + keep, bytes.ptr, bytes.len);
  child_log->tail_len = keep + bytes.len;
}

/* Ends the line that came so far and keeps it. Returns its length; its bytes stay in `line`. */
static size_t take_line(struct hf_child_log *child_log) {
  bool cut = child_log->line_len > HF_CHILD_LOG_LINE_MAX;
  size_t len = cut ? HF_CHILD_LOG_LINE_MAX : child_log->line_len;
  if (len && child_log->line[len - 1] == '\r')
    len--;
  len = hf_secrets_hide(child_log->secrets, child_log->line, len, cut);
  child_log->line_len = 0;
  if (len) {
    keep_tail(child_log, (struct hf_str){child_log->line, len});
    keep_tail(child_log, HF_STR("\n"));
  }
  return len;
}

static void end_line(struct hf_child_log *child_log, hf_time now) {
  size_t len = take_line(child_log);
  if (len && allow(child_log, now))
    hf_log_event(child_log->log, HF_LOG_INFO, "server wrote to standard error", HF_LOG_STR("server", child_log->server),
                 HF_LOG_STR("text", ((struct hf_str){child_log->line, len})));
}

void hf_child_log_stderr(struct hf_child_log *child_log, struct hf_str bytes, hf_time now) {
  for (size_t i = 0; i < bytes.len; i++) {
    if (bytes.ptr[i] == '\n') {
      end_line(child_log, now);
      continue;
    }
    if (child_log->line_len < HF_CHILD_LOG_LINE_MAX)
      child_log->line[child_log->line_len] = bytes.ptr[i];
    child_log->line_len += child_log->line_len <= HF_CHILD_LOG_LINE_MAX;
  }
}

void hf_child_log_noise(struct hf_child_log *child_log, struct hf_str head, hf_time now) {
  char text[HF_CHILD_LOG_LINE_MAX];
  if (!allow(child_log, now))
    return;
  size_t len = head.len < sizeof text ? head.len : sizeof text;
  memcpy(text, head.ptr, len);
  len = hf_secrets_hide(child_log->secrets, text, len, true);
  hf_log_event(child_log->log, HF_LOG_WARN, "server wrote to standard output what is no message",
               HF_LOG_STR("server", child_log->server), HF_LOG_STR("text", ((struct hf_str){text, len})));
}

void hf_child_log_restart(struct hf_child_log *child_log) {
  child_log->line_len = child_log->tail_len = 0;
}

static bool append(char *text, size_t size, size_t *len, const char *bytes, size_t count) {
  if (*len + count >= size)
    return false;
  memcpy(text + *len, bytes, count);
  *len += count;
  return true;
}

size_t hf_child_log_tail(const struct hf_child_log *child_log, char *text, size_t size) {
  struct hf_child_log copy = *child_log; /* in which the last line can end */
  (void)take_line(&copy);
  static const char joint[] = " | ";
  size_t len = 0;
  bool gap = false;
  for (size_t i = 0; i < copy.tail_len; i++) {
    char c = copy.tail[i];
    if (c == '\n' || c == '\r') {
      gap = len > 0;
      continue;
    }
    if (gap && !append(text, size, &len, joint, sizeof joint - 1))
      break;
    gap = false;
    if ((unsigned char)c < ' ')
      c = ' ';
    if (!append(text, size, &len, &c, 1))
      break;
  }
  text[len] = '\0';
  return len;
}
