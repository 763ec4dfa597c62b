#include "work.h"

#include <stdlib.h>

static struct sim_world *world_of(const struct sim_server *s) {
  return s->sim->world;
}

struct sim_plan sim_attempt_plan(struct sim_server *s) {
  struct sim_world *w = world_of(s);
  static const unsigned fault_percent[SIM_MOOD_COUNT] = {3, 30, 95};
  sim_server_change_mood(s);
  struct sim_plan plan = {.fault = SIM_OK, .delay = sim_world_between(w, 0, HF_MS(300)), .retry_after = -1};
  if (sim_world_chance(w, fault_percent[s->mood]))
    plan.fault = (enum sim_fault)hf_random_below(&w->random, SIM_FAULT_COUNT);
  if (sim_world_chance(w, 2))
    plan.delay = sim_world_between(w, HF_SECONDS(1), HF_SECONDS(80));
  if (plan.fault == SIM_STATUS_503_HINT || (plan.fault == SIM_STATUS_429 && sim_world_chance(w, 70)))
    plan.retry_after = sim_world_between(w, 0, HF_SECONDS(sim_world_chance(w, 20) ? 100 : 5));
  if (plan.fault == SIM_QUESTION && !s->asks && sim_world_chance(w, 80))
    plan.fault = SIM_SLOW_ANSWER;
  return plan;
}

/* A request that nobody waits for any more, and that runs all the same, some time later. */
struct sim_ghost {
  struct hf_list link;
  struct sim_timer timer;
  struct sim_gateway *sim;
  struct sim_run run;
  long number; /* of the ask, or -1 */
};

static void ghost_free(struct sim_ghost *ghost) {
  ghost->sim->deeds.deed[ghost->run.deed].under_way--;
  sim_timer_stop(ghost->sim->world, &ghost->timer);
  hf_list_remove(&ghost->link);
  free(ghost);
}

static void fire_ghost(struct sim_timer *timer) {
  struct sim_ghost *ghost = HF_CONTAINER_OF(timer, struct sim_ghost, timer);
  if (ghost->sim->trace)
    fprintf(ghost->sim->trace, "%.6f site %u executes %u, late\n", (double)ghost->sim->world->now / 1e6,
            ghost->run.site, ghost->run.deed);
  if (ghost->number >= 0)
    ghost->sim->asks[ghost->number].ran++;
  sim_deed_run(ghost->sim, &ghost->run);
  ghost_free(ghost);
}

void sim_ghosts_free(struct sim_gateway *sim) {
  while (!hf_list_empty(&sim->ghosts))
    ghost_free(HF_CONTAINER_OF(sim->ghosts.next, struct sim_ghost, link));
}

/* How long after its caller's going a request may still begin. */
static hf_time settles_within(const struct hf_attempt_ref *ref) {
  const struct sim_chain *chain = &ref->server->sim->options.chain;
  const struct hf_reconcile_settings *reconcile = &chain->tools[ref->run.site][ref->run.tool].reconcile;
  bool promised = reconcile->tool.server.ptr && reconcile->settle != HF_TIME_NEVER;
  return promised ? reconcile->settle : HF_SECONDS(100);
}

static bool can_run(const struct hf_attempt_ref *ref) {
  return ref->arrived && !ref->executed && ref->run.tool < SIM_TOOLS_ASKED;
}

static void maybe_haunt(struct hf_attempt_ref *ref) {
  struct sim_gateway *sim = ref->server->sim;
  if (!sim->options.chain.on || !can_run(ref) || !sim_world_chance(sim->world, 40))
    return;
  hf_time now = sim->world->now;
  hf_time until = (ref->left_at == HF_TIME_NEVER ? now : ref->left_at) + settles_within(ref);
  if (until <= now)
    return;
  struct sim_ghost *ghost = calloc(1, sizeof *ghost);
  if (!ghost)
    abort();
  ref->executed = true;
  ghost->sim = sim;
  ghost->run = ref->run;
  ghost->number = ref->number;
  sim->deeds.deed[ref->run.deed].under_way++;
  hf_list_push_back(&sim->ghosts, &ghost->link);
  sim_timer_set(sim->world, &ghost->timer, sim_world_between(sim->world, now, until - 1), fire_ghost);
}

