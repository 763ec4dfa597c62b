#include "store_fixture.h"

#include "base/error.h"
#include "cli/report_advice.h"
#include "cli/report_format.h"
#include "cli/report_html.h"
#include "cli/report_json.h"
#include "cli/report_list.h"
#include "cli/report_numbers.h"
#include "cli/report_page.h"
#include "cli/report_text.h"
#include "cli/terminal.h"

#include <time.h>

enum { NOW_HOUR = 500000, PAGE_MAX = 8 << 20, ROWS_MAX = 8192 };

static const int64_t hour_ms = 60LL * 60 * 1000;

/* A report over the 24 hours before NOW_HOUR, of rows as the store takes them. */
struct reported {
  struct hf_database *db;
  struct hf_report_data data;
};

static void load(struct reported *reported, const char *rows) {
  const struct hf_store_settings all = keep_all();
  reported->db = open_with(NULL, &all, true);
  assert_int_equal(ALONE(reported->db, hf_database_tally(reported->db, hf_str_from(rows))), 0);
  assert_int_equal(
      hf_report_data_load(&reported->data, reported->db, (NOW_HOUR - 24) * hour_ms, NOW_HOUR * hour_ms + 1), 0);
  reported->data.price = 3;
}

static void unload(struct reported *reported) {
  hf_report_data_deinit(&reported->data);
  hf_database_close(reported->db);
}

#define ROW(hour, server, tool, counts)                                                                                \
  "{\"hour\":" #hour ",\"server\":\"" server "\",\"tool\":\"" tool "\",\"counts\":{" counts "}}"

static struct hf_report_numbers numbers_of(const char *counts) {
  char rows[ROWS_MAX];
  int n = snprintf(rows, sizeof rows, "[" ROW(499990, "s", "t", "%s") "]", counts);
  assert_true(n > 0 && n < ROWS_MAX);
  struct reported reported;
  struct hf_report_numbers numbers;
  load(&reported, rows);
  hf_report_numbers(&reported.data.all, &numbers);
  unload(&reported);
  return numbers;
}

static void report__steps_are_calls_with_the_tries_they_make_up_for(void **state) {
  (void)state;
  /* 100 calls: 4 cancelled; 6 misfits of which 5 were made up for by 3 calls that went well at once. */
  const struct hf_report_numbers n = numbers_of(
      "\"calls\":100,\"first\":70,\"retried\":8,\"fell_back\":2,\"repaired\":3,\"cached\":1,\"checked\":1,"
      "\"undone_tries\":5,\"corrected.feedback\":2,\"corrected.anchored\":1,\"misfit.schema\":6,\"fault.cancelled\":4,"
      "\"fault.timed_out\":3,\"fault.tool_error\":2,\"recovered.timed_out\":10,\"stale\":1,\"defaulted\":1");
  assert_int_equal(n.steps, 91);
  assert_int_equal(n.good, 85);
  assert_int_equal(n.sent, 90);
  assert_int_equal(n.alone, 67);
  assert_float_equal(n.rate_alone, 67.0 / 90, 1e-12);
  assert_float_equal(n.rate, 85.0 / 91, 1e-12);
  assert_float_equal(n.rate_stood_in, 87.0 / 91, 1e-12);
  assert_int_equal(n.lost[HF_REPORT_SCHEMA].happened, 9); /* 6 misfits, 3 repaired */
  assert_int_equal(n.lost[HF_REPORT_SCHEMA].put_right, 8);
  assert_int_equal(n.lost[HF_REPORT_NETWORK].happened, 14);
  assert_int_equal(n.lost[HF_REPORT_NETWORK].put_right, 11);
  assert_int_equal(n.lost[HF_REPORT_BUSINESS].happened, 2);
  assert_int_equal(n.lost[HF_REPORT_BUSINESS].put_right, 0);
  assert_int_equal(n.all_lost.happened, 25);
  assert_int_equal(n.all_lost.put_right, 19);
}

static void report__classes_are_the_four_of_the_field(void **state) {
  (void)state;
  const struct hf_report_numbers n =
      numbers_of("\"calls\":9,\"fault.schema\":1,\"fault.rejected\":1,\"fault.unknown_tool\":1,\"misfit.parameter\":1,"
                 "\"misfit.tool\":1,\"fault.conflict\":1,\"misfit.expected\":1,\"fault.unauthorized\":1,\"fault.rate_"
                 "limited\":1,\"repaired\":3,\"renamed\":1");
  assert_int_equal(n.lost[HF_REPORT_SCHEMA].happened, 4);
  assert_int_equal(n.lost[HF_REPORT_SCHEMA].put_right, 2);
  assert_int_equal(n.lost[HF_REPORT_HALLUCINATED].happened, 4);
  assert_int_equal(n.lost[HF_REPORT_HALLUCINATED].put_right, 1);
  assert_int_equal(n.lost[HF_REPORT_BUSINESS].happened, 2);
  assert_int_equal(n.lost[HF_REPORT_NETWORK].happened, 2);
}

