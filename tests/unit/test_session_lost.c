#include "upstream/session_lost.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void session_lost__knows_the_wordings(void **state) {
  (void)state;
  static const char *const lost[] = {
      "Session not found",
      "Bad Request: No valid session ID provided",
      "Bad Request: Mcp-Session-Id header is required",
      "Bad Request: Server not initialized",
      "Session terminated",
      "session 42 has expired",
      "Missing session ID",
      "Invalid session id",
      "{\"error\":\"UNKNOWN SESSION\"}",
      "No transport found for sessionId",
  };
  for (size_t i = 0; i < sizeof lost / sizeof lost[0]; i++)
    assert_true(hf_says_session_lost(hf_str_from(lost[i])));
}

static void session_lost__needs_both_a_session_and_its_absence(void **state) {
  (void)state;
  static const char *const other[] = {
      "", "Not Found", "tool not found", "invalid arguments", "the session is busy", "session", "upstream terminated",
  };
  for (size_t i = 0; i < sizeof other / sizeof other[0]; i++)
    assert_false(hf_says_session_lost(hf_str_from(other[i])));
  assert_false(hf_says_session_lost((struct hf_str){NULL, 0}));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(session_lost__knows_the_wordings),
      cmocka_unit_test(session_lost__needs_both_a_session_and_its_absence),
  };
  return cmocka_run_group_tests_name("session_lost", tests, NULL, NULL);
}