/* What did not arrive uses up no attempt: it is sent again as long as there is time. */
void sim_attempt_release(struct hf_attempt_ref *ref) {
  struct sim_gateway *sim = ref->server->sim;
  bool counted = ref->deed >= 0 && ref->number >= 0 && ref->run.tool != SIM_TOOL_STATUS;
  if (ref->arrived)
    sim->deeds.deed[ref->run.deed].under_way--;
  else if (counted && sim->options.attempts > 1)
    sim->asks[ref->number].attempts -= ref->goes_on ? 0 : 1;
  sim_timer_stop(world_of(ref->server), &ref->timer);
  hf_list_remove(&ref->link);
  free(ref);
}

void sim_attempt_leave(struct hf_attempt_ref *ref) {
  ref->muted = true;
  ref->left_at = world_of(ref->server)->now;
  if (ref->timer.node.place != 0)
    return;
  if (ref->plan.fault == SIM_DROP_REQUEST)
    maybe_haunt(ref);
  sim_attempt_release(ref);
}

static void execute(struct hf_attempt_ref *ref) {
  struct sim_gateway *sim = ref->server->sim;
  if (!can_run(ref))
    return;
  bool late = ref->left_at != HF_TIME_NEVER && sim->world->now >= ref->left_at + settles_within(ref);
  if (sim->options.chain.on && late)
    return;
  ref->executed = true;
  if (ref->number >= 0)
    sim->asks[ref->number].ran++;
  if (sim->trace)
    fprintf(sim->trace, "%.6f server %u executes %ld\n", (double)sim->world->now / 1e6, ref->server->number, ref->deed);
  sim_deed_run(sim, &ref->run);
}

static void done_with(struct hf_attempt_ref *ref, struct hf_evidence evidence, const char *text) {
  struct sim_server *s = ref->server;
  const struct hf_attempt_events *events = ref->events;
  void *ctx = ref->ctx;
  bool muted = ref->muted;
  if (s->sim->trace)
    fprintf(s->sim->trace, "%.6f server %u request %lu of %ld ends: evidence %d%s\n", (double)s->sim->world->now / 1e6,
            s->number, (unsigned long)ref->id, ref->deed, evidence.kind, muted ? " (unheard)" : "");
  if (evidence.kind == HF_EVIDENCE_BROKE && !evidence.child_dead)
    maybe_haunt(ref);
  sim_attempt_release(ref);
  if (muted)
    return;
  struct hf_message message = {0};
  struct hf_refusal refusal;
  if (text && hf_message_decode_copy(hf_str_from(text), &message, &refusal) < 0) {
    evidence = HF_EVIDENCE(HF_EVIDENCE_BAD_REPLY);
    message = (struct hf_message){0};
  }
  events->done(ctx, &evidence, message.blob ? &message : NULL);
  hf_message_deinit(&message);
}

static void fail(struct hf_attempt_ref *ref, struct hf_evidence evidence) {
  evidence.carried_session = true;
  evidence.retry_after = ref->plan.retry_after;
  char text[SIM_TEXT_MAX];
  bool body = (evidence.http_status || evidence.jsonrpc_code) && sim_world_chance(world_of(ref->server), 60);
  if (evidence.kind == HF_EVIDENCE_JSONRPC_ERROR)
    body = true;
  if (body && !evidence.jsonrpc_code)
    evidence.jsonrpc_code = -32000;
  if (body)
    snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"error\":{\"code\":%d,\"message\":\"n=%ld\"}}",
             (unsigned long long)ref->id, evidence.jsonrpc_code, ref->deed);
  done_with(ref, evidence, body ? text : NULL);
}

static void status(struct hf_attempt_ref *ref, int http_status) {
  struct hf_evidence evidence = HF_EVIDENCE(HF_EVIDENCE_HTTP_STATUS);
  evidence.http_status = http_status;
  fail(ref, evidence);
}

static void rpc_error(struct hf_attempt_ref *ref, int code) {
  struct hf_evidence evidence = HF_EVIDENCE(HF_EVIDENCE_JSONRPC_ERROR);
  evidence.jsonrpc_code = code;
  fail(ref, evidence);
}

