/* The end of a line that is too long to keep: the id of the message may stand there. */
#ifndef HF_MCP_LINE_TAIL_H
#define HF_MCP_LINE_TAIL_H

#include "base/str.h"

enum { HF_LINE_TAIL_MAX = 96 };

/* All zero is an empty one. */
struct hf_line_tail {
  char bytes[HF_LINE_TAIL_MAX];
  size_t len;
};

/* Takes the next bytes of the line; its newline does not count. */
void hf_line_tail_add(struct hf_line_tail *tail, struct hf_str bytes);

/* The digits of the id, if it is a number and the last member of the message, or the last before "jsonrpc". They point
 * into the tail. {NULL, 0} if there is none. */
struct hf_str hf_line_tail_id(const struct hf_line_tail *tail);

#endif
