#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/console.h"
#include "daemon/control.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* A gateway that answers each question with itself in brackets, at the next turn of the loop, or never. */
struct fixture {
  uv_loop_t uv;
  char dir[32];
  char path[64];
  struct hf_control *control;
  struct hf_control_peer *peer;
  char question[64];
  const char *answer; /* instead of the question in brackets, or NULL */
  uv_idle_t later;
  bool silent;
  int lines; /* that are told before each answer */
  int gone;
  int asked;
};

static void on_later(uv_idle_t *idle) {
  struct fixture *f = idle->data;
  char answer[80];
  uv_idle_stop(idle);
  for (int i = 0; i < f->lines; i++) {
    char line[64];
    int len = snprintf(line, sizeof line, HF_CONSOLE_MORE ",\"n\":\n%d}", i);
    hf_control_tell(f->peer, (struct hf_str){line, (size_t)len});
  }
  int n = f->answer ? snprintf(answer, sizeof answer, "%s", f->answer)
                    : snprintf(answer, sizeof answer, "[%s]", f->question);
  hf_control_answer(f->peer, (struct hf_str){answer, (size_t)n});
}

static int on_ask(void *context, struct hf_control_peer *peer, struct hf_str question, void **ret_ask) {
  struct fixture *f = context;
  f->peer = peer;
  f->asked++;
  snprintf(f->question, sizeof f->question, "%.*s", HF_STR_FMT(question));
  *ret_ask = f;
  if (!f->silent)
    uv_idle_start(&f->later, on_later);
  return 0;
}

static void on_gone(void *context, void *ask) {
  struct fixture *f = context;
  assert_ptr_equal(ask, f);
  f->gone++;
  uv_stop(&f->uv);
}

static void on_advance(void *context) {
  (void)context;
}

static struct hf_control_handler handler_of(struct fixture *f) {
  return (struct hf_control_handler){f, on_ask, on_gone, on_advance, 0};
}

static int set_up_with(void **state, unsigned patience_ms) {
  struct fixture *f = calloc(1, sizeof *f);
  snprintf(f->dir, sizeof f->dir, "/tmp/hf-control-XXXXXX");
  assert_non_null(mkdtemp(f->dir));
  snprintf(f->path, sizeof f->path, "%s/a/b/control.sock", f->dir);
  uv_loop_init(&f->uv);
  uv_idle_init(&f->uv, &f->later);
  f->later.data = f;
  struct hf_control_handler handler = handler_of(f);
  handler.patience_ms = patience_ms;
  assert_int_equal(hf_control_new(&f->uv, f->path, &handler, &f->control, NULL), 0);
  *state = f;
  return 0;
}

static int set_up(void **state) {
  return set_up_with(state, 0);
}

enum { HASTE_MS = 60 };

static int set_up_hasty(void **state) {
  return set_up_with(state, HASTE_MS);
}

static int tear_down(void **state) {
  struct fixture *f = *state;
  hf_control_free(f->control);
  uv_close((uv_handle_t *)&f->later, NULL);
  uv_run(&f->uv, UV_RUN_DEFAULT);
  assert_int_equal(uv_loop_close(&f->uv), 0);
  assert_int_equal(access(f->path, F_OK), -1);
  char path[64];
  snprintf(path, sizeof path, "%s/a/b", f->dir);
  rmdir(path);
  snprintf(path, sizeof path, "%s/a", f->dir);
  rmdir(path);
  rmdir(f->dir);
  free(f);
  return 0;
}

struct caller {
  struct fixture *f;
  const char *question;
  struct hf_buf answer;
  int r;
  uv_async_t done;
};

static void on_done(uv_async_t *async) {
  uv_stop(async->loop);
}

static void *call(void *context) {
  struct caller *c = context;
  c->r = hf_control_call(c->f->path, hf_str_from(c->question), &c->answer, NULL);
  uv_async_send(&c->done);
  return NULL;
}

