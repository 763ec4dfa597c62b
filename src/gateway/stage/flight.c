#include "gateway/stage/flight.h"

#include "base/alloc.h"
#include "base/list.h"
#include "base/map.h"
#include "gateway/gateway.h"
#include "gateway/observe/trace.h"
#include "gateway/outcome.h"
#include "gateway/pipeline.h"
#include "gateway/question/held.h"
#include "gateway/question/question.h"
#include "gateway/relay.h"
#include "gateway/stage/away.h"
#include "gateway/stage/intent.h"
#include "gateway/stage/lost.h"

enum { KEY_MAX = 4096 };

struct hf_flights {
  struct hf_gateway *gateway;
  struct hf_map by_key;   /* fingerprint, and what else tells calls apart */
  struct hf_list watched; /* those whose turn or time comes */
  struct hf_timer timer;
  struct hf_job job;
  size_t kept;
  size_t kept_bytes;
  struct hf_list told; /* answers that clients were given, and may not have got: the oldest first */
  size_t told_count;
  size_t told_bytes;
};

struct hf_flight {
  struct hf_flights *flights;
  struct hf_exchange *leader; /* NULL: it has landed, or has left before it became a call */
  struct hf_list followers;
  struct hf_list watched; /* or told */
  bool effects;
  bool landed;
  bool alone;            /* the leader's client has gone */
  bool asked;            /* somebody has been handed the server's question */
  bool kept;             /* landed with nobody there: counted among those that wait to be asked for */
  bool told;             /* landed, and handed to its client: counted among those, and found by nobody */
  hf_time window;        /* how long it goes on alone */
  hf_time until;         /* when it has been alone, or its answer unheard, for that long */
  struct hf_client *own; /* whose own instance it is at, or NULL */
  char call[HF_CALL_ID_MAX];
  uint64_t number; /* of the same call */
  hf_time began;
  struct hf_blob *raw;        /* while told: a reference, or NULL */
  struct hf_str text;         /* of the response, in `raw` */
  struct hf_message response; /* all zero: there is none */
  struct hf_outcome outcome;
  char letter_id[HF_LETTER_ID_MAX]; /* of its dead letter, or "" */
  struct hf_buf substitute;         /* of an answer that is not live */
  size_t key_len;
  char key[];
};

static struct hf_flight *watched_flight(struct hf_list *link) {
  return HF_CONTAINER_OF(link, struct hf_flight, watched);
}

static void unlist(struct hf_flight *flight) {
  struct hf_str key = {flight->key, flight->key_len};
  if (hf_map_get(&flight->flights->by_key, key) == flight)
    (void)hf_map_remove(&flight->flights->by_key, key);
}

static size_t bytes_of(const struct hf_flight *flight) {
  return flight->response.blob ? hf_message_bytes(&flight->response).len : 0;
}

static void uncount(struct hf_flight *flight) {
  struct hf_flights *flights = flight->flights;
  flights->kept -= flight->kept;
  flights->kept_bytes -= flight->kept ? bytes_of(flight) : 0;
  flights->told_count -= flight->told;
  flights->told_bytes -= flight->told ? flight->text.len : 0;
  flight->kept = flight->told = false;
}

static void flight_free(struct hf_flight *flight) {
  unlist(flight);
  hf_list_remove(&flight->watched);
  uncount(flight);
  hf_blob_unref(flight->raw);
  hf_message_deinit(&flight->response);
  hf_buf_deinit(&flight->substitute);
  hf_free(flight);
}

/* It is looked at once this turn of the loop is over, and then when its time comes. */
static void watch(struct hf_flight *flight) {
  struct hf_flights *flights = flight->flights;
  hf_list_remove(&flight->watched);
  hf_list_push_back(&flights->watched, &flight->watched);
  hf_job_defer(flights->gateway->loop, &flights->job);
}

static void refuse_question(struct hf_exchange *follower) {
  hf_outcome_answer_refusal(follower, HF_FAULT_CONFLICT, HF_RPC_INTERNAL_ERROR,
                            HF_STR("An equal call is under way, and its server asked for input there. This one was "
                                   "not sent. Answer what is asked in the other call."));
}

/* What the leader was answered with, as an answer to the follower's own request. Whoever answers a question of the
 * server makes the call go on, so of those with effects only one may. */
