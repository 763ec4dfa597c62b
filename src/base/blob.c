#include "base/blob.h"

#include "base/alloc.h"
#include "base/error.h"

#include <errno.h>
#include <stdint.h>
#include <sys/uio.h>

struct hf_blob {
  size_t refs;
  char *data;
  size_t len;
};

static struct hf_blob *blob_new(char *data, size_t len) {
  struct hf_blob *blob = hf_malloc(sizeof *blob);
  if (blob)
    *blob = (struct hf_blob){.refs = 1, .data = data, .len = len};
  return blob;
}

struct hf_blob *hf_blob_take(struct hf_buf *buf) {
  struct hf_blob *blob = blob_new(buf->data, buf->len);
  if (blob)
    hf_buf_init(buf, buf->max);
  return blob;
}

struct hf_blob *hf_blob_copy(struct hf_str s) {
  char *data = hf_strndup(s.ptr, s.len);
  if (!data)
    return NULL;
  struct hf_blob *blob = blob_new(data, s.len);
  if (!blob)
    hf_free(data);
  return blob;
}

struct hf_blob *hf_blob_ref(struct hf_blob *blob) {
  blob->refs++;
  return blob;
}

void hf_blob_unref(struct hf_blob *blob) {
  if (!blob || --blob->refs)
    return;
  hf_free(blob->data);
  hf_free(blob);
}

struct hf_str hf_blob_str(const struct hf_blob *blob) {
  return (struct hf_str){blob->data ? blob->data : "", blob->len};
}

void hf_pieces_init(struct hf_pieces *pieces) {
  pieces->count = 0;
  pieces->len = 0;
}

void hf_pieces_deinit(struct hf_pieces *pieces) {
  for (size_t i = 0; i < pieces->count; i++)
    hf_blob_unref(pieces->piece[i].blob);
  hf_pieces_init(pieces);
}

int hf_pieces_add(struct hf_pieces *pieces, struct hf_blob *blob, struct hf_str bytes) {
  if (bytes.len == 0)
    return 0;
  if (pieces->count == HF_PIECES_MAX)
    return HF_ERR_LIMIT;
  pieces->piece[pieces->count++] = (struct hf_piece){hf_blob_ref(blob), bytes};
  pieces->len += bytes.len;
  return 0;
}

int hf_pieces_add_copy(struct hf_pieces *pieces, struct hf_str s) {
  if (s.len == 0)
    return 0;
  struct hf_blob *blob = hf_blob_copy(s);
  if (!blob)
    return HF_ERR_NOMEM;
  int r = hf_pieces_add(pieces, blob, hf_blob_str(blob));
  hf_blob_unref(blob);
  return r;
}

void hf_pieces_move(struct hf_pieces *to, struct hf_pieces *from) {
  hf_pieces_deinit(to);
  *to = *from;
  hf_pieces_init(from);
}

size_t hf_pieces_after(const struct hf_pieces *pieces, size_t skip, struct hf_str ret_parts[HF_PIECES_MAX]) {
  size_t count = 0;
  for (size_t i = 0; i < pieces->count; i++) {
    struct hf_str bytes = pieces->piece[i].bytes;
    if (skip >= bytes.len) {
      skip -= bytes.len;
      continue;
    }
    ret_parts[count++] = (struct hf_str){bytes.ptr + skip, bytes.len - skip};
    skip = 0;
  }
  return count;
}

ssize_t hf_pieces_write(int fd, const struct hf_pieces *pieces, size_t skip) {
  struct hf_str parts[HF_PIECES_MAX];
  struct iovec iov[HF_PIECES_MAX];
  size_t count = hf_pieces_after(pieces, skip, parts);
  for (size_t i = 0; i < count; i++)
    iov[i] = (struct iovec){(void *)(uintptr_t)parts[i].ptr, parts[i].len};
  ssize_t n;
  do {
    n = writev(fd, iov, (int)count);
  } while (n < 0 && errno == EINTR);
  return n;
}

int hf_pieces_join(const struct hf_pieces *pieces, struct hf_buf *buf) {
  int r = hf_buf_reserve(buf, pieces->len);
  for (size_t i = 0; r == 0 && i < pieces->count; i++)
    r = hf_buf_append_str(buf, pieces->piece[i].bytes);
  return r;
}
