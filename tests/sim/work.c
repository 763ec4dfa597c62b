#include "work.h"

#include <stdlib.h>
#include <string.h>

enum sim_work_end { SIM_WORK_DONE, SIM_WORK_NO, SIM_WORK_ERROR, SIM_WORK_CANCELLED, SIM_WORK_FORGOTTEN };

enum sim_work_status { SIM_WORK_RUNS, SIM_WORK_ASKS, SIM_WORK_OVER, SIM_WORK_UNKNOWN };

struct sim_work {
  struct hf_list link; /* of the world's */
  struct sim_timer timer;
  struct sim_gateway *sim;
  struct sim_run run;
  unsigned server;
  long number; /* of the ask, or -1 */
  long who;
  unsigned long id;
  enum sim_work_status status;
  enum sim_work_end end;
  unsigned token; /* of what it asks */
  bool taken;     /* that was answered */
  bool modern;
  bool runs;      /* the tool runs in it, sooner or later */
  bool under_way; /* that may still happen */
  bool is_due;    /* it was to end, and nobody asked for it */
  hf_time seen;   /* when somebody last asked for it */
};

static struct sim_work *find(const struct sim_gateway *sim, long id) {
  for (struct hf_list *it = sim->works.next; id >= 0 && it != &sim->works; it = it->next) {
    struct sim_work *work = HF_CONTAINER_OF(it, struct sim_work, link);
    if (work->id == (unsigned long)id)
      return work;
  }
  return NULL;
}

bool sim_work_is_demanded(const struct hf_attempt_ref *ref) {
  const struct sim_server *s = ref->server;
  return !s->modern && strcmp(sim_argument_name(&s->sim->options.chain, s->number), "n") != 0 &&
         (ref->run.tool == SIM_TOOL_UNSAFE || ref->run.tool == SIM_TOOL_IDEMPOTENT);
}

bool sim_work_is_taken(const struct hf_attempt_ref *ref) {
  return ref->takes_task && ref->run.tool < SIM_TOOLS_ASKED && ref->deed >= 0;
}

static void settled(struct sim_work *work) {
  if (work->under_way)
    work->sim->deeds.deed[work->run.deed].under_way--;
  work->under_way = false;
}

static void run(struct sim_work *work) {
  struct sim_gateway *sim = work->sim;
  if (!work->under_way)
    return;
  if (sim->trace)
    fprintf(sim->trace, "%.6f server %u executes %u, as task %lu\n", (double)sim->world->now / 1e6, work->server,
            work->run.deed, work->id);
  if (work->number >= 0)
    sim->asks[work->number].ran++;
  sim_deed_run(sim, &work->run);
  settled(work);
}

/* What nobody asks for any more is not begun later than the tool's settings promise. */
static bool is_left(const struct sim_work *work) {
  const struct sim_gateway *sim = work->sim;
  const struct hf_reconcile_settings *reconcile = &sim->options.chain.tools[work->run.site][work->run.tool].reconcile;
  const bool promised = sim->options.chain.on && reconcile->tool.server.ptr && reconcile->settle != HF_TIME_NEVER;
  return sim->world->now >= work->seen + (promised ? reconcile->settle : HF_SECONDS(100));
}

static struct sim_server *server_of(const struct sim_work *work) {
  for (struct sim_server *s = work->sim->servers; s; s = s->next)
    if (s->number == work->server && s->modern == work->modern && !s->freed && s->phase == HF_UPSTREAM_READY)
      return s;
  return NULL;
}

static const char *status_name(const struct sim_work *work) {
  if (work->status == SIM_WORK_ASKS)
    return "input_required";
  if (work->status == SIM_WORK_RUNS)
    return "working";
  if (work->end == SIM_WORK_CANCELLED)
    return "cancelled";
  return work->end == SIM_WORK_ERROR || (work->end == SIM_WORK_NO && !work->modern) ? "failed" : "completed";
}

static void tell(const struct sim_work *work) {
  struct sim_server *s = server_of(work);
  struct hf_message message;
  struct hf_refusal refusal;
  char text[256];
  snprintf(
      text, sizeof text,
      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tasks%s\",\"params\":{\"taskId\":\"w%lu\",\"status\":\"%s\"}}",
      work->modern ? "" : "/status", work->id, status_name(work));
  if (!s || hf_message_decode_copy(hf_str_from(text), &message, &refusal) < 0)
    return;
  s->events->message(s->owner, &message);
  hf_message_deinit(&message);
}

