#include "front/stream.h"

#include "base/alloc.h"
#include "base/error.h"

#include <stdio.h>

struct hf_stream_event {
  struct hf_list link;
  uint64_t seq; /* 0: a comment, which is never kept */
  size_t len;   /* as it counts against the limits */
  bool final;
  uint64_t call; /* whose answer it is, on a stream with many; 0: none's */
  struct hf_pieces body;
  size_t prefix_len;
  char prefix[HF_STREAM_ID_MAX + 32];
};

enum kind { EVENT_MESSAGE, EVENT_FINAL, EVENT_PRIMING, EVENT_ENDPOINT };
enum part { PART_PREFIX, PART_BODY, PART_SUFFIX };

static struct hf_stream_event *event_of(struct hf_list *link) {
  return HF_CONTAINER_OF(link, struct hf_stream_event, link);
}

void hf_stream_init(struct hf_stream *stream, const struct hf_stream_options *options) {
  *stream = (struct hf_stream){.options = *options};
  hf_list_init(&stream->link);
  hf_list_init(&stream->events);
  hf_pieces_init(&stream->fallback);
}

static void event_free(struct hf_stream *stream, struct hf_stream_event *event) {
  stream->kept -= event->len;
  hf_list_remove(&event->link);
  hf_pieces_deinit(&event->body);
  hf_free(event);
}

void hf_stream_deinit(struct hf_stream *stream) {
  while (!hf_list_empty(&stream->events))
    event_free(stream, event_of(stream->events.next));
  hf_pieces_deinit(&stream->fallback);
  hf_list_remove(&stream->link);
}

static void cursor_reset(struct hf_stream *stream) {
  stream->text = (struct hf_str){NULL, 0};
  stream->part = PART_PREFIX;
  stream->piece = stream->offset = 0;
  stream->after_cr = false;
}

static struct hf_stream_event *event_after(struct hf_stream *stream, struct hf_stream_event *event) {
  return event->link.next == &stream->events ? NULL : event_of(event->link.next);
}

/* The final event is too large to keep: what tells the client so stands in for it. */
static void use_fallback(struct hf_stream *stream, struct hf_stream_event *event) {
  size_t before = event->len;
  hf_pieces_move(&event->body, &stream->fallback);
  event->len = sizeof(*event) + event->body.len;
  stream->kept -= before - event->len;
  if (stream->next == event)
    stream->waiting -= before - event->len;
}

/* Keeps what is kept within the limit, dropping the oldest. While somebody reads, only written events go. */
static void trim(struct hf_stream *stream) {
  while (stream->kept > stream->options.replay && !hf_list_empty(&stream->events)) {
    struct hf_stream_event *oldest = event_of(stream->events.next);
    if (stream->reader && oldest == stream->next)
      return;
    if (oldest->final && (stream->next == oldest || stream->fallback.len > 0)) {
      if (stream->fallback.len > 0 && stream->fallback.len < oldest->body.len)
        use_fallback(stream, oldest);
      return;
    }
    if (oldest == stream->next) {
      stream->waiting -= oldest->len;
      stream->next = event_after(stream, oldest);
      stream->dropped++;
      cursor_reset(stream);
    }
    event_free(stream, oldest);
  }
}

/* What an event begins with, behind its id. */
static const struct {
  const char *head;
  bool final;
} kinds[] = {
    [EVENT_MESSAGE] = {"event: message\ndata: ", false},
    [EVENT_FINAL] = {"event: message\ndata: ", true},
    [EVENT_PRIMING] = {"data: ", false},
    [EVENT_ENDPOINT] = {"event: endpoint\ndata: ", false},
};

/* Events without an id are written as they are; with one, the id comes first. */
static int add(struct hf_stream *stream, struct hf_pieces *body, enum kind kind) {
  struct hf_stream_event *event = hf_calloc(1, sizeof(*event));
  if (!event) {
    hf_pieces_deinit(body);
    return HF_ERR_NOMEM;
  }
  hf_list_init(&event->link);
  hf_pieces_init(&event->body);
  hf_pieces_move(&event->body, body);
  event->seq = ++stream->last_seq;
  event->final = kinds[kind].final;
  event->len = sizeof(*event) + event->body.len;
  const char *head = kinds[kind].head;
  int len = stream->options.ids
                ? snprintf(event->prefix, sizeof(event->prefix), "id: %08x-%x-%llx\n%s", stream->options.tag,
                           stream->options.number, (unsigned long long)event->seq, head)
                : snprintf(event->prefix, sizeof(event->prefix), "%s", head);
  event->prefix_len = (size_t)len;
  hf_list_push_back(&stream->events, &event->link);
  stream->kept += event->len;
  stream->waiting += event->len;
  if (!stream->next)
    stream->next = event;
  trim(stream);
  if (stream->reader)
    stream->wake(stream->reader);
  return 0;
}

