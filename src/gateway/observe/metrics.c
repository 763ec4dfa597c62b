#include "gateway/observe/metrics.h"

#include "base/alloc.h"
#include "base/error.h"

#include <inttypes.h>

/* Upper bounds of the latency buckets: from a local child to a long tool. */
static const struct {
  hf_time limit;
  const char *text;
} buckets[] = {
    {HF_MS(1), "0.001"},      {HF_MS(5), "0.005"},    {HF_MS(25), "0.025"},   {HF_MS(100), "0.1"},
    {HF_MS(250), "0.25"},     {HF_MS(500), "0.5"},    {HF_SECONDS(1), "1"},   {HF_MS(2500), "2.5"},
    {HF_SECONDS(5), "5"},     {HF_SECONDS(10), "10"}, {HF_SECONDS(30), "30"}, {HF_SECONDS(60), "60"},
    {HF_SECONDS(300), "300"},
};

enum { BUCKET_COUNT = sizeof buckets / sizeof buckets[0], LABEL_KEY_MAX = 512 };

struct tool_metrics {
  struct hf_str server; /* in the map's key */
  struct hf_str tool;
  uint64_t calls[HF_SOURCE_COUNT][HF_FAULT_COUNT];
  uint64_t attempts;
  uint64_t latency[BUCKET_COUNT]; /* not cumulative */
  uint64_t count;
  uint64_t sum_us;
};

void hf_metrics_init(struct hf_metrics *metrics) {
  hf_map_init(&metrics->tools, HF_METRICS_TOOLS_MAX + 1);
}

void hf_metrics_deinit(struct hf_metrics *metrics) {
  for (size_t i = 0; i < metrics->tools.len; i++)
    hf_free(metrics->tools.entries[i].value);
  hf_map_deinit(&metrics->tools);
}

static struct tool_metrics *add(struct hf_metrics *metrics, struct hf_str key, size_t server_len) {
  struct tool_metrics *tool = hf_calloc(1, sizeof *tool);
  if (!tool)
    return NULL;
  if (hf_map_put(&metrics->tools, key, tool) < 0) {
    hf_free(tool);
    return NULL;
  }
  const char *copy = metrics->tools.entries[metrics->tools.len - 1].key;
  tool->server = (struct hf_str){copy, server_len};
  tool->tool = (struct hf_str){copy + server_len + 1, key.len - server_len - 1};
  return tool;
}

static struct tool_metrics *find(struct hf_metrics *metrics, struct hf_str server, struct hf_str tool) {
  if (!server.ptr)
    server = HF_STR("_unknown");
  if (!tool.ptr)
    tool = HF_STR("_unknown");
  if (server.len + tool.len + 1 > LABEL_KEY_MAX)
    server = tool = HF_STR("_other");

  char key[LABEL_KEY_MAX];
  memcpy(key, server.ptr, server.len);
  key[server.len] = '\0';
  memcpy(key + server.len + 1, tool.ptr, tool.len);
  struct hf_str whole = {key, server.len + 1 + tool.len};
  struct tool_metrics *found = hf_map_get(&metrics->tools, whole);
  if (found)
    return found;
  if (metrics->tools.len < HF_METRICS_TOOLS_MAX)
    return add(metrics, whole, server.len);

  struct hf_str other = HF_STR("_other\0_other");
  found = hf_map_get(&metrics->tools, other);
  return found ? found : add(metrics, other, sizeof "_other" - 1);
}

void hf_metrics_count(struct hf_metrics *metrics, struct hf_str server, struct hf_str tool, enum hf_source source,
                      enum hf_fault fault, unsigned attempts, hf_time elapsed) {
  struct tool_metrics *t = find(metrics, server, tool);
  if (!t)
    return;
  t->calls[source][fault]++;
  t->attempts += attempts;
  t->count++;
  t->sum_us += (uint64_t)elapsed;
  for (size_t i = 0; i < BUCKET_COUNT; i++) {
    if (elapsed <= buckets[i].limit) {
      t->latency[i]++;
      break;
    }
  }
}

