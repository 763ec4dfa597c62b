#include "cli/report_html.h"

#include "cli/report_advice.h"
#include "cli/report_chart.h"
#include "cli/report_format.h"
#include "cli/report_list.h"
#include "cli/report_numbers.h"
#include "cli/report_page.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

enum { TOOLS_SHOWN = 100, SERVERS_SHOWN = 50, NAME_SHOWN = 80, PLACE_SHOWN = 64, HERO_STEPS = 20, DATE_MAX = 64 };

/* A number and its unit stay in one line. */
static void put_number(struct hf_page *page, const char *text) {
  for (; *text; text++) {
    const struct hf_str one = {text, 1};
    if (*text == ' ')
      hf_page_put(page, "&nbsp;");
    else
      hf_page_text(page, one, 0);
  }
}

static void put_count(struct hf_page *page, uint64_t n) {
  char text[HF_REPORT_NUMBER_MAX];
  put_number(page, hf_report_count_text(n, text));
}

static void put_rate(struct hf_page *page, double rate) {
  char text[HF_REPORT_NUMBER_MAX];
  put_number(page, hf_report_rate_text(rate, text));
}

static void put_ms(struct hf_page *page, int64_t ms) {
  char text[HF_REPORT_NUMBER_MAX];
  put_number(page, hf_report_ms_text(ms, text));
}

static void put_tool(struct hf_page *page, const struct hf_report_tool *tool) {
  if (hf_report_is_unknown(tool)) {
    hf_page_put(page, "tools that don't exist");
    return;
  }
  hf_page_text(page, tool->server, NAME_SHOWN);
  hf_page_put(page, "<wbr>__");
  hf_page_text(page, tool->tool, NAME_SHOWN);
}

static const char *date_of(int64_t ms, char text[DATE_MAX]) {
  const time_t seconds = (time_t)(ms / 1000);
  struct tm tm;
  if (!localtime_r(&seconds, &tm) || strftime(text, DATE_MAX, "%-d %B %Y, %H:%M", &tm) == 0)
    memcpy(text, "?", 2);
  return text;
}

/* A constant text, in which backticks hold what is typed. */
static void put_prose(struct hf_page *page, const char *text) {
  for (bool code = false; *text; code = !code) {
    const size_t len = strcspn(text, "`");
    if (len) {
      hf_page_put(page, code ? "<code>" : "");
      hf_page_text(page, (struct hf_str){text, len}, 0);
      hf_page_put(page, code ? "</code>" : "");
    }
    text += len + (text[len] == '`');
  }
}

static void write_header(struct hf_page *page, const struct hf_report_data *data,
                         const struct hf_report_numbers *numbers) {
  char since[DATE_MAX], until[DATE_MAX];
  hf_page_put(page, "<header><h1>What Holdfast did for your agents</h1><p class=\"muted\">");
  hf_page_printf(page, "%s to %s<br>", date_of(data->since_ms, since), date_of(data->until_ms, until));
  put_count(page, numbers->calls);
  hf_page_printf(page, " call%s · %zu tool%s · %zu server%s</p></header>", hf_report_plural(numbers->calls),
                 data->tools.known, hf_report_plural(data->tools.known), data->servers.known,
                 hf_report_plural(data->servers.known));
}

static void write_hero(struct hf_page *page, const struct hf_report_numbers *numbers) {
  hf_page_printf(page, "<section class=\"hero\"><div><p><b>%d steps in a row end well</b></p><p class=\"from\">",
                 HERO_STEPS);
  put_rate(page, hf_report_chain(numbers->rate_alone, HERO_STEPS));
  hf_page_put(page, " without Holdfast</p><p class=\"to\">");
  put_rate(page, hf_report_chain(numbers->rate, HERO_STEPS));
  hf_page_put(page, "</p><p>with it</p><p class=\"muted small\">A single step: ");
  put_rate(page, numbers->rate_alone);
  hf_page_put(page, " without, ");
  put_rate(page, numbers->rate);
  hf_page_put(page, " with");
  if (numbers->stood_in) {
    hf_page_put(page, "; ");
    put_rate(page, numbers->rate_stood_in);
    hf_page_put(page, " with marked stand-ins");
  }
  hf_page_put(page, ".</p></div>");
  hf_chart_chains(page, numbers);
  hf_page_put(page, "</section>");
}

