/* Error codes and the one bounded line of text that set-up paths report.
 *
 * Functions return 0 or a negative enum hf_err. Paths that a person may have to mend also take a struct hf_error, which
 * callers wrap outward ("load config: cannot open 'x.yaml': no such file"). */
#ifndef HF_BASE_ERROR_H
#define HF_BASE_ERROR_H

#include <stddef.h>

/* name, number, text */
#define HF_ERR_LIST(X)                                                                                                 \
  X(NOMEM, 1, "out of memory")                                                                                         \
  X(LIMIT, 2, "limit exceeded")                                                                                        \
  X(SYNTAX, 3, "malformed input")                                                                                      \
  X(INVALID, 4, "invalid value")                                                                                       \
  X(NOTFOUND, 5, "not found")                                                                                          \
  X(EXISTS, 6, "already exists")                                                                                       \
  X(BUSY, 7, "busy")                                                                                                   \
  X(CLOSED, 8, "closed")                                                                                               \
  X(TIMEOUT, 9, "timed out")                                                                                           \
  X(REFUSED, 10, "refused")                                                                                            \
  X(UNAVAILABLE, 11, "unavailable")                                                                                    \
  X(DUPLICATE, 12, "duplicate member")                                                                                 \
  X(IO, 13, "input/output error")                                                                                      \
  X(UNSUPPORTED, 14, "not supported")                                                                                  \
  X(AGAIN, 15, "not ready")                                                                                            \
  X(INCOMPLETE, 16, "incomplete input")

enum hf_err {
#define HF_ERR_ENUM(name, number, text) HF_ERR_##name = -(number),
  HF_ERR_LIST(HF_ERR_ENUM)
#undef HF_ERR_ENUM
};

enum { HF_ERROR_TEXT_MAX = 512 };

struct hf_error {
  int code;                     /* 0 or an enum hf_err */
  char text[HF_ERROR_TEXT_MAX]; /* NUL-terminated, lower case, no full stop */
};

/* Returns the constant text of `code`, never NULL. */
const char *hf_err_text(int code);

/* Returns the constant name of `code` ("NOMEM"), never NULL. */
const char *hf_err_name(int code);

/* Fills `reterr` (which may be NULL) and returns `code`, so that `return hf_error_set(…)` reads well. Long text is cut.
 */
int hf_error_set(struct hf_error *reterr, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Puts "prefix: " before the text that is there and returns its code. `reterr` holds an error; for a NULL one the code
 * is not known here, so callers that allow it return their own. */
int hf_error_wrap(struct hf_error *reterr, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
