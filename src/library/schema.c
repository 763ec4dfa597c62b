#include "holdfast/schema.h"

#include "base/alloc.h"
#include "schema/describe.h"
#include "schema/repair.h"
#include "schema/schema.h"
#include "json/pointer.h"
#include "json/unique.h"

enum {
  VALUE_NODES_MAX = 1 << 20,
  NODES_KEPT = 1024,
  MISFIT_BYTES_MAX = 256 << 10, /* of each text about one */
  ARENA_MAX = 32 << 20,
};

struct hf_json_validator {
  struct hf_schema *schema;
  struct hf_schema_run *run;
  struct hf_json_scan scan; /* of the text that is validated */
  size_t max_value_bytes;
};

struct hf_json_validation {
  bool valid;
  bool cut;
  struct hf_arena arena; /* of everything below */
  struct hf_buf text;
  struct hf_json_misfit *misfits;
  size_t misfit_count;
  struct hf_repairs repairs;
};

/* Hands a reason to the caller. Returns its code. */
static int tell(const struct hf_error *reason, char *error, size_t error_size) {
  if (error_size > 0) {
    struct hf_str text = hf_str_cut(hf_str_from(reason->text), error_size - 1);
    memcpy(error, text.ptr, text.len);
    error[text.len] = '\0';
    for (char *c = error; *c; c++) /* names in a schema may hold what breaks a line, or drives a terminal */
      *c = (unsigned char)*c < ' ' || *c == '\x7f' ? '?' : *c;
  }
  return reason->code;
}

static int no_memory(char *error, size_t error_size) {
  struct hf_error reason;
  hf_error_set(&reason, HF_ERR_NOMEM, "out of memory");
  return tell(&reason, error, error_size);
}

static int compile(struct hf_str text, const struct hf_json_validator_options *options, struct hf_schema **ret_schema,
                   struct hf_error *reterr) {
  struct hf_schema_options own = HF_SCHEMA_OPTIONS_INIT;
  own.assert_format = options->assert_format;
  own.max_bytes = options->max_schema_bytes < HF_SCHEMA_BYTES_MAX ? options->max_schema_bytes : HF_SCHEMA_BYTES_MAX;
  own.resource_count = options->document_count;
  struct hf_schema_resource *resources = NULL;
  if (options->document_count > 0) {
    resources = hf_calloc(options->document_count, sizeof *resources);
    if (!resources)
      return hf_error_set(reterr, HF_ERR_NOMEM, "out of memory");
  }
  for (size_t i = 0; i < options->document_count; i++) {
    const struct hf_json_document *document = &options->documents[i];
    resources[i].uri = (struct hf_str){document->uri, document->uri_len};
    resources[i].text = (struct hf_str){document->text, document->text_len};
  }
  own.resources = resources;
  int err = hf_schema_compile(text, &own, ret_schema, reterr);
  hf_free(resources);
  return err;
}

int hf_json_validator_new(const char *schema, size_t schema_len, const struct hf_json_validator_options *options,
                          struct hf_json_validator **ret_validator, char *error, size_t error_size) {
  static const struct hf_json_validator_options defaults = HF_JSON_VALIDATOR_OPTIONS_INIT;
  options = options ? options : &defaults;
  struct hf_json_validator *validator = hf_calloc(1, sizeof *validator);
  if (!validator)
    return no_memory(error, error_size);
  validator->max_value_bytes = options->max_value_bytes;
  struct hf_json_options scanning = HF_JSON_OPTIONS_INIT;
  scanning.max_bytes = options->max_value_bytes;
  scanning.max_nodes = VALUE_NODES_MAX;
  hf_json_scan_init(&validator->scan, &scanning);
  struct hf_error reason;
  int err = compile((struct hf_str){schema, schema_len}, options, &validator->schema, &reason);
  if (err == 0) {
    validator->run = hf_schema_run_new();
    if (validator->run) {
      *ret_validator = validator;
      return 0;
    }
    hf_error_set(&reason, HF_ERR_NOMEM, "out of memory");
  }
  hf_json_validator_free(validator);
  return tell(&reason, error, error_size);
}

