#include "schema/idn.h"

#include "schema/utf8.h"

#include <stdint.h>

enum {
  LABEL_MAX = 63,
  PREFIX_LEN = 4, /* xn-- */
  MIDDLE_DOT = 0xb7,
  KERAIA = 0x375,
  GERESH = 0x5f3,
  GERSHAYIM = 0x5f4,
  ZERO_WIDTH_NON_JOINER = 0x200c,
  ZERO_WIDTH_JOINER = 0x200d,
  KATAKANA_MIDDLE_DOT = 0x30fb,
};

/* RFC 3492, 5 */
enum { BASE = 36, T_MIN = 1, T_MAX = 26, SKEW = 38, DAMP = 700, FIRST_BIAS = 72, FIRST_CODE = 0x80 };

struct range {
  uint32_t first;
  uint32_t last;
};

/* Combining marks: Unicode's categories Mn, Mc and Me, version 14.0.0. What lies between two of them and is not
 * assigned is in the range. */
static const struct range MARKS[] = {
    {0x300, 0x36f},     {0x483, 0x489},     {0x591, 0x5bd},     {0x5bf, 0x5bf},     {0x5c1, 0x5c2},
    {0x5c4, 0x5c5},     {0x5c7, 0x5c7},     {0x610, 0x61a},     {0x64b, 0x65f},     {0x670, 0x670},
    {0x6d6, 0x6dc},     {0x6df, 0x6e4},     {0x6e7, 0x6e8},     {0x6ea, 0x6ed},     {0x711, 0x711},
    {0x730, 0x74a},     {0x7a6, 0x7b0},     {0x7eb, 0x7f3},     {0x7fd, 0x7fd},     {0x816, 0x819},
    {0x81b, 0x823},     {0x825, 0x827},     {0x829, 0x82d},     {0x859, 0x85b},     {0x898, 0x89f},
    {0x8ca, 0x8e1},     {0x8e3, 0x903},     {0x93a, 0x93c},     {0x93e, 0x94f},     {0x951, 0x957},
    {0x962, 0x963},     {0x981, 0x983},     {0x9bc, 0x9bc},     {0x9be, 0x9cd},     {0x9d7, 0x9d7},
    {0x9e2, 0x9e3},     {0x9fe, 0xa03},     {0xa3c, 0xa51},     {0xa70, 0xa71},     {0xa75, 0xa75},
    {0xa81, 0xa83},     {0xabc, 0xabc},     {0xabe, 0xacd},     {0xae2, 0xae3},     {0xafa, 0xb03},
    {0xb3c, 0xb3c},     {0xb3e, 0xb57},     {0xb62, 0xb63},     {0xb82, 0xb82},     {0xbbe, 0xbcd},
    {0xbd7, 0xbd7},     {0xc00, 0xc04},     {0xc3c, 0xc3c},     {0xc3e, 0xc56},     {0xc62, 0xc63},
    {0xc81, 0xc83},     {0xcbc, 0xcbc},     {0xcbe, 0xcd6},     {0xce2, 0xce3},     {0xd00, 0xd03},
    {0xd3b, 0xd3c},     {0xd3e, 0xd4d},     {0xd57, 0xd57},     {0xd62, 0xd63},     {0xd81, 0xd83},
    {0xdca, 0xddf},     {0xdf2, 0xdf3},     {0xe31, 0xe31},     {0xe34, 0xe3a},     {0xe47, 0xe4e},
    {0xeb1, 0xeb1},     {0xeb4, 0xebc},     {0xec8, 0xecd},     {0xf18, 0xf19},     {0xf35, 0xf35},
    {0xf37, 0xf37},     {0xf39, 0xf39},     {0xf3e, 0xf3f},     {0xf71, 0xf84},     {0xf86, 0xf87},
    {0xf8d, 0xfbc},     {0xfc6, 0xfc6},     {0x102b, 0x103e},   {0x1056, 0x1059},   {0x105e, 0x1060},
    {0x1062, 0x1064},   {0x1067, 0x106d},   {0x1071, 0x1074},   {0x1082, 0x108d},   {0x108f, 0x108f},
    {0x109a, 0x109d},   {0x135d, 0x135f},   {0x1712, 0x1715},   {0x1732, 0x1734},   {0x1752, 0x1753},
    {0x1772, 0x1773},   {0x17b4, 0x17d3},   {0x17dd, 0x17dd},   {0x180b, 0x180d},   {0x180f, 0x180f},
    {0x1885, 0x1886},   {0x18a9, 0x18a9},   {0x1920, 0x193b},   {0x1a17, 0x1a1b},   {0x1a55, 0x1a7f},
    {0x1ab0, 0x1b04},   {0x1b34, 0x1b44},   {0x1b6b, 0x1b73},   {0x1b80, 0x1b82},   {0x1ba1, 0x1bad},
    {0x1be6, 0x1bf3},   {0x1c24, 0x1c37},   {0x1cd0, 0x1cd2},   {0x1cd4, 0x1ce8},   {0x1ced, 0x1ced},
    {0x1cf4, 0x1cf4},   {0x1cf7, 0x1cf9},   {0x1dc0, 0x1dff},   {0x20d0, 0x20f0},   {0x2cef, 0x2cf1},
    {0x2d7f, 0x2d7f},   {0x2de0, 0x2dff},   {0x302a, 0x302f},   {0x3099, 0x309a},   {0xa66f, 0xa672},
    {0xa674, 0xa67d},   {0xa69e, 0xa69f},   {0xa6f0, 0xa6f1},   {0xa802, 0xa802},   {0xa806, 0xa806},
    {0xa80b, 0xa80b},   {0xa823, 0xa827},   {0xa82c, 0xa82c},   {0xa880, 0xa881},   {0xa8b4, 0xa8c5},
    {0xa8e0, 0xa8f1},   {0xa8ff, 0xa8ff},   {0xa926, 0xa92d},   {0xa947, 0xa953},   {0xa980, 0xa983},
    {0xa9b3, 0xa9c0},   {0xa9e5, 0xa9e5},   {0xaa29, 0xaa36},   {0xaa43, 0xaa43},   {0xaa4c, 0xaa4d},
    {0xaa7b, 0xaa7d},   {0xaab0, 0xaab0},   {0xaab2, 0xaab4},   {0xaab7, 0xaab8},   {0xaabe, 0xaabf},
    {0xaac1, 0xaac1},   {0xaaeb, 0xaaef},   {0xaaf5, 0xaaf6},   {0xabe3, 0xabea},   {0xabec, 0xabed},
    {0xfb1e, 0xfb1e},   {0xfe00, 0xfe0f},   {0xfe20, 0xfe2f},   {0x101fd, 0x101fd}, {0x102e0, 0x102e0},
    {0x10376, 0x1037a}, {0x10a01, 0x10a0f}, {0x10a38, 0x10a3f}, {0x10ae5, 0x10ae6}, {0x10d24, 0x10d27},
    {0x10eab, 0x10eac}, {0x10f46, 0x10f50}, {0x10f82, 0x10f85}, {0x11000, 0x11002}, {0x11038, 0x11046},
    {0x11070, 0x11070}, {0x11073, 0x11074}, {0x1107f, 0x11082}, {0x110b0, 0x110ba}, {0x110c2, 0x110c2},
    {0x11100, 0x11102}, {0x11127, 0x11134}, {0x11145, 0x11146}, {0x11173, 0x11173}, {0x11180, 0x11182},
    {0x111b3, 0x111c0}, {0x111c9, 0x111cc}, {0x111ce, 0x111cf}, {0x1122c, 0x11237}, {0x1123e, 0x1123e},
    {0x112df, 0x112ea}, {0x11300, 0x11303}, {0x1133b, 0x1133c}, {0x1133e, 0x1134d}, {0x11357, 0x11357},
    {0x11362, 0x11374}, {0x11435, 0x11446}, {0x1145e, 0x1145e}, {0x114b0, 0x114c3}, {0x115af, 0x115c0},
    {0x115dc, 0x115dd}, {0x11630, 0x11640}, {0x116ab, 0x116b7}, {0x1171d, 0x1172b}, {0x1182c, 0x1183a},
    {0x11930, 0x1193e}, {0x11940, 0x11940}, {0x11942, 0x11943}, {0x119d1, 0x119e0}, {0x119e4, 0x119e4},
    {0x11a01, 0x11a0a}, {0x11a33, 0x11a39}, {0x11a3b, 0x11a3e}, {0x11a47, 0x11a47}, {0x11a51, 0x11a5b},
    {0x11a8a, 0x11a99}, {0x11c2f, 0x11c3f}, {0x11c92, 0x11cb6}, {0x11d31, 0x11d45}, {0x11d47, 0x11d47},
    {0x11d8a, 0x11d97}, {0x11ef3, 0x11ef6}, {0x16af0, 0x16af4}, {0x16b30, 0x16b36}, {0x16f4f, 0x16f4f},
    {0x16f51, 0x16f92}, {0x16fe4, 0x16ff1}, {0x1bc9d, 0x1bc9e}, {0x1cf00, 0x1cf46}, {0x1d165, 0x1d169},
    {0x1d16d, 0x1d172}, {0x1d17b, 0x1d182}, {0x1d185, 0x1d18b}, {0x1d1aa, 0x1d1ad}, {0x1d242, 0x1d244},
    {0x1da00, 0x1da36}, {0x1da3b, 0x1da6c}, {0x1da75, 0x1da75}, {0x1da84, 0x1da84}, {0x1da9b, 0x1daaf},
    {0x1e000, 0x1e02a}, {0x1e130, 0x1e136}, {0x1e2ae, 0x1e2ae}, {0x1e2ec, 0x1e2ef}, {0x1e8d0, 0x1e8d6},
    {0x1e944, 0x1e94a}, {0xe0100, 0xe01ef}};

