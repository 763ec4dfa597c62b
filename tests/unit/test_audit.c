#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "cli/audit_text.h"
#include "daemon/config.h"

enum { TEXT_MAX = 1 << 20 };

struct audited {
  struct hf_arena arena;
  struct hf_settings *settings;
  struct hf_audit audit;
};

static void open_audit(struct audited *a, const char *yaml) {
  struct hf_problems problems;
  struct hf_error error = {0};
  const struct hf_config_options options = {.listens = true};
  const struct hf_node *root;
  memset(a, 0, sizeof *a);
  hf_arena_init(&a->arena, TEXT_MAX);
  hf_problems_init(&problems);
  if (hf_config_parse(hf_str_from(yaml), &options, &problems, &a->settings, &error) < 0)
    fail_msg("%s: %s", problems.count ? problems.item[0].text : error.text, yaml);
  assert_int_equal(hf_document_parse(&a->arena, hf_str_from(yaml), &problems, &root), 0);
  hf_audit_init(&a->audit, a->settings, root);
}

static void close_audit(struct audited *a) {
  hf_audit_deinit(&a->audit);
  hf_settings_free(a->settings);
  hf_arena_deinit(&a->arena);
}

static const struct hf_audit_subject *find(const struct audited *a, const char *name) {
  for (size_t i = 0; i < a->audit.count; i++)
    if (hf_str_equal(a->audit.subjects[i].name, hf_str_from(name)))
      return &a->audit.subjects[i];
  fail_msg("'%s' was not asked about", name);
  return NULL;
}

struct expected {
  const char *yaml; /* below `mcpServers: { a: …, b: … }`, which is line 1 */
  const char *tool;
  const char *question;
  const char *answer;
  int line; /* 0: the default decides */
  const char *by;
  const char *fix; /* part of it; NULL: there is none */
};

#define SERVERS "mcpServers: { a: { command: x }, b: { url: 'http://h/mcp' } }\n"

static void check(const struct expected *e) {
  struct audited a;
  char yaml[2048];
  snprintf(yaml, sizeof yaml, "%s%s", strstr(e->yaml, "mcpServers") ? "" : SERVERS, e->yaml);
  open_audit(&a, yaml);
  hf_audit_add_configured(&a.audit);
  assert_int_equal(hf_audit_run(&a.audit), 0);
  const struct hf_audit_subject *subject = find(&a, e->tool);
  for (unsigned i = 0; i < HF_AUDIT_QUESTIONS; i++) {
    const struct hf_audit_answer *answer = &subject->answer[i];
    if (strcmp(hf_audit_id(i), e->question) != 0)
      continue;
    const bool fixed =
        e->fix ? answer->fix.ptr && memmem(answer->fix.ptr, answer->fix.len, e->fix, strlen(e->fix)) : !answer->fix.ptr;
    if (strcmp(hf_audit_verdict_name(answer->verdict), e->answer) != 0 || answer->decided.place.line != e->line ||
        !hf_str_equal(answer->decided.by, hf_str_from(e->by)) || !fixed)
      fail_msg("%s of %s is %s at %d (%.*s), fix %.*s: %.*s\n%s", e->question, e->tool,
               hf_audit_verdict_name(answer->verdict), answer->decided.place.line, HF_STR_FMT(answer->decided.by),
               HF_STR_FMT(answer->fix), HF_STR_FMT(answer->why), yaml);
  }
  close_audit(&a);
}

#define CHECK_ALL(cases)                                                                                               \
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases)[0]; i++)                                                        \
  check(&(cases)[i])

static void audit__timeouts(void **state) {
  (void)state;
  static const struct expected cases[] = {
      {"", "a__* (all others)", "timeouts", "yes", 0, "default", NULL},
      {"policies: { default: { timeout: { attempt: 10s } } }", "a__* (all others)", "timeouts", "yes", 2,
       "policies.default.timeout.attempt", NULL},
      {"tools:\n  a__t: { timeout: { attempt: 55s } }", "a__t", "timeouts", "no", 3, "tools.a__t.timeout.attempt",
       "timeout.attempt of a third"},
      {"tools:\n  a__t: { timeout: { attempt: 55s }, retry: { attempts: 1 } }", "a__t", "timeouts", "yes", 3,
       "tools.a__t.timeout.attempt", NULL},
      {"policies:\n  p: { timeout: { connect: 1m } }\ntools:\n  a__t: { policy: p }", "a__t", "timeouts", "no", 3,
       "policies.p.timeout.connect", "timeout.connect far below timeout.deadline"},
      {"policies: { default: { timeout: { connect: 20s } } }", "b__* (all others)", "timeouts", "partly", 2,
       "policies.default.timeout.connect", "far below timeout.attempt"},
      {"tools:\n  b__t: { timeout: { idle: 2m } }", "b__t", "timeouts", "partly", 3, "tools.b__t.timeout.idle",
       "timeout.idle below"},
  };
  CHECK_ALL(cases);
}

