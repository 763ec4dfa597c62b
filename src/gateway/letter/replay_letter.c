#include "base/alloc.h"
#include "gateway/letter/replay_answer.h"
#include "gateway/letter/replay_state.h"
#include "gateway/outcome.h"
#include "mcp/compose.h"
#include "json/merge.h"
#include "json/write.h"

#include <stdio.h>

enum {
  LETTER_BYTES_MAX = 128 << 20,
  REQUEST_MAX = 66 << 20,
  ANSWER_MAX = 80 << 20,
  RESULT_MAX = 1 << 20, /* larger ones are not kept with the letter */
  HISTORY_MAX = 1 << 20,
};

static void settle(struct hf_replay_item *item, enum hf_replay_end end, enum hf_letter_status status,
                   struct hf_str result, const char *what);

__attribute__((format(printf, 2, 3))) static void tell_why(char why[HF_ERROR_TEXT_MAX], const char *format, ...) {
  va_list args;
  va_start(args, format);
  if (vsnprintf(why, HF_ERROR_TEXT_MAX, format, args) < 0)
    why[0] = '\0';
  va_end(args);
}

static struct hf_gateway *gateway_of(const struct hf_replay_item *item) {
  return item->replay->gateway;
}

/* It may have run, and nobody has said that it has not. */
static bool is_doubtful(const struct hf_replay_item *item) {
  return !hf_str_equal(item->letter.executed, HF_STR("no")) && !item->replay->options.executed_no;
}

/* What never got as far as a server would be refused as it was. */
static bool was_misfit(const struct hf_letter *letter) {
  return hf_str_equal(letter->reason, hf_str_from(hf_fault_name(HF_FAULT_SCHEMA)));
}

/* Says why it is not replayed; false if it is. */
static bool is_refused(struct hf_replay_item *item) {
  static const char *const states[HF_LETTER_STATUS_COUNT] = {
      [HF_LETTER_REPLAYING] = "it is being replayed already",
      [HF_LETTER_REPLAYED] = "it was replayed before; requeue it first if it is to run again",
      [HF_LETTER_DISCARDED] = "it was discarded; requeue it first",
      [HF_LETTER_QUARANTINED] = "it came back too often and is in quarantine; requeue it first",
  };
  const struct hf_replay_options *options = &item->replay->options;
  const struct hf_letter *letter = &item->letter;
  item->repeat = (struct hf_replay_repeat){NULL, 0};
  if (is_doubtful(item))
    item->repeat = hf_replay_may_repeat(gateway_of(item), letter, options->patch.ptr != NULL);
  if (letter->status != HF_LETTER_DEAD)
    tell_why(item->why, "%s", states[letter->status]);
  else if (!letter->arguments.ptr || (letter->redacted && !options->patch.ptr))
    tell_why(item->why, "its arguments were not kept whole; a patch has to bring what is missing");
  else if (was_misfit(letter) && !options->patch.ptr)
    tell_why(item->why,
             "it was never sent, because its arguments don't fit the tool's schema; a patch (--patch) has to "
             "bring what does");
  else if (is_doubtful(item) && !item->repeat.why && !options->reconcile)
    tell_why(item->why, "%s; ask the status check (--reconcile), or say that it has not run (--force-executed=no)",
             hf_str_equal(letter->executed, HF_STR("yes")) ? "it has run" : "it may have run");
  return item->why[0] != '\0';
}

static void refuse(struct hf_replay_item *item) {
  item->end = HF_REPLAY_REFUSED;
  if (item->marked)
    settle(item, HF_REPLAY_REFUSED, HF_LETTER_DEAD, (struct hf_str){NULL, 0}, "replay_refused");
  else
    hf_replay_ended(item);
}

