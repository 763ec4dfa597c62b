#include "daemon/console.h"

#include "base/alloc.h"
#include "daemon/console_replay.h"
#include "gateway/observe/trace.h"
#include "mcp/compose.h"
#include "json/value.h"
#include "json/write.h"

enum { ANSWER_MAX = 80 << 20, QUESTION_MAX = 20 << 20, PROGRESS_MAX = 16 << 10 };

struct hf_console {
  struct hf_gateway *gateway;
  hf_reload_fn *reload;
  void *context;
  struct hf_list asks;
  struct hf_list replays;
};

struct hf_console_ask {
  struct hf_list link;
  struct hf_console *console;
  hf_console_done_fn *done;
  hf_console_line_fn *line; /* or NULL */
  void *context;
  struct hf_buf answer;
  struct hf_job deliver;
  struct hf_client *client; /* while one is open */
  struct hf_reply reply;
  struct hf_console_replay *replay; /* while one is under way */
};

struct question {
  const struct hf_json_doc *doc;
  struct hf_arena *arena;
  struct hf_str server;    /* absent: all */
  struct hf_str name;      /* of a tool */
  struct hf_str cursor;    /* raw, or absent */
  struct hf_str arguments; /* raw, or absent */
  struct hf_str call;      /* id of one */
};

static void answer_raw(struct hf_console_ask *ask, const char *member, struct hf_str raw) {
  struct hf_json_writer w;
  hf_json_writer_init(&w, &ask->answer);
  hf_json_write_object(&w);
  hf_json_write_member_raw(&w, member, raw);
  hf_json_write_object_end(&w);
  if (hf_json_write_finish(&w) < 0)
    hf_buf_reset(&ask->answer, 0);
}

static void answer_error(struct hf_console_ask *ask, const char *text) {
  struct hf_json_writer w;
  hf_json_writer_init(&w, &ask->answer);
  hf_json_write_object(&w);
  hf_json_write_member_str(&w, "error", hf_str_from(text));
  hf_json_write_object_end(&w);
  if (hf_json_write_finish(&w) < 0)
    hf_buf_reset(&ask->answer, 0);
}

static void answer_soon(struct hf_console_ask *ask) {
  hf_job_defer(ask->console->gateway->loop, &ask->deliver);
}

static struct hf_console_ask *ask_of(struct hf_reply *reply) {
  return HF_CONTAINER_OF(reply, struct hf_console_ask, reply);
}

static void on_message(struct hf_reply *reply, struct hf_pieces *text) {
  (void)reply;
  hf_pieces_deinit(text);
}

/* The response goes on whole: the one who asked tells its result from its error. */
static void on_finish(struct hf_reply *reply, int http_status, struct hf_pieces *text) {
  (void)http_status;
  struct hf_console_ask *ask = ask_of(reply);
  struct hf_buf joined;
  hf_buf_init(&joined, ANSWER_MAX);
  int r = hf_pieces_join(text, &joined);
  hf_pieces_deinit(text);
  if (r == 0)
    answer_raw(ask, "response", hf_buf_str(&joined));
  else
    answer_error(ask, hf_err_text(r));
  hf_buf_deinit(&joined);
  answer_soon(ask);
}

static void on_notify(struct hf_client *client, void *owner, struct hf_pieces *text) {
  (void)client;
  (void)owner;
  hf_pieces_deinit(text);
}

static int write_request(struct hf_buf *buf, struct hf_str method, const struct question *q) {
  struct hf_json_writer w;
  hf_json_writer_init(&w, buf);
  hf_json_write_object(&w);
  hf_json_write_member_str(&w, "jsonrpc", HF_STR("2.0"));
  hf_json_write_member_int(&w, "id", 1);
  hf_json_write_member_str(&w, "method", method);
  hf_json_write_key(&w, "params");
  hf_json_write_object(&w);
  if (q->name.ptr)
    hf_json_write_member_str(&w, "name", q->name);
  if (q->name.ptr)
    hf_json_write_member_raw(&w, "arguments", q->arguments.ptr ? q->arguments : HF_STR("{}"));
  if (q->cursor.ptr)
    hf_json_write_member_raw(&w, "cursor", q->cursor);
  hf_json_write_key(&w, "_meta");
  hf_json_write_object(&w);
  hf_json_write_member_str(&w, HF_META_VERSION, hf_version_text(HF_VERSION_NEWEST));
  hf_json_write_member_raw(&w, HF_META_CAPABILITIES, HF_STR("{}"));
  hf_json_write_member_raw(&w, HF_META_CLIENT_INFO, HF_STR(HF_IMPLEMENTATION));
  hf_json_write_object_end(&w);
  hf_json_write_object_end(&w);
  hf_json_write_object_end(&w);
  return hf_json_write_finish(&w);
}

