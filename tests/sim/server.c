#include "gateway.h"

#include <stdlib.h>
#include <string.h>

/* Fakes allocate by the C library, so that an injected failure hits the gateway alone. */

const char *const sim_tool_names[] = {"ro", "idem", "unsafe"};

/* One request under way, or given up by the gateway and still on the server's mind. */
struct hf_attempt_ref {
  struct hf_list link; /* of its server */
  struct sim_timer timer;
  struct sim_server *server;
  const struct hf_attempt_events *events;
  void *ctx;
  uint64_t id;
  enum hf_method method;
  long number; /* the ask's, or -1 */
  size_t len;
  struct sim_plan plan;
  unsigned stage;
  unsigned token; /* of the question it has open */
  bool new_session;
  bool executed;
  bool muted; /* given up */
};

struct sim_server {
  struct hf_upstream head;
  struct sim_gateway *sim;
  struct sim_server *next;
  const struct hf_upstream_events *events;
  void *owner;
  struct sim_timer timer; /* of a start, then of what happens by itself */
  struct hf_list requests;
  enum hf_upstream_phase phase;
  enum sim_mood mood;
  hf_time mood_until;
  hf_time retry_at;
  hf_time full_until; /* it takes no more requests */
  unsigned starts;
  unsigned number;
  bool modern;
  bool asks; /* its client can be asked */
  bool freed;
};

static struct sim_world *world_of(const struct sim_server *s) {
  return s->sim->world;
}

static void come_down(struct sim_server *s, enum hf_upstream_phase phase, enum hf_evidence_kind why);
static void fire_life(struct sim_timer *timer);
static void fire_start(struct sim_timer *timer);

static void live_on(struct sim_server *s) {
  struct sim_world *w = world_of(s);
  sim_timer_set(w, &s->timer, w->now + sim_world_between(w, HF_SECONDS(1), HF_SECONDS(200)), fire_life);
}

static void change_mood(struct sim_server *s) {
  static const unsigned weights[SIM_MOOD_COUNT] = {60, 30, 10};
  struct sim_world *w = world_of(s);
  if (w->now < s->mood_until)
    return;
  uint64_t draw = hf_random_below(&w->random, 100);
  s->mood = SIM_HEALTHY;
  while (draw >= weights[s->mood])
    draw -= weights[s->mood++];
  s->mood_until = w->now + sim_world_between(w, HF_SECONDS(1), HF_SECONDS(300));
}

