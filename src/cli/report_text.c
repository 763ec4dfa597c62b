#include "cli/report_text.h"

#include "base/error.h"
#include "cli/report_advice.h"
#include "cli/report_format.h"
#include "cli/report_list.h"
#include "cli/report_numbers.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/when.h"

#include <string.h>

enum {
  COST_WIDTH = 18,
  ROWS_SHOWN = 20,
  NAME_SHOWN = 80,
  PLACE_SHOWN = 60,
  ADVISED = 5,
  LIST_AT = 27,
  LABEL_WIDTH = 25,
  INDENT = 2
};

static const unsigned chains[] = {5, 10, 20};

/* Text that is broken at blanks: the first line stands behind what was printed already. */
struct lines {
  FILE *to;
  size_t indent; /* of the lines after the first */
  size_t width;
  size_t at;
};

static void put_word(struct lines *lines, struct hf_str word) {
  const size_t columns = hf_terminal_columns(word);
  const bool first = lines->at == lines->indent;
  if (!first && lines->at + 1 + columns > lines->width) {
    (void)fprintf(lines->to, "\n%*s", (int)lines->indent, "");
    lines->at = lines->indent;
  } else if (!first) {
    (void)fputc(' ', lines->to);
    lines->at++;
  }
  hf_terminal_print(lines->to, word, false);
  lines->at += columns;
}

static void put_words(struct lines *lines, const char *text) {
  while (*text) {
    const size_t len = strcspn(text, " ");
    put_word(lines, (struct hf_str){text, len});
    text += len;
    text += strspn(text, " ");
  }
}

/* A name of the left column, with room for the text behind it. */
static struct lines label(FILE *to, size_t width, const char *name) {
  (void)fprintf(to, "  %s%*s", name, (int)(LABEL_WIDTH - hf_terminal_columns(hf_str_from(name))), "");
  return (struct lines){to, LIST_AT, width, LIST_AT};
}

static void put_comma(struct lines *lines) {
  (void)fputc(',', lines->to);
  lines->at++;
}

static void end_line(struct lines *lines) {
  (void)fputc('\n', lines->to);
}

static void print_head(const struct hf_report_data *data, const struct hf_report_numbers *numbers, FILE *to) {
  char since[HF_WHEN_TEXT_MAX], until[HF_WHEN_TEXT_MAX], calls[HF_REPORT_NUMBER_MAX], waiting[HF_REPORT_NUMBER_MAX];
  (void)fprintf(to, "From %s to %s: %s call%s, %zu tool%s, %zu server%s.\n",
                hf_when_print_short(data->since_ms, data->until_ms, since),
                hf_when_print_short(data->until_ms, data->until_ms, until), hf_report_count_text(numbers->calls, calls),
                hf_report_plural(numbers->calls), data->tools.known, hf_report_plural(data->tools.known),
                data->servers.known, hf_report_plural(data->servers.known));
  if (data->waiting)
    (void)fprintf(to, "%s dead letter%s; `holdfast dlq list` shows %s.\n", hf_report_count_text(data->waiting, waiting),
                  data->waiting == 1 ? " waits" : "s wait", data->waiting == 1 ? "it" : "them");
}

static void print_rate(FILE *to, const char *name, double alone, double with, double stood_in, bool any_stood_in) {
  char left[HF_REPORT_NUMBER_MAX], right[HF_REPORT_NUMBER_MAX], last[HF_REPORT_NUMBER_MAX];
  hf_report_rate_text(alone, left);
  hf_report_rate_text(with, right);
  hf_report_rate_text(stood_in, last);
  (void)fprintf(to, "  %-28s%*s%s%*s%s", name, (int)(12 - hf_terminal_columns(hf_str_from(left))), "", left,
                (int)(16 - hf_terminal_columns(hf_str_from(right))), "", right);
  if (any_stood_in)
    (void)fprintf(to, "%*s%s", (int)(18 - hf_terminal_columns(hf_str_from(last))), "", last);
  (void)fputc('\n', to);
}

static void print_rates(const struct hf_report_numbers *numbers, FILE *to) {
  const bool any = numbers->stood_in > 0;
  (void)fprintf(to, "\nENDS WELL                         without   with Holdfast%s\n", any ? "   with stand-ins" : "");
  print_rate(to, "one step", numbers->rate_alone, numbers->rate, numbers->rate_stood_in, any);
  for (size_t i = 0; i < sizeof chains / sizeof chains[0]; i++) {
    char name[HF_REPORT_NUMBER_MAX];
    int n = snprintf(name, sizeof name, "%u steps in a row", chains[i]);
    print_rate(to, n > 0 ? name : "", hf_report_chain(numbers->rate_alone, chains[i]),
               hf_report_chain(numbers->rate, chains[i]), hf_report_chain(numbers->rate_stood_in, chains[i]), any);
  }
}

