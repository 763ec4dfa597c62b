#include "cli/report_json.h"

#include "cli/report_advice.h"
#include "cli/report_numbers.h"
#include "json/write.h"

#include <stdio.h>

enum { HOUR_MS = 60 * 60 * 1000, NUMBER_MAX = 64 };

static const unsigned chains[] = {1, 5, 10, 20};

static void write_count(struct hf_json_writer *w, const char *key, uint64_t n) {
  hf_json_write_member_int(w, key, n < INT64_MAX ? (int64_t)n : INT64_MAX);
}

static void write_time(struct hf_json_writer *w, const char *key, int64_t ms) {
  hf_json_write_key(w, key);
  if (ms < 0)
    hf_json_write_null(w);
  else
    hf_json_write_int(w, ms);
}

/* JSON has no other numbers than these; what is not known is null. */
static void write_number(struct hf_json_writer *w, const char *key, double value, int decimals) {
  char text[NUMBER_MAX];
  hf_json_write_key(w, key);
  int n = value < 0 ? 0 : snprintf(text, sizeof text, "%.*f", decimals, value);
  if (n <= 0 || (size_t)n >= sizeof text)
    hf_json_write_null(w);
  else
    hf_json_write_raw(w, (struct hf_str){text, (size_t)n});
}

static void write_rate(struct hf_json_writer *w, const char *key, double rate) {
  write_number(w, key, rate, 6);
}

static void write_ends(struct hf_json_writer *w, const struct hf_counts *counts) {
  hf_json_write_key(w, "endedWell");
  hf_json_write_object(w);
  write_count(w, "first", counts->count[HF_COUNT_FIRST]);
  write_count(w, "retried", counts->count[HF_COUNT_RETRIED]);
  write_count(w, "fellBack", counts->count[HF_COUNT_FELL_BACK]);
  write_count(w, "repaired", counts->count[HF_COUNT_REPAIRED]);
  write_count(w, "cached", counts->count[HF_COUNT_CACHED]);
  write_count(w, "checked", counts->count[HF_COUNT_CHECKED]);
  hf_json_write_object_end(w);
  hf_json_write_key(w, "stoodIn");
  hf_json_write_object(w);
  write_count(w, "earlierAnswer", counts->count[HF_COUNT_STALE]);
  write_count(w, "default", counts->count[HF_COUNT_DEFAULTED]);
  hf_json_write_object_end(w);
}

static void write_classes(struct hf_json_writer *w, const struct hf_report_numbers *numbers) {
  hf_json_write_key(w, "classes");
  hf_json_write_object(w);
  for (int i = 0; i < HF_REPORT_CLASS_COUNT; i++) {
    const struct hf_report_losses *lost = &numbers->lost[i];
    hf_json_write_key(w, hf_report_class_name((enum hf_report_class)i));
    hf_json_write_object(w);
    write_count(w, "happened", lost->happened);
    write_count(w, "putRight", lost->put_right);
    write_count(w, "reachedAgent", lost->happened - lost->put_right);
    hf_json_write_object_end(w);
  }
  hf_json_write_object_end(w);
}

static void write_faults(struct hf_json_writer *w, const struct hf_counts *counts) {
  hf_json_write_key(w, "faults");
  hf_json_write_object(w);
  for (int i = 1; i < HF_FAULT_COUNT; i++) {
    if (counts->ended[i] == 0 && counts->recovered[i] == 0)
      continue;
    hf_json_write_key(w, hf_fault_name((enum hf_fault)i));
    hf_json_write_object(w);
    write_count(w, "ended", counts->ended[i]);
    write_count(w, "recovered", counts->recovered[i]);
    hf_json_write_object_end(w);
  }
  hf_json_write_object_end(w);
}

