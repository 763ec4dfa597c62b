#include "cli/report_numbers.h"

static const double hour_ms = 60.0 * 60 * 1000;
static const double hours_of_month = 30.0 * 24;
static const double million = 1e6;

const char *hf_report_class_name(enum hf_report_class class) {
  static const char *const names[] = {"schema", "network", "business", "hallucinated"};
  return names[class];
}

const char *hf_report_class_title(enum hf_report_class class) {
  static const char *const titles[] = {"arguments that don't fit", "network and limits", "business errors",
                                       "made up by the model"};
  return titles[class];
}

enum hf_report_class hf_report_class_of(enum hf_fault fault) {
  switch (fault) {
  case HF_FAULT_REJECTED:
  case HF_FAULT_RESULT_MISFIT:
  case HF_FAULT_SCHEMA:
    return HF_REPORT_SCHEMA;
  case HF_FAULT_UNKNOWN_TOOL:
    return HF_REPORT_HALLUCINATED;
  case HF_FAULT_TOOL_ERROR:
  case HF_FAULT_CONFLICT:
  case HF_FAULT_UNEXPECTED:
  case HF_FAULT_INPUT_REQUIRED:
  case HF_FAULT_TASK_CANCELLED:
    return HF_REPORT_BUSINESS;
  case HF_FAULT_NONE:
  case HF_FAULT_UNREACHABLE:
  case HF_FAULT_MISCONFIGURED:
  case HF_FAULT_BREAKER_OPEN:
  case HF_FAULT_LOCAL_LIMIT:
  case HF_FAULT_SESSION_LOST:
  case HF_FAULT_NOT_SENT:
  case HF_FAULT_BROKE:
  case HF_FAULT_TIMED_OUT:
  case HF_FAULT_RATE_LIMITED:
  case HF_FAULT_REFUSED_UNEXECUTED:
  case HF_FAULT_SERVER_ERROR:
  case HF_FAULT_BAD_REPLY:
  case HF_FAULT_RPC_ERROR:
  case HF_FAULT_UNAUTHORIZED:
  case HF_FAULT_REDIRECTED:
  case HF_FAULT_TOOL_TRANSIENT:
  case HF_FAULT_CANCELLED:
  case HF_FAULT_DEADLINE:
  case HF_FAULT_UNKNOWN:
  case HF_FAULT_TASK_LOST:
  case HF_FAULT_COUNT:
    break;
  }
  return HF_REPORT_NETWORK;
}

static enum hf_report_class class_of_misfit(enum hf_misfit_kind misfit) {
  switch (misfit) {
  case HF_MISFIT_PARAMETER:
  case HF_MISFIT_TOOL:
    return HF_REPORT_HALLUCINATED;
  case HF_MISFIT_EXPECTATION:
    return HF_REPORT_BUSINESS;
  case HF_MISFIT_NONE:
  case HF_MISFIT_ARGUMENTS:
  case HF_MISFIT_LIMIT:
  case HF_MISFIT_RESULT:
  case HF_MISFIT_COUNT:
    break;
  }
  return HF_REPORT_SCHEMA;
}

static uint64_t minus(uint64_t a, uint64_t b) {
  return a > b ? a - b : 0;
}

static uint64_t smaller(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

static double rate_of(uint64_t part, uint64_t whole) {
  return whole == 0 ? -1 : (double)smaller(part, whole) / (double)whole;
}

static void lose(struct hf_report_numbers *numbers, enum hf_report_class class, uint64_t happened, uint64_t put_right) {
  numbers->lost[class].happened = hf_report_plus(numbers->lost[class].happened, happened);
  numbers->lost[class].put_right = hf_report_plus(numbers->lost[class].put_right, put_right);
}

/* Tries that a later call made up for are misfits of arguments, or of names. */
static void take_back_tries(struct hf_report_numbers *numbers, const struct hf_counts *counts) {
  static const enum hf_report_class order[] = {HF_REPORT_SCHEMA, HF_REPORT_HALLUCINATED, HF_REPORT_BUSINESS};
  uint64_t tries = counts->count[HF_COUNT_UNDONE_TRIES];
  for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
    struct hf_report_losses *lost = &numbers->lost[order[i]];
    const uint64_t here = smaller(tries, minus(lost->happened, lost->put_right));
    lost->put_right += here;
    tries -= here;
  }
}

uint64_t hf_report_renamed(const struct hf_counts *counts) {
  return smaller(counts->count[HF_COUNT_RENAMED], counts->count[HF_COUNT_REPAIRED]);
}

