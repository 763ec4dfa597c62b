/* What corrections are worth: a model that gets some of its calls wrong works through chains of 20 steps, with a server
 * that only says that something failed, with one that says what is wrong first (as the official SDK for Python does),
 * and with the gateway between them.
 *
 * The gateway is the real one, between fakes; chance comes from seeds. A chain ends well if each of its calls was
 * executed with what is right, after at most as many tries as the gateway allows. */
#include "gateway_world.h"
#include "task.h"
#include "weak_model.h"

#include "base/tokens.h"
#include "schema/equal.h"
#include "json/pointer.h"
#include "json/write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  CHAINS = 1000,
  STEPS = 20,
  TRIES = 4, /* the first one, and as many as `correction.max` */
  TEXT_MAX = 1 << 16,
  FOLLOW = 80,
  LUCK = 30,
  CONTEXT = 4000, /* tokens that a model reads again for each further answer: its tools, the talk so far */
  EQUAL_STEPS = 1 << 16,
};

#define HELLO                                                                                                          \
  "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"s\",\"version\":"    \
  "\"1\"}}"

enum help { HELP_NONE, HELP_SERVER, HELP_FEEDBACK, HELP_REPAIR, HELP_COUNT };

static const char *const help_names[] = {
    [HELP_NONE] = "none: it failed",
    [HELP_SERVER] = "the server's own error",
    [HELP_FEEDBACK] = "Holdfast, repair: off",
    [HELP_REPAIR] = "Holdfast",
};

struct result {
  unsigned chains, ended_well;
  unsigned wrong;  /* calls that the model got wrong at first */
  unsigned asked;  /* answers that told it so */
  unsigned mended; /* calls that were wrong, and executed rightly all the same */
  unsigned executed_wrongly;
  size_t tokens; /* of calls that were in vain, and of their answers */
};

/* A world, and who acts in it. */
struct play {
  struct world world;
  struct fake_client client;
  struct weak_model model;
  enum help help;
  char *tools;
  struct hf_schema *schemas[TASK_TOOLS];
  struct hf_schema_run *run;
  struct hf_buf answer; /* what the model gets to read */
  struct result *result;
};

static void put(struct hf_buf *out, const char *text) {
  if (hf_buf_append(out, text, strlen(text)) < 0)
    abort();
}

static const char *terminated(struct hf_buf *buf) {
  if (hf_buf_append(buf, "", 1) < 0)
    abort();
  buf->len--;
  return buf->data;
}

static void put_tools(struct hf_buf *out) {
  put(out, "{\"tools\":[");
  for (size_t i = 0; i < TASK_TOOLS; i++) {
    const struct task_tool *tool = &task_tools[i];
    if (hf_buf_printf(out, "%s{\"name\":\"%s\",\"annotations\":{\"readOnlyHint\":%s},\"inputSchema\":%s}", i ? "," : "",
                      tool->name, tool->reads ? "true" : "false", tool->schema) < 0)
      abort();
  }
  put(out, "]}");
}

/* What the value is called that does not fit, as jsonschema for Python says it. */
static void put_reason(struct hf_buf *out, const struct hf_json_doc *doc, const struct hf_schema_error *error) {
  struct hf_str value = hf_json_span(doc, error->value), expected = {NULL, 0};
  if (error->at.keyword != HF_JSON_NONE)
    expected = hf_json_span(error->at.doc, error->at.keyword);
  int r;
  if (error->missing.ptr)
    r = hf_buf_printf(out, "%.*s is a required property", HF_STR_FMT(error->missing));
  else if (error->key != HF_JSON_NONE)
    r = hf_buf_printf(out, "Additional properties are not allowed (%.*s was unexpected)",
                      HF_STR_FMT(hf_json_span(doc, error->key)));
  else if (error->keyword == HF_KEYWORD_ENUM)
    r = hf_buf_printf(out, "%.*s is not one of %.*s", HF_STR_FMT(value), HF_STR_FMT(expected));
  else
    r = hf_buf_printf(out, "%.*s is not of type %.*s", HF_STR_FMT(value), HF_STR_FMT(expected));
  if (r < 0)
    abort();
}

static size_t tool_index(struct hf_str name) {
  size_t i = 0;
  while (i < TASK_TOOLS && !hf_str_equal(name, hf_str_from(task_tools[i].name)))
    i++;
  return i;
}

/* The server validates, too. Returns whether it executed the call; else `answer` says why not. */
static bool serve(struct play *p, struct hf_str tool, struct hf_str arguments) {
  size_t at = tool_index(tool);
  p->answer.len = 0;
  if (at == TASK_TOOLS) {
    if (hf_buf_printf(&p->answer, "Unknown tool: %.*s", HF_STR_FMT(tool)) < 0)
      abort();
    return false;
  }
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  if (hf_json_scan_feed(&scan, arguments.ptr, arguments.len, true) < 0)
    abort();
  struct hf_json_doc doc = hf_json_doc(arguments.ptr, &scan);
  struct hf_schema_errors errors;
  hf_schema_errors_init(&errors);
  int r = hf_schema_explain(p->schemas[at], p->run, &doc, 0, &errors);
  if (r < 0) {
    put(&p->answer, "Input validation error: ");
    put_reason(&p->answer, &doc, &errors.item[0]);
  }
  hf_schema_errors_deinit(&errors);
  hf_json_scan_deinit(&scan);
  return r == 0;
}

