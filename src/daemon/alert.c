#include "daemon/alert.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "daemon/alert_command.h"
#include "daemon/quantity.h"
#include "daemon/webhook.h"
#include "policy/permit.h"
#include "json/write.h"

#include <inttypes.h>

enum { TEXT_MAX = 2048, JSON_MAX = 16 << 10, NAME_MAX_LEN = 128 };

enum kind { PRIORITY, QUARANTINE, EXPIRING, DEPTH, AGE, KINDS };

static const char *const names[KINDS] = {"priority", "quarantine", "expiring", "depth", "age"};

/* The newest letter of a kind, as far as an alert tells of it. */
struct example {
  bool present;
  char id[HF_LETTER_ID_MAX];
  char call[NAME_MAX_LEN];
  char tool[NAME_MAX_LEN];
  char providers[NAME_MAX_LEN];
  char reason[NAME_MAX_LEN];
  char executed[NAME_MAX_LEN];
};

struct state {
  hf_time told;    /* HF_TIME_NEVER: not yet */
  uint64_t untold; /* that came since */
  bool above;      /* depth and age: the limit is passed, which is told once */
  struct example example;
};

struct hf_alerts {
  struct hf_alerts_options options;
  uint32_t depth;
  hf_time age;
  struct hf_webhook *webhook;
  struct hf_alert_command *command;
  struct state states[KINDS];
  struct hf_timer timer;
  hf_time next_check;
};

static void keep(char to[NAME_MAX_LEN], struct hf_str text) {
  const size_t len = hf_str_cut(text, NAME_MAX_LEN - 1).len;
  memcpy(to, text.ptr ? text.ptr : "", len);
  to[len] = '\0';
}

static void keep_example(struct example *example, const struct hf_letter *letter) {
  example->present = true;
  const size_t len = letter->id.len < sizeof example->id ? letter->id.len : sizeof example->id - 1;
  memcpy(example->id, letter->id.ptr, len);
  example->id[len] = '\0';
  keep(example->call, letter->call);
  keep(example->tool, letter->tool);
  keep(example->providers, letter->providers);
  keep(example->reason, letter->reason);
  keep(example->executed, letter->executed);
}

static int write_sentence(const struct hf_alerts *alerts, enum kind kind, const struct hf_store_stats *stats,
                          struct hf_buf *out) {
  const struct state *state = &alerts->states[kind];
  const struct example *one = &state->example;
  char age[HF_QUANTITY_TEXT_MAX];
  int r = 0;
  switch (kind) {
  case PRIORITY:
    r = hf_buf_printf(out, "a call of the first priority failed: '%s' (%s, executed: %s), dead letter %s", one->tool,
                      one->reason, one->executed, one->id);
    break;
  case QUARANTINE:
    r = hf_buf_printf(out, "dead letter %s of '%s' (%s) came back too often and is set aside", one->id, one->tool,
                      one->reason);
    break;
  case EXPIRING:
    r = hf_buf_printf(out, "dead letter %s of '%s' will be removed within a day", one->id, one->tool);
    break;
  case DEPTH:
    r = hf_buf_printf(out, "%" PRIu64 " dead letter%s; the limit is %u", stats->depth[HF_LETTER_DEAD],
                      stats->depth[HF_LETTER_DEAD] == 1 ? " waits" : "s wait", alerts->depth);
    break;
  case AGE:
    r = hf_buf_printf(out, "the oldest dead letter waits for longer than %s", hf_duration_print(alerts->age, age));
    break;
  case KINDS:
    break;
  }
  if (r == 0 && one->present && state->untold > 1)
    r = hf_buf_printf(out, ", and %" PRIu64 " more like it", state->untold - 1);
  return r;
}

static void write_example(struct hf_json_writer *w, const struct example *one) {
  hf_json_write_key(w, "letter");
  hf_json_write_object(w);
  hf_json_write_member_str(w, "id", hf_str_from(one->id));
  hf_json_write_member_str(w, "call", hf_str_from(one->call));
  hf_json_write_member_str(w, "tool", hf_str_from(one->tool));
  hf_json_write_member_str(w, "providers", hf_str_from(one->providers));
  hf_json_write_member_str(w, "class", hf_str_from(one->reason));
  hf_json_write_member_str(w, "executed", hf_str_from(one->executed));
  hf_json_write_object_end(w);
}