static void write_arguments(struct hf_json_writer *w, const struct hf_counts *counts) {
  hf_json_write_key(w, "misfits");
  hf_json_write_object(w);
  for (int i = 1; i < HF_MISFIT_COUNT; i++)
    if (counts->misfit[i])
      write_count(w, hf_misfit_name((enum hf_misfit_kind)i), counts->misfit[i]);
  hf_json_write_object_end(w);
  hf_json_write_key(w, "repairs");
  hf_json_write_object(w);
  for (int i = 0; i < HF_REPAIR_KIND_COUNT; i++)
    if (counts->repair[i])
      write_count(w, hf_repair_name((enum hf_repair_kind)i), counts->repair[i]);
  hf_json_write_object_end(w);
  hf_json_write_key(w, "corrections");
  hf_json_write_object(w);
  for (int i = 1; i < HF_CORRECTION_COUNT; i++) {
    if (counts->asked[i] == 0 && counts->corrected[i] == 0)
      continue;
    hf_json_write_key(w, hf_correction_name((enum hf_correction)i));
    hf_json_write_object(w);
    write_count(w, "asked", counts->asked[i]);
    write_count(w, "helped", counts->corrected[i]);
    hf_json_write_object_end(w);
  }
  hf_json_write_object_end(w);
}

static void write_latency(struct hf_json_writer *w, const struct hf_counts *counts) {
  hf_json_write_key(w, "latencyMs");
  hf_json_write_object(w);
  write_time(w, "mean", hf_report_mean_ms(counts));
  write_time(w, "p50", hf_report_latency_ms(counts, 0.5));
  write_time(w, "p95", hf_report_latency_ms(counts, 0.95));
  hf_json_write_object_end(w);
}

/* What is told of all calls, of a server's, and of a tool's alike. */
static void write_block(struct hf_json_writer *w, const struct hf_counts *counts) {
  struct hf_report_numbers numbers;
  hf_report_numbers(counts, &numbers);
  write_count(w, "calls", numbers.calls);
  write_count(w, "steps", numbers.steps);
  write_count(w, "attempts", counts->count[HF_COUNT_ATTEMPTS]);
  hf_json_write_key(w, "rates");
  hf_json_write_object(w);
  write_rate(w, "without", numbers.rate_alone);
  write_rate(w, "with", numbers.rate);
  write_rate(w, "withStandIns", numbers.rate_stood_in);
  hf_json_write_object_end(w);
  write_ends(w, counts);
  write_classes(w, &numbers);
  write_faults(w, counts);
  write_arguments(w, counts);
  write_count(w, "renamedTools", hf_report_renamed(counts));
  write_count(w, "correctedTries", counts->count[HF_COUNT_UNDONE_TRIES]);
  write_count(w, "stopped", counts->count[HF_COUNT_STOPPED]);
  write_count(w, "warned", counts->count[HF_COUNT_WARNED]);
  write_count(w, "maybeExecuted", counts->count[HF_COUNT_MAYBE]);
  hf_json_write_key(w, "deadLetters");
  hf_json_write_object(w);
  write_count(w, "written", counts->count[HF_COUNT_LETTERS]);
  write_count(w, "lost", counts->count[HF_COUNT_LETTERS_LOST]);
  hf_json_write_object_end(w);
  write_latency(w, counts);
}

static void write_chains(struct hf_json_writer *w, const struct hf_report_data *data) {
  struct hf_report_numbers numbers;
  hf_report_numbers(&data->all, &numbers);
  hf_json_write_key(w, "chains");
  hf_json_write_array(w);
  for (size_t i = 0; i < sizeof chains / sizeof chains[0]; i++) {
    hf_json_write_object(w);
    write_count(w, "steps", chains[i]);
    write_rate(w, "without", hf_report_chain(numbers.rate_alone, chains[i]));
    write_rate(w, "with", hf_report_chain(numbers.rate, chains[i]));
    write_rate(w, "withStandIns", hf_report_chain(numbers.rate_stood_in, chains[i]));
    hf_json_write_object_end(w);
  }
  hf_json_write_array_end(w);
}

static void write_token_kind(struct hf_json_writer *w, const struct hf_report_data *data, const char *key,
                             enum hf_count count) {
  const uint64_t tokens = data->all.count[count];
  const double month = hf_report_per_month(data, tokens);
  hf_json_write_key(w, key);
  hf_json_write_object(w);
  write_count(w, "tokens", tokens);
  write_number(w, "perMonth", month, 0);
  write_number(w, "dollarsPerMonth", hf_report_cost(data, month), 2);
  hf_json_write_object_end(w);
}

