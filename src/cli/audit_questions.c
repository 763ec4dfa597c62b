#include "cli/audit_asking.h"

#include "daemon/quantity.h"
#include "policy/classify.h"
#include "upstream/origin.h"

#include <stdio.h>

/* Official clients give a call up after this, if they are not told otherwise. */
#define CLIENTS_WAIT HF_SECONDS(60)

enum { MANY_ATTEMPTS = 10, MANY_FAILURES = 50, MANY_CALLS = 50, GREAT_SHARE = 50, ORIGIN_MAX = 320 };

/* The one that a policy option is looked up for. */
static const struct hf_audit_part *self(const struct hf_asking *q) {
  return q->subject->route ? NULL : &q->subject->part[0];
}

/* The option of a list that the file sets for the subject, or the last of them. */
static const char *given(struct hf_asking *q, const char *const *paths) {
  const struct hf_audit_part *part = self(q);
  const struct hf_decided_for whom = {
      .route = q->subject->route ? q->subject->route->name : (struct hf_str){NULL, 0},
      .pattern = part && part->tool ? part->tool->pattern : (struct hf_str){NULL, 0},
      .server = part ? part->server->name : (struct hf_str){NULL, 0},
  };
  while (paths[1] && hf_decided_find(q->audit->root, &whom, *paths, &q->audit->arena).place.line == 0)
    paths++;
  return *paths;
}

void hf_asking_timeouts(struct hf_asking *q) {
  static const char *const paths[] = {"timeout.deadline", "timeout.attempt", "timeout.connect", "timeout.idle", NULL};
  const struct hf_policy *policy = hf_audit_policy(q->subject);
  const struct hf_timeout_options *t = &policy->timeout;
  char connect[HF_QUANTITY_TEXT_MAX], idle[HF_QUANTITY_TEXT_MAX], attempt[HF_QUANTITY_TEXT_MAX],
      deadline[HF_QUANTITY_TEXT_MAX];
  hf_duration_print(t->connect, connect);
  hf_duration_print(t->idle, idle);
  hf_duration_print(t->attempt, attempt);
  hf_duration_print(t->deadline, deadline);
  if (t->connect >= t->deadline) {
    hf_asking_answer(q, HF_AUDIT_NO, self(q), "timeout.connect",
                     "connecting may take %s of the %s that the whole call has, and leaves nothing for it", connect,
                     deadline);
    hf_asking_fix(q, "a timeout.connect far below timeout.deadline, such as 2s");
  } else if (policy->retry.attempts > 1 && t->attempt >= t->deadline) {
    hf_asking_answer(
        q, HF_AUDIT_NO, self(q), "timeout.attempt",
        "one attempt may take %s, and the whole call has %s: where a server hangs, none of the %u attempts "
        "but the first is made",
        attempt, deadline, policy->retry.attempts);
    hf_asking_fix(q, "a timeout.attempt of a third of timeout.deadline at most, such as 15s of 55s");
  } else if (t->connect >= t->attempt && policy->retry.attempts > 1) {
    hf_asking_answer(q, HF_AUDIT_PARTLY, self(q), "timeout.connect",
                     "connecting may take as long as a whole attempt: %s of %s", connect, attempt);
    hf_asking_fix(q, "a timeout.connect far below timeout.attempt, such as 2s");
  } else if (t->idle >= t->deadline) {
    hf_asking_answer(q, HF_AUDIT_PARTLY, self(q), "timeout.idle",
                     "a server that has begun to answer may be silent for as long as the call has: %s of %s", idle,
                     deadline);
    hf_asking_fix(q, "a timeout.idle below timeout.deadline, such as 30s");
  } else {
    hf_asking_answer(q, HF_AUDIT_YES, self(q), given(q, paths),
                     "%s to connect, %s of silence, %s an attempt, %s in all", connect, idle, attempt, deadline);
  }
}