#define DEMANDED "\"execution\":{\"taskSupport\":\"required\"},"
#define LISTED_TOOLS(TASK, SCHEMA)                                                                                     \
  "\"tools\":[{\"name\":\"ro\",\"annotations\":{\"readOnlyHint\":true}," SCHEMA "},"                                   \
  "{\"name\":\"idem\",\"annotations\":{\"idempotentHint\":true}," TASK SCHEMA "},"                                     \
  "{\"name\":\"unsafe\"," TASK SCHEMA "},{\"name\":\"keyed\"," SCHEMA "},"                                             \
  "{\"name\":\"status\",\"annotations\":{\"readOnlyHint\":true},\"inputSchema\":{\"type\":\"object\"}}]"

static const char even_tools[] = LISTED_TOOLS("", "\"inputSchema\":{\"type\":\"object\",\"required\":[\"n\"]}");
static const char odd_tools[] = LISTED_TOOLS(DEMANDED, "\"inputSchema\":{\"type\":\"object\",\"required\":[\"num\"]}");

static const char *list_result(const struct sim_server *s, enum hf_method method) {
  if (method == HF_METHOD_TOOLS_LIST)
    return strcmp(sim_argument_name(&s->sim->options.chain, s->number), "n") == 0 ? even_tools : odd_tools;
  if (method == HF_METHOD_PROMPTS_LIST)
    return "\"prompts\":[{\"name\":\"greet\"}]";
  if (method == HF_METHOD_RESOURCES_LIST)
    return "\"resources\":[{\"uri\":\"r:0\",\"name\":\"a\"},{\"uri\":\"r:1\",\"name\":\"b\"}]";
  return "\"odd\":1";
}

/* What has been done at this site; sometimes nobody can say. */
static void write_status(struct hf_attempt_ref *ref, char *text, size_t size) {
  struct sim_gateway *sim = ref->server->sim;
  bool ran = sim->deeds.deed[ref->run.deed].ran_at >> ref->run.site & 1;
  const char *says = sim_world_chance(sim->world, 10) ? "null" : ran ? "true" : "false";
  snprintf(text, size, "{\"content\":[],\"structuredContent\":{\"ran\":%s}}", says);
}

static void fire_request(struct sim_timer *timer);
static void ask_person(struct hf_attempt_ref *ref);

static void answer_about_work(struct hf_attempt_ref *ref) {
  char text[SIM_TEXT_MAX], content[SIM_TEXT_MAX / 2];
  int code;
  if (sim_work_answer(ref, content, &code)) {
    snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":%s}", (unsigned long long)ref->id,
             content);
    done_with(ref, HF_EVIDENCE(HF_EVIDENCE_NONE), text);
  } else if (code) {
    rpc_error(ref, code);
  } else if (ref->muted) {
    sim_attempt_release(ref);
  } else if (ref->is_to_ask) {
    ask_person(ref);
  } else {
    sim_attempt_next(ref, HF_SECONDS(1));
  }
}

static bool is_about_work(const struct hf_attempt_ref *ref) {
  return ref->method == HF_METHOD_TASKS_GET || ref->method == HF_METHOD_TASKS_RESULT ||
         ref->method == HF_METHOD_TASKS_UPDATE || ref->method == HF_METHOD_TASKS_CANCEL;
}

static void make_work(struct hf_attempt_ref *ref) {
  char text[SIM_TEXT_MAX], content[SIM_TEXT_MAX / 2];
  sim_work_make(ref, content);
  snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":%s}", (unsigned long long)ref->id, content);
  done_with(ref, HF_EVIDENCE(HF_EVIDENCE_NONE), text);
}

