#include "schema/format_host.h"

#include "schema/idn.h"
#include "schema/utf8.h"

enum {
  NAME_MAX = 253, /* bytes of a name … */
  LABEL_MAX = 63, /* … and of a part of it, as the DNS sees them */
  LOCAL_MAX = 64, /* bytes before the @ */
  OCTETS = 4,
  GROUPS = 8,
};

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static bool is_alphanumeric(char c) {
  return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

/* The part up to the next `separator`, which is taken off `io_rest`; the last part leaves an absent rest. */
static struct hf_str next_part(struct hf_str *io_rest, char separator) {
  const char *end = memchr(io_rest->ptr, separator, io_rest->len);
  struct hf_str part = {io_rest->ptr, end ? (size_t)(end - io_rest->ptr) : io_rest->len};
  *io_rest = end ? (struct hf_str){end + 1, io_rest->len - part.len - 1} : (struct hf_str){NULL, 0};
  return part;
}

static bool is_octet(struct hf_str part) {
  unsigned long long value;
  return part.len >= 1 && part.len <= 3 && (part.len == 1 || part.ptr[0] != '0') &&
         hf_str_to_u64(part, 255, &value) == 0;
}

bool hf_format_ipv4(struct hf_str text) {
  unsigned parts = 0;
  while (text.ptr && parts < OCTETS && is_octet(next_part(&text, '.')))
    parts++;
  return parts == OCTETS && !text.ptr;
}

static bool is_group(struct hf_str part) {
  if (part.len < 1 || part.len > 4)
    return false;
  for (size_t i = 0; i < part.len; i++) {
    char c = part.ptr[i];
    if (!is_digit(c) && ((c | 0x20) < 'a' || (c | 0x20) > 'f'))
      return false;
  }
  return true;
}

/* Counts the groups of `1:2:3`, an IPv4 address at the end as two. Returns false if something else is there. */
static bool read_groups(struct hf_str text, bool last, unsigned *io_groups) {
  if (text.len == 0)
    return true;
  while (text.ptr) {
    struct hf_str part = next_part(&text, ':');
    bool is_v4 = last && !text.ptr && hf_format_ipv4(part);
    if (!is_v4 && !is_group(part))
      return false;
    *io_groups += is_v4 ? 2 : 1;
  }
  return true;
}

bool hf_format_ipv6(struct hf_str text) {
  unsigned groups = 0;
  for (size_t i = 0; i + 1 < text.len; i++) {
    if (text.ptr[i] != ':' || text.ptr[i + 1] != ':')
      continue;
    struct hf_str before = {text.ptr, i}, behind = {text.ptr + i + 2, text.len - i - 2};
    return read_groups(before, false, &groups) && read_groups(behind, true, &groups) && groups < GROUPS;
  }
  return read_groups(text, true, &groups) && groups == GROUPS;
}

static bool is_ascii_label(struct hf_str label, struct hf_idn_label *ret_label) {
  *ret_label = (struct hf_idn_label){.length = label.len};
  if (label.len < 1 || label.len > LABEL_MAX || label.ptr[0] == '-' || label.ptr[label.len - 1] == '-')
    return false;
  for (size_t i = 0; i < label.len; i++) {
    if (!is_alphanumeric(label.ptr[i]) && label.ptr[i] != '-')
      return false;
  }
  if (label.len < 4 || !hf_str_equal_nocase((struct hf_str){label.ptr, 4}, HF_STR("xn--")))
    return true;
  return hf_idn_is_encoded((struct hf_str){label.ptr + 4, label.len - 4}, ret_label);
}

bool hf_format_hostname(struct hf_str text) {
  struct hf_idn_label unused;
  if (text.len == 0 || text.len > NAME_MAX)
    return false;
  while (text.ptr) {
    if (!is_ascii_label(next_part(&text, '.'), &unused))
      return false;
  }
  return true;
}

/* The bytes of the dot that `text` starts with, in one of its four shapes, or 0. */
static size_t read_dot(struct hf_str text) {
  static const char *const dots[] = {".", "\u3002", "\uff0e", "\uff61"};
  for (size_t i = 0; i < sizeof dots / sizeof dots[0]; i++) {
    if (hf_str_starts(text, hf_str_from(dots[i])))
      return strlen(dots[i]);
  }
  return 0;
}

static bool is_ascii(struct hf_str text) {
  for (size_t i = 0; i < text.len; i++) {
    if (text.ptr[i] & 0x80)
      return false;
  }
  return true;
}

/* What is known of the labels of a name so far. */
struct name {
  size_t length;
  bool right_to_left; /* one of them is */
  bool digit_first;   /* one of them begins with a digit */
};

static bool add_label(struct hf_str text, struct name *name) {
  struct hf_idn_label label;
  if (!(is_ascii(text) ? is_ascii_label(text, &label) : hf_idn_is_label(text, &label)))
    return false;
  name->length += label.length + 1;
  name->right_to_left = name->right_to_left || label.right_to_left;
  name->digit_first = name->digit_first || is_digit(text.ptr[0]);
  return label.length <= LABEL_MAX;
}

/* Beside a label that is written from right to left, none begins with a digit (RFC 5893). */
bool hf_format_idn_hostname(struct hf_str text) {
  size_t start = 0;
  struct name name = {.length = 0};
  for (size_t at = 0; at < text.len;) {
    struct hf_str rest = {text.ptr + at, text.len - at};
    size_t dot = read_dot(rest);
    if (dot > 0 && !add_label((struct hf_str){text.ptr + start, at - start}, &name))
      return false;
    at += dot > 0 ? dot : 1;
    start = dot > 0 ? at : start;
  }
  return add_label((struct hf_str){text.ptr + start, text.len - start}, &name) && name.length - 1 <= NAME_MAX &&
         !(name.right_to_left && name.digit_first);
}

/* "a \"quoted\" text": returns its bytes, or 0. */
static size_t read_quoted(struct hf_str text, bool international) {
  for (size_t i = 1; i < text.len; i++) {
    unsigned char c = (unsigned char)text.ptr[i];
    if (c == '"')
      return i + 1;
    if (c == '\\' && ++i == text.len)
      return 0;
    c = (unsigned char)text.ptr[i];
    if (c < ' ' || c == 0x7f || (c > 0x7f && !international))
      return 0;
  }
  return 0;
}

/* Words with dots between them: returns their bytes, or 0. */
static size_t read_dotted(struct hf_str text, bool international) {
  bool dot = true;
  size_t at = 0;
  for (; at < text.len && text.ptr[at] != '@'; at++) {
    char c = text.ptr[at];
    bool word =
        is_alphanumeric(c) || (c & 0x80 ? international : c != '\0' && strchr("!#$%&'*+-/=?^_`{|}~", c) != NULL);
    if (c == '.' ? dot : !word)
      return 0;
    dot = c == '.';
  }
  return dot ? 0 : at;
}

static bool is_address_literal(struct hf_str text) {
  if (text.ptr[text.len - 1] != ']')
    return false;
  struct hf_str inside = {text.ptr + 1, text.len - 2};
  if (hf_str_starts(inside, HF_STR("IPv6:")))
    return hf_format_ipv6((struct hf_str){inside.ptr + 5, inside.len - 5});
  return hf_format_ipv4(inside);
}

static bool is_email(struct hf_str text, bool international) {
  if (text.len == 0)
    return false;
  size_t local = text.ptr[0] == '"' ? read_quoted(text, international) : read_dotted(text, international);
  if (local == 0 || local > LOCAL_MAX || text.len < local + 2 || text.ptr[local] != '@')
    return false;
  struct hf_str domain = {text.ptr + local + 1, text.len - local - 1};
  if (domain.ptr[0] == '[')
    return domain.len > 2 && is_address_literal(domain);
  return international ? hf_format_idn_hostname(domain) : hf_format_hostname(domain);
}

bool hf_format_email(struct hf_str text) {
  return is_email(text, false);
}

bool hf_format_idn_email(struct hf_str text) {
  return is_email(text, true);
}
