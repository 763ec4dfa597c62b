#include "chaos/plan.h"

#include "chaos/pick.h"

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>

void hf_chaos_plan_init(struct hf_chaos_plan *plan, uint64_t seed) {
  *plan = (struct hf_chaos_plan){0};
  hf_random_init(&plan->random, seed);
  hf_map_init(&plan->seen, HF_CHAOS_KEYS_MAX);
}

void hf_chaos_plan_deinit(struct hf_chaos_plan *plan) {
  hf_map_deinit(&plan->seen);
  hf_free(plan->script);
}

/* "0.05" or "5%". */
static int read_rate(struct hf_str text, double *ret_rate) {
  char digits[24];
  if (text.len == 0 || text.len >= sizeof digits) {
    return HF_ERR_INVALID;
  }
  memcpy(digits, text.ptr, text.len);
  digits[text.len] = '\0';
  char *end = NULL;
  double rate = strtod(digits, &end);
  if (*end == '%' && end > digits) {
    enum { PERCENT = 100 };
    rate /= PERCENT;
    end++;
  }
  if (end == digits || *end != '\0' || !(rate >= 0 && rate <= 1)) {
    return HF_ERR_INVALID;
  }
  *ret_rate = rate;
  return 0;
}

static int add_rate(struct hf_chaos_plan *plan, struct hf_str item, struct hf_error *reterr) {
  enum { SHOWN = 60 };
  int shown = (int)(item.len < SHOWN ? item.len : SHOWN);
  const char *equals = item.len > 0 ? memrchr(item.ptr, '=', item.len) : NULL;
  if (equals == NULL) {
    return hf_error_set(reterr, HF_ERR_INVALID, "'%.*s' is not NAME=RATE", shown, item.ptr);
  }
  if (plan->rates == HF_CHAOS_RATES_MAX) {
    return hf_error_set(reterr, HF_ERR_INVALID, "more than %d rates", HF_CHAOS_RATES_MAX);
  }
  struct hf_str name = {item.ptr, (size_t)(equals - item.ptr)};
  struct hf_str rate = {equals + 1, item.len - name.len - 1};
  int rc = hf_chaos_fault_parse(name, &plan->rate_fault[plan->rates], reterr);
  if (rc != 0) {
    return rc;
  }
  if (read_rate(rate, &plan->rate[plan->rates]) != 0) {
    return hf_error_set(reterr, HF_ERR_INVALID, "'%.*s': a rate is a number from 0 to 1, or from 0%% to 100%%", shown,
                        item.ptr);
  }
  plan->rates++;
  return 0;
}

int hf_chaos_plan_add_rates(struct hf_chaos_plan *plan, const char *text, struct hf_error *reterr) {
  while (*text != '\0') {
    struct hf_str item = {text, strcspn(text, ",")};
    text += item.len;
    text += *text == ',';
    int rc = add_rate(plan, item, reterr);
    if (rc != 0) {
      return rc;
    }
  }
  double sum = 0;
  for (size_t i = 0; i < plan->rates; i++) {
    sum += plan->rate_fault[i].kind == HF_CHAOS_DRIFT ? 0 : plan->rate[i];
  }
  enum { PERCENT = 100 };
  const double rounding = 1e-9;
  if (sum > 1 + rounding) {
    return hf_error_set(reterr, HF_ERR_INVALID, "the rates add up to %.0f %%, which is more than all calls",
                        sum * PERCENT);
  }
  return 0;
}

static int add_line(struct hf_chaos_plan *plan, struct hf_str line, struct hf_error *reterr) {
  const char *blank = memchr(line.ptr, ' ', line.len);
  const char *tab = memchr(line.ptr, '\t', line.len);
  const char *gap = blank == NULL || (tab != NULL && tab < blank) ? tab : blank;
  struct hf_chaos_script_line entry = {0};
  struct hf_str method = {line.ptr, gap ? (size_t)(gap - line.ptr) : line.len};
  struct hf_str fault = {method.ptr + method.len, line.len - method.len};
  fault = hf_str_trim(fault);
  if (fault.len == 0 || method.len >= sizeof entry.method) {
    return hf_error_set(reterr, HF_ERR_INVALID, "a line is METHOD FAULT");
  }
  if (plan->script_len == HF_CHAOS_SCRIPT_MAX) {
    return hf_error_set(reterr, HF_ERR_LIMIT, "more than %d faults", HF_CHAOS_SCRIPT_MAX);
  }
  memcpy(entry.method, method.ptr, method.len);
  int rc = hf_chaos_fault_parse(fault, &entry.fault, reterr);
  if (rc != 0) {
    return rc;
  }
  entry.fault.times += entry.fault.times == 0;
  plan->script[plan->script_len++] = entry;
  return 0;
}

