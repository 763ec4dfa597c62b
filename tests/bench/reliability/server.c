#include "world.h"

#include <stdlib.h>
#include <string.h>

enum fault {
  FAULT_NONE,
  FAULT_HANG,     /* the request is lost, and so the caller waits */
  FAULT_HANG_RAN, /* the answer is */
  FAULT_429,
  FAULT_503, /* without a word about when to come back */
  FAULT_503_HINT,
  FAULT_RESET,
  FAULT_RESET_RAN,
  FAULT_RESET_LATE, /* it runs afterwards, when nobody listens */
  FAULT_GARBAGE,
  FAULT_DEATH, /* of the child, with all that is under way */
  FAULT_DEATH_RAN,
};

static const enum fault http_faults[] = {FAULT_HANG,  FAULT_HANG_RAN,  FAULT_429,        FAULT_503,    FAULT_503_HINT,
                                         FAULT_RESET, FAULT_RESET_RAN, FAULT_RESET_LATE, FAULT_GARBAGE};
static const enum fault child_faults[] = {FAULT_HANG, FAULT_HANG_RAN, FAULT_GARBAGE, FAULT_DEATH, FAULT_DEATH_RAN};

struct hf_attempt_ref {
  struct hf_list link; /* of its server */
  struct hf_timer timer;
  struct server *server;
  const struct hf_attempt_events *events;
  void *ctx;
  uint64_t id;
  enum hf_method method;
  char text[TEXT_MAX];
  size_t len;
  long step; /* of the ledger, or -1 */
  enum fault fault;
  unsigned stage;
  bool given_up;
};

struct server {
  struct hf_upstream head;
  struct world *world;
  const struct hf_upstream_events *events;
  void *owner;
  struct hf_timer timer; /* of a start */
  struct hf_restart restart;
  struct hf_list requests;
  struct hf_map keys; /* that it remembers, each to its step + 1 */
  enum hf_upstream_phase phase;
  hf_time retry_at;
  unsigned starts;
  unsigned number;
  bool child;
  bool freed;
};

static void release(struct hf_attempt_ref *ref) {
  hf_timer_deinit(&ref->server->world->loop, &ref->timer);
  hf_list_remove(&ref->link);
  free(ref);
}

static bool gone(const struct server *s) {
  const struct world *w = s->world;
  return s->number == w->out && w->loop.now >= w->gone_at && w->loop.now < w->back_at;
}

static bool calls(const struct hf_attempt_ref *ref, const char *tool) {
  char name[64];
  snprintf(name, sizeof name, "\"name\":\"%s\"", tool);
  return strstr(ref->text, name) != NULL;
}

/* A key that it knows stands for what was done already. */
static bool is_done(struct hf_attempt_ref *ref) {
  static const char member[] = "\"client_token\":\"";
  const char *key = strstr(ref->text, member);
  if (!calls(ref, "put") || !key)
    return false;
  key += sizeof member - 1;
  struct hf_str text = {key, strcspn(key, "\"")};
  if (hf_map_get(&ref->server->keys, text))
    return true;
  if (hf_map_put(&ref->server->keys, text, (void *)(ref->step + 1)) < 0)
    abort();
  return false;
}

static void execute(struct hf_attempt_ref *ref) {
  struct world *w = ref->server->world;
  if (ref->step < 0 || calls(ref, "told") || is_done(ref))
    return;
  w->steps[ref->step].ran++;
  world_trace(w, "server %u executes %ld", ref->server->number, ref->step);
}

static void done_with(struct hf_attempt_ref *ref, struct hf_evidence evidence, const char *text) {
  const struct hf_attempt_events *events = ref->events;
  void *ctx = ref->ctx;
  bool heard = !ref->given_up;
  world_trace(ref->server->world, "server %u ends request %lu of %ld: fault %d%s", ref->server->number,
              (unsigned long)ref->id, ref->step, ref->fault, heard ? "" : ", unheard");
  release(ref);
  if (!heard)
    return;
  struct hf_message message = {0};
  struct hf_refusal refusal;
  if (text && hf_message_decode_copy(hf_str_from(text), &message, &refusal) < 0)
    abort();
  events->done(ctx, &evidence, message.blob ? &message : NULL);
  hf_message_deinit(&message);
}

