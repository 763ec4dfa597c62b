#include "json/scan.h"

#include "base/alloc.h"

#include <assert.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { NODES_MIN = 48 }; /* below 1 KiB: malloc keeps blocks of that size at hand */

enum state {
  ST_VALUE, /* first, so that a zeroed scanner starts here */
  ST_FIRST_ELEMENT,
  ST_FIRST_KEY,
  ST_KEY,
  ST_COLON,
  ST_AFTER, /* behind a value inside a container */
  ST_STRING,
  ST_ESCAPE,
  ST_HEX,
  ST_UTF8,
  ST_LITERAL,
  ST_MINUS,
  ST_ZERO,
  ST_INT,
  ST_DOT,
  ST_FRACTION,
  ST_EXP_MARK,
  ST_EXP_SIGN,
  ST_EXP,
  ST_END,
};

static const struct {
  char text[6];
  enum hf_json_type type;
} literals[] = {{"null", HF_JSON_NULL}, {"false", HF_JSON_FALSE}, {"true", HF_JSON_TRUE}};

static const int fault_codes[] = {
#define FAULT_CODE(name, code, text) [HF_JSON_FAULT_##name] = (code),
    HF_JSON_FAULT_LIST(FAULT_CODE)
#undef FAULT_CODE
};

const char *hf_json_fault_text(enum hf_json_fault fault) {
  static const char *const texts[] = {
#define FAULT_TEXT(name, code, text) [HF_JSON_FAULT_##name] = (text),
      HF_JSON_FAULT_LIST(FAULT_TEXT)
#undef FAULT_TEXT
  };
  return texts[fault];
}

void hf_json_scan_init(struct hf_json_scan *scan, const struct hf_json_options *options) {
  assert(options->max_bytes < UINT32_MAX);
  assert(options->max_depth <= HF_JSON_DEPTH_MAX);
  *scan = (struct hf_json_scan){.options = *options};
}

void hf_json_scan_deinit(struct hf_json_scan *scan) {
  hf_free(scan->nodes);
  *scan = (struct hf_json_scan){.options = scan->options};
}

void hf_json_scan_reset(struct hf_json_scan *scan, uint32_t keep_nodes) {
  if (scan->cap > keep_nodes) {
    hf_json_scan_deinit(scan);
    return;
  }
  *scan = (struct hf_json_scan){.options = scan->options, .nodes = scan->nodes, .cap = scan->cap};
}

int hf_json_scan_error(const struct hf_json_scan *scan, struct hf_error *reterr) {
  return hf_error_set(reterr, fault_codes[scan->fault], "%s at byte %u", hf_json_fault_text(scan->fault), scan->pos);
}

static void fail(struct hf_json_scan *scan, enum hf_json_fault fault) {
  scan->fault = fault;
}

/* True while values get nodes: the innermost open container is not opaque. */
static bool recording(const struct hf_json_scan *scan) {
  return scan->opaque_depth == 0;
}

/* Appends the node of a value that starts at `pos`. While recording, a scalar being read is always the last node. */
static bool add_node(struct hf_json_scan *scan, enum hf_json_type type) {
  if (scan->count == scan->cap) {
    if (scan->count >= scan->options.max_nodes) {
      fail(scan, HF_JSON_FAULT_TOO_MANY);
      return false;
    }
    uint32_t cap = scan->cap < NODES_MIN ? NODES_MIN : scan->cap * 2;
    if (cap > scan->options.max_nodes)
      cap = scan->options.max_nodes;
    struct hf_json_node *nodes = hf_realloc(scan->nodes, cap * sizeof *nodes);
    if (!nodes) {
      fail(scan, HF_JSON_FAULT_NOMEM);
      return false;
    }
    scan->nodes = nodes;
    scan->cap = cap;
  }
  scan->nodes[scan->count] =
      (struct hf_json_node){.start = scan->pos, .end = scan->pos, .next = scan->count + 1, .type = (uint8_t)type};
  scan->count++;
  return true;
}

