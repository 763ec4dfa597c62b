#include "cli/args.h"

#include "base/buf.h"
#include "cli/terminal.h"
#include "holdfast/schema.h"
#include "json/write.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
  SCHEMA_MAX = 512 << 10,
  VALUE_MAX = 16 << 20,
  ANSWER_MAX = 64 << 20,
  PIECE = 64 << 10,
  WHY_MAX = 512,
  INDENT = 2,
};

static const char *name_of(const char *file) {
  return strcmp(file, "-") == 0 ? "standard input" : file;
}

/* Returns HF_EXIT_GOOD, or what to exit with, said already. */
static int read_all(FILE *file, const char *name, struct hf_buf *out) {
  for (;;) {
    int err = hf_buf_reserve(out, out->max - out->len < PIECE ? out->max - out->len : PIECE);
    if (err)
      return hf_complain(HF_EXIT_FAILED, "cannot read '%s': %s", name, hf_err_text(err));
    size_t taken = out->cap > out->len ? fread(out->data + out->len, 1, out->cap - out->len, file) : 0;
    out->len += taken;
    if (taken == 0 && ferror(file))
      return hf_complain(HF_EXIT_USAGE, "cannot read '%s': %s", name, strerror(errno));
    if (taken == 0 && out->len == out->max && fgetc(file) != EOF)
      return hf_complain(HF_EXIT_USAGE, "'%s' has more than %zu bytes", name, out->max);
    if (taken == 0)
      return HF_EXIT_GOOD;
  }
}

static int read_file(const char *file, struct hf_buf *out) {
  bool standard = strcmp(file, "-") == 0;
  FILE *from = standard ? stdin : fopen(file, "re");
  if (!from)
    return hf_complain(HF_EXIT_USAGE, "cannot open '%s': %s", file, strerror(errno));
  int exit_code = read_all(from, name_of(file), out);
  if (!standard)
    (void)fclose(from);
  return exit_code;
}

static struct hf_str misfit_place(const struct hf_json_misfit *misfit) {
  return misfit->member ? (struct hf_str){misfit->member, misfit->member_len}
                        : (struct hf_str){misfit->instance, misfit->instance_len};
}

static void write_str(struct hf_json_writer *w, const char *key, const char *text, size_t len) {
  hf_json_write_member_str(w, key, (struct hf_str){text, len});
}

/* An output unit of the standard's "basic" format. */
static void write_misfit(struct hf_json_writer *w, const struct hf_json_misfit *misfit) {
  hf_json_write_object(w);
  hf_json_write_member_bool(w, "valid", false);
  write_str(w, "keywordLocation", misfit->location, misfit->location_len);
  if (misfit->absolute)
    write_str(w, "absoluteKeywordLocation", misfit->absolute, misfit->absolute_len);
  hf_json_write_member_str(w, "instanceLocation", misfit_place(misfit));
  write_str(w, "error", misfit->message, misfit->message_len);
  hf_json_write_object_end(w);
}

static void write_repair(struct hf_json_writer *w, const struct hf_json_repair *repair) {
  hf_json_write_object(w);
  hf_json_write_member_str(w, "kind", hf_str_from(repair->kind));
  write_str(w, "pointer", repair->pointer, repair->pointer_len);
  write_str(w, "from", repair->from, repair->from_len);
  if (repair->to)
    write_str(w, "to", repair->to, repair->to_len);
  hf_json_write_object_end(w);
}

static void write_validation(struct hf_json_writer *w, const struct hf_json_validation *validation) {
  size_t len;
  const char *text = hf_json_validation_text(validation, &len);
  hf_json_write_member_bool(w, "valid", hf_json_validation_is_valid(validation));
  hf_json_write_member_raw(w, "value", (struct hf_str){text, len});
  hf_json_write_key(w, "repairs");
  hf_json_write_array(w);
  for (size_t i = 0; i < hf_json_validation_repairs(validation); i++) {
    struct hf_json_repair repair;
    hf_json_validation_repair(validation, i, &repair);
    write_repair(w, &repair);
  }
  hf_json_write_array_end(w);
  hf_json_write_key(w, "errors");
  hf_json_write_array(w);
  for (size_t i = 0; i < hf_json_validation_misfits(validation, NULL); i++) {
    struct hf_json_misfit misfit;
    hf_json_validation_misfit(validation, i, &misfit);
    write_misfit(w, &misfit);
  }
  hf_json_write_array_end(w);
}

/* What is no JSON at all has one reason, about all of it. */
static void write_unreadable(struct hf_json_writer *w, const char *why) {
  struct hf_json_misfit misfit = {.location = "", .instance = "", .message = why, .message_len = strlen(why)};
  hf_json_write_member_bool(w, "valid", false);
  hf_json_write_member_raw(w, "value", HF_STR("null"));
  hf_json_write_member_raw(w, "repairs", HF_STR("[]"));
  hf_json_write_key(w, "errors");
  hf_json_write_array(w);
  write_misfit(w, &misfit);
  hf_json_write_array_end(w);
}

static int print_json(const struct hf_json_validation *validation, const char *why, int exit_code) {
  struct hf_buf out;
  hf_buf_init(&out, ANSWER_MAX);
  struct hf_json_writer w;
  hf_json_writer_init(&w, &out);
  hf_json_write_object(&w);
  if (validation)
    write_validation(&w, validation);
  else
    write_unreadable(&w, why);
  hf_json_write_object_end(&w);
  int err = hf_json_write_finish(&w);
  if (err)
    exit_code = hf_complain(HF_EXIT_FAILED, "validate: %s", hf_err_text(err));
  else if (fwrite(out.data, 1, out.len, stdout) != out.len || fputc('\n', stdout) == EOF)
    exit_code = HF_EXIT_FAILED;
  hf_buf_deinit(&out);
  return exit_code;
}

