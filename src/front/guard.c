/* SHA-256 and the constant-time comparison are nettle's: libmicrohttpd brings it into the process anyway (by GnuTLS).
 */
#include "front/guard.h"

#include <arpa/inet.h>
#include <nettle/memops.h>
#include <nettle/sha2.h>

enum { ADDRESS_MAX = 64, TOKEN_MAX = 4096 };

/* The name without the port and without the brackets of an IPv6 address; absent if it is no host. */
static struct hf_str host_name(struct hf_str host) {
  struct hf_str name = host;
  struct hf_str rest = {"", 0};
  if (host.len > 0 && host.ptr[0] == '[') {
    const char *end = memchr(host.ptr, ']', host.len);
    if (!end)
      return (struct hf_str){NULL, 0};
    size_t len = (size_t)(end - host.ptr);
    name = (struct hf_str){host.ptr + 1, len - 1};
    rest = (struct hf_str){end + 1, host.len - len - 1};
  } else {
    const char *colon = memchr(host.ptr, ':', host.len);
    if (colon) {
      name.len = (size_t)(colon - host.ptr);
      rest = (struct hf_str){colon, host.len - name.len};
    }
  }
  unsigned long long port;
  if (rest.len > 0 && (rest.ptr[0] != ':' || hf_str_to_u64((struct hf_str){rest.ptr + 1, rest.len - 1}, 65535, &port)))
    return (struct hf_str){NULL, 0};
  return name.len > 0 ? name : (struct hf_str){NULL, 0};
}

/* Returns the family of a literal address, or 0. */
static int address_family(struct hf_str name, unsigned char bytes[16]) {
  char text[ADDRESS_MAX];
  if (name.len >= sizeof(text))
    return 0;
  memcpy(text, name.ptr, name.len);
  text[name.len] = '\0';
  if (inet_pton(AF_INET, text, bytes) == 1)
    return AF_INET;
  return inet_pton(AF_INET6, text, bytes) == 1 ? AF_INET6 : 0;
}

bool hf_guard_is_loopback(struct hf_str name) {
  static const unsigned char loopback_v6[16] = {[15] = 1};
  unsigned char bytes[16];
  switch (address_family(name, bytes)) {
  case AF_INET:
    return bytes[0] == 127;
  case AF_INET6:
    return memcmp(bytes, loopback_v6, sizeof(loopback_v6)) == 0;
  default:
    return hf_str_equal_nocase(name, HF_STR("localhost"));
  }
}

static bool listens_on_all(const struct hf_settings *settings) {
  return hf_str_equal(settings->listen_host, HF_STR("0.0.0.0")) || hf_str_equal(settings->listen_host, HF_STR("::"));
}

bool hf_guard_host(const struct hf_settings *settings, struct hf_str host) {
  struct hf_str name = host_name(host);
  if (!name.ptr)
    return false;
  if (hf_guard_is_loopback(name) || hf_str_equal_nocase(name, settings->listen_host))
    return true;
  unsigned char bytes[16];
  if (listens_on_all(settings) && address_family(name, bytes) != 0)
    return true;
  for (size_t i = 0; i < settings->allowed_hosts.count; i++) {
    struct hf_str allowed = settings->allowed_hosts.item[i];
    if (hf_str_equal_nocase(allowed, name) || hf_str_equal_nocase(allowed, host))
      return true;
  }
  return false;
}

bool hf_guard_origin(const struct hf_settings *settings, struct hf_str host, struct hf_str origin) {
  struct hf_str rest = origin;
  if (hf_str_starts(origin, HF_STR("http://")))
    rest = (struct hf_str){origin.ptr + 7, origin.len - 7};
  else if (hf_str_starts(origin, HF_STR("https://")))
    rest = (struct hf_str){origin.ptr + 8, origin.len - 8};
  if (rest.len != origin.len && hf_str_equal_nocase(rest, host))
    return true;
  for (size_t i = 0; i < settings->allowed_origins.count; i++)
    if (hf_str_equal_nocase(settings->allowed_origins.item[i], origin))
      return true;
  return false;
}

const struct hf_principal_settings *hf_guard_principal(const struct hf_settings *settings,
                                                       struct hf_str authorization) {
  static const struct hf_str scheme = HF_STR("Bearer ");
  if (authorization.len <= scheme.len || authorization.len > TOKEN_MAX ||
      !hf_str_equal_nocase((struct hf_str){authorization.ptr, scheme.len}, scheme))
    return NULL;
  struct hf_str token = hf_str_trim((struct hf_str){authorization.ptr + scheme.len, authorization.len - scheme.len});
  struct sha256_ctx sha;
  uint8_t digest[SHA256_DIGEST_SIZE];
  sha256_init(&sha);
  sha256_update(&sha, token.len, (const uint8_t *)token.ptr);
  sha256_digest(&sha, sizeof(digest), digest);
  const struct hf_principal_settings *found = NULL;
  for (size_t i = 0; i < settings->principal_count; i++)
    if (memeql_sec(digest, settings->principals[i].token_sha256, sizeof(digest)))
      found = &settings->principals[i];
  return found;
}