static bool matches_all(struct hf_strings patterns) {
  for (size_t i = 0; i < patterns.count; i++)
    if (hf_pattern_rank(patterns.item[i]) == 0)
      return true;
  return false;
}

static const struct hf_fit_settings *fit_of(const struct hf_asking *q) {
  const struct hf_audit_part *part = &q->subject->part[0];
  if (q->subject->route)
    return &q->subject->route->tool.fit;
  return part->tool ? &part->tool->fit : &part->server->fit;
}

static bool ask_tool_errors(struct hf_asking *q, size_t *ret_count) {
  for (size_t i = 0; i < q->subject->part_count; i++) {
    const struct hf_audit_part *part = &q->subject->part[i];
    const bool own = part->tool && part->tool->transient_errors.count;
    const struct hf_strings patterns = own ? part->tool->transient_errors : part->server->transient_errors;
    *ret_count += patterns.count;
    if (!matches_all(patterns))
      continue;
    hf_asking_answer(q, HF_AUDIT_NO, part, "transientErrors",
                     "every error of the tool counts as worth a retry, also those that no retry mends");
    hf_asking_fix(q, "in transientErrors only texts of errors that pass, such as \"*rate limit*\"");
    return false;
  }
  return true;
}

void hf_asking_faults(struct hf_asking *q) {
  static const char *const paths[] = {"transientErrors", "notExecuted", "validate", NULL};
  const struct hf_fit_settings *fit = fit_of(q);
  size_t patterns = 0;
  if (!ask_tool_errors(q, &patterns))
    return;
  if (fit->validate == HF_CHECK_OFF) {
    hf_asking_answer(q, HF_AUDIT_NO, self(q), "validate",
                     "arguments that do not fit are no fault of their own here: the server answers them with whatever "
                     "error it has, which may count against it");
    hf_asking_fix(q, "validate: enforce");
  } else if (fit->validate == HF_CHECK_WARN || fit->results == HF_CHECK_OFF) {
    const bool sent = fit->validate == HF_CHECK_WARN;
    hf_asking_answer(q, HF_AUDIT_PARTLY, self(q), sent ? "validate" : "results",
                     sent ? "arguments that do not fit are logged, and left to the server all the same"
                          : "a result that does not fit its outputSchema passes for a good one");
    hf_asking_fix(q, sent ? "validate: enforce" : "results: enforce, or warn");
  } else if (patterns == 0) {
    hf_asking_answer(q, HF_AUDIT_YES, self(q), given(q, paths), "each has a row in the table of faults");
  } else {
    hf_asking_answer(q, HF_AUDIT_YES, self(q), given(q, paths),
                     "each has a row in the table of faults; %zu text%s of tool errors are worth a retry", patterns,
                     patterns == 1 ? "" : "s");
  }
}

/* What a repeat at this part does, and whether that is known. */
static enum hf_safety safety_of(const struct hf_audit_part *part, bool *ret_known) {
  const bool configured = part->tool && part->tool->has_safety;
  enum hf_safety safety = configured ? part->tool->safety : part->listed ? part->annotated : HF_SAFETY_UNSAFE;
  *ret_known = configured || safety != HF_SAFETY_UNSAFE;
  return safety;
}

static enum hf_safety worst(const struct hf_audit_subject *subject, const struct hf_audit_part **ret_part,
                            bool *ret_known) {
  enum hf_safety safety = HF_SAFETY_READ_ONLY;
  *ret_part = &subject->part[0];
  *ret_known = true;
  for (size_t i = 0; i < subject->part_count; i++) {
    bool known;
    enum hf_safety its = safety_of(&subject->part[i], &known);
    bool worse = its < safety || (*ret_known && !known);
    if (worse && *ret_known) {
      *ret_part = &subject->part[i];
      safety = its;
      *ret_known = known;
    }
  }
  return safety;
}

static bool has_effects(enum hf_safety safety) {
  return safety == HF_SAFETY_UNSAFE || safety == HF_SAFETY_KEYED;
}

