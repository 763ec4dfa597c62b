#include "base/alloc.h"
#include "base/error.h"
#include "front/session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void on_wake(void *reader) {
  ++*(int *)reader;
}

static int push(struct hf_stream *stream, const char *text) {
  struct hf_pieces pieces;
  hf_pieces_init(&pieces);
  assert_int_equal(hf_pieces_add_copy(&pieces, hf_str_from(text)), 0);
  return hf_stream_push(stream, &pieces);
}

static int finish(struct hf_stream *stream, const char *text, const char *fallback) {
  struct hf_pieces pieces;
  struct hf_pieces instead;
  hf_pieces_init(&pieces);
  hf_pieces_init(&instead);
  assert_int_equal(hf_pieces_add_copy(&pieces, hf_str_from(text)), 0);
  if (fallback)
    assert_int_equal(hf_pieces_add_copy(&instead, hf_str_from(fallback)), 0);
  return hf_stream_finish(stream, &pieces, &instead);
}

/* Reads everything, `step` bytes at a time. */
static const char *drain(struct hf_stream *stream, size_t step) {
  static char text[8192];
  size_t len = 0;
  for (size_t n; (n = hf_stream_read(stream, text + len, step)) > 0;)
    len += n;
  text[len] = '\0';
  return text;
}

static void stream_init(struct hf_stream *stream, bool ids, size_t replay, size_t backlog) {
  hf_stream_init(
      stream, &(struct hf_stream_options){.tag = 0xabc, .number = 2, .ids = ids, .replay = replay, .backlog = backlog});
}

static void stream__line_breaks_become_data_lines_however_it_is_read(void **state) {
  (void)state;
  static const char expected[] = "event: message\ndata: {\ndata: 1\ndata: \ndata: }\n\n"
                                 "event: message\ndata: {}\n\n";
  for (size_t step = 1; step < 80; step++) {
    struct hf_stream stream;
    int wakes = 0;
    stream_init(&stream, false, 4096, 4096);
    hf_stream_attach(&stream, 0, on_wake, &wakes);
    assert_int_equal(push(&stream, "{\n1\r\n\r}"), 0);
    assert_int_equal(finish(&stream, "{}", NULL), 0);
    assert_int_equal(wakes, 2);
    assert_false(hf_stream_drained(&stream));
    assert_string_equal(drain(&stream, step), expected);
    assert_true(hf_stream_drained(&stream));
    assert_int_equal(stream.kept, 0);
    hf_stream_deinit(&stream);
  }
}

static void stream__replays_what_follows_the_last_event_seen(void **state) {
  (void)state;
  struct hf_stream stream;
  int wakes = 0;
  stream_init(&stream, true, 1 << 20, 4096);
  hf_stream_attach(&stream, 0, on_wake, &wakes);
  assert_int_equal(push(&stream, "{\"n\":1}"), 0);
  assert_int_equal(push(&stream, "{\"n\":2}"), 0);
  char half[40];
  assert_int_equal(hf_stream_read(&stream, half, sizeof(half)), sizeof(half));
  hf_stream_detach(&stream);
  assert_int_equal(push(&stream, "{\"n\":3}"), 0);
  hf_stream_attach(&stream, 1, on_wake, &wakes);
  assert_string_equal(drain(&stream, 7), "id: 00000abc-2-2\nevent: message\ndata: {\"n\":2}\n\n"
                                         "id: 00000abc-2-3\nevent: message\ndata: {\"n\":3}\n\n");
  hf_stream_detach(&stream);
  hf_stream_attach(&stream, 3, on_wake, &wakes);
  assert_string_equal(drain(&stream, 100), "");
  hf_stream_deinit(&stream);
}

static void stream__keeps_within_its_limit(void **state) {
  (void)state;
  struct hf_stream stream;
  int wakes = 0;
  stream_init(&stream, true, 4000, 4096);
  for (int i = 0; i < 100; i++) {
    assert_int_equal(push(&stream, "{\"n\":1}"), 0);
    assert_true(stream.kept <= 4000);
  }
  assert_true(stream.dropped > 80);
  hf_stream_attach(&stream, 0, on_wake, &wakes);
  const char *text = drain(&stream, 100);
  assert_non_null(strstr(text, "id: 00000abc-2-64\n"));
  assert_null(strstr(text, "id: 00000abc-2-1\n"));
  hf_stream_deinit(&stream);
}