static void report__chains_multiply(void **state) {
  (void)state;
  assert_float_equal(hf_report_chain(0.95, 20), 0.358485922, 1e-9);
  assert_float_equal(hf_report_chain(0.95, 1), 0.95, 1e-12);
  assert_float_equal(hf_report_chain(1, 1000), 1, 1e-12);
  assert_true(hf_report_chain(-1, 20) < 0);
}

static void report__of_nothing_no_rate_is_told(void **state) {
  (void)state;
  const struct hf_report_numbers none = numbers_of("");
  assert_true(none.rate < 0 && none.rate_alone < 0 && none.rate_stood_in < 0);
  const struct hf_report_numbers cached = numbers_of("\"calls\":3,\"cached\":3");
  assert_float_equal(cached.rate, 1, 1e-12);
  assert_true(cached.rate_alone < 0); /* nothing was sent */
}

/* What several broken writers have made of the numbers: no sum wraps around, no rate is beyond 1. */
static void report__impossible_numbers_do_no_harm(void **state) {
  (void)state;
  struct reported reported;
  load(
      &reported,
      "[" ROW(
          499990, "s", "t",
          "\"calls\":9223372036854775807,\"first\":9223372036854775807,"
          "\"retried\":9223372036854775807,\"undone_tries\":5,\"corrected.feedback\":4611686018427387904,"
          "\"elapsed_ms\":9223372036854775807,\"fault.timed_out\":9223372036854775807,"
          "\"fault.broken\":-7,\"fault.deadline\":-7,\"tokens_saved\":9223372036854775807") "," ROW(499991, "s", "t",
                                                                                                    "\"calls\":"
                                                                                                    "92233720368547758"
                                                                                                    "0"
                                                                                                    "7,\"first\":"
                                                                                                    "92233720368547758"
                                                                                                    "0"
                                                                                                    "7,\"fault.timed_"
                                                                                                    "out\":"
                                                                                                    "92233720368547758"
                                                                                                    "0"
                                                                                                    "7") "," ROW(499992,
                                                                                                                 "s",
                                                                                                                 "t",
                                                                                                                 "\"ca"
                                                                                                                 "l"
                                                                                                                 "ls\""
                                                                                                                 ":"
                                                                                                                 "9223"
                                                                                                                 "3"
                                                                                                                 "7203"
                                                                                                                 "6"
                                                                                                                 "8547"
                                                                                                                 "7"
                                                                                                                 "580"
                                                                                                                 "7") "]");
  struct hf_report_numbers n;
  hf_report_numbers(&reported.data.all, &n);
  assert_true(n.calls == UINT64_MAX);
  assert_true(n.rate <= 1 && n.rate_alone <= 1);
  assert_int_equal(reported.data.all.ended[HF_FAULT_DEADLINE], 0);
  struct hf_buf json;
  hf_buf_init(&json, PAGE_MAX);
  assert_int_equal(hf_report_json(&reported.data, &json), 0);
  hf_buf_deinit(&json);
  unload(&reported);
}

/* Names beyond what a report tells of are counted all the same. */
static void report__tools_beyond_the_limit_count_with_all(void **state) {
  (void)state;
  struct hf_buf rows;
  hf_buf_init(&rows, 16 << 20);
  for (int i = 0; i < HF_REPORT_TOOLS_MAX + 5; i++)
    assert_int_equal(hf_buf_printf(&rows,
                                   "%s{\"hour\":499990,\"server\":\"s\",\"tool\":\"t%d\",\"counts\":{\"calls\":1}}",
                                   i ? "," : "[", i),
                     0);
  assert_int_equal(hf_buf_append(&rows, "]", 2), 0);
  struct reported reported;
  load(&reported, rows.data);
  assert_int_equal(reported.data.tools.count, HF_REPORT_TOOLS_MAX);
  assert_int_equal(reported.data.servers.count, 1);
  assert_int_equal(reported.data.all.count[HF_COUNT_CALLS], HF_REPORT_TOOLS_MAX + 5);
  hf_buf_deinit(&rows);
  unload(&reported);
}

