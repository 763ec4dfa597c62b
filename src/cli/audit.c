#include "cli/audit.h"

#include "cli/audit_asking.h"

#include <stdio.h>
#include <string.h>

enum { WHY_MAX = 480, FULL = 2 * HF_AUDIT_QUESTIONS };

static const struct {
  const char *id;
  const char *question;
  void (*ask)(struct hf_asking *q);
} questions[HF_AUDIT_QUESTIONS] = {
    {"timeouts", "Are its timeouts layered?", hf_asking_timeouts},
    {"faults", "Is every fault decided: worth a retry, or not?", hf_asking_faults},
    {"idempotency", "Is it known what a repeat does, and are unsafe ones forbidden?", hf_asking_idempotency},
    {"retries", "Are attempts bounded, with backoff and jitter?", hf_asking_retries},
    {"degrade", "Does a breaker open, and is there a way out behind it?", hf_asking_degrade},
    {"source", "Is the source of an answer marked and logged?", hf_asking_source},
    {"long", "Do long calls go their own way?", hf_asking_long},
    {"chain", "Is there one chain, and nothing around it that repeats?", hf_asking_chain},
};

const char *hf_audit_id(unsigned question) {
  return questions[question].id;
}

const char *hf_audit_question(unsigned question) {
  return questions[question].question;
}

const char *hf_audit_verdict_name(enum hf_audit_verdict verdict) {
  static const char *const names[] = {"no", "partly", "yes"};
  return names[verdict];
}

const struct hf_policy *hf_audit_policy(const struct hf_audit_subject *subject) {
  const struct hf_audit_part *part = &subject->part[0];
  if (subject->route)
    return &subject->route->policy;
  return part->tool ? &part->tool->policy : &part->server->policy;
}

const struct hf_tool_settings *hf_audit_entry(const struct hf_audit *audit, const struct hf_audit_subject *subject) {
  if (subject->route)
    return &subject->route->tool;
  return subject->part[0].tool ? subject->part[0].tool : &audit->settings->tool_defaults;
}

__attribute__((format(printf, 2, 0))) static struct hf_str print(struct hf_asking *q, const char *format,
                                                                 va_list args) {
  char text[WHY_MAX];
  int n = vsnprintf(text, sizeof text, format, args);
  struct hf_str copy = n < 0 ? (struct hf_str){NULL, 0} : hf_arena_copy(&q->audit->arena, hf_str_from(text));
  q->audit->failed = q->audit->failed || !copy.ptr;
  return copy;
}

void hf_asking_answer(struct hf_asking *q, enum hf_audit_verdict verdict, const struct hf_audit_part *part,
                      const char *path, const char *format, ...) {
  const struct hf_decided_for whom = {
      .route = q->subject->route && !part ? q->subject->route->name : (struct hf_str){NULL, 0},
      .pattern = part && part->tool ? part->tool->pattern : (struct hf_str){NULL, 0},
      .server = part ? part->server->name : (struct hf_str){NULL, 0},
  };
  va_list args;
  va_start(args, format);
  q->answer->why = print(q, format, args);
  va_end(args);
  q->answer->verdict = verdict;
  q->answer->decided = hf_decided_find(q->audit->root, &whom, path, &q->audit->arena);
}

void hf_asking_fix(struct hf_asking *q, const char *format, ...) {
  va_list args;
  va_start(args, format);
  q->answer->fix = print(q, format, args);
  va_end(args);
}

static void ask_all(struct hf_audit *audit, struct hf_audit_subject *subject) {
  unsigned points = 0;
  for (unsigned i = 0; i < HF_AUDIT_QUESTIONS; i++) {
    struct hf_asking q = {audit, subject, &subject->answer[i]};
    questions[i].ask(&q);
    points += (unsigned)subject->answer[i].verdict;
    audit->noes += subject->answer[i].verdict == HF_AUDIT_NO;
  }
  subject->score = points * 100 / FULL;
}

int hf_audit_run(struct hf_audit *audit) {
  size_t sum = 0;
  for (size_t i = 0; i < audit->count; i++) {
    if (audit->subjects[i].part_count == 0) {
      audit->subjects[i--] = audit->subjects[--audit->count]; /* a route without a provider that is there */
      continue;
    }
    ask_all(audit, &audit->subjects[i]);
    sum += audit->subjects[i].score;
  }
  audit->score = audit->count ? (unsigned)(sum / audit->count) : 100;
  if (audit->failed)
    return audit->count == HF_AUDIT_SUBJECTS_MAX ? HF_ERR_LIMIT : HF_ERR_NOMEM;
  return 0;
}
