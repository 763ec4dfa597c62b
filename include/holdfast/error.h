/* Error codes: what functions return that can fail. 0 is success, everything else is a negative enum hf_err.
 *
 * An error is the caller's misuse, a limit or missing memory. That a call to somebody else's server failed is no error
 * in this sense but data: see holdfast/classify.h. */
#ifndef HOLDFAST_ERROR_H
#define HOLDFAST_ERROR_H

#include "holdfast/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* name, number, text. Numbers never change; new ones are added at the end. */
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
  X(INCOMPLETE, 16, "incomplete input")                                                                                \
  X(FULL, 17, "no space left")

enum hf_err {
#define HF_ERR_ENUM(name, number, text) HF_ERR_##name = -(number),
  HF_ERR_LIST(HF_ERR_ENUM)
#undef HF_ERR_ENUM
};

/* Returns the constant text of `code` ("out of memory"), never NULL; any number is allowed. */
HF_API const char *hf_err_text(int code);

/* Returns the constant name of `code` ("NOMEM"), never NULL; any number is allowed. */
HF_API const char *hf_err_name(int code);

#ifdef __cplusplus
}
#endif

#endif