static void audit__faults(void **state) {
  (void)state;
  static const struct expected cases[] = {
      {"", "a__* (all others)", "faults", "yes", 0, "default", NULL},
      {"tools:\n  a__t: { transientErrors: ['*busy*'] }", "a__t", "faults", "yes", 3, "tools.a__t.transientErrors",
       NULL},
      {"tools:\n  a__t: { transientErrors: ['*busy*', '**'] }", "a__t", "faults", "no", 3, "tools.a__t.transientErrors",
       "only texts of errors that pass"},
      {"mcpServers:\n  a:\n    command: x\n    transientErrors: ['*']\n", "a__* (all others)", "faults", "no", 4,
       "mcpServers.a.transientErrors", "only texts"},
      {"tools:\n  a__t: { validate: off }", "a__t", "faults", "no", 3, "tools.a__t.validate", "validate: enforce"},
      {"tools:\n  a__t: { validate: warn }", "a__t", "faults", "partly", 3, "tools.a__t.validate", "validate: enforce"},
      {"tools:\n  a__t: { results: off }", "a__t", "faults", "partly", 3, "tools.a__t.results", "results: enforce"},
  };
  CHECK_ALL(cases);
}

static void audit__idempotency(void **state) {
  (void)state;
  static const struct expected cases[] = {
      {"", "a__* (all others)", "idempotency", "partly", 0, "default", "in an entry tools.a__*, safety:"},
      {"tools:\n  a__t: { hedge: false }", "a__t", "idempotency", "partly", 0, "default", "in tools.a__t, safety:"},
      {"tools:\n  a__t: { safety: unsafe }", "a__t", "idempotency", "yes", 3, "tools.a__t.safety", NULL},
      {"tools:\n  a__t: { safety: idempotent, coalesce: 0 }", "a__t", "idempotency", "yes", 3, "tools.a__t.safety",
       NULL},
      {"tools:\n  a__t: { safety: unsafe, coalesce: 0 }", "a__t", "idempotency", "no", 3, "tools.a__t.coalesce",
       "coalesce: 30s"},
      {"store: { enabled: false }\ntools:\n  a__t: { safety: unsafe }", "a__t", "idempotency", "no", 2, "store.enabled",
       "enabled: true"},
      {"tools:\n  a__t: { safety: keyed, idempotencyKey: { argument: k, ttl: 24h } }", "a__t", "idempotency", "yes", 3,
       "tools.a__t.safety", NULL},
      {"tools:\n  a__t: { safety: keyed, idempotencyKey: { argument: k, ttl: 10s } }", "a__t", "idempotency", "no", 3,
       "tools.a__t.idempotencyKey.ttl", "longer ttl"},
      {"tools:\n  a__t: { safety: read_only }\nroutes:\n  r:\n    inputSchema: { type: object }\n"
       "    providers: [ { tool: a__t }, { tool: b__u } ]",
       "r", "idempotency", "partly", 0, "default", "tools.b__u, safety:"},
  };
  CHECK_ALL(cases);
}

static void audit__retries(void **state) {
  (void)state;
  static const struct expected cases[] = {
      {"", "a__* (all others)", "retries", "yes", 0, "default", NULL},
      {"profile: light", "a__* (all others)", "retries", "yes", 2, "profile", NULL},
      {"policies: { default: { retry: { jitter: none } } }", "b__* (all others)", "retries", "no", 2,
       "policies.default.retry.jitter", "jitter: full"},
      {"policies: { default: { retry: { jitter: none, attempts: 1 } } }", "b__* (all others)", "retries", "yes", 2,
       "policies.default.retry.attempts", NULL},
      {"tools:\n  a__t: { retry: { base: 1m, max: 2m } }", "a__t", "retries", "no", 3, "tools.a__t.retry.base",
       "base: 500ms"},
      {"tools:\n  a__t: { retry: { attempts: 50 } }", "a__t", "retries", "partly", 3, "tools.a__t.retry.attempts",
       "10 at most"},
      {"tools:\n  a__t: { safety: read_only, retry: { attempts: 1 } }", "a__t", "retries", "partly", 3,
       "tools.a__t.retry.attempts", "3 to 7"},
      {"tools:\n  a__t: { safety: unsafe, retry: { attempts: 1 } }", "a__t", "retries", "yes", 3,
       "tools.a__t.retry.attempts", NULL},
      {"policies: { default: { retryBudget: { share: 90% } } }", "a__* (all others)", "retries", "partly", 2,
       "policies.default.retryBudget.share", "share: 20%"},
  };
  CHECK_ALL(cases);
}

