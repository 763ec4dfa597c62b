#include "schema/program.h"

#include "base/alloc.h"

enum { SMALL_DIGITS_MAX = 18 };

bool hf_number_small(struct hf_str raw, int64_t *ret_value) {
  size_t start = raw.ptr[0] == '-';
  if (raw.len - start > SMALL_DIGITS_MAX)
    return false;
  int64_t value = 0;
  for (size_t i = start; i < raw.len; i++) {
    unsigned digit = (unsigned)(raw.ptr[i] - '0');
    if (digit > 9)
      return false;
    value = value * 10 + digit;
  }
  *ret_value = start ? -value : value;
  return true;
}

size_t hf_text_unescape(struct hf_str raw, bool utf8, char *out) {
  const char *p = raw.ptr + 1, *end = raw.ptr + raw.len - 1;
  size_t len = 0;
  while (p < end) {
    struct hf_json_char c = {.bytes = {*p}, .len = 1};
    p += *p == '\\' ? hf_json_read_escape(p, end, &c) : 1;
    memcpy(out + len, c.lone_surrogate && utf8 ? "\xef\xbf\xbd" : c.bytes, c.len); /* half a pair has three, too */
    len += c.len;
  }
  return len;
}

static void free_document(struct hf_document *document) {
  hf_json_scan_deinit(&document->scan);
  hf_free(document->text);
  hf_free(document);
}

void hf_schema_free(struct hf_schema *schema) {
  if (!schema)
    return;
  for (uint32_t i = 0; i < schema->docs.count; i++)
    free_document(schema->docs.at[i]);
  for (uint32_t i = 0; i < schema->regexes.count; i++)
    hf_regex_free(schema->regexes.at[i]);
  void *const arrays[] = {schema->docs.at,    schema->subs.at,     schema->ops.at,        schema->list.at,
                          schema->numbers.at, schema->enums.at,    schema->regexes.at,    schema->formats.at,
                          schema->objects.at, schema->patterns.at, schema->dependents.at, schema->contains.at,
                          schema->scopes.at,  schema->dynamics.at};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
    hf_free(arrays[i]);
  hf_member_names_deinit(&schema->names);
  hf_arena_deinit(&schema->arena);
  hf_free(schema);
}

static size_t size_of_documents(const struct hf_schema *schema) {
  size_t size = 0;
  for (uint32_t i = 0; i < schema->docs.count; i++) {
    const struct hf_document *d = schema->docs.at[i];
    size += sizeof *d + d->scan.cap * sizeof *d->scan.nodes + (d->text ? d->doc.nodes[0].end : 0);
  }
  return size;
}

size_t hf_schema_size(const struct hf_schema *schema) {
  const struct hf_schema *s = schema;
  size_t size = sizeof *s + s->arena.used + size_of_documents(s);
#define SIZE(vec) size += s->vec.cap * sizeof *s->vec.at
  SIZE(docs);
  SIZE(subs);
  SIZE(ops);
  SIZE(list);
  SIZE(numbers);
  SIZE(enums);
  SIZE(regexes);
  SIZE(formats);
  SIZE(objects);
  SIZE(patterns);
  SIZE(dependents);
  SIZE(contains);
  SIZE(scopes);
  SIZE(dynamics);
#undef SIZE
  return size + s->regex_bytes + s->names.entry_cap * sizeof *s->names.entries +
         s->names.slot_cap * sizeof *s->names.slots;
}

const struct hf_json_doc *hf_schema_doc(const struct hf_schema *schema) {
  return &schema->docs.at[0]->doc;
}
