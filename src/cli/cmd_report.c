#include "cli/args.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/dlq.h"
#include "cli/report_data.h"
#include "cli/report_html.h"
#include "cli/report_json.h"
#include "cli/report_text.h"
#include "cli/terminal.h"
#include "cli/when.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OUTPUT_MAX = 256 << 20, TEXT_WIDTH = 80 };

static const char default_since[] = "24h";
static const double default_price = 3;
static const double price_max = 1e6;

static int parse_price(const char *text, double *ret_price) {
  char *end;
  errno = 0;
  const double price = strtod(text, &end);
  const bool plain = text[strspn(text, "0123456789.")] == '\0' && end != text && *end == '\0';
  if (!plain || errno || price > price_max)
    return hf_complain(HF_EXIT_USAGE, "report: '%.40s' is no price: dollars for a million tokens, like 3 or 0.25",
                       text);
  *ret_price = price;
  return HF_EXIT_GOOD;
}

static int parse_since(const char *text, int64_t now_ms, int64_t *ret_since) {
  int r = hf_when_parse(hf_str_from(text), now_ms, ret_since);
  if (r < 0 || *ret_since > now_ms)
    return hf_complain(HF_EXIT_USAGE, "report: --since '%.40s' is no time of the past: 24h, 7d, 2026-05-01", text);
  return HF_EXIT_GOOD;
}

static bool write_all(int fd, struct hf_str text) {
  while (text.len) {
    const ssize_t n = write(fd, text.ptr, text.len);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return false;
    text = (struct hf_str){text.ptr + n, text.len - (size_t)n};
  }
  return true;
}

/* Returns 0 or an errno. */
static int write_to(const char *path, struct hf_str text) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0)
    return errno;
  const int error = write_all(fd, text) ? 0 : errno;
  return close(fd) < 0 && error == 0 ? errno : error;
}

/* A link, a pipe or a device is written to; a file, and what is not there yet, may be taken the place of. */
static bool replaceable(const char *path) {
  struct stat stat;
  return lstat(path, &stat) < 0 || S_ISREG(stat.st_mode);
}

/* Under another name until it is whole, so that nobody finds half a page. */
static int write_file(const char *path, struct hf_str text) {
  HF_CLEANUP_FREE char *draft = hf_concat(path, ".part");
  if (!draft)
    return hf_complain(HF_EXIT_FAILED, "out of memory");
  const bool drafted = replaceable(path);
  int error = write_to(drafted ? draft : path, text);
  if (drafted && error == 0 && rename(draft, path) < 0)
    error = errno;
  if (error == 0)
    return HF_EXIT_GOOD;
  if (drafted)
    (void)unlink(draft);
  return hf_complain(HF_EXIT_FAILED, "cannot write '%s': %s", path, strerror(error));
}

static int print(struct hf_str text) {
  const bool ok = fwrite(text.ptr, 1, text.len, stdout) == text.len && fflush(stdout) == 0;
  return ok ? HF_EXIT_GOOD : hf_complain(HF_EXIT_FAILED, "cannot write the report");
}

/* The page goes to its file besides whatever is printed. */
static int write_page(const struct hf_report_data *data, const char *path) {
  struct hf_buf page;
  hf_buf_init(&page, OUTPUT_MAX);
  int exit_code = hf_report_html(data, &page) < 0 ? hf_complain(HF_EXIT_FAILED, "out of memory")
                  : strcmp(path, "-") == 0        ? print(hf_buf_str(&page))
                                                  : write_file(path, hf_buf_str(&page));
  hf_buf_deinit(&page);
  return exit_code;
}

static int print_json(const struct hf_report_data *data) {
  struct hf_buf text;
  hf_buf_init(&text, OUTPUT_MAX);
  int r = hf_report_json(data, &text);
  if (r == 0)
    r = hf_buf_append_str(&text, HF_STR("\n"));
  int exit_code = r < 0 ? hf_complain(HF_EXIT_FAILED, "out of memory") : print(hf_buf_str(&text));
  hf_buf_deinit(&text);
  return exit_code;
}

static int print_text(const struct hf_report_data *data) {
  const size_t width = hf_terminal_width();
  int r = hf_report_text(data, width ? width : TEXT_WIDTH, stdout);
  if (r < 0)
    return hf_complain(HF_EXIT_FAILED, "out of memory");
  return print(HF_STR(""));
}

static int show(const struct hf_args *args, const struct hf_report_data *data) {
  const bool page_only = args->html && !(args->flags & HF_FLAG_JSON);
  int exit_code = args->html ? write_page(data, args->html) : HF_EXIT_GOOD;
  if (exit_code != HF_EXIT_GOOD || page_only)
    return exit_code;
  return args->flags & HF_FLAG_JSON ? print_json(data) : print_text(data);
}

int hf_cmd_report(const struct hf_args *args) {
  const int64_t now_ms = hf_clock_wall_ms();
  int64_t since_ms;
  double price = default_price;
  struct hf_dlq dlq;
  int exit_code = parse_since(args->since ? args->since : default_since, now_ms, &since_ms);
  if (exit_code == HF_EXIT_GOOD && args->price)
    exit_code = parse_price(args->price, &price);
  if (exit_code == HF_EXIT_GOOD)
    exit_code = hf_dlq_open(args, false, &dlq);
  if (exit_code != HF_EXIT_GOOD)
    return exit_code;
  struct hf_report_data data;
  int r = hf_report_data_load(&data, dlq.database, since_ms, now_ms);
  data.price = price;
  exit_code = r < 0 ? hf_dlq_complain(&dlq, r) : show(args, &data);
  hf_report_data_deinit(&data);
  hf_dlq_close(&dlq);
  return exit_code;
}
