/* The words that people read (titles, comments) are left out; what is valid is what the published ones say. */
#include "schema/meta.h"

/* Makes a string of JSON as it stands here. */
#define JSON(...) #__VA_ARGS__

/* clang-format off */

/* Draft 4 */

static const char draft_4[] = JSON({
  "id": "http://json-schema.org/draft-04/schema#", "$schema": "http://json-schema.org/draft-04/schema#",
  "definitions": {
    "schemaArray": {"type": "array", "minItems": 1, "items": {"$ref": "#"}},
    "positiveInteger": {"type": "integer", "minimum": 0},
    "positiveIntegerDefault0": {"allOf": [{"$ref": "#/definitions/positiveInteger"}, {"default": 0}]},
    "simpleTypes": {"enum": ["array", "boolean", "integer", "null", "number", "object", "string"]},
    "stringArray": {"type": "array", "items": {"type": "string"}, "minItems": 1, "uniqueItems": true}
  },
  "type": "object",
  "properties": {
    "id": {"type": "string"}, "$schema": {"type": "string"},
    "title": {"type": "string"}, "description": {"type": "string"}, "default": {},
    "multipleOf": {"type": "number", "minimum": 0, "exclusiveMinimum": true},
    "maximum": {"type": "number"}, "exclusiveMaximum": {"type": "boolean"},
    "minimum": {"type": "number"}, "exclusiveMinimum": {"type": "boolean"},
    "maxLength": {"$ref": "#/definitions/positiveInteger"},
    "minLength": {"$ref": "#/definitions/positiveIntegerDefault0"},
    "pattern": {"type": "string", "format": "regex"},
    "additionalItems": {"anyOf": [{"type": "boolean"}, {"$ref": "#"}]},
    "items": {"anyOf": [{"$ref": "#"}, {"$ref": "#/definitions/schemaArray"}]},
    "maxItems": {"$ref": "#/definitions/positiveInteger"},
    "minItems": {"$ref": "#/definitions/positiveIntegerDefault0"},
    "uniqueItems": {"type": "boolean"},
    "maxProperties": {"$ref": "#/definitions/positiveInteger"},
    "minProperties": {"$ref": "#/definitions/positiveIntegerDefault0"},
    "required": {"$ref": "#/definitions/stringArray"},
    "additionalProperties": {"anyOf": [{"type": "boolean"}, {"$ref": "#"}]},
    "definitions": {"type": "object", "additionalProperties": {"$ref": "#"}},
    "properties": {"type": "object", "additionalProperties": {"$ref": "#"}},
    "patternProperties": {"type": "object", "additionalProperties": {"$ref": "#"}},
    "dependencies": {"type": "object",
      "additionalProperties": {"anyOf": [{"$ref": "#"}, {"$ref": "#/definitions/stringArray"}]}},
    "enum": {"type": "array", "minItems": 1, "uniqueItems": true},
    "type": {"anyOf": [{"$ref": "#/definitions/simpleTypes"},
      {"type": "array", "items": {"$ref": "#/definitions/simpleTypes"}, "minItems": 1, "uniqueItems": true}]},
    "format": {"type": "string"},
    "allOf": {"$ref": "#/definitions/schemaArray"}, "anyOf": {"$ref": "#/definitions/schemaArray"},
    "oneOf": {"$ref": "#/definitions/schemaArray"}, "not": {"$ref": "#"}
  },
  "dependencies": {"exclusiveMaximum": ["maximum"], "exclusiveMinimum": ["minimum"]}
});

/* Drafts 6 and 7, of which the latter has some more */

#define DEFINITIONS_6 JSON( \
  "definitions": { \
    "schemaArray": {"type": "array", "minItems": 1, "items": {"$ref": "#"}}, \
    "nonNegativeInteger": {"type": "integer", "minimum": 0}, \
    "nonNegativeIntegerDefault0": {"allOf": [{"$ref": "#/definitions/nonNegativeInteger"}, {"default": 0}]}, \
    "simpleTypes": {"enum": ["array", "boolean", "integer", "null", "number", "object", "string"]}, \
    "stringArray": {"type": "array", "items": {"type": "string"}, "uniqueItems": true} \
  }, \
  "type": ["object", "boolean"])