/* What waits behind the event that is being written. */
static size_t behind(const struct hf_stream *stream) {
  return stream->next ? stream->waiting - stream->next->len : 0;
}

bool hf_stream_is_behind(const struct hf_stream *stream) {
  return behind(stream) > stream->options.backlog;
}

int hf_stream_push(struct hf_stream *stream, struct hf_pieces *text) {
  int error = stream->ended ? HF_ERR_CLOSED : 0;
  if (!error && stream->reader && stream->next && behind(stream) + text->len > stream->options.backlog)
    error = HF_ERR_LIMIT;
  if (error) {
    hf_pieces_deinit(text);
    return error;
  }
  return add(stream, text, EVENT_MESSAGE);
}

int hf_stream_push_answer(struct hf_stream *stream, struct hf_pieces *text, uint64_t call) {
  if (stream->ended) {
    hf_pieces_deinit(text);
    return HF_ERR_CLOSED;
  }
  int error = add(stream, text, EVENT_MESSAGE);
  if (!error && !hf_list_empty(&stream->events))
    event_of(stream->events.prev)->call = call;
  return error;
}

uint64_t hf_stream_take_unwritten(struct hf_stream *stream) {
  uint64_t call = 0;
  while (call == 0 && stream->next) {
    call = stream->next->call;
    stream->next = event_after(stream, stream->next);
  }
  return call;
}

int hf_stream_announce(struct hf_stream *stream, struct hf_pieces *endpoint) {
  return add(stream, endpoint, EVENT_ENDPOINT);
}

int hf_stream_finish(struct hf_stream *stream, struct hf_pieces *text, struct hf_pieces *fallback) {
  if (stream->ended) {
    hf_pieces_deinit(text);
    hf_pieces_deinit(fallback);
    return HF_ERR_CLOSED;
  }
  stream->ended = true;
  hf_pieces_move(&stream->fallback, fallback);
  int error = add(stream, text, EVENT_FINAL);
  if (error && stream->reader)
    stream->wake(stream->reader);
  return error;
}

int hf_stream_prime(struct hf_stream *stream) {
  struct hf_pieces nothing;
  hf_pieces_init(&nothing);
  return add(stream, &nothing, EVENT_PRIMING);
}

void hf_stream_keep_alive(struct hf_stream *stream) {
  static const char comment[] = ": keep-alive\n\n";
  if (!stream->reader || stream->next || stream->text.len > 0 || stream->ended)
    return;
  stream->text = (struct hf_str){comment, sizeof(comment) - 1};
  stream->wake(stream->reader);
}

void hf_stream_end(struct hf_stream *stream) {
  stream->ended = true;
  if (stream->reader)
    stream->wake(stream->reader);
}

void hf_stream_attach(struct hf_stream *stream, uint64_t after, void (*wake)(void *reader), void *reader) {
  stream->wake = wake;
  stream->reader = reader;
  cursor_reset(stream);
  if (stream->options.retry_ms) {
    int len = snprintf(stream->retry, sizeof(stream->retry), "retry: %u\n\n", stream->options.retry_ms);
    stream->text = (struct hf_str){stream->retry, (size_t)len};
  }
  stream->waiting = 0;
  stream->next = NULL;
  for (struct hf_list *it = stream->events.prev; it != &stream->events; it = it->prev) {
    struct hf_stream_event *event = event_of(it);
    if (event->seq <= after)
      break;
    stream->next = event;
    stream->waiting += event->len;
  }
}

uint64_t hf_stream_written(const struct hf_stream *stream) {
  return stream->next ? stream->next->seq - 1 : stream->last_seq;
}

