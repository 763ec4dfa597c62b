/* A report for a terminal. */
#ifndef HF_CLI_REPORT_TEXT_H
#define HF_CLI_REPORT_TEXT_H

#include "cli/report_data.h"

#include <stdio.h>

/* Prints it within so many columns, as far as names allow. Returns 0 or HF_ERR_NOMEM. */
int hf_report_text(const struct hf_report_data *data, size_t width, FILE *to);

#endif
