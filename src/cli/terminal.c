#include "cli/terminal.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { WIDTH_MIN = 40, WIDTH_MAX = 1000 };

void hf_terminal_print(FILE *to, struct hf_str text, bool lines) {
  for (size_t i = 0; i < text.len; i++) {
    const unsigned char c = (unsigned char)text.ptr[i];
    /* U+0080 to U+009F: terminals of eight bits obey their second byte. */
    const bool c1 = c == 0xc2 && i + 1 < text.len && (unsigned char)text.ptr[i + 1] < 0xa0;
    const bool plain = (c >= 0x20 && c != 0x7f && !c1) || (lines && (c == '\n' || c == '\t'));
    (void)fputc(plain ? c : '?', to);
    i += c1;
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
