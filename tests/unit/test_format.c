#include "schema/format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/buf.h"

struct row {
  const char *format;
  const char *fits[24];
  const char *does_not[40];
};

static bool check(const char *format, struct hf_str text) {
  hf_format_check function = hf_format_find(hf_str_from(format));
  assert_non_null(function);
  unsigned long before = hf_alloc_count();
  bool fits = function(text);
  assert_int_equal(hf_alloc_count(), before);
  return fits;
}

static void check_rows(const struct row *rows, size_t count) {
  for (size_t i = 0; i < count; i++) {
    for (size_t j = 0; rows[i].fits[j]; j++) {
      if (!check(rows[i].format, hf_str_from(rows[i].fits[j])))
        fail_msg("%s: '%s' does not fit", rows[i].format, rows[i].fits[j]);
    }
    for (size_t j = 0; rows[i].does_not[j]; j++) {
      if (check(rows[i].format, hf_str_from(rows[i].does_not[j])))
        fail_msg("%s: '%s' fits", rows[i].format, rows[i].does_not[j]);
    }
  }
}

static void format__knows_times(void **state) {
  (void)state;
  static const struct row rows[] = {
      {"date",
       {"1963-06-19", "2020-02-29", "0400-02-29", "0000-01-01"},
       {"2021-02-29", "2100-02-29", "2020-04-31", "2020-13-01", "2020-00-10", "2020-01-00", "2020-1-01", "20200101",
        "2020-01-01Z", "2020-01-0a", "+2020-01-01", "2020/01/01", ""}},
      {"time",
       {"08:30:06Z", "08:30:06.283185z", "08:30:06+00:20", "23:59:60Z", "01:29:60+01:30", "15:59:60-08:00"},
       {"08:30:06", "24:00:00Z", "00:60:00Z", "00:00:61Z", "22:59:60Z", "23:59:60+01:00", "08:30:06.Z",
        "08:30:06+24:00", "08:30:06+00:60", "08:30:06+0020", "08:30:06Z+00:00", "8:30:06Z", "08:30:06#00:20",
        "08-30-06Z", ""}},
      {"date-time",
       {"1963-06-19T08:30:06.283185Z", "1937-01-01t12:00:27.87+00:20", "1998-12-31T23:59:60Z"},
       {"1963-06-19 08:30:06Z", "1963-06-19", "1990-02-31T15:59:59Z", "1985-04-12T23:20:50+01", "1998-12-31T23:58:60Z",
        "T08:30:06Z", ""}},
      {"duration",
       {"P4Y", "PT0S", "P1Y2M3DT4H5M6S", "P2W", "P1M2D", "PT1H30M", "P1DT12H", "P01D"},
       {"P", "PT", "P1", "P1YT", "P1Y2D", "PT1H2S", "P2D1Y", "P1Y2W", "P1WT1H", "PT0.5S", "-P1D", "P-1D", "1D", "P1D2H",
        "PT1D", "P1d", ""}},
  };
  check_rows(rows, sizeof rows / sizeof rows[0]);
}