static void answer_known(struct hf_asking *q, const struct hf_audit_part *part, enum hf_safety safety) {
  static const char *const consequences[] = {
      [HF_SAFETY_UNSAFE] = "it is never sent again once it may have run",
      [HF_SAFETY_KEYED] = "each repeat carries the key of the first attempt",
      [HF_SAFETY_IDEMPOTENT] = "the same server may get it again",
      [HF_SAFETY_READ_ONLY] = "it may be sent again",
  };
  hf_asking_answer(q, HF_AUDIT_YES, part, "safety", "%s: %s", hf_safety_name(safety), consequences[safety]);
  if (!(part->tool && part->tool->has_safety))
    q->answer->decided.by = HF_STR("its annotations");
}

static void fix_safety(struct hf_asking *q, const struct hf_audit_part *part) {
  static const char *const choices = "safety: read_only, idempotent, keyed or unsafe";
  if (part->tool)
    hf_asking_fix(q, "in %.*s, %s", HF_STR_FMT(part->tool->source), choices);
  else
    hf_asking_fix(q, "in an entry tools.%.*s__%.*s, %s", HF_STR_FMT(part->server->name),
                  part->own.ptr ? (int)part->own.len : 1, part->own.ptr ? part->own.ptr : "*", choices);
}

void hf_asking_idempotency(struct hf_asking *q) {
  const struct hf_audit_part *part;
  bool known;
  const enum hf_safety safety = worst(q->subject, &part, &known);
  const hf_time deadline = hf_audit_policy(q->subject)->timeout.deadline;
  char ttl[HF_QUANTITY_TEXT_MAX];
  if (has_effects(safety) && hf_audit_entry(q->audit, q->subject)->coalesce == 0) {
    hf_asking_answer(q, HF_AUDIT_NO, self(q), "coalesce",
                     "a client that sends a call again while it runs, or after its stream broke, starts it twice");
    hf_asking_fix(q, "coalesce: 30s");
  } else if (has_effects(safety) && !q->audit->settings->store.enabled) {
    hf_asking_answer(q, HF_AUDIT_NO, NULL, "store.enabled",
                     "what a gateway that is killed was sending is forgotten, so that the next call may run it twice");
    hf_asking_fix(q, "store: { enabled: true }");
  } else if (safety == HF_SAFETY_KEYED && part->tool && part->tool->key.ttl < deadline) {
    hf_asking_answer(q, HF_AUDIT_NO, part, "idempotencyKey.ttl",
                     "the server forgets the key after %s, before the call is over",
                     hf_duration_print(part->tool->key.ttl, ttl));
    hf_asking_fix(q, "a timeout.deadline below idempotencyKey.ttl, or a longer ttl if the server has it");
  } else if (!known) {
    hf_asking_answer(q, HF_AUDIT_PARTLY, part, "safety",
                     part->listed
                         ? "neither file nor annotations say what a repeat does: it counts as unsafe, and is never "
                           "sent again once it may have run"
                         : "nothing here says what a repeat does: if its annotations (--probe reads them) do not "
                           "either, it counts as unsafe, and is never sent again once it may have run");
    fix_safety(q, part);
  } else {
    answer_known(q, part, safety);
  }
}

static void answer_retries(struct hf_asking *q, const struct hf_retry_options *retry) {
  static const char *const paths[] = {"retry.attempts", "retry.base", "retry.max", "retry.jitter", NULL};
  char base[HF_QUANTITY_TEXT_MAX], max[HF_QUANTITY_TEXT_MAX];
  if (retry->attempts == 1)
    hf_asking_answer(q, HF_AUDIT_YES, self(q), "retry.attempts", "one attempt, and none is repeated");
  else
    hf_asking_answer(q, HF_AUDIT_YES, self(q), given(q, paths),
                     "%u attempts at most, with pauses of up to %s, doubling to %s", retry->attempts,
                     hf_duration_print(retry->base, base), hf_duration_print(retry->max, max));
}