static int write_alert(const struct hf_alerts *alerts, enum kind kind, const struct hf_store_stats *stats,
                       struct hf_str sentence, struct hf_buf *out) {
  const struct state *state = &alerts->states[kind];
  const int64_t now_ms = alerts->options.loop->wall_ms;
  struct hf_json_writer w;
  hf_json_writer_init(&w, out);
  hf_json_write_object(&w);
  hf_json_write_member_str(&w, "alert", hf_str_from(names[kind]));
  hf_json_write_member_str(&w, "text", sentence);
  hf_json_write_member_int(&w, "atMs", now_ms);
  if (state->example.present) {
    hf_json_write_member_int(&w, "count", (int64_t)state->untold);
    write_example(&w, &state->example);
  }
  hf_json_write_key(&w, "letters");
  hf_json_write_object(&w);
  hf_json_write_member_int(&w, "dead", (int64_t)stats->depth[HF_LETTER_DEAD]);
  hf_json_write_member_int(&w, "quarantined", (int64_t)stats->depth[HF_LETTER_QUARANTINED]);
  hf_json_write_member_int(&w, "expiring", (int64_t)stats->expiring);
  if (stats->oldest_ms)
    hf_json_write_member_int(&w, "oldestMs", now_ms - stats->oldest_ms);
  hf_json_write_object_end(&w);
  hf_json_write_object_end(&w);
  return hf_json_write_finish(&w);
}

static void deliver(struct hf_alerts *alerts, struct hf_str alert) {
  struct hf_log *log = alerts->options.loop->log;
  int r = alerts->webhook ? hf_webhook_send(alerts->webhook, alert) : 0;
  if (r < 0)
    hf_log_event(log, HF_LOG_ERROR, "an alert could not be sent to the webhook",
                 HF_LOG_STR("reason", hf_str_from(hf_err_text(r))));
  r = alerts->command ? hf_alert_command_run(alerts->command, alert) : 0;
  if (r < 0)
    hf_log_event(log, HF_LOG_ERROR, "the command of an alert could not be run",
                 HF_LOG_STR("reason", hf_str_from(hf_err_text(r))));
}

static void tell(struct hf_alerts *alerts, enum kind kind) {
  struct hf_store *store = alerts->options.store;
  struct state *state = &alerts->states[kind];
  struct hf_store_stats stats = {0};
  struct hf_buf sentence, alert;
  hf_buf_init(&sentence, TEXT_MAX);
  hf_buf_init(&alert, JSON_MAX);
  store->ops->stats(store, &stats);
  if (write_sentence(alerts, kind, &stats, &sentence) == 0 &&
      write_alert(alerts, kind, &stats, hf_buf_str(&sentence), &alert) == 0) {
    hf_log_event(alerts->options.loop->log, HF_LOG_WARN, "dead letters want somebody",
                 HF_LOG_STR("alert", hf_str_from(names[kind])), HF_LOG_STR("text", hf_buf_str(&sentence)));
    deliver(alerts, hf_buf_str(&alert));
    state->untold = 0;
  }
  state->told = alerts->options.loop->now; /* without memory, too: it is tried again after the gap */
  hf_buf_deinit(&alert);
  hf_buf_deinit(&sentence);
}

static hf_time may_tell(const struct hf_alerts *alerts, enum kind kind) {
  const struct state *state = &alerts->states[kind];
  return state->told == HF_TIME_NEVER ? alerts->options.loop->now : hf_time_add(state->told, alerts->options.gap);
}

/* Tells what may be told, and comes back for the rest. */
static void tell_all(struct hf_alerts *alerts) {
  hf_time next = alerts->next_check;
  for (enum kind kind = 0; kind < KINDS; kind++) {
    if (alerts->states[kind].untold && may_tell(alerts, kind) <= alerts->options.loop->now)
      tell(alerts, kind);
    if (alerts->states[kind].untold)
      next = hf_time_min(next, may_tell(alerts, kind));
  }
  hf_timer_set(alerts->options.loop, &alerts->timer, next);
}

/* A limit that is passed is told when it is passed, and again once it was kept in between. */
static void hold_against(struct hf_alerts *alerts, enum kind kind, bool above) {
  struct state *state = &alerts->states[kind];
  state->untold = above && (!state->above || state->untold);
  state->above = above;
}