static bool same_value(struct hf_str a, struct hf_str b) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  struct hf_json_scan left, right;
  hf_json_scan_init(&left, &options);
  hf_json_scan_init(&right, &options);
  if (hf_json_scan_feed(&left, a.ptr, a.len, true) < 0 || hf_json_scan_feed(&right, b.ptr, b.len, true) < 0)
    abort();
  struct hf_json_doc one = hf_json_doc(a.ptr, &left), other = hf_json_doc(b.ptr, &right);
  uint32_t steps = EQUAL_STEPS;
  bool same = hf_json_equal(&one, 0, &other, 0, &steps) == 1;
  hf_json_scan_deinit(&left);
  hf_json_scan_deinit(&right);
  return same;
}

/* What was executed must be what the model was to do. */
static bool is_right(const struct task_tool *tool, struct hf_str arguments) {
  const struct weak_call right = {.tool = tool};
  struct hf_buf text;
  hf_buf_init(&text, TEXT_MAX);
  weak_call_arguments(&right, &text);
  bool same = same_value(hf_buf_str(&text), arguments);
  hf_buf_deinit(&text);
  return same;
}

/* Takes the text that a model reads out of an answer of the gateway. */
static void read_answer(struct play *p, const char *answer) {
  struct hf_str text;
  p->answer.len = 0;
  if (hf_json_pointer(hf_str_from(answer), HF_STR("/result/content/0/text"), &text) < 0 ||
      hf_json_unescape(text, &p->answer) < 0)
    abort();
}

/* Takes what reached the server out of its text, and lets it answer. */
static bool answer_attempt(struct play *p, struct hf_attempt_ref *ref, const struct task_tool *tool) {
  struct hf_str sent = hf_str_from(ref->text), name, arguments;
  struct hf_buf meant;
  hf_buf_init(&meant, TEXT_MAX);
  if (hf_json_pointer(sent, HF_STR("/params/name"), &name) < 0 || hf_json_unescape(name, &meant) < 0 ||
      hf_json_pointer(sent, HF_STR("/params/arguments"), &arguments) < 0)
    abort();
  bool executed = serve(p, hf_buf_str(&meant), arguments);
  p->result->executed_wrongly +=
      executed && (!hf_str_equal(hf_buf_str(&meant), hf_str_from(tool->name)) || !is_right(tool, arguments));
  hf_buf_deinit(&meant);
  upstream_answer(ref, "{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}");
  world_run(&p->world, 0);
  return executed;
}

/* Calls through the gateway. Returns whether it was executed; else `answer` is what the model reads. */
static bool call_gateway(struct play *p, const struct weak_call *call, struct hf_str name, struct hf_str arguments) {
  struct hf_buf text;
  hf_buf_init(&text, TEXT_MAX);
  if (hf_buf_printf(&text,
                    "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"s__%.*s\","
                    "\"arguments\":%.*s}}",
                    HF_STR_FMT(name), HF_STR_FMT(arguments)) < 0)
    abort();
  struct fake_reply reply = {.answer = NULL};
  client_send(&p->world, &p->client, &reply, terminated(&text));
  struct hf_attempt_ref *ref = upstream_last(world_upstream(&p->world, "s"));
  bool executed = ref && answer_attempt(p, ref, call->tool);
  if (!ref)
    read_answer(p, reply.answer);
  reply_deinit(&reply);
  hf_buf_deinit(&text);
  return executed;
}

static bool try_call(struct play *p, const struct weak_call *call) {
  struct hf_buf name, arguments;
  hf_buf_init(&name, TEXT_MAX);
  hf_buf_init(&arguments, TEXT_MAX);
  weak_call_name(call, &name);
  weak_call_arguments(call, &arguments);
  bool executed = p->help >= HELP_FEEDBACK ? call_gateway(p, call, hf_buf_str(&name), hf_buf_str(&arguments))
                                           : serve(p, hf_buf_str(&name), hf_buf_str(&arguments));
  if (!executed && p->help == HELP_NONE) {
    p->answer.len = 0;
    put(&p->answer, "Error executing tool");
  }
  if (!executed)
    p->result->tokens += hf_tokens(hf_buf_str(&arguments)) + hf_tokens(hf_buf_str(&p->answer));
  hf_buf_deinit(&name);
  hf_buf_deinit(&arguments);
  return executed;
}

/* One step of a chain. Returns whether it was done. */
static bool step(struct play *p) {
  const struct task_tool *tool = &task_tools[hf_random_below(&p->model.random, TASK_TOOLS)];
  struct weak_call call = weak_model_start(&p->model, tool);
  bool wrong = !weak_call_is_right(&call), executed = false;
  p->result->wrong += wrong;
  for (int i = 0; i < TRIES && !executed; i++) {
    executed = try_call(p, &call);
    if (!executed) {
      p->result->asked++;
      weak_model_read(&p->model, &call, terminated(&p->answer));
    }
  }
  p->result->mended += wrong && executed;
  return executed;
}

