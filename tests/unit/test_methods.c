#include "mcp/methods.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void methods__each_row_stands_in_its_place(void **state) {
  (void)state;
  for (int i = 0; i < HF_METHOD_COUNT; i++) {
    const struct hf_method_info *info = hf_method_info((enum hf_method)i);
    assert_int_equal(info->method, i);
    assert_non_null(info->name.ptr);
    if (i == HF_METHOD_UNKNOWN)
      continue;
    assert_int_equal(hf_method_find(info->name), i);
    assert_true(info->flags & (HF_METHOD_TO_SERVER | HF_METHOD_TO_CLIENT));
    assert_true(info->flags & (HF_METHOD_LEGACY | HF_METHOD_MODERN));
    bool notification = hf_str_starts(info->name, HF_STR("notifications/"));
    assert_int_equal(notification, !(info->flags & HF_METHOD_REQUEST));
  }
  assert_int_equal(hf_method_find(HF_STR("tools/Call")), HF_METHOD_UNKNOWN);
  assert_int_equal(hf_method_find(HF_STR("")), HF_METHOD_UNKNOWN);
}

static void methods__say_what_they_are_about(void **state) {
  (void)state;
  assert_int_equal(hf_method_info(hf_method_find(HF_STR("tools/call")))->target, HF_TARGET_NAME);
  assert_int_equal(hf_method_info(hf_method_find(HF_STR("prompts/get")))->target, HF_TARGET_NAME);
  assert_int_equal(hf_method_info(hf_method_find(HF_STR("resources/read")))->target, HF_TARGET_URI);
  assert_int_equal(hf_method_info(hf_method_find(HF_STR("tasks/get")))->target, HF_TARGET_TASK);
  assert_true(hf_str_equal(hf_method_info(hf_method_find(HF_STR("resources/templates/list")))->list,
                           HF_STR("resourceTemplates")));
}

static void methods__belong_to_their_eras(void **state) {
  (void)state;
  static const struct {
    const char *name;
    unsigned eras;
  } rows[] = {
      {"initialize", HF_METHOD_LEGACY},
      {"ping", HF_METHOD_LEGACY},
      {"logging/setLevel", HF_METHOD_LEGACY},
      {"resources/subscribe", HF_METHOD_LEGACY},
      {"tasks/result", HF_METHOD_LEGACY},
      {"sampling/createMessage", HF_METHOD_LEGACY},
      {"server/discover", HF_METHOD_MODERN},
      {"subscriptions/listen", HF_METHOD_MODERN},
      {"tools/call", HF_METHOD_LEGACY | HF_METHOD_MODERN},
      {"notifications/cancelled", HF_METHOD_LEGACY | HF_METHOD_MODERN},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    unsigned flags = hf_method_info(hf_method_find(hf_str_from(rows[i].name)))->flags;
    assert_int_equal(flags & (HF_METHOD_LEGACY | HF_METHOD_MODERN), rows[i].eras);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(methods__each_row_stands_in_its_place),
      cmocka_unit_test(methods__say_what_they_are_about),
      cmocka_unit_test(methods__belong_to_their_eras),
  };
  return cmocka_run_group_tests_name("methods", tests, NULL, NULL);
}
