/* Protocol versions, the two eras, and what a modern request says about itself in `_meta`. */
#ifndef HF_MCP_ERA_H
#define HF_MCP_ERA_H

#include "mcp/message.h"

/* UNKNOWN where it is not decided yet: probe the server, wait for the first request of the client. */
enum hf_era { HF_ERA_UNKNOWN, HF_ERA_LEGACY, HF_ERA_MODERN };

/* In the order of time. */
enum hf_version {
  HF_VERSION_UNKNOWN,
  HF_VERSION_2024_11_05,
  HF_VERSION_2025_03_26,
  HF_VERSION_2025_06_18,
  HF_VERSION_2025_11_25,
  HF_VERSION_2026_07_28,
  HF_VERSION_COUNT,

  HF_VERSION_LEGACY_NEWEST = HF_VERSION_2025_11_25,
  HF_VERSION_NEWEST = HF_VERSION_2026_07_28,
};

/* Returns HF_VERSION_UNKNOWN for any other text. */
enum hf_version hf_version_parse(struct hf_str text);

/* "2025-11-25"; empty for HF_VERSION_UNKNOWN. */
struct hf_str hf_version_text(enum hf_version version);

enum hf_era hf_version_era(enum hf_version version);

/* What to answer to an `initialize` that asks for `asked`: never newer than asked and never modern. Text that is no
 * date gives the newest legacy version, one older than all gives the oldest. */
enum hf_version hf_version_negotiate(struct hf_str asked);

/* What a request says of its client. Strings are borrowed from the message. */
struct hf_request_meta {
  enum hf_era era; /* modern if the `_meta` version key is there */
  enum hf_version version;
  struct hf_str version_text;
  struct hf_str capabilities; /* raw object */
  struct hf_str log_level;    /* or absent */
};

/* Reads the `_meta` of a request. Without a version key: era legacy, all else empty, 0. Returns HF_ERR_INVALID when a
 * modern request lacks capabilities or has members of a wrong type (answer -32602), HF_ERR_UNSUPPORTED for a version
 * that is not modern or not known (answer hf_compose_unsupported_version with `version_text`, which is set),
 * HF_ERR_NOMEM. `reterr` gets the text to answer with. */
int hf_request_meta_read(struct hf_message *message, struct hf_request_meta *ret_meta, struct hf_error *reterr);

/* Like it, for a message that must be modern (it came with the modern header): a missing version key is HF_ERR_INVALID.
 */
int hf_request_meta_require(struct hf_message *message, struct hf_request_meta *ret_meta, struct hf_error *reterr);

#endif