/* What is written to the letter's history. Returns an absent text if there is no memory for it. */
static struct hf_str history(struct hf_replay_item *item, const char *what, bool first) {
  const struct hf_replay_options *options = &item->replay->options;
  char call[HF_CALL_ID_MAX];
  struct hf_buf text;
  struct hf_json_writer w;
  hf_buf_init(&text, HISTORY_MAX);
  hf_json_writer_init(&w, &text);
  hf_json_write_object(&w);
  hf_json_write_member_int(&w, "atMs", gateway_of(item)->loop->wall_ms);
  hf_json_write_member_str(&w, "what", hf_str_from(what));
  hf_json_write_member_str(&w, "by", options->by.ptr ? options->by : HF_STR("operator"));
  hf_json_write_member_str(&w, "call", hf_outcome_id_of(item->number, call));
  if (first && item->letter.call.ptr)
    hf_json_write_member_str(&w, "callBefore", item->letter.call);
  if (first && options->executed_no)
    hf_json_write_member_str(&w, "executedBefore", item->letter.executed);
  if (first && options->patch.ptr)
    hf_json_write_member_raw(&w, "patch", options->patch);
  const char *why = first ? item->repeat.why : item->why;
  if (why && why[0])
    hf_json_write_member_str(&w, "why", hf_str_from(why));
  hf_json_write_object_end(&w);
  struct hf_str kept = {NULL, 0};
  if (hf_json_write_finish(&w) == 0)
    kept = hf_arena_copy(&item->arena, hf_buf_str(&text));
  hf_buf_deinit(&text);
  return kept;
}

static void change(struct hf_replay_item *item, const struct hf_letter *letter,
                   void (*done)(struct hf_store_wait *wait, int error, struct hf_str id)) {
  struct hf_store *store = gateway_of(item)->store;
  item->wait = (struct hf_store_wait){.done = done};
  item->waiting = true;
  store->ops->change(store, letter, &item->wait);
}

static void on_settled(struct hf_store_wait *wait, int error, struct hf_str id) {
  (void)id;
  struct hf_replay_item *item = HF_CONTAINER_OF(wait, struct hf_replay_item, wait);
  item->waiting = false;
  if (error < 0) {
    char call[HF_CALL_ID_MAX];
    hf_log_event(gateway_of(item)->loop->log, HF_LOG_ERROR, "what became of a dead letter could not be written",
                 HF_LOG_STR("letter", hf_str_from(item->id)), HF_LOG_STR("reason", hf_str_from(hf_err_text(error))),
                 HF_LOG_STR("call", hf_outcome_id_of(item->number, call)));
  }
  hf_replay_ended(item);
}

/* The end, written to the letter. */
static void settle(struct hf_replay_item *item, enum hf_replay_end end, enum hf_letter_status status,
                   struct hf_str result, const char *what) {
  item->step = HF_REPLAY_SETTLING;
  item->end = end;
  const struct hf_letter letter = {
      .id = hf_str_from(item->id),
      .status = status,
      .replays = end == HF_REPLAY_REFUSED || end == HF_REPLAY_RAN ? 0 : item->letter.replays + 1,
      .last_ms = end == HF_REPLAY_FAILED ? gateway_of(item)->loop->wall_ms : 0,
      .executed = hf_str_from(item->executed),
      .result = result,
      .history = history(item, what, false),
  };
  change(item, &letter, on_settled);
}

static bool is_known_not_to_have_run(const struct hf_replay_item *item) {
  return item->proved || item->replay->options.executed_no;
}

/* `executed` is of this attempt; what was known before stays, unless somebody knows better. */
static void fail(struct hf_replay_item *item, const char *executed, bool buried) {
  hf_metrics_add(&gateway_of(item)->metrics, HF_METRIC_REENTRIES);
  item->executed = hf_replay_executed(is_known_not_to_have_run(item) ? HF_STR("no") : item->letter.executed, executed);
  item->end = HF_REPLAY_FAILED;
  if (buried)
    hf_replay_ended(item);
  else
    settle(item, HF_REPLAY_FAILED, HF_LETTER_DEAD, (struct hf_str){NULL, 0}, "replay_failed");
}