static void hand_on(struct hf_flight *flight, struct hf_exchange *follower) {
  struct hf_outcome outcome = flight->outcome;
  bool question = flight->response.blob && hf_message_is_pending(&flight->response);
  outcome.elapsed = flight->flights->gateway->loop->now - follower->started;
  if (outcome.provider < follower->target_count)
    follower->target = &follower->targets[outcome.provider];
  follower->joined = hf_arena_copy(&follower->arena, hf_str_from(flight->call));
  memcpy(follower->letter_id, flight->letter_id, sizeof flight->letter_id);
  hf_lost_heard(follower, hf_str_from(flight->call));
  if (question && flight->effects && flight->asked) {
    refuse_question(follower);
    return;
  }
  flight->asked = flight->asked || question;
  if (hf_buf_append_str(&follower->substitute, hf_buf_str(&flight->substitute)) < 0) {
    outcome.source = HF_SOURCE_LIVE;
    outcome.fault = HF_FAULT_LOCAL_LIMIT;
  }
  hf_pipeline_answer(follower, flight->response.blob ? &flight->response : NULL, &outcome);
}

static struct hf_exchange *take_follower(struct hf_flight *flight) {
  struct hf_exchange *follower = HF_CONTAINER_OF(flight->followers.next, struct hf_exchange, follower);
  hf_list_remove(&follower->follower);
  follower->flight = NULL;
  return follower;
}

static bool settle_landed(struct hf_flight *flight, hf_time now) {
  bool heard = !hf_list_empty(&flight->followers);
  while (!hf_list_empty(&flight->followers))
    hand_on(flight, take_follower(flight));
  if (!heard && flight->until > now)
    return true;
  flight_free(flight);
  return false;
}

/* The leader was answered before it became a call: the first of those behind it takes its place. */
static bool settle_leaderless(struct hf_flight *flight) {
  if (hf_list_empty(&flight->followers)) {
    flight_free(flight);
    return false;
  }
  struct hf_exchange *leader = take_follower(flight);
  char id[HF_CALL_ID_MAX];
  struct hf_str call = hf_outcome_call_id(leader, id);
  memcpy(flight->call, call.ptr, call.len + 1);
  leader->flight = flight;
  flight->leader = leader;
  flight->alone = false;
  hf_pipeline_go_on(leader);
  return false;
}

/* Returns true if it is to be looked at again at `until`. It may be gone. */
static bool settle(struct hf_flight *flight, hf_time now) {
  if (flight->landed)
    return settle_landed(flight, now);
  if (!flight->leader)
    return settle_leaderless(flight);
  if (!flight->alone || !hf_list_empty(&flight->followers))
    return false;
  if (flight->until > now)
    return true;
  flight->until = HF_TIME_NEVER;
  hf_exchange_cancel(flight->leader);
  return false;
}

static void look(struct hf_flights *flights) {
  struct hf_loop *loop = flights->gateway->loop;
  struct hf_list now;
  hf_list_init(&now);
  while (!hf_list_empty(&flights->watched)) {
    struct hf_list *first = flights->watched.next;
    hf_list_remove(first);
    hf_list_push_back(&now, first);
  }
  hf_time next = HF_TIME_NEVER;
  while (!hf_list_empty(&now)) {
    struct hf_flight *flight = watched_flight(now.next);
    hf_list_remove(&flight->watched);
    if (!settle(flight, loop->now))
      continue;
    hf_list_push_back(&flights->watched, &flight->watched);
    next = flight->until < next ? flight->until : next;
  }
  hf_timer_set(loop, &flights->timer, next);
}

static void on_job(struct hf_job *job) {
  look(HF_CONTAINER_OF(job, struct hf_flights, job));
}

static void on_timer(struct hf_timer *timer) {
  look(HF_CONTAINER_OF(timer, struct hf_flights, timer));
}

struct hf_flights *hf_flights_new(struct hf_gateway *gateway) {
  struct hf_flights *flights = hf_calloc(1, sizeof *flights);
  if (!flights)
    return NULL;
  if (hf_timer_init(gateway->loop, &flights->timer, on_timer) < 0) {
    hf_free(flights);
    return NULL;
  }
  flights->gateway = gateway;
  hf_map_init(&flights->by_key, HF_FLIGHTS_MAX);
  hf_list_init(&flights->watched);
  hf_list_init(&flights->told);
  hf_job_init(&flights->job, on_job);
  return flights;
}

