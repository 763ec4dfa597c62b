/* The charts of a report's page, as inline SVG in the page's colours. */
#ifndef HF_CLI_REPORT_CHART_H
#define HF_CLI_REPORT_CHART_H

#include "cli/report_numbers.h"
#include "cli/report_page.h"

/* How likely chains of 1 to 30 steps are to end well, without Holdfast and with it. */
void hf_chart_chains(struct hf_page *page, const struct hf_report_numbers *numbers);

/* Failures over time: those that were put right, and below them those that reached the agent. */
void hf_chart_time_line(struct hf_page *page, const struct hf_report_data *data);

/* A bar of `lost` as part of `most`, which is the longest. */
void hf_chart_losses(struct hf_page *page, const struct hf_report_losses *lost, uint64_t most);

#endif