static void fail(struct hf_attempt_ref *ref, enum hf_evidence_kind kind) {
  done_with(ref, HF_EVIDENCE(kind), NULL);
}

static void status(struct hf_attempt_ref *ref, int http_status, hf_time retry_after) {
  struct hf_evidence evidence = HF_EVIDENCE(HF_EVIDENCE_HTTP_STATUS);
  evidence.http_status = http_status;
  evidence.retry_after = retry_after;
  evidence.carried_session = true;
  done_with(ref, evidence, NULL);
}

static const char listed[] = "{\"tools\":[{\"name\":\"look\",\"inputSchema\":{\"type\":\"object\"}},"
                             "{\"name\":\"put\",\"inputSchema\":{\"type\":\"object\"}},"
                             "{\"name\":\"charge\",\"inputSchema\":{\"type\":\"object\"}},"
                             "{\"name\":\"told\",\"inputSchema\":{\"type\":\"object\"}}]}";

static void succeed(struct hf_attempt_ref *ref) {
  char text[TEXT_MAX], result[256] = "{}";
  execute(ref);
  if (ref->step >= 0 && calls(ref, "told")) {
    const char *happened = ref->server->world->steps[ref->step].ran > 0 ? "true" : "false";
    snprintf(result, sizeof result,
             "{\"content\":[{\"type\":\"text\",\"text\":\"%s\"}],\"structuredContent\":{\"happened\":%s}}", happened,
             happened);
  } else if (ref->method == HF_METHOD_TOOLS_CALL) {
    snprintf(result, sizeof result, "{\"content\":[{\"type\":\"text\",\"text\":\"n=%ld\"}]}", ref->step);
  }
  snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":%s}", (unsigned long long)ref->id,
           ref->method == HF_METHOD_TOOLS_LIST ? listed : result);
  done_with(ref, HF_EVIDENCE(HF_EVIDENCE_NONE), text);
}

static void tell(struct server *s, enum hf_evidence_kind why) {
  struct hf_upstream_status told = {
      .phase = s->phase,
      .era = HF_ERA_LEGACY,
      .version = HF_STR("2025-06-18"),
      .hello = s->phase == HF_UPSTREAM_READY ? &s->world->hello : NULL,
      .evidence = HF_EVIDENCE(why),
      .reason = why == HF_EVIDENCE_NONE ? (struct hf_str){NULL, 0} : HF_STR("exit code 1"),
      .retry_at = s->retry_at,
      .starts = s->starts,
  };
  world_trace(s->world, "server %u is in phase %d", s->number, s->phase);
  s->events->changed(s->owner, &told);
}

/* The child ends: the next start comes when a real one would. */
static void end(struct server *s) {
  struct world *w = s->world;
  hf_time pause = hf_restart_ended(&s->restart, w->loop.now, 0, hf_random_next(&w->random));
  s->phase = pause == HF_TIME_NEVER ? HF_UPSTREAM_PARKED : HF_UPSTREAM_DOWN;
  s->retry_at = hf_time_add(w->loop.now, pause);
  hf_timer_stop(&w->loop, &s->timer);
  tell(s, HF_EVIDENCE_NOT_STARTED);
}

/* What is under way breaks off; of what had arrived, half was done. */
static void break_off(struct server *s) {
  while (!hf_list_empty(&s->requests)) {
    struct hf_attempt_ref *ref = HF_CONTAINER_OF(s->requests.next, struct hf_attempt_ref, link);
    if (ref->stage >= 2 && ref->fault == FAULT_NONE && world_chance(s->world, 50))
      execute(ref);
    fail(ref, HF_EVIDENCE_BROKE);
  }
}

void server_vanish(struct server *s) {
  if (s->child && !s->world->scene->direct && (s->phase == HF_UPSTREAM_READY || s->phase == HF_UPSTREAM_STARTING))
    end(s);
  break_off(s);
}

static void die(struct hf_attempt_ref *ref) {
  struct server *s = ref->server;
  if (s->world->scene->direct) { /* its own child, of this agent alone */
    fail(ref, HF_EVIDENCE_BROKE);
    return;
  }
  end(s);
  break_off(s);
}