static void report__places_beyond_the_limit_count_together(void **state) {
  (void)state;
  struct hf_buf rows;
  hf_buf_init(&rows, ROWS_MAX);
  assert_int_equal(hf_buf_printf(&rows, "[" ROW(499990, "s", "t", "\"elsewhere\":2")), 0);
  for (int i = 0; i < HF_REPORT_PLACES_MAX + 3; i++)
    assert_int_equal(hf_buf_printf(&rows, "," ROW(499990, "s", "t", "\"at./p%d\":1"), i), 0);
  assert_int_equal(hf_buf_append(&rows, "]", 2), 0);
  struct reported reported;
  load(&reported, rows.data);
  assert_int_equal(reported.data.tools.item[0]->place_count, HF_REPORT_PLACES_MAX);
  assert_int_equal(reported.data.tools.item[0]->counts.elsewhere, 5);
  hf_buf_deinit(&rows);
  unload(&reported);
}

static void report__latencies_are_interpolated(void **state) {
  (void)state;
  struct reported reported;
  load(&reported,
       "[" ROW(499990, "s", "t",
               "\"calls\":100,\"elapsed_ms\":30000,\"latency.100\":80,\"latency.250\":10,\"latency.more\":10") "]");
  const struct hf_counts *all = &reported.data.all;
  assert_int_equal(hf_report_latency_ms(all, 0.4), 62); /* half of the bucket from 25 to 100 ms */
  assert_int_equal(hf_report_latency_ms(all, 0.85), 175);
  assert_true(hf_report_latency_ms(all, 0.95) == INT64_MAX);
  assert_int_equal(hf_report_mean_ms(all), 300);
  unload(&reported);
}

static void report__only_whole_hours_that_were_asked_for_count(void **state) {
  (void)state;
  struct reported reported;
  load(&reported, "[" ROW(499975, "s", "t", "\"calls\":1") "," ROW(499976, "s", "t", "\"calls\":10") "," ROW(
                      500000, "s", "t", "\"calls\":100") "," ROW(500001, "s", "t", "\"calls\":1000") "]");
  assert_int_equal(reported.data.all.count[HF_COUNT_CALLS], 110);
  assert_int_equal(reported.data.bar_count, 25);
  assert_int_equal(reported.data.bar_first, 499976);
  assert_int_equal(reported.data.bar[0].count[HF_COUNT_CALLS], 10);
  assert_int_equal(reported.data.bar[24].count[HF_COUNT_CALLS], 100);
  unload(&reported);
}

/* Bars of several hours begin with the day, or at a part of it, where the reader lives. */
static void report__a_long_time_has_few_bars(void **state) {
  (void)state;
  const struct hf_store_settings all = keep_all();
  static const struct {
    int64_t hours;
    int64_t of_bar;
    int64_t first; /* 500,000 is at 08:00 */
  } cases[] = {{24, 1, 499976},       {59, 1, 499941},       {60, 2, 499940},        {7 * 24, 3, 499830},
               {30 * 24, 24, 499272}, {90 * 24, 48, 497832}, {5000 * 24, 48, 497832}};
  assert_int_equal(setenv("TZ", "UTC", 1), 0);
  tzset();
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct hf_database *db = open_with(NULL, &all, true);
    struct hf_report_data data;
    assert_int_equal(hf_report_data_load(&data, db, (NOW_HOUR - cases[i].hours) * hour_ms, NOW_HOUR * hour_ms), 0);
    assert_int_equal(data.bar_hours, cases[i].of_bar);
    assert_int_equal(data.bar_first, cases[i].first);
    assert_in_range(data.bar_count, 20, HF_REPORT_BARS_MAX);
    assert_true(data.bar_first + (int64_t)data.bar_count * data.bar_hours > NOW_HOUR);
    hf_report_data_deinit(&data);
    hf_database_close(db);
  }
}

static void report__a_month_is_told_from_the_time_that_was_counted(void **state) {
  (void)state;
  struct reported reported;
  load(&reported, "[" ROW(499995, "s", "t", "\"calls\":1,\"tokens_saved\":5000") "]"); /* five hours ago */
  assert_float_equal(hf_report_hours(&reported.data), 5, 0.001);
  assert_float_equal(hf_report_per_month(&reported.data, 5000), 720000, 1);
  assert_float_equal(hf_report_cost(&reported.data, 720000), 2.16, 1e-9);
  unload(&reported);
}

