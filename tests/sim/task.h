/* What a simulated agent has to do: tools, and for each step the one call that is right. */
#ifndef HF_SIM_TASK_H
#define HF_SIM_TASK_H

#include <stdbool.h>
#include <stddef.h>

enum { TASK_ARGUMENTS_MAX = 6, TASK_TOOLS = 6 };

/* What an argument's schema asks for. */
enum task_type { TASK_TEXT, TASK_INTEGER, TASK_NUMBER, TASK_BOOLEAN, TASK_CHOICE, TASK_LIST, TASK_OBJECT };

struct task_argument {
  const char *name;
  enum task_type type;
  bool needed;
  const char *value; /* raw JSON: the right one, or what would be if it were left out. Lists: one word, or more */
};

struct task_tool {
  const char *name;
  bool reads; /* and changes nothing */
  struct task_argument arguments[TASK_ARGUMENTS_MAX];
  size_t argument_count;
  const char *schema;
};

extern const struct task_tool task_tools[TASK_TOOLS];

/* How the type is called in a schema. */
const char *task_type_name(enum task_type type);

#endif
