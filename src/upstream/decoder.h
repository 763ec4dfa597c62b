/* Bodies that a server compressed: gzip and deflate, as a stream.
 *
 * Nothing is asked to be compressed, because what compresses tends to hold event streams back; but servers and what
 * stands before them do it all the same. Memory is bounded, whatever the bytes expand to: the output comes in pieces,
 * and who takes them has limits of its own. */
#ifndef HF_UPSTREAM_DECODER_H
#define HF_UPSTREAM_DECODER_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

enum hf_coding {
  HF_CODING_IDENTITY,
  HF_CODING_GZIP,
  HF_CODING_DEFLATE,
  HF_CODING_UNKNOWN, /* or several on top of each other */
};

enum { HF_DECODER_PIECE = 16 << 10 };

/* What the value of a Content-Encoding header says; absent is identity. */
enum hf_coding hf_coding_of(struct hf_str content_encoding);

struct hf_decoder;

/* For GZIP or DEFLATE. Returns 0 and owned, or HF_ERR_NOMEM. */
int hf_decoder_new(enum hf_coding coding, struct hf_decoder **ret_decoder);
void hf_decoder_free(struct hf_decoder *decoder);

/* Takes from `bytes` what makes the next piece, which is borrowed until the next call: at most HF_DECODER_PIECE bytes.
 * There may be more as long as a piece is full, though all is taken. Returns 0, HF_ERR_SYNTAX or HF_ERR_NOMEM. */
int hf_decoder_read(struct hf_decoder *decoder, struct hf_str bytes, size_t *ret_used, struct hf_str *ret_piece);

/* True if the body may end here: with nothing at all, or with a checksum that was right. */
bool hf_decoder_is_done(const struct hf_decoder *decoder);

#endif