/* Combining class 9. */
static const struct range VIRAMAS[] = {
    {0x94d, 0x94d},     {0x9cd, 0x9cd},     {0xa4d, 0xa4d},     {0xacd, 0xacd},     {0xb4d, 0xb4d},
    {0xbcd, 0xbcd},     {0xc4d, 0xc4d},     {0xccd, 0xccd},     {0xd3b, 0xd3c},     {0xd4d, 0xd4d},
    {0xdca, 0xdca},     {0xe3a, 0xe3a},     {0xeba, 0xeba},     {0xf84, 0xf84},     {0x1039, 0x103a},
    {0x1714, 0x1715},   {0x1734, 0x1734},   {0x17d2, 0x17d2},   {0x1a60, 0x1a60},   {0x1b44, 0x1b44},
    {0x1baa, 0x1bab},   {0x1bf2, 0x1bf3},   {0x2d7f, 0x2d7f},   {0xa806, 0xa806},   {0xa82c, 0xa82c},
    {0xa8c4, 0xa8c4},   {0xa953, 0xa953},   {0xa9c0, 0xa9c0},   {0xaaf6, 0xaaf6},   {0xabed, 0xabed},
    {0x10a3f, 0x10a3f}, {0x11046, 0x11046}, {0x11070, 0x11070}, {0x1107f, 0x1107f}, {0x110b9, 0x110b9},
    {0x11133, 0x11134}, {0x111c0, 0x111c0}, {0x11235, 0x11235}, {0x112ea, 0x112ea}, {0x1134d, 0x1134d},
    {0x11442, 0x11442}, {0x114c2, 0x114c2}, {0x115bf, 0x115bf}, {0x1163f, 0x1163f}, {0x116b6, 0x116b6},
    {0x1172b, 0x1172b}, {0x11839, 0x11839}, {0x1193d, 0x1193e}, {0x119e0, 0x119e0}, {0x11a34, 0x11a34},
    {0x11a47, 0x11a47}, {0x11a99, 0x11a99}, {0x11c3f, 0x11c3f}, {0x11d44, 0x11d45}, {0x11d97, 0x11d97}};