void hf_metrics_outcome(struct hf_metrics *metrics, const struct hf_outcome *outcome) {
  if (outcome->source != HF_SOURCE_LIVE)
    hf_metrics_add(metrics, outcome->fault == HF_FAULT_NONE ? HF_METRIC_CACHE_HITS : HF_METRIC_DEGRADED);
  if (outcome->letter == HF_LETTER_WRITTEN)
    metrics->letters[outcome->fault]++;
  else if (outcome->letter == HF_LETTER_FAILED)
    hf_metrics_add(metrics, HF_METRIC_LETTERS_LOST);
}

int hf_metrics_label(struct hf_buf *out, struct hf_str text) {
  int r = hf_buf_append(out, "\"", 1);
  for (size_t i = 0; r == 0 && i < text.len; i++) {
    char c = text.ptr[i];
    if (c == '"' || c == '\\')
      r = hf_buf_printf(out, "\\%c", c);
    else if (c == '\n')
      r = hf_buf_append_str(out, HF_STR("\\n"));
    else
      r = hf_buf_append(out, &c, 1);
  }
  return r ? r : hf_buf_append(out, "\"", 1);
}

/* Writes `name{server="…",tool="…"` and leaves the brace open for more labels. */
static int open_labels(struct hf_buf *out, const char *name, const struct tool_metrics *t) {
  int r = hf_buf_printf(out, "%s{server=", name);
  if (r == 0)
    r = hf_metrics_label(out, t->server);
  if (r == 0)
    r = hf_buf_append_str(out, HF_STR(",tool="));
  return r ? r : hf_metrics_label(out, t->tool);
}

static int write_calls(struct hf_buf *out, const struct tool_metrics *t) {
  int r = 0;
  for (int source = 0; source < HF_SOURCE_COUNT; source++) {
    for (int fault = 0; fault < HF_FAULT_COUNT; fault++) {
      if (r < 0 || !t->calls[source][fault])
        continue;
      r = open_labels(out, "holdfast_calls_total", t);
      if (r == 0)
        r = hf_buf_printf(out, ",source=\"%s\",fault=\"%s\"} %" PRIu64 "\n", hf_source_name((enum hf_source)source),
                          hf_fault_name((enum hf_fault)fault), t->calls[source][fault]);
    }
  }
  return r;
}

static int write_attempts(struct hf_buf *out, const struct tool_metrics *t) {
  int r = open_labels(out, "holdfast_attempts_total", t);
  return r ? r : hf_buf_printf(out, "} %" PRIu64 "\n", t->attempts);
}

static int write_latency(struct hf_buf *out, const struct tool_metrics *t) {
  uint64_t below = 0;
  int r = 0;
  for (size_t i = 0; r == 0 && i < BUCKET_COUNT; i++) {
    below += t->latency[i];
    r = open_labels(out, "holdfast_call_seconds_bucket", t);
    if (r == 0)
      r = hf_buf_printf(out, ",le=\"%s\"} %" PRIu64 "\n", buckets[i].text, below);
  }
  if (r == 0)
    r = open_labels(out, "holdfast_call_seconds_bucket", t);
  if (r == 0)
    r = hf_buf_printf(out, ",le=\"+Inf\"} %" PRIu64 "\n", t->count);
  if (r == 0)
    r = open_labels(out, "holdfast_call_seconds_sum", t);
  if (r == 0)
    r = hf_buf_printf(out, "} %" PRIu64 ".%06" PRIu64 "\n", t->sum_us / 1000000, t->sum_us % 1000000);
  if (r == 0)
    r = open_labels(out, "holdfast_call_seconds_count", t);
  return r ? r : hf_buf_printf(out, "} %" PRIu64 "\n", t->count);
}

static const struct {
  const char *head;
  int (*write)(struct hf_buf *out, const struct tool_metrics *t);
} families[] = {
    {"# HELP holdfast_calls_total Finished calls by source of the answer and fault.\n"
     "# TYPE holdfast_calls_total counter\n",
     write_calls},
    {"# HELP holdfast_attempts_total Attempts made for finished calls.\n# TYPE holdfast_attempts_total counter\n",
     write_attempts},
    {"# HELP holdfast_call_seconds Time from a call to its answer.\n# TYPE holdfast_call_seconds histogram\n",
     write_latency},
};