static void check(struct hf_alerts *alerts) {
  struct hf_store *store = alerts->options.store;
  const struct hf_loop *loop = alerts->options.loop;
  struct hf_store_stats stats = {0};
  store->ops->stats(store, &stats);
  hold_against(alerts, DEPTH, alerts->depth && stats.depth[HF_LETTER_DEAD] >= alerts->depth);
  hold_against(alerts, AGE,
               alerts->age != HF_TIME_NEVER && stats.oldest_ms &&
                   loop->wall_ms - stats.oldest_ms > alerts->age / HF_MS(1));
  alerts->next_check = hf_time_add(loop->now, alerts->options.check_every);
}

static void on_due(struct hf_timer *timer) {
  struct hf_alerts *alerts = HF_CONTAINER_OF(timer, struct hf_alerts, timer);
  if (alerts->options.loop->now >= alerts->next_check)
    check(alerts);
  tell_all(alerts);
}

void hf_alerts_news(void *ctx, enum hf_store_news news, const struct hf_letter *letter) {
  struct hf_alerts *alerts = ctx;
  enum kind kind = KINDS;
  if (news == HF_NEWS_QUARANTINED)
    kind = QUARANTINE;
  else if (news == HF_NEWS_EXPIRING)
    kind = EXPIRING;
  else if (news == HF_NEWS_URGENT || (news == HF_NEWS_RECOVERED && letter->priority == HF_PRIORITY_FIRST))
    kind = PRIORITY;
  if (kind == KINDS)
    return;
  alerts->states[kind].untold++;
  keep_example(&alerts->states[kind].example, letter);
  tell_all(alerts);
}

static int make_ways(const struct hf_alerts_options *options, const struct hf_alert_settings *settings,
                     struct hf_webhook **ret_webhook, struct hf_alert_command **ret_command) {
  const struct hf_webhook_options webhook = {.uv = options->uv,
                                             .loop = options->loop,
                                             .url = settings->webhook,
                                             .secret = settings->secret,
                                             .backoff = options->backoff};
  const struct hf_alert_command_options command = {
      .uv = options->uv, .loop = options->loop, .argv = &settings->command, .patience = options->patience};
  *ret_webhook = NULL;
  *ret_command = NULL;
  int r = settings->webhook.ptr ? hf_webhook_new(&webhook, ret_webhook) : 0;
  if (r == 0 && settings->command.count)
    r = hf_alert_command_new(&command, ret_command);
  if (r < 0)
    hf_webhook_free(*ret_webhook);
  return r;
}

int hf_alerts_reload(struct hf_alerts *alerts, const struct hf_alert_settings *settings) {
  struct hf_webhook *webhook;
  struct hf_alert_command *command;
  int r = make_ways(&alerts->options, settings, &webhook, &command);
  if (r < 0)
    return r;
  hf_webhook_free(alerts->webhook);
  hf_alert_command_free(alerts->command);
  alerts->webhook = webhook;
  alerts->command = command;
  alerts->depth = settings->depth;
  alerts->age = settings->age;
  return 0;
}

int hf_alerts_new(const struct hf_alerts_options *options, struct hf_alerts **ret_alerts) {
  struct hf_alerts *alerts = hf_calloc(1, sizeof *alerts);
  if (!alerts)
    return HF_ERR_NOMEM;
  alerts->options = *options;
  alerts->options.settings = NULL;
  if (!alerts->options.check_every)
    alerts->options.check_every = HF_SECONDS(10);
  if (!alerts->options.gap)
    alerts->options.gap = HF_SECONDS(60);
  for (enum kind kind = 0; kind < KINDS; kind++)
    alerts->states[kind].told = HF_TIME_NEVER;
  int r = hf_timer_init(options->loop, &alerts->timer, on_due);
  if (r == 0) {
    r = hf_alerts_reload(alerts, options->settings);
    if (r < 0)
      hf_timer_deinit(options->loop, &alerts->timer);
  }
  if (r < 0) {
    hf_free(alerts);
    return r;
  }
  alerts->next_check = hf_time_add(options->loop->now, alerts->options.check_every);
  hf_timer_set(options->loop, &alerts->timer, alerts->next_check);
  *ret_alerts = alerts;
  return 0;
}

void hf_alerts_free(struct hf_alerts *alerts) {
  if (!alerts)
    return;
  hf_webhook_free(alerts->webhook);
  hf_alert_command_free(alerts->command);
  hf_timer_deinit(alerts->options.loop, &alerts->timer);
  hf_free(alerts);
}
