/* What changes letters in the database: discard, requeue, import; and export, import's other half. */
#include "cli/dlq.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>

enum { HISTORY_MAX = 64 << 10, LETTER_MAX = 256 << 20, REASON_MAX = 1000 };

struct ids {
  struct hf_arena arena;
  struct hf_str *item; /* owned */
  size_t count;
  size_t cap;
  bool failed;
};

static void ids_add(struct ids *ids, struct hf_str id) {
  if (ids->count == ids->cap) {
    size_t cap = ids->cap ? 2 * ids->cap : 64;
    struct hf_str *item = hf_realloc(ids->item, cap * sizeof *item);
    ids->failed |= !item;
    if (!item)
      return;
    ids->item = item;
    ids->cap = cap;
  }
  ids->item[ids->count] = hf_arena_copy(&ids->arena, id);
  ids->failed |= !ids->item[ids->count].ptr;
  ids->count += !ids->failed;
}

static void ids_add_letter(void *ctx, const struct hf_letter *letter) {
  ids_add(ctx, letter->id);
}

/* What is done to letters. */
struct deed {
  const char *command;
  const char *what; /* in the history */
  const char *done; /* "discarded" */
  enum hf_letter_status becomes;
  enum hf_letter_status usual; /* what a filter finds if no status is said */
};

static int choose(struct hf_dlq *dlq, const struct hf_args *args, const struct deed *deed, struct ids *ids) {
  for (size_t i = 0; i < args->rest_count; i++)
    ids_add(ids, hf_str_from(args->rest[i]));
  if (args->rest_count)
    return HF_EXIT_GOOD;
  struct hf_letter_filter filter;
  int exit_code = hf_dlq_filter(args, deed->usual, &filter);
  return exit_code == HF_EXIT_GOOD ? hf_dlq_each(dlq, &filter, ids_add_letter, ids) : exit_code;
}

static int write_history(struct hf_buf *out, const struct hf_args *args, const struct deed *deed) {
  char who[HF_DLQ_WHO_MAX];
  const struct hf_str by = hf_dlq_who(who);
  struct hf_json_writer w;
  hf_json_writer_init(&w, out);
  hf_json_write_object(&w);
  hf_json_write_member_int(&w, "atMs", hf_clock_wall_ms());
  hf_json_write_member_str(&w, "what", hf_str_from(deed->what));
  if (by.ptr)
    hf_json_write_member_str(&w, "by", by);
  if (args->reason)
    hf_json_write_member_str(&w, "why", hf_str_from(args->reason));
  hf_json_write_object_end(&w);
  return hf_json_write_finish(&w);
}

/* Says why one letter stays as it is. Returns false if it is no matter of this letter alone. */
static bool tell_refusal(struct hf_str id, const struct deed *deed, int error) {
  if (error == HF_ERR_NOTFOUND)
    (void)hf_complain(HF_EXIT_FAILED, "there is no letter '%.*s'", HF_STR_FMT(id));
  else if (error == HF_ERR_BUSY)
    (void)hf_complain(HF_EXIT_FAILED, "%.*s is being replayed by a gateway; wait until that has ended", HF_STR_FMT(id));
  else if (error == HF_ERR_INVALID)
    (void)hf_complain(HF_EXIT_FAILED, "%.*s cannot be %s as it is; `holdfast dlq show` tells how it is", HF_STR_FMT(id),
                      deed->done);
  else
    return false;
  return true;
}

/* All of them in one transaction, which the disk has before it is told. */
static int change_all(struct hf_dlq *dlq, const struct ids *ids, const struct deed *deed, struct hf_str history,
                      size_t *ret_done) {
  int r = hf_database_begin(dlq->database, true);
  size_t done = 0;
  if (r < 0)
    return hf_dlq_complain(dlq, r);
  for (size_t i = 0; i < ids->count; i++) {
    const struct hf_letter letter = {.id = ids->item[i], .status = deed->becomes, .history = history};
    r = hf_database_change(dlq->database, &letter);
    if (r == 0) {
      done++;
    } else if (!tell_refusal(ids->item[i], deed, r)) {
      hf_database_rollback(dlq->database);
      return hf_dlq_complain(dlq, r);
    }
  }
  r = hf_database_commit(dlq->database);
  if (r < 0)
    return hf_dlq_complain(dlq, r);
  *ret_done = done;
  return done == ids->count ? HF_EXIT_GOOD : HF_EXIT_FAILED;
}