/* The server whose budget lets repeats through as fast as they come, or NULL. */
static const struct hf_audit_part *spendthrift(const struct hf_audit_subject *subject) {
  for (size_t i = 0; i < subject->part_count; i++)
    if (subject->part[i].server->provider.budget.share_percent > GREAT_SHARE)
      return &subject->part[i];
  return NULL;
}

void hf_asking_retries(struct hf_asking *q) {
  const struct hf_policy *policy = hf_audit_policy(q->subject);
  const struct hf_retry_options *retry = &policy->retry;
  const struct hf_audit_part *part;
  bool known;
  const enum hf_safety safety = worst(q->subject, &part, &known);
  const struct hf_audit_part *generous = spendthrift(q->subject);
  if (retry->attempts > 1 && retry->jitter == HF_RETRY_JITTER_NONE) {
    hf_asking_answer(q, HF_AUDIT_NO, self(q), "retry.jitter",
                     "pauses have no jitter: callers that failed together come back together");
    hf_asking_fix(q, "retry: { jitter: full }");
  } else if (retry->attempts > 1 && retry->base >= policy->timeout.deadline) {
    hf_asking_answer(q, HF_AUDIT_NO, self(q), "retry.base", "the first pause may be as long as the whole call");
    hf_asking_fix(q, "retry: { base: 500ms }");
  } else if (retry->attempts > MANY_ATTEMPTS) {
    hf_asking_answer(q, HF_AUDIT_PARTLY, self(q), "retry.attempts", "%u attempts are hardly a bound", retry->attempts);
    hf_asking_fix(q, "a retry.attempts of %d at most", MANY_ATTEMPTS);
  } else if (retry->attempts > 1 && generous) {
    hf_asking_answer(q, HF_AUDIT_PARTLY, generous, "retryBudget.share",
                     "repeats may be as many as %u %% of all calls: a server in trouble gets more of it",
                     generous->server->provider.budget.share_percent);
    hf_asking_fix(q, "retryBudget: { share: 20%% }");
  } else if (retry->attempts == 1 && known && hf_safety_allows_repeat(safety)) {
    hf_asking_answer(q, HF_AUDIT_PARTLY, self(q), "retry.attempts", "it could be repeated (%s), and never is",
                     hf_safety_name(safety));
    hf_asking_fix(q, "a retry.attempts of 3 to 7");
  } else {
    answer_retries(q, retry);
  }
}

/* Fills the answer and returns false where a breaker does not open in time. */
static bool ask_breakers(struct hf_asking *q) {
  for (size_t i = 0; i < q->subject->part_count; i++) {
    const struct hf_audit_part *part = &q->subject->part[i];
    const struct hf_breaker_options *breaker = &(part->tool ? &part->tool->policy : &part->server->policy)->breaker;
    if (breaker->failures > 0 && breaker->failures <= MANY_FAILURES)
      continue;
    const bool rare = breaker->min_calls > MANY_CALLS;
    if (breaker->failures > 0)
      hf_asking_answer(q, HF_AUDIT_PARTLY, part, "breaker.failures",
                       "its breaker opens after %u failures in a row only", breaker->failures);
    else
      hf_asking_answer(
          q, rare ? HF_AUDIT_NO : HF_AUDIT_PARTLY, part, "breaker.failures",
          "its breaker does not open after failures in a row, only when %u %% of at least %u calls failed: one "
          "that is called now and then is sent to a dead server every time",
          breaker->rate_percent, breaker->min_calls);
    hf_asking_fix(q, "breaker: { failures: 5 }");
    return false;
  }
  return true;
}