static void stream__slow_reader_is_told_apart(void **state) {
  (void)state;
  struct hf_stream stream;
  int wakes = 0;
  stream_init(&stream, false, 1 << 20, 16);
  hf_stream_attach(&stream, 0, on_wake, &wakes);
  assert_int_equal(push(&stream, "{\"a message\":\"longer than the backlog\"}"), 0);
  assert_int_equal(push(&stream, "{\"a message\":\"that finds the first one waiting\"}"), HF_ERR_LIMIT);
  assert_string_equal(drain(&stream, 100), "event: message\ndata: {\"a message\":\"longer than the backlog\"}\n\n");
  assert_int_equal(push(&stream, "{\"a message\":\"once more\"}"), 0);
  hf_stream_deinit(&stream);
}

static void stream__final_event_too_large_to_keep_is_replaced(void **state) {
  (void)state;
  struct hf_stream stream;
  int wakes = 0;
  char large[3000];
  memset(large, 'x', sizeof(large) - 1);
  large[sizeof(large) - 1] = '\0';
  stream_init(&stream, true, 1000, 4096);
  hf_stream_attach(&stream, 0, on_wake, &wakes);
  assert_int_equal(finish(&stream, large, "{\"error\":1}"), 0);
  assert_int_equal(hf_stream_read(&stream, large, 1000), 1000);
  hf_stream_detach(&stream);
  hf_stream_attach(&stream, 0, on_wake, &wakes);
  assert_string_equal(drain(&stream, 100), "id: 00000abc-2-1\nevent: message\ndata: {\"error\":1}\n\n");
  assert_true(hf_stream_drained(&stream));
  assert_int_equal(push(&stream, "{}"), HF_ERR_CLOSED);
  hf_stream_deinit(&stream);
}

static void stream__comment_only_where_nothing_else_waits(void **state) {
  (void)state;
  struct hf_stream stream;
  int wakes = 0;
  stream_init(&stream, true, 4096, 4096);
  hf_stream_keep_alive(&stream); /* nobody reads */
  hf_stream_attach(&stream, 0, on_wake, &wakes);
  assert_string_equal(drain(&stream, 5), "");
  hf_stream_keep_alive(&stream);
  assert_string_equal(drain(&stream, 5), ": keep-alive\n\n");
  assert_int_equal(push(&stream, "{}"), 0);
  hf_stream_keep_alive(&stream);
  assert_string_equal(drain(&stream, 5), "id: 00000abc-2-1\nevent: message\ndata: {}\n\n");
  hf_stream_deinit(&stream);
}

static void stream__reads_only_its_own_ids(void **state) {
  (void)state;
  struct hf_stream_id id;
  assert_int_equal(hf_stream_id_parse(HF_STR("00000abc-2-ffffffffffffffff"), &id), 0);
  assert_int_equal(id.tag, 0xabc);
  assert_int_equal(id.number, 2);
  assert_true(id.seq == UINT64_MAX);
  static const char *const bad[] = {"",
                                    "1",
                                    "1-2",
                                    "1-2-",
                                    "-1-2",
                                    "1--2",
                                    "1-2-3-4",
                                    "1-2-G",
                                    "1_2_3",
                                    "123456789-1-1",
                                    "1-2-11111111111111111",
                                    "+1-2-3",
                                    "1-2-3 "};
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
    assert_int_equal(hf_stream_id_parse(hf_str_from(bad[i]), &id), HF_ERR_SYNTAX);
}

static void stream__survives_want_of_memory(void **state) {
  (void)state;
  struct hf_stream stream;
  int wakes = 0;
  stream_init(&stream, true, 4096, 4096);
  hf_stream_attach(&stream, 0, on_wake, &wakes);
  struct hf_pieces pieces;
  hf_pieces_init(&pieces);
  assert_int_equal(hf_pieces_add_copy(&pieces, HF_STR("{}")), 0);
  hf_alloc_fail_after(0);
  assert_int_equal(hf_stream_push(&stream, &pieces), HF_ERR_NOMEM);
  hf_alloc_fail_after(-1);
  assert_int_equal(push(&stream, "{}"), 0);
  hf_stream_deinit(&stream);
}

static void session__is_found_by_its_owner_at_its_endpoint(void **state) {
  (void)state;
  struct hf_sessions sessions;
  struct hf_session *session;
  hf_sessions_init(&sessions, 8, 8);
  assert_int_equal(hf_sessions_open(&sessions, HF_STR("alice"), HF_STR("files"), 1, &session), 0);
  assert_int_equal(session->key_len, 32);
  assert_int_equal(strspn(session->key, "0123456789abcdef"), 32);
  struct hf_str id = {session->key, session->key_len};
  struct hf_str none = {NULL, 0};
  assert_ptr_equal(hf_sessions_find(&sessions, id, HF_STR("alice"), HF_STR("files")), session);
  assert_null(hf_sessions_find(&sessions, id, HF_STR("bob"), HF_STR("files")));
  assert_null(hf_sessions_find(&sessions, id, none, HF_STR("files")));
  assert_null(hf_sessions_find(&sessions, id, HF_STR("alice"), none));
  hf_sessions_remove(&sessions, session);
  assert_null(hf_sessions_find(&sessions, HF_STR("x"), HF_STR("alice"), HF_STR("files")));
  hf_session_free(session);
  hf_sessions_deinit(&sessions);
}

