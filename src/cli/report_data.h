/* What `holdfast report` tells of: the counts that the store has added up, by tool, by server and over time. */
#ifndef HF_CLI_REPORT_DATA_H
#define HF_CLI_REPORT_DATA_H

#include "base/arena.h"
#include "base/map.h"
#include "gateway/observe/counts.h"
#include "store/database.h"

enum {
  HF_REPORT_PLACES_MAX = 32,   /* of misfits, of one tool */
  HF_REPORT_TOOLS_MAX = 65536, /* what is beyond is counted with all, and not by itself */
  HF_REPORT_BARS_MAX = 61,     /* of the time line */
};

struct hf_report_place {
  struct hf_str pointer;
  uint64_t n;
};

/* A tool, or all tools of a server. */
struct hf_report_tool {
  struct hf_str server;
  struct hf_str tool; /* absent: all */
  struct hf_counts counts;
  struct hf_report_place place[HF_REPORT_PLACES_MAX];
  size_t place_count;
};

struct hf_report_tools {
  struct hf_map by_name;
  struct hf_report_tool **item; /* sorted once the report is loaded: what failed most first */
  size_t count;
  size_t known; /* that there are: without the one that stands for those that don't exist */
};

struct hf_report_data {
  struct hf_arena arena;
  int64_t since_ms; /* what was asked for */
  int64_t until_ms;
  int64_t first_hour; /* with a count; INT64_MAX: there is none */
  struct hf_counts all;
  struct hf_report_tools tools;
  struct hf_report_tools servers;
  struct hf_counts *bar; /* of `bar_hours` hours each, from `bar_first` on */
  size_t bar_count;
  int64_t bar_first; /* hour, of local time a multiple of theirs */
  int64_t bar_hours;
  uint64_t waiting; /* dead letters, now */
  uint64_t quarantined;
  double price; /* of a million tokens, in dollars */
  bool failed;  /* no memory */
};

/* Counts that are possible never pass 64 bits; those that are not must do no harm: no sum passes UINT64_MAX. */
static inline uint64_t hf_report_plus(uint64_t a, uint64_t b) {
  return a + b < a ? UINT64_MAX : a + b;
}

/* Stands it for calls of tools that no server has? */
bool hf_report_is_unknown(const struct hf_report_tool *tool);

/* For people: "arguments that don't fit", "feedback". Constant. */
const char *hf_misfit_title(enum hf_misfit_kind misfit);
const char *hf_correction_title(enum hf_correction correction);

/* Reads the counts of whole hours from that of `since_ms` to that of `until_ms`. Returns 0 or the error of the
 * database, or HF_ERR_NOMEM; then, too, it is to be deinitialised. */
int hf_report_data_load(struct hf_report_data *report, struct hf_database *database, int64_t since_ms,
                        int64_t until_ms);
void hf_report_data_deinit(struct hf_report_data *report);

#endif