static void read_answer(struct hf_job *job) {
  struct hf_replay_item *item = HF_CONTAINER_OF(job, struct hf_replay_item, job);
  hf_client_close(item->client);
  item->client = NULL;
  struct hf_replay_verdict v;
  struct hf_message answer;
  struct hf_refusal refusal;
  if (hf_message_decode(&item->answer, &answer, &refusal) < 0) {
    tell_why(item->why, "its answer could not be read");
    fail(item, hf_executed_name(HF_EXECUTED_MAYBE), false);
    return;
  }
  hf_replay_judge(&answer, hf_str_from(item->id), &item->arena, &v);
  if (v.good) {
    const struct hf_str not_kept = HF_STR("{\"notKept\":\"the result is too large to be kept\"}");
    struct hf_str result = hf_message_raw(&answer, HF_FIELD_RESULT);
    item->executed = v.executed;
    hf_metrics_add(&gateway_of(item)->metrics, HF_METRIC_REPLAYS_DONE);
    settle(item, HF_REPLAY_REPLAYED, HF_LETTER_REPLAYED, result.len <= RESULT_MAX ? result : not_kept, "replayed");
  } else {
    tell_why(item->why, "%.*s", HF_STR_FMT(v.reason.ptr ? v.reason : HF_STR("the answer is an error")));
    fail(item, v.executed, v.buried);
  }
  hf_message_deinit(&answer);
}

static void on_message(struct hf_reply *reply, struct hf_pieces *text) {
  (void)reply;
  hf_pieces_deinit(text);
}

static void on_finish(struct hf_reply *reply, int http_status, struct hf_pieces *text) {
  (void)http_status;
  struct hf_replay_item *item = HF_CONTAINER_OF(reply, struct hf_replay_item, reply);
  if (hf_pieces_join(text, &item->answer) < 0)
    hf_buf_reset(&item->answer, 0);
  hf_pieces_deinit(text);
  hf_job_defer(gateway_of(item)->loop, &item->job);
}

static void on_notify(struct hf_client *client, void *owner, struct hf_pieces *text) {
  (void)client, (void)owner;
  hf_pieces_deinit(text);
}

static int write_request(const struct hf_replay_item *item, struct hf_buf *out) {
  struct hf_json_writer w;
  hf_json_writer_init(&w, out);
  hf_json_write_object(&w);
  hf_json_write_member_str(&w, "jsonrpc", HF_STR("2.0"));
  hf_json_write_member_int(&w, "id", 1);
  hf_json_write_member_str(&w, "method", HF_STR("tools/call"));
  hf_json_write_key(&w, "params");
  hf_json_write_object(&w);
  hf_json_write_member_str(&w, "name", item->letter.tool);
  hf_json_write_member_raw(&w, "arguments", item->arguments);
  hf_json_write_key(&w, "_meta");
  hf_json_write_object(&w);
  hf_json_write_member_str(&w, HF_META_VERSION, hf_version_text(HF_VERSION_NEWEST));
  hf_json_write_member_raw(&w, HF_META_CAPABILITIES, HF_STR("{}"));
  hf_json_write_member_raw(&w, HF_META_CLIENT_INFO, HF_STR(HF_IMPLEMENTATION));
  hf_json_write_key(&w, HF_META_CALL);
  hf_json_write_object(&w);
  hf_json_write_member_int(&w, "priority", HF_PRIORITY_LAST);
  if (item->key.ptr)
    hf_json_write_member_str(&w, "idempotencyKey", item->key);
  if (item->key.ptr && hf_str_equal(item->key, item->letter.key))
    hf_json_write_member_int(&w, "keyFirstMs", item->letter.first_ms);
  if (item->repeat.left_ms)
    hf_json_write_member_int(&w, "deadlineMs", item->repeat.left_ms);
  hf_json_write_object_end(&w);
  hf_json_write_object_end(&w);
  hf_json_write_object_end(&w);
  hf_json_write_object_end(&w);
  return hf_json_write_finish(&w);
}

