/* Which era a server speaks, and its handshake: what to send next, decided from what came back. Pure.
 *
 * The probe is `server/discover` and nothing else. Only success proves an era; an error that only a modern server makes
 * forbids `initialize`; what a load balancer answers proves nothing; anything else, silence, or a child that exits on
 * the probe means: try `initialize`. */
#ifndef HF_UPSTREAM_PROBE_H
#define HF_UPSTREAM_PROBE_H

#include "base/error.h"
#include "mcp/era.h"
#include "mcp/message.h"
#include "policy/classify.h"

#include <stdbool.h>

enum hf_probe_step {
  HF_PROBE_WAIT,       /* an answer is still out */
  HF_PROBE_DISCOVER,   /* send `server/discover` */
  HF_PROBE_INITIALIZE, /* send `initialize` */
  HF_PROBE_REOPEN,     /* start the child again, then ask hf_probe_opened again */
  HF_PROBE_READY,      /* `era` and `version` are known; the message is the hello */
  HF_PROBE_FAILED,     /* `why` says it for people */
};

struct hf_probe {
  enum hf_era wanted; /* by configuration; UNKNOWN: find out */
  enum hf_era known;  /* what succeeded before; UNKNOWN: nothing */
  bool discovering;   /* an answer to `server/discover` is out */
  bool initializing;
  bool skip_discover; /* it exited on the probe */
  bool refuted;       /* the server answered, and not as `known` says */
  enum hf_era era;
  enum hf_version version;
  struct hf_error why;
};

void hf_probe_init(struct hf_probe *probe, enum hf_era wanted, enum hf_era known);

/* The transport is open: what first? */
enum hf_probe_step hf_probe_opened(struct hf_probe *probe);

/* Nothing came for a while. A modern server that is slow may still answer: its answer counts when it comes. */
enum hf_probe_step hf_probe_silence(struct hf_probe *probe);

/* The end of the probe: an answer (`message`, with what the transport knows in `evidence`), or none (NULL). */
enum hf_probe_step hf_probe_discovered(struct hf_probe *probe, const struct hf_evidence *evidence,
                                       struct hf_message *message);

/* Likewise of `initialize`. */
enum hf_probe_step hf_probe_initialized(struct hf_probe *probe, const struct hf_evidence *evidence,
                                        struct hf_message *message);

/* The transport closed during the handshake. */
enum hf_probe_step hf_probe_closed(struct hf_probe *probe, const struct hf_evidence *evidence);

/* Append the messages. `capabilities` is a raw JSON object. Return 0 or the buffer's error. */
int hf_probe_write_discover(struct hf_buf *buf, uint64_t id, struct hf_str capabilities);
int hf_probe_write_initialize(struct hf_buf *buf, uint64_t id, struct hf_str capabilities);

#endif