static void tile(struct hf_page *page, const char *number, const char *what, const char *detail) {
  hf_page_printf(page, "<section class=\"tile\"><b>%s</b><span>%s%s</span></section>", number, what, detail);
}

static void write_tiles(struct hf_page *page, const struct hf_report_data *data,
                        const struct hf_report_numbers *numbers) {
  char number[HF_REPORT_NUMBER_MAX], detail[HF_REPORT_NUMBER_MAX];
  const double month = hf_report_per_month(data, data->all.count[HF_COUNT_TOKENS_SAVED]);
  hf_page_put(page, "<div class=\"tiles\">");
  tile(page, hf_report_count_text(numbers->all_lost.put_right, number), "failures put right, of ",
       hf_report_count_text(numbers->all_lost.happened, detail));
  tile(page, hf_report_count_text(numbers->all_lost.happened - numbers->all_lost.put_right, number),
       "failures reached the agent", "");
  tile(page, hf_report_large_text(month, number), "tokens saved a month, about ",
       hf_report_dollars_text(hf_report_cost(data, month), detail));
  tile(page, hf_report_count_text(data->waiting, number),
       data->waiting == 1 ? "dead letter waits" : "dead letters wait", "");
  hf_page_put(page, "</div>");
}

static void write_key(struct hf_page *page) {
  hf_page_put(page, "<p class=\"small muted\"><i class=\"key k-good\"></i><span>put right</span><i class=\"key "
                    "k-bad\"></i><span>reached the agent</span></p>");
}

static void write_time_line(struct hf_page *page, const struct hf_report_data *data) {
  hf_page_printf(page, "<section><h2>Failures by the %s</h2>",
                 data->bar_hours == 1   ? "hour"
                 : data->bar_hours < 24 ? "few hours"
                 : data->bar_hours < 48 ? "day"
                                        : "few days");
  write_key(page);
  hf_chart_time_line(page, data);
  hf_page_put(page, "</section>");
}

static void write_classes(struct hf_page *page, const struct hf_report_numbers *numbers) {
  uint64_t most = 0;
  for (int i = 0; i < HF_REPORT_CLASS_COUNT; i++)
    most = numbers->lost[i].happened > most ? numbers->lost[i].happened : most;
  hf_page_put(page, "<section><h2>What went wrong</h2>");
  for (int i = 0; i < HF_REPORT_CLASS_COUNT; i++) {
    const struct hf_report_losses *lost = &numbers->lost[i];
    hf_page_printf(page, "<div class=\"kind\"><div class=\"row\"><span>%s</span><span class=\"facts\"><span><b>",
                   hf_report_class_title((enum hf_report_class)i));
    put_count(page, lost->happened);
    hf_page_put(page, "</b></span><span>");
    put_count(page, lost->put_right);
    hf_page_put(page, " put right</span><span>");
    put_count(page, lost->happened - lost->put_right);
    hf_page_put(page, " reached the agent</span></span></div>");
    hf_chart_losses(page, lost, most);
    hf_page_put(page, "</div>");
  }
  hf_page_put(page, "</section>");
}

static void write_list(struct hf_page *page, const char *title, enum hf_report_list_kind kind,
                       const struct hf_counts *counts) {
  struct hf_report_list list;
  hf_report_list(kind, counts, &list);
  if (list.count == 0)
    return;
  hf_page_printf(page, "<div><h3>%s</h3><dl>", title);
  for (size_t i = 0; i < list.count; i++) {
    hf_page_printf(page, "<dt>%s<dd>", list.item[i].name);
    put_count(page, list.item[i].n);
  }
  hf_page_put(page, "</dl></div>");
}