static void print_counts(const char *first, size_t first_count, const char *second, size_t second_count) {
  struct hf_buf text;
  struct hf_json_writer w;
  hf_buf_init(&text, HISTORY_MAX);
  hf_json_writer_init(&w, &text);
  hf_json_write_object(&w);
  hf_json_write_member_int(&w, first, (int64_t)first_count);
  hf_json_write_member_int(&w, second, (int64_t)second_count);
  hf_json_write_object_end(&w);
  if (hf_json_write_finish(&w) == 0)
    printf("%.*s\n", HF_STR_FMT(hf_buf_str(&text)));
  hf_buf_deinit(&text);
}

static void tell_done(const struct hf_args *args, const struct deed *deed, size_t done, size_t count) {
  if (args->flags & HF_FLAG_JSON)
    print_counts(deed->done, done, "failed", count - done);
  else if (count == 0)
    printf("No letter matches.\n");
  else
    printf("%zu of %zu letter%s %s.\n", done, count, count == 1 ? "" : "s", deed->done);
}

static int do_deed(const struct hf_args *args, const struct deed *deed) {
  struct hf_dlq dlq;
  int exit_code = hf_dlq_check_choice(args, deed->command);
  if (exit_code == HF_EXIT_GOOD && args->reason && strlen(args->reason) > REASON_MAX)
    exit_code = hf_complain(HF_EXIT_USAGE, "%s: the reason is longer than %d bytes", deed->command, REASON_MAX);
  if (exit_code == HF_EXIT_GOOD)
    exit_code = hf_dlq_open(args, false, &dlq);
  if (exit_code != HF_EXIT_GOOD)
    return exit_code;
  struct ids ids = {.count = 0};
  struct hf_buf history;
  size_t done = 0;
  hf_arena_init(&ids.arena, LETTER_MAX);
  hf_buf_init(&history, HISTORY_MAX);
  exit_code = choose(&dlq, args, deed, &ids);
  if (exit_code == HF_EXIT_GOOD && (ids.failed || write_history(&history, args, deed) < 0))
    exit_code = hf_complain(HF_EXIT_FAILED, "out of memory");
  bool tried = exit_code == HF_EXIT_GOOD;
  if (tried && ids.count)
    exit_code = change_all(&dlq, &ids, deed, hf_buf_str(&history), &done);
  if (tried && exit_code != HF_EXIT_UNAVAILABLE)
    tell_done(args, deed, done, ids.count);
  hf_buf_deinit(&history);
  hf_arena_deinit(&ids.arena);
  hf_free(ids.item);
  hf_dlq_close(&dlq);
  return exit_code;
}

int hf_dlq_discard(const struct hf_args *args) {
  static const struct deed deed = {"dlq discard", "discarded", "discarded", HF_LETTER_DISCARDED, HF_LETTER_DEAD};
  return do_deed(args, &deed);
}

int hf_dlq_requeue(const struct hf_args *args) {
  static const struct deed deed = {"dlq requeue", "requeued", "requeued", HF_LETTER_DEAD, HF_LETTER_QUARANTINED};
  return do_deed(args, &deed);
}

struct export {
  struct hf_letter_view view;
  size_t count;
  size_t redacted;
  bool failed;
};

static void export_letter(void *ctx, const struct hf_letter *letter) {
  struct export *to = ctx;
  struct hf_buf text;
  struct hf_json_writer w;
  bool hidden = letter->redacted;
  hf_buf_init(&text, LETTER_MAX);
  if (letter->arguments.ptr)
    (void)hf_letter_json_redact(letter->arguments, &to->view, &text, &hidden);
  hf_buf_reset(&text, LETTER_MAX);
  hf_json_writer_init(&w, &text);
  hf_letter_json_write(&w, letter, &to->view);
  to->failed |= hf_json_write_finish(&w) < 0 || fwrite(text.data, 1, text.len, stdout) != text.len;
  (void)fputc('\n', stdout);
  to->count++;
  to->redacted += hidden;
  hf_buf_deinit(&text);
}