static struct sim_plan draw_plan(struct sim_server *s) {
  struct sim_world *w = world_of(s);
  static const unsigned fault_percent[SIM_MOOD_COUNT] = {3, 30, 95};
  change_mood(s);
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

static void tell(struct sim_server *s, enum hf_evidence_kind why) {
  struct hf_upstream_status status = {
      .phase = s->phase,
      .era = s->modern ? HF_ERA_MODERN : HF_ERA_LEGACY,
      .version = s->modern ? HF_STR("2026-07-28") : HF_STR("2025-06-18"),
      .hello = s->phase == HF_UPSTREAM_READY ? &s->sim->hello[s->modern] : NULL,
      .evidence = HF_EVIDENCE(why),
      .reason = why == HF_EVIDENCE_NONE ? (struct hf_str){NULL, 0} : HF_STR("exit code 1"),
      .retry_at = s->retry_at,
      .starts = s->starts,
  };
  s->events->changed(s->owner, &status);
}

static void release(struct hf_attempt_ref *ref) {
  sim_timer_stop(world_of(ref->server), &ref->timer);
  hf_list_remove(&ref->link);
  free(ref);
}

static void execute(struct hf_attempt_ref *ref) {
  struct sim_gateway *sim = ref->server->sim;
  if (ref->executed || ref->number < 0 || ref->method != HF_METHOD_TOOLS_CALL)
    return;
  ref->executed = true;
  if (sim->world->executions[ref->number] < UINT8_MAX)
    sim->world->executions[ref->number]++;
  if (sim->trace)
    fprintf(sim->trace, "%.6f server %u executes %ld\n", (double)sim->world->now / 1e6, ref->server->number,
            ref->number);
}

static void done_with(struct hf_attempt_ref *ref, struct hf_evidence evidence, const char *text) {
  struct sim_server *s = ref->server;
  const struct hf_attempt_events *events = ref->events;
  void *ctx = ref->ctx;
  bool muted = ref->muted;
  if (s->sim->trace)
    fprintf(s->sim->trace, "%.6f server %u request %lu of %ld ends: evidence %d%s\n", (double)s->sim->world->now / 1e6,
            s->number, (unsigned long)ref->id, ref->number, evidence.kind, muted ? " (unheard)" : "");
  release(ref);
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
             (unsigned long long)ref->id, evidence.jsonrpc_code, ref->number);
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

#define LISTED_TOOLS                                                                                                   \
  "\"tools\":[{\"name\":\"ro\",\"annotations\":{\"readOnlyHint\":true},\"inputSchema\":{\"type\":\"object\"}},"        \
  "{\"name\":\"idem\",\"annotations\":{\"idempotentHint\":true},\"inputSchema\":{\"type\":\"object\"}},"               \
  "{\"name\":\"unsafe\",\"inputSchema\":{\"type\":\"object\"}}]"

static const char *list_result(enum hf_method method) {
  if (method == HF_METHOD_TOOLS_LIST)
    return LISTED_TOOLS;
  if (method == HF_METHOD_PROMPTS_LIST)
    return "\"prompts\":[{\"name\":\"greet\"}]";
  if (method == HF_METHOD_RESOURCES_LIST)
    return "\"resources\":[{\"uri\":\"r:0\",\"name\":\"a\"},{\"uri\":\"r:1\",\"name\":\"b\"}]";
  return "\"odd\":1";
}

static void succeed(struct hf_attempt_ref *ref) {
  char text[SIM_TEXT_MAX], content[SIM_TEXT_MAX / 2];
  execute(ref);
  if (ref->method == HF_METHOD_TOOLS_CALL) {
    snprintf(content, sizeof content, "{\"content\":[{\"type\":\"text\",\"text\":\"n=%ld\"}]}", ref->number);
  } else if (ref->method == HF_METHOD_PROMPTS_GET) {
    snprintf(content, sizeof content, "{\"messages\":[],\"description\":\"n=%ld\"}", ref->number);
  } else {
    snprintf(content, sizeof content, "{%s%s}", ref->server->modern ? "\"ttlMs\":0," : "", list_result(ref->method));
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
           (unsigned long long)ref->id, ref->number, words);
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
           (unsigned long long)ref->id, (int)sim_world_between(world_of(ref->server), 0, 9), ref->number);
  return say(ref, text);
}

static void fire_request(struct sim_timer *timer);

static void next_stage(struct hf_attempt_ref *ref, hf_time after) {
  struct sim_world *w = world_of(ref->server);
  sim_timer_set(w, &ref->timer, w->now + after, fire_request);
}

/* Nothing more will come of it. */
static void hang(struct hf_attempt_ref *ref) {
  if (ref->muted)
    release(ref);
}