/* Calls from a thread, as another process would. */
static void ask(struct fixture *f, const char *question, const char *answer) {
  struct caller c = {.f = f, .question = question};
  pthread_t thread;
  hf_buf_init(&c.answer, 1 << 20);
  uv_async_init(&f->uv, &c.done, on_done);
  pthread_create(&thread, NULL, call, &c);
  uv_run(&f->uv, UV_RUN_DEFAULT);
  pthread_join(thread, NULL);
  assert_int_equal(c.r, 0);
  assert_int_equal(c.answer.len, strlen(answer));
  assert_memory_equal(c.answer.data, answer, c.answer.len);
  hf_buf_deinit(&c.answer);
  uv_close((uv_handle_t *)&c.done, NULL);
  uv_run(&f->uv, UV_RUN_NOWAIT);
}

static void control__a_question_gets_its_answer(void **state) {
  ask(*state, "{\"op\":\"status\"}", "[{\"op\":\"status\"}]");
}

/* JSON may be laid out over lines; the socket's framing is a line. */
static void control__line_breaks_in_question_and_answer_are_no_ends_of_them(void **state) {
  struct fixture *f = *state;
  ask(f, "{\n  \"op\":\r\n \"status\"\n}", "[{   \"op\":   \"status\" }]");
  assert_int_equal(f->asked, 1);
  f->answer = "{\n\"result\":\n{}}";
  ask(f, "x", "{ \"result\": {}}");
}

struct follower {
  struct fixture *f;
  struct hf_buf answer;
  char lines[512];
  int count;
  int until; /* gives up after so many; 0: never */
  int r;
  uv_async_t done;
};

static int on_line(void *context, struct hf_str line) {
  struct follower *follower = context;
  size_t len = strlen(follower->lines);
  snprintf(follower->lines + len, sizeof follower->lines - len, "%.*s;", HF_STR_FMT(line));
  return ++follower->count == follower->until ? HF_ERR_CLOSED : 0;
}

static void *follow_from_a_thread(void *context) {
  struct follower *follower = context;
  follower->r = hf_control_follow(follower->f->path, HF_STR("x"), on_line, follower, &follower->answer, NULL);
  uv_async_send(&follower->done);
  return NULL;
}

static void follow(struct follower *follower) {
  struct fixture *f = follower->f;
  pthread_t thread;
  hf_buf_init(&follower->answer, 1 << 24);
  uv_async_init(&f->uv, &follower->done, on_done);
  pthread_create(&thread, NULL, follow_from_a_thread, follower);
  uv_run(&f->uv, UV_RUN_DEFAULT);
  pthread_join(thread, NULL);
  uv_close((uv_handle_t *)&follower->done, NULL);
  uv_run(&f->uv, UV_RUN_NOWAIT);
}

static void control__tells_of_what_goes_on_before_the_answer(void **state) {
  struct fixture *f = *state;
  struct follower follower = {.f = f};
  f->lines = 3;
  follow(&follower);
  assert_int_equal(follower.r, 0);
  assert_string_equal(follower.lines, "{\"more\":true,\"n\": 0};{\"more\":true,\"n\": 1};{\"more\":true,\"n\": 2};");
  assert_int_equal(follower.answer.len, 3);
  assert_memory_equal(follower.answer.data, "[x]", 3);
  hf_buf_deinit(&follower.answer);
}

static void control__one_who_only_wants_the_answer_gets_it_alone(void **state) {
  struct fixture *f = *state;
  f->lines = 3;
  ask(f, "x", "[x]");
}

static void control__one_who_stops_reading_hangs_up(void **state) {
  struct fixture *f = *state;
  struct follower follower = {.f = f, .until = 1};
  f->lines = 2;
  f->silent = false;
  follow(&follower);
  assert_int_equal(follower.r, HF_ERR_CLOSED);
  assert_int_equal(follower.count, 1);
  hf_buf_deinit(&follower.answer);
}