static void write_corrections(struct hf_page *page, const struct hf_counts *counts) {
  bool any = false;
  for (int i = 1; i < HF_CORRECTION_COUNT; i++) {
    if (counts->asked[i] == 0 && counts->corrected[i] == 0)
      continue;
    if (!any)
      hf_page_put(page, "<div><h3>Corrections that helped, of those that were asked for</h3><dl>");
    any = true;
    hf_page_printf(page, "<dt>%s<dd>", hf_correction_title((enum hf_correction)i));
    put_count(page, counts->corrected[i]);
    hf_page_put(page, " of ");
    put_count(page, counts->asked[i]);
  }
  if (any)
    hf_page_put(page, "</dl></div>");
}

static void write_details(struct hf_page *page, const struct hf_counts *counts) {
  hf_page_put(page, "<section class=\"long\"><h2>In detail</h2><div class=\"two\">");
  write_list(page, "Put right by", HF_REPORT_LIST_PUT_RIGHT, counts);
  write_list(page, "Repairs", HF_REPORT_LIST_REPAIRS, counts);
  write_list(page, "Softened", HF_REPORT_LIST_SOFTENED, counts);
  write_corrections(page, counts);
  write_list(page, "Got over", HF_REPORT_LIST_RECOVERED, counts);
  write_list(page, "Calls that ended with", HF_REPORT_LIST_ENDED, counts);
  hf_page_put(page, "</div></section>");
}

static void write_token_row(struct hf_page *page, const struct hf_report_data *data, const char *name,
                            enum hf_count count) {
  char tokens[HF_REPORT_NUMBER_MAX], month[HF_REPORT_NUMBER_MAX], dollars[HF_REPORT_NUMBER_MAX];
  const double per_month = hf_report_per_month(data, data->all.count[count]);
  hf_page_printf(page, "<tr><td>%s<td class=\"n\">%s<td class=\"n\">%s<td class=\"n\">%s", name,
                 hf_report_large_text((double)data->all.count[count], tokens), hf_report_large_text(per_month, month),
                 hf_report_dollars_text(hf_report_cost(data, per_month), dollars));
}

static void write_tokens(struct hf_page *page, const struct hf_report_data *data) {
  hf_page_put(page,
              "<section><h2>Tokens, estimated</h2><div class=\"scroll\"><table><thead><tr><th><th class=\"n\">so far"
              "<th class=\"n\">a month<th class=\"n\">cost</thead><tbody>");
  write_token_row(page, data, "saved: failures that no model saw", HF_COUNT_TOKENS_SAVED);
  write_token_row(page, data, "spent on failures that models saw", HF_COUNT_TOKENS_FAILED);
  write_token_row(page, data, "of that, feedback", HF_COUNT_TOKENS_FEEDBACK);
  hf_page_printf(page, "</tbody></table></div><p class=\"small muted\">At $%.2f for a million tokens.</p></section>",
                 data->price);
}

static void write_facts(struct hf_page *page, const struct hf_report_tool *tool) {
  const struct hf_counts *counts = &tool->counts;
  struct hf_report_numbers numbers;
  hf_report_numbers(counts, &numbers);
  hf_page_put(page, "<div class=\"facts\"><span><b>");
  put_count(page, numbers.calls);
  if (hf_report_is_unknown(tool)) {
    hf_page_put(page, "</b> calls</span></div>");
    return;
  }
  hf_page_put(page, "</b> calls</span><span>ends well <b>");
  put_rate(page, numbers.rate);
  hf_page_put(page, "</b>, without ");
  put_rate(page, numbers.rate_alone);
  hf_page_put(page, "</span><span><b>");
  put_count(page, numbers.all_lost.happened - numbers.all_lost.put_right);
  hf_page_put(page, "</b> failures reached the agent</span><span>95 % within <b>");
  put_ms(page, hf_report_latency_ms(counts, 0.95));
  hf_page_put(page, "</b></span></div>");
}

