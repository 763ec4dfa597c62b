/* A connected stream of bytes: a plain socket, or libcurl's TLS over one.
 *
 * Reading and writing never block. libcurl's easy handle stays attached to a multi of its own as long as the wire
 * lives, for only so does curl_easy_send find the connection. */
#ifndef HF_UPSTREAM_WIRE_H
#define HF_UPSTREAM_WIRE_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

struct hf_wire {
  int fd;      /* owned where `easy` is NULL, else libcurl's */
  void *easy;  /* CURL *, or NULL for a plain socket */
  void *multi; /* CURLM * */
};

enum { HF_WIRE_PARTS_MAX = 20 };

void hf_wire_close(struct hf_wire *wire);

/* Writes what it can of `parts`, in order, and says how much was handed over (also on failure). Returns 0 (all of it),
 * HF_ERR_AGAIN (wait until writable), or HF_ERR_IO. After HF_ERR_AGAIN go on with exactly the rest. */
int hf_wire_write(struct hf_wire *wire, const struct hf_str *parts, size_t count, size_t *ret_written);

/* Reads up to `max` bytes. Returns 0 and *ret_len > 0; HF_ERR_AGAIN; HF_ERR_CLOSED (end of stream); HF_ERR_IO. */
int hf_wire_read(struct hf_wire *wire, char *bytes, size_t max, size_t *ret_len);

/* True if there may be bytes to read that poll() on `fd` would not announce. */
bool hf_wire_hides_bytes(const struct hf_wire *wire);

#endif