/* The lines of one who does not read are lost beyond a bound; the answer is not. */
static void control__lines_that_nobody_reads_are_bounded(void **state) {
  struct fixture *f = *state;
  struct follower follower = {.f = f};
  f->lines = 200000;
  follow(&follower);
  assert_int_equal(follower.r, 0);
  assert_true(follower.count > 1000);
  assert_true(follower.count < 200000);
  assert_memory_equal(follower.answer.data, "[x]", 3);
  hf_buf_deinit(&follower.answer);
}

static void control__only_the_owner_may_touch_the_socket(void **state) {
  struct fixture *f = *state;
  struct stat st;
  assert_int_equal(stat(f->path, &st), 0);
  assert_int_equal(st.st_mode & 07777, 0600);
  char dir[64];
  snprintf(dir, sizeof dir, "%s/a/b", f->dir);
  assert_int_equal(stat(dir, &st), 0);
  assert_int_equal(st.st_mode & 0077, 0);
}

static int connect_raw(struct fixture *f) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s", f->path);
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
  return fd;
}

static void control__a_peer_that_leaves_takes_its_question_back(void **state) {
  struct fixture *f = *state;
  f->silent = true;
  int fd = connect_raw(f);
  assert_int_equal(write(fd, "a\nb\n", 4), 4);
  while (!f->asked)
    uv_run(&f->uv, UV_RUN_ONCE);
  assert_int_equal(f->asked, 1);
  close(fd);
  while (!f->gone)
    uv_run(&f->uv, UV_RUN_ONCE);
  assert_int_equal(f->asked, 1);
}

static void control__one_question_at_a_time_and_in_order(void **state) {
  struct fixture *f = *state;
  char text[64];
  int fd = connect_raw(f);
  assert_int_equal(write(fd, "a\n\nb\nc", 6), 6);
  size_t len = 0;
  while (f->asked < 2)
    uv_run(&f->uv, UV_RUN_ONCE);
  for (int i = 0; i < 4; i++)
    uv_run(&f->uv, UV_RUN_NOWAIT);
  while (len < 8)
    len += (size_t)read(fd, text + len, sizeof text - len);
  assert_memory_equal(text, "[a]\n[b]\n", 8);
  assert_int_equal(f->asked, 2);
  close(fd);
}

static void control__a_second_gateway_is_told_and_a_dead_ones_socket_is_replaced(void **state) {
  struct fixture *f = *state;
  const struct hf_control_handler handler = handler_of(f);
  struct hf_control *other = NULL;
  struct hf_error error = {0};
  assert_int_equal(hf_control_new(&f->uv, f->path, &handler, &other, &error), HF_ERR_BUSY);
  assert_non_null(strstr(error.text, "another gateway listens"));

  hf_control_free(f->control);
  uv_run(&f->uv, UV_RUN_NOWAIT);
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s", f->path);
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
  close(fd);
  assert_int_equal(hf_control_new(&f->uv, f->path, &handler, &f->control, &error), 0);
}

static void control__nobody_there_is_unavailable(void **state) {
  (void)state;
  struct hf_buf answer;
  struct hf_error error = {0};
  hf_buf_init(&answer, 100);
  assert_int_equal(hf_control_call("/nonexistent/x.sock", HF_STR("{}"), &answer, &error), HF_ERR_UNAVAILABLE);
  assert_string_equal(error.text, "no gateway answers at '/nonexistent/x.sock': No such file or directory");
  hf_buf_deinit(&answer);
}

static void control__place_follows_the_environment(void **state) {
  (void)state;
  setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
  char *path = hf_control_path();
  assert_string_equal(path, "/run/user/7/holdfast/control.sock");
  free(path);
  unsetenv("XDG_RUNTIME_DIR");
  setenv("XDG_STATE_HOME", "/s", 1);
  path = hf_control_path();
  assert_string_equal(path, "/s/holdfast/control.sock");
  free(path);
}