static void fire(struct sim_timer *timer) {
  struct sim_work *work = HF_CONTAINER_OF(timer, struct sim_work, timer);
  work->is_due = is_left(work);
  if (work->is_due)
    return; /* until somebody asks again */
  if (work->runs)
    run(work);
  settled(work);
  if (work->status == SIM_WORK_RUNS)
    work->status = work->end == SIM_WORK_FORGOTTEN ? SIM_WORK_UNKNOWN : SIM_WORK_OVER;
  if (work->status == SIM_WORK_OVER && sim_world_chance(work->sim->world, 30))
    tell(work);
}

static void begin(struct sim_work *work) {
  struct sim_world *w = work->sim->world;
  const hf_time longest = sim_world_chance(w, 20) ? HF_SECONDS(90) : HF_SECONDS(5);
  work->status = SIM_WORK_RUNS;
  sim_timer_set(w, &work->timer, w->now + sim_world_between(w, 0, longest), fire);
}

static enum sim_work_end draw_end(struct sim_world *w, bool *ret_runs) {
  const uint64_t draw = hf_random_below(&w->random, 100);
  *ret_runs = draw < 80 || sim_world_chance(w, 50);
  return draw < 70   ? SIM_WORK_DONE
         : draw < 80 ? SIM_WORK_NO
         : draw < 88 ? SIM_WORK_ERROR
         : draw < 92 ? SIM_WORK_CANCELLED
                     : SIM_WORK_FORGOTTEN;
}

void sim_work_make(struct hf_attempt_ref *ref, char text[SIM_TEXT_MAX / 2]) {
  struct sim_server *s = ref->server;
  struct sim_gateway *sim = s->sim;
  struct sim_work *work = calloc(1, sizeof *work);
  if (!work)
    abort();
  *work = (struct sim_work){.sim = sim,
                            .run = ref->run,
                            .server = s->number,
                            .number = ref->number,
                            .who = ref->who,
                            .id = ++sim->next_work,
                            .modern = s->modern,
                            .under_way = !ref->executed,
                            .seen = hf_time_min(ref->left_at, sim->world->now)};
  work->end = draw_end(sim->world, &work->runs);
  sim->works_made++;
  if (work->under_way)
    sim->deeds.deed[ref->run.deed].under_way++;
  hf_list_push_back(&sim->works, &work->link);
  const bool asks = (s->modern ? ref->can_be_asked : s->asks) && sim_world_chance(sim->world, 20);
  if (asks)
    work->status = SIM_WORK_ASKS, work->token = s->modern ? ++sim->next_token : 0;
  else
    begin(work);
  const int poll = sim_world_chance(sim->world, 50) ? (int)sim_world_between(sim->world, 1, 3000) : 0;
  char interval[64] = "";
  if (poll)
    snprintf(interval, sizeof interval, ",\"%s\":%d", s->modern ? "pollIntervalMs" : "pollInterval", poll);
  snprintf(text, SIM_TEXT_MAX / 2,
           s->modern ? "{\"resultType\":\"task\",\"taskId\":\"w%lu\",\"status\":\"working\"%s}"
                     : "{\"task\":{\"taskId\":\"w%lu\",\"status\":\"working\"%s}}",
           work->id, interval);
}

void sim_work_note(struct hf_attempt_ref *ref, const char *text) {
  ref->work = sim_number_after(text, "\"taskId\":\"w");
  ref->echo = sim_number_after(text, "t=");
}

/* What the call itself would have been answered with. */
static bool write_end(const struct sim_work *work, char *text, size_t size, int *ret_code) {
  *ret_code = -32603;
  if (work->end == SIM_WORK_ERROR)
    return false;
  snprintf(text, size, "{\"content\":[{\"type\":\"text\",\"text\":\"n=%u at=%lld w=%ld%s\"}]%s}", work->run.deed,
           (long long)work->sim->world->now, work->who, work->end == SIM_WORK_NO ? " failed" : "",
           work->end == SIM_WORK_NO ? ",\"isError\":true" : "");
  return true;
}