static void fire_start(struct hf_timer *timer) {
  struct server *s = HF_CONTAINER_OF(timer, struct server, timer);
  if (s->child && gone(s)) {
    end(s);
    return;
  }
  s->phase = HF_UPSTREAM_READY;
  hf_restart_ready(&s->restart, s->world->loop.now);
  tell(s, HF_EVIDENCE_NONE);
}

static void start(struct server *s) {
  struct world *w = s->world;
  s->phase = HF_UPSTREAM_STARTING;
  s->starts++;
  hf_timer_set(&w->loop, &s->timer, hf_time_max(w->loop.now, s->retry_at) + world_between(w, HF_MS(20), HF_MS(200)));
}

static void op_start(struct hf_upstream *head) {
  struct server *s = (struct server *)head;
  if (s->phase == HF_UPSTREAM_IDLE || s->phase == HF_UPSTREAM_DOWN)
    start(s);
}

static void op_revive(struct hf_upstream *head) {
  struct server *s = (struct server *)head;
  hf_restart_forget(&s->restart);
  s->retry_at = 0;
  if (s->phase == HF_UPSTREAM_IDLE || s->phase == HF_UPSTREAM_DOWN || s->phase == HF_UPSTREAM_PARKED)
    start(s);
}

static void fire_late(struct hf_timer *timer) {
  struct hf_attempt_ref *ref = HF_CONTAINER_OF(timer, struct hf_attempt_ref, timer);
  execute(ref);
  release(ref);
}

static void reset_and_run_late(struct hf_attempt_ref *ref) {
  struct world *w = ref->server->world;
  const struct hf_attempt_events *events = ref->events;
  void *ctx = ref->ctx;
  bool heard = !ref->given_up;
  ref->given_up = true;
  ref->timer.fire = fire_late;
  hf_timer_set(&w->loop, &ref->timer, w->loop.now + world_between(w, 0, w->scene->settle - HF_MS(1)));
  if (heard)
    events->done(ctx, &HF_EVIDENCE(HF_EVIDENCE_BROKE), NULL);
}

static void settle(struct hf_attempt_ref *ref) {
  switch (ref->fault) {
  case FAULT_NONE:
    return succeed(ref);
  case FAULT_HANG_RAN:
    execute(ref);
    return;
  case FAULT_HANG:
    return;
  case FAULT_429:
    return status(ref, 429, world_chance(ref->server->world, 50) ? HF_SECONDS(1) : -1);
  case FAULT_503:
    return status(ref, 503, -1);
  case FAULT_503_HINT:
    return status(ref, 503, HF_SECONDS(1));
  case FAULT_RESET:
    return fail(ref, HF_EVIDENCE_BROKE);
  case FAULT_RESET_RAN:
    execute(ref);
    return fail(ref, HF_EVIDENCE_BROKE);
  case FAULT_RESET_LATE:
    return reset_and_run_late(ref);
  case FAULT_GARBAGE:
    execute(ref);
    return fail(ref, HF_EVIDENCE_BAD_REPLY);
  case FAULT_DEATH:
    return die(ref);
  case FAULT_DEATH_RAN:
    execute(ref);
    return die(ref);
  }
}

static void fire_request(struct hf_timer *timer) {
  struct hf_attempt_ref *ref = HF_CONTAINER_OF(timer, struct hf_attempt_ref, timer);
  struct world *w = ref->server->world;
  switch (ref->stage++) {
  case 0:
    if (gone(ref->server)) {
      fail(ref, HF_EVIDENCE_CONNECT_REFUSED);
      return;
    }
    hf_timer_set(&w->loop, &ref->timer, w->loop.now + HF_MS(1));
    ref->events->sent(ref->ctx, 0, false);
    return;
  case 1:
    hf_timer_set(&w->loop, &ref->timer, w->loop.now + world_between(w, HF_MS(20), HF_MS(200)));
    ref->events->sent(ref->ctx, ref->len, true);
    return;
  default:
    settle(ref);
  }
}

