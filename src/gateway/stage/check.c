#include "gateway/stage/check.h"

#include "base/alloc.h"
#include "gateway/catalog/catalog.h"
#include "gateway/condition.h"
#include "gateway/gateway.h"
#include "gateway/pipeline.h"
#include "json/template.h"
#include "json/write.h"

enum { CHECK_BYTES_MAX = 1 << 20 };

/* A call of the gateway's own, from the request to its verdict. */
struct hf_check_call {
  const struct hf_reconcile_settings *settings;
  struct hf_settings *config; /* a reference: what `settings` points into */
  struct hf_loop *loop;
  struct hf_reply reply;
  struct hf_job job; /* tells the verdict, outside of what brought it */
  enum hf_check verdict;
  hf_check_fn *done;
  void *ctx;
};

static void check_free(struct hf_check_call *check) {
  hf_job_cancel(&check->job);
  hf_settings_free(check->config);
  hf_free(check);
}

static void tell(struct hf_job *job) {
  struct hf_check_call *check = HF_CONTAINER_OF(job, struct hf_check_call, job);
  check->done(check->ctx, check->verdict);
  check_free(check);
}

static void on_message(struct hf_reply *reply, struct hf_pieces *text) {
  (void)reply;
  hf_pieces_deinit(text);
}

static bool holds(const struct hf_condition *condition, struct hf_str result) {
  bool yes = false;
  return condition->pointer.ptr && hf_condition_holds(condition, result, &yes) == 0 && yes;
}

/* Both conditions, or neither: nobody knows. */
static enum hf_check judge(const struct hf_reconcile_settings *settings, struct hf_str result) {
  bool ran = holds(&settings->executed, result);
  if (ran == holds(&settings->not_executed, result))
    return HF_CHECK_UNKNOWN;
  return ran ? HF_CHECK_RAN : HF_CHECK_DID_NOT_RUN;
}

/* Did the status tool itself say that it failed? Asked again it would say so again. */
static bool says_error(const struct hf_message *answer) {
  static const char reason[] = "\"reason\":\"tool_error\"";
  struct hf_str marker = hf_message_raw(answer, HF_FIELD_META_OUTCOME);
  return marker.ptr && memmem(marker.ptr, marker.len, reason, sizeof reason - 1);
}

static void on_finish(struct hf_reply *reply, int http_status, struct hf_pieces *text) {
  (void)http_status;
  struct hf_check_call *check = HF_CONTAINER_OF(reply, struct hf_check_call, reply);
  struct hf_buf joined;
  hf_buf_init(&joined, HF_MESSAGE_BYTES_MAX);
  struct hf_message answer;
  struct hf_refusal refusal;
  if (hf_pieces_join(text, &joined) == 0 && hf_message_decode(&joined, &answer, &refusal) == 0) {
    if (answer.kind == HF_MESSAGE_RESULT && !answer.is_error)
      check->verdict = judge(check->settings, hf_message_raw(&answer, HF_FIELD_RESULT));
    else if (answer.kind == HF_MESSAGE_RESULT && says_error(&answer))
      check->verdict = HF_CHECK_UNKNOWN;
    hf_message_deinit(&answer);
  }
  hf_pieces_deinit(text);
  hf_buf_deinit(&joined);
  hf_job_defer(check->loop, &check->job);
}

static const struct hf_reply_ops reply_ops = {on_message, on_finish};

static int compose(const struct hf_reconcile_settings *settings, struct hf_str arguments,
                   struct hf_message *ret_request) {
  struct hf_buf text, filled;
  hf_buf_init(&text, CHECK_BYTES_MAX);
  hf_buf_init(&filled, CHECK_BYTES_MAX);
  struct hf_str given = arguments.ptr ? arguments : HF_STR("{}");
  /* Without what tells this call from others the answer would be about those. */
  int r = settings->arguments.ptr ? hf_template_fill_whole(settings->arguments, given, &filled)
                                  : hf_buf_append_str(&filled, given);
  if (r == 0) {
    struct hf_json_writer w;
    hf_json_writer_init(&w, &text);
    hf_json_write_object(&w);
    hf_json_write_member_str(&w, "jsonrpc", HF_STR("2.0"));
    hf_json_write_member_int(&w, "id", 0);
    hf_json_write_member_str(&w, "method", HF_STR("tools/call"));
    hf_json_write_key(&w, "params");
    hf_json_write_object(&w);
    hf_json_write_member_str(&w, "name", settings->tool.tool);
    hf_json_write_member_raw(&w, "arguments", hf_buf_str(&filled));
    hf_json_write_object_end(&w);
    hf_json_write_object_end(&w);
    r = hf_json_write_finish(&w);
  }
  struct hf_refusal refusal;
  if (r == 0)
    r = hf_message_decode(&text, ret_request, &refusal);
  hf_buf_deinit(&filled);
  hf_buf_deinit(&text);
  return r;
}