static void open_world(struct play *p) {
  const struct fake_server server = {.name = "s", .hello = HELLO, .tools = p->tools, .era = HF_ERA_LEGACY};
  world_init(&p->world, &server, 1);
  p->world.settings->correction = (struct hf_correction_settings){.max = TRIES - 1, .ttl = HF_SECONDS(600)};
  struct hf_fit_settings *fit = &p->world.settings->servers[0].fit;
  fit->repair = p->help == HELP_REPAIR ? HF_REPAIR_MODE_SAFE : HF_REPAIR_MODE_OFF;
  fit->repair_names = p->help == HELP_REPAIR;
  client_open(&p->world, &p->client, NULL, HF_ERA_LEGACY);
  client_initialize(&p->world, &p->client, "{}");
  world_run(&p->world, HF_SECONDS(1));
}

static void play_chain(struct play *p, uint64_t seed) {
  hf_random_init(&p->model.random, seed);
  open_world(p);
  bool well = true;
  for (int i = 0; i < STEPS && well; i++)
    well = step(p);
  p->result->chains++;
  p->result->ended_well += well;
  client_close(&p->client);
  world_deinit(&p->world);
}

static struct result measure(enum help help, unsigned mistakes) {
  struct result result = {0};
  struct play p = {.help = help,
                   .model = {.mistakes = mistakes, .follow = FOLLOW, .luck = LUCK},
                   .run = hf_schema_run_new(),
                   .result = &result};
  struct hf_buf tools;
  hf_buf_init(&tools, TEXT_MAX);
  hf_buf_init(&p.answer, TEXT_MAX);
  put_tools(&tools);
  p.tools = (char *)terminated(&tools);
  for (size_t i = 0; i < TASK_TOOLS; i++)
    if (hf_schema_compile(hf_str_from(task_tools[i].schema), &(struct hf_schema_options)HF_SCHEMA_OPTIONS_INIT,
                          &p.schemas[i], NULL) < 0)
      abort();
  for (uint64_t seed = 1; seed <= CHAINS; seed++)
    play_chain(&p, seed);
  for (size_t i = 0; i < TASK_TOOLS; i++)
    hf_schema_free(p.schemas[i]);
  hf_schema_run_free(p.run);
  hf_buf_deinit(&p.answer);
  hf_buf_deinit(&tools);
  return result;
}

static double percent(unsigned part, unsigned whole) {
  return whole ? 100.0 * part / whole : 0;
}

/* What a chain costs on the average because calls were wrong. */
static double cost(const struct result *r) {
  return ((double)r->tokens + (double)r->asked * CONTEXT) / r->chains;
}

static void print_result(enum help help, const struct result *r) {
  printf("#   %-24s %5.1f %% of chains end well, %5.1f %% of wrong calls mended; a chain: %4.2f more answers, %4.0f "
         "tokens, %5.0f with the context\n",
         help_names[help], percent(r->ended_well, r->chains), percent(r->mended, r->wrong),
         (double)r->asked / r->chains, (double)r->tokens / r->chains, cost(r));
}

/* The more is told, the more chains end well, and nothing that is wrong is executed. */
static bool is_better(const struct result results[HELP_COUNT]) {
  bool better = true;
  for (int i = 0; i < HELP_COUNT; i++)
    better =
        better && results[i].executed_wrongly == 0 && (i == 0 || results[i].ended_well > results[i - 1].ended_well);
  return better && cost(&results[HELP_FEEDBACK]) < cost(&results[HELP_SERVER]) &&
         cost(&results[HELP_REPAIR]) < cost(&results[HELP_FEEDBACK]);
}

int main(void) {
  static const unsigned mistakes[] = {5, 10, 20};
  enum { RATES = sizeof mistakes / sizeof *mistakes };
  bool better[RATES];
  printf(
      "# %d chains of %d calls, at most %d tries each; %d %% of mistakes are mended that are explained, %d %% of the "
      "others\n",
      CHAINS, STEPS, TRIES, FOLLOW, LUCK);
  for (int m = 0; m < RATES; m++) {
    struct result results[HELP_COUNT];
    printf("#\n# %u %% of calls are wrong\n", mistakes[m]);
    for (int help = 0; help < HELP_COUNT; help++) {
      results[help] = measure((enum help)help, mistakes[m]);
      print_result((enum help)help, &results[help]);
    }
    better[m] = is_better(results);
  }
  printf("1..%d\n", RATES);
  bool all = true;
  for (int m = 0; m < RATES; m++) {
    printf("%s %d - what is told is worth it: %u %% of calls are wrong\n", better[m] ? "ok" : "not ok", m + 1,
           mistakes[m]);
    all = all && better[m];
  }
  return all ? EXIT_SUCCESS : EXIT_FAILURE;
}
