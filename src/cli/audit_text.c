#include "cli/audit_text.h"

#include "base/alloc.h"
#include "base/map.h"
#include "cli/terminal.h"
#include "json/write.h"

#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 80, INDENT = 23, NAMES_SHOWN = 12, KEY_MAX = 64 << 10 };

/* Words, in lines that end before the margin. */
struct page {
  FILE *to;
  size_t indent;
  size_t column;
};

static void end_line(struct page *page) {
  (void)fputc('\n', page->to);
  page->column = 0;
}

static void put_word(struct page *page, struct hf_str word) {
  const size_t columns = hf_terminal_columns(word);
  if (page->column > page->indent && page->column + 1 + columns > COLUMNS)
    end_line(page);
  if (page->column > page->indent) {
    (void)fputc(' ', page->to);
    page->column++;
  }
  for (; page->column < page->indent; page->column++)
    (void)fputc(' ', page->to);
  hf_terminal_print(page->to, word, false);
  page->column += columns;
}

static void put(struct page *page, struct hf_str text) {
  for (size_t at = 0; at < text.len;) {
    const char *blank = memchr(text.ptr + at, ' ', text.len - at);
    const size_t end = blank ? (size_t)(blank - text.ptr) : text.len;
    if (end > at)
      put_word(page, (struct hf_str){text.ptr + at, end - at});
    at = end + 1;
  }
}

/* Where it is decided: as compilers say it, and by which option. */
static int put_place(struct page *page, const struct hf_decided *decided, const char *path) {
  struct hf_buf text;
  hf_buf_init(&text, KEY_MAX);
  int r = decided->place.line ? hf_buf_printf(&text, "[%s:%d %.*s]", path, decided->place.line, HF_STR_FMT(decided->by))
                              : hf_buf_printf(&text, "[%.*s]", HF_STR_FMT(decided->by));
  if (r == 0)
    put(page, hf_buf_str(&text));
  hf_buf_deinit(&text);
  return r;
}

/* A fix that names its tool, as one for several. */
static int append_fix(struct hf_str fix, struct hf_str tool, struct hf_buf *out) {
  static const struct hf_str before = {"tools.", 6};
  const char *at = fix.ptr ? memmem(fix.ptr, fix.len, before.ptr, before.len) : NULL;
  const size_t head = at ? (size_t)(at - fix.ptr) + before.len : fix.len;
  const struct hf_str rest = {fix.ptr + head, fix.len - head};
  const bool named = rest.len > 0 && hf_str_starts(rest, tool);
  const size_t skipped = named ? tool.len : 0;
  return hf_buf_printf(out, "%.*s%s%.*s", (int)head, fix.ptr ? fix.ptr : "", named ? "NAME" : "",
                       (int)(rest.len - skipped), rest.ptr ? rest.ptr + skipped : "");
}

static int print_answer(const struct hf_audit_answer *answer, unsigned question, const char *path, FILE *to) {
  struct page page = {to, INDENT, INDENT};
  (void)fprintf(to, "  %-7s %-12s ", hf_audit_verdict_name(answer->verdict), hf_audit_id(question));
  put(&page, answer->why);
  int r = put_place(&page, &answer->decided, path);
  end_line(&page);
  if (answer->fix.ptr) {
    put(&page, HF_STR("fix:"));
    put(&page, answer->fix);
    end_line(&page);
  }
  return r;
}

/* Subjects that got the same answers. */
struct group {
  size_t first; /* indexes of subjects */
  size_t last;
  size_t count;
};

struct groups {
  struct hf_map by_answers; /* to index plus one */
  struct group *item;
  size_t *next; /* of each subject: the next one of its group */
  size_t count;
};

static int answers_key(const struct hf_audit_subject *subject, struct hf_buf *key) {
  int r = 0;
  hf_buf_reset(key, KEY_MAX);
  for (unsigned i = 0; i < HF_AUDIT_QUESTIONS && r == 0; i++) {
    const struct hf_audit_answer *answer = &subject->answer[i];
    r = hf_buf_printf(key, "%d %d %.*s\n%.*s\n", (int)answer->verdict, answer->decided.place.line,
                      HF_STR_FMT(answer->decided.by), HF_STR_FMT(answer->why));
    if (r == 0)
      r = append_fix(answer->fix, subject->name, key);
    if (r == 0)
      r = hf_buf_append_str(key, HF_STR("\n"));
  }
  return r;
}

