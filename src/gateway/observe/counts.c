#include "gateway/observe/counts.h"

#include "base/buf.h"

#define LATENCY "latency."
#define ELSEWHERE "elsewhere"

enum { SPELLING_MAX = 96 };

const int64_t hf_counts_latency_ms[HF_COUNTS_LATENCIES] = {5,    25,    100,   250,   500,   1000,     2500,
                                                           5000, 10000, 20000, 30000, 60000, INT64_MAX};

const char *hf_count_name(enum hf_count count) {
  static const char *const names[HF_COUNT_COUNT] = {
#define HF_COUNT_NAME(name, text) text,
      HF_COUNT_LIST(HF_COUNT_NAME)
#undef HF_COUNT_NAME
  };
  return names[count];
}

const char *hf_misfit_name(enum hf_misfit_kind misfit) {
  static const char *const names[HF_MISFIT_COUNT] = {
#define HF_MISFIT_NAME(name, text) text,
      HF_MISFIT_LIST(HF_MISFIT_NAME)
#undef HF_MISFIT_NAME
  };
  return names[misfit];
}

const char *hf_correction_name(enum hf_correction correction) {
  static const char *const names[HF_CORRECTION_COUNT] = {
#define HF_CORRECTION_NAME(name, text) text,
      HF_CORRECTION_LIST(HF_CORRECTION_NAME)
#undef HF_CORRECTION_NAME
  };
  return names[correction];
}

static const char *fault_name(int at) {
  return hf_fault_name((enum hf_fault)at);
}

static const char *misfit_name(int at) {
  return hf_misfit_name((enum hf_misfit_kind)at);
}

static const char *repair_name(int at) {
  return hf_repair_name((enum hf_repair_kind)at);
}

static const char *correction_name(int at) {
  return hf_correction_name((enum hf_correction)at);
}

static const char *count_name(int at) {
  return hf_count_name((enum hf_count)at);
}

static const struct group {
  const char *prefix;
  size_t offset;
  int first; /* "none" is nothing to tell */
  int count;
  const char *(*name)(int at);
} groups[] = {
    {"", offsetof(struct hf_counts, count), 0, HF_COUNT_COUNT, count_name},
    {"fault.", offsetof(struct hf_counts, ended), 1, HF_FAULT_COUNT, fault_name},
    {"recovered.", offsetof(struct hf_counts, recovered), 1, HF_FAULT_COUNT, fault_name},
    {"misfit.", offsetof(struct hf_counts, misfit), 1, HF_MISFIT_COUNT, misfit_name},
    {"repair.", offsetof(struct hf_counts, repair), 0, HF_REPAIR_KIND_COUNT, repair_name},
    {"asked.", offsetof(struct hf_counts, asked), 1, HF_CORRECTION_COUNT, correction_name},
    {"corrected.", offsetof(struct hf_counts, corrected), 1, HF_CORRECTION_COUNT, correction_name},
};

void hf_counts_write_one(struct hf_json_writer *w, struct hf_str group, struct hf_str name, uint64_t count) {
  char key[SPELLING_MAX];
  struct hf_buf text = {.data = key, .cap = sizeof key, .max = sizeof key};
  if (count == 0 || hf_buf_append_str(&text, group) < 0 || hf_buf_append_str(&text, name) < 0)
    return;
  hf_json_write_key_str(w, hf_buf_str(&text));
  hf_json_write_int(w, count < INT64_MAX ? (int64_t)count : INT64_MAX);
}

static void write_latency(const struct hf_counts *counts, struct hf_json_writer *w) {
  for (size_t i = 0; i < HF_COUNTS_LATENCIES - 1; i++) {
    char digits[HF_DECIMAL_MAX];
    hf_counts_write_one(w, HF_STR(LATENCY), hf_str_decimal((uint64_t)hf_counts_latency_ms[i], digits),
                        counts->latency[i]);
  }
  hf_counts_write_one(w, HF_STR(LATENCY), HF_STR("more"), counts->latency[HF_COUNTS_LATENCIES - 1]);
}

void hf_counts_write(const struct hf_counts *counts, struct hf_json_writer *w) {
  for (const struct group *group = groups; group < groups + sizeof groups / sizeof groups[0]; group++) {
    const uint64_t *of_group = (const uint64_t *)(const void *)((const char *)counts + group->offset);
    for (int i = group->first; i < group->count; i++)
      hf_counts_write_one(w, hf_str_from(group->prefix), hf_str_from(group->name(i)), of_group[i]);
  }
  write_latency(counts, w);
  hf_counts_write_one(w, HF_STR(ELSEWHERE), HF_STR(""), counts->elsewhere);
}

static struct hf_str behind(struct hf_str text, struct hf_str prefix) {
  return (struct hf_str){text.ptr + prefix.len, text.len - prefix.len};
}

static uint64_t *find_in(const struct group *group, struct hf_counts *counts, struct hf_str name) {
  for (int i = group->first; i < group->count; i++)
    if (hf_str_equal(hf_str_from(group->name(i)), name))
      return (uint64_t *)(void *)((char *)counts + group->offset) + i;
  return NULL;
}

static uint64_t *find_latency(struct hf_counts *counts, struct hf_str name) {
  unsigned long long ms;
  if (hf_str_equal(name, HF_STR("more")))
    return &counts->latency[HF_COUNTS_LATENCIES - 1];
  if (hf_str_to_u64(name, INT64_MAX, &ms) < 0)
    return NULL;
  for (size_t i = 0; i < HF_COUNTS_LATENCIES - 1; i++)
    if (hf_counts_latency_ms[i] == (int64_t)ms)
      return &counts->latency[i];
  return NULL;
}

uint64_t *hf_counts_find(struct hf_counts *counts, struct hf_str spelling) {
  if (hf_str_starts(spelling, HF_STR(LATENCY)))
    return find_latency(counts, behind(spelling, HF_STR(LATENCY)));
  if (hf_str_equal(spelling, HF_STR(ELSEWHERE)))
    return &counts->elsewhere;
  uint64_t *found = NULL;
  for (const struct group *group = groups; group < groups + sizeof groups / sizeof groups[0] && !found; group++) {
    const struct hf_str prefix = hf_str_from(group->prefix);
    if (hf_str_starts(spelling, prefix))
      found = find_in(group, counts, behind(spelling, prefix));
  }
  return found;
}