static void control__a_caller_too_many_is_closed_and_the_others_are_answered(void **state) {
  enum { MOST = 16 };
  struct fixture *f = *state;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  int fds[MOST + 1];
  memcpy(address.sun_path, f->path, strlen(f->path));
  for (size_t i = 0; i <= MOST; i++) {
    fds[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(connect(fds[i], (const struct sockaddr *)&address, sizeof address), 0);
    for (int turn = 0; turn < 10; turn++)
      uv_run(&f->uv, UV_RUN_NOWAIT);
  }
  char byte;
  assert_int_equal(read(fds[MOST], &byte, 1), 0);
  assert_int_equal(read(fds[MOST - 1], &byte, 1), -1);
  close(fds[0]);
  for (int turn = 0; turn < 10; turn++)
    uv_run(&f->uv, UV_RUN_NOWAIT);
  ask(f, "{\"op\":\"status\"}", "[{\"op\":\"status\"}]");
  for (size_t i = 1; i <= MOST; i++)
    close(fds[i]);
}

/* More than any question may have, without an end of its line. Returns whether it was hung up on. */
static void *send_too_much(void *context) {
  struct caller *c = context;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  static char block[64 << 10];
  memset(block, 'x', sizeof block);
  memcpy(address.sun_path, c->f->path, strlen(c->f->path));
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
  size_t sent = 0;
  while (sent <= 20 << 20 && send(fd, block, sizeof block, MSG_NOSIGNAL) == sizeof block)
    sent += sizeof block;
  char byte;
  c->r = read(fd, &byte, 1) <= 0 && sent >= 19 << 20;
  close(fd);
  uv_async_send(&c->done);
  return NULL;
}

static void control__a_question_that_does_not_end_is_hung_up_on(void **state) {
  struct fixture *f = *state;
  struct caller c = {.f = f};
  pthread_t thread;
  uv_async_init(&f->uv, &c.done, on_done);
  pthread_create(&thread, NULL, send_too_much, &c);
  uv_run(&f->uv, UV_RUN_DEFAULT);
  pthread_join(thread, NULL);
  assert_int_equal(c.r, 1);
  assert_int_equal(f->asked, 0);
  uv_close((uv_handle_t *)&c.done, NULL);
  uv_run(&f->uv, UV_RUN_NOWAIT);
  ask(f, "x", "[x]");
}

static int connect_to(const struct fixture *f) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  memcpy(address.sun_path, f->path, strlen(f->path));
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
  return fd;
}

static void on_time(uv_timer_t *timer) {
  uv_stop(timer->loop);
}

static void run_for(struct fixture *f, unsigned ms) {
  uv_timer_t timer;
  uv_timer_init(&f->uv, &timer);
  uv_timer_start(&timer, on_time, ms, 0);
  uv_run(&f->uv, UV_RUN_DEFAULT);
  uv_close((uv_handle_t *)&timer, NULL);
  uv_run(&f->uv, UV_RUN_NOWAIT);
}

/* As many as there are places, with half a question each or none. */
static void control__one_who_does_not_ask_whole_is_hung_up_on_in_time(void **state) {
  enum { MOST = 16 };
  struct fixture *f = *state;
  int fds[MOST];
  char byte;
  for (size_t i = 0; i < MOST; i++) {
    fds[i] = connect_to(f);
    if (i % 2)
      assert_int_equal(write(fds[i], "{\"op\":", 6), 6);
    uv_run(&f->uv, UV_RUN_NOWAIT);
  }
  assert_int_equal(read(fds[1], &byte, 1), -1);
  run_for(f, 3 * HASTE_MS);
  for (size_t i = 0; i < MOST; i++) {
    assert_int_equal(read(fds[i], &byte, 1), 0);
    close(fds[i]);
  }
  ask(f, "x", "[x]");
}

