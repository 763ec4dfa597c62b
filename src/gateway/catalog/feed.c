#include "gateway/catalog/feed.h"

#include "gateway/catalog/subscription.h"
#include "gateway/gateway.h"
#include "gateway/own_request.h"
#include "json/write.h"

enum { DOUBLINGS_MAX = 9, FILTER_MAX = 16 << 20, FILTER_NODES_MAX = 1 << 18, FILTER_DEPTH = 2 };

/* Changes of what is wanted that come sooner after one another are taken together. */
#define PACE HF_MS(100)

#define REOPEN_MIN HF_MS(500)
#define REOPEN_MAX HF_SECONDS(300)

/* A stream that was open for this long has lasted. */
#define LASTING HF_SECONDS(10)

static const struct {
  struct hf_str name;
  enum hf_list_kind kind;
} changes[] = {
    {HF_STR("toolsListChanged"), HF_LIST_TOOLS},
    {HF_STR("promptsListChanged"), HF_LIST_PROMPTS},
    {HF_STR("resourcesListChanged"), HF_LIST_RESOURCES},
};

enum { CHANGES_COUNT = sizeof changes / sizeof changes[0] };

static bool announces(const struct hf_instance *instance, enum hf_list_kind kind) {
  const struct hf_capabilities *can = &instance->capabilities;
  return kind == HF_LIST_TOOLS ? can->tools_changed
                               : (kind == HF_LIST_PROMPTS ? can->prompts_changed : can->resources_changed);
}

static unsigned bits_of(enum hf_list_kind kind) {
  return kind == HF_LIST_RESOURCES ? 1U << HF_LIST_RESOURCES | 1U << HF_LIST_TEMPLATES : 1U << kind;
}

static void close_stream(struct hf_feed_stream *stream, const char *why) {
  struct hf_upstream *upstream = stream->feed->instance->upstream;
  if (stream->ref)
    upstream->ops->abort(upstream, stream->ref, hf_str_from(why));
  *stream = (struct hf_feed_stream){.feed = stream->feed};
}

static struct hf_feed_stream *other_of(struct hf_feed_stream *stream) {
  struct hf_feed *feed = stream->feed;
  return stream == &feed->streams[0] ? &feed->streams[1] : &feed->streams[0];
}

static void reopen_later(struct hf_feed *feed) {
  struct hf_loop *loop = feed->instance->gateway->loop;
  const unsigned doublings = feed->failures < DOUBLINGS_MAX ? feed->failures : DOUBLINGS_MAX;
  const hf_time bound = hf_time_min(REOPEN_MIN << doublings, REOPEN_MAX);
  feed->failures++;
  const hf_time pause = bound / 2 + (hf_time)hf_random_below(&loop->random, (uint64_t)(bound / 2) + 1);
  hf_timer_set(loop, &feed->timer, hf_time_add(loop->now, pause));
}

/* What was agreed to, of lists; a server that does not say agrees to what it was asked for. */
static unsigned read_told(const struct hf_json_doc *doc) {
  unsigned told = 0;
  for (size_t i = 0; i < CHANGES_COUNT; i++) {
    uint32_t node;
    bool agreed;
    if (hf_json_member(doc, 0, changes[i].name, &node) == 0 && hf_json_bool(doc, node, &agreed) == 0 && agreed)
      told |= bits_of(changes[i].kind);
  }
  return told;
}

static void read_agreed(struct hf_feed *feed, const struct hf_message *message) {
  const struct hf_str raw = hf_message_raw(message, HF_FIELD_NOTIFICATIONS);
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.max_nodes = FILTER_NODES_MAX;
  options.tree_depth = FILTER_DEPTH;
  options.max_bytes = FILTER_MAX;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  if (raw.len && raw.ptr[0] == '{' && hf_json_scan_feed(&scan, raw.ptr, raw.len, true) == 0) {
    const struct hf_json_doc doc = hf_json_doc(raw.ptr, &scan);
    uint32_t uris = HF_JSON_NONE;
    feed->told = read_told(&doc);
    (void)hf_json_member(&doc, 0, HF_STR("resourceSubscriptions"), &uris);
    hf_subscription_agreed(feed->instance, &doc, uris);
  } else {
    for (size_t i = 0; i < CHANGES_COUNT; i++)
      if (announces(feed->instance, changes[i].kind))
        feed->told |= bits_of(changes[i].kind);
    hf_subscription_agreed(feed->instance, NULL, HF_JSON_NONE);
  }
  hf_json_scan_deinit(&scan);
}

/* Between two streams nobody was told anything. */
static void make_up(const struct hf_feed_stream *stream) {
  struct hf_instance *instance = stream->feed->instance;
  for (int kind = 0; kind < HF_LIST_COUNT; kind++) {
    struct hf_listing *listing = &instance->lists[kind];
    if (stream->feed->told & 1U << kind && !listing->loading && listing->loaded_at < stream->opened)
      hf_listing_notice(listing);
  }
  hf_subscription_missed(instance, stream->opened);
}

static void acknowledged(struct hf_feed_stream *stream, const struct hf_message *message) {
  struct hf_feed *feed = stream->feed;
  stream->acknowledged = true;
  close_stream(other_of(stream), "superseded");
  feed->told = 0;
  read_agreed(feed, message);
  if (feed->missed)
    make_up(stream);
  feed->missed = false;
  hf_gateway_wake(feed->instance->gateway);
}