/* No letters, digits or marks, or not in their stable form. */
static const struct range DISALLOWED[] = {
    {0x80, 0xb6},       {0xb8, 0xbf},       {0xd7, 0xd7},       {0xf7, 0xf7},        {0x37e, 0x37e},   {0x387, 0x387},
    {0x589, 0x58f},     {0x5be, 0x5be},     {0x5c0, 0x5c0},     {0x5c3, 0x5c3},      {0x5c6, 0x5c6},   {0x600, 0x60f},
    {0x61b, 0x61f},     {0x640, 0x640},     {0x66a, 0x66d},     {0x6d4, 0x6d4},      {0x6dd, 0x6de},   {0x6e9, 0x6e9},
    {0x700, 0x70f},     {0x7f6, 0x7fa},     {0x964, 0x965},     {0xe3f, 0xe3f},      {0xf01, 0xf0a},   {0xf0c, 0xf17},
    {0x1100, 0x11ff},   {0x1680, 0x1680},   {0x1800, 0x180a},   {0x2000, 0x200b},    {0x200e, 0x2bff}, {0x2e00, 0x2e2e},
    {0x2e30, 0x3004},   {0x3008, 0x3029},   {0x302e, 0x303b},   {0x303d, 0x3040},    {0x309b, 0x309c}, {0x309f, 0x30a0},
    {0x30ff, 0x3104},   {0x3130, 0x319f},   {0x31c0, 0x31ef},   {0x3200, 0x33ff},    {0x4dc0, 0x4dff}, {0xa490, 0xa4cf},
    {0xa960, 0xa97f},   {0xd7b0, 0xfa0d},   {0xfb00, 0xfb1d},   {0xfb1f, 0xfe1f},    {0xfe30, 0xfe72}, {0xfe74, 0xffff},
    {0x1d000, 0x1d164}, {0x1d400, 0x1d7ff}, {0x1f000, 0x1fbef}, {0xe0000, 0x10ffff},
};