static void control__one_whose_question_takes_long_is_waited_for(void **state) {
  struct fixture *f = *state;
  char text[8] = "";
  int fd = connect_to(f);
  f->silent = true;
  assert_int_equal(write(fd, "x\n", 2), 2);
  run_for(f, 3 * HASTE_MS);
  assert_int_equal(f->gone, 0);
  hf_control_answer(f->peer, HF_STR("[x]"));
  uv_run(&f->uv, UV_RUN_NOWAIT);
  assert_int_equal(read(fd, text, sizeof text), 4);
  assert_string_equal(text, "[x]\n");
  assert_int_equal(write(fd, "y", 1), 1); /* and has as long again for the next */
  run_for(f, 3 * HASTE_MS);
  assert_int_equal(read(fd, text, 1), 0);
  close(fd);
}

static void control__one_who_does_not_read_the_answer_is_hung_up_on_but_not_one_who_is_slow(void **state) {
  enum { BIG = 4 << 20 };
  struct fixture *f = *state;
  char *big = malloc(BIG), *bytes = malloc(BIG);
  memset(big, 'x', BIG);
  f->silent = true;
  for (int slow = 0; slow < 2; slow++) {
    int fd = connect_to(f);
    size_t got = 0;
    assert_int_equal(write(fd, "x\n", 2), 2);
    while (f->asked == slow)
      uv_run(&f->uv, UV_RUN_ONCE);
    hf_control_answer(f->peer, (struct hf_str){big, BIG});
    for (int turn = 0; turn < 8; turn++) {
      ssize_t n = slow ? read(fd, bytes, 256 << 10) : 0;
      got += n > 0 ? (size_t)n : 0;
      run_for(f, HASTE_MS / 2);
    }
    for (ssize_t n = 1; n > 0 || (n < 0 && slow && got <= BIG);) {
      n = read(fd, bytes, BIG);
      got += n > 0 ? (size_t)n : 0;
      uv_run(&f->uv, UV_RUN_NOWAIT);
      if (got > BIG)
        break;
    }
    assert_true(slow ? got == BIG + 1 : got < BIG);
    close(fd);
  }
  free(bytes);
  free(big);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(control__a_question_gets_its_answer, set_up, tear_down),
      cmocka_unit_test_setup_teardown(control__a_caller_too_many_is_closed_and_the_others_are_answered, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(control__line_breaks_in_question_and_answer_are_no_ends_of_them, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(control__tells_of_what_goes_on_before_the_answer, set_up, tear_down),
      cmocka_unit_test_setup_teardown(control__one_who_only_wants_the_answer_gets_it_alone, set_up, tear_down),
      cmocka_unit_test_setup_teardown(control__one_who_stops_reading_hangs_up, set_up, tear_down),
      cmocka_unit_test_setup_teardown(control__lines_that_nobody_reads_are_bounded, set_up, tear_down),
      cmocka_unit_test_setup_teardown(control__a_question_that_does_not_end_is_hung_up_on, set_up, tear_down),
      cmocka_unit_test_setup_teardown(control__only_the_owner_may_touch_the_socket, set_up, tear_down),
      cmocka_unit_test_setup_teardown(control__a_peer_that_leaves_takes_its_question_back, set_up, tear_down),
      cmocka_unit_test_setup_teardown(control__one_question_at_a_time_and_in_order, set_up, tear_down),
      cmocka_unit_test_setup_teardown(control__a_second_gateway_is_told_and_a_dead_ones_socket_is_replaced, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(control__one_who_does_not_ask_whole_is_hung_up_on_in_time, set_up_hasty,
                                      tear_down),
      cmocka_unit_test_setup_teardown(control__one_whose_question_takes_long_is_waited_for, set_up_hasty, tear_down),
      cmocka_unit_test_setup_teardown(control__one_who_does_not_read_the_answer_is_hung_up_on_but_not_one_who_is_slow,
                                      set_up_hasty, tear_down),
      cmocka_unit_test(control__nobody_there_is_unavailable),
      cmocka_unit_test(control__place_follows_the_environment),
  };
  (void)signal(SIGPIPE, SIG_IGN); /* as the program does */
  return cmocka_run_group_tests(tests, NULL, NULL);
}