static enum fault draw(struct server *s) {
  struct world *w = s->world;
  if (!world_chance(w, w->scene->fault_percent))
    return FAULT_NONE;
  if (s->child)
    return child_faults[hf_random_below(&w->random, sizeof child_faults / sizeof child_faults[0])];
  return http_faults[hf_random_below(&w->random, sizeof http_faults / sizeof http_faults[0])];
}

static int op_request(struct hf_upstream *head, struct hf_upstream_request *request, struct hf_attempt_ref **ret_ref) {
  struct server *s = (struct server *)head;
  struct world *w = s->world;
  if (s->phase != HF_UPSTREAM_READY)
    return HF_ERR_UNAVAILABLE;
  struct hf_attempt_ref *ref = calloc(1, sizeof *ref);
  if (!ref || hf_timer_init(&w->loop, &ref->timer, fire_request) < 0)
    abort();
  ref->len = join(request->text, ref->text);
  hf_pieces_deinit(request->text);
  ref->server = s;
  ref->events = request->events;
  ref->ctx = request->ctx;
  ref->id = request->id;
  ref->method = request->method;
  ref->step = request->method == HF_METHOD_TOOLS_CALL ? number_after(ref->text, "\"step\":") : -1;
  if (ref->step >= 0) {
    ref->fault = draw(s);
    if (calls(ref, "told"))
      w->totals->checks++;
    else
      w->totals->attempts++;
  }
  world_trace(w, "server %u gets request %lu, fault %d: %s", s->number, (unsigned long)ref->id, ref->fault, ref->text);
  hf_list_push_back(&s->requests, &ref->link);
  hf_timer_set(&w->loop, &ref->timer, w->loop.now + HF_MS(1));
  *ret_ref = ref;
  return 0;
}

/* What arrived goes on; what did not, never will. */
static void op_abort(struct hf_upstream *head, struct hf_attempt_ref *ref, struct hf_str reason) {
  (void)head, (void)reason;
  ref->given_up = true;
  if (ref->stage < 2 || ref->timer.node.place == 0)
    release(ref);
}

static void op_post(struct hf_upstream *head, struct hf_attempt_ref *about, struct hf_pieces *text) {
  (void)head, (void)about;
  hf_pieces_deinit(text);
}

static void op_stop(struct hf_upstream *head) {
  struct server *s = (struct server *)head;
  s->phase = HF_UPSTREAM_IDLE;
}

static void op_free(struct hf_upstream *head) {
  struct server *s = (struct server *)head;
  s->freed = true;
  s->phase = HF_UPSTREAM_IDLE;
  hf_timer_deinit(&s->world->loop, &s->timer);
  while (!hf_list_empty(&s->requests))
    release(HF_CONTAINER_OF(s->requests.next, struct hf_attempt_ref, link));
}

static const struct hf_upstream_ops ops = {op_start, op_revive, op_request, op_abort, op_post, op_stop, op_free};

int server_open(void *ctx, const struct hf_server_settings *settings, struct hf_str capabilities,
                const struct hf_upstream_events *events, void *owner, struct hf_upstream **ret_upstream) {
  static const struct hf_restart_options child = HF_RESTART_CHILD, remote = HF_RESTART_REMOTE;
  struct world *w = ctx;
  struct server *s = calloc(1, sizeof *s);
  (void)capabilities;
  if (!s || hf_timer_init(&w->loop, &s->timer, fire_start) < 0)
    abort();
  s->head.ops = &ops;
  s->world = w;
  s->events = events;
  s->owner = owner;
  s->number = (unsigned)(settings->name.ptr[1] - '0');
  s->child = settings->transport == HF_TRANSPORT_STDIO;
  hf_list_init(&s->requests);
  hf_map_init(&s->keys, AGENTS * STEPS_MAX);
  hf_restart_init(&s->restart, s->child ? &child : &remote);
  w->servers[s->number] = s;
  *ret_upstream = &s->head;
  return 0;
}

struct hf_upstream *server_upstream(struct server *server) {
  return &server->head;
}

void server_free(struct server *server) {
  if (!server->freed)
    op_free(&server->head);
  hf_map_deinit(&server->keys);
  free(server);
}
