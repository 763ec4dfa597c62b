#include "cli/args.h"

#include "base/random.h"

#include <nettle/sha2.h>
#include <stdint.h>
#include <stdio.h>

enum { TOKEN_BYTES = 32, TOKEN_TEXT_MAX = 64 };

/* Tokens begin with a fixed word, so that secret scanners can know them. */
static size_t put_token(const uint8_t secret[TOKEN_BYTES], char text[TOKEN_TEXT_MAX]) {
  static const char alphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";
  static const char word[] = "hf_";
  size_t len = 0;
  for (; word[len]; len++)
    text[len] = word[len];
  /* Hexadecimal digits would do, but five bits per character keep it short enough to paste. */
  unsigned bits = 0;
  unsigned held = 0;
  for (size_t i = 0; i < TOKEN_BYTES; i++) {
    bits = bits << 8 | secret[i];
    for (held += 8; held >= 5; held -= 5)
      text[len++] = alphabet[bits >> (held - 5) & 31];
  }
  if (held)
    text[len++] = alphabet[bits << (5 - held) & 31];
  text[len] = '\0';
  return len;
}

int hf_cmd_token(const struct hf_args *args) {
  const char *name = args->name ? args->name : args->rest_count ? args->rest[0] : "NAME";
  uint8_t secret[TOKEN_BYTES];
  if (hf_random_secret(secret, sizeof secret) < 0)
    return hf_complain(HF_EXIT_FAILED, "token: the kernel gives no random bytes");

  char token[TOKEN_TEXT_MAX];
  size_t len = put_token(secret, token);
  struct sha256_ctx sha;
  uint8_t digest[SHA256_DIGEST_SIZE];
  sha256_init(&sha);
  sha256_update(&sha, len, (const uint8_t *)token);
  sha256_digest(&sha, sizeof digest, digest);

  printf("token, for the client (it is not shown again):\n\n  %s\n\nhash, for the configuration:\n\n"
         "  \"auth\": { \"tokens\": { \"%s\": \"sha256:",
         token, name);
  for (size_t i = 0; i < sizeof digest; i++)
    printf("%02x", digest[i]);
  printf("\" } }\n");
  return fflush(stdout) == 0 ? HF_EXIT_GOOD : HF_EXIT_FAILED;
}