static void write_fix(struct hf_page *page, const struct hf_report_tool *tool) {
  struct hf_report_advice advice;
  hf_report_advise(tool, &advice);
  if (!advice.id)
    return;
  hf_page_put(page, "<p class=\"fix\"><b>");
  put_count(page, advice.weight);
  hf_page_put(page, " ");
  put_prose(page, advice.why);
  hf_page_put(page, "</b>");
  if (advice.at.ptr && advice.at.len) {
    hf_page_put(page, " (<code>");
    hf_page_text(page, advice.at, PLACE_SHOWN);
    hf_page_put(page, "</code>)");
  }
  hf_page_put(page, ". ");
  put_prose(page, advice.fix);
  hf_page_put(page, "</p>");
}

static void write_tools(struct hf_page *page, const struct hf_report_data *data) {
  hf_page_put(page, "<section class=\"long\"><h2>Tools, and what is most worth mending about each</h2>");
  for (size_t i = 0; i < data->tools.count && i < TOOLS_SHOWN; i++) {
    hf_page_put(page, "<div class=\"tool\"><div class=\"name\">");
    put_tool(page, data->tools.item[i]);
    hf_page_put(page, "</div>");
    write_facts(page, data->tools.item[i]);
    write_fix(page, data->tools.item[i]);
    hf_page_put(page, "</div>");
  }
  if (data->tools.count > TOOLS_SHOWN)
    hf_page_printf(page, "<p class=\"muted\">… and %zu more: <code>holdfast report --json</code> tells of all.</p>",
                   data->tools.count - TOOLS_SHOWN);
  hf_page_put(page, "</section>");
}

static void write_servers(struct hf_page *page, const struct hf_report_data *data) {
  hf_page_put(page, "<section class=\"long\"><h2>Servers</h2><div class=\"scroll\"><table><thead><tr><th>server<th "
                    "class=\"n\">calls<th class=\"n\">without<th class=\"n\">with<th class=\"n wide\">reached agent<th "
                    "class=\"n wide\">95 % within</thead><tbody>");
  for (size_t i = 0; i < data->servers.count && i < SERVERS_SHOWN; i++) {
    const struct hf_report_tool *server = data->servers.item[i];
    struct hf_report_numbers numbers;
    if (hf_report_is_unknown(server))
      continue;
    hf_report_numbers(&server->counts, &numbers);
    hf_page_put(page, "<tr><td class=\"name\">");
    hf_page_text(page, server->server, NAME_SHOWN);
    hf_page_put(page, "<td class=\"n\">");
    put_count(page, numbers.calls);
    hf_page_put(page, "<td class=\"n\">");
    put_rate(page, numbers.rate_alone);
    hf_page_put(page, "<td class=\"n\">");
    put_rate(page, numbers.rate);
    hf_page_put(page, "<td class=\"n wide\">");
    put_count(page, numbers.all_lost.happened - numbers.all_lost.put_right);
    hf_page_put(page, "<td class=\"n wide\">");
    put_ms(page, hf_report_latency_ms(&server->counts, 0.95));
  }
  hf_page_put(page, "</tbody></table></div></section>");
}

static void write_footer(struct hf_page *page) {
  hf_page_put(
      page,
      "<footer class=\"small muted\"><p>A step is what an agent wanted done: a call, with the tries before it that "
      "it makes up for. Without Holdfast it ends well if its first attempt does, with the arguments as they "
      "came. Chains take steps to be independent. Tokens are estimated from the texts. holdfast-report(1) "
      "tells how all of this is counted.</p></footer>");
}

int hf_report_html(const struct hf_report_data *data, struct hf_buf *out) {
  struct hf_report_numbers numbers;
  struct hf_page page;
  hf_report_numbers(&data->all, &numbers);
  hf_page_begin(&page, out, "Holdfast report");
  write_header(&page, data, &numbers);
  if (numbers.calls == 0) {
    hf_page_put(&page, "<section><p>No call was counted in this time.</p></section>");
    return hf_page_end(&page);
  }
  write_hero(&page, &numbers);
  write_tiles(&page, data, &numbers);
  write_time_line(&page, data);
  write_classes(&page, &numbers);
  write_tools(&page, data);
  write_servers(&page, data);
  write_details(&page, &data->all);
  write_tokens(&page, data);
  write_footer(&page);
  return hf_page_end(&page);
}