static void audit__degrade(void **state) {
  (void)state;
  static const struct expected cases[] = {
      {"", "a__* (all others)", "degrade", "yes", 0, "default", NULL},
      {"tools:\n  a__t: { safety: read_only }", "a__t", "degrade", "partly", 0, "default", "cache: { maxStale: 1h }"},
      {"tools:\n  a__t: { safety: read_only, cache: { maxStale: 1h } }", "a__t", "degrade", "yes", 3,
       "tools.a__t.cache.maxStale", NULL},
      {"tools:\n  a__t: { safety: read_only, default: { text: none } }", "a__t", "degrade", "yes", 3,
       "tools.a__t.default", NULL},
      {"tools:\n  a__t: { safety: read_only, degraded: { mode: explicit } }", "a__t", "degrade", "yes", 3,
       "tools.a__t.degraded.mode", NULL},
      {"tools:\n  a__t: { safety: unsafe, deadLetter: off }", "a__t", "degrade", "no", 3, "tools.a__t.deadLetter",
       "deadLetter: unsafe"},
      {"store: { enabled: false }", "a__* (all others)", "degrade", "no", 2, "store.enabled", "enabled: true"},
      {"tools:\n  a__t: { breaker: { failures: 0, minCalls: 1000 } }", "a__t", "degrade", "no", 3,
       "tools.a__t.breaker.failures", "failures: 5"},
      {"tools:\n  a__t: { breaker: { failures: 0 } }", "a__t", "degrade", "partly", 3, "tools.a__t.breaker.failures",
       "failures: 5"},
      {"tools:\n  a__t: { breaker: { failures: 1000 } }", "a__t", "degrade", "partly", 3, "tools.a__t.breaker.failures",
       "failures: 5"},
      {"mcpServers:\n  a: { command: x, standby: c }\n  c: { command: y }\ntools:\n  a__t: { safety: read_only }",
       "a__t", "degrade", "yes", 0, "default", NULL},
      {"tools: { '*': { safety: read_only } }\nroutes:\n  r:\n    inputSchema: { type: object }\n"
       "    providers: [ { tool: a__t }, { tool: b__u } ]",
       "r", "degrade", "yes", 0, "default", NULL},
      {"tools: { '*': { safety: read_only } }\nroutes:\n  r:\n    inputSchema: { type: object }\n"
       "    providers: [ { tool: a__t } ]",
       "r", "degrade", "partly", 0, "default", "second provider"},
  };
  CHECK_ALL(cases);
}

static void audit__source(void **state) {
  (void)state;
  static const struct expected cases[] = {
      {"", "a__* (all others)", "source", "yes", 0, "default", NULL},
      {"log: { level: warn }", "a__* (all others)", "source", "no", 2, "log.level", "level: info"},
      {"limits:\n  traces: 0", "a__* (all others)", "source", "partly", 3, "limits.traces", "traces: 1000"},
  };
  CHECK_ALL(cases);
}

static void audit__long(void **state) {
  (void)state;
  static const struct expected cases[] = {
      {"", "a__* (all others)", "long", "yes", 0, "default", NULL},
      {"policies: { default: { timeout: { deadline: 30m } } }", "a__* (all others)", "long", "no", 2,
       "policies.default.timeout.deadline", "policy: long"},
      {"mcpServers:\n  a: { command: x, timeout: { deadline: 30m } }\ntools:\n  a__t: { safety: read_only }", "a__t",
       "long", "partly", 2, "mcpServers.a.timeout.deadline", "policy: long"},
      {"policies:\n  long: { timeout: { deadline: 1h } }\ntools:\n  a__t: { policy: long }", "a__t", "long", "partly",
       3, "policies.long.timeout.deadline", "concurrency"},
      {"policies:\n  long: { timeout: { deadline: 1h } }\ntools:\n  a__t: { policy: long, concurrency: { calls: 4 } }",
       "a__t", "long", "yes", 3, "policies.long.timeout.deadline", NULL},
  };
  CHECK_ALL(cases);
}