/* Letters that are written from right to left. */
static const struct range RIGHT_TO_LEFT[] = {
    {0x5d0, 0x5ff}, {0x620, 0x64a}, {0x66e, 0x66f}, {0x671, 0x6d5},     {0x6e5, 0x6e6},
    {0x6ee, 0x6ef}, {0x6fa, 0x710}, {0x712, 0x72f}, {0x74d, 0x7a5},     {0x7b1, 0x7ea},
    {0x800, 0x815}, {0x840, 0x858}, {0x860, 0x8c9}, {0x10800, 0x10fff}, {0x1e800, 0x1efff},
};

static const struct range JOINING[] = {{0x620, 0x64a}, {0x66e, 0x6d3}, {0x6fa, 0x7ea}, {0x840, 0x8c9}};
static const struct range GREEK[] = {{0x370, 0x3ff}, {0x1f00, 0x1fff}};
static const struct range HEBREW[] = {{0x591, 0x5f4}, {0xfb1d, 0xfb4f}};
static const struct range JAPANESE[] = {{0x3005, 0x3007}, {0x3041, 0x309f}, {0x30a1, 0x30fa}, {0x30fc, 0x30ff},
                                        {0x31f0, 0x31ff}, {0x3400, 0x9fff}, {0xf900, 0xfaff}, {0x20000, 0x323af}};
static const struct range ARABIC_DIGITS[] = {{0x660, 0x669}};
static const struct range EXTENDED_ARABIC_DIGITS[] = {{0x6f0, 0x6f9}};

static bool is_in(uint32_t code, const struct range *ranges, size_t count) {
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (code > ranges[middle].last)
      low = middle + 1;
    else
      high = middle;
  }
  return low < count && code >= ranges[low].first;
}

#define IS_IN(code, ranges) is_in(code, ranges, sizeof(ranges) / sizeof(ranges)[0])

struct label {
  uint32_t code[LABEL_MAX];
  size_t count;
};

static bool is_ascii_digit(uint32_t code) {
  return code >= '0' && code <= '9';
}

static bool is_left_to_right(uint32_t code) {
  return ((code | 0x20) >= 'a' && (code | 0x20) <= 'z') ||
         (code > 0xbf && !IS_IN(code, RIGHT_TO_LEFT) && !IS_IN(code, MARKS) && !IS_IN(code, ARABIC_DIGITS) &&
          !IS_IN(code, EXTENDED_ARABIC_DIGITS) && code != ZERO_WIDTH_NON_JOINER && code != ZERO_WIDTH_JOINER);
}

