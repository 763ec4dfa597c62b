#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "daemon/config.h"

#include <stdio.h>
#include <string.h>

/* The options of the chain: reconciling, keys, caches, routes, standbys, the store. */

static const char *variable(const char *name) {
  return strcmp(name, "TOKEN") == 0 ? "canary-token" : strcmp(name, "COUNT") == 0 ? "25" : NULL;
}

struct loaded {
  int r;
  struct hf_settings *settings;
  struct hf_problems problems;
  struct hf_buf text;
};

static void load(struct loaded *l, const char *yaml) {
  const struct hf_config_options options = {.variable = variable, .listens = true};
  memset(l, 0, sizeof *l);
  hf_problems_init(&l->problems);
  hf_buf_init(&l->text, 1 << 16);
  struct hf_error error = {0};
  l->r = hf_config_parse(hf_str_from(yaml), &options, &l->problems, &l->settings, &error);
  assert_int_equal(hf_problems_print(&l->problems, "f", &l->text), 0);
  assert_int_equal(hf_buf_append(&l->text, "", 1), 0);
}

static void load_good(struct loaded *l, const char *yaml) {
  load(l, yaml);
  assert_string_equal(l->text.data, "");
  assert_int_equal(l->r, 0);
}

static void unload(struct loaded *l) {
  hf_settings_free(l->settings);
  hf_buf_deinit(&l->text);
}

static void assert_problems(const char *yaml, const char *expected) {
  struct loaded l;
  load(&l, yaml);
  assert_string_equal(l.text.data, expected);
  unload(&l);
}

static void assert_str(struct hf_str s, const char *expected) {
  assert_non_null(s.ptr);
  assert_int_equal(s.len, strlen(expected));
  assert_memory_equal(s.ptr, expected, s.len);
}

/* Two servers, one per transport, and what stands under `tools`. */
#define SERVERS "mcpServers: { orders: { url: 'http://x' }, files: { command: x } }\n"
#define STANDBYS                                                                                                       \
  "mcpServers: { orders: { url: 'http://x', headers: { X-Own: y } }, files: { command: x }, "                          \
  "both: { url: 'http://x', standby: files } }\n"

static const struct hf_tool_settings *tool(const struct loaded *l, const char *server, const char *name) {
  const struct hf_tool_settings *found = hf_settings_tool(l->settings, hf_str_from(server), hf_str_from(name));
  assert_non_null(found);
  return found;
}

static void chain__a_tool_is_read_whole(void **state) {
  (void)state;
  struct loaded l;
  load_good(&l, SERVERS "tools:\n"
                        "  orders__create:\n"
                        "    priority: 1\n"
                        "    concurrency: { calls: 4 }\n"
                        "    coalesce: 2m\n"
                        "    deadLetter: all\n"
                        "    reconcile:\n"
                        "      tool: orders__find\n"
                        "      arguments: { reference: '{{reference}}', limit: 1 }\n"
                        "      executed: { pointer: /structuredContent/count, atLeast: 1 }\n"
                        "      notExecuted: { pointer: /structuredContent/count, equals: 0 }\n"
                        "      timeout: 3s\n"
                        "      settle: 20s\n"
                        "    default: { text: 'not now, {{name}}', structuredContent: { ok: false } }\n"
                        "  orders__pay: { safety: keyed, idempotencyKey: { header: Idempotency-Key, ttl: 24h } }\n"
                        "  files__put: { safety: keyed, idempotencyKey: { argument: key, ttl: 1h } }\n"
                        "  files__log: { safety: keyed, idempotencyKey: { meta: example/key, ttl: 1h } }\n"
                        "  orders__get:\n"
                        "    safety: read_only\n"
                        "    hedge: true\n"
                        "    cache: { ttl: 5s, maxStale: 1h, keep: true }\n"
                        "  orders__list: { degraded: { mode: explicit }, deadLetter: off, coalesce: 0 }\n");
  const struct hf_tool_settings *t = tool(&l, "orders", "create");
  assert_int_equal(t->priority, 1);
  assert_int_equal(t->max_concurrent, 4);
  assert_int_equal(t->coalesce, HF_SECONDS(120));
  assert_int_equal(t->letters, HF_LETTER_ALL);
  assert_str(t->reconcile.tool.server, "orders");
  assert_str(t->reconcile.tool.tool, "find");
  assert_str(t->reconcile.arguments, "{\"reference\":\"{{reference}}\",\"limit\":1}");
  assert_str(t->reconcile.executed.pointer, "/structuredContent/count");
  assert_int_equal(t->reconcile.executed.op, HF_OPERATOR_AT_LEAST);
  assert_str(t->reconcile.executed.value, "1");
  assert_int_equal(t->reconcile.not_executed.op, HF_OPERATOR_EQUALS);
  assert_str(t->reconcile.not_executed.value, "0");
  assert_int_equal(t->reconcile.timeout, HF_SECONDS(3));
  assert_int_equal(t->reconcile.settle, HF_SECONDS(20));
  assert_str(t->fallback.text, "\"not now, {{name}}\"");
  assert_str(t->fallback.structured, "{\"ok\":false}");

  assert_int_equal(tool(&l, "orders", "pay")->key.place, HF_KEY_HEADER);
  assert_str(tool(&l, "orders", "pay")->key.name, "Idempotency-Key");
  assert_int_equal(tool(&l, "orders", "pay")->key.ttl, HF_SECONDS(86400));
  assert_int_equal(tool(&l, "files", "put")->key.place, HF_KEY_ARGUMENT);
  assert_int_equal(tool(&l, "files", "log")->key.place, HF_KEY_META);

  t = tool(&l, "orders", "get");
  assert_true(t->hedge);
  assert_int_equal(t->cache.ttl, HF_SECONDS(5));
  assert_int_equal(t->cache.max_stale, HF_SECONDS(3600));
  assert_true(t->cache.keep);
  t = tool(&l, "orders", "list");
  assert_int_equal(t->degraded, HF_DEGRADED_EXPLICIT);
  assert_int_equal(t->letters, HF_LETTER_OFF);
  assert_int_equal(t->coalesce, 0);
  unload(&l);
}