void hf_stream_detach(struct hf_stream *stream) {
  stream->reader = NULL;
  stream->wake = NULL;
  cursor_reset(stream);
  trim(stream);
}

/* The event is wholly handed over. */
static void advance(struct hf_stream *stream) {
  struct hf_stream_event *event = stream->next;
  stream->waiting -= event->len;
  stream->next = event_after(stream, event);
  cursor_reset(stream);
  if (!stream->options.ids)
    event_free(stream, event);
  else
    trim(stream);
}

/* Copies body bytes up to the next line break, which becomes a new data line. Returns how many bytes it wrote. */
static size_t copy_body(struct hf_stream *stream, const struct hf_pieces *body, char *out, size_t max) {
  struct hf_str bytes = body->piece[stream->piece].bytes;
  const char *from = bytes.ptr + stream->offset;
  size_t len = bytes.len - stream->offset;
  if (len == 0) {
    stream->piece++;
    stream->offset = 0;
    return 0;
  }
  if (stream->after_cr && *from == '\n') {
    stream->after_cr = false;
    stream->offset++;
    return 0;
  }
  stream->after_cr = false;
  size_t run = len < max ? len : max;
  const char *lf = memchr(from, '\n', run);
  if (lf)
    run = (size_t)(lf - from);
  const char *cr = memchr(from, '\r', run);
  if (cr)
    run = (size_t)(cr - from);
  memcpy(out, from, run);
  stream->offset += run;
  if (cr || lf) {
    stream->offset++;
    stream->after_cr = cr != NULL;
    stream->text = HF_STR("\ndata: ");
  }
  return run;
}

/* Sets up the next literal text, or moves on to the next event. */
static void next_part(struct hf_stream *stream) {
  struct hf_stream_event *event = stream->next;
  switch ((enum part)stream->part) {
  case PART_PREFIX:
    stream->text = (struct hf_str){event->prefix, event->prefix_len};
    stream->part = PART_BODY;
    break;
  case PART_BODY:
    stream->text = HF_STR("\n\n");
    stream->part = PART_SUFFIX;
    break;
  case PART_SUFFIX:
    advance(stream);
    break;
  }
}

size_t hf_stream_read(struct hf_stream *stream, char *out, size_t max) {
  size_t done = 0;
  while (done < max) {
    if (stream->text.len > 0) {
      size_t len = stream->text.len < max - done ? stream->text.len : max - done;
      memcpy(out + done, stream->text.ptr, len);
      stream->text = (struct hf_str){stream->text.ptr + len, stream->text.len - len};
      done += len;
    } else if (!stream->next) {
      break;
    } else if (stream->part == PART_BODY && stream->piece < stream->next->body.count) {
      done += copy_body(stream, &stream->next->body, out + done, max - done);
    } else {
      next_part(stream);
    }
  }
  /* A final event that fits exactly must not look unread. */
  if (stream->text.len == 0 && stream->next && stream->part == PART_SUFFIX)
    advance(stream);
  return done;
}

bool hf_stream_drained(const struct hf_stream *stream) {
  return stream->ended && !stream->next && stream->text.len == 0;
}

static int parse_hex(struct hf_str *text, char end, size_t max_digits, uint64_t *ret_value) {
  uint64_t value = 0;
  size_t i = 0;
  for (; i < text->len && text->ptr[i] != end; i++) {
    char c = text->ptr[i];
    if (i == max_digits || !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
      return HF_ERR_SYNTAX;
    value = value << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
  }
  if (i == 0 || (end != '\0' && i == text->len))
    return HF_ERR_SYNTAX;
  size_t skip = i < text->len ? i + 1 : i;
  *text = (struct hf_str){text->ptr + skip, text->len - skip};
  *ret_value = value;
  return 0;
}

int hf_stream_id_parse(struct hf_str text, struct hf_stream_id *ret_id) {
  uint64_t tag;
  uint64_t number;
  uint64_t seq;
  if (parse_hex(&text, '-', 8, &tag) < 0 || parse_hex(&text, '-', 8, &number) < 0 ||
      parse_hex(&text, '\0', 16, &seq) < 0 || text.len > 0)
    return HF_ERR_SYNTAX;
  *ret_id = (struct hf_stream_id){.tag = (uint32_t)tag, .number = (uint32_t)number, .seq = seq};
  return 0;
}
