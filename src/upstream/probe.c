#include "upstream/probe.h"

#include "mcp/compose.h"
#include "json/write.h"

void hf_probe_init(struct hf_probe *probe, enum hf_era wanted, enum hf_era known) {
  *probe = (struct hf_probe){.wanted = wanted, .known = known};
}

static enum hf_probe_step initialize(struct hf_probe *probe) {
  probe->initializing = true;
  return HF_PROBE_INITIALIZE;
}

enum hf_probe_step hf_probe_opened(struct hf_probe *probe) {
  probe->discovering = probe->initializing = false;
  bool legacy = probe->wanted == HF_ERA_LEGACY || (probe->wanted == HF_ERA_UNKNOWN && probe->known == HF_ERA_LEGACY);
  if (legacy || probe->skip_discover)
    return initialize(probe);
  probe->discovering = true;
  return HF_PROBE_DISCOVER;
}

enum hf_probe_step hf_probe_silence(struct hf_probe *probe) {
  if (!probe->discovering || probe->initializing || probe->wanted == HF_ERA_MODERN)
    return HF_PROBE_WAIT;
  return initialize(probe);
}

static bool names_version(struct hf_str raw, enum hf_version version) {
  struct hf_str text = hf_version_text(version);
  return raw.ptr && memmem(raw.ptr, raw.len, text.ptr, text.len);
}

/* The newest version of an era in a list of them, or UNKNOWN. */
static enum hf_version newest(struct hf_str raw, enum hf_era era) {
  for (int version = HF_VERSION_NEWEST; version > HF_VERSION_UNKNOWN; version--) {
    if (hf_version_era((enum hf_version)version) == era && names_version(raw, (enum hf_version)version))
      return (enum hf_version)version;
  }
  return HF_VERSION_UNKNOWN;
}

static enum hf_probe_step ready(struct hf_probe *probe, enum hf_era era, enum hf_version version) {
  probe->discovering = probe->initializing = false;
  probe->era = era;
  probe->version = version;
  return HF_PROBE_READY;
}

static enum hf_probe_step failed(struct hf_probe *probe) {
  probe->discovering = probe->initializing = false;
  return HF_PROBE_FAILED;
}

/* Not modern, as far as this answer goes. */
static enum hf_probe_step try_initialize(struct hf_probe *probe) {
  if (probe->initializing)
    return HF_PROBE_WAIT;
  if (probe->wanted == HF_ERA_MODERN) {
    hf_error_set(&probe->why, HF_ERR_UNSUPPORTED, "it does not answer server/discover as a modern server");
    return failed(probe);
  }
  return initialize(probe);
}

/* The server lists its versions, in a result or in a refusal. */
static enum hf_probe_step choose(struct hf_probe *probe, struct hf_str versions, bool greeted) {
  enum hf_version modern = newest(versions, HF_ERA_MODERN);
  if (modern != HF_VERSION_UNKNOWN && greeted)
    return ready(probe, HF_ERA_MODERN, modern);
  if (modern == HF_VERSION_UNKNOWN && newest(versions, HF_ERA_LEGACY) != HF_VERSION_UNKNOWN)
    return try_initialize(probe);
  hf_error_set(&probe->why, HF_ERR_UNSUPPORTED, "it speaks none of our protocol versions: %.*s",
               (int)(versions.len < 200 ? versions.len : 200), versions.ptr ? versions.ptr : "");
  return failed(probe);
}

/* The array of versions in the data of a refusal; absent if there is none. */
static struct hf_str supported_in(struct hf_str data) {
  struct hf_str versions = {NULL, 0};
  const struct hf_json_options options = HF_JSON_OPTIONS_INIT;
  struct hf_json_scan scan;
  hf_json_scan_init(&scan, &options);
  if (data.ptr && hf_json_scan_feed(&scan, data.ptr, data.len, true) == 0) {
    const struct hf_json_doc doc = hf_json_doc(data.ptr, &scan);
    uint32_t node;
    if (hf_json_type(&doc, 0) == HF_JSON_OBJECT && hf_json_member(&doc, 0, HF_STR("supported"), &node) == 0)
      versions = hf_json_span(&doc, node);
  }
  hf_json_scan_deinit(&scan);
  return versions;
}

