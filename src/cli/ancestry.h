/* The configurations that the gateways above this process run on. */
#ifndef HF_CLI_ANCESTRY_H
#define HF_CLI_ANCESTRY_H

#include <stdbool.h>

/* Whether a gateway that (indirectly) started this process runs on the configuration `path`. */
bool hf_ancestry_has(const char *path);

/* Tells the processes that this one starts that it runs on `path`; to be called before there are threads and children.
 * Returns 0, HF_ERR_NOMEM, or HF_ERR_LIMIT (too many above). */
int hf_ancestry_add(const char *path);

#endif
