/* What the protocol says about a POST's headers and its message together, and which era it speaks. Pure. */
#ifndef HF_FRONT_RULES_H
#define HF_FRONT_RULES_H

#include "base/buf.h"
#include "front/head.h"
#include "mcp/era.h"
#include "mcp/message.h"

/* Why a message is not handed on: an HTTP status and the JSON-RPC error that goes with it. */
struct hf_objection {
  int status; /* 0: none */
  int code;
  enum hf_era era;         /* of an unsupported version: whose versions are the supported ones */
  struct hf_str requested; /* likewise */
  struct hf_error why;
};

/* The era of a message: what carries the version in `_meta` is modern; otherwise `initialize` is legacy, what has a
 * modern version in the header is modern, and everything else (in a session) is legacy. Never UNKNOWN. */
enum hf_era hf_rules_era(const struct hf_head *head, const struct hf_message *message);

/* Checks a modern message against its headers. */
void hf_rules_modern(const struct hf_head *head, struct hf_message *message, struct hf_objection *ret_objection);

/* Checks the version header of a legacy message other than `initialize`, and of GET and DELETE. */
void hf_rules_legacy(const struct hf_head *head, struct hf_objection *ret_objection);

/* Appends the JSON-RPC error. Returns 0 or the buffer's error. */
int hf_objection_text(const struct hf_objection *objection, struct hf_str id, struct hf_buf *buf);

#endif
