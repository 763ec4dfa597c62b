#include "cli/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { WIDTH_MIN = 40, WIDTH_MAX = 1000 };

static bool is_between(unsigned c, unsigned first, unsigned last) {
  return c >= first && c <= last;
}

size_t hf_terminal_hidden(struct hf_str rest) {
  const unsigned char *p = (const unsigned char *)rest.ptr;
  if (rest.len >= 2 && p[0] == 0xc2 && is_between(p[1], 0x80, 0x9f))
    return 2;
  if (rest.len < 3 || p[0] != 0xe2 || (p[1] & 0xc0) != 0x80 || (p[2] & 0xc0) != 0x80)
    return 0;
  const unsigned c = 0x2000U | (p[1] & 0x3fU) << 6 | (p[2] & 0x3fU);
  return is_between(c, 0x200e, 0x200f) || is_between(c, 0x2028, 0x202e) || is_between(c, 0x2066, 0x2069) ? 3 : 0;
}

void hf_terminal_print(FILE *to, struct hf_str text, bool lines) {
  for (size_t i = 0; i < text.len; i++) {
    const unsigned char c = (unsigned char)text.ptr[i];
    const size_t hidden = hf_terminal_hidden((struct hf_str){text.ptr + i, text.len - i});
    const bool plain = (c >= 0x20 && c != 0x7f && !hidden) || (lines && (c == '\n' || c == '\t'));
    (void)fputc(plain ? c : '?', to);
    i += hidden ? hidden - 1 : 0;
  }
}

static bool begins_character(char c) {
  return ((unsigned char)c & 0xc0) != 0x80;
}

size_t hf_terminal_columns(struct hf_str text) {
  size_t columns = 0;
  for (size_t i = 0; i < text.len; i++)
    columns += begins_character(text.ptr[i]);
  return columns;
}

struct hf_str hf_terminal_cut(struct hf_str text, size_t columns) {
  size_t len = 0;
  for (; len < text.len; len++)
    if (begins_character(text.ptr[len]) && columns-- == 0)
      break;
  return (struct hf_str){text.ptr, len};
}

size_t hf_terminal_width(void) {
  unsigned long long columns = 0;
  struct winsize size;
  const char *said = getenv("COLUMNS");
  if (!said || hf_str_to_u64(hf_str_from(said), WIDTH_MAX, &columns) < 0)
    columns = isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
  return columns && columns < WIDTH_MIN ? WIDTH_MIN : (size_t)columns;
}
