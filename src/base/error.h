/* Error codes and the one bounded line of text that set-up paths report.
 *
 * Functions return 0 or a negative enum hf_err. Paths that a person may have to mend also take a struct hf_error, which
 * callers wrap outward ("load config: cannot open 'x.yaml': no such file"). */
#ifndef HF_BASE_ERROR_H
#define HF_BASE_ERROR_H

#include "holdfast/error.h"

#include <stddef.h>

enum { HF_ERROR_TEXT_MAX = 512 };

struct hf_error {
  int code;                     /* 0 or an enum hf_err */
  char text[HF_ERROR_TEXT_MAX]; /* NUL-terminated, lower case, no full stop */
};

/* Fills `reterr` (which may be NULL) and returns `code`, so that `return hf_error_set(…)` reads well. Long text is cut.
 */
int hf_error_set(struct hf_error *reterr, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Puts "prefix: " before the text that is there and returns its code. `reterr` holds an error; for a NULL one the code
 * is not known here, so callers that allow it return their own. */
int hf_error_wrap(struct hf_error *reterr, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
