/* A report for programs. The shape is documented in holdfast-report(1) and only grows. */
#ifndef HF_CLI_REPORT_JSON_H
#define HF_CLI_REPORT_JSON_H

#include "base/buf.h"
#include "cli/report_data.h"

/* Appends it. Returns 0 or the buffer's error. */
int hf_report_json(const struct hf_report_data *data, struct hf_buf *out);

#endif