#define PROPERTIES_6 JSON( \
    "$id": {"type": "string", "format": "uri-reference"}, "$schema": {"type": "string", "format": "uri"}, \
    "$ref": {"type": "string", "format": "uri-reference"}, \
    "title": {"type": "string"}, "description": {"type": "string"}, "default": true, \
    "examples": {"type": "array", "items": true}, \
    "multipleOf": {"type": "number", "exclusiveMinimum": 0}, \
    "maximum": {"type": "number"}, "exclusiveMaximum": {"type": "number"}, \
    "minimum": {"type": "number"}, "exclusiveMinimum": {"type": "number"}, \
    "maxLength": {"$ref": "#/definitions/nonNegativeInteger"}, \
    "minLength": {"$ref": "#/definitions/nonNegativeIntegerDefault0"}, \
    "pattern": {"type": "string", "format": "regex"}, \
    "additionalItems": {"$ref": "#"}, \
    "items": {"anyOf": [{"$ref": "#"}, {"$ref": "#/definitions/schemaArray"}]}, \
    "maxItems": {"$ref": "#/definitions/nonNegativeInteger"}, \
    "minItems": {"$ref": "#/definitions/nonNegativeIntegerDefault0"}, \
    "uniqueItems": {"type": "boolean"}, "contains": {"$ref": "#"}, \
    "maxProperties": {"$ref": "#/definitions/nonNegativeInteger"}, \
    "minProperties": {"$ref": "#/definitions/nonNegativeIntegerDefault0"}, \
    "required": {"$ref": "#/definitions/stringArray"}, \
    "additionalProperties": {"$ref": "#"}, \
    "definitions": {"type": "object", "additionalProperties": {"$ref": "#"}}, \
    "properties": {"type": "object", "additionalProperties": {"$ref": "#"}}, \
    "dependencies": {"type": "object", \
      "additionalProperties": {"anyOf": [{"$ref": "#"}, {"$ref": "#/definitions/stringArray"}]}}, \
    "propertyNames": {"$ref": "#"}, "const": true, \
    "type": {"anyOf": [{"$ref": "#/definitions/simpleTypes"}, \
      {"type": "array", "items": {"$ref": "#/definitions/simpleTypes"}, "minItems": 1, "uniqueItems": true}]}, \
    "format": {"type": "string"}, \
    "allOf": {"$ref": "#/definitions/schemaArray"}, "anyOf": {"$ref": "#/definitions/schemaArray"}, \
    "oneOf": {"$ref": "#/definitions/schemaArray"}, "not": {"$ref": "#"})

static const char draft_6[] =
  "{" JSON("$schema": "http://json-schema.org/draft-06/schema#", "$id": "http://json-schema.org/draft-06/schema#") ","
  DEFINITIONS_6 "," "\"properties\":{" PROPERTIES_6 "," JSON(
    "patternProperties": {"type": "object", "additionalProperties": {"$ref": "#"}},
    "enum": {"type": "array", "minItems": 1, "uniqueItems": true}) "}}";

static const char draft_7[] =
  "{" JSON("$schema": "http://json-schema.org/draft-07/schema#", "$id": "http://json-schema.org/draft-07/schema#") ","
  DEFINITIONS_6 "," "\"properties\":{" PROPERTIES_6 "," JSON(
    "$comment": {"type": "string"}, "readOnly": {"type": "boolean"}, "writeOnly": {"type": "boolean"},
    "patternProperties": {"type": "object", "additionalProperties": {"$ref": "#"},
      "propertyNames": {"format": "regex"}},
    "enum": {"type": "array", "items": true},
    "contentMediaType": {"type": "string"}, "contentEncoding": {"type": "string"},
    "if": {"$ref": "#"}, "then": {"$ref": "#"}, "else": {"$ref": "#"}) "}}";

/* Since 2019-09: one that puts together what each vocabulary has. How it refers to itself is what differs most. */

#define BEGIN(draft, name, self) \
  "{\"$schema\":\"https://json-schema.org/draft/" draft "/schema\"," \
  "\"$id\":\"https://json-schema.org/draft/" draft "/" name "\"," self ",\"type\":[\"object\",\"boolean\"]"
#define VOCABULARY(draft, name) \
  ",\"$vocabulary\":{\"https://json-schema.org/draft/" draft "/vocab/" name "\":true}"
#define SELF_2019 JSON("$recursiveAnchor": true)
#define SELF_2020 JSON("$dynamicAnchor": "meta")
#define META_2019(name) BEGIN("2019-09", "meta/" name, SELF_2019) VOCABULARY("2019-09", name)
#define META_2020(name) BEGIN("2020-12", "meta/" name, SELF_2020) VOCABULARY("2020-12", name)

