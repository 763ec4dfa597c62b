/* A JSON number as the decimal digits that it is spelt with: exact at any length, converted to nothing. */
#ifndef HF_JSON_NUMBER_H
#define HF_JSON_NUMBER_H

#include "base/buf.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* The value is the significant digits, times ten to the power of `exponent`. Borrows the text. */
struct hf_decimal {
  struct hf_str digits; /* from the first significant one to the last, maybe with the point among them */
  int64_t count;        /* of digits; 0: the number is zero */
  int64_t exponent;
  bool negative; /* never of zero */
  bool vast;     /* the exponent is beyond what is told apart, and only its sign is right */
};

/* Reads any text. Returns 0, or HF_ERR_INVALID if it is no JSON number. */
int hf_decimal_read(struct hf_str raw, struct hf_decimal *ret_value);

/* Sets the sign of a - b. Returns 0, or HF_ERR_LIMIT for two vast numbers, whose order is not known. */
int hf_decimal_compare(const struct hf_decimal *a, const struct hf_decimal *b, int *ret_order);

/* Appends the one spelling of all numbers that are equal to this one, which is not vast. Returns 0 or the buffer's
 * error. */
int hf_decimal_append(const struct hf_decimal *value, struct hf_buf *out);

#endif