/* What is behind the breaker, in few words; NULL: an error. */
static const char *way_out(const struct hf_asking *q) {
  const struct hf_tool_settings *entry = hf_audit_entry(q->audit, q->subject);
  const bool letters = q->audit->settings->store.enabled && entry->letters != HF_LETTER_OFF;
  const struct hf_audit_part *part;
  bool known;
  const enum hf_safety safety = worst(q->subject, &part, &known);
  if (q->subject->part_count > 1)
    return "the next provider";
  if (q->subject->part[0].server->standby.ptr)
    return "the standby of its server";
  if (entry->cache.max_stale > 0)
    return "the last good answer";
  if (entry->fallback.text.ptr || entry->fallback.structured.ptr)
    return "the default answer";
  if (entry->degraded == HF_DEGRADED_EXPLICIT)
    return "a plain word that it is unavailable, and what to do";
  if (letters && (entry->letters == HF_LETTER_ALL || safety != HF_SAFETY_READ_ONLY || !known))
    return "a dead letter, which can be replayed";
  return NULL;
}

void hf_asking_degrade(struct hf_asking *q) {
  static const char *const paths[] = {"cache.maxStale", "default",          "degraded.mode",
                                      "deadLetter",     "breaker.failures", NULL};
  if (!ask_breakers(q))
    return;
  const struct hf_audit_part *part;
  bool known;
  const enum hf_safety safety = worst(q->subject, &part, &known);
  const char *behind = way_out(q);
  const char *option = q->audit->settings->store.enabled ? "deadLetter" : "store.enabled";
  if (behind) {
    hf_asking_answer(q, HF_AUDIT_YES, self(q), given(q, paths), "a breaker, and behind it %s", behind);
  } else if (safety != HF_SAFETY_READ_ONLY || !known) {
    hf_asking_answer(
        q, HF_AUDIT_NO, q->audit->settings->store.enabled ? self(q) : NULL, option,
        "a call that failed is lost: behind the breaker there is neither another answer nor a dead letter");
    hf_asking_fix(q, q->audit->settings->store.enabled ? "deadLetter: unsafe" : "store: { enabled: true }");
  } else {
    hf_asking_answer(q, HF_AUDIT_PARTLY, self(q), "cache.maxStale", "behind the breaker there is only an error");
    hf_asking_fix(q, "cache: { maxStale: 1h }, or a default, or a route with a second provider; or degraded: { mode: "
                     "explicit }");
  }
}

void hf_asking_source(struct hf_asking *q) {
  if (q->audit->settings->log_level < HF_LOG_INFO) {
    hf_asking_answer(q, HF_AUDIT_NO, NULL, "log.level", "answers are marked, but no call has a line in the log");
    hf_asking_fix(q, "log: { level: info }");
  } else if (q->audit->settings->limits.traces == 0) {
    hf_asking_answer(q, HF_AUDIT_PARTLY, NULL, "limits.traces",
                     "answers are marked and logged, but `holdfast explain` knows of none why");
    hf_asking_fix(q, "limits: { traces: 1000 }");
  } else {
    hf_asking_answer(q, HF_AUDIT_YES, NULL, "log.level",
                     "marked in _meta and text, and a line in the log for each call");
  }
}

/* Does it come from what holds for all servers? */
static bool is_everybodys(const struct hf_decided *decided) {
  return hf_str_starts(decided->by, HF_STR("policies.default."));
}

/* Is the deadline the tool's or route's own, and not one that all of its server have? */
static bool has_own_deadline(const struct hf_asking *q) {
  const struct hf_audit_part *part = &q->subject->part[0];
  const hf_time deadline = hf_audit_policy(q->subject)->timeout.deadline;
  if (q->subject->route)
    return deadline != part->server->policy.timeout.deadline;
  return part->tool && deadline != part->server->policy.timeout.deadline;
}

