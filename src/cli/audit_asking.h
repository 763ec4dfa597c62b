/* The eight questions: what each is asked with, and how it answers. */
#ifndef HF_CLI_AUDIT_ASKING_H
#define HF_CLI_AUDIT_ASKING_H

#include "cli/audit.h"

struct hf_asking {
  struct hf_audit *audit;
  const struct hf_audit_subject *subject;
  struct hf_audit_answer *answer; /* the last that is given holds */
};

/* `path` is the option that decides: for a part, or (NULL) for the route itself or the whole configuration. */
void hf_asking_answer(struct hf_asking *q, enum hf_audit_verdict verdict, const struct hf_audit_part *part,
                      const char *path, const char *format, ...) __attribute__((format(printf, 5, 6)));
void hf_asking_fix(struct hf_asking *q, const char *format, ...) __attribute__((format(printf, 2, 3)));

void hf_asking_timeouts(struct hf_asking *q);
void hf_asking_faults(struct hf_asking *q);
void hf_asking_idempotency(struct hf_asking *q);
void hf_asking_retries(struct hf_asking *q);
void hf_asking_degrade(struct hf_asking *q);
void hf_asking_source(struct hf_asking *q);
void hf_asking_long(struct hf_asking *q);
void hf_asking_chain(struct hf_asking *q);

#endif