static const char *advice_of(const char *counts, uint64_t *ret_weight) {
  char rows[ROWS_MAX];
  int n = snprintf(rows, sizeof rows, "[" ROW(499990, "s", "t", "%s") "]", counts);
  assert_true(n > 0 && n < ROWS_MAX);
  struct reported reported;
  struct hf_report_advice advice;
  load(&reported, rows);
  hf_report_advise(reported.data.tools.item[0], &advice);
  *ret_weight = advice.weight;
  unload(&reported);
  return advice.id;
}

static void report__each_tool_has_one_thing_most_worth_mending(void **state) {
  (void)state;
  static const struct {
    const char *counts;
    const char *id;
    uint64_t weight;
  } cases[] = {
      {"\"calls\":5,\"first\":5", NULL, 0},
      {"\"fault.timed_out\":2,\"recovered.deadline\":3,\"fault.rate_limited\":4", "late", 5},
      {"\"fault.timed_out\":2,\"fault.rate_limited\":4", "rate_limit", 4},
      {"\"fault.timed_out\":8,\"maybe\":3", "maybe", 3},
      {"\"fault.timed_out\":10,\"maybe\":3", "late", 10},
      {"\"misfit.schema\":10,\"at./limit\":5,\"at./q\":4", "argument", 10},
      {"\"misfit.schema\":10,\"at./limit\":4,\"at./q\":4", "arguments", 10},
      {"\"misfit.schema\":10,\"at.\":9", "arguments", 10},
      {"\"misfit.parameter\":2,\"at./limti\":2", "parameters", 2},
      {"\"repaired\":3", "repaired", 3},
      {"\"fault.tool_error\":3,\"fault.rejected\":2", "says_no", 3},
      {"\"fault.cancelled\":30,\"fault.unauthorized\":1", "credentials", 1},
      {"\"recovered.connection_lost\":2,\"fault.server_error\":2,\"fault.unreachable\":3", "breaks", 4},
      {"\"misfit.result\":1", "result", 1},
      {"\"misfit.tool\":1,\"fault.unknown_tool\":1", "made_up", 2},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    uint64_t weight;
    const char *id = advice_of(cases[i].counts, &weight);
    if (cases[i].id)
      assert_string_equal(id, cases[i].id);
    else
      assert_null(id);
    assert_int_equal(weight, cases[i].weight);
  }
}

static void report__numbers_are_as_people_read_them(void **state) {
  (void)state;
  char text[HF_REPORT_NUMBER_MAX];
  assert_string_equal(hf_report_count_text(0, text), "0");
  assert_string_equal(hf_report_count_text(1234567, text), "1,234,567");
  assert_string_equal(hf_report_count_text(UINT64_MAX, text), "18,446,744,073,709,551,615");
  assert_string_equal(hf_report_rate_text(0.98765, text), "98.8 %");
  assert_string_equal(hf_report_rate_text(0.99999, text), "99.99 %"); /* not all is well */
  assert_string_equal(hf_report_rate_text(0.9991, text), "99.91 %");
  assert_string_equal(hf_report_rate_text(1, text), "100 %");
  assert_string_equal(hf_report_rate_text(0.00001, text), "< 0.1 %");
  assert_string_equal(hf_report_rate_text(0, text), "0 %");
  assert_string_equal(hf_report_rate_text(-1, text), "–");
  assert_string_equal(hf_report_ms_text(240, text), "240 ms");
  assert_string_equal(hf_report_ms_text(1250, text), "1.2 s");
  assert_string_equal(hf_report_ms_text(55000, text), "55 s");
  assert_string_equal(hf_report_ms_text(600000, text), "10 min");
  assert_string_equal(hf_report_ms_text(INT64_MAX, text), "> 1 min");
  assert_string_equal(hf_report_ms_text(-1, text), "–");
  assert_string_equal(hf_report_large_text(870, text), "870");
  assert_string_equal(hf_report_large_text(12400, text), "12.4 k");
  assert_string_equal(hf_report_large_text(3.14e6, text), "3.1 M");
  assert_string_equal(hf_report_dollars_text(0, text), "$0");
  assert_string_equal(hf_report_dollars_text(0.004, text), "under 1¢");
  assert_string_equal(hf_report_dollars_text(1.2, text), "$1.20");
  assert_string_equal(hf_report_dollars_text(12345.6, text), "$12,345");
}