static void call(struct hf_replay_item *item) {
  static const struct hf_client_ops client_ops = {.notify = on_notify};
  static const struct hf_reply_ops reply_ops = {.message = on_message, .finish = on_finish};
  const struct hf_client_options options = {.principal = item->letter.principal.len ? item->letter.principal
                                                                                    : (struct hf_str){NULL, 0},
                                            .era = HF_ERA_MODERN,
                                            .ops = &client_ops,
                                            .owner = item,
                                            .replay = item->number};
  struct hf_message message = {0};
  struct hf_refusal refusal;
  struct hf_buf text;
  hf_buf_init(&text, REQUEST_MAX);
  int r = write_request(item, &text);
  if (r == 0)
    r = hf_message_decode(&text, &message, &refusal);
  if (r == 0)
    r = hf_client_open(gateway_of(item), &options, &item->client);
  hf_buf_deinit(&text);
  if (r < 0) {
    hf_message_deinit(&message);
    tell_why(item->why, "it could not be called: %s", hf_err_text(r));
    fail(item, hf_executed_name(HF_EXECUTED_NO), false);
    return;
  }
  char id[HF_CALL_ID_MAX];
  item->step = HF_REPLAY_CALLING;
  item->reply = (struct hf_reply){.ops = &reply_ops};
  hf_metrics_add(&gateway_of(item)->metrics, HF_METRIC_REPLAYS);
  hf_replay_tell(item->replay, &item->letter, "started", item->repeat.why, hf_outcome_id_of(item->number, id));
  hf_client_handle(item->client, &message, &item->reply);
  hf_message_deinit(&message);
}

static void on_noted(struct hf_store_wait *wait, int error, struct hf_str id) {
  (void)id;
  struct hf_replay_item *item = HF_CONTAINER_OF(wait, struct hf_replay_item, wait);
  item->waiting = false;
  if (error == 0) {
    call(item);
    return;
  }
  tell_why(item->why, "%s", hf_err_text(error));
  refuse(item);
}

/* What was found out, or said, of the calls before, and what is sent now instead: the letter has it before anything is
 * sent, so that what becomes of this call is held against that. */
static void note(struct hf_replay_item *item) {
  const struct hf_replay_options *options = &item->replay->options;
  bool news = is_known_not_to_have_run(item) && !hf_str_equal(item->letter.executed, HF_STR("no"));
  if (!news && !options->patch.ptr) {
    call(item);
    return;
  }
  char call_id[HF_CALL_ID_MAX];
  struct hf_str absent = {NULL, 0};
  item->step = HF_REPLAY_NOTING;
  const struct hf_letter letter = {
      .id = hf_str_from(item->id),
      .status = HF_LETTER_REPLAYING,
      .call = hf_outcome_id_of(item->number, call_id),
      .executed = news ? HF_STR("no") : absent,
      .arguments = options->patch.ptr ? item->arguments : absent,
      .key = options->patch.ptr ? item->key : absent,
  };
  change(item, &letter, on_noted);
}

/* Nobody knows when a call ended that could still begin to run, but it was not after it became a letter. */
static bool has_settled(const struct hf_replay_item *item, hf_time settle_time) {
  return gateway_of(item)->loop->wall_ms - item->letter.last_ms >= settle_time / HF_MS(1);
}

static void on_checked(void *ctx, enum hf_check verdict) {
  struct hf_replay_item *item = ctx;
  item->check = NULL;
  if (verdict == HF_CHECK_RAN) {
    item->executed = hf_executed_name(HF_EXECUTED_YES);
    tell_why(item->why, "the status check says that it has run");
    settle(item, HF_REPLAY_RAN, HF_LETTER_REPLAYED, HF_STR("{\"executed\":\"yes\",\"by\":\"status check\"}"), "ran");
  } else if (verdict == HF_CHECK_DID_NOT_RUN) {
    item->proved = true;
    note(item);
  } else {
    tell_why(item->why, "the status check cannot say whether it has run");
    refuse(item);
  }
}

static void check(struct hf_replay_item *item) {
  struct hf_str arguments;
  const struct hf_tool_settings *tool =
      hf_replay_checked_tool(gateway_of(item), &item->letter, &item->arena, &arguments);
  item->step = HF_REPLAY_CHECKING;
  if (!tool || !tool->reconcile.tool.server.ptr) {
    tell_why(item->why, tool ? "its tool has no status check (reconcile)" : "it is not known which tool can have run");
    refuse(item);
    return;
  }
  if (!has_settled(item, tool->reconcile.settle)) {
    tell_why(item->why, "it can still begin to run: the time to settle has not passed, or is not configured");
    refuse(item);
    return;
  }
  struct hf_gateway *gateway = gateway_of(item);
  int r =
      hf_check_ask(gateway, gateway->nobody, tool, arguments, tool->reconcile.timeout, on_checked, item, &item->check);
  if (r < 0) {
    tell_why(item->why, "the status check could not be asked: %s", hf_err_text(r));
    refuse(item);
  }
}

