#include "schema/pattern.h"

#include "base/alloc.h"
#include "schema/ecma.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

enum {
  TRANSLATED_MAX = 48 << 10,
  /* A step goes over so much of a pattern, and (where it may compare with what was captured) of a text, at the most. */
  CALLOUT_STEPS = 2, /* 17 ns each: measured, with patterns that go back all the time */
  PATTERN_STEP_BYTES = 256,
  CAPTURE_STEP_BYTES = 64,
  SEARCH_STEP_BYTES = 1024, /* looking for a byte that the pattern needs */
  ALIGNMENT = 64,
};

struct hf_regex {
  pcre2_code *code;
  uint32_t weight; /* steps that each callout counts for */
  bool refers;     /* the pattern has references to groups */
};

/* Interpreted, not compiled to machine code: that takes ten times as long to compile and saves a fifth of a microsecond
 * of the match of a short text, which is all that most patterns ever see; and it needs memory that can be written and
 * run. */
static const uint32_t OPTIONS =
    PCRE2_UTF | PCRE2_NO_UTF_CHECK | PCRE2_DOTALL | PCRE2_MATCH_UNSET_BACKREF | PCRE2_NEVER_BACKSLASH_C;

/* PCRE2 keeps what it goes back to in one block, which it replaces by one of twice the size when it is full. The blocks
 * lie at the two ends of the region by turns. */
struct hf_regex_memory {
  pcre2_general_context *general;
  pcre2_match_context *context;
  pcre2_match_data *data;
  char *region;
  char *block; /* in the region, or NULL */
  size_t block_size;
  bool matching;

  uint32_t steps; /* of the match that runs: what is left … */
  uint32_t weight;
  size_t position; /* … and where the last callout was */
};

static void *heap_malloc(size_t size, void *unused) {
  (void)unused;
  return hf_malloc(size);
}

static void heap_free(void *ptr, void *unused) {
  (void)unused;
  hf_free(ptr);
}

static bool is_in_region(const struct hf_regex_memory *memory, const char *ptr) {
  return ptr >= memory->region && ptr < memory->region + HF_REGEX_MEMORY_MAX;
}

static void *memory_malloc(size_t size, void *data) {
  struct hf_regex_memory *memory = data;
  if (!memory->matching)
    return hf_malloc(size);
  size_t rounded = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  if (rounded > HF_REGEX_MEMORY_MAX - memory->block_size)
    return NULL;
  bool at_start = memory->block != memory->region;
  memory->block = at_start ? memory->region : memory->region + HF_REGEX_MEMORY_MAX - rounded;
  memory->block_size = rounded;
  return memory->block;
}

static void memory_free(void *ptr, void *data) {
  struct hf_regex_memory *memory = data;
  if (!ptr || !is_in_region(memory, ptr)) {
    hf_free(ptr);
  } else if (ptr == memory->block) {
    memory->block = NULL;
    memory->block_size = 0;
  }
}

static int count(pcre2_callout_block *callout, void *data) {
  struct hf_regex_memory *memory = data;
  size_t now = callout->current_position, last = memory->position;
  size_t distance = now > last ? now - last : last - now;
  size_t cost = memory->weight + distance / HF_REGEX_STEP_BYTES;
  memory->position = now;
  if (cost > memory->steps) {
    memory->steps = 0;
    return PCRE2_ERROR_CALLOUT;
  }
  memory->steps -= (uint32_t)cost;
  return 0;
}

struct hf_regex_memory *hf_regex_memory_new(void) {
  struct hf_regex_memory *memory = hf_calloc(1, sizeof *memory);
  if (!memory)
    return NULL;
  memory->region = hf_malloc(HF_REGEX_MEMORY_MAX);
  if (memory->region)
    memory->general = pcre2_general_context_create(memory_malloc, memory_free, memory);
  if (memory->general) {
    memory->context = pcre2_match_context_create(memory->general);
    memory->data = pcre2_match_data_create(1, memory->general);
  }
  if (!memory->context || !memory->data) {
    hf_regex_memory_free(memory);
    return NULL;
  }
  pcre2_set_callout(memory->context, count, memory);
  pcre2_set_heap_limit(memory->context, HF_REGEX_MEMORY_MAX >> 10);
  return memory;
}