void hf_flights_free(struct hf_flights *flights) {
  if (!flights)
    return;
  while (!hf_list_empty(&flights->watched))
    flight_free(watched_flight(flights->watched.next));
  while (!hf_list_empty(&flights->told))
    flight_free(watched_flight(flights->told.next));
  hf_job_cancel(&flights->job);
  hf_timer_deinit(flights->gateway->loop, &flights->timer);
  hf_map_deinit(&flights->by_key);
  hf_free(flights);
}

size_t hf_flights_count(const struct hf_flights *flights) {
  return flights->by_key.len;
}

/* The first one at this client's own instances that nobody is there for. */
static struct hf_flight *find_alone(struct hf_flights *flights, const struct hf_client *own) {
  for (size_t i = 0; i < flights->by_key.len; i++) {
    struct hf_flight *flight = flights->by_key.entries[i].value;
    if (flight->own == own && (flight->landed || (flight->leader && flight->alone)))
      return flight;
  }
  return NULL;
}

void hf_flight_client_closed(struct hf_client *client) {
  struct hf_flights *flights = client->gateway->flights;
  struct hf_flight *flight;
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &flights->told)
    if (watched_flight(it)->own == client)
      flight_free(watched_flight(it));
  while (client != client->gateway->nobody && (flight = find_alone(flights, client)) != NULL) {
    unlist(flight);
    if (flight->landed)
      flight_free(flight);
    else
      hf_exchange_cancel(flight->leader);
  }
}

/* Which calls share an answer: those whose effect must not happen twice, unless that is switched off; those whose
 * answer may be an old one anyway; and those that say by their key that they are the same. What answers a question of
 * the server is nobody else's. */
static bool may_share(const struct hf_exchange *exchange) {
  const struct hf_message *request = &exchange->request;
  const struct hf_tool_settings *tool = exchange->tool;
  if (!tool || request->at[HF_FIELD_REQUEST_STATE] || request->at[HF_FIELD_INPUT_RESPONSES])
    return false;
  if (exchange->key_given)
    return true;
  if (hf_intent_has_effects(exchange))
    return tool->coalesce > 0;
  return exchange->target->safety == HF_SAFETY_READ_ONLY && (tool->cache.ttl > 0 || tool->cache.max_stale > 0);
}

/* Whatever the order of a route's providers is this time. */
struct hf_client *hf_flight_own_client(const struct hf_exchange *exchange) {
  for (size_t i = 0; i < exchange->target_count; i++)
    if (exchange->targets[i].instance->client)
      return exchange->targets[i].instance->client;
  return NULL;
}

/* Calls at two clients' own instances are different calls, and so are calls with different keys of the caller's. */
static int write_key(struct hf_exchange *exchange, struct hf_buf *key) {
  if (!hf_exchange_identify(exchange))
    return HF_ERR_INVALID;
  const struct hf_client *own = hf_flight_own_client(exchange);
  int r = hf_buf_append(key, exchange->fingerprint.byte, sizeof exchange->fingerprint.byte);
  if (r == 0)
    r = hf_buf_append(key, &own, sizeof own);
  if (r == 0 && exchange->key_given)
    r = hf_buf_append_str(key, exchange->key);
  return r;
}

bool hf_flight_has_answer(struct hf_exchange *exchange) {
  struct hf_buf key;
  hf_buf_init(&key, KEY_MAX);
  const struct hf_flight *flight = NULL;
  if (may_share(exchange) && write_key(exchange, &key) == 0)
    flight = hf_map_get(&exchange->client->gateway->flights->by_key, hf_buf_str(&key));
  hf_buf_deinit(&key);
  return flight && flight->landed;
}

static void lead(struct hf_exchange *exchange, struct hf_str key) {
  struct hf_flights *flights = exchange->client->gateway->flights;
  struct hf_flight *flight = hf_calloc(1, sizeof *flight + key.len);
  if (!flight)
    return;
  flight->flights = flights;
  flight->leader = exchange;
  flight->effects = hf_intent_has_effects(exchange);
  flight->window = flight->effects ? exchange->tool->coalesce : 0;
  flight->own = hf_flight_own_client(exchange);
  flight->until = HF_TIME_NEVER;
  flight->number = exchange->number;
  flight->began = exchange->started;
  hf_list_init(&flight->followers);
  hf_list_init(&flight->watched);
  hf_buf_init(&flight->substitute, HF_MESSAGE_BYTES_MAX);
  flight->key_len = key.len;
  memcpy(flight->key, key.ptr, key.len);
  (void)hf_outcome_call_id(exchange, flight->call);
  if (hf_map_put(&flights->by_key, key, flight) < 0) {
    hf_free(flight);
    return;
  }
  exchange->flight = flight;
}