int hf_chaos_plan_add_script(struct hf_chaos_plan *plan, struct hf_str text, struct hf_error *reterr) {
  if (plan->script == NULL) {
    plan->script = hf_calloc(HF_CHAOS_SCRIPT_MAX, sizeof *plan->script);
  }
  if (plan->script == NULL) {
    return hf_error_set(reterr, HF_ERR_NOMEM, "out of memory");
  }
  for (int number = 1; text.len > 0; number++) {
    const char *end = memchr(text.ptr, '\n', text.len);
    size_t len = end ? (size_t)(end - text.ptr) : text.len;
    struct hf_str line = hf_str_trim((struct hf_str){text.ptr, len});
    if (line.len > 0 && line.ptr[line.len - 1] == '\r') {
      line.len--;
    }
    text.ptr += len + (end != NULL);
    text.len -= len + (end != NULL);
    int rc = line.len == 0 || line.ptr[0] == '#' ? 0 : add_line(plan, line, reterr);
    if (rc != 0) {
      (void)hf_error_wrap(reterr, "line %d", number);
      return rc;
    }
  }
  return 0;
}

/* True while `fault` has met `key` less often than its `*TIMES` allows. */
static bool within_times(struct hf_chaos_plan *plan, const struct hf_chaos_fault *fault, const char *own,
                         const char *key) {
  if (fault->times == 0) {
    return true;
  }
  char name[512];
  int len = snprintf(name, sizeof name, "%s %s", own, key);
  struct hf_str id = {name, (size_t)len < sizeof name ? (size_t)len : sizeof name - 1};
  uintptr_t met = (uintptr_t)hf_map_get(&plan->seen, id);
  if (met >= (uintptr_t)fault->times) {
    return false;
  }
  return hf_map_put(&plan->seen, id, (void *)(met + 1)) == 0;
}

static bool pick_scripted(struct hf_chaos_plan *plan, const char *method, struct hf_chaos_fault *fault) {
  for (size_t i = 0; i < plan->script_len; i++) {
    struct hf_chaos_script_line *line = &plan->script[i];
    if (line->fault.times > 0 && (strcmp(line->method, "*") == 0 || strcmp(line->method, method) == 0)) {
      line->fault.times--;
      *fault = line->fault;
      return true;
    }
  }
  return false;
}

static bool drifts(const struct hf_chaos_fault *fault) {
  return fault->kind == HF_CHAOS_DRIFT;
}

/* One draw decides among the rates of calls, or among those of lists. */
static void draw(struct hf_chaos_plan *plan, bool list, struct hf_chaos_fault *fault) {
  enum { DRAWS = 1000000 };
  double left = -1;
  for (size_t i = 0; i < plan->rates; i++) {
    if (drifts(&plan->rate_fault[i]) != list) {
      continue;
    }
    if (left < 0) {
      left = (double)hf_random_below(&plan->random, DRAWS) / DRAWS;
    }
    if (left < plan->rate[i]) {
      *fault = plan->rate_fault[i];
      return;
    }
    left -= plan->rate[i];
  }
}

struct hf_chaos_fault hf_chaos_plan_pick(struct hf_chaos_plan *plan, const char *method, const char *own,
                                         const char *key) {
  struct hf_chaos_fault fault = {.executes = true};
  if (own[0] != '\0' && hf_chaos_fault_parse(hf_str_from(own), &fault, NULL) == 0) {
    if (within_times(plan, &fault, own, key)) {
      return fault;
    }
    fault = (struct hf_chaos_fault){.executes = true};
  }
  if (pick_scripted(plan, method, &fault)) {
    return fault;
  }
  bool call = strcmp(method, "tools/call") == 0;
  if (call || strcmp(method, "tools/list") == 0) {
    draw(plan, !call, &fault);
  }
  return fault;
}
