/* Drives the probe: sends what it asks for, and tells it what came back. The same steps open the first session and, on
 * a connection that is up, a new one in place of one that the server lost. */
#include "upstream/uplink.h"

static const hf_time probe_silence = HF_SECONDS(2);

static void perform(struct hf_uplink *up, enum hf_probe_step step, const struct hf_evidence *evidence,
                    struct hf_message *message);

static void fail_local(struct hf_uplink *up, int error) {
  const struct hf_evidence evidence = HF_EVIDENCE(HF_EVIDENCE_NOT_STARTED);
  hf_uplink_down(up, &evidence, hf_str_from(hf_err_text(error)));
}

static void send_step(struct hf_uplink *up, enum hf_attempt_purpose purpose) {
  bool discover = purpose == HF_ATTEMPT_DISCOVER;
  struct hf_attempt_ref *attempt;
  int rc = hf_attempt_new(up, purpose, ++up->next_id, discover ? HF_METHOD_DISCOVER : HF_METHOD_INITIALIZE, &attempt);
  if (rc == 0) {
    struct hf_buf buf;
    hf_buf_init(&buf, up->capabilities.len + 1024);
    rc = discover ? hf_probe_write_discover(&buf, attempt->out.id, up->capabilities)
                  : hf_probe_write_initialize(&buf, attempt->out.id, up->capabilities);
    if (rc == 0)
      rc = hf_pieces_add_copy(&attempt->out.text, hf_buf_str(&buf));
    hf_buf_deinit(&buf);
    attempt->out.connect_by = up->start_timer.node.at;
    if (rc == 0)
      rc = hf_attempt_send(up, attempt);
    if (rc < 0)
      hf_attempt_free(up, attempt);
  }
  if (rc < 0) {
    fail_local(up, rc);
    return;
  }
  if (discover)
    hf_timer_set(up->loop, &up->probe_timer,
                 hf_time_add(up->loop->now, hf_time_min(probe_silence, up->start_timeout / 4)));
}

/* What stands for the requests that a failed start kept from being sent: they were not, so only rows that say "not
 * executed" may. */
struct hf_evidence hf_handshake_evidence(const struct hf_evidence *evidence) {
  struct hf_evidence plain = HF_EVIDENCE(HF_EVIDENCE_NOT_STARTED);
  if (!evidence)
    return plain;
  plain.retry_after = evidence->retry_after;
  enum hf_fault fault = hf_classify(evidence).fault;
  bool tells = fault == HF_FAULT_UNREACHABLE || fault == HF_FAULT_MISCONFIGURED || fault == HF_FAULT_RATE_LIMITED ||
               fault == HF_FAULT_REFUSED_UNEXECUTED || fault == HF_FAULT_UNAUTHORIZED;
  return tells ? *evidence : plain;
}

static void perform(struct hf_uplink *up, enum hf_probe_step step, const struct hf_evidence *evidence,
                    struct hf_message *message) {
  switch (step) {
  case HF_PROBE_WAIT:
    break;
  case HF_PROBE_DISCOVER:
    send_step(up, HF_ATTEMPT_DISCOVER);
    break;
  case HF_PROBE_INITIALIZE:
    hf_timer_stop(up->loop, &up->probe_timer);
    send_step(up, HF_ATTEMPT_INITIALIZE);
    break;
  case HF_PROBE_REOPEN:
    hf_uplink_reopen(up);
    break;
  case HF_PROBE_READY:
    hf_handshake_end(up);
    *up->remembered = up->probe.era;
    hf_uplink_ready(up, message);
    break;
  case HF_PROBE_FAILED: {
    if (up->probe.refuted)
      *up->remembered = HF_ERA_UNKNOWN;
    const struct hf_evidence seen = hf_handshake_evidence(evidence);
    hf_uplink_down(up, &seen, hf_str_from(up->probe.why.text));
    break;
  }
  }
}

void hf_handshake_begin(struct hf_uplink *up) {
  perform(up, hf_probe_opened(&up->probe), NULL, NULL);
}

/* The server is known to be legacy: only that era has sessions to lose. */
void hf_handshake_renew(struct hf_uplink *up) {
  up->renewing = true;
  up->transport->ops->forget_session(up->transport);
  hf_probe_init(&up->probe, HF_ERA_LEGACY, HF_ERA_LEGACY);
  hf_timer_set(up->loop, &up->start_timer, hf_time_add(up->loop->now, up->start_timeout));
  perform(up, hf_probe_opened(&up->probe), NULL, NULL);
}

void hf_handshake_end(struct hf_uplink *up) {
  hf_timer_stop(up->loop, &up->probe_timer);
  hf_timer_stop(up->loop, &up->start_timer);
  struct hf_list *it, *tmp;
  HF_LIST_FOREACH (it, tmp, &up->attempts) {
    struct hf_attempt_ref *attempt = HF_CONTAINER_OF(it, struct hf_attempt_ref, link);
    if (attempt->purpose == HF_ATTEMPT_DISCOVER || attempt->purpose == HF_ATTEMPT_INITIALIZE)
      hf_attempt_free(up, attempt);
  }
}

static void step_answer(struct hf_uplink *up, enum hf_attempt_purpose purpose, const struct hf_evidence *evidence,
                        struct hf_message *message) {
  enum hf_probe_step step = purpose == HF_ATTEMPT_DISCOVER ? hf_probe_discovered(&up->probe, evidence, message)
                                                           : hf_probe_initialized(&up->probe, evidence, message);
  perform(up, step, evidence, message);
}

/* The message is borrowed: a hello that is kept must be a copy. */
void hf_handshake_answer(struct hf_uplink *up, enum hf_attempt_purpose purpose, const struct hf_evidence *evidence,
                         const struct hf_message *message) {
  if (up->dead || (up->stage != HF_UPLINK_SHAKING && !up->renewing))
    return;
  if (!message) {
    step_answer(up, purpose, evidence, NULL);
    return;
  }
  struct hf_message copy = {0};
  struct hf_refusal refusal;
  int rc = hf_message_decode_copy(hf_blob_str(message->blob), &copy, &refusal);
  if (rc < 0)
    fail_local(up, rc);
  else
    step_answer(up, purpose, evidence, &copy);
  hf_message_deinit(&copy);
}

void hf_handshake_silence(struct hf_uplink *up) {
  perform(up, hf_probe_silence(&up->probe), NULL, NULL);
}
