/* The one thing that is most worth mending about a tool. */
#ifndef HF_CLI_REPORT_ADVICE_H
#define HF_CLI_REPORT_ADVICE_H

#include "cli/report_data.h"

struct hf_report_advice {
  const char *id;   /* a constant word for programs: "late"; NULL: nothing is worth it */
  uint64_t weight;  /* failures that it is about, put right or not */
  const char *why;  /* a constant, as the end of "12 …" */
  const char *fix;  /* a constant sentence or two */
  struct hf_str at; /* the place in the arguments that it is about, a JSON Pointer ("": all of them), or absent */
};

/* What decides is how many failures one measure could have prevented. */
void hf_report_advise(const struct hf_report_tool *tool, struct hf_report_advice *ret_advice);

#endif