static void assert_defaults(const struct hf_tool_settings *t) {
  assert_int_equal(t->priority, 3);
  assert_int_equal(t->coalesce, HF_SECONDS(30));
  assert_int_equal(t->max_concurrent, 0);
  assert_int_equal(t->letters, HF_LETTER_UNSAFE);
  assert_int_equal(t->degraded, HF_DEGRADED_ANSWER);
  assert_int_equal(t->key.place, HF_KEY_NONE);
  assert_int_equal(t->reconcile.timeout, HF_SECONDS(5));
  assert_int_equal(t->reconcile.settle, HF_TIME_NEVER);
  assert_null(t->reconcile.tool.server.ptr);
  assert_null(t->fallback.text.ptr);
  assert_false(t->hedge);
  assert_false(t->has_safety);
}

static void chain__what_is_not_said_has_its_default(void **state) {
  (void)state;
  struct loaded l;
  load_good(&l, SERVERS "tools: { files__a: { hidden: true } }\n");
  assert_defaults(&l.settings->tool_defaults);
  assert_defaults(tool(&l, "files", "a"));
  const struct hf_settings *s = l.settings;
  assert_true(s->store.enabled);
  assert_false(s->store.redact);
  assert_int_equal(s->store.secrets.count, 0);
  assert_int_equal(s->store.queue, 1024);
  assert_int_equal(s->store.max_age, HF_SECONDS(30 * 86400));
  assert_int_equal(s->store.max_bytes, 256 << 20);
  assert_int_equal(s->store.quarantine, 5);
  assert_int_equal(s->alerts.depth, 100);
  assert_int_equal(s->alerts.age, HF_SECONDS(3600));
  assert_null(s->alerts.webhook.ptr);
  assert_int_equal(s->limits.cache_bytes, 64 << 20);
  assert_int_equal(s->limits.traces, 1000);
  assert_int_equal(s->servers[0].provider.max_wait, HF_SECONDS(5));
  assert_false(s->servers[0].provider.adaptive);
  assert_int_equal(s->servers[0].policy.breaker.slow, 0);
  unload(&l);

  struct hf_settings *wrapped;
  struct hf_error error = {0};
  const struct hf_config_options options = {0};
  const char *const argv[] = {"server", NULL};
  assert_int_equal(hf_config_wrap((char *const *)argv, NULL, &options, &wrapped, &error), 0);
  assert_defaults(&wrapped->tool_defaults);
  assert_true(wrapped->store.enabled);
  assert_int_equal(wrapped->servers[0].provider.max_wait, HF_SECONDS(5));
  hf_settings_free(wrapped);
}

static void chain__servers_and_the_gateway_read_theirs(void **state) {
  (void)state;
  struct loaded l;
  load_good(&l, "mcpServers:\n"
                "  a: { command: x, standby: b, concurrency: { wait: 1s, adaptive: true }, breaker: { slow: 9s } }\n"
                "  b: { command: y, standby: c }\n"
                "  c: { command: z, breaker: { slow: never }, concurrency: { wait: 0 } }\n"
                "store: { redact: true, secrets: [/card/number, pin], queue: 7 }\n"
                "deadLetters: { maxAge: 7d, maxSize: 1MiB, quarantine: 0 }\n"
                "alerts: { webhook: 'https://x/?k=${TOKEN}', secret: '${TOKEN}', command: [mail, me], depth: 0, "
                "age: never }\n"
                "limits: { cache: 0, traces: 5 }\n");
  const struct hf_settings *s = l.settings;
  assert_str(s->servers[0].standby, "b");
  assert_null(s->servers[2].standby.ptr);
  assert_int_equal(s->servers[0].provider.max_wait, HF_SECONDS(1));
  assert_true(s->servers[0].provider.adaptive);
  assert_int_equal(s->servers[0].policy.breaker.slow, HF_SECONDS(9));
  assert_int_equal(s->servers[0].provider.breaker.slow, HF_SECONDS(9));
  assert_int_equal(s->servers[2].policy.breaker.slow, HF_TIME_NEVER);
  assert_int_equal(s->servers[2].provider.max_wait, 0);
  assert_true(s->store.redact);
  assert_int_equal(s->store.secrets.count, 2);
  assert_str(s->store.secrets.item[0], "/card/number");
  assert_int_equal(s->store.queue, 7);
  assert_int_equal(s->store.max_age, HF_SECONDS(7 * 86400));
  assert_int_equal(s->store.max_bytes, 1 << 20);
  assert_int_equal(s->store.quarantine, 0);
  assert_str(s->alerts.webhook, "https://x/?k=canary-token");
  assert_str(s->alerts.secret, "canary-token");
  assert_int_equal(s->alerts.command.count, 2);
  assert_int_equal(s->alerts.depth, 0);
  assert_int_equal(s->alerts.age, HF_TIME_NEVER);
  assert_int_equal(s->limits.cache_bytes, 0);
  assert_int_equal(s->limits.traces, 5);
  unload(&l);
}

