/* Random schemas, values that fit them, and the faults that models make, by seed: what is repaired is the value that
 * was there before, is valid, and is repaired no further. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/random.h"
#include "schema/equal.h"
#include "schema/repair.h"
#include "json/write.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 200000, TEXT_MAX = 1 << 16, DEPTH_MAX = 3, STEPS = 1 << 18, WORD_MAX = 32 };

/* A schema, a value that fits, and the same with faults, all written at once. */
struct writing {
  struct hf_random random;
  unsigned fault_percent;
  unsigned faults;
};

struct texts {
  struct hf_buf schema, good, bad;
};

static void init_texts(struct texts *t) {
  hf_buf_init(&t->schema, TEXT_MAX);
  hf_buf_init(&t->good, TEXT_MAX);
  hf_buf_init(&t->bad, TEXT_MAX);
}

static void deinit_texts(struct texts *t) {
  hf_buf_deinit(&t->schema);
  hf_buf_deinit(&t->good);
  hf_buf_deinit(&t->bad);
}

static void put(struct hf_buf *buf, const char *text) {
  assert_int_equal(hf_buf_append(buf, text, strlen(text)), 0);
}

static void put_buf(struct hf_buf *buf, const struct hf_buf *text) {
  assert_int_equal(hf_buf_append_str(buf, hf_buf_str(text)), 0);
}

static unsigned below(struct writing *w, unsigned bound) {
  return (unsigned)hf_random_below(&w->random, bound);
}

static bool fault(struct writing *w) {
  bool yes = below(w, 100) < w->fault_percent;
  w->faults += yes;
  return yes;
}

static void put_string(struct hf_buf *buf, struct hf_str text) {
  assert_int_equal(hf_json_escape(buf, text), 0);
}

static void write_text(struct writing *w, struct texts *t) {
  static const char *const words[] = {"\"plain\"",      "\"it's\"",  "\"two words\"", "\"a,b\"",     "\"\"",
                                      "\"\\u00e9\\n\"", "\"[1]\"",   "\"true\"",      "\"null\"",    "\"5\"",
                                      "\"{'a': 1}\"",   "\"// no\"", "\"C:\\\\x\"",   "\"say \\\"\""};
  const char *word = words[below(w, sizeof words / sizeof words[0])];
  put(&t->schema, "{\"type\":\"string\"}");
  put(&t->good, word);
  put(&t->bad, word);
}

static void write_number(struct writing *w, struct texts *t) {
  static const char *const numbers[] = {"0", "5", "-2", "200", "9007199254740991", "1e2", "12.0"};
  static const char *const fractions[] = {"0.5", "-79.383186", "1.50", "3e-7"};
  bool integer = below(w, 2);
  const char *number = integer ? numbers[below(w, sizeof numbers / sizeof numbers[0])]
                               : fractions[below(w, sizeof fractions / sizeof fractions[0])];
  put(&t->schema, integer ? "{\"type\":\"integer\"}" : "{\"type\":\"number\"}");
  put(&t->good, number);
  bool quoted = fault(w);
  put(&t->bad, quoted ? "\"" : "");
  put(&t->bad, number);
  put(&t->bad, quoted ? "\"" : "");
}

static void write_boolean(struct writing *w, struct texts *t) {
  bool value = below(w, 2);
  put(&t->schema, below(w, 2) ? "{\"type\":\"boolean\"}" : "{\"anyOf\":[{\"type\":\"boolean\"},{\"type\":\"null\"}]}");
  put(&t->good, value ? "true" : "false");
  if (fault(w))
    put(&t->bad, below(w, 2) ? (value ? "\"true\"" : "\"false\"") : (value ? "\"True\"" : "\"False\""));
  else
    put(&t->bad, value ? "true" : "false");
}

static void write_choice(struct writing *w, struct texts *t) {
  static const char *const choices[][3] = {{"\"Alpha\"", "\"ALPHA\"", "\"alpha\""},
                                           {"\"beta\"", "\"Beta\"", "\"BETA\""},
                                           {"\"GAMMA ray\"", "\"Gamma Ray\"", "\"gamma ray\""}};
  unsigned at = below(w, 3);
  put(&t->schema, "{\"type\":\"string\",\"enum\":[\"Alpha\",\"beta\",\"GAMMA ray\"]}");
  put(&t->good, choices[at][0]);
  put(&t->bad, choices[at][fault(w) ? 1 + below(w, 2) : 0]);
}

