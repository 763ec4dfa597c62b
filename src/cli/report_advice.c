#include "cli/report_advice.h"

#include "cli/report_numbers.h"

/* What nobody knows is worse than what failed: somebody has to look. */
enum { MAYBE_COUNTS = 3 };

static uint64_t of_faults(const struct hf_report_tool *tool, const enum hf_fault *faults, size_t count) {
  uint64_t sum = 0;
  for (size_t i = 0; i < count; i++) {
    sum = hf_report_plus(sum, tool->counts.ended[faults[i]]);
    sum = hf_report_plus(sum, tool->counts.recovered[faults[i]]);
  }
  return sum;
}

#define FAULTS(name, ...)                                                                                              \
  static uint64_t name(const struct hf_report_tool *tool) {                                                            \
    static const enum hf_fault faults[] = {__VA_ARGS__};                                                               \
    return of_faults(tool, faults, sizeof faults / sizeof faults[0]);                                                  \
  }

FAULTS(late, HF_FAULT_TIMED_OUT, HF_FAULT_DEADLINE)
FAULTS(limited, HF_FAULT_RATE_LIMITED)
FAULTS(crowded, HF_FAULT_LOCAL_LIMIT)
FAULTS(down, HF_FAULT_UNREACHABLE, HF_FAULT_BREAKER_OPEN, HF_FAULT_REFUSED_UNEXECUTED, HF_FAULT_NOT_SENT)
FAULTS(breaks, HF_FAULT_BROKE, HF_FAULT_SERVER_ERROR, HF_FAULT_RPC_ERROR, HF_FAULT_TOOL_TRANSIENT, HF_FAULT_UNKNOWN,
       HF_FAULT_TASK_LOST)
FAULTS(garbled, HF_FAULT_BAD_REPLY)
FAULTS(forgets, HF_FAULT_SESSION_LOST)
FAULTS(locked, HF_FAULT_UNAUTHORIZED)
FAULTS(misconfigured, HF_FAULT_MISCONFIGURED, HF_FAULT_REDIRECTED)
FAULTS(rejected, HF_FAULT_REJECTED)
FAULTS(says_no, HF_FAULT_TOOL_ERROR, HF_FAULT_CONFLICT, HF_FAULT_TASK_CANCELLED)
FAULTS(asks, HF_FAULT_INPUT_REQUIRED)
FAULTS(unknown_tool, HF_FAULT_UNKNOWN_TOOL)
FAULTS(odd_result, HF_FAULT_RESULT_MISFIT)
FAULTS(unexpected, HF_FAULT_UNEXPECTED)
FAULTS(misfits_without_kind, HF_FAULT_SCHEMA)

static uint64_t maybe(const struct hf_report_tool *tool) {
  return tool->counts.count[HF_COUNT_MAYBE] > UINT64_MAX / MAYBE_COUNTS
             ? UINT64_MAX
             : tool->counts.count[HF_COUNT_MAYBE] * MAYBE_COUNTS;
}

static uint64_t misfits(const struct hf_report_tool *tool) {
  return hf_report_plus(hf_report_plus(tool->counts.misfit[HF_MISFIT_ARGUMENTS], tool->counts.misfit[HF_MISFIT_LIMIT]),
                        misfits_without_kind(tool));
}

static const struct hf_report_place *worst_place(const struct hf_report_tool *tool) {
  const struct hf_report_place *worst = NULL;
  for (size_t i = 0; i < tool->place_count; i++)
    if (!worst || tool->place[i].n > worst->n)
      worst = &tool->place[i];
  return worst;
}

/* Half of them at one place: then it is that one which is described badly. */
static uint64_t misfits_at_one_place(const struct hf_report_tool *tool) {
  const struct hf_report_place *worst = worst_place(tool);
  const uint64_t all = misfits(tool);
  return worst && worst->pointer.len && worst->n >= all / 2 + all % 2 ? all : 0;
}

static uint64_t parameters(const struct hf_report_tool *tool) {
  return tool->counts.misfit[HF_MISFIT_PARAMETER];
}

static uint64_t made_up(const struct hf_report_tool *tool) {
  return hf_report_plus(tool->counts.misfit[HF_MISFIT_TOOL], unknown_tool(tool));
}

static uint64_t misfit_results(const struct hf_report_tool *tool) {
  return hf_report_plus(tool->counts.misfit[HF_MISFIT_RESULT], odd_result(tool));
}

