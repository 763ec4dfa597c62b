/* Bytes that several owners share, and messages put together from runs of them without copying.
 *
 * A blob is immutable once shared. Pieces hold a reference to each blob they point into, so a 16 MiB answer goes from
 * an upstream's read buffer to a client's socket without being copied, whatever was spliced at its ends.
 * Single-threaded. */
#ifndef HF_BASE_BLOB_H
#define HF_BASE_BLOB_H

#include "base/buf.h"
#include "base/str.h"

#include <sys/types.h>

struct hf_blob;

/* Takes the memory of `buf` (which is left empty). Returns owned, or NULL when out of memory (then `buf` is untouched).
 */
struct hf_blob *hf_blob_take(struct hf_buf *buf);

/* Copies. Returns owned, or NULL. */
struct hf_blob *hf_blob_copy(struct hf_str s);

struct hf_blob *hf_blob_ref(struct hf_blob *blob);
void hf_blob_unref(struct hf_blob *blob); /* NULL is fine */
struct hf_str hf_blob_str(const struct hf_blob *blob);

struct hf_piece {
  struct hf_blob *blob; /* a reference */
  struct hf_str bytes;  /* within it */
};

enum { HF_PIECES_MAX = 16 };

struct hf_pieces {
  struct hf_piece piece[HF_PIECES_MAX];
  size_t count;
  size_t len; /* sum of all pieces */
};

void hf_pieces_init(struct hf_pieces *pieces);
void hf_pieces_deinit(struct hf_pieces *pieces);

/* Appends a run of `blob` (takes its own reference). Returns 0 or HF_ERR_LIMIT. */
int hf_pieces_add(struct hf_pieces *pieces, struct hf_blob *blob, struct hf_str bytes);

/* Appends a copy of `s`. Returns 0, HF_ERR_LIMIT or HF_ERR_NOMEM. */
int hf_pieces_add_copy(struct hf_pieces *pieces, struct hf_str s);

/* Moves: `from` is left empty, what `to` held is released. */
void hf_pieces_move(struct hf_pieces *to, struct hf_pieces *from);

/* What is left behind the first `skip` bytes, as runs: for a writer that takes it bit by bit. Returns how many. */
size_t hf_pieces_after(const struct hf_pieces *pieces, size_t skip, struct hf_str ret_parts[HF_PIECES_MAX]);

/* Writes what is left behind the first `skip` bytes, as far as the descriptor takes it at once. Returns what writev
 * does, but is not interrupted by signals. */
ssize_t hf_pieces_write(int fd, const struct hf_pieces *pieces, size_t skip);

/* Joins all bytes into `buf` (for small messages and tests). */
int hf_pieces_join(const struct hf_pieces *pieces, struct hf_buf *buf);

#endif