static void audit__chain(void **state) {
  (void)state;
  static const struct expected cases[] = {
      {"", "a__* (all others)", "chain", "yes", 0, "default", NULL},
      {"mcpServers:\n  a: { command: holdfast, args: [chaos, --stdio] }", "a__* (all others)", "chain", "yes", 0,
       "default", NULL},
      {"mcpServers:\n  a: { command: /usr/bin/holdfast, args: [wrap, --, x] }", "a__* (all others)", "chain", "no", 2,
       "mcpServers.a.command", "own command"},
      {"listen: 127.0.0.1:8181\nmcpServers:\n  a: { url: 'http://127.0.0.1:8181/mcp/b' }", "a__* (all others)", "chain",
       "no", 3, "mcpServers.a.url", "own URL"},
      {"mcpServers:\n  a: { command: x, args: [y] }\n  c: { command: x, args: [y] }", "c__* (all others)", "chain",
       "no", 3, "mcpServers.c.command", "standby"},
      {"mcpServers:\n  a: { command: x, args: [y], standby: c }\n  c: { command: x, args: [y] }", "c__* (all others)",
       "chain", "yes", 0, "default", NULL},
      {"mcpServers:\n  a: { url: 'http://h/', headers: { K: v } }\n  c: { url: 'http://h/', headers: { K: w } }",
       "c__* (all others)", "chain", "yes", 0, "default", NULL},
      {"routes:\n  r:\n    inputSchema: { type: object }\n    providers: [ { tool: a__t }, { tool: b__u } ]", "a__t",
       "chain", "partly", 0, "default", "in an entry tools.a__t, hidden: true"},
      {"tools:\n  a__t: { safety: read_only }\nroutes:\n  r:\n    inputSchema: { type: object }\n"
       "    providers: [ { tool: a__t }, { tool: b__u } ]",
       "a__t", "chain", "partly", 0, "default", "in tools.a__t, hidden: true"},
      {"tools:\n  a__*: { safety: read_only }\nroutes:\n  r:\n    inputSchema: { type: object }\n"
       "    providers: [ { tool: a__t }, { tool: b__u } ]",
       "a__t", "chain", "partly", 0, "default", "in an entry tools.a__t, what tools.a__* says, and hidden: true"},
      {"tools:\n  a__t: { hidden: true }\nroutes:\n  r:\n    inputSchema: { type: object }\n"
       "    providers: [ { tool: a__t }, { tool: b__u } ]",
       "r", "chain", "yes", 0, "default", NULL},
      {"routes:\n  r:\n    inputSchema: { type: object }\n    providers: [ { tool: a__t } ]", "a__t", "chain", "yes", 0,
       "default", NULL},
  };
  CHECK_ALL(cases);
}

/* The nearest in the order of precedence decides, and a standing value further away does not. */
static void audit__the_line_that_decides_is_the_one_that_takes_effect(void **state) {
  (void)state;
  static const char yaml[] = "mcpServers:\n"
                             "  a: { command: x, policy: p, retry: { attempts: 7 } }\n"
                             "policies:\n"
                             "  default: { retry: { attempts: 2 } }\n"
                             "  p: { retry: { attempts: 3 } }\n"
                             "  q: { retry: { attempts: 4 } }\n"
                             "tools:\n"
                             "  a__own: { policy: q, retry: { attempts: 5 } }\n"
                             "  a__q: { policy: q }\n"
                             "  a__s: { hedge: false }\n";
  static const struct {
    const char *tool;
    int line;
    const char *by;
  } expected[] = {{"a__own", 8, "tools.a__own.retry.attempts"},
                  {"a__q", 6, "policies.q.retry.attempts"},
                  {"a__s", 2, "mcpServers.a.retry.attempts"}};
  struct audited a;
  open_audit(&a, yaml);
  hf_audit_add_configured(&a.audit);
  assert_int_equal(hf_audit_run(&a.audit), 0);
  for (size_t i = 0; i < 3; i++) {
    const struct hf_audit_answer *answer = &find(&a, expected[i].tool)->answer[3];
    assert_int_equal(answer->decided.place.line, expected[i].line);
    assert_true(hf_str_equal(answer->decided.by, hf_str_from(expected[i].by)));
  }
  close_audit(&a);
}