static int group_all(const struct hf_audit *audit, struct groups *groups) {
  struct hf_buf key;
  hf_buf_init(&key, KEY_MAX);
  int r = 0;
  for (size_t i = 0; i < audit->count && r == 0; i++) {
    r = answers_key(&audit->subjects[i], &key);
    uintptr_t known = r == 0 ? (uintptr_t)hf_map_get(&groups->by_answers, hf_buf_str(&key)) : 0;
    if (r == 0 && !known) {
      groups->item[groups->count] = (struct group){i, i, 1};
      r = hf_map_put(&groups->by_answers, hf_buf_str(&key), (void *)(uintptr_t)++groups->count);
    } else if (r == 0) {
      struct group *group = &groups->item[known - 1];
      groups->next[group->last] = i;
      group->last = i;
      group->count++;
    }
  }
  hf_buf_deinit(&key);
  return r;
}

/* A yes for the same reason everywhere is told once. */
static bool is_common(const struct hf_audit *audit, const struct groups *groups, unsigned question) {
  if (groups->count < 2)
    return false;
  const struct hf_audit_answer *first = &audit->subjects[0].answer[question];
  for (size_t i = 1; i < groups->count; i++) {
    const struct hf_audit_answer *its = &audit->subjects[groups->item[i].first].answer[question];
    if (its->verdict != first->verdict || its->decided.place.line != first->decided.place.line ||
        !hf_str_equal(its->decided.by, first->decided.by) || !hf_str_equal(its->why, first->why))
      return false;
  }
  return first->verdict == HF_AUDIT_YES;
}

static int print_common(const struct hf_audit *audit, const struct groups *groups, const char *path, FILE *to) {
  bool headed = false;
  int r = 0;
  for (unsigned i = 0; i < HF_AUDIT_QUESTIONS && r == 0; i++) {
    if (!is_common(audit, groups, i))
      continue;
    if (!headed)
      (void)fputs("\nall of them\n", to);
    headed = true;
    r = print_answer(&audit->subjects[0].answer[i], i, path, to);
  }
  return r;
}

/* One answer of a group: what would mend it is told for all. */
static int print_for_group(const struct hf_audit_subject *first, const struct group *group, unsigned question,
                           const char *path, FILE *to) {
  struct hf_audit_answer answer = first->answer[question];
  struct hf_buf fix;
  hf_buf_init(&fix, KEY_MAX);
  int r = 0;
  if (answer.fix.ptr && group->count > 1) {
    r = append_fix(answer.fix, first->name, &fix);
    answer.fix = hf_buf_str(&fix);
  }
  if (r == 0)
    r = print_answer(&answer, question, path, to);
  hf_buf_deinit(&fix);
  return r;
}

static int print_group(const struct hf_audit *audit, const struct groups *groups, const struct group *group,
                       const char *path, FILE *to) {
  const struct hf_audit_subject *first = &audit->subjects[group->first];
  struct page page = {to, 0, 0};
  char text[64];
  end_line(&page);
  for (size_t i = 0, at = group->first; i < group->count && i < NAMES_SHOWN; i++, at = groups->next[at]) {
    put(&page, audit->subjects[at].name);
    (void)fputs(i + 1 < group->count ? "," : "", to);
    page.column += i + 1 < group->count;
  }
  int n = group->count > NAMES_SHOWN
              ? snprintf(text, sizeof text, "and %zu more: %u of 100", group->count - NAMES_SHOWN, first->score)
              : snprintf(text, sizeof text, "%s %u of 100", group->count > 1 ? "each" : "-", first->score);
  if (n > 0)
    put(&page, hf_str_from(text));
  end_line(&page);
  int r = 0;
  for (unsigned i = 0; i < HF_AUDIT_QUESTIONS && r == 0; i++)
    r = is_common(audit, groups, i) ? 0 : print_for_group(first, group, i, path, to);
  return r;
}

/* What is worst comes first; what is equally good, in the order of the file. */
static const struct group *next_worst(const struct hf_audit *audit, const struct groups *groups,
                                      const struct group *before) {
  const struct group *best = NULL;
  const unsigned score = before ? audit->subjects[before->first].score : 0;
  for (size_t i = 0; i < groups->count; i++) {
    const struct group *group = &groups->item[i];
    const unsigned its = audit->subjects[group->first].score;
    if ((before && (its < score || (its == score && group <= before))) ||
        (best && its >= audit->subjects[best->first].score))
      continue;
    best = group;
  }
  return best;
}