static uint64_t unexpected_results(const struct hf_report_tool *tool) {
  return hf_report_plus(tool->counts.misfit[HF_MISFIT_EXPECTATION], unexpected(tool));
}

static uint64_t repaired(const struct hf_report_tool *tool) {
  return tool->counts.count[HF_COUNT_REPAIRED];
}

/* Of equal weights the first row wins: what is more exact stands before what is less. */
static const struct rule {
  const char *id;
  uint64_t (*weight)(const struct hf_report_tool *tool);
  const char *why;
  const char *fix;
  bool tells_place;
} rules[] = {
    {"maybe", maybe, "calls may have run, and nobody knows",
     "Give it a status check (`reconcile`), or an idempotency key if its server takes one (`safety: keyed`).", false},
    {"late", late, "times it did not answer in time",
     "Raise `timeout.attempt` above what it takes at its slowest, or give it a policy for long tools.", false},
    {"rate_limit", limited, "times its rate limit was hit",
     "Call it less at once (`maxConcurrent`), or answer from the cache (`cache.ttl`).", false},
    {"crowded", crowded, "times a limit of the gateway was reached",
     "Raise its `maxConcurrent`, or add a second provider by a route.", false},
    {"credentials", locked, "times the credentials were not accepted", "Renew the token in `headers` or `env`.", false},
    {"configuration", misconfigured, "times it could not be used as it is configured",
     "`holdfast check --probe` tells what is wrong with `command` or `url`.", false},
    {"down", down, "times its server could not be reached",
     "Give the server a `standby`, or the tool a second provider by a route; `cache.maxStale` bridges outages.", false},
    {"breaks", breaks, "times its server broke or failed",
     "Look at the server's own log; if a repeat is safe, say so (`safety`), so that it is tried again.", false},
    {"garbled", garbled, "times the answer could not be understood",
     "Tell the server's author; what came, `holdfast explain` and the log say.", false},
    {"session", forgets, "times the server had forgotten the session",
     "Look for restarts of the server, or for several behind one address without affinity.", false},
    {"argument", misfits_at_one_place, "times the arguments did not fit, mostly at one place",
     "Say in its description what it takes, with an example; models read that.", true},
    {"arguments", misfits, "times the arguments did not fit",
     "Its schema is hard to follow: fewer required members, and an example in the description, help most.", false},
    {"parameters", parameters, "times a parameter was made up",
     "Name in its description what it doesn't take, or rename what is mistaken for another.", true},
    {"repaired", repaired, "times the arguments had to be repaired",
     "Models write them in another form: say in the description which types it takes.", false},
    {"rejected", rejected, "times the server rejected arguments that fit its schema",
     "The schema promises more than the server takes: tell its author, or narrow it with a route's `inputSchema`.",
     false},
    {"made_up", made_up, "calls of tools that don't exist",
     "Show fewer tools (`hidden`) with plainer names; `repair.names` corrects near misses of read-only ones.", false},
    {"result", misfit_results, "results did not fit its `outputSchema`",
     "Tell the server's author; `results: warn` lets them pass meanwhile.", false},
    {"expectation", unexpected_results, "results were not what `expect` wants",
     "Look whether the arguments that models choose can bring such a result at all.", false},
    {"says_no", says_no, "times the tool itself said no",
     "Add `hints` for what it says most often, so that the next call is another one.", false},
    {"asks", asks, "times it asked for input that nobody could give",
     "Use a client that can be asked, or call the tool with all it needs.", false},
};

void hf_report_advise(const struct hf_report_tool *tool, struct hf_report_advice *ret_advice) {
  struct hf_report_advice advice = {.id = NULL};
  for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
    const struct rule *rule = &rules[i];
    const uint64_t weight = rule->weight(tool);
    if (weight <= advice.weight)
      continue;
    const struct hf_report_place *worst = rule->tells_place ? worst_place(tool) : NULL;
    advice = (struct hf_report_advice){
        .id = rule->id,
        .weight = weight,
        .why = rule->why,
        .fix = rule->fix,
        .at = worst ? worst->pointer : (struct hf_str){NULL, 0},
    };
  }
  if (advice.id && rules[0].id == advice.id)
    advice.weight /= MAYBE_COUNTS;
  *ret_advice = advice;
}
