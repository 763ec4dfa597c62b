/* What is told of counts in detail: names with how often, the most frequent first, without what never happened. */
#ifndef HF_CLI_REPORT_LIST_H
#define HF_CLI_REPORT_LIST_H

#include "cli/report_data.h"

enum hf_report_list_kind {
  HF_REPORT_LIST_ENDED,     /* faults and misfits that calls ended with */
  HF_REPORT_LIST_RECOVERED, /* faults that calls got over */
  HF_REPORT_LIST_PUT_RIGHT, /* what they were put right by */
  HF_REPORT_LIST_REPAIRS,
  HF_REPORT_LIST_SOFTENED, /* what was done about failures that stayed */
};

enum { HF_REPORT_LIST_MAX = HF_FAULT_COUNT + HF_MISFIT_COUNT + HF_REPAIR_KIND_COUNT };

struct hf_report_item {
  const char *name; /* constant */
  uint64_t n;
};

struct hf_report_list {
  struct hf_report_item item[HF_REPORT_LIST_MAX];
  size_t count;
};

void hf_report_list(enum hf_report_list_kind kind, const struct hf_counts *counts, struct hf_report_list *ret_list);

#endif
