#include "world.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/list.h"

#include <stdio.h>
#include <stdlib.h>

int sim_world_init(struct sim_world *world, uint64_t seed, size_t upstream_count, unsigned call_count) {
  *world = (struct sim_world){.upstream_count = upstream_count, .call_count = call_count};
  hf_heap_init(&world->timers);
  hf_random_init(&world->random, seed);
  world->executions = hf_calloc(call_count, sizeof *world->executions);
  world->ledger = hf_calloc(call_count, sizeof *world->ledger);
  if (!world->executions || !world->ledger)
    return HF_ERR_NOMEM;
  for (unsigned i = 0; i < upstream_count; i++) {
    world->upstreams[i].world = world;
    world->upstreams[i].server = i;
  }
  return 0;
}

void sim_world_deinit(struct sim_world *world) {
  hf_heap_deinit(&world->timers);
  hf_free(world->executions);
  hf_free(world->ledger);
}

void sim_timer_set(struct sim_world *world, struct sim_timer *timer, hf_time at, void (*fire)(struct sim_timer *)) {
  timer->fire = fire;
  if (hf_heap_set(&world->timers, &timer->node, hf_time_max(at, world->now)) < 0) {
    fputs("sim: out of memory\n", stderr);
    abort();
  }
}

void sim_timer_stop(struct sim_world *world, struct sim_timer *timer) {
  hf_heap_remove(&world->timers, &timer->node);
}

bool sim_world_turn(struct sim_world *world) {
  struct hf_heap_node *node = hf_heap_top(&world->timers);
  if (!node)
    return false;
  struct sim_timer *timer = HF_CONTAINER_OF(node, struct sim_timer, node);
  hf_heap_remove(&world->timers, node);
  world->now = hf_time_max(world->now, node->at);
  timer->fire(timer);
  return true;
}

hf_time sim_world_between(struct sim_world *world, hf_time low, hf_time high) {
  return low + (hf_time)hf_random_below(&world->random, (uint64_t)(high - low + 1));
}

bool sim_world_chance(struct sim_world *world, unsigned percent) {
  return hf_random_below(&world->random, 100) < percent;
}

/* A key that is not known begins a new time. */
static void note_key(struct sim_request *r) {
  struct sim_entry *entry = &r->world->ledger[r->call];
  unsigned server = r->upstream->server;
  if (r->truth.safety != HF_SAFETY_KEYED)
    return;
  if (r->world->now >= entry->key_until[server]) {
    entry->key_until[server] = hf_time_add(r->world->now, r->truth.ttl);
    entry->epoch[server]++;
  }
  r->epoch = entry->epoch[server] % 8;
}

/* Does it do what has not been done yet? */
static bool has_effect(const struct sim_request *r, const struct sim_entry *entry) {
  unsigned server = r->upstream->server;
  if (r->truth.harmless)
    return false;
  switch (r->truth.safety) {
  case HF_SAFETY_UNSAFE:
    return true;
  case HF_SAFETY_KEYED:
    return !(entry->done[server] >> r->epoch & 1);
  case HF_SAFETY_IDEMPOTENT:
  case HF_SAFETY_READ_ONLY: /* as it says of itself: nobody knows whether it is true */
    return !(entry->ran_on >> server & 1);
  }
  return true;
}

/* One request runs the tool once; what runs it twice is a second request. */
static void execute(struct sim_request *r) {
  struct sim_entry *entry = &r->world->ledger[r->call];
  unsigned server = r->upstream->server;
  if (r->executed || (r->left_at != HF_TIME_NEVER && r->world->now >= hf_time_add(r->left_at, r->truth.settle)))
    return;
  r->executed = true;
  if (r->world->executions[r->call] < UINT8_MAX)
    r->world->executions[r->call]++;
  if (has_effect(r, entry)) {
    entry->effects++;
    if (r->truth.safety != HF_SAFETY_READ_ONLY)
      entry->admitted++;
  }
  entry->ran_on |= (uint8_t)(1U << server);
  entry->done[server] |= (uint8_t)(1U << r->epoch);
}

static void leave(struct sim_request *r) {
  struct sim_upstream *u = r->upstream;
  sim_timer_stop(r->world, &r->timer);
  r->over = true;
  if (r->place == 0)
    return;
  struct sim_request *last = u->in_flight[--u->in_flight_len];
  u->in_flight[r->place - 1] = last;
  last->place = r->place;
  r->place = 0;
}