static void after_value(struct hf_json_scan *scan) {
  scan->state = scan->depth ? ST_AFTER : ST_END;
}

/* A scalar ended just before `pos`. */
static void end_scalar(struct hf_json_scan *scan) {
  if (recording(scan))
    scan->nodes[scan->count - 1].end = scan->pos;
  after_value(scan);
}

static void open_container(struct hf_json_scan *scan, bool object) {
  if (scan->depth == scan->options.max_depth) {
    fail(scan, HF_JSON_FAULT_TOO_DEEP);
    return;
  }
  if (recording(scan)) {
    if (!add_node(scan, object ? HF_JSON_OBJECT : HF_JSON_ARRAY))
      return;
    uint32_t node = scan->count - 1;
    bool expand = scan->depth < scan->options.tree_depth || (object && scan->expand_next);
    if (expand) {
      scan->nodes[node].next = scan->open; /* the way back, until it closes */
      scan->open = node;
    } else {
      scan->nodes[node].flags |= HF_JSON_OPAQUE;
      scan->opaque_depth = scan->depth + 1;
    }
  }
  uint64_t bit = (uint64_t)1 << (scan->depth % 64);
  if (object)
    scan->is_object[scan->depth / 64] |= bit;
  else
    scan->is_object[scan->depth / 64] &= ~bit;
  scan->depth++;
  scan->pos++;
  scan->state = object ? ST_FIRST_KEY : ST_FIRST_ELEMENT;
}

static bool in_object(const struct hf_json_scan *scan) {
  uint32_t level = scan->depth - 1;
  return (scan->is_object[level / 64] >> (level % 64)) & 1;
}

static void close_container(struct hf_json_scan *scan, bool object) {
  if (in_object(scan) != object) {
    fail(scan, HF_JSON_FAULT_SEPARATOR);
    return;
  }
  scan->pos++;
  if (recording(scan)) {
    struct hf_json_node *node = &scan->nodes[scan->open];
    scan->open = node->next;
    node->end = scan->pos;
    node->next = scan->count;
  } else if (scan->depth == scan->opaque_depth) {
    scan->nodes[scan->count - 1].end = scan->pos;
    scan->opaque_depth = 0;
  }
  scan->depth--;
  after_value(scan);
}

static void begin_string(struct hf_json_scan *scan, bool key) {
  if (recording(scan) && !add_node(scan, HF_JSON_STRING))
    return;
  scan->is_key = key;
  scan->escaped = false;
  scan->state = ST_STRING;
  scan->pos++;
}

static void begin_scalar(struct hf_json_scan *scan, enum hf_json_type type, enum state state) {
  if (recording(scan) && !add_node(scan, type))
    return;
  scan->state = (uint8_t)state;
  scan->step = 1;
  scan->pos++;
}

static void begin_literal(struct hf_json_scan *scan, uint8_t literal) {
  scan->literal = literal;
  begin_scalar(scan, literals[literal].type, ST_LITERAL);
}

static void begin_value(struct hf_json_scan *scan, char c) {
  if (recording(scan) && scan->depth && !in_object(scan))
    scan->nodes[scan->open].count++;
  switch (c) {
  case '"':
    begin_string(scan, false);
    break;
  case '{':
    open_container(scan, true);
    break;
  case '[':
    open_container(scan, false);
    break;
  case '-':
    begin_scalar(scan, HF_JSON_NUMBER, ST_MINUS);
    break;
  case '0':
    begin_scalar(scan, HF_JSON_NUMBER, ST_ZERO);
    break;
  case 'n':
    begin_literal(scan, 0);
    break;
  case 'f':
    begin_literal(scan, 1);
    break;
  case 't':
    begin_literal(scan, 2);
    break;
  default:
    if (c >= '1' && c <= '9')
      begin_scalar(scan, HF_JSON_NUMBER, ST_INT);
    else
      fail(scan, HF_JSON_FAULT_VALUE);
  }
}

