#include "schema/format_time.h"

enum {
  DATE_LEN = 10,  /* 2026-11-30 */
  CLOCK_LEN = 8,  /* 09:30:00 */
  OFFSET_LEN = 6, /* +01:00 */
  DAY_MINUTES = 24 * 60,
};

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* The number that `count` digits at `at` make, or -1. */
static int number(struct hf_str text, size_t at, size_t count) {
  int value = 0;
  if (at + count > text.len)
    return -1;
  for (size_t i = at; i < at + count; i++) {
    if (!is_digit(text.ptr[i]))
      return -1;
    value = value * 10 + (text.ptr[i] - '0');
  }
  return value;
}

static bool is_within(int value, int low, int high) {
  return value >= low && value <= high;
}

static int days_of(int year, int month) {
  static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return days[month - 1] + (month == 2 && leap);
}

bool hf_format_date(struct hf_str text) {
  if (text.len != DATE_LEN || text.ptr[4] != '-' || text.ptr[7] != '-')
    return false;
  int year = number(text, 0, 4), month = number(text, 5, 2), day = number(text, 8, 2);
  return year >= 0 && is_within(month, 1, 12) && is_within(day, 1, days_of(year, month));
}

/* Reads `Z` or `+01:00`, and sets the minutes that it is ahead. */
static bool read_offset(struct hf_str text, int *ret_minutes) {
  *ret_minutes = 0;
  if (text.len == 1)
    return (text.ptr[0] | 0x20) == 'z';
  if (text.len != OFFSET_LEN || (text.ptr[0] != '+' && text.ptr[0] != '-') || text.ptr[3] != ':')
    return false;
  int hours = number(text, 1, 2), minutes = number(text, 4, 2);
  *ret_minutes = (hours * 60 + minutes) * (text.ptr[0] == '-' ? -1 : 1);
  return is_within(hours, 0, 23) && is_within(minutes, 0, 59);
}

bool hf_format_time(struct hf_str text) {
  if (text.len <= CLOCK_LEN || text.ptr[2] != ':' || text.ptr[5] != ':')
    return false;
  int hour = number(text, 0, 2), minute = number(text, 3, 2), second = number(text, 6, 2), ahead;
  size_t at = CLOCK_LEN;
  if (text.ptr[at] == '.') {
    size_t start = ++at;
    while (at < text.len && is_digit(text.ptr[at]))
      at++;
    if (at == start)
      return false;
  }
  if (!is_within(hour, 0, 23) || !is_within(minute, 0, 59) || !is_within(second, 0, 60) ||
      !read_offset((struct hf_str){text.ptr + at, text.len - at}, &ahead))
    return false;
  /* A leap second is the last of a day in UTC. */
  int utc = (hour * 60 + minute - ahead + DAY_MINUTES) % DAY_MINUTES;
  return second < 60 || utc == DAY_MINUTES - 1;
}

bool hf_format_date_time(struct hf_str text) {
  if (text.len <= DATE_LEN || (text.ptr[DATE_LEN] | 0x20) != 't')
    return false;
  return hf_format_date((struct hf_str){text.ptr, DATE_LEN}) &&
         hf_format_time((struct hf_str){text.ptr + DATE_LEN + 1, text.len - DATE_LEN - 1});
}

/* Reads numbers with the units of the list, which come one directly after the other. Returns the bytes that they take,
 * 0 if there are none. */
static size_t read_units(struct hf_str text, const char *units) {
  size_t at = 0;
  const char *next = NULL;
  for (;;) {
    size_t end = at;
    while (end < text.len && is_digit(text.ptr[end]))
      end++;
    const char *unit = end > at && end < text.len ? strchr(units, text.ptr[end]) : NULL;
    if (!unit || *unit == '\0' || (next && unit != next))
      return at;
    next = unit + 1;
    at = end + 1;
  }
}

bool hf_format_duration(struct hf_str text) {
  if (text.len < 2 || text.ptr[0] != 'P')
    return false;
  struct hf_str rest = {text.ptr + 1, text.len - 1};
  if (read_units(rest, "W") == rest.len)
    return true;
  size_t date = read_units(rest, "YMD");
  rest = (struct hf_str){rest.ptr + date, rest.len - date};
  if (rest.len == 0)
    return date > 0;
  if (rest.ptr[0] != 'T' || rest.len == 1)
    return false;
  rest = (struct hf_str){rest.ptr + 1, rest.len - 1};
  return read_units(rest, "HMS") == rest.len;
}
