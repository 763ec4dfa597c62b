#include "upstream/wire.h"

#include "base/error.h"

#include <curl/curl.h>
#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

void hf_wire_close(struct hf_wire *wire) {
  if (wire->easy) {
    curl_multi_remove_handle(wire->multi, wire->easy);
    curl_easy_cleanup(wire->easy);
    curl_multi_cleanup(wire->multi);
  } else if (wire->fd >= 0) {
    close(wire->fd);
  }
  *wire = (struct hf_wire){.fd = -1};
}

static int write_plain(struct hf_wire *wire, const struct hf_str *parts, size_t count, size_t *ret_written) {
  struct iovec iov[HF_WIRE_PARTS_MAX];
  size_t total = 0;
  for (size_t i = 0; i < count; i++) {
    iov[i] = (struct iovec){.iov_base = (char *)(size_t)parts[i].ptr, .iov_len = parts[i].len};
    total += parts[i].len;
  }
  struct msghdr message = {.msg_iov = iov, .msg_iovlen = count};
  ssize_t n;
  do
    n = sendmsg(wire->fd, &message, MSG_NOSIGNAL);
  while (n < 0 && errno == EINTR);
  if (n < 0)
    return errno == EAGAIN || errno == EWOULDBLOCK ? HF_ERR_AGAIN : HF_ERR_IO;
  *ret_written = (size_t)n;
  return (size_t)n == total ? 0 : HF_ERR_AGAIN;
}

int hf_wire_write(struct hf_wire *wire, const struct hf_str *parts, size_t count, size_t *ret_written) {
  *ret_written = 0;
  if (!wire->easy)
    return write_plain(wire, parts, count, ret_written);
  for (size_t i = 0; i < count; i++) {
    size_t at = 0;
    while (at < parts[i].len) {
      size_t n = 0;
      CURLcode code = curl_easy_send(wire->easy, parts[i].ptr + at, parts[i].len - at, &n);
      at += n;
      *ret_written += n;
      if (code == CURLE_AGAIN)
        return HF_ERR_AGAIN;
      if (code != CURLE_OK)
        return HF_ERR_IO;
    }
  }
  return 0;
}

int hf_wire_read(struct hf_wire *wire, char *bytes, size_t max, size_t *ret_len) {
  if (wire->easy) {
    size_t n = 0;
    CURLcode code = curl_easy_recv(wire->easy, bytes, max, &n);
    if (code == CURLE_AGAIN)
      return HF_ERR_AGAIN;
    if (code != CURLE_OK)
      return HF_ERR_IO;
    *ret_len = n;
    return n ? 0 : HF_ERR_CLOSED;
  }
  ssize_t n;
  do
    n = recv(wire->fd, bytes, max, 0);
  while (n < 0 && errno == EINTR);
  if (n < 0)
    return errno == EAGAIN || errno == EWOULDBLOCK ? HF_ERR_AGAIN : HF_ERR_IO;
  *ret_len = (size_t)n;
  return n ? 0 : HF_ERR_CLOSED;
}

bool hf_wire_hides_bytes(const struct hf_wire *wire) {
  return wire->easy != NULL;
}
