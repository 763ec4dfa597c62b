#include "cli/dlq.h"

#include "base/clock.h"
#include "base/distance.h"
#include "cli/when.h"
#include "policy/classify.h"
#include "policy/permit.h"

#include <string.h>

/* True if an option chooses letters; a limit alone does not. */
static bool chooses(const struct hf_args *args) {
  const struct hf_filter_args *f = &args->filter;
  return f->tool || f->provider || f->reason || f->fingerprint || f->priority || f->since || f->until || f->status;
}

int hf_dlq_check_choice(const struct hf_args *args, const char *command) {
  const bool all = (args->flags & HF_FLAG_ALL) != 0;
  const bool filters = chooses(args);
  if (args->rest_count && (filters || all || args->filter.limit))
    return hf_complain(HF_EXIT_USAGE, "%s: ids name their letters; leave out the ids or the filter", command);
  if (!args->rest_count && !filters && !all)
    return hf_complain(HF_EXIT_USAGE, "%s: say which letters: by id, by a filter such as --tool, or --all", command);
  return HF_EXIT_GOOD;
}

/* Classes are the names of faults, and what becomes of a call whose gateway dies. */
static const char *const classes[] = {
#define CLASS(name, text) text,
    HF_FAULT_LIST(CLASS)
#undef CLASS
        HF_LETTER_GATEWAY_DIED,
    NULL};

bool hf_dlq_class_known(struct hf_str reason) {
  for (size_t i = 1; classes[i]; i++)
    if (hf_str_equal(reason, hf_str_from(classes[i])))
      return true;
  return false;
}

static int read_class(const char *text, struct hf_str *ret_reason) {
  *ret_reason = hf_str_from(text);
  if (hf_dlq_class_known(*ret_reason))
    return HF_EXIT_GOOD;
  const char *nearest = hf_nearest(*ret_reason, classes + 1);
  return hf_complain(HF_EXIT_USAGE, "--class: there is no '%.60s'%s%s%s", text, nearest ? "; did you mean '" : "",
                     nearest ? nearest : "", nearest ? "'?" : "; `holdfast dlq analyze` shows which there are");
}

static int read_when(const char *option, const char *text, int64_t *ret_ms) {
  if (hf_when_parse(hf_str_from(text), hf_clock_wall_ms(), ret_ms) == 0)
    return HF_EXIT_GOOD;
  return hf_complain(HF_EXIT_USAGE, "%s: '%.60s' is neither a time ago (90m, 24h, 7d) nor a date (2026-05-01T12:30)",
                     option, text);
}

static int read_number(const char *option, const char *text, unsigned max, unsigned *ret_number) {
  unsigned long long number;
  if (hf_str_to_u64(hf_str_from(text), max, &number) < 0 || number == 0)
    return hf_complain(HF_EXIT_USAGE, "%s: '%.60s' is no number from 1 to %u", option, text, max);
  *ret_number = (unsigned)number;
  return HF_EXIT_GOOD;
}

static int read_fingerprint(const char *text, struct hf_str *ret_hex) {
  *ret_hex = hf_str_from(text);
  if (ret_hex->len && ret_hex->len <= HF_FINGERPRINT_HEX && strspn(text, "0123456789abcdefABCDEF") == ret_hex->len)
    return HF_EXIT_GOOD;
  return hf_complain(HF_EXIT_USAGE, "--fingerprint: '%.80s' is not up to 64 hexadecimal digits", text);
}

static int read_status(const char *text, enum hf_letter_status otherwise, struct hf_letter_filter *filter) {
  filter->any_status = text ? strcmp(text, "any") == 0 : otherwise == HF_LETTER_STATUS_COUNT;
  if (!text && !filter->any_status)
    filter->status = otherwise;
  if (!text || filter->any_status || hf_letter_status_parse(hf_str_from(text), &filter->status) == 0)
    return HF_EXIT_GOOD;
  return hf_complain(HF_EXIT_USAGE,
                     "--status: '%.60s' is none of dead, replaying, replayed, discarded, quarantined and any", text);
}

int hf_dlq_filter(const struct hf_args *args, enum hf_letter_status otherwise, struct hf_letter_filter *ret_filter) {
  const struct hf_filter_args *from = &args->filter;
  struct hf_letter_filter filter = {.tool = hf_str_from(from->tool), .provider = hf_str_from(from->provider)};
  int exit_code = read_status(from->status, otherwise, &filter);
  if (exit_code == HF_EXIT_GOOD && from->reason)
    exit_code = read_class(from->reason, &filter.reason);
  if (exit_code == HF_EXIT_GOOD && from->fingerprint)
    exit_code = read_fingerprint(from->fingerprint, &filter.fingerprint);
  if (exit_code == HF_EXIT_GOOD && from->priority)
    exit_code = read_number("--priority", from->priority, HF_PRIORITY_LAST, &filter.priority);
  if (exit_code == HF_EXIT_GOOD && from->limit)
    exit_code = read_number("--limit", from->limit, HF_LETTERS_MAX, &filter.limit);
  if (exit_code == HF_EXIT_GOOD && from->since)
    exit_code = read_when("--since", from->since, &filter.since_ms);
  if (exit_code == HF_EXIT_GOOD && from->until)
    exit_code = read_when("--until", from->until, &filter.until_ms);
  if (exit_code == HF_EXIT_GOOD && from->since && from->until && filter.until_ms < filter.since_ms)
    exit_code = hf_complain(HF_EXIT_USAGE, "--until is before --since");
  if (exit_code == HF_EXIT_GOOD)
    *ret_filter = filter;
  return exit_code;
}