static void begin_key(struct hf_json_scan *scan, char c) {
  if (c != '"') {
    fail(scan, HF_JSON_FAULT_KEY);
    return;
  }
  if (recording(scan))
    scan->nodes[scan->open].count++;
  begin_string(scan, true);
}

/* Everything between tokens. */
static void structure(struct hf_json_scan *scan, const char *base, uint32_t len) {
  char c;
  while ((c = base[scan->pos]) == ' ' || c == '\n' || c == '\r' || c == '\t')
    if (++scan->pos == len)
      return;

  switch ((enum state)scan->state) {
  case ST_FIRST_ELEMENT:
    if (c == ']') {
      close_container(scan, false);
      return;
    }
    begin_value(scan, c);
    return;
  case ST_VALUE:
    begin_value(scan, c);
    return;
  case ST_FIRST_KEY:
    if (c == '}') {
      close_container(scan, true);
      return;
    }
    begin_key(scan, c);
    return;
  case ST_KEY:
    begin_key(scan, c);
    return;
  case ST_COLON:
    if (c != ':') {
      fail(scan, HF_JSON_FAULT_COLON);
      return;
    }
    scan->pos++;
    scan->state = ST_VALUE;
    return;
  case ST_AFTER:
    if (c == ',') {
      scan->pos++;
      scan->state = in_object(scan) ? ST_KEY : ST_VALUE;
    } else if (c == ']' || c == '}') {
      close_container(scan, c == '}');
    } else {
      fail(scan, HF_JSON_FAULT_SEPARATOR);
    }
    return;
  case ST_END:
    fail(scan, HF_JSON_FAULT_TRAILING);
    return;
  case ST_STRING:
  case ST_ESCAPE:
  case ST_HEX:
  case ST_UTF8:
  case ST_LITERAL:
  case ST_MINUS:
  case ST_ZERO:
  case ST_INT:
  case ST_DOT:
  case ST_FRACTION:
  case ST_EXP_MARK:
  case ST_EXP_SIGN:
  case ST_EXP:
    assert(false && "inside a token");
  }
}

/* Returns the place of the first byte that is not plain ASCII string content, or `len`. */
static uint32_t plain_run(const char *base, uint32_t pos, uint32_t len) {
#ifdef __SSE2__
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i backslash = _mm_set1_epi8('\\');
  const __m128i control = _mm_set1_epi8(0x1f);
  while (len - pos >= 16) {
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(base + pos));
    __m128i special = _mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, backslash));
    special = _mm_or_si128(special, _mm_cmpeq_epi8(_mm_min_epu8(v, control), v));
    /* The sign bit of the byte itself marks what is not ASCII. */
    int mask = _mm_movemask_epi8(_mm_or_si128(special, v));
    if (mask)
      return pos + (uint32_t)__builtin_ctz((unsigned)mask);
    pos += 16;
  }
#else
  const uint64_t ones = 0x0101010101010101U, highs = 0x8080808080808080U;
  while (len - pos >= 8) {
    uint64_t v;
    memcpy(&v, base + pos, 8);
    uint64_t q = v ^ (ones * '"'), b = v ^ (ones * '\\');
    /* A borrow may mark a plain byte too; the loop below looks closely. */
    if ((v | (v - ones * 0x20) | (q - ones) | (b - ones)) & highs)
      break;
    pos += 8;
  }
#endif
  while (pos < len) {
    unsigned char c = (unsigned char)base[pos];
    if (c < 0x20 || c >= 0x80 || c == '"' || c == '\\')
      break;
    pos++;
  }
  return pos;
}

/* Starts a multi-byte character: sets how many continuation bytes follow and the bounds of the first, which alone rule
 * out overlong forms, surrogates and what is beyond U+10FFFF. */
