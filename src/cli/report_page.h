/* Writing a page of HTML: its head with all styles, escaped text, and an end. Errors stick. */
#ifndef HF_CLI_REPORT_PAGE_H
#define HF_CLI_REPORT_PAGE_H

#include "base/buf.h"

struct hf_page {
  struct hf_buf *out; /* borrowed */
  int error;
};

void hf_page_begin(struct hf_page *page, struct hf_buf *out, const char *title);

/* Returns 0 or the first error of the buffer. */
int hf_page_end(struct hf_page *page);

/* As it is: the page's own markup. */
void hf_page_put(struct hf_page *page, const char *markup);
void hf_page_printf(struct hf_page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Text from outside, for elements and quoted attributes: nothing in it is markup, and control characters, also those
 * that turn the direction of writing, become U+FFFD. Cut after `max` characters, with "…"; 0: not at all. */
void hf_page_text(struct hf_page *page, struct hf_str text, size_t max);

#endif