static void ask_person(struct hf_attempt_ref *ref) {
  struct sim_server *s = ref->server;
  if (ref->stage > 3) {
    succeed(ref);
    return;
  }
  if (ref->muted) {
    release(ref);
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

static void report_down(struct sim_server *s, bool first, enum hf_upstream_phase phase, enum hf_evidence_kind why) {
  if (first)
    tell(s, why);
  while (!hf_list_empty(&s->requests)) {
    struct hf_attempt_ref *ref = HF_CONTAINER_OF(s->requests.next, struct hf_attempt_ref, link);
    ref->plan.retry_after = -1;
    if (ref->stage >= 2 && sim_world_chance(world_of(s), 50))
      execute(ref);
    done_with(ref, HF_EVIDENCE(HF_EVIDENCE_BROKE), NULL);
    if (s->freed)
      return;
  }
  if (!first && s->phase == phase)
    tell(s, why);
}

/* The news of the end comes before that of the requests, or after it. */
static void come_down(struct sim_server *s, enum hf_upstream_phase phase, enum hf_evidence_kind why) {
  struct sim_world *w = world_of(s);
  s->phase = phase;
  s->retry_at = w->now + sim_world_between(w, 0, HF_SECONDS(2));
  if (phase == HF_UPSTREAM_PARKED)
    s->retry_at = HF_TIME_NEVER;
  live_on(s);
  report_down(s, sim_world_chance(w, 50), phase, why);
}

static void slow_answer(struct hf_attempt_ref *ref) {
  execute(ref);
  if (!ref->muted && ref->events->part && ref->stage > 4)
    ref->events->part(ref->ctx);
  if (ref->stage >= 7)
    succeed(ref);
  else if (say_progress(ref))
    next_stage(ref, sim_world_between(world_of(ref->server), 0, HF_SECONDS(20)));
}

static void settle_failure(struct hf_attempt_ref *ref);

static void settle(struct hf_attempt_ref *ref) {
  struct sim_world *w = world_of(ref->server);
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
      return release(ref);
    if (sim_world_chance(w, 10))
      return come_down(ref->server, HF_UPSTREAM_PARKED, HF_EVIDENCE_NOT_STARTED);
    return come_down(ref->server, HF_UPSTREAM_DOWN, HF_EVIDENCE_NOT_STARTED);
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
  snprintf(text, sizeof text,
           "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"resultType\":\"input_required\",\"inputRequests\":{},"
           "\"requestState\":\"n=%ld\"}}",
           (unsigned long long)ref->id, ref->number);
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
  if (sim_world_chance(world_of(ref->server), 10)) {
    execute(ref);
    if (!say_progress(ref))
      return;
  }
  if (ref->plan.fault == SIM_TOOL_ERROR)
    return answer_error(ref, "failed");
  if (ref->plan.fault == SIM_TOOL_TRANSIENT)
    return answer_error(ref, "try again");
  if (ref->plan.fault == SIM_INPUT_REQUIRED)
    return input_required(ref);
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
    tell(ref->server, HF_EVIDENCE_NONE); /* a new session of a READY upstream */
    if (!ref->server->freed)
      next_stage(ref, HF_MS(1));
    return;
  }
  if (ref->plan.fault == SIM_REFUSE)
    return fail(ref, HF_EVIDENCE(HF_EVIDENCE_CONNECT_REFUSED));
  if (ref->plan.fault == SIM_CONNECT_HANG)
    return hang(ref);
  if (sent(ref, 0, false))
    next_stage(ref, sim_world_between(w, 0, HF_MS(1)));
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
      return release(ref); /* given up half way: the server never sees a whole request */
    if (sent(ref, ref->len, true))
      next_stage(ref, ref->plan.delay);
    return;
  default:
    settle(ref);
  }
}

static void start(struct sim_server *s) {
  struct sim_world *w = world_of(s);
  if (s->phase == HF_UPSTREAM_PARKED)
    s->retry_at = 0;
  s->phase = HF_UPSTREAM_STARTING;
  s->starts++;
  sim_timer_set(w, &s->timer, hf_time_max(w->now, s->retry_at) + sim_world_between(w, HF_MS(1), HF_SECONDS(3)),
                fire_start);
}

static void fire_start(struct sim_timer *timer) {
  struct sim_server *s = HF_CONTAINER_OF(timer, struct sim_server, timer);
  struct sim_world *w = world_of(s);
  change_mood(s);
  if (!sim_world_chance(w, s->mood == SIM_OUTAGE ? 10 : 90)) {
    come_down(s, sim_world_chance(w, 10) ? HF_UPSTREAM_PARKED : HF_UPSTREAM_DOWN, HF_EVIDENCE_NOT_STARTED);
    return;
  }
  s->phase = HF_UPSTREAM_READY;
  s->retry_at = 0;
  live_on(s);
  tell(s, HF_EVIDENCE_NONE);
}

static void send_notice(struct sim_server *s, const char *text) {
  struct hf_message message;
  struct hf_refusal refusal;
  if (hf_message_decode_copy(hf_str_from(text), &message, &refusal) < 0)
    return;
  s->events->message(s->owner, &message);
  hf_message_deinit(&message);
}

static void ask_without_stream(struct sim_server *s) {
  char text[SIM_TEXT_MAX];
  unsigned token = ++s->sim->next_token;
  snprintf(text, sizeof text,
           "{\"jsonrpc\":\"2.0\",\"id\":\"q%u\",\"method\":\"elicitation/create\",\"params\":{\"message\":\"t=%u\"}}",
           token, token);
  send_notice(s, text);
}