static void format__knows_hosts(void **state) {
  (void)state;
  static const struct row rows[] = {
      {"ipv4",
       {"192.168.0.1", "0.0.0.0", "255.255.255.255"},
       {"256.1.1.1", "1.2.3", "1.2.3.4.5", "01.2.3.4", "1.2.3.4.", ".1.2.3.4", "1..2.3", "1.2.3.a", " 1.2.3.4", "127.1",
        "1.2.3.1000", ""}},
      {"ipv6",
       {"::1", "::", "d6::", "1:2:3:4:5:6:7:8", "1::d6:192.168.0.1", "1:2:3:4:5:6:255.255.255.255", "::42:ff:1",
        "1:2:3:4:5:6:7::"},
       {"12345::", ":1", "1:", "1::d6::42", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8::", ":::",
        "127.0.0.1", "::1.2.3", "1.2.3.4::", "fe80::a%eth1", "[::1]", "::g", ":2:3:4::8", "1:2:3:4:5:::8", ""}},
      {"hostname",
       {"www.example.com", "1host", "a--b.com", "ab--cd.com", "xn--9n2bp8q.xn--9t4b11yi5a", "xn--zca29lwxobi7a",
        "xn--ihqwcrb4cv8a8dqg056pqjye", "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijk.com"},
       {"", ".", ".example", "example.", "-host", "host-", "host_name", "a..b", "\u212aelvin.example.com", "xn--X",
        "xn--", "xn--hello-zed", "xn--al-0ea", "XN--aa---o47jg78q", "xn--example-", "xn---9uc", "xn--7a",
        "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijkl.com"}},
      {"idn-hostname",
       {"\uc2e4\ub840.\ud14c\uc2a4\ud2b8", "a\u3002b", "a\uff0eb", "l\u00b7l", "\u03b1\u0375\u03b2",
        "\u05d0\u05f3\u05d1", "\u30fb\u30a1", "\u0628\u0660\u0628", "\u06f00", "\u0915\u094d\u200d\u0937",
        "\u0628\u064a\u200c\u0628\u064a", "stra\u00dfe.example", "\u06fd\u06fe"},
       {"",
        "\u3002",
        "example\u3002",
        "a\u00b7l",
        "l\u00b7",
        "\u03b1\u0375S",
        "A\u05f3\u05d1",
        "def\u30fbabc",
        "\u0628\u0660\u06f0",
        "\u0915\u200d\u0937",
        "\u200c",
        "\u0300hello",
        "a\u05d0",
        "0\u0627",
        "\u05d00\u0660",
        "\u0640\u07fa",
        "\u302e\uc2e4",
        "0a.\u05d0",
        "1.xn--4dbc5h",
        "\U0001f432",
        "\u00fc\u00fc--\u00fc",
        "-\u00fc",
        "\u00fc-",
        "a_\u00fc",
        "\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc"
        "\u00fc\u00fc"
        "\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc"
        "\u00fc\u00fc"
        "\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc"
        "\u00fc\u00fc"}},
      {"email",
       {"joe.bloggs@example.com", "~te~st@example.com", "\"joe..bl@ggs\"@example.com", "\"a\\\"b\"@example.com",
        "joe@[127.0.0.1]", "joe@[IPv6:::1]"},
       {"2962",
        ".a@b.c",
        "a.@b.c",
        "a..b@c.d",
        "a@b=c.d",
        "a@[127.0.0.300]",
        "a@[",
        "a@[]",
        "@b.c",
        "a@",
        "a b@c.d",
        "a@b@c",
        "\"a@b.c",
        "\"a\"b@c.d",
        "\"a\nb\"@c.d",
        "\"a\\",
        "\u03b4@example.com",
        "\"\u03b4\"@example.com",
        "12345678901234567890123456789012345678901234567890123456789012345@example.com",
        ""}},
      {"idn-email",
       {"\uc2e4\ub840@\uc2e4\ub840.\ud14c\uc2a4\ud2b8", "\"\u03b4\"@example.com", "joe@example.com"},
       {"2962", "user\uff20example.com", "a@\u05d0a"}},
  };
  check_rows(rows, sizeof rows / sizeof rows[0]);
}

static void format__knows_uris(void **state) {
  (void)state;
  static const struct row rows[] = {
      {"uri",
       {"http://foo.bar/?baz=qux#quux", "http://-.~_!$&'()*+,;=:%40:80%2f::::::@example.com", "urn:a:b", "mailto:a@b.c",
        "ldap://[2001:db8::7]/c=GB?objectClass?one", "http://[V1.fe]:80", "http://a:", "file:/etc/hosts", "a:"},
       {"//foo.bar/",
        "abc",
        "",
        ":a",
        "http:// b",
        "1a:b",
        "h_t:b",
        "http://a:b/",
        "http://a/%6G",
        "http://a/%",
        "http:/[::1]",
        "https://[@a/b",
        "http://[::1",
        "http://[::1]a",
        "http://[v.a]",
        "http://[v1.]",
        "http://[v1.%41]",
        "http://a/\u00ae",
        "http://a/\"",
        "http://a/<>",
        "http://a/{}",
        "http://a/^",
        "http://a/`",
        "http://a/|",
        "http://a\\b",
        "http://a@b@c/",
        "http://a#b#c"}},
      {"uri-reference",
       {"", "/abc", "//foo.bar/?a#b", "abc", "#f", "?q", "//", "./a:b", "http://a"},
       {"1:b", "#a\\b", "/\u00ae", "/%zz", "/[::1]", "//a:b/c"}},
      {"iri",
       {"http://\u0192\u00f8\u00f8.\u00df\u00e5r/?\u2202\u00e9\u0153=\u03c0\u00eex#\u03c0\u00ee\u00fcx",
        "http://a/\U00010300?\U000f0000", "http://[2001:db8::1]", "http://a/?\ue000"},
       {"/abc", "\u00e2", "http://2001:0db8:85a3::7334", "http://a/\\", "http://a/\ue000", "http://a/\ufffe",
        "http://a/\xc2\x85", "http://a/#\U000f0000", "http://a/\U0001fffe"}},
      {"iri-reference", {"/\u00e2\u03c0", "\u00e2", "#\u0192r\u00e4g"}, {"\\\\a\\b", "#a\\\u00e4"}},
      {"uri-template",
       {"", "http://a/{term:1}/{term}", "{+var}", "{?x,y*}", "{a.b}", "{%41}", "{v:1000}", "a%41\U0001f600b", "a'b"},
       {"{", "{}", "{a,,b}", "{a,}", "{v:0}", "{v:01}", "{v:10000}", "{v:}", "a}b", "{a..b}", "{.}", "{a.}", "a b",
        "a\x7f", "{a=b}", "{%4}", "a%4", "{a*:1}", "a|b"}},
  };
  check_rows(rows, sizeof rows / sizeof rows[0]);
}

