/* What a proxy makes of a server's answer, or says in its place. */
#ifndef HF_CHAOS_SPOIL_H
#define HF_CHAOS_SPOIL_H

#include "chaos/server.h"

/* What kind of request it was: that much is needed to spoil its answer. */
struct hf_chaos_kind {
  bool list;   /* of tools */
  bool call;   /* of a tool */
  bool modern; /* of 2026-07-28 */
};

/* What a proxy reads of a request before it decides what becomes of it. */
struct hf_chaos_glance {
  char method[64]; /* "" if it is no request that is answered */
  char key[HF_CHAOS_KEY_MAX + 1];
  struct hf_str id; /* raw, borrowed from the message, as the next one; ptr NULL if there is none */
  struct hf_str params;
  struct hf_chaos_kind kind;
};

/* Fills `answer` in the server's place, so far as the fault leaves anything to say. */
void hf_chaos_spoil_instead(struct hf_chaos *chaos, const struct hf_chaos_fault *fault,
                            const struct hf_chaos_glance *glance, struct hf_chaos_answer *answer);

/* Fills `answer` with what the server answered under this raw id, spoiled. */
void hf_chaos_spoil_answer(struct hf_chaos *chaos, const struct hf_chaos_fault *fault, struct hf_chaos_kind kind,
                           struct hf_str id, struct hf_str message, struct hf_chaos_answer *answer);

/* Copies `message` into `out` with another id; `member` is where the id stands in it. */
void hf_chaos_splice(struct hf_str message, struct hf_str member, struct hf_str id, struct hf_buf *out);

struct hf_chaos_glance hf_chaos_glance(const struct hf_chaos *chaos, struct hf_str message);

/* The fault that it meets; an execution is written down as it is handed over. */
struct hf_chaos_fault hf_chaos_meet(struct hf_chaos *chaos, const struct hf_chaos_glance *glance);

#endif