/* Its own time is up; the call it follows goes on. */
static void follower_due(struct hf_exchange *exchange) {
  struct hf_outcome outcome = {.end = HF_CALL_END_DEADLINE,
                               .fault = HF_FAULT_DEADLINE,
                               .executed = HF_EXECUTED_MAYBE,
                               .elapsed = exchange->client->gateway->loop->now - exchange->started,
                               .retry_after = -1};
  exchange->joined = hf_arena_copy(&exchange->arena, hf_str_from(exchange->flight->call));
  hf_pipeline_answer(exchange, NULL, &outcome);
}

static void follow(struct hf_exchange *exchange, struct hf_flight *flight) {
  struct hf_loop *loop = exchange->client->gateway->loop;
  const struct hf_timeout_options *timeout = &exchange->target->policy->timeout;
  hf_time patience = exchange->task && timeout->task > timeout->deadline ? timeout->task : timeout->deadline;
  if (exchange->hints.deadline > 0 && exchange->hints.deadline < patience)
    patience = exchange->hints.deadline;
  char id[HF_CALL_ID_MAX];
  hf_log_event(loop->log, HF_LOG_INFO, "call joins an equal one", HF_LOG_STR("call", hf_outcome_call_id(exchange, id)),
               HF_LOG_STR("joined", hf_str_from(flight->call)));
  exchange->flight = flight;
  hf_list_push_back(&flight->followers, &exchange->follower);
  hf_exchange_hold(exchange, hf_time_add(exchange->started, patience), follower_due);
  if (flight->landed)
    watch(flight);
}

enum hf_stage_result hf_flight_before(struct hf_exchange *exchange) {
  if (!may_share(exchange))
    return HF_STAGE_PASS;
  struct hf_buf key;
  hf_buf_init(&key, KEY_MAX);
  enum hf_stage_result result = HF_STAGE_PASS;
  if (write_key(exchange, &key) == 0) {
    struct hf_flight *flight = hf_map_get(&exchange->client->gateway->flights->by_key, hf_buf_str(&key));
    if (flight && flight->leader && hf_held_waits(flight->leader)) {
      refuse_question(exchange);
      result = HF_STAGE_ENDED;
    } else if (flight) {
      follow(exchange, flight);
      result = HF_STAGE_KEPT;
    } else {
      lead(exchange, hf_buf_str(&key));
    }
  }
  hf_buf_deinit(&key);
  return result;
}

/* A copy, because the answer is the upstream's. Without memory for one, it is known at least what became of the call.
 */
static void copy_answer(struct hf_flight *flight, struct hf_str text) {
  struct hf_refusal refusal;
  if (text.ptr && hf_message_decode_copy(text, &flight->response, &refusal) < 0) {
    flight->response = (struct hf_message){0};
    flight->outcome.fault = HF_FAULT_BAD_REPLY;
  }
}

static void copy_substitute(struct hf_flight *flight, const struct hf_exchange *leader) {
  if (hf_buf_append_str(&flight->substitute, hf_buf_str(&leader->substitute)) == 0)
    return;
  flight->outcome.source = HF_SOURCE_LIVE;
  flight->outcome.fault = flight->outcome.fault ? flight->outcome.fault : HF_FAULT_LOCAL_LIMIT;
}

static void make_room(struct hf_flights *flights, size_t bytes) {
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &flights->watched) {
    if (flights->kept < HF_FLIGHTS_KEPT && flights->kept_bytes + bytes <= HF_FLIGHTS_KEPT_BYTES)
      return;
    struct hf_flight *flight = watched_flight(it);
    if (flight->kept && hf_list_empty(&flight->followers))
      flight_free(flight);
  }
}

/* Nobody has heard what an effect came to: it waits for somebody who asks for the same. A client that has lost its
 * stream without noticing asks once its own time is over. */
