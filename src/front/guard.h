/* Who may talk to this front: Host and Origin (against DNS rebinding and foreign web pages), and bearer tokens.
 *
 * Pure: settings in, verdict out. */
#ifndef HF_FRONT_GUARD_H
#define HF_FRONT_GUARD_H

#include "gateway/settings.h"

/* True for addresses and names that only this machine can reach. */
bool hf_guard_is_loopback(struct hf_str host);

/* True if a page or program that names us `host` (the Host header) means us: the listen address, a loopback name, or
 * one of allowed_hosts. Behind a wildcard address any literal IP address is ours as well: it cannot be rebound. */
bool hf_guard_host(const struct hf_settings *settings, struct hf_str host);

/* True if a web page of `origin` may use us: it was served by `host` itself, or is one of allowed_origins. */
bool hf_guard_origin(const struct hf_settings *settings, struct hf_str host, struct hf_str origin);

/* Finds whose token the Authorization header carries, in time that does not depend on how much of it is right. Returns
 * NULL if it is nobody's. */
const struct hf_principal_settings *hf_guard_principal(const struct hf_settings *settings, struct hf_str authorization);

#endif
