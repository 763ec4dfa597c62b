/* What an audit found, for people and for programs. */
#ifndef HF_CLI_AUDIT_TEXT_H
#define HF_CLI_AUDIT_TEXT_H

#include "base/buf.h"
#include "cli/audit.h"

#include <stdio.h>

/* Tools that got the same answers are told together, in lines of at most 80 columns as far as words allow. `path` is of
 * the file. Returns 0 or HF_ERR_NOMEM. */
int hf_audit_print(const struct hf_audit *audit, const char *path, FILE *to);

/* Appends {"file", "score", "questions": [{"id", "question"}], "tools": [{"name", "server", "score", "answers":
 * [{"question", "answer", "why", "decidedBy", "line", "fix"}]}]}. Returns 0 or the buffer's error. */
int hf_audit_json(const struct hf_audit *audit, const char *path, struct hf_buf *out);

#endif