static void chain__json_keeps_its_types_and_spelling(void **state) {
  (void)state;
  static const struct {
    const char *yaml, *json;
  } cases[] = {
      {"{ a: 1, b: 1.0, c: -0, d: 1e3, e: 123456789012345678901234567890 }",
       "{\"a\":1,\"b\":1.0,\"c\":-0,\"d\":1e3,\"e\":123456789012345678901234567890}"},
      {"{ a: '1', b: \"true\", c: 'null', d: '' }", "{\"a\":\"1\",\"b\":\"true\",\"c\":\"null\",\"d\":\"\"}"},
      {"{ a: true, b: False, c: null, d: ~, e: }", "{\"a\":true,\"b\":false,\"c\":null,\"d\":null,\"e\":null}"},
      {"{ a: 007, b: 0x1F, c: .5, d: +1, e: 1., f: yes, g: .inf, h: 1e }",
       "{\"a\":\"007\",\"b\":\"0x1F\",\"c\":\".5\",\"d\":\"+1\",\"e\":\"1.\",\"f\":\"yes\",\"g\":\".inf\",\"h\":"
       "\"1e\"}"},
      {"{ z: [1, [], {}, { y: x }], a: \"q\\\"\\n\\u00e9\" }", "{\"z\":[1,[],{},{\"y\":\"x\"}],\"a\":\"q\\\"\\né\"}"},
      {"\n          a: '${TOKEN}'\n          b: ${COUNT}\n          c: '${COUNT}'\n          d: x-${NONE:-y}\n         "
       " e: $${A}",
       "{\"a\":\"canary-token\",\"b\":25,\"c\":\"25\",\"d\":\"x-y\",\"e\":\"${A}\"}"},
      {"\"{{ }}\"", "\"{{ }}\""},
      {"{}", "{}"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char yaml[512];
    struct loaded l;
    snprintf(yaml, sizeof yaml,
             SERVERS "routes:\n  r:\n    providers:\n      - tool: files__a\n        arguments: %s\n", cases[i].yaml);
    load_good(&l, yaml);
    assert_str(l.settings->routes[0].providers[0].arguments, cases[i].json);
    unload(&l);
  }
}

static void chain__conditions_read_every_operator(void **state) {
  (void)state;
  static const struct {
    const char *yaml, *pointer, *value;
    enum hf_operator op;
  } cases[] = {
      {"{ pointer: /a/0, equals: done }", "/a/0", "\"done\"", HF_OPERATOR_EQUALS},
      {"{ equals: null, pointer: '' }", "", "null", HF_OPERATOR_EQUALS},
      {"{ pointer: /a, not: { b: [1] } }", "/a", "{\"b\":[1]}", HF_OPERATOR_NOT},
      {"{ pointer: /a, exists: false }", "/a", "false", HF_OPERATOR_EXISTS},
      {"{ pointer: /a, contains: '7' }", "/a", "\"7\"", HF_OPERATOR_CONTAINS},
      {"{ pointer: /a~1b, atLeast: 2.5 }", "/a~1b", "2.5", HF_OPERATOR_AT_LEAST},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char yaml[512];
    struct loaded l;
    snprintf(yaml, sizeof yaml,
             SERVERS "tools: { files__a: { reconcile: { tool: files__b, arguments: '{{}}', executed: %s } } }\n",
             cases[i].yaml);
    load_good(&l, yaml);
    const struct hf_condition *c = &tool(&l, "files", "a")->reconcile.executed;
    assert_str(c->pointer, cases[i].pointer);
    assert_str(c->value, cases[i].value);
    assert_int_equal(c->op, cases[i].op);
    unload(&l);
  }
}

struct wrong {
  const char *yaml, *expected;
};

/* Each is wrong in one way, at the place that is told. */
static void assert_all_wrong(const char *before, const struct wrong *cases, size_t count) {
  for (size_t i = 0; i < count; i++) {
    char yaml[1024];
    snprintf(yaml, sizeof yaml, "%s%s\n", before, cases[i].yaml);
    assert_problems(yaml, cases[i].expected);
  }
}

#define ASSERT_ALL_WRONG(before, cases) assert_all_wrong(before, cases, sizeof(cases) / sizeof(cases)[0])

static void chain__what_does_not_fit_a_tool_is_told(void **state) {
  (void)state;
  static const struct wrong cases[] = {
      {"files__a: { safety: keyed }", "f:3:14: error: tools.files__a: safety 'keyed' needs idempotencyKey with one of "
                                      "argument, meta and header: where the tool takes the key\n"},
      {"files__a: { safety: keyed, idempotencyKey: { ttl: 1h } }",
       "f:3:29: error: tools.files__a: safety 'keyed' needs idempotencyKey with one of argument, meta and header: "
       "where "
       "the tool takes the key\n"},
      {"files__a: { safety: keyed, idempotencyKey: { meta: k } }",
       "f:3:29: error: tools.files__a: idempotencyKey needs 'ttl': for how long the server remembers a key, since "
       "later "
       "a repeat would run again\n"},
      {"files__a: { idempotencyKey: { meta: k, ttl: 1h } }",
       "f:3:14: error: tools.files__a: idempotencyKey holds only with 'safety: keyed'\n"},
      {"files__a: { safety: keyed, idempotencyKey: { meta: k, argument: k, ttl: 1h } }",
       "f:3:56: error: idempotencyKey.argument: only one of argument, meta and header takes the key\n"},
      {"files__a: { safety: keyed, idempotencyKey: { header: X-Key, ttl: 1h } }",
       "f:3:29: error: tools.files__a: idempotencyKey.header cannot be sent to 'files', which is a child process and "
       "speaks no HTTP\n"},
      {"both__a: { safety: keyed, idempotencyKey: { header: X-Key, ttl: 1h } }",
       "f:3:28: error: tools.both__a: idempotencyKey.header cannot be sent to 'files', which is a child process and "
       "speaks no HTTP\n"},
      {"orders__a: { safety: keyed, idempotencyKey: { header: X-own, ttl: 1h } }",
       "f:3:30: error: tools.orders__a: the headers of 'orders' set 'X-own' already, which idempotencyKey.header "
       "needs\n"},
      {"orders__a: { safety: keyed, idempotencyKey: { header: Content-Length, ttl: 1h } }",
       "f:3:48: error: idempotencyKey.header: 'Content-Length' is set by holdfast itself\n"},
      {"orders__a: { safety: keyed, idempotencyKey: { header: 'a b', ttl: 1h } }",
       "f:3:48: error: idempotencyKey.header: 'a b' is no header name\n"},
      {"orders__a: { safety: keyed, idempotencyKey: { argument: '', ttl: 1h } }",
       "f:3:48: error: idempotencyKey.argument: a name of 1 to 128 bytes is needed here\n"},
      {"files__a: { hedge: true }", "f:3:14: error: tools.files__a: a hedge runs the tool twice; if it only reads, say "
                                    "'safety: read_only' here, too\n"},
      {"files__a: { safety: idempotent, hedge: true }",
       "f:3:34: error: tools.files__a: a hedge runs the tool twice; if it only reads, say 'safety: read_only' here, "
       "too\n"},
      {"files__a: { cache: { ttl: 1s } }",
       "f:3:14: error: tools.files__a: only answers of tools that are declared read-only are cached, and 'files__a' is "
       "not; if it only reads, say 'safety: read_only' in its entry of tools\n"},
      {"files__a: { safety: read_only, cache: { keep: true } }",
       "f:3:33: error: tools.files__a: cache.keep keeps nothing without cache.ttl or cache.maxStale\n"},
      {"files__a: { safety: read_only, cache: { ttl: 1m, maxStale: 1s } }",
       "f:3:33: error: tools.files__a: cache.maxStale is shorter than cache.ttl\n"},
      {"files__a: { degraded: { mode: explicit }, default: { text: x } }",
       "f:3:14: error: tools.files__a: with degraded.mode 'explicit' there is no degraded answer, so 'default' has no "
       "effect\n"},
      {"files__a: { priority: 6 }", "f:3:14: error: priority: '6' is too large: the most is 5\n"},
      {"files__a: { deadLetter: some }", "f:3:14: error: deadLetter: 'some' is not one of off|unsafe|all\n"},
      {"files__a: { default: { structuredContent: x } }",
       "f:3:25: error: default.structuredContent: a mapping is needed here, not a single value\n"},
      {"files__a: { default: { txt: x } }",
       "f:3:25: error: unknown key 'txt' in tools.files__a.default; did you mean 'text'?\n"},
  };
  ASSERT_ALL_WRONG(STANDBYS "tools:\n ", cases);
}

static void chain__what_does_not_fit_a_reconcile_is_told(void **state) {
  (void)state;
  static const struct wrong cases[] = {
      {"files__a: { reconcile: { arguments: {}, executed: { pointer: /a, exists: true } } }",
       "f:3:14: error: tools.files__a: reconcile needs 'tool'\n"},
      {"files__a: { reconcile: { tool: files__b, executed: { pointer: /a, exists: true } } }",
       "f:3:14: error: tools.files__a: reconcile needs 'arguments'\n"},
      {"files__a: { reconcile: { tool: files__b, arguments: {} } }",
       "f:3:14: error: tools.files__a: reconcile needs 'executed' or 'notExecuted': what the answer says of the "
       "call\n"},
      {"files__a: { safety: idempotent, reconcile: { tool: files__b, arguments: {}, executed: { pointer: /a, exists: "
       "true } } }",
       "f:3:34: error: tools.files__a: reconcile is for unsafe tools; one that is idempotent is sent again instead\n"},
      {"files__a: { reconcile: { tool: file__b, arguments: {}, executed: { pointer: /a, exists: true } } }",
       "f:3:27: error: reconcile.tool: there is no server 'file' in mcpServers; did you mean 'files'?\n"},
      {"files__a: { reconcile: { tool: find, arguments: {}, executed: { pointer: /a, exists: true } } }",
       "f:3:27: error: reconcile.tool: 'find' must be the name of a server, '__', and that of its tool\n"},
      {"orders__a: { reconcile: { tool: orders__b, arguments: {}, notExecuted: { pointer: /a, exists: false } } }",
       "f:3:15: error: tools.orders__a: reconcile needs 'settle', since 'orders' speaks HTTP: how long a request that "
       "was lost may still begin to run there\n"},
      {"files__a: { reconcile: { tool: files__b, arguments: {}, executed: { pointer: /a, exists: true }, settle: 1s } "
       "}",
       "f:3:99: error: tools.files__a: reconcile.settle holds only with 'notExecuted'\n"},
      {"files__a: { timeout: { deadline: 5s }, reconcile: { tool: files__b, arguments: {}, executed: { pointer: /a, "
       "exists: true } } }",
       "f:3:41: error: tools.files__a: reconcile.timeout leaves nothing of the deadline for the call\n"},
      {"orders__a: { reconcile: { tool: orders__b, arguments: {}, settle: 1m, notExecuted: { pointer: /a, exists: "
       "false } } }",
       "f:3:15: warning: tools.orders__a: reconcile.settle and .timeout are longer than the deadline: that a call did "
       "not run will not be known in time\n"},
      {"files__a: { reconcile: { tool: files__a, arguments: {}, executed: { pointer: /a, exists: true } }, safety: "
       "unsafe }",
       "f:3:14: error: tools.files__a: reconcile asks 'files__a', which is declared unsafe by tools.files__a and could "
       "have effects itself\n"},
      {"files__a: { reconcile: { tool: files__b, arguments: x, executed: { pointer: /a, exists: true } } }",
       "f:3:43: error: reconcile.arguments: a mapping is needed here, or one hole that stands for an object, such as "
       "\"{{}}\"\n"},
      {"files__a: { reconcile: { executed: { equals: 1 } } }", "f:3:27: error: reconcile.executed needs 'pointer'\n"},
      {"files__a: { reconcile: { executed: { pointer: /a } } }",
       "f:3:27: error: reconcile.executed needs 'equals', 'not', 'exists', 'contains' or 'atLeast'\n"},
      {"files__a: { reconcile: { executed: { pointer: /a, equals: 1, not: 2 } } }",
       "f:3:63: error: reconcile.executed: only one of equals|not|exists|contains|atLeast may stand here\n"},
      {"files__a: { reconcile: { executed: { pointer: /a, exist: true } } }",
       "f:3:52: error: unknown key 'exist' in reconcile.executed; did you mean 'exists'?\n"},
      {"files__a: { reconcile: { executed: { pointer: /a, exists: 1 } } }",
       "f:3:52: error: reconcile.executed.exists must be true or false\n"},
      {"files__a: { reconcile: { executed: { pointer: /a, atLeast: '1x' } } }",
       "f:3:52: error: reconcile.executed.atLeast must be a number\n"},
      {"files__a: { reconcile: { executed: [1] } }",
       "f:3:27: error: reconcile.executed: a mapping is needed here, not a list\n"},
  };
  ASSERT_ALL_WRONG(SERVERS "tools:\n ", cases);
}

static void chain__a_route_is_read_whole(void **state) {
  (void)state;
  struct loaded l;
  load_good(&l, "mcpServers:\n"
                "  google: { command: x }\n"
                "  bing: { command: y }\n"
                "  bing__eu: { command: z }\n"
                "policies: { quick: { timeout: { deadline: 9s } } }\n"
                "tools: { '*__search': { safety: read_only } }\n"
                "routes:\n"
                "  web_search:\n"
                "    description: Search the web\n"
                "    inputSchema: { type: object, properties: { query: { type: string } }, required: [query] }\n"
                "    outputSchema: { type: object }\n"
                "    order: split\n"
                "    policy: quick\n"
                "    retry: { attempts: 2 }\n"
                "    providers:\n"
                "      - { tool: google__search, arguments: { q: '{{query}}' }, weight: 3 }\n"
                "      - { tool: bing__eu__search, result: { content: '{{content}}' } }\n"
                "      - { tool: bing__search }\n"
                "    default: { text: Search is unavailable right now. }\n"
                "    cache: { ttl: 1m, maxStale: 1h }\n"
                "    deadLetter: all\n"
                "    priority: 2\n"
                "    coalesce: 0\n"
                "  any: { providers: [{ tool: google__fetch }] }\n");
  assert_int_equal(l.settings->route_count, 2);
  const struct hf_route_settings *r = &l.settings->routes[0];
  assert_str(r->name, "web_search");
  assert_str(r->description, "Search the web");
  assert_str(r->input_schema,
             "{\"type\":\"object\",\"properties\":{\"query\":{\"type\":\"string\"}},\"required\":[\"query\"]}");
  assert_str(r->output_schema, "{\"type\":\"object\"}");
  assert_int_equal(r->order, HF_ROUTE_SPLIT);
  assert_int_equal(r->policy.timeout.deadline, HF_SECONDS(9));
  assert_int_equal(r->policy.retry.attempts, 2);
  assert_int_equal(r->provider_count, 3);
  assert_str(r->providers[0].tool.server, "google");
  assert_str(r->providers[0].tool.tool, "search");
  assert_str(r->providers[0].arguments, "{\"q\":\"{{query}}\"}");
  assert_null(r->providers[0].result.ptr);
  assert_int_equal(r->providers[0].weight, 3);
  assert_str(r->providers[1].tool.server, "bing__eu");
  assert_str(r->providers[1].tool.tool, "search");
  assert_null(r->providers[1].arguments.ptr);
  assert_str(r->providers[1].result, "{\"content\":\"{{content}}\"}");
  assert_int_equal(r->providers[1].weight, 1);
  assert_str(r->providers[2].tool.server, "bing");
  assert_str(r->tool.fallback.text, "\"Search is unavailable right now.\"");
  assert_int_equal(r->tool.cache.max_stale, HF_SECONDS(3600));
  assert_int_equal(r->tool.letters, HF_LETTER_ALL);
  assert_int_equal(r->tool.priority, 2);
  assert_int_equal(r->tool.coalesce, 0);
  assert_str(r->tool.source, "routes.web_search");

  r = &l.settings->routes[1];
  assert_int_equal(r->order, HF_ROUTE_PRIORITY);
  assert_null(r->input_schema.ptr);
  assert_int_equal(r->policy.timeout.deadline, HF_SECONDS(55));
  assert_int_equal(r->tool.priority, 3);
  unload(&l);
}

static void chain__what_does_not_fit_a_route_is_told(void **state) {
  (void)state;
  static const struct wrong cases[] = {
      {"r: {}", "f:3:2: error: routes.r: needs 'providers', a list of 1 to 8 of { tool: server__tool, … }\n"},
      {"r: { providers: [] }",
       "f:3:7: error: routes.r: needs 'providers', a list of 1 to 8 of { tool: server__tool, … }\n"},
      {"r: { providers: [{ arguments: {} }] }",
       "f:3:21: error: routes.r.providers: each provider needs 'tool', as server__tool\n"},
      {"r: { providers: [{ tool: fils__a }] }",
       "f:3:21: error: tool: there is no server 'fils' in mcpServers; did you mean 'files'?\n"},
      {"r: { providers: [{ tool: files__a, wieght: 1 }] }",
       "f:3:37: error: unknown key 'wieght' in routes.r.providers; did you mean 'weight'?\n"},
      {"r: { providers: [{ tool: files__a, weight: 2 }] }",
       "f:3:37: error: routes.r.providers: 'weight' holds only with 'order: split'\n"},
      {"r: { providers: [{ tool: files__a }], order: fastest }",
       "f:3:40: error: order: 'fastest' is not one of priority|latency|split\n"},
      {"r: { providers: [{ tool: files__a }], breaker: { failures: 1 } }",
       "f:3:40: error: a route has no breaker of its own; set those of its tools under tools\n"},
      {"r: { providers: [{ tool: files__a }], safety: read_only }",
       "f:3:40: error: unknown key 'safety' in routes.r\n"},
      {"r: { providers: [{ tool: files__a }], inputSchema: { type: array } }",
       "f:3:40: error: routes.r: inputSchema must have 'type: object'\n"},
      {"r: { providers: [{ tool: files__a }], inputSchema: [] }",
       "f:3:40: error: inputSchema: a mapping is needed here, not a list\n"},
      {"r: { providers: [{ tool: files__a }], cache: { ttl: 1s } }",
       "f:3:40: error: routes.r: only answers of tools that are declared read-only are cached, and 'files__a' is not; "
       "if "
       "it only reads, say 'safety: read_only' in its entry of tools\n"},
      {"r: { providers: [{ tool: files__a }], policy: quick }",
       "f:3:40: error: policy: there is no 'quick' in policies\n"},
      {"files__r: { providers: [{ tool: files__a }] }",
       "f:3:2: error: routes: 'files__r' would be taken for a tool of the server 'files'; name it otherwise\n"},
      {"'a b': { providers: [{ tool: files__a }] }",
       "f:3:2: error: routes: 'a b' is no name of a tool, which has 1 to 64 letters, digits, '_', '-' or '.'\n"},
      {"r: { providers: [{ tool: files__a, arguments: { q: {{q}} } }] }",
       "f:3:50: error: a key must be a plain string; if this is a template, write it in quotes: \"{{…}}\"\n"},
      {"r: { providers: [{ tool: files__a, arguments: '{{a}} and {{b}}' }] }",
       "f:3:37: error: arguments: a mapping is needed here, or one hole that stands for an object, such as \"{{}}\"\n"},
      {"r: 1", "f:3:2: error: routes.r: a mapping is needed here, not a single value\n"},
  };
  ASSERT_ALL_WRONG(SERVERS "routes:\n ", cases);
}

static void chain__a_standby_must_be_another_server(void **state) {
  (void)state;
  static const struct wrong cases[] = {
      {" bee: { command: x, standby: bea }",
       "f:2:21: error: standby: there is no server 'bea' in mcpServers; did you mean 'bee'?\n"},
      {" a: { command: x, standby: a }", "f:2:19: error: standby: a server cannot stand in for itself\n"},
      {" a: { command: x, standby: b }\n b: { command: x, standby: a }",
       "f:2:19: error: standby: from 'a' the standbys lead back to it\n"
       "f:3:19: error: standby: from 'b' the standbys lead back to it\n"},
      {" a: { command: x, standby: b, stateful: true }\n b: { command: x }",
       "f:2:19: error: standby: what 'a' holds for its sessions (stateful: true) no other server has; say only one\n"},
  };
  ASSERT_ALL_WRONG("mcpServers:\n", cases);
}

static void chain__what_does_not_fit_the_store_is_told(void **state) {
  (void)state;
  static const struct wrong cases[] = {
      {"store: { secrets: [/a~2] }",
       "f:2:1: error: store.secrets: '/a~2' is neither the name of a member nor a JSON Pointer\n"},
      {"store: { enabled: false }\nalerts: { command: [x] }",
       "f:3:1: warning: alerts: without a store (store.enabled: false) this has no effect\n"},
      {"store: { enabled: false }\ntools: { files__a: { safety: read_only, cache: { ttl: 1s, keep: true } } }",
       "f:3:41: error: tools.files__a: cache.keep needs the store, which is off (store.enabled: false)\n"},
      {"deadLetters: { maxSize: 1KiB }",
       "f:2:16: error: deadLetters.maxSize: '1KiB' is too small: the least is 64KiB\n"},
      {"alerts: { webhook: ftp://x }", "f:2:1: error: alerts: 'webhook' must begin with http:// or https://\n"},
      {"alerts: { secret: x, command: [x] }",
       "f:2:1: error: alerts: 'secret' signs what the webhook gets, and there is none\n"},
      {"alerts: { command: [''] }", "f:2:1: error: alerts: the program in 'command' is empty\n"},
      {"alerts: { depth: 5 }", "f:2:1: warning: alerts: nobody hears them without 'webhook' or 'command'\n"},
      {"policies: { default: { breaker: { slow: 55s } } }",
       "f:1:15: warning: mcpServers.orders: breaker.slow is not shorter than timeout.deadline, so no success is\n"
       "f:1:44: warning: mcpServers.files: breaker.slow is not shorter than timeout.deadline, so no success is\n"
       "f:2:13: warning: policies.default: breaker.slow is not shorter than timeout.deadline, so no success is\n"},
  };
  ASSERT_ALL_WRONG(SERVERS, cases);
}

static void chain__no_secret_is_quoted(void **state) {
  (void)state;
  static const char *const cases[] = {
      "alerts: { webhook: 'ftp://${TOKEN}@x', secret: [canary], command: canary }",
      "alerts: { webhook: [canary], secret: { canary: x } }",
      "routes: { r: { providers: [{ tool: files__a, arguments: { k: '{{${TOKEN}' } }] } }",
      "tools: { files__a: { reconcile: { executed: { pointer: '${TOKEN}', exists: true } } } }",
      "tools: { files__a: { default: { text: '{{a}${TOKEN}{{' } } }",
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char yaml[512];
    struct loaded l;
    snprintf(yaml, sizeof yaml, SERVERS "%s\n", cases[i]);
    load(&l, yaml);
    assert_true(l.problems.errors > 0);
    assert_null(strstr(l.text.data, "canary"));
    unload(&l);
  }
}

static void chain__a_broken_template_says_where(void **state) {
  (void)state;
  struct loaded l;
  load(&l, SERVERS "tools:\n  files__a: { default: { text: 'a {{b' } }\n");
  assert_int_equal(l.r, HF_ERR_INVALID);
  assert_non_null(strstr(l.text.data, "f:3:26: error: default.text: this template cannot be read: "));
  unload(&l);
}

/* Fills `yaml` with `count` times `piece`, which may have a number in it, between two texts. */
static void build(struct hf_buf *yaml, const char *before, const char *piece, int count, const char *after) {
  hf_buf_reset(yaml, 1 << 21);
  hf_buf_printf(yaml, "%s", before);
  for (int i = 0; i < count; i++) {
    const char *number = strchr(piece, '#');
    if (number)
      hf_buf_printf(yaml, "%.*s%d%s", (int)(number - piece), piece, i, number + 1);
    else
      hf_buf_printf(yaml, "%s", piece);
  }
  hf_buf_printf(yaml, "%s", after);
  hf_buf_append(yaml, "", 1);
}

static void chain__routes_providers_and_json_are_bounded(void **state) {
  (void)state;
  static const struct {
    const char *before, *piece;
    int most;
    const char *after, *expected;
  } cases[] = {
      {SERVERS "routes:\n", "  r#: { providers: [{ tool: files__a }] }\n", 1024, "",
       "f:2:1: error: routes: a mapping of at most 1024 routes is needed here\n"},
      {SERVERS "routes: { r: { providers: [", "{ tool: files__a# },", 8, "] } }",
       "f:2:16: error: routes.r: needs 'providers', a list of 1 to 8 of { tool: server__tool, … }\n"},
      {SERVERS "routes: { r: { providers: [{ tool: files__a }], description: d, inputSchema: { type: object, d: '",
       "123456789", 262144 / 9 - 5, "' } } }", "f:2:65: error: inputSchema: larger than 262144 bytes as JSON\n"},
  };
  struct hf_buf yaml;
  struct loaded l;
  hf_buf_init(&yaml, 1 << 21);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    build(&yaml, cases[i].before, cases[i].piece, cases[i].most, cases[i].after);
    load_good(&l, yaml.data);
    unload(&l);
    build(&yaml, cases[i].before, cases[i].piece, cases[i].most + 9, cases[i].after);
    assert_problems(yaml.data, cases[i].expected);
  }
  hf_buf_deinit(&yaml);
}