static void on_message(void *ctx, const struct hf_message *message) {
  struct hf_feed_stream *stream = ctx;
  if (message->method == HF_METHOD_SUBSCRIPTIONS_ACKNOWLEDGED) {
    if (!stream->acknowledged)
      acknowledged(stream, message);
    return;
  }
  if (message->kind == HF_MESSAGE_NOTIFICATION)
    hf_instance_message(stream->feed->instance, message);
}

/* What ended may have been the one in use, or one that was to take its place and which the server did not want: another
 * one is needed, unless it is on its way. */
static void on_done(void *ctx, const struct hf_evidence *evidence, const struct hf_message *response) {
  struct hf_feed_stream *stream = ctx;
  struct hf_feed *feed = stream->feed;
  struct hf_instance *instance = feed->instance;
  if (stream->acknowledged && instance->gateway->loop->now - stream->opened >= LASTING)
    feed->failures = 0;
  *stream = (struct hf_feed_stream){.feed = feed};
  const struct hf_feed_stream *other = other_of(stream);
  if (!other->acknowledged) {
    feed->told = 0;
    feed->missed = true;
  }
  if (response && response->kind == HF_MESSAGE_ERROR && evidence->jsonrpc_code == HF_RPC_METHOD_NOT_FOUND) {
    feed->refused = true;
    hf_subscription_refused(instance);
    hf_gateway_wake(instance->gateway);
    return;
  }
  if (!other->ref || other->acknowledged)
    reopen_later(feed);
}

static const struct hf_attempt_events stream_events = {hf_own_request_sent, hf_own_request_life, on_message, on_done};

/* Returns whether there is anything to be told of. */
static bool write_filter(struct hf_instance *instance, struct hf_json_writer *w) {
  bool wanted = false;
  hf_json_write_object(w);
  for (size_t i = 0; i < CHANGES_COUNT; i++) {
    if (!announces(instance, changes[i].kind))
      continue;
    hf_json_write_key_str(w, changes[i].name);
    hf_json_write_bool(w, true);
    wanted = true;
  }
  if (hf_subscription_write_wanted(instance, w))
    wanted = true;
  hf_json_write_object_end(w);
  return wanted;
}

static void open_stream(struct hf_feed *feed, struct hf_str filter) {
  struct hf_instance *instance = feed->instance;
  struct hf_feed_stream *stream = &feed->streams[feed->streams[0].acknowledged ? 1 : 0];
  close_stream(stream, "superseded");
  const struct hf_own_request request = {.method = HF_METHOD_SUBSCRIPTIONS_LISTEN,
                                         .key = "notifications",
                                         .raw = filter,
                                         .patience = instance->settings->start_timeout,
                                         .events = &stream_events,
                                         .ctx = stream};
  stream->opened = feed->opened = instance->gateway->loop->now;
  if (hf_own_request_send(instance, &request, &stream->ref) == 0)
    return;
  *stream = (struct hf_feed_stream){.feed = feed};
  reopen_later(feed);
}

static void open_what_is_wanted(struct hf_feed *feed) {
  struct hf_buf filter;
  struct hf_json_writer w;
  hf_buf_init(&filter, FILTER_MAX);
  hf_json_writer_init(&w, &filter);
  const bool wanted = write_filter(feed->instance, &w);
  if (!wanted)
    hf_feed_stop(feed);
  else if (hf_json_write_finish(&w) == 0)
    open_stream(feed, hf_buf_str(&filter));
  else
    reopen_later(feed);
  hf_buf_deinit(&filter);
}

static void due(struct hf_timer *timer) {
  struct hf_feed *feed = HF_CONTAINER_OF(timer, struct hf_feed, timer);
  if (feed->instance->phase == HF_UPSTREAM_READY && !feed->refused)
    open_what_is_wanted(feed);
}

int hf_feed_init(struct hf_feed *feed, struct hf_instance *instance) {
  *feed = (struct hf_feed){.instance = instance};
  feed->streams[0].feed = feed->streams[1].feed = feed;
  return hf_timer_init(instance->gateway->loop, &feed->timer, due);
}

void hf_feed_deinit(struct hf_feed *feed) {
  hf_timer_deinit(feed->instance->gateway->loop, &feed->timer);
}

void hf_feed_stop(struct hf_feed *feed) {
  hf_timer_stop(feed->instance->gateway->loop, &feed->timer);
  close_stream(&feed->streams[0], "nobody listens any more");
  close_stream(&feed->streams[1], "nobody listens any more");
  feed->told = 0;
}

void hf_feed_start(struct hf_feed *feed) {
  hf_feed_stop(feed);
  feed->refused = false;
  open_what_is_wanted(feed);
}

void hf_feed_change(struct hf_feed *feed) {
  struct hf_loop *loop = feed->instance->gateway->loop;
  if (feed->instance->phase != HF_UPSTREAM_READY || feed->refused)
    return;
  if (feed->failures > 0 && !feed->streams[0].ref && !feed->streams[1].ref)
    return; /* the timer is set, and what is opened then is what is wanted then */
  const hf_time when = hf_time_add(feed->opened, PACE);
  hf_timer_set(loop, &feed->timer, when > loop->now ? when : loop->now);
}