static int send_request(struct hf_console_ask *ask, struct hf_str method, const struct question *q) {
  static const struct hf_client_ops client_ops = {.notify = on_notify};
  static const struct hf_reply_ops reply_ops = {.message = on_message, .finish = on_finish};
  const struct hf_client_options options = {
      .server = q->server, .era = HF_ERA_MODERN, .ops = &client_ops, .owner = ask};
  struct hf_message message = {0};
  struct hf_refusal refusal;
  struct hf_buf text;
  hf_buf_init(&text, QUESTION_MAX);
  int r = write_request(&text, method, q);
  if (r == 0)
    r = hf_message_decode(&text, &message, &refusal);
  if (r == 0)
    r = hf_client_open(ask->console->gateway, &options, &ask->client);
  hf_buf_deinit(&text);
  if (r == 0) {
    ask->reply = (struct hf_reply){.ops = &reply_ops};
    hf_client_handle(ask->client, &message, &ask->reply);
  }
  hf_message_deinit(&message);
  return r;
}

static int run_tools(struct hf_console_ask *ask, const struct question *q) {
  const struct question list = {.server = q->server, .cursor = q->cursor};
  return send_request(ask, HF_STR("tools/list"), &list);
}

static int run_call(struct hf_console_ask *ask, const struct question *q) {
  if (!q->name.ptr)
    return HF_ERR_INVALID;
  return send_request(ask, HF_STR("tools/call"), q);
}

static int run_status(struct hf_console_ask *ask, const struct question *q) {
  (void)q;
  struct hf_buf status;
  hf_buf_init(&status, ANSWER_MAX);
  int r = hf_gateway_status(ask->console->gateway, &status);
  if (r == 0)
    answer_raw(ask, "result", hf_buf_str(&status));
  hf_buf_deinit(&status);
  if (r == 0)
    answer_soon(ask);
  return r;
}

/* Who asks where it is means to read it: what is counted and not there yet is handed over first. */
static int run_store(struct hf_console_ask *ask, const struct question *q) {
  (void)q;
  struct hf_gateway *gateway = ask->console->gateway;
  hf_tally_flush(&gateway->tally);
  struct hf_buf text;
  struct hf_json_writer w;
  hf_buf_init(&text, ANSWER_MAX);
  hf_json_writer_init(&w, &text);
  hf_json_write_object(&w);
  if (gateway->database)
    hf_json_write_member_str(&w, "database", hf_str_from(gateway->database));
  hf_json_write_member_bool(&w, "open", gateway->store != NULL);
  hf_json_write_object_end(&w);
  int r = hf_json_write_finish(&w);
  if (r == 0)
    answer_raw(ask, "result", hf_buf_str(&text));
  hf_buf_deinit(&text);
  if (r == 0)
    answer_soon(ask);
  return r;
}

static int run_reload(struct hf_console_ask *ask, const struct question *q) {
  (void)q;
  struct hf_error error = {0};
  if (!ask->console->reload)
    return HF_ERR_UNSUPPORTED;
  if (ask->console->reload(ask->console->context, &error) < 0)
    answer_error(ask, error.text);
  else
    answer_raw(ask, "result", HF_STR("{}"));
  answer_soon(ask);
  return 0;
}

static int run_explain(struct hf_console_ask *ask, const struct question *q) {
  if (!q->call.ptr)
    return HF_ERR_INVALID;
  struct hf_buf text;
  hf_buf_init(&text, ANSWER_MAX);
  int r = hf_trace_explain(ask->console->gateway, q->call, &text);
  if (r == 0)
    answer_raw(ask, "result", hf_buf_str(&text));
  else if (r == HF_ERR_NOTFOUND)
    answer_error(ask, "this gateway does not know the call, or not any more");
  hf_buf_deinit(&text);
  if (r < 0 && r != HF_ERR_NOTFOUND)
    return r;
  answer_soon(ask);
  return 0;
}

static void on_progress(void *ctx, struct hf_str json) {
  struct hf_console_ask *ask = ctx;
  struct hf_buf line;
  hf_buf_init(&line, PROGRESS_MAX);
  int r = hf_buf_append_str(&line, HF_STR(HF_CONSOLE_MORE ",\"progress\":"));
  if (r == 0)
    r = hf_buf_append_str(&line, json);
  if (r == 0)
    r = hf_buf_append_str(&line, HF_STR("}"));
  if (r == 0 && ask->line)
    ask->line(ask->context, hf_buf_str(&line)); /* the ask may be gone when it returns */
  hf_buf_deinit(&line);
}

static void on_replayed(void *ctx, struct hf_str json) {
  struct hf_console_ask *ask = ctx;
  ask->replay = NULL;
  answer_raw(ask, "result", json);
  answer_soon(ask);
}

static int run_replay(struct hf_console_ask *ask, const struct question *q) {
  static const struct hf_console_replay_ops ops = {on_progress, on_replayed};
  struct hf_console *console = ask->console;
  if (!console->gateway->store) {
    answer_error(ask, "this gateway has no store: there are no dead letters");
    answer_soon(ask);
    return 0;
  }
  return hf_console_replay_start(console->gateway, &console->replays, q->doc, q->arena, &ops, ask, &ask->replay);
}

static const struct {
  struct hf_str op;
  int (*run)(struct hf_console_ask *ask, const struct question *q); /* 0: the answer comes; else it failed */
} handlers[] = {
    {{"status", 6}, run_status}, {{"tools", 5}, run_tools},     {{"call", 4}, run_call},
    {{"reload", 6}, run_reload}, {{"explain", 7}, run_explain}, {{"letters-replay", 14}, run_replay},
    {{"store", 5}, run_store},
};

