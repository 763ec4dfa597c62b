#include "gateway/correct/near.h"

#include "base/distance.h"
#include "gateway/catalog/catalog.h"
#include "gateway/correct/feedback.h"
#include "gateway/gateway.h"
#include "json/value.h"

enum {
  NAME_SHOWN_MAX = 128,
  WORDS_MAX = 8,
  WORD_MIN = 3,
  FOLDED_MAX = 256,
  TAKES_MAX = 8,
  WORK_MAX = 1 << 16,
  SCHEMA_BYTES_MAX = 1 << 20
};

static char lower(char c) {
  return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static bool is_word(char c) {
  c = lower(c);
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (unsigned char)c >= 0x80;
}

/* What is left of a name without case and separators. */
struct folded {
  char text[FOLDED_MAX];
  size_t len;
  bool cut;
};

static void fold(struct folded *folded, struct hf_str name) {
  for (size_t i = 0; i < name.len; i++) {
    if (!is_word(name.ptr[i]))
      continue;
    if (folded->len == FOLDED_MAX) {
      folded->cut = true;
      return;
    }
    folded->text[folded->len++] = lower(name.ptr[i]);
  }
}

/* Reads on in what is folded: is this what comes next? */
static bool goes_on(const struct folded *asked, size_t *io_at, struct hf_str name) {
  for (size_t i = 0; i < name.len; i++) {
    if (!is_word(name.ptr[i]))
      continue;
    if (*io_at == asked->len || asked->text[*io_at] != lower(name.ptr[i]))
      return false;
    (*io_at)++;
  }
  return true;
}

static bool reads(const struct folded *asked, struct hf_str prefix, int prefixes, struct hf_str name) {
  size_t at = 0;
  for (int i = 0; i < prefixes; i++)
    if (!goes_on(asked, &at, prefix))
      return false;
  return goes_on(asked, &at, name) && at == asked->len && at > 0;
}

/* Is the name asked for this tool's but for its spelling, or with its server's name left out, given, or given twice? */
static bool is_same(const struct folded *asked, const struct hf_shown_tool *tool) {
  return !asked->cut && (reads(asked, tool->server, 0, tool->shown) || reads(asked, tool->server, 0, tool->own) ||
                         reads(asked, tool->server, 1, tool->own) || reads(asked, tool->server, 2, tool->own));
}

struct search {
  const struct folded *asked;
  struct hf_shown_tool found;
  unsigned count;
};

static bool look(void *ctx, const struct hf_shown_tool *tool) {
  struct search *search = ctx;
  if (is_same(search->asked, tool)) {
    search->found = *tool;
    search->count++;
  }
  return search->count < 2;
}

bool hf_near_correct(struct hf_exchange *exchange) {
  struct hf_str name = exchange->request.name;
  struct folded asked = {.len = 0};
  if (exchange->asked_name.ptr || !name.ptr || exchange->replay)
    return false;
  fold(&asked, name);
  struct search search = {.asked = &asked};
  hf_catalog_visit(exchange->client, look, &search);
  if (search.count != 1 || !search.found.only_reads || !search.found.fit->repair_names ||
      hf_str_equal(search.found.shown, name))
    return false;
  struct hf_str copy = hf_arena_copy(&exchange->arena, search.found.shown);
  if (!copy.ptr)
    return false;
  exchange->asked_name = name;
  exchange->request.name = copy;
  exchange->client->gateway->metrics.renames++;
  hf_log_event(exchange->client->gateway->loop->log, HF_LOG_INFO, "the name of a tool was corrected",
               HF_LOG_STR("asked", name), HF_LOG_STR("tool", copy));
  return true;
}

struct candidate {
  struct hf_shown_tool tool;
  size_t distance; /* the less the nearer */
};

struct nearest {
  struct hf_str wanted;
  struct hf_str words[WORDS_MAX]; /* of the name */
  unsigned word_count;
  struct candidate candidate[HF_NEAR_TOLD_MAX];
  unsigned count;
  unsigned looked_at;
  size_t work;
};

static void keep(struct nearest *nearest, const struct hf_shown_tool *tool, size_t distance) {
  unsigned at = nearest->count;
  if (hf_str_equal(tool->shown, nearest->wanted))
    return; /* it is there, and cannot be had: a route without a provider */
  while (at > 0 && nearest->candidate[at - 1].distance > distance)
    at--;
  if (at == HF_NEAR_TOLD_MAX)
    return;
  unsigned last = nearest->count < HF_NEAR_TOLD_MAX ? nearest->count++ : HF_NEAR_TOLD_MAX - 1;
  memmove(nearest->candidate + at + 1, nearest->candidate + at, (last - at) * sizeof nearest->candidate[0]);
  nearest->candidate[at] = (struct candidate){*tool, distance};
}

/* What stands behind the first "__": a caller that got the server's name in front wrong may still mean this tool. */
static struct hf_str without_prefix(struct hf_str name) {
  const char *at = memmem(name.ptr, name.len, "__", 2);
  return at ? (struct hf_str){at + 2, name.len - (size_t)(at + 2 - name.ptr)} : (struct hf_str){NULL, 0};
}

static bool look_at_name(void *ctx, const struct hf_shown_tool *tool) {
  struct nearest *nearest = ctx;
  const struct hf_str asked[] = {nearest->wanted, without_prefix(nearest->wanted)};
  const struct hf_str names[] = {tool->own, tool->shown};
  size_t best = SIZE_MAX;
  for (size_t i = 0; i < 4; i++) {
    struct hf_str text = asked[i / 2];
    struct hf_str name = names[i % 2];
    const size_t most = text.len / 3 + 1;
    if (!text.len || !hf_distance_may_be(text, name, most))
      continue;
    nearest->work += text.len * name.len;
    size_t d = hf_distance(text, name);
    if (d <= most && d < best)
      best = d;
  }
  if (best != SIZE_MAX)
    keep(nearest, tool, best);
  return ++nearest->looked_at < HF_NEAR_LOOK_MAX && nearest->work < WORK_MAX;
}

static bool holds_word(struct nearest *nearest, struct hf_str text, struct hf_str word) {
  nearest->work += text.len;
  for (size_t i = 0; i + word.len <= text.len; i++)
    if (lower(text.ptr[i]) == lower(word.ptr[0]) && hf_bytes_equal_nocase(text.ptr + i, word.ptr, word.len))
      return true;
  return false;
}

/* By what its name and description speak of: the more of the words asked for the better. */
static bool look_at_words(void *ctx, const struct hf_shown_tool *tool) {
  struct nearest *nearest = ctx;
  struct hf_str description = hf_catalog_description(tool);
  if (description.len > HF_NEAR_DESCRIPTION)
    description.len = HF_NEAR_DESCRIPTION;
  unsigned hits = 0;
  for (unsigned i = 0; i < nearest->word_count; i++) {
    hits += holds_word(nearest, tool->own, nearest->words[i]) ? 2 : 0;
    hits += holds_word(nearest, description, nearest->words[i]) ? 1 : 0;
  }
  if (hits > 0)
    keep(nearest, tool, SIZE_MAX - hits);
  return ++nearest->looked_at < HF_NEAR_LOOK_MAX && nearest->work < HF_NEAR_READ_MAX;
}

/* At separators, and where a small letter is followed by a capital one. */
static void split(struct nearest *nearest) {
  struct hf_str name = nearest->wanted;
  size_t start = 0;
  for (size_t i = 0; i <= name.len && nearest->word_count < WORDS_MAX; i++) {
    bool camel = i > start && i < name.len && name.ptr[i] >= 'A' && name.ptr[i] <= 'Z' && name.ptr[i - 1] >= 'a' &&
                 name.ptr[i - 1] <= 'z';
    if (i < name.len && is_word(name.ptr[i]) && !camel)
      continue;
    if (i - start >= WORD_MIN)
      nearest->words[nearest->word_count++] = (struct hf_str){name.ptr + start, i - start};
    start = camel ? i : i + 1;
  }
}

/* Appends the names of what the tool must be given. */
static int append_takes(const struct hf_shown_tool *tool, struct hf_buf *out) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  options.tree_depth = 2;
  options.max_bytes = SCHEMA_BYTES_MAX;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  int r = 0;
  unsigned told = 0;
  if (tool->schema.ptr && hf_json_scan_feed(&scan, tool->schema.ptr, tool->schema.len, true) == 0) {
    const struct hf_json_doc doc = hf_json_doc(tool->schema.ptr, &scan);
    uint32_t required, name;
    bool has =
        hf_json_member(&doc, 0, HF_STR("required"), &required) == 0 && hf_json_type(&doc, required) == HF_JSON_ARRAY;
    struct hf_json_iter iter = has ? hf_json_iter(&doc, required) : (struct hf_json_iter){0};
    while (r == 0 && told < TAKES_MAX && hf_json_next(&doc, &iter, NULL, &name)) {
      struct hf_str raw = hf_json_span(&doc, name);
      if (hf_json_type(&doc, name) != HF_JSON_STRING || raw.len > NAME_SHOWN_MAX)
        continue;
      r = hf_buf_printf(out, "%s%.*s", told++ ? ", " : " (takes ", HF_STR_FMT(raw));
    }
  }
  hf_json_scan_deinit(&scan);
  return r == 0 && told > 0 ? hf_buf_append_str(out, HF_STR(")")) : r;
}