static void print_losses(FILE *to, const char *name, const struct hf_report_losses *lost) {
  char happened[HF_REPORT_NUMBER_MAX], put_right[HF_REPORT_NUMBER_MAX], rest[HF_REPORT_NUMBER_MAX];
  (void)fprintf(to, "  %-28s%12s%16s%18s\n", name, hf_report_count_text(lost->happened, happened),
                hf_report_count_text(lost->put_right, put_right),
                hf_report_count_text(lost->happened - lost->put_right, rest));
}

static void print_classes(const struct hf_report_numbers *numbers, FILE *to) {
  (void)fputs("\nWENT WRONG                       happened       put right     reached agent\n", to);
  for (int i = 0; i < HF_REPORT_CLASS_COUNT; i++)
    print_losses(to, hf_report_class_title((enum hf_report_class)i), &numbers->lost[i]);
  print_losses(to, "all together", &numbers->all_lost);
}

/* "timed_out 12, connection_lost 3" */
static void print_list(FILE *to, size_t width, const char *name, enum hf_report_list_kind kind,
                       const struct hf_counts *counts) {
  struct hf_report_list list;
  struct lines lines;
  hf_report_list(kind, counts, &list);
  for (size_t i = 0; i < list.count; i++) {
    char text[HF_REPORT_NUMBER_MAX];
    if (i == 0)
      lines = label(to, width, name);
    put_words(&lines, list.item[i].name);
    put_words(&lines, hf_report_count_text(list.item[i].n, text));
    if (i + 1 == list.count)
      end_line(&lines);
    else
      put_comma(&lines);
  }
}

static void print_corrections(const struct hf_counts *counts, size_t width, FILE *to) {
  for (int i = 1; i < HF_CORRECTION_COUNT; i++) {
    if (counts->asked[i] == 0 && counts->corrected[i] == 0)
      continue;
    char asked[HF_REPORT_NUMBER_MAX], helped[HF_REPORT_NUMBER_MAX];
    struct lines lines = label(to, width, hf_correction_title((enum hf_correction)i));
    put_words(&lines, hf_report_count_text(counts->asked[i], asked));
    put_words(&lines, "in all, helped");
    put_words(&lines, hf_report_count_text(counts->corrected[i], helped));
    end_line(&lines);
  }
}

static void print_details(const struct hf_counts *counts, size_t width, FILE *to) {
  (void)fputs("\nIN DETAIL\n", to);
  print_list(to, width, "ended with", HF_REPORT_LIST_ENDED, counts);
  print_list(to, width, "got over", HF_REPORT_LIST_RECOVERED, counts);
  print_list(to, width, "put right by", HF_REPORT_LIST_PUT_RIGHT, counts);
  print_list(to, width, "repairs", HF_REPORT_LIST_REPAIRS, counts);
  print_corrections(counts, width, to);
  print_list(to, width, "softened", HF_REPORT_LIST_SOFTENED, counts);
}

static void print_tokens_of(const struct hf_report_data *data, const char *name, enum hf_count count, FILE *to) {
  char tokens[HF_REPORT_NUMBER_MAX], month[HF_REPORT_NUMBER_MAX], dollars[HF_REPORT_NUMBER_MAX];
  const uint64_t n = data->all.count[count];
  const double per_month = hf_report_per_month(data, n);
  hf_report_dollars_text(hf_report_cost(data, per_month), dollars);
  const int gap = COST_WIDTH - (int)hf_terminal_columns(hf_str_from(dollars));
  (void)fprintf(to, "  %-28s%12s%16s%*s%s\n", name, hf_report_large_text((double)n, tokens),
                hf_report_large_text(per_month, month), gap > 1 ? gap : 1, "", dollars);
}

static void print_tokens(const struct hf_report_data *data, FILE *to) {
  (void)fprintf(to, "\nTOKENS (estimated)                 so far         a month  at $%.2f/million\n", data->price);
  print_tokens_of(data, "saved: failures not seen", HF_COUNT_TOKENS_SAVED, to);
  print_tokens_of(data, "spent on failures", HF_COUNT_TOKENS_FAILED, to);
  print_tokens_of(data, "of that, feedback", HF_COUNT_TOKENS_FEEDBACK, to);
}

static void add_name(struct hf_table *table, const struct hf_report_tool *tool) {
  const struct hf_str server = hf_terminal_cut(tool->server, NAME_SHOWN);
  if (hf_report_is_unknown(tool))
    hf_table_add(table, HF_STR("tools that don't exist"));
  else if (tool->tool.ptr)
    hf_table_addf(table, "%.*s__%.*s", HF_STR_FMT(server), HF_STR_FMT(hf_terminal_cut(tool->tool, NAME_SHOWN)));
  else
    hf_table_add(table, server);
}

