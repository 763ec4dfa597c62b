/* Text for people, put together piece by piece into a buffer. Errors stick: print everything, then ask once. */
#ifndef HF_BASE_PRINTER_H
#define HF_BASE_PRINTER_H

#include "base/buf.h"

struct hf_printer {
  struct hf_buf *buf; /* borrowed */
  int error;          /* the first one of the buffer, or 0 */
};

/* Prints nothing more once something did not fit. */
void hf_print(struct hf_printer *printer, const char *format, ...) __attribute__((format(printf, 2, 3)));
void hf_print_bytes(struct hf_printer *printer, const char *bytes, size_t len);

#endif