static void audit__what_lacks_a_variable_is_asked_about_all_the_same(void **state) {
  (void)state;
  struct audited a;
  open_audit(&a, "mcpServers: { a: { url: 'http://h/', headers: { K: '${UNSET_VARIABLE_OF_THIS_TEST}' } } }\n"
                 "tools: { a__t: { safety: unsafe } }\n");
  assert_true(a.settings->servers[0].disabled);
  hf_audit_add_configured(&a.audit);
  assert_int_equal(hf_audit_run(&a.audit), 0);
  assert_int_equal(a.audit.count, 2);
  assert_int_equal(find(&a, "a__t")->score, 100);
  close_audit(&a);
}

static void audit__scores_are_points_of_a_hundred(void **state) {
  (void)state;
  struct audited a;
  open_audit(&a, "mcpServers: { a: { command: x }, off: { command: y, disabled: true } }\nlog: { level: error }\n"
                 "tools: { a__t: { safety: unsafe }, a__gone: { hidden: true } }\n");
  hf_audit_add_configured(&a.audit);
  assert_int_equal(hf_audit_run(&a.audit), 0);
  assert_int_equal(a.audit.count, 2);                         /* neither what is hidden nor what is off */
  assert_int_equal(find(&a, "a__t")->score, 87);              /* one no of eight */
  assert_int_equal(find(&a, "a__* (all others)")->score, 81); /* and one partly */
  assert_int_equal(a.audit.score, 84);
  assert_int_equal(a.audit.noes, 2);
  close_audit(&a);
  open_audit(&a, "mcpServers: {}\n");
  hf_audit_add_configured(&a.audit);
  assert_int_equal(hf_audit_run(&a.audit), 0);
  assert_int_equal(a.audit.score, 100);
  close_audit(&a);
}

#define STATUS                                                                                                         \
  "{\"servers\":[{\"name\":\"a\",\"tools\":[{\"name\":\"get\",\"shown\":\"a__get\",\"safety\":\"read_only\"},"         \
  "{\"name\":\"put\",\"shown\":\"a__put\",\"safety\":\"unsafe\"},{\"name\":\"gone\",\"safety\":\"unsafe\"}]},"         \
  "{\"name\":\"b\",\"tools\":[]},{\"name\":\"strange\",\"tools\":[{\"name\":\"x\"}]}]}"

static void audit__listed_tools_are_known_by_their_annotations(void **state) {
  (void)state;
  struct audited a;
  static char json[] = STATUS;
  const struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  struct hf_json_scan scan;
  open_audit(&a, SERVERS "tools: { a__gone: { hidden: true } }\n");
  hf_json_scan_init(&scan, &options);
  assert_int_equal(hf_json_scan_feed(&scan, json, strlen(json), true), 0);
  const struct hf_json_doc doc = hf_json_doc(json, &scan);
  hf_audit_add_listed(&a.audit, &doc, 0);
  memset(json, 'x', sizeof json - 1); /* the answer goes before what was read of it */
  hf_json_scan_deinit(&scan);
  assert_int_equal(hf_audit_run(&a.audit), 0);
  assert_int_equal(a.audit.count, 3);
  assert_int_equal(find(&a, "a__get")->answer[2].verdict, HF_AUDIT_YES);
  assert_true(hf_str_equal(find(&a, "a__get")->answer[2].decided.by, HF_STR("its annotations")));
  assert_int_equal(find(&a, "a__put")->answer[2].verdict, HF_AUDIT_PARTLY);
  assert_non_null(find(&a, "b__* (all others)")); /* it listed nothing */
  close_audit(&a);
}

static void print(const struct hf_audit *audit, const char *path, char text[TEXT_MAX]) {
  FILE *to = fmemopen(text, TEXT_MAX, "w");
  assert_non_null(to);
  assert_int_equal(hf_audit_print(audit, path, to), 0);
  assert_int_equal(fclose(to), 0);
}

