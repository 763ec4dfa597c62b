/* Changing a message without touching the rest of it.
 *
 * Edits name spans of the message; finishing them yields pieces in which everything between is the original bytes,
 * long runs by reference. Edits may be made in any order; the later of two on one member counts. Errors stick and come
 * out of hf_rewrite_finish. */
#ifndef HF_MCP_REWRITE_H
#define HF_MCP_REWRITE_H

#include "mcp/message.h"

enum { HF_REWRITE_EDITS_MAX = 16 };

enum hf_edit_kind { HF_EDIT_REPLACE, HF_EDIT_INSERT_MEMBER, HF_EDIT_REMOVE_MEMBER };

struct hf_edit {
  enum hf_edit_kind kind;
  uint32_t at;        /* offset in the message */
  uint32_t drop;      /* bytes of the message that go */
  uint32_t node;      /* REPLACE: the value; INSERT: the object; REMOVE: the key */
  uint32_t container; /* of a removed member */
  size_t key_start;   /* INSERT_MEMBER: the escaped key, in `text` */
  size_t key_len;
  size_t start; /* the new value, in `text` */
  size_t len;
};

struct hf_rewrite {
  const struct hf_message *message; /* borrowed */
  struct hf_edit edits[HF_REWRITE_EDITS_MAX];
  size_t count;
  struct hf_buf text; /* what the edits put in */
  int error;
};

void hf_rewrite_begin(struct hf_rewrite *rw, const struct hf_message *message);
void hf_rewrite_deinit(struct hf_rewrite *rw);

/* Replaces the value `node` by `raw`, which is valid JSON. */
void hf_rewrite_replace(struct hf_rewrite *rw, uint32_t node, struct hf_str raw);

/* Replaces, or inserts as the first member. `object` is an object with nodes. */
void hf_rewrite_set_member(struct hf_rewrite *rw, uint32_t object, struct hf_str key, struct hf_str raw);

/* Removes every member of that name; nothing happens if there is none. */
void hf_rewrite_remove_member(struct hf_rewrite *rw, uint32_t object, struct hf_str key);

/* The id as raw JSON. A response or request without one gets one. */
void hf_rewrite_set_id(struct hf_rewrite *rw, struct hf_str raw);

/* params.name, as text, escaped here. The message has the member. */
void hf_rewrite_set_name(struct hf_rewrite *rw, struct hf_str name);

/* The token of a request (`_meta`, made where absent) or of a progress notification (params). Absent `raw` removes it.
 */
void hf_rewrite_set_progress_token(struct hf_rewrite *rw, struct hf_str raw);

/* A member of params._meta or result._meta (by the kind of message), made where absent. An error has none:
 * HF_ERR_INVALID. */
void hf_rewrite_set_meta(struct hf_rewrite *rw, struct hf_str key, struct hf_str raw);
void hf_rewrite_remove_meta(struct hf_rewrite *rw, struct hf_str key);

/* Appends the rewritten message to `pieces` and ends the rewrite. Returns 0, HF_ERR_LIMIT (too many edits or pieces),
 * HF_ERR_INVALID (an edit that does not fit the message) or HF_ERR_NOMEM. */
int hf_rewrite_finish(struct hf_rewrite *rw, struct hf_pieces *pieces);

/* The same, as a message of its own. Also returns what hf_message_decode does. */
int hf_rewrite_finish_message(struct hf_rewrite *rw, struct hf_message *ret_message);

#endif