#define VALIDATION JSON( \
  "properties": { \
    "type": {"anyOf": [{"$ref": "#/$defs/simpleTypes"}, \
      {"type": "array", "items": {"$ref": "#/$defs/simpleTypes"}, "minItems": 1, "uniqueItems": true}]}, \
    "const": true, "enum": {"type": "array", "items": true}, \
    "multipleOf": {"type": "number", "exclusiveMinimum": 0}, \
    "maximum": {"type": "number"}, "exclusiveMaximum": {"type": "number"}, \
    "minimum": {"type": "number"}, "exclusiveMinimum": {"type": "number"}, \
    "maxLength": {"$ref": "#/$defs/nonNegativeInteger"}, \
    "minLength": {"$ref": "#/$defs/nonNegativeIntegerDefault0"}, \
    "pattern": {"type": "string", "format": "regex"}, \
    "maxItems": {"$ref": "#/$defs/nonNegativeInteger"}, \
    "minItems": {"$ref": "#/$defs/nonNegativeIntegerDefault0"}, \
    "uniqueItems": {"type": "boolean"}, \
    "maxContains": {"$ref": "#/$defs/nonNegativeInteger"}, "minContains": {"$ref": "#/$defs/nonNegativeInteger"}, \
    "maxProperties": {"$ref": "#/$defs/nonNegativeInteger"}, \
    "minProperties": {"$ref": "#/$defs/nonNegativeIntegerDefault0"}, \
    "required": {"$ref": "#/$defs/stringArray"}, \
    "dependentRequired": {"type": "object", "additionalProperties": {"$ref": "#/$defs/stringArray"}} \
  }, \
  "$defs": { \
    "nonNegativeInteger": {"type": "integer", "minimum": 0}, \
    "nonNegativeIntegerDefault0": {"$ref": "#/$defs/nonNegativeInteger", "default": 0}, \
    "simpleTypes": {"enum": ["array", "boolean", "integer", "null", "number", "object", "string"]}, \
    "stringArray": {"type": "array", "items": {"type": "string"}, "uniqueItems": true} \
  }) "}"

#define META_DATA JSON( \
  "properties": { \
    "title": {"type": "string"}, "description": {"type": "string"}, "default": true, \
    "deprecated": {"type": "boolean"}, "readOnly": {"type": "boolean"}, "writeOnly": {"type": "boolean"}, \
    "examples": {"type": "array", "items": true} \
  }) "}"

#define FORMAT JSON("properties": {"format": {"type": "string"}}) "}"

static const char schema_2019[] = BEGIN("2019-09", "schema", SELF_2019) "," JSON(
  "$vocabulary": {
    "https://json-schema.org/draft/2019-09/vocab/core": true,
    "https://json-schema.org/draft/2019-09/vocab/applicator": true,
    "https://json-schema.org/draft/2019-09/vocab/validation": true,
    "https://json-schema.org/draft/2019-09/vocab/meta-data": true,
    "https://json-schema.org/draft/2019-09/vocab/format": false,
    "https://json-schema.org/draft/2019-09/vocab/content": true
  },
  "allOf": [{"$ref": "meta/core"}, {"$ref": "meta/applicator"}, {"$ref": "meta/validation"},
    {"$ref": "meta/meta-data"}, {"$ref": "meta/format"}, {"$ref": "meta/content"}],
  "properties": {
    "definitions": {"type": "object", "additionalProperties": {"$recursiveRef": "#"}},
    "dependencies": {"type": "object",
      "additionalProperties": {"anyOf": [{"$recursiveRef": "#"}, {"$ref": "meta/validation#/$defs/stringArray"}]}}
  }) "}";

static const char core_2019[] = META_2019("core") "," JSON(
  "properties": {
    "$id": {"type": "string", "format": "uri-reference", "pattern": "^[^#]*#?$"},
    "$schema": {"type": "string", "format": "uri"},
    "$anchor": {"type": "string", "pattern": "^[A-Za-z][-A-Za-z0-9.:_]*$"},
    "$ref": {"type": "string", "format": "uri-reference"},
    "$recursiveRef": {"type": "string", "format": "uri-reference"},
    "$recursiveAnchor": {"type": "boolean"},
    "$vocabulary": {"type": "object", "propertyNames": {"type": "string", "format": "uri"},
      "additionalProperties": {"type": "boolean"}},
    "$comment": {"type": "string"},
    "$defs": {"type": "object", "additionalProperties": {"$recursiveRef": "#"}}
  }) "}";

