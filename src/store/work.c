#include "store/work.h"

#include "base/alloc.h"

#include <stdalign.h>

#define TEXT(type, member) offsetof(struct type, member)

static const size_t intent_texts[] = {
    TEXT(hf_intent, call),  TEXT(hf_intent, principal), TEXT(hf_intent, server), TEXT(hf_intent, tool),
    TEXT(hf_intent, route), TEXT(hf_intent, arguments), TEXT(hf_intent, key),    TEXT(hf_intent, trace_id),
};

static const size_t letter_texts[] = {
    TEXT(hf_letter, id),       TEXT(hf_letter, call),      TEXT(hf_letter, principal), TEXT(hf_letter, tool),
    TEXT(hf_letter, route),    TEXT(hf_letter, providers), TEXT(hf_letter, reason),    TEXT(hf_letter, end),
    TEXT(hf_letter, executed), TEXT(hf_letter, arguments), TEXT(hf_letter, schema),    TEXT(hf_letter, attempts),
    TEXT(hf_letter, key),      TEXT(hf_letter, trace_id),  TEXT(hf_letter, result),    TEXT(hf_letter, history),
};

static const size_t keyed_texts[] = {
    TEXT(hf_keyed, principal), TEXT(hf_keyed, server), TEXT(hf_keyed, tool),
    TEXT(hf_keyed, key),       TEXT(hf_keyed, result),
};

static const size_t cached_texts[] = {TEXT(hf_cached, result)};

static const size_t filter_texts[] = {
    TEXT(hf_letter_filter, id),     TEXT(hf_letter_filter, tool),        TEXT(hf_letter_filter, provider),
    TEXT(hf_letter_filter, reason), TEXT(hf_letter_filter, fingerprint),
};

static const size_t task_texts[] = {
    TEXT(hf_stored_task, id),          TEXT(hf_stored_task, principal), TEXT(hf_stored_task, endpoint),
    TEXT(hf_stored_task, call),        TEXT(hf_stored_task, tool),      TEXT(hf_stored_task, server),
    TEXT(hf_stored_task, server_task), TEXT(hf_stored_task, letter),    TEXT(hf_stored_task, message),
    TEXT(hf_stored_task, result),
};

static const size_t task_filter_texts[] = {
    TEXT(hf_task_filter, principal),
    TEXT(hf_task_filter, endpoint),
    TEXT(hf_task_filter, after),
};

static const size_t whole_text[] = {0};

#define ROW(type, texts)                                                                                               \
  { sizeof(struct type), (texts), sizeof(texts) / sizeof(texts)[0] }

static const struct shape {
  size_t size;
  const size_t *texts; /* where its struct hf_str are */
  size_t text_count;
} shapes[] = {
    [HF_WORK_INTEND] = ROW(hf_intent, intent_texts),
    [HF_WORK_SETTLE] = ROW(hf_str, whole_text),
    [HF_WORK_BURY] = ROW(hf_letter, letter_texts),
    [HF_WORK_CHANGE] = ROW(hf_letter, letter_texts),
    [HF_WORK_TALLY] = ROW(hf_str, whole_text),
    [HF_WORK_REMEMBER] = ROW(hf_keyed, keyed_texts),
    [HF_WORK_KEEP_TASK] = ROW(hf_stored_task, task_texts),
    [HF_WORK_DROP_TASK] = ROW(hf_str, whole_text),
    [HF_WORK_KEEP] = ROW(hf_cached, cached_texts),
    [HF_WORK_FIND] = ROW(hf_letter_filter, filter_texts),
    [HF_WORK_FIND_TASK] = ROW(hf_str, whole_text),
    [HF_WORK_LIST_TASKS] = ROW(hf_task_filter, task_filter_texts),
    [HF_WORK_SET] = {sizeof(struct hf_store_settings), NULL, 0},
    [HF_WORK_LETTER] = ROW(hf_letter, letter_texts),
    [HF_WORK_TASK] = ROW(hf_stored_task, task_texts),
};

static size_t aligned(size_t size) {
  return (size + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
}

static struct hf_str text_at(const void *subject, size_t offset) {
  struct hf_str text;
  memcpy(&text, (const char *)subject + offset, sizeof text);
  return text;
}

/* Absent texts stay absent, empty ones stay empty. */
static struct hf_str put(char **space, struct hf_str text) {
  if (!text.ptr)
    return text;
  char *to = *space;
  if (text.len)
    memcpy(to, text.ptr, text.len);
  *space += text.len;
  return (struct hf_str){to, text.len};
}

static size_t size_of_texts(const struct shape *shape, const void *subject, const struct hf_strings *strings) {
  size_t size = strings->count * sizeof *strings->item;
  for (size_t i = 0; i < shape->text_count; i++)
    size += text_at(subject, shape->texts[i]).len;
  for (size_t i = 0; i < strings->count; i++)
    size += strings->item[i].len;
  return size;
}

static void copy_strings(char *space, struct hf_strings *strings) {
  struct hf_str *items = (struct hf_str *)(void *)space;
  space += strings->count * sizeof *items;
  for (size_t i = 0; i < strings->count; i++)
    items[i] = put(&space, strings->item[i]);
  strings->item = items;
}

struct hf_work *hf_work_new(enum hf_work_kind kind, const void *subject) {
  const struct shape *shape = &shapes[kind];
  struct hf_strings none = {NULL, 0};
  const struct hf_strings *strings =
      kind == HF_WORK_SET ? &((const struct hf_store_settings *)subject)->secrets : &none;
  const size_t head = aligned(sizeof(struct hf_work));
  const size_t fixed = head + aligned(shape->size);
  const size_t size = fixed + size_of_texts(shape, subject, strings);
  struct hf_work *work = hf_malloc(size);
  if (!work)
    return NULL;
  *work = (struct hf_work){.kind = kind, .size = size, .subject = (char *)work + head};
  hf_list_init(&work->link);
  hf_list_init(&work->found);
  memcpy(work->subject, subject, shape->size);
  char *space = (char *)work + fixed;
  for (size_t i = 0; i < shape->text_count; i++) {
    const struct hf_str text = put(&space, text_at(subject, shape->texts[i]));
    memcpy((char *)work->subject + shape->texts[i], &text, sizeof text);
  }
  if (kind == HF_WORK_SET)
    copy_strings(space, &((struct hf_store_settings *)work->subject)->secrets);
  return work;
}

void hf_work_free(struct hf_work *work) {
  hf_works_free(&work->found);
  hf_free(work->rows);
  hf_free(work);
}

void hf_works_free(struct hf_list *works) {
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, works) {
    hf_list_remove(it);
    hf_work_free(HF_CONTAINER_OF(it, struct hf_work, link));
  }
}
