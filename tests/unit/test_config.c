#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "daemon/config.h"

#include <stdio.h>
#include <string.h>

static const char *variable(const char *name) {
  if (strcmp(name, "TOKEN") == 0)
    return "canary-token";
  if (strcmp(name, "EMPTY") == 0)
    return "";
  if (strcmp(name, "TRICK") == 0)
    return "${TOKEN}";
  return NULL;
}

struct loaded {
  int r;
  struct hf_settings *settings;
  struct hf_problems problems;
  struct hf_buf text;
};

static void load_with(struct loaded *l, const char *yaml, const struct hf_config_options *options) {
  memset(l, 0, sizeof *l);
  hf_problems_init(&l->problems);
  hf_buf_init(&l->text, 1 << 16);
  struct hf_error error = {0};
  l->r = hf_config_parse(hf_str_from(yaml), options, &l->problems, &l->settings, &error);
  assert_int_equal(hf_problems_print(&l->problems, "f", &l->text), 0);
  assert_int_equal(hf_buf_append(&l->text, "", 1), 0);
}

static void load(struct loaded *l, const char *yaml) {
  const struct hf_config_options options = {.variable = variable, .listens = true};
  load_with(l, yaml, &options);
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

static void config__takes_a_client_file_as_it_is(void **state) {
  (void)state;
  struct loaded l;
  load(&l, "{\n  // VS Code\n\t\"servers\": {\n"
           "    \"win\": { \"type\": \"stdio\", \"command\": \"cmd\","
           " \"args\": [\"/c\", \"npx\", \"C:\\\\Program Files\\\\x\"], },\n"
           "    \"web\": { \"type\": \"http\", \"url\": \"https://x.example/mcp\", \"alwaysAllow\": [] }\n"
           "  },\n  \"inputs\": []\n}\n");
  assert_int_equal(l.r, 0);
  assert_string_equal(l.text.data, "f:5:62: warning: 'alwaysAllow' is another client's and has no effect here\n");
  assert_int_equal(l.settings->server_count, 2);
  const struct hf_server_settings *win = &l.settings->servers[0];
  assert_int_equal(win->transport, HF_TRANSPORT_STDIO);
  assert_str(win->command, "cmd");
  assert_str(win->args.item[2], "C:\\Program Files\\x");
  assert_int_equal(l.settings->servers[1].transport, HF_TRANSPORT_HTTP);
  unload(&l);
}

static void config__knows_servers_of_2024_by_other_clients_words(void **state) {
  (void)state;
  struct loaded l;
  load(&l, "mcpServers:\n  a: { type: sse, url: 'http://x/sse' }\n"
           "  b: { transport: SSE, url: 'http://x/sse', endpoint: m }\n"
           "  c: { type: streamable-http, url: 'http://x/mcp' }\n");
  assert_string_equal(l.text.data, "");
  assert_true(l.settings->servers[0].sse);
  assert_true(l.settings->servers[1].sse);
  assert_str(l.settings->servers[1].endpoint, "m");
  assert_false(l.settings->servers[2].sse);
  unload(&l);
  assert_problems("mcpServers:\n  a: { type: sse, era: modern, url: 'http://x/sse' }\n",
                  "f:2:8: error: 'sse' is the transport of 2024-11-05, which no modern server speaks\n");
  assert_problems("mcpServers:\n  a: { url: 'http://x/sse', endpoint: 'http://y/m' }\n",
                  "f:2:29: error: endpoint: it is of another origin than 'url'\n");
}

static void config__expands_variables_once(void **state) {
  (void)state;
  struct loaded l;
  load(&l, "mcpServers:\n  a:\n    command: x\n"
           "    args: ['${TOKEN}', '${env:TOKEN}', '${NONE:-d}', '${EMPTY:-d}', '${EMPTY}', '$${TOKEN}', '${TRICK}',"
           " 'a$b', '-${TOKEN}-${TOKEN}-']\n    env: { K: '${TOKEN}' }\n");
  assert_string_equal(l.text.data, "");
  assert_int_equal(l.r, 0);
  static const char *const expected[] = {
      "canary-token", "canary-token", "d", "d", "", "${TOKEN}", "${TOKEN}", "a$b", "-canary-token-canary-token-"};
  const struct hf_server_settings *a = &l.settings->servers[0];
  assert_int_equal(a->args.count, 9);
  for (size_t i = 0; i < 9; i++)
    assert_str(a->args.item[i], expected[i]);
  assert_str(a->env.item[0], "K=canary-token");
  unload(&l);
}

static void config__an_unset_variable_disables_its_server_only(void **state) {
  (void)state;
  static const struct {
    const char *server, *where;
  } cases[] = {
      {"{ command: '${NONE}' }", "command"},
      {"{ command: x, args: ['${NONE}'] }", "args"},
      {"{ command: x, env: { K: '${NONE}' } }", "env.K"},
      {"{ url: 'http://${NONE}/' }", "url"},
      {"{ url: 'http://x/', headers: { Authorization: 'Bearer ${NONE}' } }", "headers.Authorization"},
      {"{ command: x, cwd: '${NONE}' }", "cwd"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char yaml[256];
    char expected[256];
    struct loaded l;
    snprintf(yaml, sizeof yaml, "mcpServers:\n  a: %s\n  b: { command: y }\n", cases[i].server);
    snprintf(expected, sizeof expected,
             "f:2:3: warning: server 'a' is left out: the variable 'NONE' in %s is not set\n", cases[i].where);
    load(&l, yaml);
    assert_string_equal(l.text.data, expected);
    assert_int_equal(l.r, 0);
    assert_true(l.settings->servers[0].disabled);
    assert_false(l.settings->servers[1].disabled);
    unload(&l);
  }
}

static void config__an_unset_variable_elsewhere_is_an_error(void **state) {
  (void)state;
  assert_problems("listen: '${NONE}'\nmcpServers: {}\n", "f:1:1: error: listen: the variable 'NONE' is not set\n");
  assert_problems("mcpServers:\n  a: { command: '${A:-${B}}' }\n",
                  "f:2:3: error: server 'a': 'command' is empty\n"
                  "f:2:8: error: command: cannot expand '${…}': write ${NAME} or ${NAME:-text}, and $${ for a literal "
                  "${\n");
}

static void config__an_unknown_key_has_its_place_and_a_suggestion(void **state) {
  (void)state;
  static const struct {
    const char *yaml, *expected;
  } cases[] = {
      {"mcpServers: {}\npolicies:\n  default:\n    retires: {}\n",
       "f:4:5: error: unknown key 'retires' in policies.default; did you mean 'retry'?\n"},
      {"mcpServers: {}\npolicies:\n  default:\n    timeout: { Conect: 1s }\n",
       "f:4:16: error: unknown key 'Conect' in policies.default.timeout; did you mean 'connect'?\n"},
      {"mcpServers:\n  a: { command: x, comand: y }\n",
       "f:2:20: error: unknown key 'comand' in mcpServers.a; did you mean 'command'?\n"},
      {"mcpServers: {}\nlisten: localhost:1\nzzz: 1\n", "f:3:1: error: unknown key 'zzz' in the configuration\n"},
      {"mcpServers: { a: { command: x } }\ntools:\n  a__b: { saftey: unsafe }\n",
       "f:3:11: error: unknown key 'saftey' in tools.a__b; did you mean 'safety'?\n"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    assert_problems(cases[i].yaml, cases[i].expected);
}

static void config__tells_every_error_at_once(void **state) {
  (void)state;
  assert_problems("listen: nowhere\nlog: { level: loud }\nmcpServers:\n  a: {}\n  b: { command: x, url: http://x }\n",
                  "f:1:1: error: listen: 'nowhere' is not an address such as 127.0.0.1:8080, [::1]:8080 or "
                  "localhost:8080\n"
                  "f:2:8: error: log.level: 'loud' is not one of error|warn|info|debug\n"
                  "f:4:3: error: server 'a' needs either 'command' or 'url'\n"
                  "f:5:3: error: server 'b' needs either 'command' or 'url', not both\n");
}

static void config__a_url_that_cannot_be_called_is_an_error_where_it_stands(void **state) {
  (void)state;
  static const struct {
    const char *url;
    const char *why;
  } cases[] = {
      {"http//x", "'url' must begin with http:// or https://"},
      {"ftp://x", "'url' must begin with http:// or https://"},
      {"", "'url' must begin with http:// or https://"},
      {"https://", "malformed url: No host part in the URL"},
      {"https:///mcp", "malformed url: No host part in the URL"},
      {"https://x y/mcp", "'url' holds a blank; in a URL it is written %20"},
      {"https://x/a b", "'url' holds a blank; in a URL it is written %20"},
      {" https://x/mcp", "'url' must begin with http:// or https://"},
      {"https://x:99999/", "malformed url: Port number"},
      {"https://x:http/", "malformed url: Port number"},
      {"https://[::1/", "malformed url: "},
      {"https://<host>/mcp", "malformed url: "},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char yaml[256], expected[256];
    struct loaded l;
    snprintf(yaml, sizeof yaml, "mcpServers:\n  a:\n    timeout: { connect: 1s }\n    url: \"%s\"\n", cases[i].url);
    snprintf(expected, sizeof expected, "f:4:5: error: server 'a': %s", cases[i].why);
    load(&l, yaml);
    if (l.problems.errors != 1 || !strstr(l.text.data, expected))
      fail_msg("'%s' is not in %s", expected, l.text.data);
    unload(&l);
  }
  static const char *const good[] = {"http://x", "https://x:8443/mcp?k=v", "http://[::1]:80/mcp", "https://u:p@x/a%20b",
                                     "http://localhost"};
  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
    char yaml[256];
    snprintf(yaml, sizeof yaml, "mcpServers: { a: { url: \"%s\" } }\n", good[i]);
    assert_problems(yaml, "");
  }
}

static void config__the_count_of_problems_is_bounded(void **state) {
  (void)state;
  char yaml[4096] = "mcpServers: {}\nlisten: localhost:1\n";
  for (int i = 0; i < 40; i++) {
    size_t len = strlen(yaml);
    snprintf(yaml + len, sizeof yaml - len, "zzzzzz%d: 1\n", i);
  }
  struct loaded l;
  load(&l, yaml);
  assert_int_equal(l.r, HF_ERR_INVALID);
  assert_int_equal(l.problems.errors, 40);
  assert_non_null(strstr(l.text.data, "f: and 8 more\n"));
  unload(&l);
}

static void config__names_the_bound_that_is_passed(void **state) {
  (void)state;
  assert_problems("mcpServers: {}\npolicies: { default: { retry: { attempts: 0 } } }\n",
                  "f:2:33: error: retry.attempts: '0' is too small: the least is 1\n");
  assert_problems("mcpServers: {}\nlimits: { body: 1GiB }\n",
                  "f:2:11: error: limits.body: '1GiB' is too large: the most is 64MiB\n");
  assert_problems("mcpServers: {}\npolicies: { default: { timeout: { connect: 2 } } }\n",
                  "f:2:35: error: timeout.connect: '2' is not a duration such as 500ms, 2s, 5m or 1h\n");
  assert_problems("mcpServers: {}\npolicies: { default: { retry: { base: 1m } } }\n",
                  "f:2:13: error: policies.default: retry.base is longer than retry.max\n");
}

static void config__syntax_errors_have_a_place(void **state) {
  (void)state;
  assert_problems("mcpServers: {}\nmcpServers: {}\n", "f:2:1: error: duplicate key\n");
  assert_problems("", "f: error: the file is empty\n");
  assert_problems("a: 1\n---\nb: 2\n", "f: error: more than one document ('---') in the file\n");
  assert_problems("a: \xff\n", "f: error: not UTF-8 text\n");
  assert_problems("- a\n", "f:1:1: error: a configuration is a mapping with 'mcpServers' in it, not a list\n");
  assert_problems("listen: localhost:1\n", "f: error: no servers: there is no 'mcpServers'\n");
}

static void config__listens_beyond_loopback_only_with_tokens(void **state) {
  (void)state;
  static const struct {
    const char *listen;
    bool alone, good;
  } cases[] = {
      {"127.0.0.1:80", true, true}, {"127.9.9.9:80", true, true}, {"localhost:0", true, true},
      {"'[::1]:80'", true, true},   {"':8080'", true, true},      {"0.0.0.0:80", true, false},
      {"'[::]:80'", true, false},   {"10.0.0.1:80", true, false}, {"example.com:80", true, false},
      {"0.0.0.0:80", false, true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char yaml[512];
    snprintf(yaml, sizeof yaml, "listen: %s\nmcpServers: {}\n%s", cases[i].listen,
             cases[i].alone ? ""
                            : "auth: { tokens: { al: "
                              "'sha256:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff' } }\n");
    struct loaded l;
    load(&l, yaml);
    assert_int_equal(l.r == 0, cases[i].good);
    if (!cases[i].good)
      assert_non_null(strstr(l.text.data, "f:1:1: error: listen: '"));
    unload(&l);
  }
}

static void config__reads_tokens_as_hashes(void **state) {
  (void)state;
  struct loaded l;
  load(&l, "mcpServers: {}\nauth: { tokens: { alice: "
           "'sha256:00112233445566778899AABBCCDDEEFF00112233445566778899aabbccddeeff' } }\n");
  assert_int_equal(l.r, 0);
  assert_int_equal(l.settings->principal_count, 1);
  assert_str(l.settings->principals[0].name, "alice");
  assert_int_equal(l.settings->principals[0].token_sha256[1], 0x11);
  assert_int_equal(l.settings->principals[0].token_sha256[31], 0xff);
  unload(&l);
}

static void config__policies_stack_up(void **state) {
  (void)state;
  struct loaded l;
  load(&l, "profile: light\n"
           "policies:\n"
           "  default: { timeout: { deadline: 40s, task: 2h } }\n"
           "  long: { timeout: { deadline: 1h, idle: 5m, task: 5h } }\n"
           "mcpServers:\n"
           "  a: { command: x, policy: long, timeout: { idle: 2m }, breaker: { failures: 3 } }\n"
           "  b: { command: x }\n"
           "tools:\n"
           "  '*': { retry: { attempts: 6 } }\n"
           "  'a__slow*': { policy: long, timeout: { deadline: 2h } }\n"
           "  'b__x': { safety: read_only }\n"
           "  'b__export': { timeout: { task: 1d } }\n");
  assert_string_equal(l.text.data, "");
  assert_int_equal(l.r, 0);
  const struct hf_server_settings *a = &l.settings->servers[0];
  const struct hf_server_settings *b = &l.settings->servers[1];
  assert_int_equal(a->policy.timeout.deadline, HF_SECONDS(3600));
  assert_int_equal(a->policy.timeout.idle, HF_SECONDS(120));
  assert_int_equal(a->policy.timeout.task, HF_SECONDS(5 * 3600));
  assert_int_equal(a->policy.retry.attempts, 3);
  assert_int_equal(a->policy.breaker.failures, 3);
  assert_int_equal(a->provider.breaker.failures, 3);
  assert_int_equal(a->provider.max_concurrent, 32);
  assert_int_equal(b->policy.timeout.deadline, HF_SECONDS(40));
  assert_int_equal(b->policy.timeout.task, HF_SECONDS(2 * 3600));
  assert_int_equal(b->policy.breaker.failures, 10);

  const struct hf_tool_settings *t = hf_settings_tool(l.settings, HF_STR("a"), HF_STR("any"));
  assert_true(t->has_policy);
  assert_int_equal(t->policy.retry.attempts, 6);
  assert_int_equal(t->policy.timeout.idle, HF_SECONDS(120));
  t = hf_settings_tool(l.settings, HF_STR("a"), HF_STR("slow_one"));
  assert_int_equal(t->policy.timeout.deadline, HF_SECONDS(7200));
  assert_int_equal(t->policy.timeout.idle, HF_SECONDS(300));
  assert_int_equal(t->policy.retry.attempts, 3);
  assert_str(t->source, "tools.a__slow*");
  t = hf_settings_tool(l.settings, HF_STR("b"), HF_STR("x"));
  assert_true(t->has_safety);
  assert_false(t->has_policy);
  assert_int_equal(t->safety, HF_SAFETY_READ_ONLY);
  t = hf_settings_tool(l.settings, HF_STR("b"), HF_STR("export"));
  assert_int_equal(t->policy.timeout.task, HF_SECONDS(86400));
  unload(&l);
}

static void config__a_tie_between_patterns_is_an_error(void **state) {
  (void)state;
  assert_problems(
      "mcpServers: { a: { command: x } }\ntools:\n  'a__b*': { hidden: true }\n  'a__*b': { hidden: true }\n",
      "f:4:3: error: tools: 'a__b*' and 'a__*b' are equally exact and can match the same tool; make one "
      "longer\n");
}

static void config__headers_that_frame_a_message_are_refused(void **state) {
  (void)state;
  assert_problems("mcpServers:\n  a: { url: http://x, headers: { content-length: '1', 'a b': x } }\n",
                  "f:2:34: error: headers: 'content-length' is set by holdfast itself\n"
                  "f:2:55: error: headers: 'a b' is no header name\n");
  assert_problems("mcpServers:\n  a: { url: http://x, headers: { A: \"x\\r\\nB: y\" } }\n",
                  "f:2:23: error: headers: a value holds a line break or control character\n");
}

static void config__odd_server_names_are_kept(void **state) {
  (void)state;
  struct loaded l;
  load(&l, "mcpServers:\n  '天气 api': { command: x }\n");
  assert_int_equal(l.r, 0);
  assert_str(l.settings->servers[0].name, "天气 api");
  unload(&l);
  assert_problems("mcpServers:\n  'a*b': { command: x }\n",
                  "f:2:3: error: the name of a server must not hold '*', '/' or control characters\n");
}

static void config__no_secret_is_quoted(void **state) {
  (void)state;
  static const char *const cases[] = {
      "mcpServers: { a: { url: 'ftp://canary:canary@x/?k=canary', headers: [canary] } }",
      "mcpServers: { a: { command: x, args: canary, env: canary } }",
      "mcpServers: { a: { command: x, env: { A: [canary] } } }",
      "mcpServers: { a: { url: 'http://canary:canary@x\\n/canary', headers: { A: \"canary\\n\" } } }",
      "mcpServers: {}\nauth: { tokens: { al: canary } }",
      "mcpServers: { a: { url: \"http://x\\u0001canary\", proxy: [canary] } }",
      "mcpServers: { a: { url: 'http://${TOKEN}:${NONE}@x/' } }",
      "mcpServers: {}\nlimits: { body: '${TOKEN}' }\nlog: { level: '${TOKEN}' }",
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct loaded l;
    load(&l, cases[i]);
    assert_true(l.problems.count > 0 || i == 3);
    assert_null(strstr(l.text.data, "canary"));
    unload(&l);
  }
}

static void config__the_command_line_goes_before_the_file(void **state) {
  (void)state;
  struct loaded l;
  const struct hf_config_options options = {.variable = variable,
                                            .listens = true,
                                            .listen = "127.0.0.1:99",
                                            .log_level = "debug",
                                            .log_format = "json",
                                            .instance = HF_INSTANCE_SESSION};
  load_with(&l,
            "listen: 0.0.0.0:1\nlog: { level: warn }\n"
            "mcpServers: { a: { command: x }, b: { command: x, instance: shared } }\n",
            &options);
  assert_string_equal(l.text.data, "");
  assert_int_equal(l.settings->listen_port, 99);
  assert_int_equal(l.settings->log_level, HF_LOG_DEBUG);
  assert_int_equal(l.settings->log_format, HF_LOG_JSON);
  assert_int_equal(l.settings->servers[0].instance, HF_INSTANCE_SESSION);
  assert_int_equal(l.settings->servers[1].instance, HF_INSTANCE_SHARED);
  unload(&l);
}

static void config__wrap_names_the_server_after_its_command(void **state) {
  (void)state;
  static const struct {
    const char *argv[5];
    const char *name;
  } cases[] = {
      {{"/usr/bin/my-server", "--x"}, "my-server"},
      {{"npx", "-y", "@modelcontextprotocol/server-files@1.2.3", "/srv"}, "server-files"},
      {{"sh", "-c", "exec server-files 2>/dev/null"}, "sh"},
      {{"uvx", "mcp-server-git"}, "mcp-server-git"},
      {{"node", "/opt/x/index.mjs"}, "x"},
      {{"node", "/opt/node_modules/@scope/server-files/dist/index.js"}, "server-files"},
      {{"python3", "main.py"}, "main"},
      {{"npx"}, "npx"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct hf_settings *settings;
    struct hf_error error = {0};
    const struct hf_config_options options = {.instance = HF_INSTANCE_SESSION};
    assert_int_equal(hf_config_wrap((char *const *)cases[i].argv, NULL, &options, &settings, &error), 0);
    assert_int_equal(settings->server_count, 1);
    assert_str(settings->servers[0].name, cases[i].name);
    assert_str(settings->servers[0].command, cases[i].argv[0]);
    assert_int_equal(settings->servers[0].instance, HF_INSTANCE_SESSION);
    assert_int_equal(settings->servers[0].policy.retry.attempts, 5);
    hf_settings_free(settings);
  }
}

static void config__an_alias_bomb_ends(void **state) {
  (void)state;
  struct loaded l;
  load(&l, "a: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\n"
           "d: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e]\n"
           "g: &g [*f,*f,*f,*f,*f,*f,*f,*f]\nmcpServers: [*g,*g,*g,*g,*g,*g,*g,*g]\n");
  assert_int_equal(l.r, HF_ERR_NOMEM);
  unload(&l);
}

static void config__what_a_tool_cannot_have_is_told(void **state) {
  (void)state;
  assert_problems(
      "mcpServers: { a: { command: x } }\npolicies: { p: { retryBudget: { burst: 1 } } }\n"
      "tools: { a__b: { policy: p } }\n",
      "f:3:18: warning: policy: 'retryBudget' of 'p' holds for whole servers and has no effect on a tool\n");
  assert_problems("mcpServers: { a: { command: x } }\ntools: { a__b: { retryBudget: { burst: 1 } } }\n",
                  "f:2:18: error: unknown key 'retryBudget' in tools.a__b\n");
  assert_problems("mcpServers: { a: { command: x } }\ntools: { c__d: { hidden: true } }\n",
                  "f:2:10: warning: tools.c__d: there is no server whose tools it could match\n");
}

static void config__any_allocation_may_fail(void **state) {
  (void)state;
  bool passed = false;
  for (long n = 0; !passed && n < 1000; n++) {
    struct hf_problems problems;
    struct hf_settings *settings = NULL;
    struct hf_error error = {0};
    const struct hf_config_options options = {.listens = true, .variable = variable};
    hf_problems_init(&problems);
    hf_alloc_fail_after(n);
    int r = hf_config_parse(HF_STR("mcpServers: { a: { command: '${TOKEN}', args: [x], env: { A: b } },\n"
                                   "  b: { url: 'http://x', headers: { K: v }, policy: p } }\n"
                                   "policies: { p: { retry: { attempts: 2 } } }\n"
                                   "tools: { 'a__*': { safety: read_only }, 'b__x': { policy: p } }\n"),
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

static void config__the_counts_of_servers_and_patterns_are_bounded(void **state) {
  (void)state;
  struct hf_buf yaml;
  struct loaded l;
  hf_buf_init(&yaml, 1 << 20);
  hf_buf_printf(&yaml, "mcpServers:\n");
  for (int i = 0; i < 1025; i++)
    hf_buf_printf(&yaml, "  s%d: { command: x }\n", i);
  hf_buf_append(&yaml, "", 1);
  load(&l, yaml.data);
  assert_int_equal(l.r, HF_ERR_INVALID);
  assert_non_null(strstr(l.text.data, "a mapping of at most 1024 servers is needed here"));
  unload(&l);
  hf_buf_reset(&yaml, 1 << 20);
  hf_buf_printf(&yaml, "mcpServers: { s: { command: x } }\ntools:\n");
  for (int i = 0; i < 2049; i++)
    hf_buf_printf(&yaml, "  s__t%d: { safety: read_only }\n", i);
  hf_buf_append(&yaml, "", 1);
  load(&l, yaml.data);
  assert_int_equal(l.r, HF_ERR_INVALID);
  assert_non_null(strstr(l.text.data, "a mapping of at most 2048 patterns is needed here"));
  unload(&l);
  hf_buf_deinit(&yaml);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(config__takes_a_client_file_as_it_is),
      cmocka_unit_test(config__knows_servers_of_2024_by_other_clients_words),
      cmocka_unit_test(config__expands_variables_once),
      cmocka_unit_test(config__an_unset_variable_disables_its_server_only),
      cmocka_unit_test(config__an_unset_variable_elsewhere_is_an_error),
      cmocka_unit_test(config__an_unknown_key_has_its_place_and_a_suggestion),
      cmocka_unit_test(config__tells_every_error_at_once),
      cmocka_unit_test(config__a_url_that_cannot_be_called_is_an_error_where_it_stands),
      cmocka_unit_test(config__the_count_of_problems_is_bounded),
      cmocka_unit_test(config__the_counts_of_servers_and_patterns_are_bounded),
      cmocka_unit_test(config__names_the_bound_that_is_passed),
      cmocka_unit_test(config__syntax_errors_have_a_place),
      cmocka_unit_test(config__listens_beyond_loopback_only_with_tokens),
      cmocka_unit_test(config__reads_tokens_as_hashes),
      cmocka_unit_test(config__policies_stack_up),
      cmocka_unit_test(config__a_tie_between_patterns_is_an_error),
      cmocka_unit_test(config__headers_that_frame_a_message_are_refused),
      cmocka_unit_test(config__odd_server_names_are_kept),
      cmocka_unit_test(config__no_secret_is_quoted),
      cmocka_unit_test(config__the_command_line_goes_before_the_file),
      cmocka_unit_test(config__wrap_names_the_server_after_its_command),
      cmocka_unit_test(config__an_alias_bomb_ends),
      cmocka_unit_test(config__what_a_tool_cannot_have_is_told),
      cmocka_unit_test(config__any_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
