/* A report as one page: no scripts, nothing to load, for a screen of any width and for paper. */
#ifndef HF_CLI_REPORT_HTML_H
#define HF_CLI_REPORT_HTML_H

#include "base/buf.h"
#include "cli/report_data.h"

/* Appends it. Returns 0 or the buffer's error. */
int hf_report_html(const struct hf_report_data *data, struct hf_buf *out);

#endif
