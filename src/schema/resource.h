/* The documents of a compilation: which resources and anchors are in them, and what a reference names.
 *
 * A document is read when it is first asked for: the schema itself, then what came with it and the drafts' own
 * meta-schemas. Everything here is gone when the compilation is done, except the documents. */
#ifndef HF_SCHEMA_RESOURCE_H
#define HF_SCHEMA_RESOURCE_H

#include "base/map.h"
#include "schema/keyword.h"
#include "schema/program.h"

enum {
  HF_URI_BYTES_MAX = 1024,
  HF_SCHEMA_NESTING_MAX = 256,       /* of a schema's text */
  HF_SCHEMA_RESOURCES_MAX = 4096,    /* with an `$id` of their own */
  HF_RESOURCE_MEMORY_MAX = 16 << 20, /* more than all of these take */
};

struct hf_anchor {
  struct hf_anchor *next; /* of the same resource, those that are dynamic */
  struct hf_str name;
  uint32_t node;
  bool dynamic;
};

struct hf_resource {
  struct hf_str uri; /* without fragment; empty for a schema that has none */
  struct hf_source *source;
  struct hf_resource *parent; /* that it is embedded in, or NULL */
  uint32_t node;
  uint8_t draft;
  uint8_t vocabularies;
  uint32_t scope;             /* index in the program; HF_NONE until it is used */
  struct hf_anchor *dynamics; /* `$recursiveAnchor` is one without a name */
};

struct hf_source {
  struct hf_document *document;
  uint32_t index;                         /* of the document in the program */
  uint32_t *subs;                         /* subschema of each node, counted from 1. Owned */
  uint32_t *tables;                       /* index of what is in each large container, counted from 1. Owned or NULL */
  HF_VEC(struct hf_resource *) resources; /* in the order of their nodes */
};

struct hf_resources {
  struct hf_schema *schema;
  const struct hf_schema_options *options;
  struct hf_error *reterr;
  struct hf_arena arena;
  struct hf_map by_uri;         /* to hf_resource */
  struct hf_map anchors;        /* resource and name to hf_anchor */
  struct hf_member_names names; /* what is in large containers */
  HF_VEC(struct hf_member_table) tables;
  HF_VEC(struct hf_source *) sources;
  struct hf_buf uri; /* scratch */
  struct hf_buf key; /* scratch */
  unsigned loading;  /* documents that are being read: one may need its meta-schema */
  uint8_t draft;     /* of documents that do not say it */
};

/* What a reference names. */
struct hf_target {
  struct hf_resource *resource;
  uint32_t node;
  const struct hf_anchor *anchor; /* that was named, or NULL */
};

/* Borrows everything until _deinit. */
void hf_resources_init(struct hf_resources *resources, struct hf_schema *schema,
                       const struct hf_schema_options *options, struct hf_error *reterr);
void hf_resources_deinit(struct hf_resources *resources);

/* Reads a document that is found at `uri` (maybe empty) and all that is in it. `owned`: the text is copied. Returns 0
 * or an error, told. */
int hf_resources_load(struct hf_resources *resources, struct hf_str uri, struct hf_str text, bool owned,
                      struct hf_resource **ret_root);

/* The resource called `uri`, which is read if need be. Returns 0, HF_ERR_NOTFOUND (not told), or an error, told. */
int hf_resources_find(struct hf_resources *resources, struct hf_str uri, struct hf_resource **ret_resource);

/* What the string `reference` names, in a schema of `base`. Returns 0 or an error, told. */
int hf_resources_resolve(struct hf_resources *resources, struct hf_resource *base, struct hf_str reference,
                         struct hf_target *ret_target);

/* The anchor of a resource that is called so. Returns 0, HF_ERR_NOTFOUND or HF_ERR_NOMEM, not told. */
int hf_resources_anchor(struct hf_resources *resources, const struct hf_resource *resource, struct hf_str name,
                        const struct hf_anchor **ret_anchor);

/* The innermost resource that a node is in. */
struct hf_resource *hf_source_resource(const struct hf_source *source, uint32_t node);

/* Tells what is wrong at a node of a document; returns `code`. */
int hf_resources_complain(const struct hf_resources *resources, int code, const struct hf_source *source, uint32_t node,
                          const char *what);

/* The value of the member that is spelt so, or HF_JSON_NONE. */
uint32_t hf_source_member(const struct hf_source *source, uint32_t object, const char *name);

#endif
