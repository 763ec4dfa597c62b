#include "base/tokens.h"

enum piece {
  WORD,
  LETTER,
  DIGITS,
  PUNCTUATION,
  MARK,
  BLANKS,
  LINE,
  LATIN,
  CYRILLIC,
  ARABIC,
  INDIC,
  SYMBOL,
  KANA,
  HAN,
  HANGUL,
  EMOJI,
  PIECE_COUNT
};

enum { LETTERS_FREE = 6, DIGITS_TOGETHER = 3, MARKS_FREE = 2, SCALE = 100 };

/* Hundredths of a token. Fitted by least squares (no weight below 0), half of the texts held back to check. */
static const uint8_t weights[PIECE_COUNT] = {
    [WORD] = 103,       /* a run of ASCII letters; a capital behind a small one begins another */
    [LETTER] = 21,      /* each beyond the sixth of a run */
    [DIGITS] = 132,     /* each three of a run */
    [PUNCTUATION] = 54, /* a run; often it joins the word behind it */
    [MARK] = 26,        /* each beyond the second of a run */
    [BLANKS] = 99,      /* a run of several; one alone belongs to the word behind it */
    [LINE] = 91,        /* a run of line ends and tabs */
    [LATIN] = 25,       /* what follows: each character, by its lead byte */
    [CYRILLIC] = 37,    /* and Greek */
    [ARABIC] = 40,      /* and Hebrew */
    [INDIC] = 42,       /* and Thai, and others of South Asia */
    [SYMBOL] = 95,      /* dashes, quotes, arrows */
    [KANA] = 69,        /* and punctuation of East Asia */
    [HAN] = 77,         [HANGUL] = 74, [EMOJI] = 200, /* all beyond the basic plane, and what is rare */
};

/* Bytes of UTF-8 from this one on begin a character of this kind. */
static const struct {
  unsigned char from;
  enum piece piece;
} scripts[] = {{0xee, EMOJI}, {0xea, HANGUL}, {0xe4, HAN},      {0xe3, KANA}, {0xe2, SYMBOL},
               {0xe0, INDIC}, {0xd6, ARABIC}, {0xce, CYRILLIC}, {0x80, LATIN}};

static bool is_letter(unsigned char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_small(unsigned char c) {
  return c >= 'a' && c <= 'z';
}

static bool is_digit(unsigned char c) {
  return c >= '0' && c <= '9';
}

static bool is_line(unsigned char c) {
  return c == '\n' || c == '\r' || c == '\t';
}

static bool is_mark(unsigned char c) {
  return c < 0x80 && c != ' ' && !is_letter(c) && !is_digit(c) && !is_line(c);
}

static bool is_blank(unsigned char c) {
  return c == ' ';
}

static size_t run(struct hf_str text, size_t at, bool (*belongs)(unsigned char)) {
  size_t end = at;
  while (end < text.len && belongs((unsigned char)text.ptr[end]))
    end++;
  return end - at;
}

static size_t run_of_letters(struct hf_str text, size_t at) {
  size_t end = at + 1;
  while (end < text.len && is_letter((unsigned char)text.ptr[end]) &&
         !(is_small((unsigned char)text.ptr[end - 1]) && !is_small((unsigned char)text.ptr[end])))
    end++;
  return end - at;
}

static size_t beyond(size_t len, size_t free) {
  return len > free ? len - free : 0;
}

/* Returns the bytes of the character, and adds what it weighs. */
static size_t other(struct hf_str text, size_t at, size_t *weight) {
  const unsigned char lead = (unsigned char)text.ptr[at];
  size_t i = 0;
  while (lead < scripts[i].from)
    i++;
  *weight += weights[scripts[i].piece];
  size_t end = at + 1;
  while (end < text.len && ((unsigned char)text.ptr[end] & 0xc0) == 0x80)
    end++;
  return end - at;
}

static uint64_t weigh(struct hf_str text) {
  size_t weight = 0;
  size_t len;
  for (size_t at = 0; at < text.len; at += len) {
    const unsigned char c = (unsigned char)text.ptr[at];
    if (is_letter(c)) {
      len = run_of_letters(text, at);
      weight += weights[WORD] + beyond(len, LETTERS_FREE) * weights[LETTER];
    } else if (is_digit(c)) {
      len = run(text, at, is_digit);
      weight += (len + DIGITS_TOGETHER - 1) / DIGITS_TOGETHER * weights[DIGITS];
    } else if (is_blank(c)) {
      len = run(text, at, is_blank);
      weight += len > 1 ? weights[BLANKS] : 0U;
    } else if (is_line(c)) {
      len = run(text, at, is_line);
      weight += weights[LINE];
    } else if (is_mark(c)) {
      len = run(text, at, is_mark);
      weight += weights[PUNCTUATION] + beyond(len, MARKS_FREE) * weights[MARK];
    } else {
      len = other(text, at, &weight);
    }
  }
  return weight;
}

size_t hf_tokens(struct hf_str text) {
  const struct hf_str read = {text.ptr, text.len < HF_TOKENS_READ_MAX ? text.len : HF_TOKENS_READ_MAX};
  uint64_t weight = weigh(read);
  if (read.len < text.len)
    weight = weight * text.len / read.len;
  const uint64_t tokens = (weight + SCALE / 2) / SCALE;
  return weight > 0 && tokens == 0 ? 1 : (size_t)tokens;
}
