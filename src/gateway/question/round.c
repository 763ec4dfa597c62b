#include "gateway/question/round.h"

#include "gateway/live.h"
#include "gateway/observe/trace.h"
#include "gateway/pipeline.h"
#include "gateway/question/elicitation.h"
#include "gateway/question/input_required.h"
#include "gateway/question/question.h"
#include "mcp/rewrite.h"
#include "json/value.h"
#include "json/write.h"

enum { ROUND_NODES_MAX = 1 << 16 };

struct part {
  struct hf_str key;    /* raw */
  struct hf_str answer; /* raw, or absent */
  struct hf_str page;   /* its id, if it is to be opened; else absent */
  bool accepted;        /* the person agreed to open it */
};

/* The newest one of a call. In its arena, as what it points to. */
struct hf_round {
  struct hf_live *waits;               /* NULL: nobody does */
  const struct hf_target_tool *target; /* whose state it is */
  unsigned number;
  bool answered;       /* all of it: what goes to `target` with each attempt */
  struct hf_str state; /* raw, or absent */
  size_t count;
  size_t open;
  struct part parts[HF_ROUND_QUESTIONS_MAX];
};

bool hf_round_is_wanted(const struct hf_exchange *exchange, const struct hf_message *response) {
  return exchange->era != HF_ERA_MODERN && response->kind == HF_MESSAGE_RESULT &&
         hf_str_equal(hf_message_raw(response, HF_FIELD_RESULT_TYPE), HF_STR("\"input_required\""));
}

bool hf_round_waits(const struct hf_live *live) {
  const struct hf_round *round = live->exchange->round;
  return round && round->waits == live;
}

/* The attempt ends with the question as its answer, which the client cannot be given. */
static void give_up(struct hf_exchange *exchange, unsigned attempt, const char *why) {
  exchange->unasked = hf_arena_copy(&exchange->arena, hf_str_from(why));
  if (!exchange->unasked.ptr)
    exchange->unasked = HF_STR("there is no memory to ask it");
  if (exchange->round)
    exchange->round->waits = NULL;
  hf_pipeline_post(exchange, &(struct hf_call_event){.kind = HF_CALL_ATTEMPT_DONE,
                                                     .attempt = attempt,
                                                     .done = {.result = HF_ATTEMPT_PENDING}});
}

/* One that must not go out again is ended by the call's timer, as soon as that is set anew. */
static void all_answered(struct hf_round *round) {
  struct hf_live *live = round->waits;
  struct hf_exchange *exchange = live->exchange;
  const bool again = hf_call_send_again(&exchange->call, live->attempt, exchange->client->gateway->loop->now);
  if (again)
    round->waits = NULL;
  round->answered = true;
  if (hf_pipeline_event(exchange, &(struct hf_call_event){.kind = HF_CALL_RESUMED, .attempt = live->attempt}) && again)
    hf_live_again(live);
}

static bool is_accepted(struct hf_str answer) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.tree_depth = 1;
  options.max_nodes = ROUND_NODES_MAX;
  struct hf_json_scan scan;
  uint32_t action;
  hf_json_scan_init(&scan, &options);
  bool accepted = hf_json_scan_feed(&scan, answer.ptr, answer.len, true) == 0;
  const struct hf_json_doc doc = hf_json_doc(answer.ptr, &scan);
  accepted = accepted && hf_json_member(&doc, 0, HF_STR("action"), &action) == 0 &&
             hf_str_equal(hf_json_span(&doc, action), HF_STR("\"accept\""));
  hf_json_scan_deinit(&scan);
  return accepted;
}

/* What other questions of the round are still open dies with the attempt. */
static void on_answer(struct hf_exchange *exchange, const struct hf_message *response, unsigned tag) {
  struct hf_round *round = exchange->round;
  const struct hf_live *live = round->waits;
  if (!live)
    return; /* given up already */
  if (!response || response->kind != HF_MESSAGE_RESULT) {
    give_up(exchange, live->attempt, response ? "the client answered it with an error" : "the client has gone");
    if (response)
      hf_question_void(exchange, live);
    return;
  }
  struct part *part = &round->parts[tag];
  part->accepted = is_accepted(hf_message_raw(response, HF_FIELD_RESULT));
  part->answer = hf_arena_copy(&exchange->arena, hf_message_raw(response, HF_FIELD_RESULT));
  if (!part->answer.ptr) {
    give_up(exchange, live->attempt, "its answer is too large");
    hf_question_void(exchange, live);
  } else if (--round->open == 0) {
    all_answered(round);
  }
}

