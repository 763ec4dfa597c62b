/* The database finds a bounded number of letters at once. What is older is asked for from the oldest of these on, and
 * those that are as old as that one, and have been read, are left out. */
#include "cli/dlq.h"

#include "base/alloc.h"

struct page {
  hf_letter_fn *letter;
  void *ctx;
  int64_t row;           /* that is being read */
  const int64_t *before; /* rows of the page before */
  size_t before_count;
  int64_t edge_ms; /* its oldest */
  int64_t oldest_ms;
  size_t read;
};

static bool is_known(const struct page *page) {
  for (size_t i = page->before_count; i-- > 0;)
    if (page->before[i] == page->row)
      return true;
  return false;
}

static void read_letter(void *ctx, const struct hf_letter *letter) {
  struct page *page = ctx;
  page->oldest_ms = letter->last_ms;
  if (letter->last_ms == page->edge_ms && is_known(page))
    return;
  page->read++;
  page->letter(page->ctx, letter);
}

static int read_page(struct hf_dlq *dlq, struct page *page, const int64_t *rows, size_t count) {
  int r = 0;
  page->read = 0;
  for (size_t i = 0; i < count && r == 0; i++) {
    page->row = rows[i];
    r = hf_database_letter(dlq->database, rows[i], read_letter, page);
    r = r == HF_ERR_NOTFOUND ? 0 : r;
  }
  return r;
}

int hf_dlq_each(struct hf_dlq *dlq, const struct hf_letter_filter *filter, hf_letter_fn *letter, void *ctx) {
  struct hf_letter_filter rest = *filter;
  struct page page = {.letter = letter, .ctx = ctx, .edge_ms = -1};
  int64_t *before = NULL;
  bool more = true;
  int r = 0;
  while (more && r == 0) {
    int64_t *rows = NULL;
    size_t count = 0;
    r = hf_database_find(dlq->database, &rest, &rows, &count);
    if (r == 0)
      r = read_page(dlq, &page, rows, count);
    more = count == HF_LETTERS_MAX && !filter->limit && page.read > 0;
    hf_free(before);
    before = rows;
    page.before = rows;
    page.before_count = count;
    rest.until_ms = page.edge_ms = page.oldest_ms;
  }
  hf_free(before);
  return r < 0 ? hf_dlq_complain(dlq, r) : HF_EXIT_GOOD;
}