static bool is_all_right_to_left(const struct label *label) {
  bool european = false, arabic = false;
  for (size_t i = 0; i < label->count; i++) {
    european = european || is_ascii_digit(label->code[i]) || IS_IN(label->code[i], EXTENDED_ARABIC_DIGITS);
    arabic = arabic || IS_IN(label->code[i], ARABIC_DIGITS);
    if (is_left_to_right(label->code[i]))
      return false;
  }
  return IS_IN(label->code[0], RIGHT_TO_LEFT) && !(european && arabic);
}

/* Digits of Arabic make a label one that is written from right to left, even without a letter. */
static bool is_right_to_left(const struct label *label) {
  for (size_t i = 0; i < label->count; i++) {
    if (IS_IN(label->code[i], RIGHT_TO_LEFT) || IS_IN(label->code[i], ARABIC_DIGITS))
      return true;
  }
  return false;
}

static bool any_of(const struct label *label, const struct range *ranges, size_t count) {
  for (size_t i = 0; i < label->count; i++) {
    if (is_in(label->code[i], ranges, count))
      return true;
  }
  return false;
}

#define ANY_OF(label, ranges) any_of(label, ranges, sizeof(ranges) / sizeof(ranges)[0])

/* RFC 5892, appendix A: is the character right where it is? */
static bool fits(const struct label *label, size_t at) {
  uint32_t code = label->code[at];
  uint32_t before = at > 0 ? label->code[at - 1] : 0, behind = at + 1 < label->count ? label->code[at + 1] : 0;
  switch (code) {
  case MIDDLE_DOT:
    return before == 'l' && behind == 'l';
  case KERAIA:
    return IS_IN(behind, GREEK);
  case GERESH:
  case GERSHAYIM:
    return IS_IN(before, HEBREW);
  case KATAKANA_MIDDLE_DOT:
    return ANY_OF(label, JAPANESE);
  case ZERO_WIDTH_JOINER:
    return IS_IN(before, VIRAMAS);
  case ZERO_WIDTH_NON_JOINER:
    return IS_IN(before, VIRAMAS) || (IS_IN(before, JOINING) && IS_IN(behind, JOINING));
  default:
    break;
  }
  if (IS_IN(code, ARABIC_DIGITS))
    return !ANY_OF(label, EXTENDED_ARABIC_DIGITS);
  if (code < FIRST_CODE)
    return is_ascii_digit(code) || code == '-' || ((code | 0x20) >= 'a' && (code | 0x20) <= 'z');
  return !IS_IN(code, DISALLOWED);
}

static bool is_good(const struct label *label) {
  const uint32_t *code = label->code;
  size_t count = label->count;
  if (count == 0 || code[0] == '-' || code[count - 1] == '-' || (count > 3 && code[2] == '-' && code[3] == '-') ||
      IS_IN(code[0], MARKS))
    return false;
  for (size_t i = 0; i < count; i++) {
    if (!fits(label, i))
      return false;
  }
  return !is_right_to_left(label) || is_all_right_to_left(label);
}

static uint32_t adapt(uint32_t delta, uint32_t count, bool first) {
  delta = first ? delta / DAMP : delta / 2;
  delta += delta / count;
  uint32_t bias = 0;
  for (; delta > (BASE - T_MIN) * T_MAX / 2; bias += BASE)
    delta /= BASE - T_MIN;
  return bias + (BASE - T_MIN + 1) * delta / (delta + SKEW);
}

static uint32_t threshold(uint32_t k, uint32_t bias) {
  return k <= bias + T_MIN ? T_MIN : k >= bias + T_MAX ? T_MAX : k - bias;
}

/* The digits that `delta` is written with. */
static size_t digits_of(uint32_t delta, uint32_t bias) {
  size_t digits = 1;
  for (uint32_t k = BASE; delta >= threshold(k, bias); k += BASE, digits++)
    delta = (delta - threshold(k, bias)) / (BASE - threshold(k, bias));
  return digits;
}