static bool begin_utf8(struct hf_json_scan *scan, unsigned char lead) {
  scan->utf8_low = 0x80;
  scan->utf8_high = 0xbf;
  if (lead >= 0xc2 && lead <= 0xdf) {
    scan->step = 1;
  } else if (lead >= 0xe0 && lead <= 0xef) {
    scan->step = 2;
    if (lead == 0xe0)
      scan->utf8_low = 0xa0;
    else if (lead == 0xed)
      scan->utf8_high = 0x9f;
  } else if (lead >= 0xf0 && lead <= 0xf4) {
    scan->step = 3;
    if (lead == 0xf0)
      scan->utf8_low = 0x90;
    else if (lead == 0xf4)
      scan->utf8_high = 0x8f;
  } else {
    return false;
  }
  return true;
}

/* Reads continuation bytes as far as they are there. */
static void utf8(struct hf_json_scan *scan, const char *base, uint32_t len) {
  while (scan->step && scan->pos < len) {
    unsigned char c = (unsigned char)base[scan->pos];
    if (c < scan->utf8_low || c > scan->utf8_high) {
      fail(scan, HF_JSON_FAULT_UTF8);
      return;
    }
    scan->utf8_low = 0x80;
    scan->utf8_high = 0xbf;
    scan->step--;
    scan->pos++;
  }
  scan->state = scan->step ? ST_UTF8 : ST_STRING;
}

static void end_string(struct hf_json_scan *scan, const char *base) {
  scan->pos++;
  if (recording(scan) && scan->escaped)
    scan->nodes[scan->count - 1].flags |= HF_JSON_ESCAPED;
  if (!scan->is_key) {
    end_scalar(scan);
    return;
  }
  if (recording(scan)) {
    struct hf_json_node *node = &scan->nodes[scan->count - 1];
    node->end = scan->pos;
    struct hf_str wanted = scan->options.expand_key;
    struct hf_str inner = {base + node->start + 1, node->end - node->start - 2};
    /* An escaped spelling may mean the wanted key; one level too many does no harm. */
    scan->expand_next =
        scan->depth == scan->options.tree_depth && wanted.ptr && (scan->escaped || hf_str_equal(inner, wanted));
  }
  scan->state = ST_COLON;
}

static void string(struct hf_json_scan *scan, const char *base, uint32_t len) {
  for (;;) {
    scan->pos = plain_run(base, scan->pos, len);
    if (scan->pos == len)
      return;
    unsigned char c = (unsigned char)base[scan->pos];
    if (c == '"') {
      end_string(scan, base);
      return;
    }
    if (c == '\\') {
      scan->escaped = true;
      scan->state = ST_ESCAPE;
      scan->pos++;
      return;
    }
    if (c < 0x20) {
      fail(scan, HF_JSON_FAULT_CONTROL);
      return;
    }
    do {
      if (!begin_utf8(scan, (unsigned char)base[scan->pos])) {
        fail(scan, HF_JSON_FAULT_UTF8);
        return;
      }
      scan->pos++;
      utf8(scan, base, len);
      if (scan->fault || scan->state != ST_STRING)
        return;
    } while (scan->pos < len && (unsigned char)base[scan->pos] >= 0x80);
  }
}