/* What a server does though nobody asked. */
static void fire_life(struct sim_timer *timer) {
  struct sim_server *s = HF_CONTAINER_OF(timer, struct sim_server, timer);
  struct sim_world *w = world_of(s);
  live_on(s);
  if (s->phase == HF_UPSTREAM_PARKED || s->phase == HF_UPSTREAM_DOWN) {
    if (sim_world_chance(w, 30))
      start(s); /* its own supervisor */
    return;
  }
  if (s->phase != HF_UPSTREAM_READY)
    return;
  switch (sim_world_between(w, 0, 8)) {
  case 0:
    come_down(s, HF_UPSTREAM_DOWN, HF_EVIDENCE_NOT_STARTED);
    break;
  case 1:
    if (hf_list_empty(&s->requests)) {
      s->phase = HF_UPSTREAM_IDLE;
      tell(s, HF_EVIDENCE_NONE);
    }
    break;
  case 2:
    tell(s, HF_EVIDENCE_NONE); /* a new session */
    break;
  case 3:
    send_notice(s, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
    break;
  case 4:
    send_notice(s, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"error\",\"data\":"
                   "\"x\"}}");
    break;
  case 5:
  case 6:
    ask_without_stream(s);
    break;
  case 7:
    send_notice(s, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\",\"params\":{\"uri\":\"r:0\"}}");
    break;
  default:
    break;
  }
}

static void op_start(struct hf_upstream *head) {
  struct sim_server *s = (struct sim_server *)head;
  sim_check(s->sim->check, !s->freed, "a freed upstream was used", s->number);
  if (s->phase == HF_UPSTREAM_IDLE || s->phase == HF_UPSTREAM_DOWN)
    start(s);
}

static void op_revive(struct hf_upstream *head) {
  struct sim_server *s = (struct sim_server *)head;
  sim_check(s->sim->check, !s->freed, "a freed upstream was used", s->number);
  s->retry_at = 0;
  if (s->phase == HF_UPSTREAM_IDLE || s->phase == HF_UPSTREAM_DOWN || s->phase == HF_UPSTREAM_PARKED)
    start(s);
}

static void note_attempt(struct sim_server *s, struct hf_attempt_ref *ref, const char *text) {
  struct sim_gateway *sim = s->sim;
  ref->number = ref->method == HF_METHOD_TOOLS_CALL || ref->method == HF_METHOD_PROMPTS_GET
                    ? sim_number_after(text, "\"n\":")
                    : -1;
  if (ref->number < 0)
    return;
  struct sim_ask *ask = &sim->asks[ref->number];
  ask->attempts++;
  sim->attempts++;
  sim_check(sim->check, ask->open, "a request was sent of a call that is over", ask->number);
  sim_check(sim->check, ask->attempts <= ask->most, "more attempts than allowed", ask->number);
}

static int op_request(struct hf_upstream *head, struct hf_upstream_request *request, struct hf_attempt_ref **ret_ref) {
  struct sim_server *s = (struct sim_server *)head;
  struct sim_world *w = world_of(s);
  sim_check(s->sim->check, !s->freed, "a freed upstream was used", s->number);
  if (s->phase != HF_UPSTREAM_READY)
    return HF_ERR_UNAVAILABLE;
  if (sim_world_chance(w, 1) && sim_world_chance(w, 2))
    s->full_until = w->now + sim_world_between(w, 0, HF_SECONDS(10));
  if (w->now < s->full_until)
    return HF_ERR_LIMIT;
  struct hf_attempt_ref *ref = calloc(1, sizeof *ref);
  if (!ref)
    abort();
  char text[SIM_TEXT_MAX];
  ref->len = sim_join(request->text, text);
  hf_pieces_deinit(request->text);
  ref->server = s;
  ref->events = request->events;
  ref->ctx = request->ctx;
  ref->id = request->id;
  ref->method = request->method;
  ref->new_session = request->new_session;
  note_attempt(s, ref, text);
  ref->plan = draw_plan(s);
  if (s->sim->trace)
    fprintf(s->sim->trace, "%.6f server %u request %lu of %ld, fault %d: %s\n", (double)w->now / 1e6, s->number,
            (unsigned long)ref->id, ref->number, ref->plan.fault, text);
  hf_list_push_back(&s->requests, &ref->link);
  next_stage(ref, request->new_session ? HF_MS(20) : sim_world_between(w, 0, HF_MS(1)));
  *ret_ref = ref;
  return 0;
}

static void op_abort(struct hf_upstream *head, struct hf_attempt_ref *ref, struct hf_str reason) {
  struct sim_server *s = (struct sim_server *)head;
  (void)reason;
  sim_check(s->sim->check, ref->server == s && !ref->muted, "a request was given up twice", s->number);
  ref->muted = true;
  if (ref->timer.node.place == 0)
    release(ref);
}

/* The answer to a question reaches who asked it, with that question's own token. */
static void op_post(struct hf_upstream *head, struct hf_attempt_ref *about, struct hf_pieces *pieces) {
  struct sim_server *s = (struct sim_server *)head;
  char text[SIM_TEXT_MAX];
  (void)about;
  sim_check(s->sim->check, !s->freed, "a freed upstream was used", s->number);
  sim_join(pieces, text);
  hf_pieces_deinit(pieces);
  long id = sim_number_after(text, "\"id\":\"q");
  if (id < 0)
    return;
  long token = sim_number_after(text, "t=");
  sim_check(s->sim->check, token < 0 || token == id, "an answer to another question", (unsigned)id);
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &s->requests) {
    struct hf_attempt_ref *ref = HF_CONTAINER_OF(it, struct hf_attempt_ref, link);
    if (ref->token == (unsigned)id)
      next_stage(ref, HF_MS(5));
  }
}