static void keep(struct hf_flight *flight) {
  struct hf_flights *flights = flight->flights;
  const hf_time now = flights->gateway->loop->now;
  size_t bytes = bytes_of(flight);
  make_room(flights, bytes);
  if (flights->kept >= HF_FLIGHTS_KEPT || flights->kept_bytes + bytes > HF_FLIGHTS_KEPT_BYTES) {
    flight_free(flight);
    return;
  }
  flight->kept = true;
  flights->kept++;
  flights->kept_bytes += bytes;
  flight->until = hf_time_add(hf_time_max(now, hf_time_add(flight->began, HF_CLIENT_PATIENCE)), flight->window);
  watch(flight);
}

/* The answer is on its way to the client, and whether it arrives is not known before the connection has gone on, or is
 * broken. */
static void put_aside(struct hf_flight *flight, struct hf_blob *blob, struct hf_str text) {
  struct hf_flights *flights = flight->flights;
  unlist(flight);
  hf_list_remove(&flight->watched);
  hf_list_push_back(&flights->told, &flight->watched);
  flight->raw = blob ? hf_blob_ref(blob) : NULL;
  flight->text = text;
  flight->until = hf_time_add(flights->gateway->loop->now, flight->window);
  flight->told = true;
  flights->told_count++;
  flights->told_bytes += text.len;
  while (flights->told_count > HF_FLIGHTS_KEPT || flights->told_bytes > HF_FLIGHTS_KEPT_BYTES)
    flight_free(watched_flight(flights->told.next));
}

static struct hf_flight *find_answer(struct hf_list *list, uint64_t number) {
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, list) {
    struct hf_flight *flight = watched_flight(it);
    if (flight->number == number && (flight->kept || flight->told))
      return flight;
  }
  return NULL;
}

void hf_flight_unheard(struct hf_flights *flights, uint64_t number) {
  struct hf_flight *flight = find_answer(&flights->told, number);
  struct hf_loop *loop = flights->gateway->loop;
  if (!flight)
    return;
  struct hf_str key = {flight->key, flight->key_len};
  if (flight->until < loop->now || hf_map_get(&flights->by_key, key) || hf_map_put(&flights->by_key, key, flight) < 0) {
    flight_free(flight);
    return;
  }
  hf_log_event(loop->log, HF_LOG_INFO, "an answer did not reach its client: it waits for an equal call",
               HF_LOG_STR("call", hf_str_from(flight->call)));
  uncount(flight);
  copy_answer(flight, flight->text);
  hf_blob_unref(flight->raw);
  flight->raw = NULL;
  flight->asked = false;
  keep(flight);
}

void hf_flight_heard(struct hf_flights *flights, uint64_t number) {
  struct hf_flight *flight = find_answer(&flights->watched, number);
  if (!flight || !hf_list_empty(&flight->followers))
    return;
  uncount(flight);
  put_aside(flight, flight->response.blob,
            flight->response.blob ? hf_message_bytes(&flight->response) : (struct hf_str){NULL, 0});
  hf_message_deinit(&flight->response);
}

/* What certainly did not happen may simply be tried again, and what was given up on purpose is a lost call. */
static bool worth_keeping(const struct hf_flight *flight) {
  return flight->window > 0 && flight->outcome.end != HF_CALL_END_CANCELLED &&
         (flight->outcome.fault == HF_FAULT_NONE || flight->outcome.executed != HF_EXECUTED_NO);
}

/* Returns false if nobody waits for it: then it is kept, or gone. */
static bool is_awaited(struct hf_flight *flight, bool heard, const struct hf_message *response) {
  const struct hf_str text = response ? hf_message_bytes(response) : (struct hf_str){NULL, 0};
  if (!hf_list_empty(&flight->followers)) {
    copy_answer(flight, text);
    return true;
  }
  if (!worth_keeping(flight)) {
    flight_free(flight);
  } else if (heard) {
    put_aside(flight, response ? response->blob : NULL, text);
  } else {
    copy_answer(flight, text);
    keep(flight);
  }
  return false;
}