static int append_candidates(const struct nearest *nearest, struct hf_buf *out) {
  int r = hf_buf_append_str(out, HF_STR(" Did you mean one of these?"));
  for (unsigned i = 0; r == 0 && i < nearest->count; i++) {
    r = hf_buf_append_str(out, HF_STR("\n- "));
    if (r == 0)
      r = hf_feedback_quote(nearest->candidate[i].tool.shown, NAME_SHOWN_MAX, out);
    if (r == 0)
      r = append_takes(&nearest->candidate[i].tool, out);
  }
  return r;
}

int hf_near_tell(const struct hf_exchange *exchange, struct hf_buf *out) {
  static const struct {
    const char *before;
    const char *behind;
  } states[] = {
      [HF_MISSING_UNKNOWN] = {"There is no tool ", "."},
      [HF_MISSING_HIDDEN] = {"The tool ", " is not offered here: the person who runs the gateway has hidden it."},
      [HF_MISSING_VANISHED] = {"The tool ", " is gone: its server does not list it any more."},
  };
  const enum hf_missing missing = hf_catalog_missing(exchange);
  struct nearest nearest = {.wanted = exchange->request.name};
  int r = hf_buf_append_str(out, hf_str_from(states[missing].before));
  if (r == 0)
    r = hf_feedback_quote(nearest.wanted, NAME_SHOWN_MAX, out);
  if (r == 0)
    r = hf_buf_printf(out, "%s Nothing was executed.", states[missing].behind);
  hf_catalog_visit(exchange->client, look_at_name, &nearest);
  nearest.looked_at = 0;
  nearest.work = 0;
  split(&nearest);
  if (nearest.count == 0)
    hf_catalog_visit(exchange->client, look_at_words, &nearest);
  if (r == 0)
    r = nearest.count ? append_candidates(&nearest, out)
                      : hf_buf_append_str(out, HF_STR(" Use a tool from the current list."));
  return r;
}