void hf_json_validator_free(struct hf_json_validator *validator) {
  if (!validator)
    return;
  hf_json_scan_deinit(&validator->scan);
  hf_schema_run_free(validator->run);
  hf_schema_free(validator->schema);
  hf_free(validator);
}

/* Reads the text into the validator's scan. Returns 0, or a code with the reason in `reterr`, which may be NULL. */
static int read(struct hf_json_validator *validator, struct hf_str text, struct hf_json_doc *ret_doc,
                struct hf_error *reterr) {
  hf_json_scan_reset(&validator->scan, NODES_KEPT);
  int err = hf_json_scan_feed(&validator->scan, text.ptr, text.len, true);
  if (err)
    return reterr ? hf_json_scan_error(&validator->scan, reterr) : err;
  *ret_doc = hf_json_doc(text.ptr, &validator->scan);
  uint32_t key;
  err = hf_json_unique(ret_doc, &key);
  if (err == HF_ERR_DUPLICATE)
    return hf_error_set(reterr, err, "a member twice at offset %u", (unsigned)ret_doc->nodes[key].start);
  return err == 0 ? 0 : hf_error_set(reterr, err, "%s", hf_err_text(err));
}

int hf_json_validator_check(struct hf_json_validator *validator, const char *text, size_t len) {
  struct hf_json_doc doc;
  int err = read(validator, (struct hf_str){text, len}, &doc, NULL);
  return err ? err : hf_schema_check(validator->schema, validator->run, &doc, 0);
}

/* Keeps what is in `buf`, and empties it. Returns ptr NULL when out of memory. */
static struct hf_str keep(struct hf_json_validation *validation, struct hf_buf *buf) {
  struct hf_str kept = hf_arena_copy(&validation->arena, hf_buf_str(buf));
  hf_buf_reset(buf, MISFIT_BYTES_MAX);
  return kept;
}

/* Appends a JSON Pointer as the fragment of a URI. */
static int append_fragment(struct hf_str pointer, struct hf_buf *out) {
  static const char also[] = "-._~!$&'()*+,;=:@/?";
  int err = hf_buf_append(out, "#", 1);
  for (size_t i = 0; i < pointer.len && err == 0; i++) {
    char c = pointer.ptr[i];
    bool plain = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || (c != '\0' && strchr(also, c));
    err = plain ? hf_buf_append(out, &c, 1) : hf_buf_printf(out, "%%%02X", (unsigned)(unsigned char)c);
  }
  return err;
}

/* The URI that a document gives itself, or an absent one. Draft 4 spells it without the dollar. */
static struct hf_str document_id(const struct hf_json_doc *doc) {
  uint32_t id;
  if (hf_json_member(doc, 0, HF_STR("$id"), &id) != 0 && hf_json_member(doc, 0, HF_STR("id"), &id) != 0)
    return (struct hf_str){NULL, 0};
  if (hf_json_type(doc, id) != HF_JSON_STRING || (doc->nodes[id].flags & HF_JSON_ESCAPED))
    return (struct hf_str){NULL, 0};
  struct hf_str raw = hf_json_span(doc, id);
  struct hf_str uri = {raw.ptr + 1, raw.len - 2};
  const char *fragment = memchr(uri.ptr, '#', uri.len);
  return (struct hf_str){uri.ptr, fragment ? (size_t)(fragment - uri.ptr) : uri.len};
}