static void write_tokens(struct hf_json_writer *w, const struct hf_report_data *data) {
  hf_json_write_key(w, "tokens");
  hf_json_write_object(w);
  write_number(w, "dollarsPerMillion", data->price, 4);
  write_token_kind(w, data, "saved", HF_COUNT_TOKENS_SAVED);
  write_token_kind(w, data, "failed", HF_COUNT_TOKENS_FAILED);
  write_token_kind(w, data, "feedback", HF_COUNT_TOKENS_FEEDBACK);
  hf_json_write_object_end(w);
}

static void write_fix(struct hf_json_writer *w, const struct hf_report_tool *tool) {
  struct hf_report_advice advice;
  hf_report_advise(tool, &advice);
  hf_json_write_key(w, "fix");
  if (!advice.id) {
    hf_json_write_null(w);
    return;
  }
  hf_json_write_object(w);
  hf_json_write_member_str(w, "id", hf_str_from(advice.id));
  write_count(w, "count", advice.weight);
  hf_json_write_member_str(w, "why", hf_str_from(advice.why));
  hf_json_write_member_str(w, "do", hf_str_from(advice.fix));
  if (advice.at.ptr)
    hf_json_write_member_str(w, "at", advice.at);
  hf_json_write_object_end(w);
}

static void write_places(struct hf_json_writer *w, const struct hf_report_tool *tool) {
  hf_json_write_key(w, "misfitsAt");
  hf_json_write_object(w);
  for (size_t i = 0; i < tool->place_count; i++) {
    hf_json_write_key_str(w, tool->place[i].pointer);
    hf_json_write_int(w, tool->place[i].n < INT64_MAX ? (int64_t)tool->place[i].n : INT64_MAX);
  }
  hf_json_write_object_end(w);
}

static void write_tools(struct hf_json_writer *w, const struct hf_report_data *data) {
  hf_json_write_key(w, "servers");
  hf_json_write_array(w);
  for (size_t i = 0; i < data->servers.count; i++) {
    hf_json_write_object(w);
    hf_json_write_member_str(w, "server", data->servers.item[i]->server);
    write_block(w, &data->servers.item[i]->counts);
    hf_json_write_object_end(w);
  }
  hf_json_write_array_end(w);
  hf_json_write_key(w, "tools");
  hf_json_write_array(w);
  for (size_t i = 0; i < data->tools.count; i++) {
    hf_json_write_object(w);
    hf_json_write_member_str(w, "server", data->tools.item[i]->server);
    hf_json_write_member_str(w, "tool", data->tools.item[i]->tool);
    write_block(w, &data->tools.item[i]->counts);
    write_places(w, data->tools.item[i]);
    write_fix(w, data->tools.item[i]);
    hf_json_write_object_end(w);
  }
  hf_json_write_array_end(w);
}

static void write_time_line(struct hf_json_writer *w, const struct hf_report_data *data) {
  hf_json_write_key(w, "timeline");
  hf_json_write_array(w);
  for (size_t i = 0; i < data->bar_count; i++) {
    struct hf_report_numbers numbers;
    hf_report_numbers(&data->bar[i], &numbers);
    hf_json_write_object(w);
    hf_json_write_member_int(w, "fromMs", (data->bar_first + (int64_t)i * data->bar_hours) * HOUR_MS);
    write_count(w, "calls", numbers.calls);
    write_count(w, "steps", numbers.steps);
    write_count(w, "endedWell", numbers.good);
    write_count(w, "endedWellAlone", numbers.alone);
    hf_json_write_object_end(w);
  }
  hf_json_write_array_end(w);
}

int hf_report_json(const struct hf_report_data *data, struct hf_buf *out) {
  struct hf_json_writer w;
  hf_json_writer_init(&w, out);
  hf_json_write_object(&w);
  hf_json_write_member_int(&w, "sinceMs", data->since_ms);
  hf_json_write_member_int(&w, "untilMs", data->until_ms);
  write_number(&w, "hoursCounted", data->first_hour == INT64_MAX ? 0 : hf_report_hours(data), 2);
  write_block(&w, &data->all);
  write_count(&w, "deadLettersWaiting", data->waiting);
  write_count(&w, "deadLettersQuarantined", data->quarantined);
  write_chains(&w, data);
  write_tokens(&w, data);
  write_tools(&w, data);
  write_time_line(&w, data);
  hf_json_write_object_end(&w);
  return hf_json_write_finish(&w);
}