static void count_losses(struct hf_report_numbers *numbers, const struct hf_counts *counts) {
  for (int i = 1; i < HF_FAULT_COUNT; i++) {
    const enum hf_report_class class = hf_report_class_of((enum hf_fault)i);
    if (i == HF_FAULT_CANCELLED)
      continue;
    lose(numbers, class, counts->ended[i], 0);
    lose(numbers, class, counts->recovered[i], counts->recovered[i]);
  }
  for (int i = 1; i < HF_MISFIT_COUNT; i++)
    lose(numbers, class_of_misfit((enum hf_misfit_kind)i), counts->misfit[i], 0);
  const uint64_t renamed = hf_report_renamed(counts);
  const uint64_t fitted = counts->count[HF_COUNT_REPAIRED] - renamed;
  lose(numbers, HF_REPORT_HALLUCINATED, renamed, renamed);
  lose(numbers, HF_REPORT_SCHEMA, fitted, fitted);
  lose(numbers, HF_REPORT_NETWORK, counts->count[HF_COUNT_CHECKED], counts->count[HF_COUNT_CHECKED]);
  take_back_tries(numbers, counts);
  for (int i = 0; i < HF_REPORT_CLASS_COUNT; i++) {
    numbers->all_lost.happened = hf_report_plus(numbers->all_lost.happened, numbers->lost[i].happened);
    numbers->all_lost.put_right = hf_report_plus(numbers->all_lost.put_right, numbers->lost[i].put_right);
  }
}

void hf_report_numbers(const struct hf_counts *counts, struct hf_report_numbers *ret_numbers) {
  static const enum hf_count ends_well[] = {HF_COUNT_FIRST,    HF_COUNT_RETRIED, HF_COUNT_FELL_BACK,
                                            HF_COUNT_REPAIRED, HF_COUNT_CACHED,  HF_COUNT_CHECKED};
  const uint64_t *count = counts->count;
  struct hf_report_numbers numbers = {.calls = count[HF_COUNT_CALLS], .cached = count[HF_COUNT_CACHED]};
  numbers.steps = minus(minus(numbers.calls, counts->ended[HF_FAULT_CANCELLED]), count[HF_COUNT_UNDONE_TRIES]);
  for (size_t i = 0; i < sizeof ends_well / sizeof ends_well[0]; i++)
    numbers.good = hf_report_plus(numbers.good, count[ends_well[i]]);
  numbers.stood_in = hf_report_plus(count[HF_COUNT_STALE], count[HF_COUNT_DEFAULTED]);
  numbers.sent = minus(numbers.steps, numbers.cached);
  const uint64_t corrected =
      hf_report_plus(counts->corrected[HF_CORRECTION_FEEDBACK], counts->corrected[HF_CORRECTION_ANCHORED]);
  numbers.alone = minus(count[HF_COUNT_FIRST], corrected);
  numbers.rate_alone = rate_of(numbers.alone, numbers.sent);
  numbers.rate = rate_of(numbers.good, numbers.steps);
  numbers.rate_stood_in = rate_of(hf_report_plus(numbers.good, numbers.stood_in), numbers.steps);
  count_losses(&numbers, counts);
  *ret_numbers = numbers;
}

double hf_report_chain(double rate, unsigned steps) {
  double all = 1;
  if (rate < 0)
    return rate;
  while (steps-- > 0)
    all *= rate;
  return all;
}

static uint64_t answered(const struct hf_counts *counts) {
  uint64_t sum = 0;
  for (size_t i = 0; i < HF_COUNTS_LATENCIES; i++)
    sum = hf_report_plus(sum, counts->latency[i]);
  return sum;
}

int64_t hf_report_latency_ms(const struct hf_counts *counts, double share) {
  const uint64_t all = answered(counts);
  if (all == 0)
    return -1;
  const double wanted = share * (double)all;
  double below = 0;
  int64_t from = 0;
  for (size_t i = 0; i < HF_COUNTS_LATENCIES - 1; i++) {
    const double here = (double)counts->latency[i];
    const int64_t to = hf_counts_latency_ms[i];
    if (here > 0 && below + here >= wanted)
      return from + (int64_t)((double)(to - from) * (wanted - below) / here);
    below += here;
    from = to;
  }
  return INT64_MAX;
}

int64_t hf_report_mean_ms(const struct hf_counts *counts) {
  const uint64_t calls = counts->count[HF_COUNT_CALLS];
  const uint64_t mean = calls ? counts->count[HF_COUNT_ELAPSED_MS] / calls : 0;
  return calls == 0 ? -1 : (int64_t)(mean < INT64_MAX ? mean : INT64_MAX);
}

double hf_report_hours(const struct hf_report_data *data) {
  const double first_ms = (double)data->first_hour * hour_ms;
  const double since_ms =
      data->first_hour != INT64_MAX && first_ms > (double)data->since_ms ? first_ms : (double)data->since_ms;
  const double hours = ((double)data->until_ms - since_ms) / hour_ms;
  return hours < 1 ? 1 : hours;
}

double hf_report_per_month(const struct hf_report_data *data, uint64_t n) {
  return (double)n * hours_of_month / hf_report_hours(data);
}

double hf_report_cost(const struct hf_report_data *data, double tokens) {
  return tokens / million * data->price;
}
