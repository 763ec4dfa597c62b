/* What `holdfast check` says about a good configuration: what it means, without its secrets.
 *
 * Of URLs only scheme and host are shown, of arguments only the number, of environment and headers only the names. */
#ifndef HF_CLI_CHECK_REPORT_H
#define HF_CLI_CHECK_REPORT_H

#include "base/buf.h"
#include "daemon/problem.h"
#include "gateway/settings.h"

/* Both return 0 or what hf_buf_append does. */
int hf_check_text(const char *path, const struct hf_settings *settings, const struct hf_problems *problems,
                  struct hf_buf *text);

/* `settings` is NULL when there are errors; `failure` tells one that has no place in the file, or is NULL. */
int hf_check_json(const char *path, const struct hf_settings *settings, const struct hf_problems *problems,
                  const char *failure, struct hf_buf *out);

#endif
