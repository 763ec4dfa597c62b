/* The compiler: a queue of subschemas, each turned into instructions in turn, so that nothing in it recurses. */
#ifndef HF_SCHEMA_COMPILE_H
#define HF_SCHEMA_COMPILE_H

#include "schema/resource.h"

enum {
  HF_SCHEMA_PATTERNS_MAX = 1024,
  HF_SCHEMA_PATTERN_MEMORY_MAX = 256 << 10, /* bytes of all compiled patterns, which bounds the time they take */
};

struct hf_compiler {
  struct hf_schema *schema;
  const struct hf_schema_options *options;
  struct hf_error *reterr;
  struct hf_resources resources;
  HF_VEC(struct hf_resource *) used; /* resources, by their index in the program */
  struct hf_map anchor_ids;          /* names of dynamic anchors, to their number and 1 */
  bool dynamic;                      /* a reference depends on where the run comes from */

  /* Of the subschema in turn: */
  uint32_t sub;
  struct hf_source *source;
  struct hf_resource *resource;
  const struct hf_json_doc *doc;
  uint32_t words[HF_WORD_COUNT]; /* node of each keyword's value, or HF_JSON_NONE */
};

/* The subschema at a node of the source in turn, which is queued if it is new. Returns 0 or an error, told. */
int hf_compile_child(struct hf_compiler *c, uint32_t node, uint32_t *ret_sub);

/* Appends an instruction to the subschema in turn. Returns 0 or an error, told. */
int hf_compile_op(struct hf_compiler *c, const struct hf_op *op);

/* Appends to the list of subschemas. */
int hf_compile_list(struct hf_compiler *c, uint32_t sub);

/* Tells what is wrong with the value of a keyword; returns `code`. */
int hf_compile_complain(struct hf_compiler *c, int code, uint32_t node, const char *what);

/* The text of a string node, which lives as long as the schema. */
int hf_compile_text(struct hf_compiler *c, uint32_t node, struct hf_str *ret_text);

/* The same, of what is compared with names or strings of a value: half a surrogate pair equals only itself. */
int hf_compile_name(struct hf_compiler *c, uint32_t node, struct hf_str *ret_name);

/* Compile what the keywords in turn say: of any value, of the members of objects, of the items of arrays, and with
 * other subschemas. */
int hf_compile_assertions(struct hf_compiler *c);
int hf_compile_members(struct hf_compiler *c);
int hf_compile_items(struct hf_compiler *c);
int hf_compile_logic(struct hf_compiler *c);
int hf_compile_references(struct hf_compiler *c);

/* A whole number that is not negative; what is too large for the type is its maximum. */
int hf_compile_count(struct hf_compiler *c, uint32_t node, uint32_t *ret_count);

/* The pattern that a string node spells. */
int hf_compile_regex(struct hf_compiler *c, uint32_t node, uint32_t *ret_regex);

/* Appends an instruction whose subschemas are those of an array. */
int hf_compile_subs(struct hf_compiler *c, uint32_t array, struct hf_op *op);

/* Sets the types that the subschema in turn allows. */
int hf_compile_type(struct hf_compiler *c, struct hf_sub *sub);

#endif