/* The status tool is asked where the client's own instance is: it may know what no other does. */
static int aim(struct hf_exchange *exchange, struct hf_client *client, const struct hf_tool_name *tool) {
  struct hf_server *server = hf_gateway_server(client->gateway, tool->server);
  struct hf_instance *instance = server ? hf_server_instance(server, client) : NULL;
  if (!instance)
    return HF_ERR_NOTFOUND;
  struct hf_target_tool target;
  const struct hf_item *item = hf_listing_find(&instance->lists[HF_LIST_TOOLS], tool->tool);
  int r = hf_catalog_target(exchange, instance, HF_LIST_TOOLS, item, tool->tool, &target);
  if (r < 0)
    return r;
  target.safety = HF_SAFETY_READ_ONLY; /* it was configured as such a tool */
  target.listed = true;
  return hf_catalog_add_target(exchange, &target);
}

int hf_check_ask(struct hf_gateway *gateway, struct hf_client *client, const struct hf_tool_settings *tool,
                 struct hf_str arguments, hf_time patience, hf_check_fn *done, void *ctx,
                 struct hf_check_call **ret_check) {
  const struct hf_reconcile_settings *settings = &tool->reconcile;
  if (!settings->tool.server.ptr)
    return HF_ERR_UNSUPPORTED;
  struct hf_check_call *check = hf_calloc(1, sizeof *check);
  if (!check)
    return HF_ERR_NOMEM;
  check->settings = settings;
  check->config = hf_settings_ref(gateway->settings);
  check->loop = gateway->loop;
  check->reply.ops = &reply_ops;
  check->verdict = HF_CHECK_FAILED;
  check->done = done;
  check->ctx = ctx;
  hf_job_init(&check->job, tell);

  struct hf_message request;
  int r = compose(settings, arguments, &request);
  struct hf_exchange *exchange = r == 0 ? hf_exchange_new(gateway->nobody, &request, &check->reply) : NULL;
  if (!exchange) {
    if (r == 0)
      hf_message_deinit(&request);
    check_free(check);
    return r < 0 ? r : HF_ERR_NOMEM;
  }
  exchange->era = HF_ERA_LEGACY;
  exchange->is_check = true;
  r = aim(exchange, client, &settings->tool);
  if (r < 0) {
    check->reply.exchange = NULL;
    exchange->reply = NULL;
    hf_exchange_drop(exchange);
    check_free(check);
    return r;
  }
  *ret_check = check;
  hf_metrics_add(&gateway->metrics, HF_METRIC_CHECKS);
  exchange->hints.deadline = patience;
  hf_pipeline_start(exchange);
  return 0;
}

void hf_check_end(struct hf_check_call *check) {
  if (!check)
    return;
  struct hf_exchange *exchange = check->reply.exchange;
  if (exchange) {
    exchange->reply = NULL;
    check->reply.exchange = NULL;
    hf_exchange_cancel(exchange);
  }
  check_free(check);
}

static void checked(void *ctx, enum hf_check verdict) {
  struct hf_exchange *exchange = ctx;
  exchange->check = NULL;
  hf_pipeline_event(exchange, &(struct hf_call_event){.kind = HF_CALL_CHECKED, .check = verdict});
}

void hf_check_start(struct hf_exchange *exchange, struct hf_target_tool *target, hf_time by) {
  struct hf_gateway *gateway = exchange->client->gateway;
  struct hf_str arguments = exchange->sent_arguments.ptr ? exchange->sent_arguments : hf_exchange_arguments(exchange);
  /* A call that goes on without its client is still at that client's own instance. */
  struct hf_client *client = target->instance->client ? target->instance->client : exchange->client;
  if (hf_check_ask(gateway, client, target->tool, arguments, by - gateway->loop->now, checked, exchange,
                   &exchange->check) < 0)
    hf_pipeline_post(exchange, &(struct hf_call_event){.kind = HF_CALL_CHECKED, .check = HF_CHECK_UNKNOWN});
}

void hf_check_abort(struct hf_exchange *exchange) {
  hf_check_end(exchange->check);
  exchange->check = NULL;
}
