#include "schema/draft.h"

#include "schema/uri.h"

static const struct {
  struct hf_str uri; /* without scheme and empty fragment */
  uint8_t draft;
} drafts[] = {
    {{"//json-schema.org/draft/2020-12/schema", sizeof "//json-schema.org/draft/2020-12/schema" - 1}, HF_DRAFT_2020},
    {{"//json-schema.org/draft/2019-09/schema", sizeof "//json-schema.org/draft/2019-09/schema" - 1}, HF_DRAFT_2019},
    {{"//json-schema.org/draft-07/schema", sizeof "//json-schema.org/draft-07/schema" - 1}, HF_DRAFT_7},
    {{"//json-schema.org/draft-06/schema", sizeof "//json-schema.org/draft-06/schema" - 1}, HF_DRAFT_6},
    {{"//json-schema.org/draft-04/schema", sizeof "//json-schema.org/draft-04/schema" - 1}, HF_DRAFT_4},
    {{"//json-schema.org/schema", sizeof "//json-schema.org/schema" - 1}, HF_DRAFT_2020},
};

uint8_t hf_draft_known(struct hf_str uri) {
  struct hf_str resource, fragment;
  hf_uri_split(uri, &resource, &fragment);
  const char *colon = resource.len ? memchr(resource.ptr, ':', resource.len) : NULL;
  if (!colon)
    return 0;
  struct hf_str scheme = {resource.ptr, (size_t)(colon - resource.ptr)};
  if (!hf_str_equal(scheme, HF_STR("http")) && !hf_str_equal(scheme, HF_STR("https")))
    return 0;
  struct hf_str rest = {colon + 1, resource.len - scheme.len - 1};
  for (size_t i = 0; i < sizeof drafts / sizeof drafts[0]; i++)
    if (hf_str_equal(rest, drafts[i].uri))
      return drafts[i].draft;
  return 0;
}

/* name, what it makes valid or not */
static const struct {
  const char *name;
  uint8_t vocabularies;
} vocabularies[] = {
    {"core", HF_VOCABULARY_CORE},
    {"applicator", HF_VOCABULARY_APPLICATOR},
    {"unevaluated", HF_VOCABULARY_UNEVALUATED},
    {"validation", HF_VOCABULARY_VALIDATION},
    {"meta-data", 0},
    {"format", 0},
    {"format-annotation", 0},
    {"format-assertion", HF_VOCABULARY_FORMAT_ASSERTION},
    {"content", 0},
};

int hf_draft_vocabulary(uint8_t draft, struct hf_str uri) {
  struct hf_str base = draft == HF_DRAFT_2019 ? HF_STR("https://json-schema.org/draft/2019-09/vocab/")
                                              : HF_STR("https://json-schema.org/draft/2020-12/vocab/");
  if (!hf_str_starts(uri, base))
    return -1;
  struct hf_str name = {uri.ptr + base.len, uri.len - base.len};
  for (size_t i = 0; i < sizeof vocabularies / sizeof vocabularies[0]; i++)
    if (hf_str_equal(name, hf_str_from(vocabularies[i].name))) {
      int bits = vocabularies[i].vocabularies;
      /* In 2019-09 one vocabulary has both. */
      return draft == HF_DRAFT_2019 && bits == HF_VOCABULARY_APPLICATOR ? bits | HF_VOCABULARY_UNEVALUATED : bits;
    }
  return -1;
}
