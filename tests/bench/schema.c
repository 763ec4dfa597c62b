/* What it takes to compile the schemas of real tools, and to read and validate a call's arguments with them. Reads
 * lines {"schema": …, "values": ["{…}", …]} and prints one line of JSON; schema.mjs measures ajv beside it.
 */
#include "holdfast/schema.h"

#include "base/alloc.h"
#include "schema/schema.h"
#include "json/value.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TOOLS_MAX = 1024, VALUES_MAX = 4096, ROUNDS = 15, COMPILE_REPEATS = 20, CHECK_REPEATS = 500 };

struct tool {
  struct hf_str schema;
  struct hf_json_validator *validator;
};

struct call {
  struct hf_json_validator *validator;
  struct hf_str text;
};

struct bench {
  struct tool tool[TOOLS_MAX];
  size_t tools;
  struct call call[VALUES_MAX];
  size_t calls;
};

static double now_ns(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void must(bool good, const char *what) {
  if (good)
    return;
  (void)fprintf(stderr, "bench_schema: %s\n", what);
  exit(EXIT_FAILURE);
}

static void add_values(struct bench *bench, struct hf_json_validator *validator, const struct hf_json_doc *doc,
                       uint32_t values, struct hf_arena *arena) {
  struct hf_json_iter iter = hf_json_iter(doc, values);
  uint32_t value;
  while (hf_json_next(doc, &iter, NULL, &value)) {
    must(bench->calls < VALUES_MAX, "too many values");
    struct call *call = &bench->call[bench->calls++];
    call->validator = validator;
    must(hf_json_string(doc, value, arena, &call->text) == 0, "a value is no string");
    call->text = hf_arena_copy(arena, call->text);
    must(hf_json_validator_check(validator, call->text.ptr, call->text.len) == 0, "a value is not valid");
  }
}

static void add_tool(struct bench *bench, struct hf_str line, struct hf_arena *arena) {
  struct hf_json_scan scan;
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  hf_json_scan_init(&scan, &options);
  must(hf_json_scan_feed(&scan, line.ptr, line.len, true) == 0, "a line is no JSON");
  struct hf_json_doc doc = hf_json_doc(line.ptr, &scan);
  uint32_t schema = 0, values = 0;
  must(hf_json_member(&doc, 0, HF_STR("schema"), &schema) == 0 &&
           hf_json_member(&doc, 0, HF_STR("values"), &values) == 0,
       "a line without schema or values");
  must(bench->tools < TOOLS_MAX, "too many tools");
  struct tool *tool = &bench->tool[bench->tools++];
  tool->schema = hf_arena_copy(arena, hf_json_span(&doc, schema));
  char why[256];
  if (hf_json_validator_new(tool->schema.ptr, tool->schema.len, NULL, &tool->validator, why, sizeof why) != 0)
    must(false, why);
  add_values(bench, tool->validator, &doc, values, arena);
  hf_json_scan_deinit(&scan);
}

static double compile_round(const struct bench *bench) {
  double start = now_ns();
  struct hf_schema_options options = HF_SCHEMA_OPTIONS_INIT;
  for (size_t i = 0; i < bench->tools; i++) {
    for (int n = 0; n < COMPILE_REPEATS; n++) {
      struct hf_schema *schema = NULL;
      must(hf_schema_compile(bench->tool[i].schema, &options, &schema, NULL) == 0, "a schema is none");
      hf_schema_free(schema);
    }
  }
  return (now_ns() - start) / ((double)bench->tools * COMPILE_REPEATS);
}

static double check_round(const struct bench *bench) {
  double start = now_ns();
  for (int n = 0; n < CHECK_REPEATS; n++) {
    for (size_t i = 0; i < bench->calls; i++) {
      const struct call *call = &bench->call[i];
      must(hf_json_validator_check(call->validator, call->text.ptr, call->text.len) == 0, "a value is not valid");
    }
  }
  return (now_ns() - start) / ((double)bench->calls * CHECK_REPEATS);
}

static int compare(const void *a, const void *b) {
  double left = *(const double *)a, right = *(const double *)b;
  return (left > right) - (left < right);
}

static double median(const struct bench *bench, double (*round)(const struct bench *)) {
  double times[ROUNDS];
  for (int i = 0; i < ROUNDS; i++)
    times[i] = round(bench);
  qsort(times, ROUNDS, sizeof times[0], compare);
  return times[ROUNDS / 2];
}

int main(int argc, char **argv) {
  struct bench *bench = hf_calloc(1, sizeof *bench);
  struct hf_arena arena;
  hf_arena_init(&arena, SIZE_MAX);
  FILE *file = argc == 2 ? fopen(argv[1], "re") : NULL;
  must(bench && file, "usage: bench_schema FILE");
  char *line = NULL;
  size_t cap = 0;
  for (ssize_t len; (len = getline(&line, &cap, file)) > 0;)
    add_tool(bench, (struct hf_str){line, (size_t)len}, &arena);
  free(line);
  (void)fclose(file);
  must(bench->calls > 0, "no values");
  double compile = median(bench, compile_round), check = median(bench, check_round);
  printf("{\"tools\":%zu,\"calls\":%zu,\"compile_ns\":%.0f,\"check_ns\":%.1f}\n", bench->tools, bench->calls, compile,
         check);
  for (size_t i = 0; i < bench->tools; i++)
    hf_json_validator_free(bench->tool[i].validator);
  hf_arena_deinit(&arena);
  hf_free(bench);
  return EXIT_SUCCESS;
}
