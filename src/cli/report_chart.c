#include "cli/report_chart.h"

#include "cli/report_format.h"

#include <stdio.h>
#include <time.h>

enum {
  CHAIN_STEPS = 30,
  CHAIN_WIDTH = 360, /* of the whole picture, and where its plot begins and ends */
  CHAIN_HEIGHT = 216,
  CHAIN_LEFT = 34,
  CHAIN_RIGHT = 300,
  CHAIN_TOP = 12,
  CHAIN_BOTTOM = 188,
  LABEL_APART = 13,
  LABEL_LIFT = 6,
  TIME_HEIGHT = 100,
  TIME_LABELS = 5,
  LABEL_MAX = 64,
  HOUR_S = 60 * 60,
  HOURS_OF_DAY = 24,
};

static double chain_x(unsigned steps) {
  return CHAIN_LEFT + (double)(CHAIN_RIGHT - CHAIN_LEFT) * (steps - 1) / (CHAIN_STEPS - 1);
}

static double chain_y(double rate) {
  return CHAIN_BOTTOM - (CHAIN_BOTTOM - CHAIN_TOP) * rate;
}

static void chain_line(struct hf_page *page, double rate, const char *colour) {
  hf_page_printf(page, "<path class=\"%s\" fill=\"none\" stroke-width=\"2.5\" stroke-linejoin=\"round\" d=\"", colour);
  for (unsigned i = 1; i <= CHAIN_STEPS; i++)
    hf_page_printf(page, "%s%.1f %.1f", i == 1 ? "M" : "L", chain_x(i), chain_y(hf_report_chain(rate, i)));
  hf_page_put(page, "\"/>");
}

static void chain_label(struct hf_page *page, double y, const char *colour, const char *text) {
  hf_page_printf(page, "<text class=\"b %s\" x=\"%d\" y=\"%.1f\">%s</text>", colour, CHAIN_RIGHT + 6, y + 4, text);
}

static void chain_grid(struct hf_page *page) {
  for (int percent = 0; percent <= 100; percent += 25) {
    const double y = chain_y(percent / 100.0);
    hf_page_printf(page, "<path class=\"s-line\" d=\"M%d %.1fH%d\"/>", CHAIN_LEFT, y, CHAIN_RIGHT);
    hf_page_printf(page, "<text text-anchor=\"end\" x=\"%d\" y=\"%.1f\">%d%s</text>", CHAIN_LEFT - 6, y + 4, percent,
                   percent == 100 ? " %" : "");
  }
  static const unsigned marks[] = {1, 5, 10, 20, CHAIN_STEPS};
  for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
    hf_page_printf(page, "<text text-anchor=\"middle\" x=\"%.1f\" y=\"%d\">%u</text>", chain_x(marks[i]),
                   CHAIN_BOTTOM + 16, marks[i]);
  hf_page_printf(page, "<text x=\"%d\" y=\"%d\">steps</text>", CHAIN_RIGHT + 14, CHAIN_BOTTOM + 16);
}

void hf_chart_chains(struct hf_page *page, const struct hf_report_numbers *numbers) {
  if (numbers->rate_alone < 0 || numbers->rate < 0)
    return;
  double with = chain_y(hf_report_chain(numbers->rate, CHAIN_STEPS));
  double without = chain_y(hf_report_chain(numbers->rate_alone, CHAIN_STEPS));
  hf_page_printf(page,
                 "<figure><svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"How likely chains of 1 to %d steps "
                 "are to end well\">",
                 CHAIN_WIDTH, CHAIN_HEIGHT, CHAIN_STEPS);
  chain_grid(page);
  chain_line(page, numbers->rate_alone, "s-grey");
  chain_line(page, numbers->rate, "s-good");
  if (without - with < LABEL_APART)
    without = (with + without + LABEL_APART) / 2;
  if (without > CHAIN_BOTTOM - LABEL_LIFT)
    without = CHAIN_BOTTOM - LABEL_LIFT; /* above the numbers of the axis */
  if (without - with < LABEL_APART)
    with = without - LABEL_APART;
  chain_label(page, with, "f-good", "Holdfast");
  chain_label(page, without, "", "without");
  hf_page_put(page, "</svg></figure>");
}