static void session__stateless_clients_are_told_apart(void **state) {
  (void)state;
  static const struct hf_str absent = {NULL, 0};
  const struct hf_str pairs[][2] = {{HF_STR("a"), HF_STR("bc")},
                                    {HF_STR("ab"), HF_STR("c")},
                                    {absent, HF_STR("abc")},
                                    {HF_STR("abc"), absent},
                                    {absent, absent},
                                    {HF_STR("a"), absent}};
  struct hf_sessions sessions;
  struct hf_session *found[6];
  struct hf_session *again;
  hf_sessions_init(&sessions, 8, 8);
  for (size_t i = 0; i < 6; i++)
    assert_int_equal(hf_sessions_stateless(&sessions, pairs[i][0], pairs[i][1], 1, &found[i]), 0);
  assert_int_equal(sessions.by_key.len, 6);
  for (size_t i = 0; i < 6; i++) {
    assert_int_equal(hf_sessions_stateless(&sessions, pairs[i][0], pairs[i][1], 1, &again), 0);
    assert_ptr_equal(again, found[i]);
    assert_null(hf_sessions_find(&sessions, (struct hf_str){again->key, again->key_len}, pairs[i][0], pairs[i][1]));
  }
  for (size_t i = 0; i < 6; i++) {
    hf_sessions_remove(&sessions, found[i]);
    hf_session_free(found[i]);
  }
  hf_sessions_deinit(&sessions);
}

static void session__expires_in_the_order_of_use(void **state) {
  (void)state;
  struct hf_sessions sessions;
  struct hf_session *first;
  struct hf_session *second;
  hf_sessions_init(&sessions, 8, 8);
  assert_int_equal(hf_sessions_open(&sessions, HF_STR("a"), HF_STR("x"), 10, &first), 0);
  assert_int_equal(hf_sessions_open(&sessions, HF_STR("a"), HF_STR("x"), 20, &second), 0);
  assert_null(hf_sessions_expired(&sessions, 10));
  assert_ptr_equal(hf_sessions_expired(&sessions, 11), first);
  hf_sessions_touch(&sessions, first, 30);
  assert_null(hf_sessions_expired(&sessions, 20));
  assert_ptr_equal(hf_sessions_expired(&sessions, 25), second);
  struct hf_list request;
  hf_list_push_back(&second->requests, &request);
  assert_null(hf_sessions_expired(&sessions, 25));
  assert_ptr_equal(hf_sessions_expired(&sessions, 31), first);
  hf_list_remove(&request);
  hf_sessions_doom(&sessions, first);
  assert_ptr_equal(hf_sessions_expired(&sessions, 0), first);
  hf_sessions_remove(&sessions, first);
  hf_session_free(first);
  hf_sessions_remove(&sessions, second);
  hf_session_free(second);
  hf_sessions_deinit(&sessions);
}

static void session__survives_want_of_memory(void **state) {
  (void)state;
  for (long n = 0; n < 6; n++) {
    struct hf_sessions sessions;
    struct hf_session *session = NULL;
    hf_sessions_init(&sessions, 8, 8);
    hf_alloc_fail_after(n);
    int error = hf_sessions_open(&sessions, HF_STR("a"), HF_STR("x"), 1, &session);
    hf_alloc_fail_after(-1);
    assert_true(error == 0 || error == HF_ERR_NOMEM);
    assert_int_equal(sessions.by_key.len, error ? 0 : 1);
    assert_int_equal(sessions.owners.len, error ? 0 : 1);
    if (!error) {
      hf_sessions_remove(&sessions, session);
      hf_session_free(session);
    }
    hf_sessions_deinit(&sessions);
  }
}