static void succeed(struct hf_attempt_ref *ref) {
  if (is_about_work(ref)) {
    answer_about_work(ref);
    return;
  }
  if (sim_work_is_taken(ref) && (sim_work_is_demanded(ref) || sim_world_chance(world_of(ref->server), 30))) {
    make_work(ref);
    return;
  }
  char text[SIM_TEXT_MAX], content[SIM_TEXT_MAX / 2];
  struct sim_gateway *sim = ref->server->sim;
  execute(ref);
  if (ref->run.tool == SIM_TOOL_STATUS && ref->deed >= 0) {
    write_status(ref, content, sizeof content);
  } else if (ref->method == HF_METHOD_TOOLS_CALL) {
    snprintf(content, sizeof content, "{\"content\":[{\"type\":\"text\",\"text\":\"n=%ld at=%lld w=%ld\"}]}", ref->deed,
             (long long)sim->world->now, ref->who);
  } else if (ref->method == HF_METHOD_PROMPTS_GET) {
    snprintf(content, sizeof content, "{\"messages\":[],\"description\":\"n=%ld\"}", ref->deed);
  } else {
    snprintf(content, sizeof content, "{%s%s}", ref->server->modern ? "\"ttlMs\":0," : "",
             list_result(ref->server, ref->method));
  }
  snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":%s}", (unsigned long long)ref->id, content);
  done_with(ref, HF_EVIDENCE(HF_EVIDENCE_NONE), text);
}

static void answer_error(struct hf_attempt_ref *ref, const char *words) {
  char text[SIM_TEXT_MAX];
  execute(ref);
  snprintf(text, sizeof text,
           "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"n=%ld %s\"}],"
           "\"isError\":true}}",
           (unsigned long long)ref->id, ref->deed, words);
  done_with(ref, HF_EVIDENCE(HF_EVIDENCE_NONE), text);
}

/* Returns false if the request is gone, for nobody can know what the gateway does with a message. */
static bool say(struct hf_attempt_ref *ref, const char *text) {
  struct hf_message message;
  struct hf_refusal refusal;
  uint64_t id = ref->id;
  struct sim_server *s = ref->server;
  if (ref->muted)
    return true;
  if (hf_message_decode_copy(hf_str_from(text), &message, &refusal) < 0) {
    ref->events->life(ref->ctx); /* something came, though there is no memory to read it */
  } else {
    ref->events->message(ref->ctx, &message);
    hf_message_deinit(&message);
  }
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &s->requests) {
    if (HF_CONTAINER_OF(it, struct hf_attempt_ref, link)->id == id)
      return true;
  }
  return false;
}

static bool say_progress(struct hf_attempt_ref *ref) {
  char text[SIM_TEXT_MAX];
  snprintf(text, sizeof text,
           "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%llu,\"progress\":"
           "%d,\"message\":\"n=%ld\"}}",
           (unsigned long long)ref->id, (int)sim_world_between(world_of(ref->server), 0, 9), ref->deed);
  return say(ref, text);
}

void sim_attempt_next(struct hf_attempt_ref *ref, hf_time after) {
  struct sim_world *w = world_of(ref->server);
  sim_timer_set(w, &ref->timer, w->now + after, fire_request);
}

/* Nothing more will come of it. */
static void hang(struct hf_attempt_ref *ref) {
  if (ref->muted)
    sim_attempt_release(ref);
}

static void ask_person(struct hf_attempt_ref *ref) {
  struct sim_server *s = ref->server;
  if (ref->stage > 3 && !ref->is_to_ask) {
    succeed(ref);
    return;
  }
  if (ref->muted) {
    sim_attempt_release(ref);
    return;
  }
  ref->token = ++s->sim->next_token;
  char text[SIM_TEXT_MAX];
  snprintf(text, sizeof text,
           "{\"jsonrpc\":\"2.0\",\"id\":\"q%u\",\"method\":\"elicitation/create\",\"params\":{\"message\":\"t=%u\","
           "\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}}",
           ref->token, ref->token);
  say(ref, text); /* the answer moves it on; if none ever comes, it waits as long as the gateway lets it */
}

static void slow_answer(struct hf_attempt_ref *ref) {
  execute(ref);
  if (!ref->muted && ref->events->part && ref->stage > 4)
    ref->events->part(ref->ctx);
  if (ref->stage >= 7)
    succeed(ref);
  else if (say_progress(ref))
    sim_attempt_next(ref, sim_world_between(world_of(ref->server), 0, HF_SECONDS(20)));
}

static void settle_failure(struct hf_attempt_ref *ref);

