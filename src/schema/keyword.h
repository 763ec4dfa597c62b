/* The words of schemas, of all drafts: what a member of a schema may be called, and what that makes of its value. */
#ifndef HF_SCHEMA_KEYWORD_H
#define HF_SCHEMA_KEYWORD_H

#include "schema/schema.h"

/* Drafts; bits, so that a keyword can say which ones have it. */
enum hf_draft { HF_DRAFT_4 = 1, HF_DRAFT_6 = 2, HF_DRAFT_7 = 4, HF_DRAFT_2019 = 8, HF_DRAFT_2020 = 16 };

/* Vocabularies that change what is valid; bits. */
enum hf_vocabulary {
  HF_VOCABULARY_CORE = 1,
  HF_VOCABULARY_APPLICATOR = 2,
  HF_VOCABULARY_UNEVALUATED = 4,
  HF_VOCABULARY_VALIDATION = 8,
  HF_VOCABULARY_FORMAT_ASSERTION = 16,
  HF_VOCABULARY_STANDARD =
      HF_VOCABULARY_CORE | HF_VOCABULARY_APPLICATOR | HF_VOCABULARY_UNEVALUATED | HF_VOCABULARY_VALIDATION
};

/* Where the subschemas are in a keyword's value; bits. */
enum hf_shape { HF_SHAPE_PLAIN = 0, HF_SHAPE_SCHEMA = 1, HF_SHAPE_ARRAY = 2, HF_SHAPE_MAP = 4 };

/* In the order in which they are compiled: assertions that cost little first, what depends on others last. */
enum hf_word {
  HF_WORD_TYPE,
  HF_WORD_ENUM,
  HF_WORD_CONST,
  HF_WORD_MULTIPLE_OF,
  HF_WORD_MAXIMUM,
  HF_WORD_EXCLUSIVE_MAXIMUM,
  HF_WORD_MINIMUM,
  HF_WORD_EXCLUSIVE_MINIMUM,
  HF_WORD_MAX_LENGTH,
  HF_WORD_MIN_LENGTH,
  HF_WORD_PATTERN,
  HF_WORD_FORMAT,
  HF_WORD_MAX_ITEMS,
  HF_WORD_MIN_ITEMS,
  HF_WORD_MAX_PROPERTIES,
  HF_WORD_MIN_PROPERTIES,
  HF_WORD_REQUIRED,
  HF_WORD_PROPERTIES,
  HF_WORD_PATTERN_PROPERTIES,
  HF_WORD_ADDITIONAL_PROPERTIES,
  HF_WORD_PROPERTY_NAMES,
  HF_WORD_DEPENDENT_REQUIRED,
  HF_WORD_DEPENDENT_SCHEMAS,
  HF_WORD_DEPENDENCIES,
  HF_WORD_PREFIX_ITEMS,
  HF_WORD_ITEMS,
  HF_WORD_ADDITIONAL_ITEMS,
  HF_WORD_CONTAINS,
  HF_WORD_MAX_CONTAINS,
  HF_WORD_MIN_CONTAINS,
  HF_WORD_UNIQUE_ITEMS,
  HF_WORD_REF,
  HF_WORD_DYNAMIC_REF,
  HF_WORD_RECURSIVE_REF,
  HF_WORD_ALL_OF,
  HF_WORD_ANY_OF,
  HF_WORD_ONE_OF,
  HF_WORD_NOT,
  HF_WORD_IF,
  HF_WORD_THEN,
  HF_WORD_ELSE,
  HF_WORD_UNEVALUATED_ITEMS,
  HF_WORD_UNEVALUATED_PROPERTIES,

  HF_WORD_ID,
  HF_WORD_ID_4,
  HF_WORD_SCHEMA,
  HF_WORD_ANCHOR,
  HF_WORD_DYNAMIC_ANCHOR,
  HF_WORD_RECURSIVE_ANCHOR,
  HF_WORD_VOCABULARY,
  HF_WORD_DEFS,
  HF_WORD_DEFINITIONS,
  HF_WORD_CONTENT_SCHEMA,
  HF_WORD_COUNT,
  HF_WORD_NONE = HF_WORD_COUNT
};

struct hf_word_row {
  const char *text;
  uint8_t drafts;       /* bits of enum hf_draft */
  uint8_t vocabularies; /* bits of enum hf_vocabulary: one of them says it */
  uint8_t shape;        /* bits of enum hf_shape */
  uint8_t keyword;      /* enum hf_keyword, what errors call it; HF_KEYWORD_COUNT: it has none */
};

/* The word that a member name is (as it is spelt between its quotes), or HF_WORD_NONE. */
enum hf_word hf_word_find(struct hf_str name);

const struct hf_word_row *hf_word_row(enum hf_word word);

#endif