/* The bytes of the label in Punycode. */
static size_t encoded_length(const struct label *label) {
  uint32_t done = 0, delta = 0, next = FIRST_CODE, bias = FIRST_BIAS;
  for (size_t i = 0; i < label->count; i++)
    done += label->code[i] < FIRST_CODE;
  uint32_t basic = done;
  size_t length = basic + (basic > 0);
  while (done < label->count) {
    uint32_t code = UINT32_MAX;
    for (size_t i = 0; i < label->count; i++)
      code = label->code[i] >= next && label->code[i] < code ? label->code[i] : code;
    delta += (code - next) * (done + 1); /* 63 characters below 0x110000 fit */
    next = code;
    for (size_t i = 0; i < label->count; i++) {
      delta += label->code[i] < next;
      if (label->code[i] == next) {
        length += digits_of(delta, bias);
        bias = adapt(delta, done + 1, done == basic);
        delta = 0;
        done++;
      }
    }
    delta++;
    next++;
  }
  return length;
}

bool hf_idn_is_label(struct hf_str text, struct hf_idn_label *ret_label) {
  struct label label = {.count = 0};
  while (text.len > 0) {
    size_t len = label.count < LABEL_MAX ? hf_utf8_read(text, &label.code[label.count]) : 0;
    if (len == 0)
      return false;
    label.count++;
    text = (struct hf_str){text.ptr + len, text.len - len};
  }
  *ret_label = (struct hf_idn_label){PREFIX_LEN + encoded_length(&label), is_right_to_left(&label)};
  return is_good(&label);
}

/* The value of a digit of Punycode, or BASE. */
static uint32_t digit_value(char c) {
  char lower = (char)(c | 0x20);
  if (lower >= 'a' && lower <= 'z')
    return (uint32_t)(lower - 'a');
  return c >= '0' && c <= '9' ? (uint32_t)(c - '0' + 26) : BASE;
}

/* Reads one number off `io_text`. */
static bool read_delta(struct hf_str *io_text, uint32_t bias, uint32_t *ret_delta) {
  uint32_t weight = 1, delta = 0;
  for (uint32_t k = BASE; io_text->len > 0; k += BASE) {
    uint32_t digit = digit_value(io_text->ptr[0]), step;
    *io_text = (struct hf_str){io_text->ptr + 1, io_text->len - 1};
    if (digit == BASE || __builtin_mul_overflow(digit, weight, &step) || __builtin_add_overflow(delta, step, &delta))
      return false;
    *ret_delta = delta;
    if (digit < threshold(k, bias))
      return true;
    if (__builtin_mul_overflow(weight, BASE - threshold(k, bias), &weight))
      return false;
  }
  return false;
}

static bool decode(struct hf_str text, struct label *label) {
  struct hf_str rest = text;
  for (size_t i = text.len; i-- > 0 && label->count == 0;) {
    if (text.ptr[i] != '-')
      continue;
    for (; label->count < i; label->count++)
      label->code[label->count] = (unsigned char)text.ptr[label->count];
    rest = (struct hf_str){text.ptr + i + 1, text.len - i - 1};
    break;
  }
  uint32_t code = FIRST_CODE, at = 0, bias = FIRST_BIAS, delta;
  for (bool first = true; rest.len > 0; first = false) {
    uint32_t count = (uint32_t)label->count + 1;
    if (count > LABEL_MAX || !read_delta(&rest, bias, &delta) || __builtin_add_overflow(at, delta, &at))
      return false;
    bias = adapt(delta, count, first);
    code += at / count;
    at %= count;
    if (code > 0x10ffff)
      return false;
    memmove(label->code + at + 1, label->code + at, (label->count - at) * sizeof label->code[0]);
    label->code[at++] = code;
    label->count++;
  }
  return true;
}

/* What encodes to another length is not the one way to write it. */
bool hf_idn_is_encoded(struct hf_str text, struct hf_idn_label *ret_label) {
  struct label label = {.count = 0};
  if (text.len == 0 || text.len > LABEL_MAX - PREFIX_LEN || !decode(text, &label))
    return false;
  bool ascii = true;
  for (size_t i = 0; i < label.count; i++)
    ascii = ascii && label.code[i] < FIRST_CODE;
  *ret_label = (struct hf_idn_label){PREFIX_LEN + text.len, is_right_to_left(&label)};
  return !ascii && encoded_length(&label) == text.len && is_good(&label);
}