static bool proves_nothing(int status) {
  return status == 429 || status == 502 || status == 503 || status == 504;
}

/* Nobody was reached: `initialize` would meet the same. */
static bool unreachable(enum hf_evidence_kind kind) {
  return kind == HF_EVIDENCE_CONNECT_REFUSED || kind == HF_EVIDENCE_CONNECT_TIMEOUT ||
         kind == HF_EVIDENCE_TLS_HANDSHAKE || kind == HF_EVIDENCE_DNS_TEMPORARY || kind == HF_EVIDENCE_NO_SUCH_HOST ||
         kind == HF_EVIDENCE_BAD_CERTIFICATE || kind == HF_EVIDENCE_COMMAND_NOT_FOUND;
}

static void tell_status(struct hf_probe *probe, const char *what, const struct hf_evidence *evidence) {
  if (evidence->redirect)
    hf_error_set(&probe->why, HF_ERR_UNAVAILABLE, "it answered %s with HTTP status %d: %s, which is not followed", what,
                 evidence->http_status, hf_redirect_text(evidence->redirect));
  else if (evidence->unread_encoding)
    hf_error_set(&probe->why, HF_ERR_UNAVAILABLE,
                 "it compressed its answer to %s, which it was not asked to, and not with gzip or deflate", what);
  else if (evidence->http_status / 100 == 2)
    hf_error_set(&probe->why, HF_ERR_UNAVAILABLE, "it answered %s with HTTP status %d, but with no message of MCP",
                 what, evidence->http_status);
  else if (evidence->http_status)
    hf_error_set(&probe->why, HF_ERR_UNAVAILABLE, "it answered %s with HTTP status %d", what, evidence->http_status);
  else if (unreachable(evidence->kind))
    hf_error_set(&probe->why, HF_ERR_UNAVAILABLE, "it cannot be reached (%s)",
                 evidence->kind == HF_EVIDENCE_CONNECT_REFUSED   ? "connection refused"
                 : evidence->kind == HF_EVIDENCE_CONNECT_TIMEOUT ? "connection timed out"
                 : evidence->kind == HF_EVIDENCE_NO_SUCH_HOST    ? "no such host"
                 : evidence->kind == HF_EVIDENCE_DNS_TEMPORARY   ? "name not resolved"
                                                                 : "TLS failed");
  else
    hf_error_set(&probe->why, HF_ERR_UNAVAILABLE, "it gave no answer to %s", what);
}

static bool is_modern_error(int64_t code) {
  return code == HF_RPC_HEADER_MISMATCH || code == HF_RPC_MISSING_CAPABILITY || code == HF_RPC_UNSUPPORTED_VERSION;
}

static void tell_error(struct hf_probe *probe, const char *what, struct hf_message *message) {
  struct hf_str text;
  if (hf_message_string(message, HF_FIELD_ERROR_MESSAGE, &text) < 0)
    text = HF_STR("");
  hf_error_set(&probe->why, HF_ERR_REFUSED, "it answered %s with error %lld: %.*s", what,
               (long long)message->error_code, (int)(text.len < 300 ? text.len : 300), text.ptr);
}

enum hf_probe_step hf_probe_discovered(struct hf_probe *probe, const struct hf_evidence *evidence,
                                       struct hf_message *message) {
  probe->discovering = false;
  if (message && message->kind == HF_MESSAGE_RESULT && message->at[HF_FIELD_SUPPORTED_VERSIONS])
    return choose(probe, hf_message_raw(message, HF_FIELD_SUPPORTED_VERSIONS), true);
  if (message && message->kind == HF_MESSAGE_ERROR && is_modern_error(message->error_code)) {
    if (message->error_code == HF_RPC_UNSUPPORTED_VERSION)
      return choose(probe, supported_in(hf_message_raw(message, HF_FIELD_ERROR_DATA)), false);
    tell_error(probe, "server/discover", message);
    return failed(probe);
  }
  if (proves_nothing(evidence->http_status) || (!message && unreachable(evidence->kind))) {
    if (probe->initializing)
      return HF_PROBE_WAIT;
    tell_status(probe, "server/discover", evidence);
    return failed(probe);
  }
  return try_initialize(probe);
}