/* Sets the absolute location, where it is another one. */
static int place(struct hf_json_validation *validation, const struct hf_schema_place *at, struct hf_json_misfit *misfit,
                 struct hf_buf *scratch) {
  uint32_t node = at->keyword != HF_JSON_NONE ? at->keyword : at->schema;
  struct hf_str id = document_id(at->doc);
  int err = hf_json_pointer_of(at->doc, node, scratch);
  struct hf_str pointer = keep(validation, scratch);
  if (err || !pointer.ptr)
    return err ? err : HF_ERR_NOMEM;
  if (!id.ptr && hf_str_equal(pointer, (struct hf_str){misfit->location, misfit->location_len}))
    return 0;
  err = hf_buf_append_str(scratch, id);
  if (err == 0)
    err = append_fragment(pointer, scratch);
  struct hf_str absolute = keep(validation, scratch);
  misfit->absolute = absolute.ptr;
  misfit->absolute_len = absolute.len;
  return err || absolute.ptr ? err : HF_ERR_NOMEM;
}

static int describe(struct hf_json_validation *validation, const struct hf_json_doc *doc,
                    const struct hf_schema_errors *errors, const struct hf_schema_error *error,
                    struct hf_json_misfit *misfit, struct hf_buf *scratch) {
  misfit->keyword = hf_keyword_name(error->keyword);
  misfit->parent = error->parent;
  int err = hf_json_pointer_of(doc, error->value, scratch);
  struct hf_str text = keep(validation, scratch);
  misfit->instance = text.ptr;
  misfit->instance_len = text.len;
  if (err == 0 && error->key != HF_JSON_NONE) {
    err = hf_json_pointer_of(doc, error->key, scratch);
    text = keep(validation, scratch);
    misfit->member = text.ptr;
    misfit->member_len = text.len;
  }
  if (err == 0)
    err = hf_schema_describe(error, doc, scratch);
  text = keep(validation, scratch);
  misfit->message = text.ptr;
  misfit->message_len = text.len;
  text = hf_arena_copy(&validation->arena, (struct hf_str){errors->paths.data + error->path, error->path_len});
  misfit->location = text.ptr;
  misfit->location_len = text.len;
  if (err == 0 && (!misfit->instance || !misfit->message || !text.ptr || (error->key && !misfit->member)))
    err = HF_ERR_NOMEM;
  return err ? err : place(validation, &error->at, misfit, scratch);
}

static int collect(struct hf_json_validation *validation, const struct hf_json_doc *doc,
                   const struct hf_schema_errors *errors) {
  validation->cut = errors->cut;
  validation->misfits = hf_arena_alloc(&validation->arena, errors->count * sizeof *validation->misfits);
  if (!validation->misfits)
    return HF_ERR_NOMEM;
  struct hf_buf scratch;
  hf_buf_init(&scratch, MISFIT_BYTES_MAX);
  int err = 0;
  for (unsigned i = 0; i < errors->count && err == 0; i++)
    err = describe(validation, doc, errors, &errors->item[i], &validation->misfits[i], &scratch);
  validation->misfit_count = err == 0 ? errors->count : 0;
  hf_buf_deinit(&scratch);
  return err;
}

static int explain(struct hf_json_validator *validator, const struct hf_json_doc *doc,
                   struct hf_json_validation *validation) {
  struct hf_schema_errors *errors = hf_malloc(sizeof *errors);
  if (!errors)
    return HF_ERR_NOMEM;
  hf_schema_errors_init(errors);
  int err = hf_schema_explain(validator->schema, validator->run, doc, 0, errors);
  validation->valid = err == 0;
  if (err == HF_ERR_INVALID)
    err = collect(validation, doc, errors);
  hf_schema_errors_deinit(errors);
  hf_free(errors);
  return err;
}

/* Returns 0, HF_ERR_INVALID if it stays as it is, or HF_ERR_NOMEM. */
static int repair(struct hf_json_validator *validator, struct hf_str text, enum hf_json_repair_mode mode,
                  struct hf_json_validation *validation) {
  struct hf_repair_options options = {.keep_values = mode == HF_JSON_REPAIR_SPELLING};
  int err = hf_repair(validator->schema, validator->run, text, &options, &validation->arena, &validation->text,
                      &validation->repairs);
  if (err && err != HF_ERR_NOMEM) {
    validation->text.len = 0;
    validation->repairs.count = 0;
    return HF_ERR_INVALID;
  }
  validation->valid = err == 0;
  return err;
}

