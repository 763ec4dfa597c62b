#include "upstream/decoder.h"

#include "base/alloc.h"
#include "base/error.h"

#include <zlib.h>

enum { WINDOW_BITS = 15, GZIP_ONLY = 16, HEADER_LEN = 2, ZLIB_METHOD = 8, ZLIB_CHECK = 31 };

static const unsigned char gzip_magic[HEADER_LEN] = {0x1f, 0x8b};

struct hf_decoder {
  enum hf_coding coding;
  bool begun;    /* zlib knows which format it is */
  bool ended;    /* a member is complete; another one may follow */
  bool trailing; /* what follows is no member, and is dropped */
  unsigned char header[HEADER_LEN];
  size_t header_len;
  z_stream zlib;
  size_t piece_len;
  char piece[HF_DECODER_PIECE];
};

enum hf_coding hf_coding_of(struct hf_str content_encoding) {
  static const struct {
    const char *name;
    enum hf_coding coding;
  } names[] = {{"identity", HF_CODING_IDENTITY},
               {"gzip", HF_CODING_GZIP},
               {"x-gzip", HF_CODING_GZIP},
               {"deflate", HF_CODING_DEFLATE}};
  const struct hf_str value = hf_str_trim(content_encoding);
  if (!value.len)
    return HF_CODING_IDENTITY;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (hf_str_equal_nocase(value, hf_str_from(names[i].name)))
      return names[i].coding;
  return HF_CODING_UNKNOWN;
}

static voidpf allocate(voidpf context, uInt count, uInt size) {
  (void)context;
  return hf_calloc(count, size);
}

static void release(voidpf context, voidpf address) {
  (void)context;
  hf_free(address);
}

int hf_decoder_new(enum hf_coding coding, struct hf_decoder **ret_decoder) {
  struct hf_decoder *decoder = hf_calloc(1, sizeof *decoder);
  if (!decoder)
    return HF_ERR_NOMEM;
  decoder->coding = coding;
  decoder->zlib.zalloc = allocate;
  decoder->zlib.zfree = release;
  *ret_decoder = decoder;
  return 0;
}

void hf_decoder_free(struct hf_decoder *decoder) {
  if (!decoder)
    return;
  if (decoder->begun)
    inflateEnd(&decoder->zlib);
  hf_free(decoder);
}

bool hf_decoder_is_done(const struct hf_decoder *decoder) {
  return decoder->ended || (!decoder->begun && !decoder->header_len);
}

/* "deflate" should be the zlib format, and often is the bare one: RFC 9110, 8.4.1.2. */
static int window_bits(const struct hf_decoder *decoder) {
  const unsigned char *h = decoder->header;
  if (decoder->coding == HF_CODING_GZIP)
    return WINDOW_BITS + GZIP_ONLY;
  bool has_header = (h[0] & 0x0f) == ZLIB_METHOD && (h[0] << 8 | h[1]) % ZLIB_CHECK == 0;
  return has_header ? WINDOW_BITS : -WINDOW_BITS;
}

/* Collects the two bytes that tell the formats apart. Returns how many it took. */
static size_t take_header(struct hf_decoder *decoder, struct hf_str bytes) {
  size_t used = 0;
  while (used < bytes.len && decoder->header_len < HEADER_LEN)
    decoder->header[decoder->header_len++] = (unsigned char)bytes.ptr[used++];
  return used;
}

/* The next member, or what a careless writer left behind the last one. */
static int begin(struct hf_decoder *decoder) {
  if (decoder->ended && (decoder->coding != HF_CODING_GZIP || memcmp(decoder->header, gzip_magic, HEADER_LEN) != 0)) {
    decoder->trailing = true;
    return 0;
  }
  int r = decoder->begun ? inflateReset(&decoder->zlib) : inflateInit2(&decoder->zlib, window_bits(decoder));
  if (r != Z_OK)
    return r == Z_MEM_ERROR ? HF_ERR_NOMEM : HF_ERR_INVALID;
  decoder->begun = true;
  decoder->ended = false;
  return 0;
}

/* Appends to the piece. Returns 0 and how many bytes it took. */
static int run(struct hf_decoder *decoder, const void *bytes, size_t len, size_t *ret_used) {
  z_stream *zlib = &decoder->zlib;
  uInt given = len < UINT_MAX ? (uInt)len : UINT_MAX;
  zlib->next_in = (z_const Bytef *)bytes;
  zlib->avail_in = given;
  zlib->next_out = (Bytef *)decoder->piece + decoder->piece_len;
  zlib->avail_out = (uInt)(HF_DECODER_PIECE - decoder->piece_len);
  int r = inflate(zlib, Z_SYNC_FLUSH);
  decoder->piece_len = HF_DECODER_PIECE - zlib->avail_out;
  *ret_used = given - zlib->avail_in;
  switch (r) {
  case Z_OK:
  case Z_BUF_ERROR: /* there was nothing to do */
    return 0;
  case Z_STREAM_END:
    decoder->ended = true;
    decoder->header_len = 0;
    return 0;
  case Z_MEM_ERROR:
    return HF_ERR_NOMEM;
  default:
    return HF_ERR_SYNTAX;
  }
}

static int read_member(struct hf_decoder *decoder, struct hf_str bytes, size_t *ret_used) {
  size_t header = 0;
  size_t used = 0;
  *ret_used = bytes.len;
  if (!decoder->begun || decoder->ended) {
    header = take_header(decoder, bytes);
    if (decoder->header_len < HEADER_LEN)
      return 0;
    int r = begin(decoder);
    if (r == 0 && !decoder->trailing)
      r = run(decoder, decoder->header, HEADER_LEN, &used); /* takes both: its window has room */
    if (r < 0 || decoder->trailing)
      return r;
  }
  used = 0;
  int r = decoder->ended ? 0 : run(decoder, bytes.ptr + header, bytes.len - header, &used);
  *ret_used = header + used;
  return r;
}

int hf_decoder_read(struct hf_decoder *decoder, struct hf_str bytes, size_t *ret_used, struct hf_str *ret_piece) {
  decoder->piece_len = 0;
  *ret_used = bytes.len;
  int r = decoder->trailing ? 0 : read_member(decoder, bytes, ret_used);
  *ret_piece = (struct hf_str){decoder->piece, decoder->piece_len};
  return r;
}