static void audit__the_text_fits_eighty_columns_and_tells_equal_tools_together(void **state) {
  (void)state;
  struct audited a;
  open_audit(&a, SERVERS "policies: { default: { retry: { jitter: none } } }\nlog: { level: warn }\n"
                         "tools: { '*': { safety: unsafe }, b__evil: { validate: off } }\n");
  hf_audit_add_configured(&a.audit);
  assert_int_equal(hf_audit_run(&a.audit), 0);
  static char text[TEXT_MAX];
  print(&a.audit, "holdfast.yaml", text);
  assert_non_null(strstr(text, "holdfast.yaml: "));
  assert_non_null(strstr(text, "\n* at a, * at b each 75 of 100\n"));
  assert_non_null(strstr(text, "[holdfast.yaml:2"));
  assert_non_null(strstr(text, "\n  no      source       "));
  assert_non_null(strstr(text, "\n                       fix: log: { level: info }\n"));
  const char *shared = strstr(text, "\nall of them\n"), *once = strstr(text, "  yes     chain ");
  assert_true(shared && once && shared < once);
  assert_null(strstr(once + 10, " chain "));
  const char *worst = strstr(text, "b__evil"), *better = strstr(text, "* at a");
  assert_true(worst && better && worst < better);
  for (const char *line = text; *line; line = strchr(line, '\n') + 1)
    assert_true(strcspn(line, "\n") <= 80);

  struct hf_buf json;
  hf_buf_init(&json, TEXT_MAX);
  assert_int_equal(hf_audit_json(&a.audit, "holdfast.yaml", &json), 0);
  assert_int_equal(hf_buf_append(&json, "", 1), 0);
  assert_non_null(strstr(json.data,
                         "{\"question\":\"source\",\"answer\":\"no\",\"why\":\"answers are marked, but no call "
                         "has a line in the log\",\"decidedBy\":\"log.level\",\"line\":3,\"fix\":\"log: { "
                         "level: info }\"}"));
  hf_buf_deinit(&json);
  close_audit(&a);
}

static void audit__there_may_be_nothing_to_ask_about(void **state) {
  (void)state;
  struct audited a;
  static char text[TEXT_MAX];
  open_audit(&a, "mcpServers: {}\n");
  hf_audit_add_configured(&a.audit);
  assert_int_equal(hf_audit_run(&a.audit), 0);
  print(&a.audit, "holdfast.yaml", text);
  assert_non_null(strstr(text, "\n0 tools and eight questions each: 0 yes, 0 partly, 0 no\n"));
  close_audit(&a);
}

static void audit__a_fix_that_names_its_tool_is_told_once_for_several(void **state) {
  (void)state;
  struct audited a;
  open_audit(&a, SERVERS "tools: { a__x: { priority: 2 }, a__y: { priority: 2 } }\n");
  hf_audit_add_configured(&a.audit);
  assert_int_equal(hf_audit_run(&a.audit), 0);
  static char text[TEXT_MAX];
  print(&a.audit, "holdfast.yaml", text);
  assert_non_null(strstr(text, "\na__x, a__y each "));
  assert_non_null(strstr(text, "fix: in tools.NAME, safety: "));
  close_audit(&a);
}

static void audit__any_allocation_may_fail(void **state) {
  (void)state;
  struct audited a;
  for (long n = 0;; n++) {
    open_audit(&a, SERVERS "tools: { 'a__x': { safety: read_only } }\n");
    hf_alloc_fail_after(n);
    hf_audit_add_configured(&a.audit);
    int r = hf_audit_run(&a.audit);
    hf_alloc_fail_after(-1);
    close_audit(&a);
    assert_true(r == 0 || r == HF_ERR_NOMEM);
    if (r == 0)
      break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(audit__timeouts),
      cmocka_unit_test(audit__faults),
      cmocka_unit_test(audit__idempotency),
      cmocka_unit_test(audit__retries),
      cmocka_unit_test(audit__degrade),
      cmocka_unit_test(audit__source),
      cmocka_unit_test(audit__long),
      cmocka_unit_test(audit__chain),
      cmocka_unit_test(audit__the_line_that_decides_is_the_one_that_takes_effect),
      cmocka_unit_test(audit__what_lacks_a_variable_is_asked_about_all_the_same),
      cmocka_unit_test(audit__scores_are_points_of_a_hundred),
      cmocka_unit_test(audit__listed_tools_are_known_by_their_annotations),
      cmocka_unit_test(audit__the_text_fits_eighty_columns_and_tells_equal_tools_together),
      cmocka_unit_test(audit__there_may_be_nothing_to_ask_about),
      cmocka_unit_test(audit__a_fix_that_names_its_tool_is_told_once_for_several),
      cmocka_unit_test(audit__any_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
