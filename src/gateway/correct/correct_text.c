#include "gateway/correct/correct_text.h"

#include "base/printer.h"
#include "gateway/correct/feedback.h"
#include "json/write.h"

enum { NAME_SHOWN_MAX = 128, STEP_MAX = 2048 };

static const char *plural(unsigned n) {
  return n == 1 ? "" : "s";
}

/* On one line, whatever a stranger put into it. */
static void print_line(struct hf_printer *p, struct hf_str text) {
  for (size_t i = 0; i < text.len; i++) {
    const char c = (unsigned char)text.ptr[i] < ' ' ? ' ' : text.ptr[i];
    hf_print_bytes(p, &c, 1);
  }
}

/* As a JSON string, which strangers' words cannot get out of. */
static void print_name(struct hf_printer *p, const struct hf_correct_words *words) {
  if (p->error == 0)
    p->error = hf_feedback_quote(words->name, NAME_SHOWN_MAX, p->buf);
}

/* One line for each try but the last, if there are any. */
static void print_history(struct hf_printer *p, const struct hf_correction_view *view) {
  if (view->try_count < 2)
    return;
  hf_print(p, "\nTried before, without success:\n");
  for (unsigned i = 0; i + 1 < view->try_count; i++) {
    const struct hf_correction_try *try = view->tries[i];
    hf_print(p, "%u. ", i + 1);
    print_line(p, try->reason);
    if (try->times > 1)
      hf_print(p, " (%u times)", try->times);
    hf_print(p, "\n");
  }
}

static void print_stop(struct hf_printer *p, const struct hf_correct_words *words,
                       const struct hf_correction_view *view) {
  if (words->kind == HF_CORRECTION_NAME) {
    hf_print(p, "Stop: you have called %u time%s what there is not. Don't guess names any more. ", view->count,
             plural(view->count));
  } else {
    hf_print(p, "Stop: %u call%s of ", view->count, plural(view->count));
    print_name(p, words);
    hf_print(p, " had arguments that don't fit it, and none was sent. Don't call it again for this. ");
  }
  hf_print(p, "Tell the user what you wanted to do and what stands in the way (below), and ask how to go on.\n\n");
}

/* What this try has in common with an earlier one. */
static void print_repetition(struct hf_printer *p, const struct hf_correct_words *words,
                             const struct hf_correction_view *view) {
  if (words->kind == HF_CORRECTION_NAME) {
    hf_print(p, "You called ");
    print_name(p, words);
    hf_print(p, " before: it was not there, and calling it again doesn't make it.");
  } else if (view->same_arguments) {
    hf_print(p, "You sent these very arguments before. They were refused, and will be each time.");
  } else {
    hf_print(p, "You changed the arguments, but the same is wrong with them as before: the change did not touch it.");
  }
  if (words->max > 0)
    hf_print(p, " This was try %u of %u.\n", view->count, words->max);
  else
    hf_print(p, " This was try %u.\n", view->count);
}

static void print_other_ways(struct hf_printer *p, const struct hf_correct_words *words) {
  hf_print(p, "Take another way:\n");
  if (words->kind == HF_CORRECTION_NAME) {
    hf_print(p, "- Read the list of tools, and call one of those by its exact name.\n"
                "- If none of them does what you want, do without, or ask the user.\n");
    return;
  }
  hf_print(p, "- Read the task again: the value that is wanted may be another one than the one you think of. If the "
              "task doesn't say it, ask the user; don't make it up.\n");
  if (words->has_example)
    hf_print(p, "- Begin with the least that fits (below), and change nothing but its values.\n");
  else
    hf_print(p, "- Leave out whatever is not required, and begin with the least that can fit.\n");
  if (words->others.ptr)
    hf_print(p, "- Perhaps it is another tool that you want: the arguments that you gave fit %.*s.\n",
             HF_STR_FMT(words->others));
}

int hf_correct_text(const struct hf_correct_words *words, const struct hf_correction_view *view, struct hf_buf *out) {
  struct hf_printer p = {.buf = out};
  if (view->exhausted) {
    print_stop(&p, words, view);
  } else if (view->anchored) {
    print_repetition(&p, words, view);
    print_other_ways(&p, words);
    hf_print(&p, "\n");
  }
  hf_print_bytes(&p, words->text.ptr, words->text.len);
  if (view->try_count > 1 && words->text.len && words->text.ptr[words->text.len - 1] != '\n')
    hf_print(&p, "\n");
  print_history(&p, view);
  if (words->kind == HF_CORRECTION_ARGUMENTS && !view->exhausted)
    hf_print(&p, "%sCorrect the arguments and call it again.", view->try_count > 1 ? "" : "\n");
  return p.error;
}

static void put_why(const struct hf_correction_try *try, struct hf_buf *out) {
  struct hf_printer p = {.buf = out};
  hf_print(&p, "refused");
  if (try->times > 1)
    hf_print(&p, ", %u times", try->times);
  hf_print(&p, ": ");
  print_line(&p, try->call);
  hf_print(&p, " | ");
  print_line(&p, try->secret ? HF_STR("(what is wrong is not kept: it could quote a secret)") : try->reason);
}

void hf_correct_steps(const struct hf_correction_view *view, struct hf_json_writer *w) {
  struct hf_buf why;
  hf_buf_init(&why, STEP_MAX);
  hf_json_write_array(w);
  for (unsigned i = 0; i < view->try_count; i++) {
    const struct hf_correction_try *try = view->tries[i];
    hf_buf_reset(&why, STEP_MAX);
    put_why(try, &why);
    hf_json_write_object(w);
    hf_json_write_member_int(w, "atMs", try->at_ms);
    hf_json_write_member_str(w, "what", HF_STR("refused_try"));
    hf_json_write_member_int(w, "times", try->times);
    hf_json_write_member_str(w, "why", hf_buf_str(&why));
    hf_json_write_object_end(w);
  }
  hf_json_write_array_end(w);
  hf_buf_deinit(&why);
}