/* The text as Python prints it, where that is easy to say. */
static void write_python(const struct hf_buf *json, struct hf_buf *out) {
  static const char *const words[][2] = {{"true", "True"}, {"false", "False"}, {"null", "None"}};
  bool plain = !memchr(json->data, '\'', json->len) && !memchr(json->data, '\\', json->len);
  bool string = false;
  for (size_t i = 0; i < json->len; i++) {
    char c = json->data[i];
    size_t word = 0;
    while (!string && word < 3 && strncmp(json->data + i, words[word][0], strlen(words[word][0])) != 0)
      word++;
    if (c == '"')
      string = !string;
    else if (c == '\\')
      put(out, "\\");
    i += c == '\\';
    if (!string && c != '"' && word < 3) {
      put(out, words[word][1]);
      i += strlen(words[word][0]) - 1;
    } else {
      char shown[2] = {c == '"' && plain ? '\'' : json->data[i], '\0'};
      put(out, shown);
    }
  }
}

/* The text as a string, of JSON or of Python. */
static void stringify(struct writing *w, struct hf_buf *bad, const struct hf_buf *inner) {
  struct hf_buf python;
  hf_buf_init(&python, TEXT_MAX);
  put_buf(&python, inner);
  put(&python, "");
  assert_int_equal(hf_buf_append(&python, "", 1), 0);
  python.len--;
  struct hf_buf text;
  hf_buf_init(&text, TEXT_MAX);
  if (below(w, 2))
    write_python(&python, &text);
  put_string(bad, text.len ? hf_buf_str(&text) : hf_buf_str(inner));
  hf_buf_deinit(&text);
  hf_buf_deinit(&python);
}

static void write_value(struct writing *w, struct texts *t, unsigned depth);

static void write_array(struct writing *w, struct texts *t) {
  struct texts item;
  init_texts(&item);
  unsigned count = 1 + below(w, 3), kind = below(w, 4), faults = w->faults;
  static void (*const kinds[])(struct writing *, struct texts *) = {write_text, write_number, write_boolean,
                                                                    write_choice};
  kinds[kind](w, &item);
  put(&t->schema, "{\"type\":\"array\",\"items\":");
  put_buf(&t->schema, &item.schema);
  put(&t->schema, "}");
  struct hf_buf list;
  hf_buf_init(&list, TEXT_MAX);
  put(&t->good, "[");
  put(&list, "[");
  for (unsigned i = 0; i < count; i++) {
    put(&t->good, i ? "," : "");
    put(&list, i ? "," : "");
    put_buf(&t->good, &item.good);
    put_buf(&list, &item.bad);
  }
  put(&t->good, "]");
  put(&list, "]");
  if (fault(w))
    stringify(w, &t->bad, &list);
  else if (count == 1 && w->faults == faults && fault(w))
    put_buf(&t->bad, &item.bad);
  else
    put_buf(&t->bad, &list);
  hf_buf_deinit(&list);
  deinit_texts(&item);
}

/* Names of members, and how else models spell them. */
static const char *const names[][3] = {
    {"\"filePath\"", "\"file_path\"", "\"FilePath\""},
    {"\"max_results\"", "\"maxResults\"", "\"max-results\""},
    {"\"user-id\"", "\"userId\"", "\"user_id\""},
    {"\"city\"", "\"City\"", "\"CITY\""},
    {"\"Tags\"", "\"tags\"", "\"TAGS\""},
    {"\"_class\"", "\"class\"", "\"Class\""},
};

static void comma(struct hf_buf *buf, char open) {
  if (buf->data[buf->len - 1] != open)
    put(buf, ",");
}