static void session__forgets_only_streams_that_nobody_needs(void **state) {
  (void)state;
  struct hf_sessions sessions;
  struct hf_session *session;
  int wakes = 0;
  hf_sessions_init(&sessions, 8, 8);
  assert_int_equal(hf_sessions_open(&sessions, HF_STR("a"), HF_STR("x"), 1, &session), 0);
  struct hf_stream *read = hf_session_add_stream(session, true, 4096, 4096);
  hf_stream_attach(read, 0, on_wake, &wakes);
  struct hf_stream *open = hf_session_add_stream(session, false, 4096, 4096);
  for (int i = 0; i < 20; i++) {
    struct hf_stream *over = hf_session_add_stream(session, false, 4096, 4096);
    hf_stream_end(over);
    assert_non_null(hf_session_add_stream(session, true, 4096, 4096));
  }
  assert_ptr_equal(hf_session_stream(session, 0), read);
  assert_ptr_equal(hf_session_stream(session, 1), open);
  assert_ptr_equal(hf_session_standalone(session), read);
  size_t count = 0;
  for (struct hf_list *it = session->streams.next; it != &session->streams; it = it->next)
    count++;
  assert_int_equal(count, 2 + 4 + 4);
  hf_sessions_remove(&sessions, session);
  hf_session_free(session);
  hf_sessions_deinit(&sessions);
}

static void add_answer(struct hf_session *session, size_t replay, const char *text) {
  struct hf_stream *stream = hf_session_add_stream(session, false, replay, 4096);
  assert_non_null(stream);
  assert_int_equal(finish(stream, text, NULL), 0);
}

/* Answers that nobody has fetched yet are bounded in number and, together, in bytes. */
static void session__keeps_so_many_answers_that_were_not_read(void **state) {
  (void)state;
  struct hf_sessions sessions;
  struct hf_session *session;
  hf_sessions_init(&sessions, 8, 8);
  assert_int_equal(hf_sessions_open(&sessions, HF_STR("a"), HF_STR("x"), 1, &session), 0);
  for (int i = 0; i < 300; i++)
    add_answer(session, 1 << 20, "{}");
  assert_null(hf_session_stream(session, 300 - HF_SESSION_UNREAD_STREAMS - 1));
  assert_non_null(hf_session_stream(session, 300 - HF_SESSION_UNREAD_STREAMS));
  char text[3000];
  memset(text, 'x', sizeof(text) - 1);
  text[sizeof(text) - 1] = '\0';
  for (int i = 0; i < 20; i++)
    add_answer(session, 4096, text);
  size_t count = 0;
  size_t bytes = 0;
  for (struct hf_list *it = session->streams.next; it != &session->streams; it = it->next) {
    count++;
    bytes += HF_CONTAINER_OF(it, struct hf_stream, link)->kept;
  }
  assert_true(bytes > 3 * 4096 && bytes <= (HF_SESSION_UNREAD_SHARE + 1) * 4096);
  assert_true(count >= 4 && count <= 6);
  hf_sessions_remove(&sessions, session);
  hf_session_free(session);
  hf_sessions_deinit(&sessions);
}

static void stream__says_when_to_come_back_each_time_it_is_read(void **state) {
  (void)state;
  struct hf_stream stream;
  int wakes = 0;
  hf_stream_init(&stream, &(struct hf_stream_options){.ids = true, .retry_ms = 1234, .replay = 4096, .backlog = 4096});
  hf_stream_attach(&stream, 0, on_wake, &wakes);
  assert_string_equal(drain(&stream, 3), "retry: 1234\n\n");
  assert_int_equal(push(&stream, "{}"), 0);
  assert_int_equal(hf_stream_written(&stream), 0);
  assert_string_equal(drain(&stream, 3), "id: 00000000-0-1\nevent: message\ndata: {}\n\n");
  assert_int_equal(hf_stream_written(&stream), 1);
  hf_stream_detach(&stream);
  hf_stream_attach(&stream, 1, on_wake, &wakes);
  assert_string_equal(drain(&stream, 100), "retry: 1234\n\n");
  hf_stream_deinit(&stream);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(stream__line_breaks_become_data_lines_however_it_is_read),
      cmocka_unit_test(stream__replays_what_follows_the_last_event_seen),
      cmocka_unit_test(stream__keeps_within_its_limit),
      cmocka_unit_test(stream__slow_reader_is_told_apart),
      cmocka_unit_test(stream__final_event_too_large_to_keep_is_replaced),
      cmocka_unit_test(stream__comment_only_where_nothing_else_waits),
      cmocka_unit_test(stream__reads_only_its_own_ids),
      cmocka_unit_test(stream__survives_want_of_memory),
      cmocka_unit_test(session__is_found_by_its_owner_at_its_endpoint),
      cmocka_unit_test(session__stateless_clients_are_told_apart),
      cmocka_unit_test(session__expires_in_the_order_of_use),
      cmocka_unit_test(session__survives_want_of_memory),
      cmocka_unit_test(session__keeps_so_many_answers_that_were_not_read),
      cmocka_unit_test(stream__says_when_to_come_back_each_time_it_is_read),
      cmocka_unit_test(session__forgets_only_streams_that_nobody_needs),
  };
  return cmocka_run_group_tests_name("front_stream", tests, NULL, NULL);
}