static const struct {
  const char *name;
  const char *help;
} counters[] = {
#define HF_METRIC_ROW(name, family, help) {"holdfast_" family, help},
    HF_METRIC_LIST(HF_METRIC_ROW)
#undef HF_METRIC_ROW
};

static int write_counters(const struct hf_metrics *metrics, struct hf_buf *out) {
  int r = 0;
  for (size_t i = 0; r == 0 && i < HF_METRIC_COUNT; i++)
    r = hf_buf_printf(out, "# HELP %s %s\n# TYPE %s counter\n%s %" PRIu64 "\n", counters[i].name, counters[i].help,
                      counters[i].name, counters[i].name, metrics->counters[i]);
  return r;
}

static int write_letters(const struct hf_metrics *metrics, struct hf_buf *out) {
  int r = hf_buf_append_str(out, HF_STR("# HELP holdfast_dead_letters_total Dead letters written by this gateway, by "
                                        "fault.\n# TYPE holdfast_dead_letters_total counter\n"));
  for (int fault = 0; r == 0 && fault < HF_FAULT_COUNT; fault++)
    if (metrics->letters[fault])
      r = hf_buf_printf(out, "holdfast_dead_letters_total{class=\"%s\"} %" PRIu64 "\n",
                        hf_fault_name((enum hf_fault)fault), metrics->letters[fault]);
  return r;
}

static int write_fits(const char *name, const char *help, const uint64_t counts[HF_FIT_COUNT], struct hf_buf *out) {
  static const char *const labels[] = {
#define HF_FIT_LABEL(name, label) label,
      HF_FIT_LIST(HF_FIT_LABEL)
#undef HF_FIT_LABEL
  };
  int r = hf_buf_printf(out, "# HELP %s %s\n# TYPE %s counter\n", name, help, name);
  for (int fit = 0; r == 0 && fit < HF_FIT_COUNT; fit++)
    if (counts[fit])
      r = hf_buf_printf(out, "%s{result=\"%s\"} %" PRIu64 "\n", name, labels[fit], counts[fit]);
  return r;
}

static int write_repairs(const struct hf_metrics *metrics, struct hf_buf *out) {
  static const char name[] = "holdfast_repairs_total";
  int r = hf_buf_printf(out, "# HELP %s What was repaired in calls, by kind.\n# TYPE %s counter\n", name, name);
  for (int kind = 0; r == 0 && kind < HF_REPAIR_KIND_COUNT; kind++)
    if (metrics->repairs[kind])
      r = hf_buf_printf(out, "%s{kind=\"%s\"} %" PRIu64 "\n", name, hf_repair_name((enum hf_repair_kind)kind),
                        metrics->repairs[kind]);
  if (r == 0 && metrics->renames)
    r = hf_buf_printf(out, "%s{kind=\"tool_name\"} %" PRIu64 "\n", name, metrics->renames);
  return r;
}

int hf_metrics_write(const struct hf_metrics *metrics, struct hf_buf *out) {
  int r = write_counters(metrics, out);
  if (r == 0)
    r = write_fits("holdfast_arguments_total", "Arguments of calls, by how they fit the schema of their tool.",
                   metrics->arguments, out);
  if (r == 0)
    r = write_fits("holdfast_results_total", "Results of tools that have an output schema, by how they fit it.",
                   metrics->results, out);
  if (r == 0)
    r = write_repairs(metrics, out);
  if (r == 0)
    r = write_letters(metrics, out);
  for (size_t f = 0; r == 0 && f < sizeof families / sizeof families[0]; f++) {
    r = hf_buf_append_str(out, hf_str_from(families[f].head));
    for (size_t i = 0; r == 0 && i < metrics->tools.len; i++)
      r = families[f].write(out, metrics->tools.entries[i].value);
  }
  return r;
}