static int validate(struct hf_json_validator *validator, struct hf_str text, enum hf_json_repair_mode mode,
                    struct hf_json_validation *validation, struct hf_error *reterr) {
  struct hf_json_doc doc;
  int readable = text.len > validator->max_value_bytes
                     ? hf_error_set(reterr, HF_ERR_LIMIT, "more than %zu bytes", validator->max_value_bytes)
                     : read(validator, text, &doc, reterr);
  if (readable != 0 && readable != HF_ERR_SYNTAX && readable != HF_ERR_DUPLICATE)
    return readable;
  int valid = readable == 0 ? hf_schema_check(validator->schema, validator->run, &doc, 0) : HF_ERR_INVALID;
  int err = valid;
  if (valid == HF_ERR_INVALID && mode != HF_JSON_REPAIR_OFF) {
    err = repair(validator, text, mode, validation);
    if (err == 0)
      return 0;
  }
  if (err == HF_ERR_INVALID && readable != 0)
    return readable;
  if (err == 0 || err == HF_ERR_INVALID)
    err = explain(validator, &doc, validation);
  if (err == 0)
    err = hf_buf_append_str(&validation->text, text);
  return err == 0 ? 0 : hf_error_set(reterr, err, "%s", hf_err_text(err));
}

int hf_json_validator_validate(struct hf_json_validator *validator, const char *text, size_t len,
                               enum hf_json_repair_mode mode, struct hf_json_validation **ret_validation, char *error,
                               size_t error_size) {
  struct hf_json_validation *validation = hf_calloc(1, sizeof *validation);
  if (!validation)
    return no_memory(error, error_size);
  hf_arena_init(&validation->arena, ARENA_MAX);
  hf_buf_init(&validation->text, validator->max_value_bytes);
  struct hf_error reason;
  int err = validate(validator, (struct hf_str){text, len}, mode, validation, &reason);
  if (err) {
    hf_json_validation_free(validation);
    return tell(&reason, error, error_size);
  }
  *ret_validation = validation;
  return 0;
}

void hf_json_validation_free(struct hf_json_validation *validation) {
  if (!validation)
    return;
  hf_arena_deinit(&validation->arena);
  hf_buf_deinit(&validation->text);
  hf_free(validation);
}

bool hf_json_validation_is_valid(const struct hf_json_validation *validation) {
  return validation->valid;
}

const char *hf_json_validation_text(const struct hf_json_validation *validation, size_t *ret_len) {
  *ret_len = validation->text.len;
  return hf_buf_str(&validation->text).ptr;
}

size_t hf_json_validation_misfits(const struct hf_json_validation *validation, bool *ret_cut) {
  if (ret_cut)
    *ret_cut = validation->cut;
  return validation->misfit_count;
}

void hf_json_validation_misfit(const struct hf_json_validation *validation, size_t at,
                               struct hf_json_misfit *ret_misfit) {
  *ret_misfit = validation->misfits[at];
}

size_t hf_json_validation_repairs(const struct hf_json_validation *validation) {
  return validation->repairs.count;
}

void hf_json_validation_repair(const struct hf_json_validation *validation, size_t at,
                               struct hf_json_repair *ret_repair) {
  const struct hf_repair *repair = &validation->repairs.item[at];
  *ret_repair = (struct hf_json_repair){
      .kind = hf_repair_name(repair->kind),
      .pointer = repair->pointer.ptr,
      .pointer_len = repair->pointer.len,
      .from = repair->from.ptr,
      .from_len = repair->from.len,
      .to = repair->to.ptr,
      .to_len = repair->to.len,
  };
}