/* Arguments and key as they are sent. */
static int prepare(struct hf_replay_item *item) {
  struct hf_str patch = item->replay->options.patch;
  item->arguments = item->letter.arguments;
  item->key = item->letter.key.len ? item->letter.key : (struct hf_str){NULL, 0};
  if (!patch.ptr)
    return 0;
  struct hf_buf merged;
  hf_buf_init(&merged, REQUEST_MAX);
  int r = hf_json_merge(item->letter.arguments, patch, &merged);
  if (r == 0)
    item->arguments = hf_arena_copy(&item->arena, hf_buf_str(&merged));
  hf_buf_deinit(&merged);
  if (item->key.ptr)
    item->key = hf_arena_printf(&item->arena, "%s-%u", item->id, item->letter.replays + 1);
  bool kept = item->arguments.ptr && (item->key.ptr || !item->letter.key.len);
  return r < 0 ? r : kept ? 0 : HF_ERR_NOMEM;
}

static void fetch(struct hf_replay_item *item, enum hf_replay_step step);

static void on_marked(struct hf_store_wait *wait, int error, struct hf_str id) {
  (void)id;
  struct hf_replay_item *item = HF_CONTAINER_OF(wait, struct hf_replay_item, wait);
  item->waiting = false;
  item->marked = error == 0;
  if (error == 0) {
    fetch(item, HF_REPLAY_FETCHING_MARKED);
    return;
  }
  tell_why(item->why, "%s",
           error == HF_ERR_BUSY      ? "somebody else replays it"
           : error == HF_ERR_INVALID ? "it is not dead any more"
                                     : hf_err_text(error));
  refuse(item);
}

/* The store keeps others from a letter that is marked; within this gateway nobody else touches one before all that
 * was asked for it is written. */
static bool is_taken(const struct hf_replay_item *item) {
  struct hf_list *replay_it, *replay_tmp, *it, *tmp;
  HF_LIST_FOREACH (replay_it, replay_tmp, &gateway_of(item)->replays) {
    const struct hf_replay *replay = HF_CONTAINER_OF(replay_it, struct hf_replay, link);
    HF_LIST_FOREACH (it, tmp, &replay->items) {
      const struct hf_replay_item *other = HF_CONTAINER_OF(it, struct hf_replay_item, link);
      if (other != item && other->step != HF_REPLAY_FETCHING && strcmp(other->id, item->id) == 0)
        return true;
    }
  }
  return false;
}

static void mark(struct hf_replay_item *item) {
  struct hf_gateway *gateway = gateway_of(item);
  int r = prepare(item);
  if (r < 0) {
    tell_why(item->why, "the patch does not fit its arguments: %s", hf_err_text(r));
    refuse(item);
    return;
  }
  char id[HF_CALL_ID_MAX];
  item->step = HF_REPLAY_MARKING;
  item->number = hf_gateway_next_call(gateway);
  const struct hf_letter letter = {
      .id = hf_str_from(item->id),
      .status = HF_LETTER_REPLAYING,
      .call = hf_outcome_id_of(item->number, id),
      .history = history(item, "replay", true),
  };
  change(item, &letter, on_marked);
}

static void tell_only(struct hf_replay_item *item) {
  item->end = HF_REPLAY_WOULD;
  if (is_doubtful(item) && !item->repeat.why)
    tell_why(item->why, "if the status check says that it has not run");
  hf_replay_ended(item);
}

/* Between the look at it and the mark another gateway may have replayed it, or an equal call may have failed: then it
 * may have run, whatever it said before. From the mark on it is ours. */
static bool is_as_it_was(const struct hf_replay_item *item) {
  const struct hf_letter *now = &item->marked_letter;
  return now->status == HF_LETTER_REPLAYING && now->replays == item->letter.replays &&
         now->count == item->letter.count && hf_str_equal(now->executed, item->letter.executed);
}