static void settle(struct hf_attempt_ref *ref) {
  struct sim_world *w = world_of(ref->server);
  if (ref->method == HF_METHOD_TOOLS_CALL && ref->run.tool == SIM_TOOL_COUNT)
    return rpc_error(ref, -32601);
  if (ref->method == HF_METHOD_TOOLS_CALL && sim_work_is_demanded(ref) && !ref->takes_task)
    return rpc_error(ref, -32601);
  switch (ref->plan.fault) {
  case SIM_OK:
    return succeed(ref);
  case SIM_DROP_REQUEST:
    return hang(ref);
  case SIM_EXECUTE_HANG:
    execute(ref);
    return hang(ref);
  case SIM_PROGRESS_HANG:
    execute(ref);
    if (say_progress(ref))
      hang(ref);
    return;
  case SIM_QUESTION:
    return ask_person(ref);
  case SIM_SLOW_ANSWER:
    return slow_answer(ref);
  case SIM_DEATH:
    if (ref->server->freed)
      return sim_attempt_release(ref);
    if (sim_world_chance(w, 10))
      return sim_server_come_down(ref->server, HF_UPSTREAM_PARKED, HF_EVIDENCE_NOT_STARTED);
    return sim_server_come_down(ref->server, HF_UPSTREAM_DOWN, HF_EVIDENCE_NOT_STARTED);
  case SIM_REFUSE:
  case SIM_CONNECT_HANG:
  case SIM_BREAK_EARLY:
  case SIM_RESET_UNEXECUTED:
  case SIM_EXECUTE_RESET:
  case SIM_STATUS_429:
  case SIM_STATUS_503_HINT:
  case SIM_STATUS_503:
  case SIM_STATUS_401:
  case SIM_STATUS_500:
  case SIM_GARBAGE:
  case SIM_TOOL_ERROR:
  case SIM_INVALID_PARAMS:
  case SIM_SESSION_LOST:
  case SIM_INPUT_REQUIRED:
  case SIM_STATUS_409:
  case SIM_RPC_ERROR:
  case SIM_TOOL_TRANSIENT:
  case SIM_FAULT_COUNT:
    return settle_failure(ref);
  }
}

static void input_required(struct hf_attempt_ref *ref) {
  char text[SIM_TEXT_MAX];
  if (ref->number >= 0)
    ref->server->sim->asks[ref->number].asked = true;
  snprintf(text, sizeof text,
           "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"resultType\":\"input_required\",\"inputRequests\":{},"
           "\"requestState\":\"n=%ld\"}}",
           (unsigned long long)ref->id, ref->deed);
  done_with(ref, HF_EVIDENCE(HF_EVIDENCE_NONE), text);
}

/* What the server says and does when it fails, once the request is written. */
static const struct {
  enum sim_fault fault;
  unsigned executed_percent;
  int http_status;
  int rpc_code;
  enum hf_evidence_kind evidence;
} failures[] = {
    {SIM_RESET_UNEXECUTED, 0, 0, 0, HF_EVIDENCE_BROKE},   {SIM_EXECUTE_RESET, 100, 0, 0, HF_EVIDENCE_BROKE},
    {SIM_GARBAGE, 100, 0, 0, HF_EVIDENCE_BAD_REPLY},      {SIM_STATUS_429, 0, 429, 0, HF_EVIDENCE_NONE},
    {SIM_STATUS_503_HINT, 0, 503, 0, HF_EVIDENCE_NONE},   {SIM_STATUS_503, 50, 503, 0, HF_EVIDENCE_NONE},
    {SIM_STATUS_401, 0, 401, 0, HF_EVIDENCE_NONE},        {SIM_STATUS_500, 100, 500, 0, HF_EVIDENCE_NONE},
    {SIM_STATUS_409, 50, 409, 0, HF_EVIDENCE_NONE},       {SIM_SESSION_LOST, 0, 404, 0, HF_EVIDENCE_NONE},
    {SIM_INVALID_PARAMS, 0, 0, -32602, HF_EVIDENCE_NONE}, {SIM_RPC_ERROR, 100, 0, -32603, HF_EVIDENCE_NONE},
};