static void chain__standbys_in_a_row_are_bounded(void **state) {
  (void)state;
  char yaml[512] = "mcpServers:\n";
  for (int i = 0; i < 9; i++) {
    size_t len = strlen(yaml);
    if (i < 8)
      snprintf(yaml + len, sizeof yaml - len, "  s%d: { command: x, standby: s%d }\n", i, i + 1);
    else
      snprintf(yaml + len, sizeof yaml - len, "  s%d: { command: x }\n", i);
  }
  assert_problems(yaml, "f:2:21: error: standby: more than 8 servers in a row\n");
}

static void chain__any_allocation_may_fail(void **state) {
  (void)state;
  bool passed = false;
  for (long n = 0; !passed && n < 2000; n++) {
    struct hf_problems problems;
    struct hf_settings *settings = NULL;
    struct hf_error error = {0};
    const struct hf_config_options options = {.listens = true, .variable = variable};
    hf_problems_init(&problems);
    hf_alloc_fail_after(n);
    int r = hf_config_parse(
        HF_STR(SERVERS "tools: { files__a: { reconcile: { tool: files__b, arguments: { a: '${TOKEN}' },\n"
                       "  executed: { pointer: '/${TOKEN}', equals: [1, x] } }, default: { text: '{{x}}' } },\n"
                       "  'orders__*': { safety: keyed, idempotencyKey: { header: X-Key, ttl: 1h } } }\n"
                       "routes: { r: { description: d, inputSchema: { type: object }, providers: [{ tool: files__a,\n"
                       "  arguments: '{{}}' }] } }\n"
                       "alerts: { command: [x] }\n"),
        &options, &problems, &settings, &error);
    passed = hf_alloc_count() > 0 && r == 0;
    hf_alloc_fail_after(-1);
    if (!passed) {
      assert_int_equal(r, HF_ERR_NOMEM);
      assert_null(settings);
    }
    hf_settings_free(settings);
  }
  assert_true(passed);
}