static void report__nothing_from_outside_is_markup(void **state) {
  (void)state;
  struct hf_buf out;
  struct hf_page page = {.out = &out};
  hf_buf_init(&out, PAGE_MAX);
  hf_page_text(&page, HF_STR("<script>&\"'\x1b[31m\x7f\xc2\x9b\xe2\x80\xae é"), 0);
  hf_page_text(&page, HF_STR("éüö"), 2);
  assert_int_equal(page.error, 0);
  assert_int_equal(hf_buf_append(&out, "", 1), 0);
  assert_string_equal(out.data, "&lt;script&gt;&amp;&quot;&#39;\xef\xbf\xbd[31m\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd "
                                "ééü…");
  hf_buf_deinit(&out);
}

#define HOSTILE "x</code><img src=x onerror=alert(1)>\\u001b[2J\\u202e\\\"'"

static void load_hostile(struct reported *reported) {
  load(reported, "[" ROW(499990, HOSTILE, HOSTILE,
                         "\"calls\":9,\"first\":2,\"misfit.schema\":7,\"at./" HOSTILE "\":7,\"fault.<b>\":3,"
                         "\"latency.100\":9") "]");
}

static void report__a_page_takes_hostile_names(void **state) {
  (void)state;
  struct reported reported;
  struct hf_buf out;
  load_hostile(&reported);
  hf_buf_init(&out, PAGE_MAX);
  assert_int_equal(hf_report_html(&reported.data, &out), 0);
  assert_int_equal(hf_buf_append(&out, "", 1), 0);
  assert_null(strstr(out.data, "<img"));
  assert_null(strstr(out.data, "\x1b"));
  assert_null(strstr(out.data, "\xe2\x80\xae"));
  assert_non_null(strstr(out.data, "x&lt;/code&gt;&lt;img src=x onerror=alert(1)&gt;"));
  assert_null(strstr(out.data, "<script"));
  assert_null(strstr(out.data, "http"
                               ":"));
  assert_non_null(strstr(out.data, "</html>\n"));
  hf_buf_deinit(&out);
  unload(&reported);
}

static char *printed(const struct hf_report_data *data, size_t width) {
  char *text = NULL;
  size_t len;
  FILE *to = open_memstream(&text, &len);
  assert_non_null(to);
  assert_int_equal(hf_report_text(data, width, to), 0);
  fclose(to);
  return text;
}

static void report__a_terminal_is_not_steered_and_lines_fit(void **state) {
  (void)state;
  struct reported reported;
  load_hostile(&reported);
  char *text = printed(&reported.data, 80);
  assert_null(strstr(text, "\x1b"));
  assert_null(strstr(text, "\xe2\x80\xae"));
  for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1)
    assert_in_range(hf_terminal_columns((struct hf_str){line, (size_t)(end - line)}), 0, 80);
  free(text);
  unload(&reported);
}

static void report__a_terminal_shows_what_matters(void **state) {
  (void)state;
  struct reported reported;
  load(
      &reported,
      "[" ROW(499990, "search", "web",
              "\"calls\":200,\"attempts\":240,\"first\":160,\"retried\":30,\"fault.timed_out\":10,"
              "\"recovered.timed_out\":30,\"tokens_saved\":3000,\"latency.1000\":200") "," ROW(499990, "_unknown",
                                                                                               "_unknown",
                                                                                               "\"calls\":2,"
                                                                                               "\"fault.unknown_tool\":"
                                                                                               "2") "]");
  char *text = printed(&reported.data, 80);
  assert_non_null(strstr(text, "202 calls, 1 tool, 1 server."));
  assert_non_null(strstr(text, "\n  one step                          79.2 %          94.1 %\n"));
  assert_non_null(strstr(text, "\n  20 steps in a row                  0.9 %          29.4 %\n"));
  assert_non_null(strstr(text, "\n  network and limits                    40              30                10\n"));
  assert_non_null(strstr(text, "\n  got over                 timed_out 30\n"));
  assert_non_null(strstr(text, "\nsearch__web "));
  assert_non_null(strstr(text, "\ntools that don't exist "));
  assert_non_null(strstr(text, "    40 times it did not answer in time."));
  free(text);
  unload(&reported);
}

static void report__several_servers_are_told_of_together(void **state) {
  (void)state;
  struct reported reported;
  load(
      &reported,
      "[" ROW(499990, "a", "x", "\"calls\":3,\"first\":3") "," ROW(499990, "a", "y", "\"calls\":4,\"first\":3") "," ROW(
          499990, "b", "z", "\"calls\":1,\"first\":1") "," ROW(499990, "_unknown", "_unknown", "\"calls\":1") "]");
  char *text = printed(&reported.data, 80);
  assert_non_null(strstr(text, "\nSERVER "));
  assert_non_null(strstr(text, "\na           7   85.7 %  85.7 %              0            –\n"));
  assert_non_null(strstr(text, "\nb           1    100 %   100 %              0            –\n\nTOOL "));
  free(text);
  unload(&reported);
}