/* A server that had begun may still say that it did not. */
static void settle_failure(struct hf_attempt_ref *ref) {
  if (is_about_work(ref) && (ref->plan.fault == SIM_INPUT_REQUIRED || ref->plan.fault == SIM_TOOL_ERROR ||
                             ref->plan.fault == SIM_TOOL_TRANSIENT))
    return rpc_error(ref, -32603); /* those are about calls */
  if (ref->plan.fault == SIM_INPUT_REQUIRED)
    return input_required(ref); /* what asks has not begun: the request that brings the state goes on with it */
  if (sim_world_chance(world_of(ref->server), 10)) {
    execute(ref);
    if (!say_progress(ref))
      return;
  }
  if (ref->plan.fault == SIM_TOOL_ERROR)
    return answer_error(ref, "failed");
  if (ref->plan.fault == SIM_TOOL_TRANSIENT)
    return answer_error(ref, "try again");
  for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++) {
    if (failures[i].fault != ref->plan.fault)
      continue;
    if (sim_world_chance(world_of(ref->server), failures[i].executed_percent))
      execute(ref);
    if (failures[i].http_status)
      return status(ref, failures[i].http_status);
    if (failures[i].rpc_code)
      return rpc_error(ref, failures[i].rpc_code);
    return fail(ref, HF_EVIDENCE(failures[i].evidence));
  }
}

/* Returns false if the request is gone. */
static bool sent(struct hf_attempt_ref *ref, size_t bytes, bool complete) {
  struct sim_server *s = ref->server;
  uint64_t id = ref->id;
  if (ref->muted)
    return true;
  ref->events->sent(ref->ctx, bytes, complete);
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &s->requests) {
    if (HF_CONTAINER_OF(it, struct hf_attempt_ref, link)->id == id)
      return true;
  }
  return false;
}

static void connected(struct hf_attempt_ref *ref) {
  struct sim_world *w = world_of(ref->server);
  if (ref->new_session && !ref->muted) {
    ref->new_session = false;
    ref->stage--;
    sim_server_tell(ref->server, HF_EVIDENCE_NONE); /* a new session of a READY upstream */
    if (!ref->server->freed)
      sim_attempt_next(ref, HF_MS(1));
    return;
  }
  if (ref->plan.fault == SIM_REFUSE)
    return fail(ref, HF_EVIDENCE(HF_EVIDENCE_CONNECT_REFUSED));
  if (ref->plan.fault == SIM_CONNECT_HANG)
    return hang(ref);
  if (sent(ref, 0, false))
    sim_attempt_next(ref, sim_world_between(w, 0, HF_MS(1)));
}

/* Returns false if it is refused: its key belongs to something else. */
static bool arrive(struct hf_attempt_ref *ref) {
  struct sim_gateway *sim = ref->server->sim;
  if (ref->deed < 0 || ref->run.tool == SIM_TOOL_COUNT)
    return true;
  bool other;
  ref->arrived = true;
  sim->deeds.deed[ref->run.deed].under_way++;
  ref->run.key = sim_deed_arrive(sim, &ref->run, ref->key, &other);
  if (!other)
    return true;
  if (sent(ref, ref->len, true))
    rpc_error(ref, -32602);
  return false;
}

static void fire_request(struct sim_timer *timer) {
  struct hf_attempt_ref *ref = HF_CONTAINER_OF(timer, struct hf_attempt_ref, timer);
  switch (ref->stage++) {
  case 0:
    return connected(ref);
  case 1:
    if (ref->plan.fault == SIM_BREAK_EARLY)
      return fail(ref, HF_EVIDENCE(HF_EVIDENCE_BROKE));
    if (ref->muted)
      return sim_attempt_release(ref); /* given up half way: the server never sees a whole request */
    if (arrive(ref) && sent(ref, ref->len, true))
      sim_attempt_next(ref, ref->plan.delay);
    return;
  default:
    settle(ref);
  }
}

void sim_attempt_break_off(struct hf_attempt_ref *ref) {
  struct hf_evidence broke = HF_EVIDENCE(HF_EVIDENCE_BROKE);
  broke.child_dead = ref->server->killing;
  if (ref->stage >= 2 && sim_world_chance(world_of(ref->server), 50))
    execute(ref);
  done_with(ref, broke, NULL);
}