static void format__knows_the_rest(void **state) {
  (void)state;
  static const struct row rows[] = {
      {"json-pointer", {"", "/", "/a~0b/~1/c%d", "/\u00e9"}, {"a", "#/a", "/~", "/~2", "/a~"}},
      {"relative-json-pointer",
       {"0", "1/a/b", "0#", "120/a", "0//"},
       {"", "/a", "-1/a", "+1", "01", "01#", "0##", "1#/a", "0a", "0/~2"}},
      {"regex",
       {"([abc])+\\s+$", "(?<n>a)\\k<n>", "(?<=a+)b", "[]", "[^]", "\\cA", ""},
       {"^(abc]", "\\a", "(?i)a", "a**"}},
      {"uuid",
       {"2EB8AA08-aa98-11ea-B4AA-73B441D16380", "00000000-0000-0000-0000-000000000000"},
       {"2eb8aa08-aa98-11ea-b4aa-73b441d1638", "2eb8aa08-aa98-11ea-b4ga-73b441d16380",
        "2eb8aa08aa98-11ea-b4aa-73b441d163800", "2eb8aa0-8aa98-11ea-b4aa-73b441d16380",
        "2eb8aa08-aa98-11ea-b4aa-73b441d16380-", ""}},
  };
  check_rows(rows, sizeof rows / sizeof rows[0]);
  assert_null(hf_format_find(HF_STR("color")));
  assert_null(hf_format_find(HF_STR("")));
}

/* No byte that ends a C string ends a check, and none of a longer text is looked at. */
static void format__looks_at_all_bytes_and_no_more(void **state) {
  (void)state;
  static const char *const names[] = {
      "date",  "time", "date-time", "duration",      "email", "idn-email",     "hostname",     "idn-hostname",
      "ipv4",  "ipv6", "uri",       "uri-reference", "iri",   "iri-reference", "uri-template", "relative-json-pointer",
      "regex", "uuid"};
  static const char *const good[] = {"2020-01-01", "08:30:06Z", "2020-01-01T08:30:06Z",
                                     "P1D",        "a@b.c",     "a@b.c",
                                     "a.b",        "a.b",       "1.2.3.4",
                                     "::1",        "a://b",     "b",
                                     "a://b",      "b",         "b{c}",
                                     "0/a",        "a)",        "2eb8aa08-aa98-11ea-b4aa-73b441d16380"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    struct hf_buf text;
    hf_buf_init(&text, 100);
    size_t len = strlen(good[i]) - (good[i][1] == ')');
    assert_int_equal(hf_buf_append(&text, good[i], strlen(good[i])), 0);
    assert_int_equal(hf_buf_append(&text, "\0)", 2), 0);
    if (!check(names[i], (struct hf_str){text.data, len}))
      fail_msg("%s", names[i]);
    if (check(names[i], (struct hf_str){text.data, text.len}) && strcmp(names[i], "relative-json-pointer") != 0)
      fail_msg("%s with a zero byte", names[i]);
    for (size_t less = 0; less < len; less++) {
      char *end = hf_malloc(less + 1); /* the sanitizer watches what is behind it */
      memcpy(end + 1, text.data, less);
      (void)check(names[i], (struct hf_str){end + 1, less});
      hf_free(end);
    }
    hf_buf_deinit(&text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(format__knows_times),
      cmocka_unit_test(format__knows_hosts),
      cmocka_unit_test(format__knows_uris),
      cmocka_unit_test(format__knows_the_rest),
      cmocka_unit_test(format__looks_at_all_bytes_and_no_more),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