static uint64_t reached(const struct hf_counts *counts, uint64_t *ret_put_right) {
  struct hf_report_numbers numbers;
  hf_report_numbers(counts, &numbers);
  *ret_put_right = numbers.all_lost.put_right;
  return numbers.all_lost.happened - numbers.all_lost.put_right;
}

/* The smallest of 1, 2, 5, 10, 20, … that all bars fit below. */
static double top_of(const struct hf_report_data *data) {
  uint64_t most = 0;
  for (size_t i = 0; i < data->bar_count; i++) {
    uint64_t put_right;
    const uint64_t rest = reached(&data->bar[i], &put_right);
    const uint64_t all = hf_report_plus(rest, put_right);
    most = all > most ? all : most;
  }
  static const double steps[] = {1, 2, 5};
  double scale = 1;
  for (;; scale *= 10)
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
      if (steps[i] * scale >= (double)most)
        return steps[i] * scale;
}

static void time_bar(struct hf_page *page, double x, double width, double from, double to, const char *colour) {
  if (to > from)
    hf_page_printf(page, "<path class=\"%s\" d=\"M%.2f %.2fh%.2fv%.2fh-%.2fz\"/>", colour, x, TIME_HEIGHT - to, width,
                   to - from, width);
}

static void time_labels(struct hf_page *page, const struct hf_report_data *data) {
  const bool days = data->bar_hours * (int64_t)data->bar_count > 2 * HOURS_OF_DAY;
  hf_page_put(page, "<div class=\"x\" aria-hidden=\"true\">");
  for (size_t i = 0; i < TIME_LABELS; i++) {
    const int64_t bars = (int64_t)(i * data->bar_count / (TIME_LABELS - 1));
    const time_t at = (time_t)((data->bar_first + bars * data->bar_hours) * HOUR_S);
    char text[LABEL_MAX] = "";
    struct tm tm;
    if (!localtime_r(&at, &tm) || strftime(text, sizeof text, days ? "%b %-d" : "%H:%M", &tm) == 0)
      text[0] = '\0';
    hf_page_printf(page, "<span>%s</span>", text);
  }
  hf_page_put(page, "</div>");
}

void hf_chart_time_line(struct hf_page *page, const struct hf_report_data *data) {
  const double top = top_of(data);
  const double step = 1000.0 / (double)data->bar_count;
  char number[HF_REPORT_NUMBER_MAX];
  hf_page_put(page, "<figure><div class=\"plot\">");
  for (int i = 0; i <= 2; i++)
    hf_page_printf(page, "<span class=\"y\" style=\"top:%d%%\" aria-hidden=\"true\">%s</span>", 100 - 50 * i,
                   i == 1 && top < 2 ? "" : hf_report_large_text(top * i / 2, number));
  hf_page_printf(page,
                 "<svg viewBox=\"0 0 1000 %d\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"Failures over "
                 "time\">",
                 TIME_HEIGHT);
  for (int i = 0; i <= 2; i++)
    hf_page_printf(page, "<path class=\"s-line\" vector-effect=\"non-scaling-stroke\" d=\"M0 %dH1000\"/>",
                   TIME_HEIGHT * i / 2);
  for (size_t i = 0; i < data->bar_count; i++) {
    uint64_t put_right;
    const double low = TIME_HEIGHT * (double)reached(&data->bar[i], &put_right) / top;
    const double x = step * ((double)i + 0.12);
    time_bar(page, x, step * 0.76, 0, low, "f-bad");
    time_bar(page, x, step * 0.76, low, low + TIME_HEIGHT * (double)put_right / top, "f-good");
  }
  hf_page_put(page, "</svg></div>");
  time_labels(page, data);
  hf_page_put(page, "</figure>");
}

void hf_chart_losses(struct hf_page *page, const struct hf_report_losses *lost, uint64_t most) {
  const double whole = most ? (double)most / 100 : 1;
  hf_page_printf(page,
                 "<div class=\"bar\" aria-hidden=\"true\"><i class=\"k-good\" style=\"width:%.2f%%\"></i><i "
                 "class=\"k-bad\" style=\"width:%.2f%%\"></i></div>",
                 (double)lost->put_right / whole, (double)(lost->happened - lost->put_right) / whole);
}
