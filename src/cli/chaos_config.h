/* A configuration file of `holdfast chaos`: the names of its flags, and `faults`, `script` and `tools` as YAML has
 * them. */
#ifndef HF_CLI_CHAOS_CONFIG_H
#define HF_CLI_CHAOS_CONFIG_H

#include "base/arena.h"
#include "chaos/options.h"
#include "daemon/problem.h"

enum { HF_CHAOS_CONFIG_ARENA_MAX = 16 << 20 };

/* Sets what the file says; texts live in `arena`. Returns 0, HF_ERR_INVALID or HF_ERR_SYNTAX with problems that say
 * where, or what hf_document_load does. */
int hf_chaos_config_load(struct hf_arena *arena, const char *path, struct hf_chaos_options *options,
                         struct hf_problems *problems, struct hf_error *reterr);

#endif