/* Now and then an idle upstream is stopped on purpose. */
static void maybe_stop(struct sim_upstream *u) {
  if (u->world->scripted || !u->up || u->in_flight_len > 0 || !sim_world_chance(u->world, 1))
    return;
  u->up = false;
  struct hf_evidence none = HF_EVIDENCE(HF_EVIDENCE_NONE);
  u->events->down(u->owner, &none, u->world->now);
}

static void tell_done(struct sim_request *r, enum sim_result result, const struct hf_evidence *evidence) {
  bool muted = r->muted;
  r->muted = true;
  if (r->left_at == HF_TIME_NEVER)
    r->left_at = r->world->now;
  if (!muted)
    r->events->done(r, result, r->call, evidence);
}

static void done(struct sim_request *r, enum sim_result result, const struct hf_evidence *evidence) {
  leave(r);
  maybe_stop(r->upstream);
  tell_done(r, result, evidence);
}

static void fault(struct sim_request *r, struct hf_evidence evidence) {
  evidence.carried_session = r->carried_session;
  evidence.retry_after = r->plan.retry_after;
  done(r, SIM_FAILED, &evidence);
}

static void status(struct sim_request *r, int http_status) {
  fault(r, (struct hf_evidence){.kind = HF_EVIDENCE_HTTP_STATUS, .http_status = http_status});
}

/* In flight everything is lost; half of what had arrived had been done. The news of the death comes first, so that
 * nobody sends more to it meanwhile. */
static void die(struct sim_upstream *u) {
  struct sim_world *w = u->world;
  u->up = false;
  hf_time pause = w->scripted ? HF_MS(100) : sim_world_between(w, 0, HF_SECONDS(1));
  struct hf_evidence why = HF_EVIDENCE(HF_EVIDENCE_NOT_STARTED);
  u->events->down(u->owner, &why, w->now + pause);
  for (size_t i = 0; i < u->in_flight_len; i++) {
    struct sim_request *r = u->in_flight[i];
    r->plan.retry_after = -1;
    if (r->stage >= 2 && (w->scripted || sim_world_chance(w, 50)))
      execute(r);
  }
  while (u->in_flight_len > 0) {
    struct hf_evidence broke = HF_EVIDENCE(HF_EVIDENCE_BROKE);
    broke.child_dead = true;
    fault(u->in_flight[u->in_flight_len - 1], broke);
  }
}

/* Nothing more will come of it. An aborted request is nobody's any more; another one stays in flight until it is. */
static void hang(struct sim_request *r) {
  if (r->aborted)
    leave(r);
}

static void settle(struct sim_request *r);

static void next_stage(struct sim_request *r, hf_time after);

static void fire_request(struct sim_timer *timer) {
  struct sim_request *r = HF_CONTAINER_OF(timer, struct sim_request, timer);
  switch (r->stage++) {
  case 0: /* connected */
    if (r->plan.fault == SIM_REFUSE) {
      fault(r, HF_EVIDENCE(HF_EVIDENCE_CONNECT_REFUSED));
      return;
    }
    if (r->plan.fault == SIM_CONNECT_HANG) {
      hang(r);
      return;
    }
    if (!r->muted)
      r->events->sent(r, 100, false);
    next_stage(r, HF_MS(1));
    return;
  case 1: /* written */
    if (r->plan.fault == SIM_BREAK_EARLY) {
      fault(r, HF_EVIDENCE(HF_EVIDENCE_BROKE));
      return;
    }
    if (r->aborted) {
      leave(r); /* given up half way: the server never sees a whole request */
      return;
    }
    note_key(r);
    r->events->sent(r, 100, true);
    next_stage(r, r->plan.delay);
    return;
  default:
    settle(r);
  }
}

static void next_stage(struct sim_request *r, hf_time after) {
  if (!r->over)
    sim_timer_set(r->world, &r->timer, r->world->now + after, fire_request);
}

/* Two stages more: the question, and the answer to it. */
static void ask(struct sim_request *r) {
  if (r->stage == 3) {
    if (!r->muted)
      r->events->question(r, true);
    next_stage(r, r->world->scripted ? HF_SECONDS(90) : sim_world_between(r->world, 0, HF_SECONDS(200)));
  } else if (r->stage == 4) {
    if (!r->muted)
      r->events->question(r, false);
    next_stage(r, HF_MS(5));
  } else {
    execute(r);
    done(r, SIM_SUCCESS, NULL);
  }
}

