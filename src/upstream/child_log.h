/* What a child says beside the protocol: its standard error, and lines on standard output that are no messages.
 *
 * All of it is read, so that the child never blocks on it; it goes to the log in whole, bounded lines, and no more of
 * them than the rate allows; the end of standard error is kept, because it is what explains a death. The secrets that
 * the child was given are hidden in all of it. */
#ifndef HF_UPSTREAM_CHILD_LOG_H
#define HF_UPSTREAM_CHILD_LOG_H

#include "base/log.h"
#include "base/str.h"
#include "base/time.h"
#include "upstream/secrets.h"

enum { HF_CHILD_LOG_LINE_MAX = 512, HF_CHILD_LOG_TAIL_MAX = 256 };

struct hf_child_log {
  struct hf_log *log;
  struct hf_str server;             /* borrowed */
  const struct hf_secrets *secrets; /* borrowed */
  char line[HF_CHILD_LOG_LINE_MAX];
  size_t line_len;                  /* may pass the maximum: the rest of the line is dropped */
  char tail[HF_CHILD_LOG_TAIL_MAX]; /* of the lines of standard error that have ended */
  size_t tail_len;
  hf_time window; /* when the current window of the rate began */
  unsigned lines; /* in it */
  unsigned suppressed;
};

void hf_child_log_init(struct hf_child_log *child_log, struct hf_log *log, struct hf_str server,
                       const struct hf_secrets *secrets);

/* Takes what came on standard error. */
void hf_child_log_stderr(struct hf_child_log *child_log, struct hf_str bytes, hf_time now);

/* Takes the head of a line of standard output that is no message. */
void hf_child_log_noise(struct hf_child_log *child_log, struct hf_str head, hf_time now);

/* A new child begins: nothing of the old one's end explains it. */
void hf_child_log_restart(struct hf_child_log *child_log);

/* Writes the end of standard error into `text` as one line, lines joined by " | ". Returns its length, less than
 * `size`. */
size_t hf_child_log_tail(const struct hf_child_log *child_log, char *text, size_t size);

#endif
