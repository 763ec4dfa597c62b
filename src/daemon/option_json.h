/* Values of a configuration that are kept as JSON: schemas, templates, conditions.
 *
 * What YAML writes is spelt as JSON with its types: numbers as they are spelt (also `1.0` and 20 digits), `true`,
 * `false` and null, everything else and all that is quoted as strings. A plain word that is no number of JSON's (`007`,
 * `0x1F`, `yes`) is a string. Variables are expanded as everywhere. */
#ifndef HF_DAEMON_OPTION_JSON_H
#define HF_DAEMON_OPTION_JSON_H

#include "daemon/options.h"

enum { HF_OPTION_JSON_MAX = 256 << 10 };

/* Reads `node`, of the kind that the option's `choices` say: "object", "text" (any scalar, as a string), or
 * "object|text". `ret_raw` lives in the reader's arena. Returns 0 or HF_ERR_NOMEM; what else is wrong becomes a
 * problem. */
int hf_option_json(const struct hf_reader *reader, const struct hf_option *option, const struct hf_node *node,
                   struct hf_str *ret_raw);

/* Reads a mapping of `pointer` and one operator. Likewise. */
int hf_option_condition(const struct hf_reader *reader, const struct hf_option *option, const struct hf_node *node,
                        struct hf_condition *ret_condition);

#endif