static void write_member(struct writing *w, struct texts *t, struct hf_buf *required, struct hf_buf *bad, unsigned name,
                         bool closed, unsigned depth) {
  struct texts value;
  init_texts(&value);
  write_value(w, &value, depth + 1);
  bool needed = below(w, 2), there = needed || below(w, 3) > 0;
  comma(&t->schema, '{');
  put(&t->schema, names[name][0]);
  put(&t->schema, ":");
  put_buf(&t->schema, &value.schema);
  if (needed) {
    comma(required, '[');
    put(required, names[name][0]);
  }
  if (there) {
    comma(&t->good, '{');
    put(&t->good, names[name][0]);
    put(&t->good, ":");
    put_buf(&t->good, &value.good);
  }
  bool null = !there && !memmem(value.schema.data, value.schema.len, "null", 4) && fault(w);
  if (there || null) {
    comma(bad, '{');
    put(bad, names[name][there && (needed || closed) && fault(w) ? 1 + below(w, 2) : 0]);
    put(bad, ":");
    put_buf(bad, &value.bad);
    if (null) {
      bad->len -= value.bad.len;
      put(bad, "null");
    }
  }
  deinit_texts(&value);
}

static void write_object(struct writing *w, struct texts *t, unsigned depth) {
  struct hf_buf required, bad;
  hf_buf_init(&required, TEXT_MAX);
  hf_buf_init(&bad, TEXT_MAX);
  bool closed = below(w, 2);
  put(&t->schema, "{\"type\":\"object\",\"properties\":{");
  put(&t->good, "{");
  put(&bad, "{");
  put(&required, "[");
  for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
    if (below(w, 3) == 0)
      write_member(w, t, &required, &bad, i, closed, depth);
  put(&t->schema, "},\"required\":");
  put_buf(&t->schema, &required);
  put(&t->schema, closed ? "],\"additionalProperties\":false}" : "]}");
  put(&t->good, "}");
  put(&bad, "}");
  if (depth > 0 && fault(w))
    stringify(w, &t->bad, &bad);
  else
    put_buf(&t->bad, &bad);
  hf_buf_deinit(&bad);
  hf_buf_deinit(&required);
}

static void write_value(struct writing *w, struct texts *t, unsigned depth) {
  unsigned kind = below(w, depth < DEPTH_MAX ? 7 : 4);
  if (kind == 0)
    write_text(w, t);
  else if (kind == 1)
    write_number(w, t);
  else if (kind == 2)
    write_boolean(w, t);
  else if (kind == 3)
    write_choice(w, t);
  else if (kind == 4)
    write_array(w, t);
  else
    write_object(w, t, depth);
}

/* Faults of the whole. */
static void spoil(struct writing *w, struct hf_buf *bad) {
  struct hf_buf whole;
  hf_buf_init(&whole, TEXT_MAX);
  if (fault(w)) {
    put(&whole, below(w, 2) ? "{\"arguments\":" : "{\"params\": ");
    if (below(w, 2))
      put_buf(&whole, bad);
    else
      stringify(w, &whole, bad);
    put(&whole, "}");
  } else if (fault(w)) {
    stringify(w, &whole, bad);
  } else if (fault(w)) {
    put(&whole, "```json\n");
    put_buf(&whole, bad);
    put(&whole, "\n```\n");
  } else {
    put_buf(&whole, bad);
  }
  bad->len = 0;
  put_buf(bad, &whole);
  hf_buf_deinit(&whole);
}

struct bench {
  struct hf_schema_run *run;
  struct hf_arena arena;
  struct hf_buf out, again;
  struct hf_repairs repairs;
  unsigned repaired, refused, untouched, spoilt;
};

static bool same(struct hf_str a, struct hf_str b) {
  struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  struct hf_json_scan left, right;
  hf_json_scan_init(&left, &options);
  hf_json_scan_init(&right, &options);
  assert_int_equal(hf_json_scan_feed(&left, a.ptr, a.len, true), 0);
  assert_int_equal(hf_json_scan_feed(&right, b.ptr, b.len, true), 0);
  struct hf_json_doc one = hf_json_doc(a.ptr, &left), other = hf_json_doc(b.ptr, &right);
  uint32_t steps = STEPS;
  bool yes = hf_json_equal(&one, 0, &other, 0, &steps) == 1;
  hf_json_scan_deinit(&left);
  hf_json_scan_deinit(&right);
  return yes;
}