void hf_asking_long(struct hf_asking *q) {
  const struct hf_audit_part *part = &q->subject->part[0];
  const hf_time deadline = hf_audit_policy(q->subject)->timeout.deadline;
  char text[HF_QUANTITY_TEXT_MAX];
  hf_duration_print(deadline, text);
  if (deadline <= CLIENTS_WAIT) {
    hf_asking_answer(q, HF_AUDIT_YES, self(q), "timeout.deadline",
                     "ends after %s, before clients give up (60s by default)", text);
  } else if (!has_own_deadline(q)) {
    hf_asking_answer(
        q, HF_AUDIT_NO, self(q), "timeout.deadline",
        "every tool may take %s, the quick ones too: clients give up before (60s by default), and what hangs "
        "holds its place",
        text);
    hf_asking_fix(q,
                  "timeout.deadline: 55s for all, and a policy of its own (policy: long) for tools that take longer");
    if (is_everybodys(&q->answer->decided))
      return;
    hf_asking_answer(q, HF_AUDIT_PARTLY, self(q), "timeout.deadline",
                     "all tools of '%.*s' may take %s, the quick ones too", HF_STR_FMT(part->server->name), text);
    hf_asking_fix(q, "policy: long for those of its tools that take longer, in place of the whole server");
  } else if (!q->subject->route && part->tool->max_concurrent == 0) {
    hf_asking_answer(q, HF_AUDIT_PARTLY, part, "timeout.deadline",
                     "it may take %s, and such calls may hold all %u places at its server", text,
                     part->server->provider.max_concurrent);
    hf_asking_fix(q, "its own concurrency: { calls: … }, below the server's");
  } else {
    hf_asking_answer(q, HF_AUDIT_YES, self(q), "timeout.deadline", "it may take %s, by a policy of its own", text);
  }
}

/* `holdfast chaos` is a server like any other. */
static bool is_holdfast(const struct hf_server_settings *server) {
  const struct hf_str command = server->command;
  const char *slash = command.ptr ? memrchr(command.ptr, '/', command.len) : NULL;
  const size_t at = slash ? (size_t)(slash - command.ptr) + 1 : 0;
  const bool is_chaos = server->args.count && hf_str_equal(server->args.item[0], HF_STR("chaos"));
  return command.ptr && !is_chaos &&
         hf_str_equal((struct hf_str){command.ptr + at, command.len - at}, HF_STR("holdfast"));
}

/* The HTTP front of this very configuration. */
static bool is_own_front(const struct hf_settings *settings, const struct hf_server_settings *server) {
  struct hf_origin origin;
  char own[ORIGIN_MAX];
  const bool six = settings->listen_host.ptr && memchr(settings->listen_host.ptr, ':', settings->listen_host.len);
  if (server->transport != HF_TRANSPORT_HTTP || !settings->listen_host.ptr ||
      hf_origin_parse(&origin, server->url, NULL) < 0)
    return false;
  int n = snprintf(own, sizeof own, "http://%s%.*s%s:%u/", six ? "[" : "", HF_STR_FMT(settings->listen_host),
                   six ? "]" : "", settings->listen_port);
  const bool same = n > 0 && (size_t)n < sizeof own && strcmp(origin.base.data, own) == 0;
  hf_origin_deinit(&origin);
  return same;
}

static bool stands_in(const struct hf_server_settings *a, const struct hf_server_settings *b) {
  return (a->standby.ptr && hf_str_equal(a->standby, b->name)) || (b->standby.ptr && hf_str_equal(b->standby, a->name));
}

static bool same_texts(struct hf_strings a, struct hf_strings b) {
  for (size_t i = 0; a.count == b.count && i < a.count; i++)
    if (!hf_str_equal(a.item[i], b.item[i]))
      return false;
  return a.count == b.count;
}

/* With other credentials it is another server to its calls. */
static bool same_server(const struct hf_server_settings *a, const struct hf_server_settings *b) {
  return a->transport == b->transport && hf_str_equal(a->url, b->url) && same_texts(a->headers, b->headers) &&
         hf_str_equal(a->command, b->command) && same_texts(a->args, b->args) && same_texts(a->env, b->env) &&
         hf_str_equal(a->cwd, b->cwd);
}