static struct hf_round *round_of(struct hf_exchange *exchange) {
  if (!exchange->round)
    exchange->round = hf_arena_alloc(&exchange->arena, sizeof *exchange->round);
  return exchange->round;
}

/* A page that the client is asked to open, by its id. */
static void note_page(struct hf_exchange *exchange, struct part *part, struct hf_str params) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.tree_depth = 1;
  options.max_nodes = ROUND_NODES_MAX;
  struct hf_json_scan scan;
  uint32_t node;
  hf_json_scan_init(&scan, &options);
  if (params.ptr && hf_json_scan_feed(&scan, params.ptr, params.len, true) == 0) {
    const struct hf_json_doc doc = hf_json_doc(params.ptr, &scan);
    struct hf_str id;
    if (hf_json_member(&doc, 0, HF_STR("elicitationId"), &node) == 0 &&
        hf_json_string(&doc, node, &exchange->arena, &id) == 0)
      part->page = hf_arena_copy(&exchange->arena, id);
  }
  hf_json_scan_deinit(&scan);
}

const char *hf_round_ask(struct hf_live *live, const struct hf_json_doc *doc, uint32_t request,
                         hf_question_fn *answered, unsigned tag) {
  struct hf_exchange *exchange = live->exchange;
  struct hf_own_question question = {.live = live, .answered = answered, .tag = tag};
  struct hf_buf text;
  hf_buf_init(&text, HF_MESSAGE_BYTES_MAX);
  int r = hf_input_request_read(exchange, doc, request, &question.method, &text);
  question.params = text.len ? hf_buf_str(&text) : (struct hf_str){NULL, 0};
  if (r == 0 && answered == on_answer)
    note_page(exchange, &exchange->round->parts[tag], question.params);
  if (r == 0)
    r = hf_question_ask_own(exchange, &question);
  hf_buf_deinit(&text);
  switch (r) {
  case 0:
    return NULL;
  case HF_ERR_UNSUPPORTED:
    return "this client did not declare that it can be asked for that";
  case HF_ERR_INVALID:
    return "the question cannot be understood";
  case HF_ERR_LIMIT:
    return "too many questions to this client are open";
  default:
    return "there is no memory to ask it";
  }
}

/* Keys and state are kept; the questions themselves are gone through once more when they are asked. */
static const char *read_round(struct hf_round *round, struct hf_exchange *exchange, const struct hf_json_doc *doc,
                              uint32_t *ret_requests) {
  uint32_t node, key, value;
  round->state = (struct hf_str){NULL, 0};
  round->count = 0;
  *ret_requests = HF_JSON_NONE;
  if (hf_json_member(doc, 0, HF_STR("requestState"), &node) == 0) {
    round->state = hf_arena_copy(&exchange->arena, hf_json_span(doc, node));
    if (!round->state.ptr)
      return "its state is too large";
  }
  if (hf_json_member(doc, 0, HF_STR("inputRequests"), &node) < 0)
    return round->state.ptr ? NULL : "the question cannot be understood";
  *ret_requests = node;
  struct hf_json_iter iter = hf_json_iter(doc, node);
  while (hf_json_next(doc, &iter, &key, &value)) {
    if (round->count == HF_ROUND_QUESTIONS_MAX)
      return "it asks too much at once";
    const struct hf_str copy = hf_arena_copy(&exchange->arena, hf_json_span(doc, key));
    if (!copy.ptr)
      return "there is no memory to ask it";
    round->parts[round->count++] = (struct part){.key = copy};
  }
  return NULL;
}

