#include "gateway/question/signed_state.h"

#include "base/alloc.h"
#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct hf_signed_state state_of_call = {
    .call = {.byte = {1, 2, 3, 250, [31] = 9}}, .expires_ms = 1700000600000, .tries = 1};

static struct hf_buf written(const struct hf_signer *signer, const struct hf_signed_state *state) {
  struct hf_buf text;
  hf_buf_init(&text, HF_SIGNED_STATE_MAX);
  assert_int_equal(hf_signed_state_write(signer, state, &text), 0);
  return text;
}

static int read_at(const struct hf_signer *signer, struct hf_str text, int64_t now_ms) {
  struct hf_signed_state read;
  return hf_signed_state_read(signer, text, &state_of_call.call, now_ms, &read);
}

static void signed_state__says_what_was_written(void **state) {
  (void)state;
  struct hf_signer signer;
  assert_int_equal(hf_signer_init(&signer), 0);
  struct hf_buf text = written(&signer, &state_of_call);
  struct hf_signed_state read;
  assert_int_equal(hf_signed_state_read(&signer, hf_buf_str(&text), &state_of_call.call, 1700000599999, &read), 0);
  assert_int_equal(read.tries, 1);
  assert_int_equal(read.expires_ms, 1700000600000);
  assert_memory_equal(read.call.byte, state_of_call.call.byte, HF_FINGERPRINT_LEN);
  for (size_t i = 0; i < text.len; i++)
    assert_true(text.data[i] > ' ' && text.data[i] < 127 && text.data[i] != '"' && text.data[i] != '\\');
  hf_buf_deinit(&text);
}

static void signed_state__no_byte_of_it_can_be_changed(void **state) {
  (void)state;
  struct hf_signer signer;
  assert_int_equal(hf_signer_init(&signer), 0);
  struct hf_buf text = written(&signer, &state_of_call);
  for (size_t i = 0; i < text.len; i++) {
    const char was = text.data[i];
    text.data[i] = was == '0' ? '1' : '0';
    assert_int_equal(read_at(&signer, hf_buf_str(&text), 0), HF_ERR_INVALID);
    text.data[i] = was;
  }
  for (size_t len = 0; len < text.len; len++)
    assert_int_equal(read_at(&signer, (struct hf_str){text.data, len}, 0), HF_ERR_INVALID);
  assert_int_equal(hf_buf_append_str(&text, HF_STR("0")), 0);
  assert_int_equal(read_at(&signer, hf_buf_str(&text), 0), HF_ERR_INVALID);
  hf_buf_deinit(&text);
}

static void signed_state__of_another_gateway_is_not_taken(void **state) {
  (void)state;
  struct hf_signer signer, other;
  assert_int_equal(hf_signer_init(&signer), 0);
  assert_int_equal(hf_signer_init(&other), 0);
  struct hf_buf text = written(&other, &state_of_call);
  assert_false(hf_signed_state_is_ours(&signer, hf_buf_str(&text)));
  assert_true(hf_signed_state_is_like_ours(hf_buf_str(&text)));
  assert_int_equal(read_at(&signer, hf_buf_str(&text), 0), HF_ERR_INVALID);
  hf_buf_deinit(&text);

  /* Its name is public, so it proves nothing. */
  memcpy(other.name, signer.name, sizeof other.name);
  text = written(&other, &state_of_call);
  assert_true(hf_signed_state_is_ours(&signer, hf_buf_str(&text)));
  assert_int_equal(read_at(&signer, hf_buf_str(&text), 0), HF_ERR_INVALID);
  hf_buf_deinit(&text);
  assert_false(hf_signed_state_is_like_ours(HF_STR("a server's own")));
}

static void signed_state__ends_at_its_time(void **state) {
  (void)state;
  struct hf_signer signer;
  assert_int_equal(hf_signer_init(&signer), 0);
  struct hf_buf text = written(&signer, &state_of_call);
  assert_int_equal(read_at(&signer, hf_buf_str(&text), 1700000599999), 0);
  assert_int_equal(read_at(&signer, hf_buf_str(&text), 1700000600000), HF_ERR_CLOSED);
  hf_buf_deinit(&text);
}

static void signed_state__belongs_to_one_call(void **state) {
  (void)state;
  struct hf_signer signer;
  assert_int_equal(hf_signer_init(&signer), 0);
  struct hf_buf text = written(&signer, &state_of_call);
  struct hf_fingerprint other = state_of_call.call;
  other.byte[31] ^= 1;
  struct hf_signed_state read = {.tries = 77};
  assert_int_equal(hf_signed_state_read(&signer, hf_buf_str(&text), &other, 0, &read), HF_ERR_NOTFOUND);
  assert_int_equal(read.tries, 77);
  hf_buf_deinit(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(signed_state__says_what_was_written),
      cmocka_unit_test(signed_state__no_byte_of_it_can_be_changed),
      cmocka_unit_test(signed_state__of_another_gateway_is_not_taken),
      cmocka_unit_test(signed_state__ends_at_its_time),
      cmocka_unit_test(signed_state__belongs_to_one_call),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
