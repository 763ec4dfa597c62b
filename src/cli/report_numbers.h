/* What the counts of a report come to: rates, chains, classes, latencies, tokens.
 *
 * A step is what an agent wanted done: a call, with the tries before it that did not fit and that it makes up for.
 * Cancelled calls are none. Without Holdfast a step goes well if its first attempt does, with the arguments as they
 * came; what came from a cache says nothing of that. */
#ifndef HF_CLI_REPORT_NUMBERS_H
#define HF_CLI_REPORT_NUMBERS_H

#include "cli/report_data.h"

enum hf_report_class {
  HF_REPORT_SCHEMA,
  HF_REPORT_NETWORK, /* and limits */
  HF_REPORT_BUSINESS,
  HF_REPORT_HALLUCINATED,
  HF_REPORT_CLASS_COUNT
};

/* "schema", "network", "business", "hallucinated"; and for people. */
const char *hf_report_class_name(enum hf_report_class class);
const char *hf_report_class_title(enum hf_report_class class);

/* Of a fault that is one: neither HF_FAULT_NONE nor HF_FAULT_CANCELLED. */
enum hf_report_class hf_report_class_of(enum hf_fault fault);

struct hf_report_losses {
  uint64_t happened;
  uint64_t put_right; /* the rest reached the agent */
};

struct hf_report_numbers {
  uint64_t calls;
  uint64_t steps;
  uint64_t good;     /* steps that ended well */
  uint64_t stood_in; /* steps that failed, and were answered by something that is marked as what it is */
  uint64_t cached;
  uint64_t alone; /* steps that ended well by themselves, of those that were sent */
  uint64_t sent;
  double rate_alone; /* 0 to 1; negative: there is nothing to tell it from */
  double rate;
  double rate_stood_in;
  struct hf_report_losses lost[HF_REPORT_CLASS_COUNT];
  struct hf_report_losses all_lost;
};

void hf_report_numbers(const struct hf_counts *counts, struct hf_report_numbers *ret_numbers);

/* Calls of another name than their tool's: no more than were repaired. */
uint64_t hf_report_renamed(const struct hf_counts *counts);

/* The probability that so many steps in a row end well; negative if the rate is. */
double hf_report_chain(double rate, unsigned steps);

/* The time within which this share (0 to 1) of the calls was answered, interpolated within its bucket; negative:
 * there are no calls; INT64_MAX: beyond the last bucket that has an end. */
int64_t hf_report_latency_ms(const struct hf_counts *counts, double share);
int64_t hf_report_mean_ms(const struct hf_counts *counts); /* negative: there are no calls */

/* Hours that the counts come from: since the first one, but not before what was asked for; at least one. */
double hf_report_hours(const struct hf_report_data *data);

/* What a count of this time comes to in a month of 30 days, and what so many tokens cost, in dollars. */
double hf_report_per_month(const struct hf_report_data *data, uint64_t n);
double hf_report_cost(const struct hf_report_data *data, double tokens);

#endif
