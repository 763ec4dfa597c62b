/* What would mend one error of a value: changes of its text, each of a kind that is certain. Which of them is taken, if
 * any, is not known here. */
#ifndef HF_SCHEMA_REMEDY_H
#define HF_SCHEMA_REMEDY_H

#include "schema/repair.h"

/* A change of a text. */
struct hf_remedy {
  enum hf_repair_kind kind;
  bool lenient; /* the text of a string was no strict JSON */
  bool decoy;   /* a reading that is never taken, but makes another one uncertain */
  uint32_t node;
  uint32_t start, end; /* what is replaced */
  struct hf_str put;
  struct hf_str from, to; /* what is shown */
};

enum { HF_REMEDIES_MAX = 12 };

struct hf_remedies {
  struct hf_remedy item[HF_REMEDIES_MAX];
  unsigned count;
  bool more; /* there are others, so that none of these is certain */
};

/* A value and why it does not fit. Borrowed. */
struct hf_unfit {
  const struct hf_json_doc *doc;
  const struct hf_schema_errors *errors;
  const struct hf_json_doc *schema;
  struct hf_str tool;
  struct hf_arena *arena; /* of texts in remedies */
  uint32_t *left;         /* steps that looking for remedies may take */
};

/* Finds the remedies of an error at its place, none if there are none. Returns 0, HF_ERR_LIMIT if there are no steps
 * left, or HF_ERR_NOMEM. */
int hf_remedies_find(const struct hf_unfit *unfit, unsigned error, struct hf_remedies *ret_remedies);

/* Adds one, unless the same is there. */
void hf_remedies_add(struct hf_remedies *remedies, const struct hf_remedy *remedy);

/* Are the two names the same but for case, '_', '-' and spaces? */
bool hf_member_names_fold(struct hf_str a, struct hf_str b);

/* Counts the members called `name`, folded or exactly, under any `properties` of the schema. */
unsigned hf_schema_declares(const struct hf_json_doc *schema, struct hf_str name, bool fold, struct hf_arena *arena);

#endif