static void fire_stop(struct sim_timer *timer) {
  struct sim_server *s = HF_CONTAINER_OF(timer, struct sim_server, timer);
  s->phase = HF_UPSTREAM_IDLE;
  report_down(s, sim_world_chance(world_of(s), 50), HF_UPSTREAM_IDLE, HF_EVIDENCE_NONE);
}

/* Now and then one does not go. */
static void op_stop(struct hf_upstream *head) {
  struct sim_server *s = (struct sim_server *)head;
  struct sim_world *w = world_of(s);
  sim_check(s->sim->check, !s->freed, "a freed upstream was used", s->number);
  if (sim_world_chance(w, 80))
    sim_timer_set(w, &s->timer, w->now + sim_world_between(w, 0, HF_SECONDS(10)), fire_stop);
}

/* What was sent may still be done, but nobody hears of it. */
static void op_free(struct hf_upstream *head) {
  struct sim_server *s = (struct sim_server *)head;
  sim_check(s->sim->check, !s->freed, "an upstream was freed twice", s->number);
  s->freed = true;
  s->phase = HF_UPSTREAM_IDLE;
  sim_timer_stop(world_of(s), &s->timer);
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &s->requests) {
    struct hf_attempt_ref *ref = HF_CONTAINER_OF(it, struct hf_attempt_ref, link);
    ref->muted = true;
    if (ref->timer.node.place == 0)
      release(ref);
  }
}

static const struct hf_upstream_ops server_ops = {op_start, op_revive, op_request, op_abort, op_post, op_stop, op_free};

int sim_server_open(void *ctx, const struct hf_server_settings *settings, struct hf_str capabilities,
                    const struct hf_upstream_events *events, void *owner, struct hf_upstream **ret_upstream) {
  struct sim_gateway *sim = ctx;
  struct sim_server *s = calloc(1, sizeof *s);
  if (!s)
    abort();
  s->head.ops = &server_ops;
  s->sim = sim;
  s->next = sim->servers;
  sim->servers = s;
  s->events = events;
  s->owner = owner;
  s->number = (unsigned)(settings->name.ptr[1] - '0');
  s->modern = settings->era == HF_ERA_MODERN;
  s->asks = capabilities.len > 2;
  hf_list_init(&s->requests);
  *ret_upstream = &s->head;
  return 0;
}

void sim_servers_free(struct sim_gateway *sim) {
  while (sim->servers) {
    struct sim_server *s = sim->servers;
    sim_check(sim->check, s->freed, "an upstream was left", s->number);
    while (!hf_list_empty(&s->requests))
      release(HF_CONTAINER_OF(s->requests.next, struct hf_attempt_ref, link));
    sim->servers = s->next;
    free(s);
  }
}