void hf_flight_landed(struct hf_exchange *exchange, const struct hf_message *response,
                      const struct hf_outcome *outcome) {
  struct hf_flight *flight = exchange->flight;
  if (!flight)
    return;
  const bool heard = exchange->reply && !exchange->away;
  exchange->flight = NULL;
  flight->leader = NULL;
  flight->landed = true;
  flight->asked = heard;
  flight->outcome = *outcome;
  memcpy(flight->letter_id, exchange->letter_id, sizeof flight->letter_id);
  copy_substitute(flight, exchange);
  if (!is_awaited(flight, heard, response))
    return;
  unlist(flight); /* whoever comes from now on asks anew */
  flight->until = flight->flights->gateway->loop->now;
  watch(flight);
}

void hf_flight_left(struct hf_exchange *exchange) {
  struct hf_flight *flight = exchange->flight;
  if (!flight)
    return;
  exchange->flight = NULL;
  hf_list_remove(&exchange->follower);
  if (flight->leader == exchange)
    flight->leader = NULL;
  watch(flight);
}

void hf_flight_progress(struct hf_exchange *exchange, const struct hf_message *message) {
  struct hf_flight *flight = exchange->flight;
  struct hf_list *it, *tmp;
  if (!flight || flight->leader != exchange)
    return;
  HF_LIST_FOREACH (it, tmp, &flight->followers) {
    struct hf_exchange *follower = HF_CONTAINER_OF(it, struct hf_exchange, follower);
    struct hf_pieces text;
    hf_pieces_init(&text);
    if (hf_relay_notification(follower, message, &text) == 0)
      hf_exchange_message(follower, &text);
    hf_pieces_deinit(&text);
  }
}

void hf_flight_asks(struct hf_exchange *exchange) {
  struct hf_flight *flight = exchange->flight;
  while (flight && flight->leader == exchange && !hf_list_empty(&flight->followers))
    refuse_question(take_follower(flight));
}

void hf_flight_back(struct hf_exchange *exchange) {
  struct hf_flight *flight = exchange->flight;
  if (!flight || flight->leader != exchange)
    return;
  flight->alone = false;
  flight->until = HF_TIME_NEVER;
}

/* Before that it can still be taken back, as the client wants it that goes. */
bool hf_flight_may_have_run(struct hf_exchange *exchange) {
  if (exchange->stage != HF_STAGE_CALLING)
    return false;
  for (size_t i = 0; i < HF_LIVE_MAX; i++) {
    const struct hf_live *live = &exchange->live[i];
    const struct hf_attempt *attempt = live->ref ? hf_call_attempt(&exchange->call, live->attempt) : NULL;
    if (attempt && attempt->complete)
      return true;
  }
  return exchange->call.executed != HF_EXECUTED_NO;
}

bool hf_flight_is_deserted(struct hf_exchange *exchange) {
  const struct hf_flight *flight = exchange->flight;
  return flight && flight->alone && hf_list_empty(&flight->followers) && !hf_flight_may_have_run(exchange);
}

bool hf_flight_outlives(struct hf_exchange *exchange, enum hf_leave how, bool keep) {
  struct hf_flight *flight = exchange->flight;
  struct hf_gateway *gateway = exchange->client->gateway;
  if (!flight || gateway->draining || gateway->closing || (how == HF_LEAVE_CLOSED && flight->own))
    return false;
  hf_time window = how == HF_LEAVE_CANCELLED ? 0 : flight->window;
  hf_time until = keep ? HF_TIME_NEVER : hf_time_add(gateway->loop->now, window);
  if (flight->leader != exchange) {
    if (keep && flight->leader && flight->alone)
      hf_away_go_alone(flight->leader);
    if (window > 0 && flight->alone && flight->until < until)
      flight->until = until;
    return false;
  }
  if (hf_list_empty(&flight->followers) && ((window == 0 && !keep) || !hf_flight_may_have_run(exchange)))
    return false;
  flight->alone = true;
  flight->until = until;
  watch(flight);
  hf_trace_stage(exchange, HF_STR("its client has gone: it goes on for those who ask for the same"));
  char id[HF_CALL_ID_MAX];
  hf_log_event(gateway->loop->log, HF_LOG_INFO, "call goes on without its client",
               HF_LOG_STR("call", hf_outcome_call_id(exchange, id)), HF_LOG_INT("ms", window / HF_MS(1)));
  if (keep)
    hf_away_go_alone(exchange);
  if (hf_question_desert(exchange, HF_STR("the client is gone")) && exchange->client != gateway->nobody)
    hf_exchange_disown(exchange);
  return true;
}