static void look_at(struct hf_replay_item *item) {
  if (!is_refused(item) && is_taken(item))
    tell_why(item->why, "it is being replayed already");
  if (item->why[0])
    refuse(item);
  else if (item->replay->options.dry_run)
    tell_only(item);
  else
    mark(item);
}

static void on_fetched(struct hf_store_query *query, int error) {
  struct hf_replay_item *item = HF_CONTAINER_OF(query, struct hf_replay_item, query);
  item->querying = false;
  if (error < 0 || !item->found) {
    tell_why(item->why, "%s", error < 0 ? hf_err_text(error) : "there is no such letter");
    refuse(item);
  } else if (item->step == HF_REPLAY_FETCHING) {
    look_at(item);
  } else if (!is_as_it_was(item)) {
    tell_why(item->why, "it was replayed, or an equal call has failed, just before");
    refuse(item);
  } else if (is_refused(item)) {
    refuse(item); /* its key has expired just now */
  } else if (is_doubtful(item) && !item->repeat.why) {
    check(item);
  } else {
    note(item);
  }
}

static struct hf_str copied(struct hf_replay_item *item, struct hf_str text, bool *good) {
  if (!text.ptr)
    return text;
  struct hf_str copy = hf_arena_copy(&item->arena, text);
  *good = *good && copy.ptr;
  return copy;
}

static void on_row(void *ctx, const struct hf_letter *letter) {
  struct hf_replay_item *item = ctx;
  bool good = true;
  if (item->step == HF_REPLAY_FETCHING_MARKED) {
    item->marked_letter = (struct hf_letter){.status = letter->status,
                                             .replays = letter->replays,
                                             .count = letter->count,
                                             .executed = copied(item, letter->executed, &good)};
    item->found = good;
    return;
  }
  item->letter = (struct hf_letter){
      .id = hf_str_from(item->id),
      .call = copied(item, letter->call, &good),
      .principal = copied(item, letter->principal, &good),
      .tool = copied(item, letter->tool, &good),
      .route = copied(item, letter->route, &good),
      .providers = copied(item, letter->providers, &good),
      .reason = copied(item, letter->reason, &good),
      .executed = copied(item, letter->executed, &good),
      .arguments = copied(item, letter->arguments, &good),
      .key = copied(item, letter->key, &good),
      .first_ms = letter->first_ms,
      .last_ms = letter->last_ms,
      .replays = letter->replays,
      .count = letter->count,
      .status = letter->status,
      .redacted = letter->redacted,
  };
  item->found = good;
}

static void fetch(struct hf_replay_item *item, enum hf_replay_step step) {
  struct hf_store *store = gateway_of(item)->store;
  const struct hf_letter_filter filter = {.id = hf_str_from(item->id), .any_status = true, .limit = 1};
  item->step = step;
  item->found = false;
  item->query = (struct hf_store_query){.row = on_row, .done = on_fetched, .ctx = item};
  item->querying = true;
  store->ops->letters(store, &filter, &item->query);
}

int hf_replay_item_start(struct hf_replay *replay, const char *id) {
  struct hf_replay_item *item = hf_calloc(1, sizeof *item);
  if (!item)
    return HF_ERR_NOMEM;
  item->replay = replay;
  memcpy(item->id, id, sizeof item->id);
  hf_arena_init(&item->arena, LETTER_BYTES_MAX);
  hf_buf_init(&item->answer, ANSWER_MAX);
  hf_job_init(&item->job, read_answer);
  hf_list_push_back(&replay->items, &item->link);
  replay->active++;
  fetch(item, HF_REPLAY_FETCHING);
  return 0;
}

void hf_replay_item_free(struct hf_replay_item *item) {
  struct hf_store *store = gateway_of(item)->store;
  if (item->querying)
    store->ops->forget_query(store, &item->query);
  if (item->waiting)
    store->ops->forget(store, &item->wait);
  hf_check_end(item->check);
  if (item->client)
    hf_client_close(item->client);
  hf_job_cancel(&item->job);
  hf_list_remove(&item->link);
  hf_buf_deinit(&item->answer);
  hf_arena_deinit(&item->arena);
  hf_free(item);
}
