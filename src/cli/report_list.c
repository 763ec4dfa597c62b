#include "cli/report_list.h"

#include "cli/report_numbers.h"

static void add(struct hf_report_list *list, const char *name, uint64_t n) {
  if (n == 0)
    return;
  size_t at = list->count++;
  for (; at > 0 && list->item[at - 1].n < n; at--)
    list->item[at] = list->item[at - 1];
  list->item[at] = (struct hf_report_item){name, n};
}

static void add_faults(struct hf_report_list *list, const uint64_t faults[HF_FAULT_COUNT]) {
  for (int i = 1; i < HF_FAULT_COUNT; i++)
    add(list, hf_fault_name((enum hf_fault)i), faults[i]);
}

static void add_misfits(struct hf_report_list *list, const struct hf_counts *counts) {
  for (int i = 1; i < HF_MISFIT_COUNT; i++)
    add(list, hf_misfit_title((enum hf_misfit_kind)i), counts->misfit[i]);
}

static void add_ways(struct hf_report_list *list, const struct hf_counts *counts) {
  const uint64_t renamed = hf_report_renamed(counts);
  add(list, "another attempt", counts->count[HF_COUNT_RETRIED]);
  add(list, "another provider", counts->count[HF_COUNT_FELL_BACK]);
  add(list, "repaired arguments", counts->count[HF_COUNT_REPAIRED] - renamed);
  add(list, "the tool that was meant", renamed);
  add(list, "a status check", counts->count[HF_COUNT_CHECKED]);
  add(list, "the model's next try", counts->count[HF_COUNT_UNDONE_TRIES]);
}

static void add_repairs(struct hf_report_list *list, const struct hf_counts *counts) {
  for (int i = 0; i < HF_REPAIR_KIND_COUNT; i++)
    add(list, hf_repair_name((enum hf_repair_kind)i), counts->repair[i]);
}

static void add_softened(struct hf_report_list *list, const struct hf_counts *counts) {
  add(list, "an earlier answer stood in", counts->count[HF_COUNT_STALE]);
  add(list, "the default stood in", counts->count[HF_COUNT_DEFAULTED]);
  add(list, "dead letters written", counts->count[HF_COUNT_LETTERS]);
  add(list, "dead letters lost", counts->count[HF_COUNT_LETTERS_LOST]);
  add(list, "may have run and must not run twice", counts->count[HF_COUNT_MAYBE]);
  add(list, "told to stop and ask", counts->count[HF_COUNT_STOPPED]);
}

void hf_report_list(enum hf_report_list_kind kind, const struct hf_counts *counts, struct hf_report_list *ret_list) {
  ret_list->count = 0;
  switch (kind) {
  case HF_REPORT_LIST_ENDED:
    add_faults(ret_list, counts->ended);
    add_misfits(ret_list, counts);
    break;
  case HF_REPORT_LIST_RECOVERED:
    add_faults(ret_list, counts->recovered);
    break;
  case HF_REPORT_LIST_PUT_RIGHT:
    add_ways(ret_list, counts);
    break;
  case HF_REPORT_LIST_REPAIRS:
    add_repairs(ret_list, counts);
    break;
  case HF_REPORT_LIST_SOFTENED:
    add_softened(ret_list, counts);
    break;
  }
}