static void write_state(const struct sim_work *work, char *text, size_t size) {
  char end[512], more[640] = "";
  int code;
  if (work->status == SIM_WORK_ASKS && work->modern)
    snprintf(more, sizeof more,
             ",\"inputRequests\":{\"k%u\":{\"method\":\"elicitation/create\",\"params\":{\"message\":\"t=%u\","
             "\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}}}",
             work->token, work->token);
  else if (work->status == SIM_WORK_OVER && work->modern && write_end(work, end, sizeof end, &code))
    snprintf(more, sizeof more, ",\"result\":%s", end);
  else if (work->status == SIM_WORK_OVER && work->modern)
    snprintf(more, sizeof more, ",\"error\":{\"code\":%d,\"message\":\"n=%u\"}", code, work->run.deed);
  snprintf(text, size, "{\"taskId\":\"w%lu\",\"status\":\"%s\",\"statusMessage\":\"since %lld\"%s}", work->id,
           status_name(work), (long long)(work->sim->world->now / HF_SECONDS(10)), more);
}

/* One question is answered once, and with its own answer. */
static void take_answer(struct sim_work *work, const struct hf_attempt_ref *ref) {
  struct sim_check *check = work->sim->check;
  sim_check(check, !work->taken, "a question of a task was answered twice", work->run.deed);
  sim_check(check, ref->echo < 0 || ref->echo == (long)work->token, "an answer to another task's question",
            work->run.deed);
  work->taken = true;
  if (work->status == SIM_WORK_ASKS)
    begin(work);
}

static void cancel(struct sim_work *work) {
  if (work->status > SIM_WORK_ASKS || !sim_world_chance(work->sim->world, 60))
    return;
  sim_timer_stop(work->sim->world, &work->timer);
  work->status = SIM_WORK_OVER;
  work->end = SIM_WORK_CANCELLED;
  settled(work);
}

bool sim_work_answer(struct hf_attempt_ref *ref, char text[SIM_TEXT_MAX / 2], int *ret_code) {
  struct sim_work *work = find(ref->server->sim, ref->work);
  *ret_code = -32602;
  if (!work || work->status == SIM_WORK_UNKNOWN || work->server != ref->server->number)
    return false;
  work->seen = work->sim->world->now;
  if (work->is_due && ref->method != HF_METHOD_TASKS_CANCEL)
    fire(&work->timer);
  snprintf(text, SIM_TEXT_MAX / 2, "{}");
  if (ref->method == HF_METHOD_TASKS_GET)
    write_state(work, text, SIM_TEXT_MAX / 2);
  else if (ref->method == HF_METHOD_TASKS_UPDATE)
    take_answer(work, ref);
  else if (ref->method == HF_METHOD_TASKS_CANCEL)
    cancel(work);
  if (ref->method != HF_METHOD_TASKS_RESULT)
    return true;
  if (ref->token && work->status == SIM_WORK_ASKS)
    begin(work);
  if (work->status == SIM_WORK_OVER && work->end != SIM_WORK_CANCELLED)
    return write_end(work, text, SIM_TEXT_MAX / 2, ret_code);
  *ret_code = work->status == SIM_WORK_OVER ? -32602 : 0;
  ref->is_to_ask = work->status == SIM_WORK_ASKS;
  return false;
}

void sim_work_forget(struct sim_server *s) {
  struct sim_gateway *sim = s->sim;
  for (struct hf_list *it = sim->works.next; it != &sim->works; it = it->next) {
    struct sim_work *work = HF_CONTAINER_OF(it, struct sim_work, link);
    if (work->server != s->number || work->status > SIM_WORK_ASKS || !sim_world_chance(sim->world, 50))
      continue;
    work->status = SIM_WORK_UNKNOWN;
    if (sim_world_chance(sim->world, 50))
      continue; /* it is done all the same, if it had begun */
    sim_timer_stop(sim->world, &work->timer);
    settled(work);
  }
}

void sim_works_free(struct sim_gateway *sim) {
  while (!hf_list_empty(&sim->works)) {
    struct sim_work *work = HF_CONTAINER_OF(sim->works.next, struct sim_work, link);
    settled(work);
    sim_timer_stop(sim->world, &work->timer);
    hf_list_remove(&work->link);
    free(work);
  }
}
