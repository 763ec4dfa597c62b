/* What a caller has tried and got wrong, for as long as it goes on trying: so that the next answer can say what has not
 * helped, and when it is enough.
 *
 * A loop is the tries of one caller at one tool, of one kind. A success closes it; left alone, it is over after its
 * time. Loops are bounded in number and bytes, and those that were longest left alone go first. A pure table: time is
 * handed in. */
#ifndef HF_GATEWAY_CORRECT_CORRECTION_H
#define HF_GATEWAY_CORRECT_CORRECTION_H

#include "base/list.h"
#include "base/map.h"
#include "base/time.h"

enum {
  HF_CORRECTIONS_MAX = 4096,          /* loops */
  HF_CORRECTIONS_BYTES_MAX = 8 << 20, /* of all of them */
  HF_CORRECTION_TRIES_MAX = 8,        /* different ones that a loop remembers; the newest */
  HF_CORRECTION_REASON_MAX = 240,     /* bytes of a try's reason … */
  HF_CORRECTION_CALL_MAX = 480,       /* … and of what was called; cut at a character */
};

/* name, the label of the metric */
#define HF_CORRECTION_KIND_LIST(X)                                                                                     \
  X(ARGUMENTS, "arguments") /* that do not fit the tool's schema */                                                    \
  X(NAME, "name")           /* of a tool that there is not: one loop for all such names of a caller */                 \
  X(ERROR, "error")         /* the tool's own (`isError`) */                                                           \
  X(RESULT, "result")       /* that is not what is expected of the tool */

enum hf_correction_kind {
#define HF_CORRECTION_ENUM(name, text) HF_CORRECTION_##name,
  HF_CORRECTION_KIND_LIST(HF_CORRECTION_ENUM)
#undef HF_CORRECTION_ENUM
      HF_CORRECTION_KIND_COUNT
};

/* What is counted of each kind. name, the label of the metric */
#define HF_CORRECTION_END_LIST(X)                                                                                      \
  X(FAILED, "failed")       /* a try that went wrong */                                                                \
  X(ANCHORED, "anchored")   /* one that repeated an earlier one */                                                     \
  X(EXHAUSTED, "exhausted") /* a loop that was told to stop */                                                         \
  X(CORRECTED, "corrected") /* a loop that a success closed */                                                         \
  X(ABANDONED, "abandoned") /* one that was left alone, or forgotten to make room, and had not been told to stop */

enum hf_correction_end {
#define HF_CORRECTION_ENUM(name, text) HF_CORRECTION_END_##name,
  HF_CORRECTION_END_LIST(HF_CORRECTION_ENUM)
#undef HF_CORRECTION_ENUM
      HF_CORRECTION_END_COUNT
};

const char *hf_correction_kind_name(enum hf_correction_kind kind);
const char *hf_correction_end_name(enum hf_correction_end end);

/* Whose loop. Borrowed. */
struct hf_correction_place {
  enum hf_correction_kind kind;
  struct hf_str principal; /* "": nobody in particular */
  uint64_t session;        /* which of its clients, as far as they can be told apart */
  struct hf_str tool;      /* "" for names */
};

/* One try that went wrong. Alike are those whose digests are. */
struct hf_correction_try {
  uint64_t arguments; /* digest of what was called and with what */
  uint64_t error;     /* digest of what was wrong with it, whatever the values were */
  int64_t at_ms;      /* wall clock, for the records */
  struct hf_str reason;
  struct hf_str call;
  bool secret;    /* what was called held some, which `call` does not show, and `reason` may */
  unsigned times; /* in a view: how often it was made, one after the other or not */
};

/* How a loop stands after a try. */
struct hf_correction_view {
  unsigned count;      /* tries that went wrong, this one included */
  unsigned times;      /* of these, the ones that were exactly this one */
  bool same_arguments; /* they were tried before, … */
  bool same_error;     /* … or this was wrong before */
  bool anchored;  /* so it repeats an earlier one: of the tool's own errors only what is exactly that, else either */
  bool exhausted; /* there have been as many as there may be */
  bool ends;      /* and this is the first one of which that is true */
  const struct hf_correction_try *tries[HF_CORRECTION_TRIES_MAX]; /* in their order, this one last; borrowed until the
                                                                     next call on the table */
  unsigned try_count;
};

/* What the configuration says of loops. */
struct hf_correction_options {
  unsigned max; /* tries that go wrong, after which it is enough; 0: it never is */
  hf_time ttl;  /* a loop that was left alone for this long is over */
};

struct hf_corrections {
  struct hf_map loops;
  struct hf_list order; /* the longest left alone first */
  size_t bytes;
  uint64_t counts[HF_CORRECTION_KIND_COUNT][HF_CORRECTION_END_COUNT];
};

void hf_corrections_init(struct hf_corrections *corrections);
void hf_corrections_deinit(struct hf_corrections *corrections);

/* Notes a try that went wrong; its texts are copied and cut. `ret_view` says how its loop stands; without memory it is
 * that of a first try, and nothing is remembered. */
void hf_corrections_note(struct hf_corrections *corrections, const struct hf_correction_place *place,
                         const struct hf_correction_try *what, const struct hf_correction_options *options, hf_time now,
                         struct hf_correction_view *ret_view);

/* A success closes the loop. Returns how many tries of it had gone wrong; 0: there was none. `ret_anchored`: one of
 * them had repeated another. */
unsigned hf_corrections_close(struct hf_corrections *corrections, const struct hf_correction_place *place, hf_time now,
                              bool *ret_anchored);

#endif