static const char applicator_2019[] = META_2019("applicator") "," JSON(
  "properties": {
    "additionalItems": {"$recursiveRef": "#"}, "unevaluatedItems": {"$recursiveRef": "#"},
    "items": {"anyOf": [{"$recursiveRef": "#"}, {"$ref": "#/$defs/schemaArray"}]},
    "contains": {"$recursiveRef": "#"},
    "additionalProperties": {"$recursiveRef": "#"}, "unevaluatedProperties": {"$recursiveRef": "#"},
    "properties": {"type": "object", "additionalProperties": {"$recursiveRef": "#"}},
    "patternProperties": {"type": "object", "additionalProperties": {"$recursiveRef": "#"},
      "propertyNames": {"format": "regex"}},
    "dependentSchemas": {"type": "object", "additionalProperties": {"$recursiveRef": "#"}},
    "propertyNames": {"$recursiveRef": "#"},
    "if": {"$recursiveRef": "#"}, "then": {"$recursiveRef": "#"}, "else": {"$recursiveRef": "#"},
    "allOf": {"$ref": "#/$defs/schemaArray"}, "anyOf": {"$ref": "#/$defs/schemaArray"},
    "oneOf": {"$ref": "#/$defs/schemaArray"}, "not": {"$recursiveRef": "#"}
  },
  "$defs": {"schemaArray": {"type": "array", "minItems": 1, "items": {"$recursiveRef": "#"}}}) "}";

static const char validation_2019[] = META_2019("validation") "," VALIDATION;
static const char meta_data_2019[] = META_2019("meta-data") "," META_DATA;
static const char format_2019[] = META_2019("format") "," FORMAT;
static const char content_2019[] = META_2019("content") "," JSON(
  "properties": {"contentMediaType": {"type": "string"}, "contentEncoding": {"type": "string"},
    "contentSchema": {"$recursiveRef": "#"}}) "}";

static const char schema_2020[] = BEGIN("2020-12", "schema", SELF_2020) "," JSON(
  "$vocabulary": {
    "https://json-schema.org/draft/2020-12/vocab/core": true,
    "https://json-schema.org/draft/2020-12/vocab/applicator": true,
    "https://json-schema.org/draft/2020-12/vocab/unevaluated": true,
    "https://json-schema.org/draft/2020-12/vocab/validation": true,
    "https://json-schema.org/draft/2020-12/vocab/meta-data": true,
    "https://json-schema.org/draft/2020-12/vocab/format-annotation": true,
    "https://json-schema.org/draft/2020-12/vocab/content": true
  },
  "allOf": [{"$ref": "meta/core"}, {"$ref": "meta/applicator"}, {"$ref": "meta/unevaluated"},
    {"$ref": "meta/validation"}, {"$ref": "meta/meta-data"}, {"$ref": "meta/format-annotation"},
    {"$ref": "meta/content"}],
  "properties": {
    "definitions": {"type": "object", "additionalProperties": {"$dynamicRef": "#meta"}},
    "dependencies": {"type": "object",
      "additionalProperties": {"anyOf": [{"$dynamicRef": "#meta"}, {"$ref": "meta/validation#/$defs/stringArray"}]}},
    "$recursiveAnchor": {"$ref": "meta/core#/$defs/anchorString"},
    "$recursiveRef": {"$ref": "meta/core#/$defs/uriReferenceString"}
  }) "}";

static const char core_2020[] = META_2020("core") "," JSON(
  "properties": {
    "$id": {"$ref": "#/$defs/uriReferenceString", "pattern": "^[^#]*#?$"},
    "$schema": {"$ref": "#/$defs/uriString"}, "$ref": {"$ref": "#/$defs/uriReferenceString"},
    "$anchor": {"$ref": "#/$defs/anchorString"}, "$dynamicRef": {"$ref": "#/$defs/uriReferenceString"},
    "$dynamicAnchor": {"$ref": "#/$defs/anchorString"},
    "$vocabulary": {"type": "object", "propertyNames": {"$ref": "#/$defs/uriString"},
      "additionalProperties": {"type": "boolean"}},
    "$comment": {"type": "string"},
    "$defs": {"type": "object", "additionalProperties": {"$dynamicRef": "#meta"}}
  },
  "$defs": {
    "anchorString": {"type": "string", "pattern": "^[A-Za-z_][-A-Za-z0-9._]*$"},
    "uriString": {"type": "string", "format": "uri"},
    "uriReferenceString": {"type": "string", "format": "uri-reference"}
  }) "}";