void hf_regex_memory_free(struct hf_regex_memory *memory) {
  if (!memory)
    return;
  pcre2_match_data_free(memory->data);
  pcre2_match_context_free(memory->context);
  pcre2_general_context_free(memory->general);
  hf_free(memory->region);
  hf_free(memory);
}

/* What the translation lets through and PCRE2 does not is its own limits, for example lookbehind of any length. */
static int refuse(int code, struct hf_error *reterr) {
  char text[HF_ERROR_TEXT_MAX / 2];
  if (code == PCRE2_ERROR_HEAP_FAILED)
    return hf_error_set(reterr, HF_ERR_NOMEM, "out of memory");
  if (pcre2_get_error_message(code, (PCRE2_UCHAR *)text, sizeof text) < 0)
    return hf_error_set(reterr, HF_ERR_UNSUPPORTED, "refused by pcre2 (%d)", code);
  return hf_error_set(reterr, HF_ERR_UNSUPPORTED, "%s", text);
}

static int compile(struct hf_str translated, pcre2_code **ret_code, struct hf_error *reterr) {
  pcre2_general_context *general = pcre2_general_context_create(heap_malloc, heap_free, NULL);
  pcre2_compile_context *context = general ? pcre2_compile_context_create(general) : NULL;
  int code = PCRE2_ERROR_HEAP_FAILED;
  if (context) {
    PCRE2_SIZE offset;
    *ret_code = pcre2_compile((PCRE2_SPTR)translated.ptr, translated.len, OPTIONS, &code, &offset, context);
  }
  pcre2_compile_context_free(context);
  pcre2_general_context_free(general);
  return context && *ret_code ? 0 : refuse(code, reterr);
}

int hf_regex_compile(struct hf_str ecma, struct hf_regex **ret_regex, struct hf_error *reterr) {
  if (ecma.len > HF_REGEX_BYTES_MAX)
    return hf_error_set(reterr, HF_ERR_LIMIT, "pattern of more than %d bytes", HF_REGEX_BYTES_MAX);
  struct hf_buf translated;
  hf_buf_init(&translated, TRANSLATED_MAX);
  pcre2_code *code = NULL;
  int err = hf_ecma_translate(ecma, &translated, reterr);
  if (err == 0)
    err = compile(hf_buf_str(&translated), &code, reterr);
  size_t len = translated.len;
  hf_buf_deinit(&translated);
  if (err)
    return err;
  struct hf_regex *regex = hf_malloc(sizeof *regex);
  if (!regex) {
    pcre2_code_free(code);
    return hf_error_set(reterr, HF_ERR_NOMEM, "out of memory");
  }
  uint32_t references = 0;
  (void)pcre2_pattern_info(code, PCRE2_INFO_BACKREFMAX, &references);
  *regex = (struct hf_regex){code, (uint32_t)(CALLOUT_STEPS + len / PATTERN_STEP_BYTES), references > 0};
  *ret_regex = regex;
  return 0;
}

void hf_regex_free(struct hf_regex *regex) {
  if (!regex)
    return;
  pcre2_code_free(regex->code);
  hf_free(regex);
}

size_t hf_regex_size(const struct hf_regex *regex) {
  size_t size = 0;
  (void)pcre2_pattern_info(regex->code, PCRE2_INFO_SIZE, &size);
  return size + sizeof *regex;
}

int hf_regex_match(const struct hf_regex *regex, struct hf_regex_memory *memory, struct hf_str subject,
                   uint32_t *io_steps) {
  size_t search = 1 + subject.len / SEARCH_STEP_BYTES;
  if (search > *io_steps)
    return HF_ERR_LIMIT;
  memory->steps = *io_steps - (uint32_t)search;
  memory->position = 0;
  memory->weight = regex->weight;
  if (regex->refers)
    memory->weight += (uint32_t)(subject.len / CAPTURE_STEP_BYTES);
  memory->matching = true;
  int found = pcre2_match(regex->code, (PCRE2_SPTR)(subject.ptr ? subject.ptr : ""), subject.len, 0, PCRE2_NO_UTF_CHECK,
                          memory->data, memory->context);
  memory->matching = false;
  *io_steps = memory->steps;
  if (found == PCRE2_ERROR_NOMATCH)
    return 0;
  return found >= 0 ? 1 : HF_ERR_LIMIT;
}