static void escape(struct hf_json_scan *scan, char c) {
  switch (c) {
  case '"':
  case '\\':
  case '/':
  case 'b':
  case 'f':
  case 'n':
  case 'r':
  case 't':
    scan->state = ST_STRING;
    break;
  case 'u':
    scan->step = 4;
    scan->state = ST_HEX;
    break;
  default:
    fail(scan, HF_JSON_FAULT_ESCAPE);
    return;
  }
  scan->pos++;
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static void hex(struct hf_json_scan *scan, char c) {
  if (!is_digit(c) && !(c >= 'a' && c <= 'f') && !(c >= 'A' && c <= 'F')) {
    fail(scan, HF_JSON_FAULT_ESCAPE);
    return;
  }
  scan->pos++;
  if (--scan->step == 0)
    scan->state = ST_STRING;
}

static void literal(struct hf_json_scan *scan, char c) {
  const char *text = literals[scan->literal].text;
  if (c != text[scan->step]) {
    fail(scan, HF_JSON_FAULT_LITERAL);
    return;
  }
  scan->pos++;
  scan->step++;
  if (text[scan->step] == '\0')
    end_scalar(scan);
}

/* Where a number goes on with `c`: the next state, or ST_END if it cannot. */
static enum state number_next(enum state state, char c) {
  bool digit = is_digit(c);
  bool mark = c == 'e' || c == 'E';
  if (state == ST_MINUS)
    return c == '0' ? ST_ZERO : digit ? ST_INT : ST_END;
  if (state == ST_ZERO || state == ST_INT)
    return c == '.' ? ST_DOT : mark ? ST_EXP_MARK : digit && state == ST_INT ? ST_INT : ST_END;
  if (state == ST_DOT || state == ST_FRACTION)
    return digit ? ST_FRACTION : mark && state == ST_FRACTION ? ST_EXP_MARK : ST_END;
  if (digit)
    return ST_EXP;
  return state == ST_EXP_MARK && (c == '+' || c == '-') ? ST_EXP_SIGN : ST_END;
}

static bool number_complete(enum state state) {
  return state == ST_ZERO || state == ST_INT || state == ST_FRACTION || state == ST_EXP;
}

static void number(struct hf_json_scan *scan, const char *base, uint32_t len) {
  enum state state = (enum state)scan->state;
  uint32_t pos = scan->pos;
  for (; pos < len; pos++) {
    enum state next = number_next(state, base[pos]);
    if (next == ST_END)
      break;
    state = next;
  }
  scan->pos = pos;
  scan->state = (uint8_t)state;
  if (pos == len)
    return;
  if (number_complete(state))
    end_scalar(scan);
  else
    fail(scan, HF_JSON_FAULT_NUMBER);
}

static void step(struct hf_json_scan *scan, const char *base, uint32_t len) {
  switch ((enum state)scan->state) {
  case ST_VALUE:
  case ST_FIRST_ELEMENT:
  case ST_FIRST_KEY:
  case ST_KEY:
  case ST_COLON:
  case ST_AFTER:
  case ST_END:
    structure(scan, base, len);
    break;
  case ST_STRING:
    string(scan, base, len);
    break;
  case ST_ESCAPE:
    escape(scan, base[scan->pos]);
    break;
  case ST_HEX:
    hex(scan, base[scan->pos]);
    break;
  case ST_UTF8:
    utf8(scan, base, len);
    break;
  case ST_LITERAL:
    literal(scan, base[scan->pos]);
    break;
  case ST_MINUS:
  case ST_ZERO:
  case ST_INT:
  case ST_DOT:
  case ST_FRACTION:
  case ST_EXP_MARK:
  case ST_EXP_SIGN:
  case ST_EXP:
    number(scan, base, len);
    break;
  }
}

/* The text has ended. */
static int finish(struct hf_json_scan *scan) {
  if (scan->depth == 0 && number_complete((enum state)scan->state))
    end_scalar(scan);
  if (scan->state == ST_END)
    return 0;
  fail(scan, scan->state == ST_VALUE && scan->depth == 0 ? HF_JSON_FAULT_EMPTY : HF_JSON_FAULT_CUT);
  return fault_codes[scan->fault];
}

int hf_json_scan_feed(struct hf_json_scan *scan, const char *base, size_t len, bool final) {
  /* What is too long is still read up to the limit, so that the verdict does not depend on how the text was cut. */
  bool too_big = len > scan->options.max_bytes;
  uint32_t end = (uint32_t)(too_big ? scan->options.max_bytes : len);
  bool sequence = scan->options.sequence;
  while (!scan->fault && scan->pos < end && !(sequence && scan->state == ST_END))
    step(scan, base, end);

  if (scan->fault)
    return fault_codes[scan->fault];
  if (sequence && scan->state == ST_END)
    return 0;
  if (too_big) {
    fail(scan, HF_JSON_FAULT_TOO_BIG);
    return HF_ERR_LIMIT;
  }
  return final ? finish(scan) : HF_ERR_AGAIN;
}