static void report__of_no_calls_says_so(void **state) {
  (void)state;
  struct reported reported;
  struct hf_buf out;
  load(&reported, "[]");
  char *text = printed(&reported.data, 80);
  assert_non_null(strstr(text, "0 calls, 0 tools, 0 servers.\n"));
  free(text);
  hf_buf_init(&out, PAGE_MAX);
  assert_int_equal(hf_report_html(&reported.data, &out), 0);
  assert_int_equal(hf_buf_append(&out, "", 1), 0);
  assert_non_null(strstr(out.data, "No call was counted"));
  assert_non_null(strstr(out.data, "</html>"));
  hf_buf_deinit(&out);
  unload(&reported);
}

static void report__without_memory_says_so(void **state) {
  (void)state;
  const struct hf_store_settings all = keep_all();
  struct hf_database *db = open_with(NULL, &all, true);
  assert_int_equal(ALONE(db, hf_database_tally(db, HF_STR("[" ROW(499990, "s", "t", "\"calls\":3,\"at./x\":1") "]"))),
                   0);
  int r = HF_ERR_NOMEM;
  for (long n = 0; n < 100 && r == HF_ERR_NOMEM; n++) {
    struct hf_report_data data;
    hf_alloc_fail_after(n);
    r = hf_report_data_load(&data, db, (NOW_HOUR - 24) * hour_ms, NOW_HOUR * hour_ms);
    hf_alloc_fail_after(-1);
    hf_report_data_deinit(&data);
  }
  assert_int_equal(r, 0);
  hf_database_close(db);
}

static void report__lists_begin_with_what_happened_most(void **state) {
  (void)state;
  struct hf_counts counts = {.count = {[HF_COUNT_CALLS] = 100,
                                       [HF_COUNT_RETRIED] = 3,
                                       [HF_COUNT_REPAIRED] = 9,
                                       [HF_COUNT_RENAMED] = 2,
                                       [HF_COUNT_CHECKED] = 3}};
  static const struct hf_report_item expected[] = {
      {"repaired arguments", 7}, {"another attempt", 3}, {"a status check", 3}, {"the tool that was meant", 2}};
  struct hf_report_list list;
  hf_report_list(HF_REPORT_LIST_PUT_RIGHT, &counts, &list);
  assert_int_equal(list.count, 4);
  for (size_t i = 0; i < list.count; i++) {
    assert_string_equal(list.item[i].name, expected[i].name);
    assert_int_equal(list.item[i].n, expected[i].n);
  }
  hf_report_list(HF_REPORT_LIST_SOFTENED, &counts, &list);
  assert_int_equal(list.count, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(report__steps_are_calls_with_the_tries_they_make_up_for),
      cmocka_unit_test(report__classes_are_the_four_of_the_field),
      cmocka_unit_test(report__chains_multiply),
      cmocka_unit_test(report__of_nothing_no_rate_is_told),
      cmocka_unit_test(report__impossible_numbers_do_no_harm),
      cmocka_unit_test(report__tools_beyond_the_limit_count_with_all),
      cmocka_unit_test(report__places_beyond_the_limit_count_together),
      cmocka_unit_test(report__latencies_are_interpolated),
      cmocka_unit_test(report__only_whole_hours_that_were_asked_for_count),
      cmocka_unit_test(report__a_long_time_has_few_bars),
      cmocka_unit_test(report__a_month_is_told_from_the_time_that_was_counted),
      cmocka_unit_test(report__each_tool_has_one_thing_most_worth_mending),
      cmocka_unit_test(report__numbers_are_as_people_read_them),
      cmocka_unit_test(report__nothing_from_outside_is_markup),
      cmocka_unit_test(report__a_page_takes_hostile_names),
      cmocka_unit_test(report__a_terminal_is_not_steered_and_lines_fit),
      cmocka_unit_test(report__a_terminal_shows_what_matters),
      cmocka_unit_test(report__several_servers_are_told_of_together),
      cmocka_unit_test(report__of_no_calls_says_so),
      cmocka_unit_test(report__without_memory_says_so),
      cmocka_unit_test(report__lists_begin_with_what_happened_most),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
