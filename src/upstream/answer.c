#include "upstream/answer.h"

static const char bom[] = "\xef\xbb\xbf";
enum { BOM_LEN = 3, BOM_NONE = 4 };

static void tell_unreadable(struct hf_answer *answer, const struct hf_refusal *refusal) {
  answer->why = refusal->why;
  if (answer->events->unreadable)
    answer->events->unreadable(answer, (struct hf_str){refusal->id, refusal->id_len});
  else
    answer->events->life(answer);
}

static int on_event(void *context, struct hf_sse_event *event) {
  struct hf_answer *answer = context;
  if (answer->stopped)
    return HF_ERR_CLOSED;
  answer->event_count++;
  answer->barren = 0;
  if (event->retry_ms >= 0)
    answer->retry_ms = event->retry_ms;
  if (event->has_id) {
    hf_buf_reset(&answer->last_id, HF_SSE_ID_MAX);
    int r = hf_buf_append_str(&answer->last_id, event->id);
    if (r < 0)
      return r;
  }

  bool is_message = event->has_data && event->data->len && hf_str_equal(event->type, HF_STR("message"));
  if (is_message && event->json == 0) {
    struct hf_message message = {0};
    struct hf_refusal refusal;
    int r = hf_message_from_scan(event->scan, event->data, &message, &refusal);
    if (r == 0) {
      answer->events->message(answer, &message);
      hf_message_deinit(&message);
      return answer->stopped ? HF_ERR_CLOSED : 0;
    }
    tell_unreadable(answer, &refusal);
  } else if (is_message) {
    struct hf_refusal refusal;
    hf_message_refuse_scan(event->scan, hf_buf_str(event->data), &refusal);
    tell_unreadable(answer, &refusal);
  } else if (event->has_data && answer->events->named) {
    answer->events->named(answer, event->type, hf_buf_str(event->data));
  } else {
    answer->events->life(answer);
  }
  return answer->stopped ? HF_ERR_CLOSED : 0;
}

static int on_oversize(void *context, struct hf_str id) {
  struct hf_answer *answer = context;
  hf_error_set(&answer->why, HF_ERR_LIMIT, "a message of more than %zu bytes", answer->max);
  if (!answer->events->unreadable)
    return HF_ERR_LIMIT;
  answer->events->unreadable(answer, id);
  return 0;
}

void hf_answer_init(struct hf_answer *answer, const struct hf_answer_events *events) {
  answer->events = events;
  answer->kind = HF_ANSWER_NONE;
  answer->stopped = false;
  answer->dropped = 0;
  answer->retry_ms = -1;
  answer->event_count = 0;
  answer->why.code = 0;
  hf_buf_init(&answer->last_id, HF_SSE_ID_MAX);
}

static void drop_body(struct hf_answer *answer) {
  if (answer->kind == HF_ANSWER_JSON)
    hf_json_scan_deinit(&answer->scan);
  if (answer->kind == HF_ANSWER_JSON || answer->kind == HF_ANSWER_TEXT)
    hf_buf_deinit(&answer->body);
  if (answer->kind == HF_ANSWER_EVENTS)
    hf_sse_deinit(&answer->sse);
  answer->kind = HF_ANSWER_NONE;
}

void hf_answer_deinit(struct hf_answer *answer) {
  drop_body(answer);
  hf_buf_deinit(&answer->last_id);
}

void hf_answer_begin(struct hf_answer *answer, enum hf_answer_kind kind, size_t max) {
  drop_body(answer);
  answer->kind = kind;
  answer->max = max;
  answer->stopped = false;
  answer->dropped = 0;
  answer->barren = 0;
  answer->bom = 0;
  answer->why.code = 0;
  if (kind == HF_ANSWER_JSON) {
    struct hf_json_options options;
    hf_message_scan_options(max, false, &options);
    hf_json_scan_init(&answer->scan, &options);
    hf_buf_init(&answer->body, max);
  } else if (kind == HF_ANSWER_TEXT) {
    hf_buf_init(&answer->body, HF_ANSWER_TEXT_MAX);
  } else if (kind == HF_ANSWER_EVENTS) {
    const struct hf_sse_handler handler = {answer, on_event, on_oversize};
    hf_sse_init(&answer->sse, max, &handler);
  }
}

static int drop(struct hf_answer *answer, size_t len) {
  answer->dropped += len;
  return answer->dropped > HF_ANSWER_DRAIN_MAX ? HF_ERR_LIMIT : 0;
}

/* A byte order mark is no part of the message that follows it. */
static int skip_bom(struct hf_answer *answer, struct hf_str *bytes) {
  while (bytes->len && answer->bom < BOM_LEN) {
    if (bytes->ptr[0] != bom[answer->bom]) {
      bool torn = answer->bom > 0;
      answer->bom = BOM_NONE;
      return torn ? hf_error_set(&answer->why, HF_ERR_SYNTAX, "it begins with half a byte order mark") : 0;
    }
    answer->bom++;
    bytes->ptr++;
    bytes->len--;
  }
  return 0;
}

static int feed_json(struct hf_answer *answer, struct hf_str bytes) {
  int torn = skip_bom(answer, &bytes);
  if (torn < 0)
    return torn;
  int r = hf_buf_append_str(&answer->body, bytes);
  if (r < 0)
    return hf_error_set(&answer->why, r, "a message of more than %zu bytes", answer->max);
  r = hf_json_scan_feed(&answer->scan, answer->body.data, answer->body.len, false);
  if (r == 0 || r == HF_ERR_AGAIN)
    return 0;
  return hf_json_scan_error(&answer->scan, &answer->why);
}

int hf_answer_feed(struct hf_answer *answer, struct hf_str bytes) {
  if (answer->stopped)
    return drop(answer, bytes.len) < 0 ? HF_ERR_LIMIT : HF_ERR_CLOSED;
  switch (answer->kind) {
  case HF_ANSWER_NONE:
    return drop(answer, bytes.len);
  case HF_ANSWER_JSON:
    return feed_json(answer, bytes);
  case HF_ANSWER_EVENTS:
    answer->barren += bytes.len;
    if (answer->barren / HF_ANSWER_BARREN_MAX > answer->max)
      return hf_error_set(&answer->why, HF_ERR_LIMIT, "too many bytes without an event");
    return hf_sse_feed(&answer->sse, bytes.ptr, bytes.len);
  case HF_ANSWER_TEXT: {
    size_t room = HF_ANSWER_TEXT_MAX - answer->body.len;
    size_t n = bytes.len < room ? bytes.len : room;
    int r = hf_buf_append(&answer->body, bytes.ptr, n);
    return r < 0 ? r : drop(answer, bytes.len - n);
  }
  }
  return HF_ERR_INVALID;
}

int hf_answer_finish(struct hf_answer *answer) {
  if (answer->kind != HF_ANSWER_JSON || answer->stopped)
    return 0;
  int r = hf_json_scan_feed(&answer->scan, answer->body.data, answer->body.len, true);
  struct hf_refusal refusal;
  struct hf_message message = {0};
  if (r < 0)
    r = hf_message_refuse_scan(&answer->scan, hf_buf_str(&answer->body), &refusal);
  else
    r = hf_message_from_scan(&answer->scan, &answer->body, &message, &refusal);
  if (r < 0) {
    answer->why = refusal.why;
    return r;
  }
  answer->events->message(answer, &message);
  hf_message_deinit(&message);
  return 0;
}

void hf_answer_stop(struct hf_answer *answer) {
  answer->stopped = true;
}