static void add_row(struct hf_table *table, const struct hf_report_tool *tool) {
  struct hf_report_numbers numbers;
  char text[HF_REPORT_NUMBER_MAX];
  hf_report_numbers(&tool->counts, &numbers);
  add_name(table, tool);
  hf_table_add(table, hf_str_from(hf_report_count_text(numbers.calls, text)));
  if (hf_report_is_unknown(tool)) {
    for (size_t i = 2; i < table->column_count; i++)
      hf_table_add(table, HF_STR("–"));
    return;
  }
  hf_table_add(table, hf_str_from(hf_report_rate_text(numbers.rate_alone, text)));
  hf_table_add(table, hf_str_from(hf_report_rate_text(numbers.rate, text)));
  hf_table_add(table, hf_str_from(hf_report_count_text(numbers.all_lost.happened - numbers.all_lost.put_right, text)));
  hf_table_add(table, hf_str_from(hf_report_ms_text(hf_report_latency_ms(&tool->counts, 0.95), text)));
}

static int print_rows(const struct hf_report_tools *tools, const char *title, size_t width, FILE *to) {
  const struct hf_table_column columns[] = {
      {title, false, true},  {"CALLS", true, false},         {"WITHOUT", true, false},
      {"WITH", true, false}, {"REACHED AGENT", true, false}, {"95 % WITHIN", true, false},
  };
  struct hf_table table;
  hf_table_init(&table, columns, sizeof columns / sizeof columns[0]);
  for (size_t i = 0; i < tools->count && i < ROWS_SHOWN; i++)
    if (tools->item[i]->tool.ptr || !hf_report_is_unknown(tools->item[i]))
      add_row(&table, tools->item[i]);
  (void)fputc('\n', to);
  int r = hf_table_print(&table, to, 0, width);
  hf_table_deinit(&table);
  if (tools->count > ROWS_SHOWN)
    (void)fprintf(to, "… and %zu more; --json tells of all.\n", tools->count - ROWS_SHOWN);
  return r;
}

static void print_tool_name(const struct hf_report_tool *tool, size_t width, FILE *to) {
  const size_t part = (width - INDENT - 2) / 2;
  (void)fprintf(to, "%*s", INDENT, "");
  if (hf_report_is_unknown(tool)) {
    (void)fputs("tools that don't exist\n", to);
    return;
  }
  hf_terminal_print(to, hf_terminal_cut(tool->server, part), false);
  (void)fputs("__", to);
  hf_terminal_print(to, hf_terminal_cut(tool->tool, part), false);
  (void)fputc('\n', to);
}

/* In brackets, cut to what a line takes. */
static void put_place(struct lines *lines, struct hf_str pointer) {
  char text[4 * PLACE_SHOWN + 8];
  const struct hf_str cut = hf_terminal_cut(pointer, PLACE_SHOWN);
  int n = snprintf(text, sizeof text, "(%.*s%s)", HF_STR_FMT(cut), cut.len < pointer.len ? "…" : "");
  if (n > 0)
    put_word(lines, hf_str_from(text));
}

static void print_advice(const struct hf_report_data *data, size_t width, FILE *to) {
  size_t shown = 0;
  for (size_t i = 0; i < data->tools.count && shown < ADVISED; i++) {
    const struct hf_report_tool *tool = data->tools.item[i];
    struct hf_report_advice advice;
    char n[HF_REPORT_NUMBER_MAX];
    hf_report_advise(tool, &advice);
    if (!advice.id)
      continue;
    if (shown++ == 0)
      (void)fputs("\nMOST WORTH MENDING\n", to);
    struct lines lines = {to, 2 * INDENT, width, INDENT};
    print_tool_name(tool, width, to);
    (void)fprintf(to, "%*s", 2 * INDENT, "");
    lines.at = lines.indent;
    put_words(&lines, hf_report_count_text(advice.weight, n));
    put_words(&lines, advice.why);
    if (advice.at.ptr && advice.at.len) {
      put_place(&lines, advice.at);
    }
    (void)fputc('.', to);
    lines.at++;
    put_words(&lines, advice.fix);
    end_line(&lines);
  }
}

int hf_report_text(const struct hf_report_data *data, size_t width, FILE *to) {
  struct hf_report_numbers numbers;
  hf_report_numbers(&data->all, &numbers);
  print_head(data, &numbers, to);
  if (numbers.calls == 0)
    return 0;
  print_rates(&numbers, to);
  print_classes(&numbers, to);
  print_details(&data->all, width, to);
  print_tokens(data, to);
  int r = data->servers.known > 1 ? print_rows(&data->servers, "SERVER", width, to) : 0;
  if (r == 0)
    r = print_rows(&data->tools, "TOOL", width, to);
  print_advice(data, width, to);
  return r;
}