static const char *ask_all(struct hf_live *live, const struct hf_json_doc *doc, uint32_t requests) {
  const char *why = NULL;
  uint32_t key, value;
  unsigned tag = 0;
  if (requests == HF_JSON_NONE)
    return NULL;
  struct hf_json_iter iter = hf_json_iter(doc, requests);
  while (!why && hf_json_next(doc, &iter, &key, &value))
    why = hf_round_ask(live, doc, value, on_answer, tag++);
  return why;
}

/* All of what is asked goes out before any of it can be answered. */
static const char *begin(struct hf_round *round, struct hf_live *live, struct hf_str result) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.tree_depth = 4; /* down to the members of each question */
  options.max_nodes = ROUND_NODES_MAX;
  struct hf_json_scan scan;
  uint32_t requests;
  hf_json_scan_init(&scan, &options);
  const char *why = "the question cannot be understood";
  if (hf_json_scan_feed(&scan, result.ptr, result.len, true) == 0 && scan.nodes[0].type == HF_JSON_OBJECT) {
    const struct hf_json_doc doc = hf_json_doc(result.ptr, &scan);
    why = read_round(round, live->exchange, &doc, &requests);
    round->open = round->count;
    if (!why)
      why = ask_all(live, &doc, requests);
  }
  hf_json_scan_deinit(&scan);
  return why;
}

void hf_round_begin(struct hf_live *live, const struct hf_message *response) {
  struct hf_exchange *exchange = live->exchange;
  struct hf_round *round = round_of(exchange);
  if (!round || round->number == HF_ROUNDS_MAX) {
    give_up(exchange, live->attempt, round ? "it was asked too often" : "there is no memory to ask it");
    return;
  }
  round->number++;
  round->answered = false;
  round->target = live->target;
  round->waits = live;
  hf_call_stay(&exchange->call); /* whoever gave a state must get it back */
  hf_trace_stage(exchange, HF_STR("the server asks something first, and its client is asked"));
  if (!hf_pipeline_event(exchange, &(struct hf_call_event){.kind = HF_CALL_PAUSED, .attempt = live->attempt}))
    return;
  const char *why = begin(round, live, hf_message_raw(response, HF_FIELD_RESULT));
  if (why) {
    give_up(exchange, live->attempt, why);
    hf_question_void(exchange, live);
  } else if (round->count == 0) {
    all_answered(round);
  }
}

static int write_answers(const struct hf_round *round, struct hf_buf *out) {
  struct hf_json_writer w;
  hf_json_writer_init(&w, out);
  hf_json_write_object(&w);
  for (size_t i = 0; i < round->count; i++) {
    hf_json_write_key_raw(&w, round->parts[i].key);
    hf_json_write_raw(&w, round->parts[i].answer);
  }
  hf_json_write_object_end(&w);
  return hf_json_write_finish(&w);
}

void hf_round_put(const struct hf_exchange *exchange, const struct hf_live *live, struct hf_rewrite *rewrite) {
  const struct hf_round *round = exchange->round;
  const uint32_t params = exchange->request.at[HF_FIELD_PARAMS];
  if (!round || !round->answered || round->target != live->target)
    return;
  if (round->state.ptr)
    hf_rewrite_set_member(rewrite, params, HF_STR("requestState"), round->state);
  if (round->count == 0)
    return;
  struct hf_buf answers;
  hf_buf_init(&answers, HF_MESSAGE_BYTES_MAX);
  if (write_answers(round, &answers) == 0)
    hf_rewrite_set_member(rewrite, params, HF_STR("inputResponses"), hf_buf_str(&answers));
  else
    rewrite->error = HF_ERR_NOMEM;
  hf_buf_deinit(&answers);
}

void hf_round_over(struct hf_exchange *exchange, const struct hf_message *response) {
  struct hf_round *round = exchange->round;
  if (!round || response->kind != HF_MESSAGE_RESULT)
    return;
  for (size_t i = 0; i < round->count; i++) {
    const struct part *part = &round->parts[i];
    if (part->page.ptr && part->accepted)
      hf_elicitation_tell(exchange, part->page);
  }
  round->count = 0;
}

void hf_round_end(const struct hf_live *live) {
  if (hf_round_waits(live))
    live->exchange->round->waits = NULL;
}