static void answer_slowly(struct sim_request *r) {
  execute(r);
  if (r->stage == 8) {
    done(r, SIM_SUCCESS, NULL);
    return;
  }
  if (!r->muted)
    r->events->answer_bytes(r);
  next_stage(r, r->world->scripted ? HF_SECONDS(10) : sim_world_between(r->world, 0, HF_SECONDS(20)));
}

static void hang_after_progress(struct sim_request *r) {
  execute(r);
  if (!r->muted)
    r->events->life(r);
  hang(r);
}

/* Nobody hears of it, and yet it runs. */
static void run_late(struct sim_request *r) {
  if (r->stage == 3) {
    next_stage(r, r->plan.late);
    return;
  }
  execute(r);
  hang(r);
}

static void settle(struct sim_request *r) {
  switch (r->plan.fault) {
  case SIM_OK:
    execute(r);
    return done(r, SIM_SUCCESS, NULL);
  case SIM_DROP_REQUEST:
    return r->plan.late > 0 ? run_late(r) : hang(r);
  case SIM_RESET_UNEXECUTED:
    if (r->plan.late <= 0)
      return fault(r, HF_EVIDENCE(HF_EVIDENCE_BROKE));
    if (r->stage == 3) {
      struct hf_evidence broke = HF_EVIDENCE(HF_EVIDENCE_BROKE);
      broke.retry_after = r->plan.retry_after;
      r->aborted = true; /* nobody's any more */
      tell_done(r, SIM_FAILED, &broke);
    }
    return run_late(r);
  case SIM_EXECUTE_RESET:
    execute(r);
    return fault(r, HF_EVIDENCE(HF_EVIDENCE_BROKE));
  case SIM_EXECUTE_HANG:
    execute(r);
    return hang(r);
  case SIM_PROGRESS_HANG:
    return hang_after_progress(r);
  case SIM_STATUS_429:
    return status(r, 429);
  case SIM_STATUS_503_HINT:
    return status(r, 503);
  case SIM_STATUS_503:
    if (r->world->scripted || sim_world_chance(r->world, 50))
      execute(r);
    return status(r, 503);
  case SIM_STATUS_401:
    return status(r, 401);
  case SIM_STATUS_500:
    execute(r);
    return status(r, 500);
  case SIM_GARBAGE:
    execute(r);
    return fault(r, HF_EVIDENCE(HF_EVIDENCE_BAD_REPLY));
  case SIM_TOOL_ERROR:
    execute(r);
    return fault(r, HF_EVIDENCE(HF_EVIDENCE_TOOL_ERROR));
  case SIM_INVALID_PARAMS:
    return fault(r, (struct hf_evidence){.kind = HF_EVIDENCE_JSONRPC_ERROR, .jsonrpc_code = -32602});
  case SIM_SESSION_LOST:
    return status(r, 404);
  case SIM_DEATH:
    return die(r->upstream);
  case SIM_QUESTION:
    return ask(r);
  case SIM_INPUT_REQUIRED:
    return done(r, SIM_PENDING, NULL);
  case SIM_STATUS_409:
    if (r->world->scripted || sim_world_chance(r->world, 50))
      execute(r);
    return status(r, 409);
  case SIM_RPC_ERROR:
    execute(r);
    return fault(r, (struct hf_evidence){.kind = HF_EVIDENCE_JSONRPC_ERROR, .jsonrpc_code = -32603});
  case SIM_TOOL_TRANSIENT:
    execute(r);
    return fault(r, (struct hf_evidence){.kind = HF_EVIDENCE_TOOL_ERROR, .matches_transient = true});
  case SIM_SLOW_ANSWER:
    return answer_slowly(r);
  case SIM_REFUSE:
  case SIM_CONNECT_HANG:
  case SIM_BREAK_EARLY:
  case SIM_FAULT_COUNT:
    break;
  }
}

static void change_mood(struct sim_upstream *u) {
  static const unsigned weights[SIM_MOOD_COUNT] = {60, 30, 10};
  struct sim_world *w = u->world;
  if (w->now < u->mood_until)
    return;
  uint64_t draw = hf_random_below(&w->random, 100);
  u->mood = SIM_HEALTHY;
  while (draw >= weights[u->mood])
    draw -= weights[u->mood++];
  u->mood_until = w->now + sim_world_between(w, HF_SECONDS(1), HF_SECONDS(300));
}