static int print_groups(const struct hf_audit *audit, const char *path, FILE *to) {
  struct groups groups = {.count = 0};
  hf_map_init(&groups.by_answers, HF_AUDIT_SUBJECTS_MAX);
  groups.item = hf_calloc(audit->count + 1, sizeof groups.item[0]);
  groups.next = hf_calloc(audit->count + 1, sizeof groups.next[0]);
  int r = groups.item && groups.next ? group_all(audit, &groups) : HF_ERR_NOMEM;
  if (r == 0)
    r = print_common(audit, &groups, path, to);
  for (const struct group *group = r == 0 ? next_worst(audit, &groups, NULL) : NULL; group && r == 0;
       group = next_worst(audit, &groups, group))
    r = print_group(audit, &groups, group, path, to);
  hf_map_deinit(&groups.by_answers);
  hf_free(groups.item);
  hf_free(groups.next);
  return r;
}

int hf_audit_print(const struct hf_audit *audit, const char *path, FILE *to) {
  size_t answers[HF_AUDIT_YES + 1] = {0};
  for (size_t i = 0; i < audit->count; i++)
    for (unsigned k = 0; k < HF_AUDIT_QUESTIONS; k++)
      answers[audit->subjects[i].answer[k].verdict]++;
  (void)fprintf(to, "%s: %u of 100 for resilience\n", path, audit->score);
  (void)fprintf(to, "%zu tool%s and eight questions each: %zu yes, %zu partly, %zu no\n", audit->count,
                audit->count == 1 ? "" : "s", answers[HF_AUDIT_YES], answers[HF_AUDIT_PARTLY], answers[HF_AUDIT_NO]);
  return print_groups(audit, path, to);
}

static void write_answer(struct hf_json_writer *w, const struct hf_audit_answer *answer, unsigned question) {
  hf_json_write_object(w);
  hf_json_write_member_str(w, "question", hf_str_from(hf_audit_id(question)));
  hf_json_write_member_str(w, "answer", hf_str_from(hf_audit_verdict_name(answer->verdict)));
  hf_json_write_member_str(w, "why", answer->why);
  hf_json_write_member_str(w, "decidedBy", answer->decided.by);
  if (answer->decided.place.line)
    hf_json_write_member_int(w, "line", answer->decided.place.line);
  if (answer->fix.ptr)
    hf_json_write_member_str(w, "fix", answer->fix);
  hf_json_write_object_end(w);
}

static void write_subject(struct hf_json_writer *w, const struct hf_audit_subject *subject) {
  hf_json_write_object(w);
  hf_json_write_member_str(w, "name", subject->name);
  if (!subject->route)
    hf_json_write_member_str(w, "server", subject->part[0].server->name);
  hf_json_write_member_int(w, "score", subject->score);
  hf_json_write_key(w, "answers");
  hf_json_write_array(w);
  for (unsigned i = 0; i < HF_AUDIT_QUESTIONS; i++)
    write_answer(w, &subject->answer[i], i);
  hf_json_write_array_end(w);
  hf_json_write_object_end(w);
}

int hf_audit_json(const struct hf_audit *audit, const char *path, struct hf_buf *out) {
  struct hf_json_writer w;
  hf_json_writer_init(&w, out);
  hf_json_write_object(&w);
  hf_json_write_member_str(&w, "file", hf_str_from(path));
  hf_json_write_member_int(&w, "score", audit->score);
  hf_json_write_key(&w, "questions");
  hf_json_write_array(&w);
  for (unsigned i = 0; i < HF_AUDIT_QUESTIONS; i++) {
    hf_json_write_object(&w);
    hf_json_write_member_str(&w, "id", hf_str_from(hf_audit_id(i)));
    hf_json_write_member_str(&w, "question", hf_str_from(hf_audit_question(i)));
    hf_json_write_object_end(&w);
  }
  hf_json_write_array_end(&w);
  hf_json_write_key(&w, "tools");
  hf_json_write_array(&w);
  for (size_t i = 0; i < audit->count; i++)
    write_subject(&w, &audit->subjects[i]);
  hf_json_write_array_end(&w);
  hf_json_write_object_end(&w);
  return hf_json_write_finish(&w);
}