/* Reads an optional string member. */
static int read_text(struct hf_json_doc *doc, const char *name, struct hf_arena *arena, struct hf_str *ret_text) {
  uint32_t node;
  int r = hf_json_member(doc, 0, hf_str_from(name), &node);
  if (r == HF_ERR_NOTFOUND)
    return 0;
  return r < 0 ? r : hf_json_string(doc, node, arena, ret_text);
}

static int read_raw(struct hf_json_doc *doc, const char *name, struct hf_str *ret_raw) {
  uint32_t node;
  int r = hf_json_member(doc, 0, hf_str_from(name), &node);
  if (r == 0)
    *ret_raw = hf_json_span(doc, node);
  return r == HF_ERR_NOTFOUND ? 0 : r;
}

static int run(struct hf_console_ask *ask, struct hf_json_doc *doc, struct hf_arena *arena) {
  struct question q = {.doc = doc, .arena = arena};
  struct hf_str op = {NULL, 0};
  if (hf_json_type(doc, 0) != HF_JSON_OBJECT)
    return HF_ERR_INVALID;
  int r = read_text(doc, "op", arena, &op);
  if (r == 0)
    r = read_text(doc, "server", arena, &q.server);
  if (r == 0)
    r = read_text(doc, "name", arena, &q.name);
  if (r == 0)
    r = read_text(doc, "call", arena, &q.call);
  if (r == 0)
    r = read_raw(doc, "cursor", &q.cursor);
  if (r == 0)
    r = read_raw(doc, "arguments", &q.arguments);
  if (r < 0)
    return r;
  for (size_t i = 0; i < sizeof handlers / sizeof handlers[0]; i++)
    if (op.ptr && hf_str_equal(op, handlers[i].op))
      return handlers[i].run(ask, &q);
  return HF_ERR_UNSUPPORTED;
}

static int read_and_run(struct hf_console_ask *ask, struct hf_str text) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.max_bytes = QUESTION_MAX;
  options.tree_depth = 2; /* members, and what a list of ids holds */
  struct hf_json_scan scan;
  struct hf_arena arena;
  hf_json_scan_init(&scan, &options);
  hf_arena_init(&arena, QUESTION_MAX);
  int r = hf_json_scan_feed(&scan, text.ptr, text.len, true);
  if (r == 0) {
    struct hf_json_doc doc = hf_json_doc(text.ptr, &scan);
    r = run(ask, &doc, &arena);
  }
  hf_arena_deinit(&arena);
  hf_json_scan_deinit(&scan);
  return r;
}

static void release(struct hf_console_ask *ask) {
  if (ask->replay)
    hf_console_replay_leave(ask->replay);
  if (ask->client)
    hf_client_close(ask->client);
  hf_job_cancel(&ask->deliver);
  hf_list_remove(&ask->link);
  hf_buf_deinit(&ask->answer);
  hf_free(ask);
}

static void on_deliver(struct hf_job *job) {
  struct hf_console_ask *ask = HF_CONTAINER_OF(job, struct hf_console_ask, deliver);
  struct hf_str answer = ask->answer.len ? hf_buf_str(&ask->answer) : HF_STR("{\"error\":\"out of memory\"}");
  ask->done(ask->context, answer);
  release(ask);
}

int hf_console_ask(struct hf_console *console, struct hf_str question, hf_console_done_fn *done, void *context,
                   struct hf_console_ask **ret_ask) {
  struct hf_console_ask *ask = hf_calloc(1, sizeof *ask);
  if (!ask)
    return HF_ERR_NOMEM;
  ask->console = console;
  ask->done = done;
  ask->context = context;
  hf_buf_init(&ask->answer, ANSWER_MAX);
  hf_job_init(&ask->deliver, on_deliver);
  hf_list_push_back(&console->asks, &ask->link);
  int r = read_and_run(ask, question);
  if (r < 0) {
    answer_error(ask, r == HF_ERR_NOTFOUND ? "there is no such server" : hf_err_text(r));
    answer_soon(ask);
  }
  *ret_ask = ask;
  return 0;
}

void hf_console_listen(struct hf_console_ask *ask, hf_console_line_fn *line) {
  ask->line = line;
}

void hf_console_forget(struct hf_console_ask *ask) {
  release(ask);
}

struct hf_console *hf_console_new(struct hf_gateway *gateway, hf_reload_fn *reload, void *context) {
  struct hf_console *console = hf_calloc(1, sizeof *console);
  if (!console)
    return NULL;
  console->gateway = gateway;
  console->reload = reload;
  console->context = context;
  hf_list_init(&console->asks);
  hf_list_init(&console->replays);
  return console;
}

void hf_console_free(struct hf_console *console) {
  if (!console)
    return;
  struct hf_list *it;
  struct hf_list *next;
  HF_LIST_FOREACH (it, next, &console->asks)
    release(HF_CONTAINER_OF(it, struct hf_console_ask, link));
  hf_console_replay_free_all(&console->replays);
  hf_free(console);
}