int hf_dlq_export(const struct hf_args *args) {
  struct hf_dlq dlq;
  struct hf_letter_filter filter;
  int exit_code = hf_dlq_filter(args, HF_LETTER_STATUS_COUNT, &filter);
  if (exit_code == HF_EXIT_GOOD)
    exit_code = hf_dlq_open(args, false, &dlq);
  if (exit_code != HF_EXIT_GOOD)
    return exit_code;
  struct export to = {.view = hf_dlq_view(&dlq, args)};
  exit_code = hf_dlq_each(&dlq, &filter, export_letter, &to);
  if (exit_code == HF_EXIT_GOOD && (to.failed || fflush(stdout) != 0))
    exit_code = hf_complain(HF_EXIT_FAILED, "dlq export: not all could be written");
  else if (exit_code == HF_EXIT_GOOD && to.redacted)
    (void)hf_complain(HF_EXIT_GOOD,
                      "%zu of %zu letters without their secrets: imported, they cannot be replayed without --patch%s",
                      to.redacted, to.count, to.view.secrets_shown ? "" : "; --show-secrets exports them whole");
  hf_dlq_close(&dlq);
  return exit_code;
}

struct import {
  struct hf_dlq *dlq;
  const char *name; /* of what is read */
  size_t line;
  size_t taken;
  size_t known;
};

static int import_line(struct import *from, struct hf_str line) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  struct hf_json_scan scan;
  struct hf_arena arena;
  struct hf_letter letter;
  struct hf_error error = {0};
  options.max_bytes = LETTER_MAX;
  options.tree_depth = 1;
  hf_json_scan_init(&scan, &options);
  hf_arena_init(&arena, LETTER_MAX);
  int exit_code = HF_EXIT_GOOD;
  if (hf_json_scan_feed(&scan, line.ptr, line.len, true) < 0) {
    hf_json_scan_error(&scan, &error);
  } else {
    const struct hf_json_doc doc = hf_json_doc(line.ptr, &scan);
    (void)hf_letter_json_read(&doc, &arena, &letter, &error);
  }
  if (error.code) {
    exit_code =
        hf_complain(HF_EXIT_FAILED, "%s: line %zu: %s; nothing is imported", from->name, from->line, error.text);
  } else {
    int r = hf_database_import(from->dlq->database, &letter);
    from->taken += r == 0;
    from->known += r == HF_ERR_EXISTS;
    if (r < 0 && r != HF_ERR_EXISTS)
      exit_code = hf_dlq_complain(from->dlq, r);
  }
  hf_arena_deinit(&arena);
  hf_json_scan_deinit(&scan);
  return exit_code;
}

static int import_lines(struct import *from, FILE *file) {
  char *line = NULL;
  size_t cap = 0;
  ssize_t len;
  int exit_code = HF_EXIT_GOOD;
  while (exit_code == HF_EXIT_GOOD && (len = getline(&line, &cap, file)) >= 0) {
    from->line++;
    while (len > 0 && (line[len - 1] == '\n' || line[len - 1] == '\r'))
      len--;
    if (len > 0)
      exit_code = import_line(from, (struct hf_str){line, (size_t)len});
  }
  if (exit_code == HF_EXIT_GOOD && ferror(file))
    exit_code = hf_complain(HF_EXIT_FAILED, "cannot read '%s'", from->name);
  free(line);
  return exit_code;
}

static int import_all(struct import *from, FILE *file) {
  struct hf_database *database = from->dlq->database;
  int r = hf_database_begin(database, true);
  if (r < 0)
    return hf_dlq_complain(from->dlq, r);
  int exit_code = import_lines(from, file);
  if (exit_code != HF_EXIT_GOOD) {
    hf_database_rollback(database);
    return exit_code;
  }
  r = hf_database_commit(database);
  return r < 0 ? hf_dlq_complain(from->dlq, r) : HF_EXIT_GOOD;
}

int hf_dlq_import(const struct hf_args *args) {
  struct hf_dlq dlq;
  const char *name = args->rest_count ? args->rest[0] : "-";
  const bool standard = strcmp(name, "-") == 0;
  FILE *file = standard ? stdin : fopen(name, "re");
  if (!file)
    return hf_complain(HF_EXIT_USAGE, "cannot open '%s'", name);
  int exit_code = hf_dlq_open(args, true, &dlq);
  if (exit_code == HF_EXIT_GOOD) {
    struct import from = {.dlq = &dlq, .name = standard ? "standard input" : name};
    exit_code = import_all(&from, file);
    if (exit_code == HF_EXIT_GOOD && (args->flags & HF_FLAG_JSON))
      print_counts("imported", from.taken, "known", from.known);
    else if (exit_code == HF_EXIT_GOOD)
      printf("%zu letter%s imported; %zu were there already and stay as they are.\n", from.taken,
             from.taken == 1 ? "" : "s", from.known);
    hf_dlq_close(&dlq);
  }
  if (!standard)
    (void)fclose(file);
  return exit_code;
}
