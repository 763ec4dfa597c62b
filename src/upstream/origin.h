/* The URL of a server, taken apart: where to connect, and what a request line and a Host header say. */
#ifndef HF_UPSTREAM_ORIGIN_H
#define HF_UPSTREAM_ORIGIN_H

#include "base/buf.h"
#include "base/error.h"

enum { HF_URL_MAX = 8192 };

struct hf_origin {
  struct hf_buf base;          /* scheme://host:port/ with a NUL behind, without credentials */
  struct hf_buf host;          /* for `Host` */
  struct hf_buf target;        /* path and query */
  struct hf_buf authorization; /* "Basic …" from credentials in the URL, else empty */
};

/* Returns 0, HF_ERR_INVALID (not http or https, malformed) or HF_ERR_NOMEM. Texts never repeat the URL, which may hold
 * secrets. */
int hf_origin_parse(struct hf_origin *origin, struct hf_str url, struct hf_error *reterr);

/* Resolves `reference` against `from`, a target of this origin (RFC 3986). Returns 0 and the new target, HF_ERR_REFUSED
 * if it leads to another origin, HF_ERR_INVALID or HF_ERR_NOMEM. */
int hf_origin_resolve(const struct hf_origin *origin, struct hf_str from, struct hf_str reference,
                      struct hf_buf *target);

void hf_origin_deinit(struct hf_origin *origin);

#endif