static struct sim_plan draw_plan(struct sim_upstream *u) {
  struct sim_world *w = u->world;
  static const unsigned fault_percent[SIM_MOOD_COUNT] = {3, 30, 95};
  change_mood(u);
  struct sim_plan plan = {.fault = SIM_OK, .delay = sim_world_between(w, HF_MS(1), HF_MS(300)), .retry_after = -1};
  if (sim_world_chance(w, fault_percent[u->mood]))
    plan.fault = (enum sim_fault)hf_random_below(&w->random, SIM_FAULT_COUNT);
  if (sim_world_chance(w, 2))
    plan.delay = sim_world_between(w, HF_SECONDS(1), HF_SECONDS(80));
  if (sim_world_chance(w, 50))
    plan.late = sim_world_between(w, 1, HF_SECONDS(40));
  if (plan.fault == SIM_STATUS_503_HINT || (plan.fault == SIM_STATUS_429 && sim_world_chance(w, 70)))
    plan.retry_after = sim_world_between(w, 0, HF_SECONDS(sim_world_chance(w, 20) ? 100 : 5));
  return plan;
}

static struct sim_plan next_plan(struct sim_upstream *u) {
  if (!u->world->scripted)
    return draw_plan(u);
  if (u->script_len == 0)
    return (struct sim_plan){.fault = SIM_OK, .delay = HF_MS(10), .retry_after = -1};
  u->script_len--;
  return *u->script++;
}

void sim_request_start(struct sim_request *request, bool new_session) {
  struct sim_upstream *u = request->upstream;
  request->plan = next_plan(u);
  request->carried_session = true;
  request->left_at = HF_TIME_NEVER;
  if (!u->up)
    request->plan.fault = SIM_REFUSE;
  if (u->in_flight_len == SIM_INFLIGHT_MAX) {
    fputs("sim: more requests in flight than the world holds\n", stderr);
    abort();
  }
  u->in_flight[u->in_flight_len++] = request;
  request->place = u->in_flight_len;
  next_stage(request, new_session ? HF_MS(20) : HF_MS(1));
}

void sim_request_abort(struct sim_request *request) {
  if (request->over)
    return;
  struct sim_world *w = request->world;
  request->aborted = true;
  if (request->left_at == HF_TIME_NEVER)
    request->left_at = w->now;
  if (w->scripted || sim_world_chance(w, 70))
    request->muted = true; /* else its events still come, late */
  if (request->timer.node.place == 0)
    leave(request);
}

static void fire_start(struct sim_timer *timer) {
  struct sim_upstream *u = HF_CONTAINER_OF(timer, struct sim_upstream, start_timer);
  struct sim_world *w = u->world;
  u->starting = false;
  bool ok = true;
  if (!w->scripted) {
    change_mood(u);
    ok = sim_world_chance(w, u->mood == SIM_OUTAGE ? 10 : 90);
  } else if (u->starts_len > 0) {
    u->starts_len--;
    ok = *u->starts++;
  }
  u->up = ok;
  if (ok)
    return u->events->ready(u->owner);
  hf_time pause = w->scripted ? HF_MS(100) : sim_world_between(w, 0, HF_SECONDS(2));
  struct hf_evidence why = HF_EVIDENCE(HF_EVIDENCE_NOT_STARTED);
  if (!w->scripted && sim_world_chance(w, 10)) {
    /* Parked: nobody starts it but its own supervisor, later. */
    u->starting = true;
    sim_timer_set(w, &u->start_timer, w->now + HF_SECONDS(60), fire_start);
    u->events->down(u->owner, &why, HF_TIME_NEVER);
  } else {
    u->events->down(u->owner, &why, w->now + pause);
  }
}

void sim_upstream_start(struct sim_upstream *upstream) {
  struct sim_world *w = upstream->world;
  upstream->starting = true;
  hf_time takes = w->scripted ? HF_MS(50) : sim_world_between(w, HF_MS(10), HF_SECONDS(3));
  sim_timer_set(w, &upstream->start_timer, w->now + takes, fire_start);
}

static void fire_probe(struct sim_timer *timer) {
  struct sim_upstream *u = HF_CONTAINER_OF(timer, struct sim_upstream, probe_timer);
  if (!u->world->scripted)
    change_mood(u);
  u->events->probed(u->owner, u->up && u->mood != SIM_OUTAGE);
}

void sim_upstream_probe(struct sim_upstream *upstream) {
  struct sim_world *w = upstream->world;
  if (!w->scripted && sim_world_chance(w, 10))
    return; /* lost: the provider gives it up by itself */
  hf_time takes = w->scripted ? HF_MS(5) : sim_world_between(w, HF_MS(1), HF_SECONDS(8));
  sim_timer_set(w, &upstream->probe_timer, w->now + takes, fire_probe);
}
