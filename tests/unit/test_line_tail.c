#include "mcp/line_tail.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void line_tail__id(void **state) {
  (void)state;
  static const struct {
    const char *line, *id; /* NULL: none */
  } cases[] = {
      {"…},\"id\":7}", "7"},
      {"…},\"id\":7}\n", "7"},
      {"…},\"id\":7}\r\n", "7"},
      {"…}, \"id\" : 1234567 , \"jsonrpc\" : \"2.0\" }", "1234567"},
      {"…,\"id\":7}}", NULL}, /* of something inside */
      {"…,\"id\":7},\"jsonrpc\":\"2.0\"}", NULL},
      {"…,\"uid\":7}", NULL},
      {"…,\"id\":\"7\"}", NULL},
      {"…,\"id\":-7}", NULL},
      {"…,\"id\":1 2}", NULL},
      {"…,\"id\":}", NULL},
      {"…,\"id\":7", NULL}, /* cut */
      {"7}", NULL},
      {"}", NULL},
      {"\n", NULL},
      {"", NULL},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct hf_line_tail tail = {0};
    hf_line_tail_add(&tail, hf_str_from(cases[i].line));
    struct hf_str id = hf_line_tail_id(&tail);
    if (!cases[i].id) {
      assert_null(id.ptr);
      continue;
    }
    assert_int_equal(id.len, strlen(cases[i].id));
    assert_memory_equal(id.ptr, cases[i].id, id.len);
  }
}

static void line_tail__keeps_the_last_bytes_of_many_pieces(void **state) {
  (void)state;
  char filler[500];
  memset(filler, 'x', sizeof filler);
  struct hf_line_tail tail = {0};
  hf_line_tail_add(&tail, (struct hf_str){filler, sizeof filler});
  hf_line_tail_add(&tail, (struct hf_str){filler, 3});
  hf_line_tail_add(&tail, HF_STR("\",\"i"));
  hf_line_tail_add(&tail, HF_STR("d\":4"));
  hf_line_tail_add(&tail, HF_STR("2"));
  hf_line_tail_add(&tail, HF_STR("}\n"));
  assert_int_equal(tail.len, HF_LINE_TAIL_MAX);
  struct hf_str id = hf_line_tail_id(&tail);
  assert_int_equal(id.len, 2);
  assert_memory_equal(id.ptr, "42", 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(line_tail__id),
      cmocka_unit_test(line_tail__keeps_the_last_bytes_of_many_pieces),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
