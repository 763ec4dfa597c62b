#include "cli/dlq.h"

/* What helps. A class is the name of a fault; what a letter's `executed` adds is said where the letter is shown. */
static const struct {
  struct hf_str reason;
  const char *advice;
} rows[] = {
#define ROW(reason, advice)                                                                                            \
  { {"" reason, sizeof(reason) - 1}, advice }
    ROW("unreachable", "The server does not take connections, or does not start: bring it back (`holdfast status` says "
                       "how it is), then replay."),
    ROW("misconfigured", "The configuration points to something that is not there (a host name, a certificate, a "
                         "program): mend it, reload (SIGHUP), then replay."),
    ROW("breaker_open", "The server had failed before these calls, so they were not sent: once `holdfast status` shows "
                        "its breaker closed, replay."),
    ROW("local_limit", "As many calls as `concurrency` allows were in flight, and the queue was full: replay with "
                       "--rate, and raise the limit if the server can take more."),
    ROW("session_lost", "The server forgot the session and a new one did not help: restart it, then replay."),
    ROW("not_sent", "The connection broke before the request was out: replay; if it comes again, look at the network "
                    "in between."),
    ROW("connection_lost", "The answer was lost on its way: find out whether the call took effect before it is "
                           "repeated; --reconcile does it, if `reconcile` is configured for the tool."),
    ROW("timed_out", "The server took longer than `timeout` allows: give slow tools a policy of their own, and find "
                     "out whether the call took effect before it is repeated."),
    ROW("rate_limited", "The server takes fewer calls than it gets: replay slowly (--rate), and lower `concurrency`."),
    ROW("unavailable", "The server said that it was not ready and did nothing: replay when it is."),
    ROW("server_error", "The server broke while it worked on the call: look into its log; find out whether the call "
                        "took effect before it is repeated."),
    ROW("bad_reply", "What came back is no answer of an MCP server (a proxy's page, cut JSON): look at what stands "
                     "between, and whether the call took effect."),
    ROW("rpc_error", "The server answered with an internal error: look into its log; find out whether the call took "
                     "effect before it is repeated."),
    ROW("rejected", "The server does not accept these arguments, and a repeat changes nothing: replay with --patch, or "
                    "discard."),
    ROW("unauthorized", "The server does not accept the gateway's credentials: renew them in the configuration, "
                        "reload, then replay."),
    ROW("unknown_tool", "The server does not have this tool (any more): update the configuration or the agent, then "
                        "discard."),
    ROW("conflict", "The server says that the state of things forbids it, perhaps since it was done already: check, "
                    "then discard."),
    ROW("redirected", "The server sends the call elsewhere: put the new address into the configuration, then replay."),
    ROW("tool_error", "The tool ran and said no: read its answer; it needs other arguments (--patch) or is to be "
                      "discarded."),
    ROW("tool_error_transient", "The tool ran and said that it could not just then: replay later."),
    ROW("unexpected_result", "The tool ran, and its result is not what `expect` asks for: read it; it needs other "
                             "arguments (--patch) or is to be discarded."),
    ROW("result_misfit", "The tool ran, and its result does not fit its own outputSchema: that is for its maker to "
                         "mend; what it did, it did."),
    ROW("schema", "The agent could not bring its arguments into the tool's schema, and nothing was sent: `holdfast dlq "
                  "show` has its tries; replay with --patch, and make the schema's descriptions clearer."),
    ROW("input_required", "The tool wanted something from its user and got no answer: have the agent call it again."),
    ROW("cancelled", "The client gave up or went away: discard, unless the effect is wanted still."),
    ROW("deadline", "The call's deadline passed before it had its turn: replay, and look what it waited for."),
    ROW("unknown", "What came back is nothing that the gateway knows: `holdfast dlq show` has the details."),
    ROW("task_lost", "The server had made a task of the call and does not know it any more, perhaps since it was "
                     "started anew: find out whether the call took effect before it is repeated."),
    ROW("task_cancelled", "The server has cancelled the task that it had made of the call: find out how far it came, "
                          "then replay or discard."),
    ROW(HF_LETTER_GATEWAY_DIED, "The gateway ended in the middle of these calls: find out whether they took effect (or "
                                "configure `reconcile` and replay with --reconcile)."),
#undef ROW
};

const char *hf_dlq_advice(struct hf_str reason) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    if (hf_str_equal(reason, rows[i].reason))
      return rows[i].advice;
  return "Nothing is known of this class: `holdfast dlq show` has the details.";
}