enum hf_probe_step hf_probe_initialized(struct hf_probe *probe, const struct hf_evidence *evidence,
                                        struct hf_message *message) {
  probe->initializing = false;
  struct hf_str text;
  if (message && message->kind == HF_MESSAGE_RESULT &&
      hf_message_string(message, HF_FIELD_RESULT_VERSION, &text) == 0) {
    enum hf_version version = hf_version_parse(text);
    if (version != HF_VERSION_UNKNOWN && hf_version_era(version) == HF_ERA_LEGACY)
      return ready(probe, HF_ERA_LEGACY, version);
    hf_error_set(&probe->why, HF_ERR_UNSUPPORTED, "it answered initialize with protocol version '%.*s'",
                 (int)(text.len < 40 ? text.len : 40), text.ptr);
  } else if (message && message->kind == HF_MESSAGE_ERROR) {
    tell_error(probe, "initialize", message);
  } else if (message) {
    hf_error_set(&probe->why, HF_ERR_INVALID, "its answer to initialize has no protocol version");
  } else {
    tell_status(probe, "initialize", evidence);
  }
  probe->refuted = message != NULL;
  /* A slow modern server refuses this before it answers the probe. */
  return probe->discovering ? HF_PROBE_WAIT : failed(probe);
}

enum hf_probe_step hf_probe_closed(struct hf_probe *probe, const struct hf_evidence *evidence) {
  bool on_probe = probe->discovering && probe->wanted == HF_ERA_UNKNOWN && !probe->skip_discover;
  if (!on_probe || unreachable(evidence->kind) || evidence->kind == HF_EVIDENCE_NOT_STARTED)
    return failed(probe);
  probe->skip_discover = true;
  return HF_PROBE_REOPEN;
}

static void begin_request(struct hf_json_writer *w, struct hf_buf *buf, uint64_t id, struct hf_str method) {
  hf_json_writer_init(w, buf);
  hf_json_write_object(w);
  hf_json_write_member_str(w, "jsonrpc", HF_STR("2.0"));
  hf_json_write_member_int(w, "id", (int64_t)id);
  hf_json_write_member_str(w, "method", method);
  hf_json_write_key(w, "params");
  hf_json_write_object(w);
}

static int end_request(struct hf_json_writer *w) {
  hf_json_write_object_end(w);
  hf_json_write_object_end(w);
  return hf_json_write_finish(w);
}

int hf_probe_write_discover(struct hf_buf *buf, uint64_t id, struct hf_str capabilities) {
  struct hf_json_writer w;
  begin_request(&w, buf, id, HF_STR("server/discover"));
  hf_json_write_key(&w, "_meta");
  hf_json_write_object(&w);
  hf_json_write_member_str(&w, HF_META_VERSION, hf_version_text(HF_VERSION_NEWEST));
  hf_json_write_member_raw(&w, HF_META_CAPABILITIES, capabilities);
  hf_json_write_member_raw(&w, HF_META_CLIENT_INFO, HF_STR(HF_IMPLEMENTATION));
  hf_json_write_object_end(&w);
  return end_request(&w);
}

int hf_probe_write_initialize(struct hf_buf *buf, uint64_t id, struct hf_str capabilities) {
  struct hf_json_writer w;
  begin_request(&w, buf, id, HF_STR("initialize"));
  hf_json_write_member_str(&w, "protocolVersion", hf_version_text(HF_VERSION_LEGACY_NEWEST));
  hf_json_write_member_raw(&w, "capabilities", capabilities);
  hf_json_write_member_raw(&w, "clientInfo", HF_STR(HF_IMPLEMENTATION));
  return end_request(&w);
}