static const char applicator_2020[] = META_2020("applicator") "," JSON(
  "properties": {
    "prefixItems": {"$ref": "#/$defs/schemaArray"}, "items": {"$dynamicRef": "#meta"},
    "contains": {"$dynamicRef": "#meta"}, "additionalProperties": {"$dynamicRef": "#meta"},
    "properties": {"type": "object", "additionalProperties": {"$dynamicRef": "#meta"}},
    "patternProperties": {"type": "object", "additionalProperties": {"$dynamicRef": "#meta"},
      "propertyNames": {"format": "regex"}},
    "dependentSchemas": {"type": "object", "additionalProperties": {"$dynamicRef": "#meta"}},
    "propertyNames": {"$dynamicRef": "#meta"},
    "if": {"$dynamicRef": "#meta"}, "then": {"$dynamicRef": "#meta"}, "else": {"$dynamicRef": "#meta"},
    "allOf": {"$ref": "#/$defs/schemaArray"}, "anyOf": {"$ref": "#/$defs/schemaArray"},
    "oneOf": {"$ref": "#/$defs/schemaArray"}, "not": {"$dynamicRef": "#meta"}
  },
  "$defs": {"schemaArray": {"type": "array", "minItems": 1, "items": {"$dynamicRef": "#meta"}}}) "}";

static const char unevaluated_2020[] = META_2020("unevaluated") "," JSON(
  "properties": {"unevaluatedItems": {"$dynamicRef": "#meta"}, "unevaluatedProperties": {"$dynamicRef": "#meta"}}) "}";

static const char validation_2020[] = META_2020("validation") "," VALIDATION;
static const char meta_data_2020[] = META_2020("meta-data") "," META_DATA;
static const char format_annotation_2020[] = META_2020("format-annotation") "," FORMAT;
static const char format_assertion_2020[] = META_2020("format-assertion") "," FORMAT;
static const char content_2020[] = META_2020("content") "," JSON(
  "properties": {"contentEncoding": {"type": "string"}, "contentMediaType": {"type": "string"},
    "contentSchema": {"$dynamicRef": "#meta"}}) "}";

/* clang-format on */

#define OLD(name, text)                                                                                                \
  { HF_STR("http://json-schema.org/" name "/schema"), HF_STR_OF(text) }
#define NEW(name, text)                                                                                                \
  { HF_STR("https://json-schema.org/draft/" name), HF_STR_OF(text) }
#define HF_STR_OF(array)                                                                                               \
  { (array), sizeof(array) - 1 }

static const struct {
  struct hf_str uri;
  struct hf_str text;
} metas[] = {
    OLD("draft-04", draft_4),
    OLD("draft-06", draft_6),
    OLD("draft-07", draft_7),
    NEW("2019-09/schema", schema_2019),
    NEW("2019-09/meta/core", core_2019),
    NEW("2019-09/meta/applicator", applicator_2019),
    NEW("2019-09/meta/validation", validation_2019),
    NEW("2019-09/meta/meta-data", meta_data_2019),
    NEW("2019-09/meta/format", format_2019),
    NEW("2019-09/meta/content", content_2019),
    NEW("2020-12/schema", schema_2020),
    NEW("2020-12/meta/core", core_2020),
    NEW("2020-12/meta/applicator", applicator_2020),
    NEW("2020-12/meta/unevaluated", unevaluated_2020),
    NEW("2020-12/meta/validation", validation_2020),
    NEW("2020-12/meta/meta-data", meta_data_2020),
    NEW("2020-12/meta/format-annotation", format_annotation_2020),
    NEW("2020-12/meta/format-assertion", format_assertion_2020),
    NEW("2020-12/meta/content", content_2020),
};

struct hf_str hf_meta_find(struct hf_str uri) {
  for (size_t i = 0; i < sizeof metas / sizeof metas[0]; i++)
    if (hf_str_equal(metas[i].uri, uri))
      return metas[i].text;
  return (struct hf_str){NULL, 0};
}
