/* How a gateway is, as tables: servers, what is wrong with tools, recent outages, letters. */
#ifndef HF_CLI_STATUS_TEXT_H
#define HF_CLI_STATUS_TEXT_H

#include "json/value.h"

/* Prints a status (gateway/observe/report.c). Returns HF_EXIT_GOOD, or HF_EXIT_FAILED if a server that should work
 * doesn't. */
int hf_status_print(const struct hf_json_doc *doc, uint32_t status);

#endif
