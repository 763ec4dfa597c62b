/* What every header of libholdfast rests on: which symbols are exported, and what holds for all of them.
 *
 * - Nothing here reads a clock, draws chance, logs, does I/O, starts threads or calls back. Time and seeds come in as
 *   arguments; what is to be done goes out as data. So nothing can be reentered.
 * - No locks: whoever shares an object between threads lets one at a time call. Different objects are independent.
 * - Functions return 0 or a negative enum hf_err (holdfast/error.h); outputs are written only on success.
 * - Objects are opaque and made by `_new`, freed by `_free` or `_unref`, which accept NULL. Structures for options,
 *   events and actions are the caller's own memory, laid out as below.
 * - Layout is part of the ABI: a change of any size, offset or enumerator that is published here is a new soname. The
 *   list is checked with every build. Options are begun with their HF_…_OPTIONS_INIT, so that a program compiled
 *   anew gets sensible values for members that it does not know. */
#ifndef HOLDFAST_API_H
#define HOLDFAST_API_H

#define HF_API __attribute__((visibility("default")))

#endif
