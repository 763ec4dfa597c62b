#include "gateway/stage/degrade.h"

#include "base/alloc.h"
#include "json/pointer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"},\"s\":{\"type\":[\"string\",\"null\"]},"
    "\"b\":{\"type\":\"boolean\"},\"o\":{\"type\":\"object\"},\"any\":{},\"odd\":{\"type\":\"future\"}},"
    "\"required\":[\"n\"]}";

#define TEXT_ITEM "{\"type\":\"text\",\"text\":\"T\"}"
#define META "\"_meta\":{\"dev.holdfast/outcome\":{\"source\":\"cache\"}"

static void degrade__marks_results_of_every_shape(void **state) {
  (void)state;
  static const struct {
    const char *result;
    const char *marked;
  } rows[] = {
      {"{}", "{\"content\":[" TEXT_ITEM "]," META "}}"},
      {" { \"content\" : [ ] } ", "{\"content\":[" TEXT_ITEM "]," META "}}"},
      {"{\"content\":[ {\"type\":\"x\"} , 1.0 ]}", "{\"content\":[" TEXT_ITEM ",{\"type\":\"x\"} , 1.0 ]," META "}}"},
      {"{\"structuredContent\":{\"n\":1.50, \"a\":\"\\u0041\"},\"content\":[[]],\"x\":null}",
       "{\"structuredContent\":{\"n\":1.50, \"a\":\"\\u0041\"},\"x\":null,\"content\":[" TEXT_ITEM ",[]]," META "}}"},
      {"{\"content\":\"text\"}", "{\"content\":[" TEXT_ITEM "]," META "}}"},
      {"{\"content\":null,\"_meta\":null}", "{\"content\":[" TEXT_ITEM "]," META "}}"},
      {"{\"content\":{\"0\":1},\"_meta\":[1]}", "{\"content\":[" TEXT_ITEM "]," META "}}"},
      {"{\"_meta\":{\"a\":1, \"b\":[{}]}}", "{\"content\":[" TEXT_ITEM "]," META ",\"a\":1,\"b\":[{}]}}"},
      {"{\"_meta\":{\"dev.holdfast/outcome\":{\"source\":\"live\"},\"a\":1}}",
       "{\"content\":[" TEXT_ITEM "]," META ",\"a\":1}}"},
      {"{\"_meta\":{\"a\":1,\"dev.holdfast\\/outcome\":1,\"dev.holdf\\u0061st/outcome\":2}}",
       "{\"content\":[" TEXT_ITEM "]," META ",\"a\":1}}"},
      {"{\"content\":[1],\"\\u0063ontent\":[2],\"_meta\":{\"a\":1},\"_met\\u0061\":{\"dev.holdfast/outcome\":3}}",
       "{\"content\":[" TEXT_ITEM ",1]," META ",\"a\":1}}"},
      {"{\"isError\":true,\"content\":[]}", "{\"isError\":true,\"content\":[" TEXT_ITEM "]," META "}}"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_buf out;
    hf_buf_init(&out, 4096);
    int r = hf_degrade_mark(hf_str_from(rows[i].result), HF_STR("{\"source\":\"cache\"}"), HF_STR("T"), &out);
    if (r < 0 || !hf_str_equal(hf_buf_str(&out), hf_str_from(rows[i].marked)))
      fail_msg("%s: %d %.*s", rows[i].result, r, HF_STR_FMT(hf_buf_str(&out)));
    hf_buf_deinit(&out);
  }
}

static void degrade__gives_nothing_that_cannot_be_marked(void **state) {
  (void)state;
  static const struct {
    const char *result;
    size_t max;
    int answer;
  } rows[] = {
      {"[]", 4096, HF_ERR_INVALID},     {"\"text\"", 4096, HF_ERR_INVALID}, {"null", 4096, HF_ERR_INVALID},
      {"{\"a\":", 4096, HF_ERR_SYNTAX}, {"", 4096, HF_ERR_SYNTAX},          {"{\"a\":1}", 40, HF_ERR_LIMIT},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_buf out;
    hf_buf_init(&out, rows[i].max);
    assert_int_equal(hf_buf_append_str(&out, HF_STR("kept")), 0);
    assert_int_equal(
        hf_degrade_mark(hf_str_from(rows[i].result), HF_STR("{\"source\":\"cache\"}"), HF_STR("text"), &out),
        rows[i].answer);
    assert_true(hf_str_equal(hf_buf_str(&out), HF_STR("kept")));
    hf_buf_deinit(&out);
  }
}

/* A tool and what is in its cache. */
struct world {
  struct hf_cache cache;
  struct hf_tool_settings settings;
  struct hf_fingerprint fingerprint;
  struct hf_degrade call;
  struct hf_buf result;
  hf_time age;
  struct hf_error refused;
};

static void begin(struct world *w, const char *cached) {
  *w = (struct world){.age = -1};
  hf_cache_init(&w->cache, 1 << 20, NULL);
  w->settings.cache.max_stale = HF_SECONDS(3600);
  w->call = (struct hf_degrade){.cache = &w->cache, .settings = &w->settings, .fingerprint = &w->fingerprint};
  w->call.fault = HF_FAULT_UNREACHABLE;
  hf_buf_init(&w->result, 1 << 20);
  if (cached)
    assert_int_equal(
        hf_cache_put(&w->cache, &w->settings.cache, &w->fingerprint, hf_str_from(cached), HF_SECONDS(100), 0), 0);
}

static enum hf_source find(struct world *w, hf_time now) {
  return hf_degrade_find(&w->call, now, &w->result, &w->age, &w->refused);
}

static void end(struct world *w) {
  hf_buf_deinit(&w->result);
  hf_cache_deinit(&w->cache);
}

static void degrade__prefers_the_last_good_answer(void **state) {
  (void)state;
  struct world w;
  begin(&w, "{\"content\":[7]}");
  w.settings.fallback.text = HF_STR("\"none\"");
  assert_int_equal(find(&w, HF_SECONDS(160)), HF_SOURCE_CACHE);
  assert_int_equal(w.age, HF_SECONDS(60));
  assert_true(hf_str_equal(hf_buf_str(&w.result), HF_STR("{\"content\":[7]}")));
  end(&w);
}

static void degrade__gives_no_answer_that_is_too_old_or_not_the_callers(void **state) {
  (void)state;
  struct world w;
  begin(&w, "{\"content\":[7]}");
  assert_int_equal(find(&w, HF_SECONDS(3700)), HF_SOURCE_CACHE);
  w.result.len = 0;
  assert_int_equal(find(&w, HF_SECONDS(3700) + 1), HF_SOURCE_LIVE);
  w.call.fault = HF_FAULT_UNAUTHORIZED;
  assert_int_equal(find(&w, HF_SECONDS(160)), HF_SOURCE_LIVE);
  w.call.fault = HF_FAULT_UNREACHABLE;
  w.fingerprint.byte[0] = 1;
  assert_int_equal(find(&w, HF_SECONDS(160)), HF_SOURCE_LIVE);
  w.fingerprint.byte[0] = 0;
  w.settings.cache = (struct hf_cache_settings){.ttl = HF_SECONDS(3600)};
  assert_int_equal(find(&w, HF_SECONDS(160)), HF_SOURCE_LIVE);
  w.settings.cache.max_stale = HF_SECONDS(3600);
  w.call.cache = NULL;
  w.call.fingerprint = NULL;
  assert_int_equal(find(&w, HF_SECONDS(160)), HF_SOURCE_LIVE);
  assert_int_equal(w.result.len, 0);
  assert_int_equal(w.refused.code, 0);
  end(&w);
}

static void degrade__explicit_mode_gives_neither(void **state) {
  (void)state;
  struct world w;
  begin(&w, "{\"content\":[7]}");
  w.settings.fallback.text = HF_STR("\"none\"");
  w.settings.degraded = HF_DEGRADED_EXPLICIT;
  assert_int_equal(find(&w, HF_SECONDS(160)), HF_SOURCE_DEGRADED);
  assert_true(hf_str_equal(hf_buf_str(&w.result), HF_STR("{\"content\":[],\"isError\":true}")));
  end(&w);
}

static void degrade__fills_defaults_from_the_arguments(void **state) {
  (void)state;
  static const struct {
    const char *text;
    const char *structured;
    const char *arguments;
    const char *schema;
    const char *result; /* NULL: refused … */
    const char *why;    /* … because */
  } rows[] = {
      {"\"No weather for {{city}}.\"", NULL, "{\"city\":\"K\\u00f6\\\"ln\"}", NULL,
       "{\"content\":[{\"type\":\"text\",\"text\":\"No weather for K\\u00f6\\\"ln.\"}]}", NULL},
      {"\"{{n}}\"", NULL, "{\"n\":1.50}", NULL, "{\"content\":[{\"type\":\"text\",\"text\":\"1.50\"}]}", NULL},
      {"\"none\"", NULL, NULL, NULL, "{\"content\":[{\"type\":\"text\",\"text\":\"none\"}]}", NULL},
      {"\"for {{city|somewhere}}\"", NULL, NULL, NULL, "{\"content\":[{\"type\":\"text\",\"text\":\"for somewhere\"}]}",
       NULL},
      {NULL, "{\"n\":\"{{n}}\",\"s\":\"{{x}}\"}", "{\"n\":3.0}", schema,
       "{\"content\":[{\"type\":\"text\",\"text\":\"{\\\"n\\\":3.0}\"}],\"structuredContent\":{\"n\":3.0}}", NULL},
      {"\"none\"", "{\"n\":0,\"s\":null,\"b\":false,\"o\":{},\"any\":[],\"odd\":1,\"new\":2}", "{}", schema,
       "{\"content\":[{\"type\":\"text\",\"text\":\"none\"}],\"structuredContent\":{\"n\":0,\"s\":null,\"b\":false,"
       "\"o\":{},\"any\":[],\"odd\":1,\"new\":2}}",
       NULL},
      {NULL, "{\"a\":1}", "{}", "true",
       "{\"content\":[{\"type\":\"text\",\"text\":\"{\\\"a\\\":1}\"}],\"structuredContent\":{\"a\":1}}", NULL},
      {"\"for {{city}}\"", NULL, "{}", NULL, NULL, "its text needs an argument that the call does not have"},
      {NULL, "\"{{all}}\"", "{}", NULL, NULL, "its structured content needs an argument that the call does not have"},
      {NULL, "\"{{all}}\"", "{\"all\":[1]}", NULL, NULL, "its structured content is no object"},
      {"\"none\"", NULL, "{}", schema, NULL, "the tool has an output schema, and it has no structured content"},
      {NULL, "{\"s\":\"x\"}", "{}", schema, NULL, "its structured content lacks 'n', which the output schema requires"},
      {NULL, "{\"n\":\"1\"}", "{}", schema, NULL,
       "'n' of its structured content is of another type than the output schema says"},
      {NULL, "{\"n\":1.5}", "{}", schema, NULL,
       "'n' of its structured content is of another type than the output schema says"},
      {NULL, "{\"n\":1,\"s\":true}", "{}", schema, NULL,
       "'s' of its structured content is of another type than the output schema says"},
      {NULL, "{\"n\":1,\"o\":[]}", "{}", schema, NULL,
       "'o' of its structured content is of another type than the output schema says"},
      {NULL, "{\"n\":1}", "{}", "{\"a\":", NULL, "the output schema cannot be read: malformed input"},
      {"\"{{x}}\"", NULL, "{\"x\":1,\"x\":2}", NULL, NULL, "its text cannot be filled: duplicate member"},
      {"\"{{\"", NULL, "{}", NULL, NULL, "its text cannot be filled: malformed input"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct world w;
    begin(&w, NULL);
    w.settings.fallback = (struct hf_default_settings){hf_str_from(rows[i].text), hf_str_from(rows[i].structured)};
    w.call.arguments = hf_str_from(rows[i].arguments);
    w.call.output_schema = hf_str_from(rows[i].schema);
    enum hf_source source = find(&w, HF_SECONDS(1));
    if (source != (rows[i].result ? HF_SOURCE_DEGRADED : HF_SOURCE_LIVE) ||
        !hf_str_equal(hf_buf_str(&w.result), hf_str_from(rows[i].result ? rows[i].result : "")))
      fail_msg("row %zu: %d %.*s %s", i, (int)source, HF_STR_FMT(hf_buf_str(&w.result)), w.refused.text);
    assert_int_equal(w.refused.code != 0, rows[i].why != NULL);
    if (rows[i].why)
      assert_string_equal(w.refused.text, rows[i].why);
    end(&w);
  }
}

static void degrade__a_default_has_a_most_that_it_may_be(void **state) {
  (void)state;
  struct world w;
  begin(&w, NULL);
  w.settings.fallback.text = HF_STR("\"{{a}}!\"");
  static char arguments[HF_DEGRADE_DEFAULT_BYTES + 8];
  memset(arguments, 'x', sizeof arguments);
  memcpy(arguments, "{\"a\":\"", 6);
  memcpy(arguments + sizeof arguments - 2, "\"}", 2);
  w.call.arguments = (struct hf_str){arguments, sizeof arguments};
  assert_int_equal(find(&w, 0), HF_SOURCE_LIVE);
  assert_string_equal(w.refused.text, "its text cannot be filled: limit exceeded");

  w.result.max = 20; /* too small for the answer */
  w.settings.fallback.text = HF_STR("\"none\"");
  assert_int_equal(find(&w, 0), HF_SOURCE_LIVE);
  assert_string_equal(w.refused.text, "limit exceeded");
  assert_int_equal(w.result.len, 0);
  end(&w);
}

static void degrade__says_what_the_answer_is(void **state) {
  (void)state;
  static const struct {
    enum hf_source source;
    enum hf_degraded_mode mode;
    hf_time age;
    const char *why;
    const char *text;
  } rows[] = {
      {HF_SOURCE_CACHE, HF_DEGRADED_ANSWER, HF_SECONDS(5), "It broke.",
       "This is not a live answer: it is the tool's last good answer to the same arguments, from 5 s ago, and may be "
       "out of date. Why there is no live one: It broke."},
      {HF_SOURCE_CACHE, HF_DEGRADED_ANSWER, HF_SECONDS(60 * 90), NULL,
       "This is not a live answer: it is the tool's last good answer to the same arguments, from 90 minutes ago, which "
       "is young enough by the configuration. Nothing was sent."},
      {HF_SOURCE_CACHE, HF_DEGRADED_ANSWER, HF_SECONDS(86400 * 9), "It broke.",
       "This is not a live answer: it is the tool's last good answer to the same arguments, from 9 days ago, and may "
       "be "
       "out of date. Why there is no live one: It broke."},
      {HF_SOURCE_DEGRADED, HF_DEGRADED_ANSWER, 0, "It broke.",
       "This is not an answer of the tool: it is a stand-in that was configured for when the tool fails. Do not take "
       "it for data. Why there is no answer: It broke."},
      {HF_SOURCE_DEGRADED, HF_DEGRADED_EXPLICIT, 0, "It broke.",
       "This tool is unavailable, and there is no answer from it. Tell the user, and ask how to go on: wait and try "
       "again, use another tool, or go on without it. Why: It broke."},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct hf_buf out;
    hf_buf_init(&out, 4096);
    assert_int_equal(hf_degrade_text(rows[i].source, rows[i].mode, rows[i].age, hf_str_from(rows[i].why), &out), 0);
    if (!hf_str_equal(hf_buf_str(&out), hf_str_from(rows[i].text)))
      fail_msg("%.*s", HF_STR_FMT(hf_buf_str(&out)));
    hf_buf_deinit(&out);
  }
}

static void require(struct hf_str marked, const char *pointer, struct hf_str expected) {
  struct hf_str value;
  int r = hf_json_pointer(marked, hf_str_from(pointer), &value); /* fails where a member on the way comes twice */
  if (r < 0 || !hf_str_equal(value, expected))
    fail_msg("%s of %.*s: %d", pointer, HF_STR_FMT(marked), r);
}

/* Whatever a tool once answered, and whichever substitute it is: the mark and the text are there, once. */
static void degrade__no_substitute_lacks_mark_and_text(void **state) {
  (void)state;
  static const char *const contents[] = {"",
                                         "\"content\":[]",
                                         "\"content\":[{\"type\":\"text\",\"text\":\"a\"}]",
                                         "\"content\":{}",
                                         "\"content\":\"x\"",
                                         "\"content\":null",
                                         "\"content\":[[]],\"content\":[1]",
                                         "\"c\\u006fntent\":[ 1 , 2 ]"};
  static const char *const metas[] = {"",
                                      "\"_meta\":{}",
                                      "\"_meta\":{\"a\":1}",
                                      "\"_meta\":null",
                                      "\"_meta\":[]",
                                      "\"_met\\u0061\":{\"b\":{}}",
                                      "\"_meta\":{\"dev.holdfast/outcome\":{\"source\":\"live\"}}",
                                      "\"_meta\":{\"dev.holdfast/outcome\":{\"source\":\"live\",\"x\":[]},\"c\":1}"};
  static const char *const others[] = {"", "\"structuredContent\":{\"content\":1,\"_meta\":2}", "\"x\":[],\"y\":1.0"};
  size_t shapes = (sizeof contents / sizeof contents[0]) * (sizeof metas / sizeof metas[0]) * 3;
  size_t seen[HF_SOURCE_COUNT] = {0};
  for (size_t i = 0; i < shapes * 3; i++) {
    const char *part[] = {contents[i % 8], metas[i / 8 % 8], others[i / 64 % 3]};
    char cached[512] = "{";
    for (size_t k = 0; k < 3; k++)
      snprintf(cached + strlen(cached), sizeof cached - strlen(cached), "%s%s", part[k][0] && cached[1] ? "," : "",
               part[k]);
    strncat(cached, "}", 2);
    struct world w;
    begin(&w, i / shapes == 0 ? cached : NULL);
    w.settings.degraded = i / shapes == 1 ? HF_DEGRADED_EXPLICIT : HF_DEGRADED_ANSWER;
    w.settings.fallback.text = HF_STR("\"none\"");
    enum hf_source source = find(&w, HF_SECONDS(101));
    seen[source]++;
    struct hf_buf text, out;
    hf_buf_init(&text, 4096);
    hf_buf_init(&out, 4096);
    assert_int_equal(hf_degrade_text(source, w.settings.degraded, w.age, HF_STR("It broke."), &text), 0);
    assert_int_equal(hf_degrade_mark(hf_buf_str(&w.result), HF_STR("{\"mine\":1}"), hf_buf_str(&text), &out), 0);
    char quoted[1024];
    int len = snprintf(quoted, sizeof quoted, "\"%.*s\"", HF_STR_FMT(hf_buf_str(&text)));
    require(hf_buf_str(&out), "/content/0/type", HF_STR("\"text\""));
    require(hf_buf_str(&out), "/content/0/text", (struct hf_str){quoted, (size_t)len});
    require(hf_buf_str(&out), "/_meta/dev.holdfast~1outcome", HF_STR("{\"mine\":1}"));
    hf_buf_deinit(&text);
    hf_buf_deinit(&out);
    end(&w);
  }
  assert_int_equal(seen[HF_SOURCE_LIVE], 0);
  assert_int_equal(seen[HF_SOURCE_CACHE], shapes);
  assert_int_equal(seen[HF_SOURCE_DEGRADED], 2 * shapes);
}

static void degrade__out_of_memory_leaves_the_failure_as_it_is(void **state) {
  (void)state;
  bool done = false;
  for (long n = 0; n < 60 && !done; n++) {
    struct world w;
    begin(&w, NULL);
    w.settings.fallback = (struct hf_default_settings){HF_STR("\"{{a}}!\""), HF_STR("{\"n\":\"{{a}}\"}")};
    w.call.arguments = HF_STR("{\"a\":1}");
    w.call.output_schema = hf_str_from(schema);
    hf_alloc_fail_after(n);
    enum hf_source source = find(&w, 0);
    hf_alloc_fail_after(-1);
    done = source == HF_SOURCE_DEGRADED;
    assert_true(done || (source == HF_SOURCE_LIVE && w.result.len == 0 && w.refused.code));
    assert_true(!done || n > 5);
    end(&w);
  }
  assert_true(done);
  done = false;
  for (long n = 0; n < 20 && !done; n++) {
    struct hf_buf out;
    hf_buf_init(&out, 4096);
    hf_alloc_fail_after(n);
    int r = hf_degrade_mark(HF_STR("{\"content\":[1]}"), HF_STR("{}"), HF_STR("T"), &out);
    hf_alloc_fail_after(-1);
    done = r == 0;
    assert_true(done || (r == HF_ERR_NOMEM && out.len == 0));
    hf_buf_deinit(&out);
  }
  assert_true(done);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(degrade__marks_results_of_every_shape),
      cmocka_unit_test(degrade__gives_nothing_that_cannot_be_marked),
      cmocka_unit_test(degrade__prefers_the_last_good_answer),
      cmocka_unit_test(degrade__gives_no_answer_that_is_too_old_or_not_the_callers),
      cmocka_unit_test(degrade__explicit_mode_gives_neither),
      cmocka_unit_test(degrade__fills_defaults_from_the_arguments),
      cmocka_unit_test(degrade__a_default_has_a_most_that_it_may_be),
      cmocka_unit_test(degrade__says_what_the_answer_is),
      cmocka_unit_test(degrade__no_substitute_lacks_mark_and_text),
      cmocka_unit_test(degrade__out_of_memory_leaves_the_failure_as_it_is),
  };
  return cmocka_run_group_tests_name("degrade", tests, NULL, NULL);
}
