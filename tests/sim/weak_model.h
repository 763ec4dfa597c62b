/* A model that gets calls wrong now and then, in the ways and with the frequencies of the arguments that real models
 * sent (tests/data/malformed-args), and that mends what it is told about with a given probability. */
#ifndef HF_SIM_WEAK_MODEL_H
#define HF_SIM_WEAK_MODEL_H

#include "base/buf.h"
#include "base/random.h"
#include "task.h"

/* name, how many of the corpus are like it */
#define WEAK_FAULT_LIST(X)                                                                                             \
  X(STRINGIFIED, 32)  /* a list or object as a string, of JSON or of Python */                                         \
  X(NULL, 27)         /* null for what is optional */                                                                  \
  X(BOOLEAN_TEXT, 19) /* "true", "True" */                                                                             \
  X(MISSING, 19)      /* what is required left out */                                                                  \
  X(CHOICE_OTHER, 17) /* a value that is not among those allowed */                                                    \
  X(SCALAR, 15)       /* one element, or several with commas, for a list */                                            \
  X(LIST, 14)         /* several for one */                                                                            \
  X(CHOICE_CASE, 13)                                                                                                   \
  X(OTHER_TYPE, 11) /* something else altogether */                                                                    \
  X(TOOL, 10)       /* a tool that there is not */                                                                     \
  X(EXTRA, 9)       /* a parameter that there is not, beside the others */                                             \
  X(NUMBER_TEXT, 8)                                                                                                    \
  X(FRACTION, 8) /* 5.2 for an integer */                                                                              \
  X(SYNONYM, 7)  /* a parameter by another name */                                                                     \
  X(SPELLING, 3) /* snake_case for camelCase */                                                                        \
  X(WRAPPED, 3)  /* all arguments within another object */

enum weak_fault {
  WEAK_FINE,
#define WEAK_FAULT_ENUM(name, count) WEAK_##name,
  WEAK_FAULT_LIST(WEAK_FAULT_ENUM)
#undef WEAK_FAULT_ENUM
      WEAK_FAULT_COUNT
};

struct weak_model {
  struct hf_random random;
  unsigned mistakes; /* percent of calls that it gets wrong */
  unsigned follow;   /* percent of mistakes that it mends when it is told enough to know how */
  unsigned luck;     /* percent that it mends when it only knows that something was wrong */
};

/* A call as it makes it. */
struct weak_call {
  const struct task_tool *tool;
  enum weak_fault faults[TASK_ARGUMENTS_MAX]; /* of each argument */
  enum weak_fault whole;                      /* WEAK_FINE, TOOL, EXTRA or WRAPPED */
  unsigned variant;                           /* which of the ways to get it wrong */
};

/* The first try at a call of `tool`. */
struct weak_call weak_model_start(struct weak_model *model, const struct task_tool *tool);

/* Mends, after it was answered with `text` that something is wrong. */
void weak_model_read(struct weak_model *model, struct weak_call *call, const char *text);

bool weak_call_is_right(const struct weak_call *call);

/* The tool's name, and the arguments as raw JSON, appended. */
void weak_call_name(const struct weak_call *call, struct hf_buf *out);
void weak_call_arguments(const struct weak_call *call, struct hf_buf *out);

#endif