static void print(FILE *to, const char *text, size_t len) {
  hf_terminal_print(to, (struct hf_str){text, len}, false);
}

/* How many reasons it is a reason of. */
static int depth_of(const struct hf_json_validation *validation, struct hf_json_misfit misfit) {
  int depth = 0;
  for (; misfit.parent >= 0; depth++)
    hf_json_validation_misfit(validation, (size_t)misfit.parent, &misfit);
  return depth;
}

static void print_misfits(const struct hf_json_validation *validation) {
  bool cut;
  size_t count = hf_json_validation_misfits(validation, &cut);
  for (size_t i = 0; i < count; i++) {
    struct hf_json_misfit misfit;
    hf_json_validation_misfit(validation, i, &misfit);
    printf("%*s", depth_of(validation, misfit) * INDENT, "");
    print(stdout, misfit.instance, misfit.instance_len);
    printf("%s", misfit.instance_len ? " " : "the value ");
    print(stdout, misfit.message, misfit.message_len);
    printf("\n");
  }
  if (cut)
    printf("and more\n");
}

/* On standard error, so that the value alone goes on to what reads it. */
static void print_repairs(const struct hf_json_validation *validation) {
  for (size_t i = 0; i < hf_json_validation_repairs(validation); i++) {
    struct hf_json_repair repair;
    hf_json_validation_repair(validation, i, &repair);
    (void)fprintf(stderr, "repaired: ");
    print(stderr, repair.pointer, repair.pointer_len);
    (void)fprintf(stderr, "%s%s: ", repair.pointer_len ? " " : "", repair.kind);
    print(stderr, repair.from, repair.from_len);
    (void)fprintf(stderr, " -> ");
    if (repair.to)
      print(stderr, repair.to, repair.to_len);
    (void)fprintf(stderr, "%s\n", repair.to ? "" : "nothing");
  }
}

static void print_value(const struct hf_json_validation *validation) {
  size_t len;
  const char *text = hf_json_validation_text(validation, &len);
  if (isatty(STDOUT_FILENO))
    hf_terminal_print(stdout, (struct hf_str){text, len}, true);
  else
    (void)fwrite(text, 1, len, stdout);
  printf("\n");
}

static int print_text(const struct hf_json_validation *validation, bool repair, int exit_code) {
  print_repairs(validation);
  if (exit_code != HF_EXIT_GOOD)
    print_misfits(validation);
  else if (repair)
    print_value(validation);
  else
    printf("valid\n");
  return exit_code;
}

static int validate(struct hf_json_validator *validator, const struct hf_args *args, struct hf_str value) {
  bool repair = args->flags & HF_FLAG_REPAIR, json = args->flags & HF_FLAG_JSON;
  struct hf_json_validation *validation = NULL;
  char why[WHY_MAX];
  int err = hf_json_validator_validate(validator, value.ptr, value.len,
                                       repair ? HF_JSON_REPAIR_SAFE : HF_JSON_REPAIR_OFF, &validation, why, sizeof why);
  bool readable = err != HF_ERR_SYNTAX && err != HF_ERR_DUPLICATE;
  int exit_code;
  if (err && readable)
    exit_code = hf_complain(HF_EXIT_USAGE, "cannot tell if '%s' is valid: %s", name_of(args->rest[1]), why);
  else if (err && !json)
    exit_code = hf_complain(HF_EXIT_FAILED, "'%s' is no JSON: %s", name_of(args->rest[1]), why);
  else if (err)
    exit_code = print_json(NULL, why, HF_EXIT_FAILED);
  else {
    exit_code = hf_json_validation_is_valid(validation) ? HF_EXIT_GOOD : HF_EXIT_FAILED;
    exit_code = json ? print_json(validation, NULL, exit_code) : print_text(validation, repair, exit_code);
  }
  hf_json_validation_free(validation);
  return fflush(stdout) == 0 ? exit_code : hf_complain(HF_EXIT_FAILED, "cannot write: %s", strerror(errno));
}

static bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* What a file ends with is no part of the value. */
static struct hf_str trim(struct hf_str text) {
  while (text.len > 0 && is_space(text.ptr[text.len - 1]))
    text.len--;
  return text;
}

static int validate_read(const struct hf_args *args, struct hf_str schema, struct hf_str value) {
  struct hf_json_validator_options options = HF_JSON_VALIDATOR_OPTIONS_INIT;
  options.max_value_bytes = VALUE_MAX;
  struct hf_json_validator *validator = NULL;
  char why[WHY_MAX];
  int err = hf_json_validator_new(schema.ptr, schema.len, &options, &validator, why, sizeof why);
  if (err)
    return hf_complain(HF_EXIT_USAGE, "'%s' cannot be used as a schema: %s", name_of(args->rest[0]), why);
  int exit_code = validate(validator, args, trim(value));
  hf_json_validator_free(validator);
  return exit_code;
}

int hf_cmd_validate(const struct hf_args *args) {
  if (strcmp(args->rest[0], "-") == 0 && strcmp(args->rest[1], "-") == 0)
    return hf_complain(HF_EXIT_USAGE, "validate: only one of SCHEMA and VALUE can be standard input");
  struct hf_buf schema, value;
  hf_buf_init(&schema, SCHEMA_MAX);
  hf_buf_init(&value, VALUE_MAX);
  int exit_code = read_file(args->rest[0], &schema);
  if (exit_code == HF_EXIT_GOOD)
    exit_code = read_file(args->rest[1], &value);
  if (exit_code == HF_EXIT_GOOD)
    exit_code = validate_read(args, hf_buf_str(&schema), hf_buf_str(&value));
  hf_buf_deinit(&schema);
  hf_buf_deinit(&value);
  return exit_code;
}
