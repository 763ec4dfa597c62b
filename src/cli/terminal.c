#include "cli/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { WIDTH_MIN = 40, WIDTH_MAX = 1000 };

static bool is_within(const char *bytes, const char *first, const char *last) {
  size_t len = strlen(first);
  return memcmp(bytes, first, len) >= 0 && memcmp(bytes, last, len) <= 0;
}

/* Bytes of a control character beyond ASCII, or 0: U+0080 to U+009F, whose second byte terminals of eight bits obey,
 * and what turns the direction of writing around, so that a line reads as something else. */
static size_t hidden_control(struct hf_str rest) {
  if (rest.len >= 2 && is_within(rest.ptr, "\xc2\x80", "\xc2\x9f"))
    return 2;
  bool turns = rest.len >= 3 && (is_within(rest.ptr, "\xe2\x80\x8e", "\xe2\x80\x8f") ||
                                 is_within(rest.ptr, "\xe2\x80\xa8", "\xe2\x80\xae") ||
                                 is_within(rest.ptr, "\xe2\x81\xa6", "\xe2\x81\xa9"));
  return turns ? 3 : 0;
}

void hf_terminal_print(FILE *to, struct hf_str text, bool lines) {
  for (size_t i = 0; i < text.len; i++) {
    const unsigned char c = (unsigned char)text.ptr[i];
    const size_t hidden = hidden_control((struct hf_str){text.ptr + i, text.len - i});
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
