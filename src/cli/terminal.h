/* What goes to a terminal: texts that cannot steer it, and how much fits into a line. */
#ifndef HF_CLI_TERMINAL_H
#define HF_CLI_TERMINAL_H

#include "base/str.h"

#include <stdio.h>

/* Prints a text from outside: control characters become "?". With `lines`, line ends and tabs stay. */
void hf_terminal_print(FILE *to, struct hf_str text, bool lines);

/* Bytes of a control character beyond ASCII that it begins with, or 0: U+0080 to U+009F, whose second byte terminals of
 * eight bits obey, and what turns the direction of writing around, so that a line reads as something else. */
size_t hf_terminal_hidden(struct hf_str rest);

/* Columns that a text takes, one per character. */
size_t hf_terminal_columns(struct hf_str text);

/* The first bytes of it that fit into so many columns. */
struct hf_str hf_terminal_cut(struct hf_str text, size_t columns);

/* Columns of a line of standard output: what COLUMNS says, else the terminal's; 0: it is none, and lines may have any
 * length. */
size_t hf_terminal_width(void);

#endif
