#include "base/printer.h"

#include <stdarg.h>

void hf_print(struct hf_printer *printer, const char *format, ...) {
  if (printer->error < 0)
    return;
  va_list args;
  va_start(args, format);
  printer->error = hf_buf_vprintf(printer->buf, format, args);
  va_end(args);
}

void hf_print_bytes(struct hf_printer *printer, const char *bytes, size_t len) {
  if (printer->error == 0)
    printer->error = hf_buf_append(printer->buf, bytes, len);
}