/* Another entry for the same server, or NULL. */
static const struct hf_server_settings *twin(const struct hf_settings *settings,
                                             const struct hf_server_settings *server) {
  for (size_t i = 0; i < settings->server_count; i++) {
    const struct hf_server_settings *other = &settings->servers[i];
    if (other != server && !other->disabled && same_server(server, other) && !stands_in(server, other))
      return other;
  }
  return NULL;
}

/* Fills the answer and returns false if there is a second chain around, or beside, this part's. */
static bool ask_around(struct hf_asking *q, const struct hf_audit_part *part) {
  const struct hf_settings *settings = q->audit->settings;
  const struct hf_server_settings *other = twin(settings, part->server);
  if (is_holdfast(part->server)) {
    hf_asking_answer(q, HF_AUDIT_NO, part, "command",
                     "the server '%.*s' is a gateway itself: there are two chains, and their attempts multiply",
                     HF_STR_FMT(part->server->name));
    hf_asking_fix(q, "the server's own command in the place of holdfast's");
  } else if (is_own_front(settings, part->server)) {
    hf_asking_answer(q, HF_AUDIT_NO, part, "url", "the server '%.*s' is this gateway: its calls go round in a circle",
                     HF_STR_FMT(part->server->name));
    hf_asking_fix(q, "the server's own URL");
  } else if (other) {
    hf_asking_answer(q, HF_AUDIT_NO, part, part->server->url.ptr ? "url" : "command",
                     "'%.*s' and '%.*s' are one server: each entry has breakers, limits and a retry budget of its own",
                     HF_STR_FMT(part->server->name), HF_STR_FMT(other->name));
    hf_asking_fix(q, "one entry; or, if it is a second endpoint, `standby`");
  } else {
    return true;
  }
  return false;
}

/* The route that has this very tool as one of its several providers, or NULL. */
static const struct hf_route_settings *route_with(const struct hf_asking *q) {
  const struct hf_settings *settings = q->audit->settings;
  for (size_t i = 0; !q->subject->route && q->subject->part[0].own.ptr && i < settings->route_count; i++) {
    const struct hf_route_settings *route = &settings->routes[i];
    for (size_t k = 0; k < route->provider_count; k++)
      if (route->provider_count > 1 && hf_str_equal(route->providers[k].tool.tool, q->subject->part[0].own) &&
          hf_str_equal(route->providers[k].tool.server, q->subject->part[0].server->name))
        return route;
  }
  return NULL;
}

/* An entry of its own takes the place of the pattern's. */
static void fix_hidden(struct hf_asking *q, const struct hf_audit_part *part) {
  if (part->tool && hf_pattern_rank(part->tool->pattern) == SIZE_MAX)
    hf_asking_fix(q, "in %.*s, hidden: true", HF_STR_FMT(part->tool->source));
  else if (part->tool)
    hf_asking_fix(q, "in an entry tools.%.*s__%.*s, what %.*s says, and hidden: true", HF_STR_FMT(part->server->name),
                  HF_STR_FMT(part->own), HF_STR_FMT(part->tool->source));
  else
    hf_asking_fix(q, "in an entry tools.%.*s__%.*s, hidden: true", HF_STR_FMT(part->server->name),
                  HF_STR_FMT(part->own));
}

void hf_asking_chain(struct hf_asking *q) {
  const struct hf_route_settings *route = route_with(q);
  for (size_t i = 0; i < q->subject->part_count; i++)
    if (!ask_around(q, &q->subject->part[i]))
      return;
  if (route) {
    hf_asking_answer(q, HF_AUDIT_PARTLY, self(q), "hidden",
                     "it can be called past the route '%.*s', and then has none of its other providers",
                     HF_STR_FMT(route->name));
    fix_hidden(q, &q->subject->part[0]);
    return;
  }
  hf_asking_answer(q, HF_AUDIT_YES, self(q), "timeout.deadline",
                   "one deadline for all of it, and nothing else repeats");
}