static void print_case(const struct texts *t, const struct bench *b, uint64_t seed) {
  print_error("seed %llu\nschema %.*s\ngood %.*s\nbad %.*s\nrepaired %.*s\n", (unsigned long long)seed,
              HF_STR_FMT(hf_buf_str(&t->schema)), HF_STR_FMT(hf_buf_str(&t->good)), HF_STR_FMT(hf_buf_str(&t->bad)),
              HF_STR_FMT(hf_buf_str(&b->out)));
}

static int repair(struct bench *b, const struct hf_schema *schema, struct hf_str raw, bool keep_values,
                  struct hf_buf *out) {
  struct hf_repair_options options = {.keep_values = keep_values};
  out->len = 0;
  b->repairs.count = 0;
  return hf_repair(schema, b->run, raw, &options, &b->arena, out, &b->repairs);
}

static bool holds(struct bench *b, const struct hf_schema *schema, const struct texts *t) {
  struct hf_str good = hf_buf_str(&t->good), bad = hf_buf_str(&t->bad);
  if (repair(b, schema, good, false, &b->out) != 0 || b->repairs.count > 0 || !hf_str_equal(hf_buf_str(&b->out), good))
    return false;
  int r = repair(b, schema, bad, false, &b->out);
  if (r < 0) {
    b->refused++;
    return (r == HF_ERR_INVALID || r == HF_ERR_LIMIT) && b->out.len == 0 && repair(b, schema, bad, true, &b->again) < 0;
  }
  struct hf_str result = hf_buf_str(&b->out);
  if (b->repairs.count == 0) {
    b->untouched++;
    return hf_str_equal(result, bad);
  }
  b->repaired++;
  bool fine = same(result, good);
  fine = fine && repair(b, schema, result, false, &b->again) == 0 && b->repairs.count == 0 &&
         hf_str_equal(hf_buf_str(&b->again), result);
  r = repair(b, schema, bad, true, &b->again);
  return fine && (r == HF_ERR_INVALID || (r == 0 && hf_str_equal(hf_buf_str(&b->again), result)));
}

static void try_seed(struct bench *b, uint64_t seed, unsigned fault_percent) {
  struct writing w = {.fault_percent = fault_percent};
  hf_random_init(&w.random, seed);
  struct texts t;
  init_texts(&t);
  write_object(&w, &t, 0);
  spoil(&w, &t.bad);
  b->spoilt += w.faults > 0;
  struct hf_schema *schema;
  struct hf_error error;
  assert_int_equal(
      hf_schema_compile(hf_buf_str(&t.schema), &(struct hf_schema_options)HF_SCHEMA_OPTIONS_INIT, &schema, &error), 0);
  hf_arena_init(&b->arena, TEXT_MAX * 4);
  if (!holds(b, schema, &t)) {
    print_case(&t, b, seed);
    fail();
  }
  hf_arena_deinit(&b->arena);
  hf_schema_free(schema);
  deinit_texts(&t);
}

static void repair_random__finds_the_value_again_or_refuses(void **state) {
  (void)state;
  const char *more = getenv("HF_REPAIR_ROUNDS");
  unsigned rounds = more ? (unsigned)strtoul(more, NULL, 10) : ROUNDS;
  static struct bench b;
  b = (struct bench){.run = hf_schema_run_new()};
  hf_buf_init(&b.out, TEXT_MAX);
  hf_buf_init(&b.again, TEXT_MAX);
  for (uint64_t seed = 1; seed <= rounds; seed++)
    try_seed(&b, seed, (unsigned)(seed % 4) * 6);
  fprintf(stderr, "# %u rounds, %u with faults: %u repaired, %u valid all the same, %u refused\n", rounds, b.spoilt,
          b.repaired, b.untouched, b.refused);
  assert_true(b.repaired * 2 > b.spoilt);
  hf_buf_deinit(&b.out);
  hf_buf_deinit(&b.again);
  hf_schema_run_free(b.run);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(repair_random__finds_the_value_again_or_refuses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