static void assert_fit(const struct hf_fit_settings *fit, enum hf_check_mode validate, enum hf_check_mode results,
                       enum hf_repair_mode repair, bool names) {
  assert_int_equal(fit->validate, validate);
  assert_int_equal(fit->results, results);
  assert_int_equal(fit->repair, repair);
  assert_int_equal(fit->repair_names, names);
}

static void chain__what_must_fit_is_said_by_server_and_tool(void **state) {
  (void)state;
  struct loaded l;
  load_good(&l, "mcpServers:\n"
                "  a: { command: x, validate: warn, results: off, repair: off }\n"
                "  b: { command: x, repair: { names: true } }\n"
                "  c: { command: x }\n"
                "tools:\n"
                "  a__t: { validate: enforce, repair: { arguments: safe, names: true } }\n"
                "  \"*__u\": { results: warn }\n"
                "routes:\n"
                "  r: { repair: off, inputSchema: { type: object }, providers: [ { tool: a__t } ] }\n");
  const struct hf_settings *s = l.settings;
  assert_fit(&s->servers[0].fit, HF_CHECK_WARN, HF_CHECK_OFF, HF_REPAIR_MODE_OFF, false);
  assert_fit(&s->servers[1].fit, HF_CHECK_ENFORCE, HF_CHECK_ENFORCE, HF_REPAIR_MODE_SAFE, true);
  assert_fit(&s->servers[2].fit, HF_CHECK_ENFORCE, HF_CHECK_ENFORCE, HF_REPAIR_MODE_SAFE, false);
  const struct hf_tool_settings *t = hf_settings_tool(s, HF_STR("a"), HF_STR("t"));
  assert_fit(&t->fit, HF_CHECK_ENFORCE, HF_CHECK_OFF, HF_REPAIR_MODE_SAFE, true);
  t = hf_settings_tool(s, HF_STR("a"), HF_STR("u"));
  assert_fit(&t->fit, HF_CHECK_WARN, HF_CHECK_WARN, HF_REPAIR_MODE_OFF, false);
  t = hf_settings_tool(s, HF_STR("b"), HF_STR("u"));
  assert_fit(&t->fit, HF_CHECK_ENFORCE, HF_CHECK_WARN, HF_REPAIR_MODE_SAFE, true);
  assert_fit(&s->routes[0].tool.fit, HF_CHECK_ENFORCE, HF_CHECK_ENFORCE, HF_REPAIR_MODE_OFF, false);
  unload(&l);
  assert_problems("mcpServers:\n  a: { command: x, repair: sure }\n",
                  "f:2:20: error: repair.arguments: 'sure' is not one of safe|off\n");
  assert_problems("mcpServers:\n  a: { command: x, repair: [safe] }\n",
                  "f:2:20: error: repair: a mapping is needed here, not a list\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(chain__what_must_fit_is_said_by_server_and_tool),
      cmocka_unit_test(chain__a_tool_is_read_whole),
      cmocka_unit_test(chain__what_is_not_said_has_its_default),
      cmocka_unit_test(chain__servers_and_the_gateway_read_theirs),
      cmocka_unit_test(chain__json_keeps_its_types_and_spelling),
      cmocka_unit_test(chain__conditions_read_every_operator),
      cmocka_unit_test(chain__what_does_not_fit_a_tool_is_told),
      cmocka_unit_test(chain__what_does_not_fit_a_reconcile_is_told),
      cmocka_unit_test(chain__a_route_is_read_whole),
      cmocka_unit_test(chain__what_does_not_fit_a_route_is_told),
      cmocka_unit_test(chain__a_standby_must_be_another_server),
      cmocka_unit_test(chain__what_does_not_fit_the_store_is_told),
      cmocka_unit_test(chain__no_secret_is_quoted),
      cmocka_unit_test(chain__a_broken_template_says_where),
      cmocka_unit_test(chain__routes_providers_and_json_are_bounded),
      cmocka_unit_test(chain__standbys_in_a_row_are_bounded),
      cmocka_unit_test(chain__any_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
