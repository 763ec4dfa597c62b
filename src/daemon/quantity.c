#include "daemon/quantity.h"

#include "base/error.h"

#include <inttypes.h>
#include <stdio.h>

enum { DECIMALS_MAX = 6 };

struct unit {
  struct hf_str name;
  uint64_t factor;
};

static const struct unit duration_units[] = {
    {{"us", 2}, 1},       {{"ms", 2}, 1000},       {{"s", 1}, 1000000},
    {{"m", 1}, 60000000}, {{"h", 1}, 3600000000U}, {{"d", 1}, 86400000000U},
};

static const struct unit size_units[] = {
    {{"", 0}, 1},           {{"B", 1}, 1},     {{"KiB", 3}, 1U << 10}, {{"MiB", 3}, 1U << 20},
    {{"GiB", 3}, 1U << 30}, {{"kB", 2}, 1000}, {{"MB", 2}, 1000000},   {{"GB", 2}, 1000000000},
};

static const struct unit *find_unit(const struct unit *units, size_t count, struct hf_str name) {
  for (size_t i = 0; i < count; i++)
    if (hf_str_equal(units[i].name, name))
      return &units[i];
  return NULL;
}

static size_t count_digits(struct hf_str text) {
  size_t n = 0;
  while (n < text.len && text.ptr[n] >= '0' && text.ptr[n] <= '9')
    n++;
  return n;
}

static struct hf_str skip(struct hf_str text, size_t n) {
  return (struct hf_str){text.ptr + n, text.len - n};
}

/* Reads "12" or "1.5" as millionths, and leaves the rest in `text`. */
static int take_decimal(struct hf_str *text, uint64_t *ret_millionths) {
  size_t n = count_digits(*text);
  unsigned long long whole;
  int r = hf_str_to_u64((struct hf_str){text->ptr, n}, UINT64_MAX / 1000000, &whole);
  if (r < 0)
    return r;
  *text = skip(*text, n);

  unsigned long long fraction = 0;
  if (text->len && text->ptr[0] == '.') {
    *text = skip(*text, 1);
    n = count_digits(*text);
    if (n > DECIMALS_MAX)
      return HF_ERR_SYNTAX;
    r = hf_str_to_u64((struct hf_str){text->ptr, n}, UINT64_MAX, &fraction);
    if (r < 0)
      return r;
    for (size_t i = n; i < DECIMALS_MAX; i++)
      fraction *= 10;
    *text = skip(*text, n);
  }
  return __builtin_add_overflow((uint64_t)whole * 1000000, (uint64_t)fraction, ret_millionths) ? HF_ERR_LIMIT : 0;
}

int hf_duration_parse(struct hf_str text, hf_time *ret_duration) {
  if (hf_str_equal(text, HF_STR("never"))) {
    *ret_duration = HF_TIME_NEVER;
    return 0;
  }
  uint64_t millionths;
  int r = take_decimal(&text, &millionths);
  if (r < 0)
    return r;
  if (text.len == 0 && millionths == 0) {
    *ret_duration = 0;
    return 0;
  }
  const struct unit *unit = find_unit(duration_units, sizeof duration_units / sizeof duration_units[0], text);
  if (!unit)
    return HF_ERR_SYNTAX;
  unsigned __int128 us = (unsigned __int128)millionths * unit->factor / 1000000;
  if (us >= (unsigned __int128)HF_TIME_NEVER)
    return HF_ERR_LIMIT;
  *ret_duration = (hf_time)us;
  return 0;
}

int hf_size_parse(struct hf_str text, uint64_t *ret_bytes) {
  size_t n = count_digits(text);
  unsigned long long number;
  int r = hf_str_to_u64((struct hf_str){text.ptr, n}, UINT64_MAX, &number);
  if (r < 0)
    return r;
  const struct unit *unit = find_unit(size_units, sizeof size_units / sizeof size_units[0], skip(text, n));
  if (!unit)
    return HF_ERR_SYNTAX;
  uint64_t bytes;
  if (__builtin_mul_overflow((uint64_t)number, unit->factor, &bytes))
    return HF_ERR_LIMIT;
  *ret_bytes = bytes;
  return 0;
}

int hf_percent_parse(struct hf_str text, uint64_t *ret_percent) {
  if (text.len < 2 || text.ptr[text.len - 1] != '%')
    return HF_ERR_SYNTAX;
  unsigned long long number;
  if (hf_str_to_u64((struct hf_str){text.ptr, text.len - 1}, 100, &number) < 0)
    return HF_ERR_SYNTAX;
  *ret_percent = number;
  return 0;
}

static const char *print(char text[HF_QUANTITY_TEXT_MAX], uint64_t number, const char *unit) {
  if (snprintf(text, HF_QUANTITY_TEXT_MAX, "%" PRIu64 "%s", number, unit) < 0)
    text[0] = '\0';
  return text;
}

const char *hf_duration_print(hf_time duration, char text[HF_QUANTITY_TEXT_MAX]) {
  if (duration == HF_TIME_NEVER)
    return memcpy(text, "never", sizeof "never");
  uint64_t us = duration > 0 ? (uint64_t)duration : 0;
  if (us == 0)
    return print(text, 0, "s");
  static const struct {
    uint64_t factor;
    const char *name;
  } units[] = {{3600000000U, "h"}, {60000000, "m"}, {1000000, "s"}, {1000, "ms"}, {1, "us"}};
  size_t i = 0;
  while (us % units[i].factor != 0)
    i++;
  return print(text, us / units[i].factor, units[i].name);
}
