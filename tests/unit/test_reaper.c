#include "upstream/reaper.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "daemon/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct bed {
  uv_loop_t uv;
  struct hf_loop loop;
  struct hf_loop_driver driver;
  struct hf_reaper *reaper;
  struct hf_child child;
  int out[2]; /* what the child writes; everything that it starts holds the other end */
  bool started;
  bool ended;
  struct hf_child_end end;
};

static void on_started(struct hf_child *child) {
  HF_CONTAINER_OF(child, struct bed, child)->started = true;
}

static void on_ended(struct hf_child *child, const struct hf_child_end *end) {
  struct bed *bed = HF_CONTAINER_OF(child, struct bed, child);
  bed->ended = true;
  bed->end = *end;
}

static const struct hf_child_events events = {on_started, on_ended};

static void open_bed(struct bed *bed) {
  *bed = (struct bed){.out = {-1, -1}};
  assert_int_equal(hf_reaper_new(&bed->reaper, NULL), 0);
  assert_int_equal(uv_loop_init(&bed->uv), 0);
  hf_loop_init(&bed->loop, 1, NULL);
  hf_loop_driver_init(&bed->driver, &bed->uv, &bed->loop);
  assert_int_equal(hf_reaper_attach(bed->reaper, &bed->uv, &bed->loop), 0);
}

static void close_bed(struct bed *bed) {
  hf_reaper_free(bed->reaper);
  hf_loop_driver_close(&bed->driver);
  uv_run(&bed->uv, UV_RUN_DEFAULT);
  assert_int_equal(uv_loop_close(&bed->uv), 0);
  hf_loop_deinit(&bed->loop);
  close(bed->out[0]);
}

static int spawn(struct bed *bed, struct hf_spawn *command) {
  bed->started = bed->ended = false;
  if (bed->out[0] >= 0)
    close(bed->out[0]);
  assert_int_equal(pipe2(bed->out, O_CLOEXEC), 0);
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  command->fds[0] = null;
  command->fds[1] = bed->out[1];
  command->fds[2] = null;
  int rc = hf_reaper_spawn(bed->reaper, command, &events, &bed->child, NULL);
  close(null);
  close(bed->out[1]);
  return rc;
}

static void spawn_sh(struct bed *bed, const char *script) {
  struct hf_str args[] = {HF_STR("-c"), hf_str_from(script)};
  struct hf_spawn command = {.command = HF_STR("sh"), .args = {args, 2}};
  assert_int_equal(spawn(bed, &command), 0);
}

static void run_until_ended(struct bed *bed) {
  while (!bed->ended)
    uv_run(&bed->uv, UV_RUN_ONCE);
}

/* Reads up to the end of the pipe, which comes when nobody holds it any more; false after ten seconds. */
static bool read_to_end(int fd, char *text, size_t size) {
  size_t len = 0;
  hf_time until = hf_clock_now() + HF_SECONDS(10);
  while (hf_clock_now() < until) {
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    if (poll(&ready, 1, 100) != 1)
      continue;
    char chunk[256];
    ssize_t n = read(fd, chunk, sizeof chunk);
    if (n == 0) {
      text[len] = '\0';
      return true;
    }
    for (ssize_t i = 0; i < n && len + 1 < size; i++)
      text[len++] = chunk[i];
  }
  return false;
}

static void read_line(int fd, char *text, size_t size) {
  size_t len = 0;
  char c = 0;
  while (len + 1 < size && read(fd, &c, 1) == 1 && c != '\n')
    text[len++] = c;
  text[len] = '\0';
}

static void reaper__reports_pid_and_exit_status(void **state) {
  (void)state;
  struct bed bed;
  open_bed(&bed);
  spawn_sh(&bed, "echo $$; exit 3");
  run_until_ended(&bed);
  assert_true(bed.started);
  char text[64];
  assert_true(read_to_end(bed.out[0], text, sizeof text));
  assert_int_equal(strtol(text, NULL, 10), bed.child.pid);
  assert_int_equal(bed.end.stage, HF_SPAWN_DONE);
  assert_true(WIFEXITED(bed.end.status));
  assert_int_equal(WEXITSTATUS(bed.end.status), 3);
  close_bed(&bed);
}

static void reaper__tells_what_is_missing(void **state) {
  (void)state;
  struct {
    const char *command;
    const char *cwd;
    enum hf_spawn_stage stage;
    int error;
  } cases[] = {
      {"true", "/nonexistent", HF_SPAWN_CWD, ENOENT},
      {"true", "/dev/null", HF_SPAWN_CWD, ENOTDIR},
      {"holdfast-no-such-command", NULL, HF_SPAWN_EXEC, ENOENT},
      {"/dev/null", NULL, HF_SPAWN_EXEC, EACCES},
  };
  struct bed bed;
  open_bed(&bed);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct hf_spawn command = {.command = hf_str_from(cases[i].command), .cwd = hf_str_from(cases[i].cwd)};
    assert_int_equal(spawn(&bed, &command), 0);
    run_until_ended(&bed);
    assert_int_equal(bed.end.stage, cases[i].stage);
    assert_int_equal(bed.end.error, cases[i].error);
  }
  close_bed(&bed);
}

static void reaper__child_gets_its_environment_and_looks_up_its_own_path(void **state) {
  (void)state;
  char dir[] = "/tmp/holdfast-reaper-XXXXXX";
  assert_non_null(mkdtemp(dir));
  char file[64], path[64];
  snprintf(file, sizeof file, "%s/only-here", dir);
  snprintf(path, sizeof path, "PATH=%s:/usr/bin:/bin", dir);
  FILE *script = fopen(file, "w");
  assert_non_null(script);
  fputs("#!/bin/sh\necho \"$1 $COLOUR\"\npwd\n", script);
  fclose(script);
  assert_int_equal(chmod(file, 0700), 0);

  struct bed bed;
  open_bed(&bed);
  struct hf_str args[] = {HF_STR("a b")};
  struct hf_str env[] = {HF_STR("COLOUR=red=blue"), hf_str_from(path)};
  struct hf_spawn command = {.command = HF_STR("only-here"), .args = {args, 1}, .env = {env, 2}, .cwd = HF_STR("/")};
  assert_int_equal(spawn(&bed, &command), 0);
  run_until_ended(&bed);
  char text[128];
  assert_true(read_to_end(bed.out[0], text, sizeof text));
  assert_string_equal(text, "a b red=blue\n/\n");
  close_bed(&bed);
  unlink(file);
  rmdir(dir);
}

static void reaper__child_inherits_no_descriptor_but_its_own_three(void **state) {
  (void)state;
  struct bed bed;
  open_bed(&bed);
  spawn_sh(&bed, "for i in 3 4 5 6 7 8 9 11 12 13 14 15; do test -e /proc/$$/fd/$i && echo $i; done; echo .");
  run_until_ended(&bed);
  char text[128];
  assert_true(read_to_end(bed.out[0], text, sizeof text));
  assert_string_equal(text, ".\n");
  close_bed(&bed);
}

static void reaper__end_of_the_leader_takes_its_group_and_strays(void **state) {
  (void)state;
  struct bed bed;
  open_bed(&bed);
  spawn_sh(&bed, "trap '' TERM; sleep 1000 & (setsid sh -c 'trap \"\" TERM HUP; echo x; sleep 1000; sleep 1000' &) ; "
                 "sleep 0.2");
  run_until_ended(&bed);
  char text[16];
  assert_true(read_to_end(bed.out[0], text, sizeof text));
  close_bed(&bed);
}

static void reaper__signals_the_whole_group(void **state) {
  (void)state;
  struct bed bed;
  open_bed(&bed);
  spawn_sh(&bed, "sleep 1000 & echo up; wait");
  char text[16];
  read_line(bed.out[0], text, sizeof text);
  assert_string_equal(text, "up");
  hf_reaper_signal(bed.reaper, &bed.child, SIGTERM);
  run_until_ended(&bed);
  assert_true(WIFSIGNALED(bed.end.status));
  assert_int_equal(WTERMSIG(bed.end.status), SIGTERM);
  assert_true(read_to_end(bed.out[0], text, sizeof text));
  close_bed(&bed);
}

static void reaper__dropped_child_dies_without_a_report(void **state) {
  (void)state;
  struct bed bed;
  open_bed(&bed);
  spawn_sh(&bed, "trap '' TERM; echo up; while :; do sleep 1000; done");
  char text[16];
  read_line(bed.out[0], text, sizeof text);
  hf_reaper_drop(bed.reaper, &bed.child);
  assert_true(read_to_end(bed.out[0], text, sizeof text));
  uv_run(&bed.uv, UV_RUN_NOWAIT);
  assert_false(bed.ended);
  close_bed(&bed);
}

/* A stand-in for the gateway: starts what must not survive it, says so, and waits to be killed. */
static _Noreturn void stand_in(int ready, const char *script) {
  struct bed bed;
  open_bed(&bed);
  struct hf_str args[] = {HF_STR("-c"), hf_str_from(script)};
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  struct hf_child children[3];
  for (int i = 0; i < 3; i++) {
    struct hf_spawn command = {.command = HF_STR("sh"), .args = {args, 2}, .fds = {null, ready, null}};
    if (hf_reaper_spawn(bed.reaper, &command, &events, &children[i], NULL) < 0)
      _exit(1);
  }
  close(ready);
  for (;;)
    pause();
}

static void reaper__nothing_survives_a_killed_gateway(void **state) {
  (void)state;
  int ready[2];
  assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
  pid_t gateway = fork();
  if (gateway == 0) {
    close(ready[0]);
    stand_in(ready[1], "trap '' TERM HUP INT; setsid sh -c 'trap \"\" TERM HUP INT; (setsid sleep 1000 &) ; echo up; "
                       "while :; do sleep 1000; done' & while :; do sleep 1000; done");
  }
  close(ready[1]);
  char text[16];
  for (int i = 0; i < 3; i++) {
    read_line(ready[0], text, sizeof text);
    assert_string_equal(text, "up");
  }
  assert_int_equal(kill(gateway, SIGKILL), 0);
  waitpid(gateway, NULL, 0);
  assert_true(read_to_end(ready[0], text, sizeof text));
  close(ready[0]);
}

static void reaper__a_killed_helper_takes_its_children_and_is_replaced(void **state) {
  (void)state;
  struct bed bed;
  open_bed(&bed);
  spawn_sh(&bed, "(setsid sleep 1000 &); sleep 1000 & echo up; exec sleep 1000");
  char text[16];
  read_line(bed.out[0], text, sizeof text);
  pid_t first = hf_reaper_pid(bed.reaper);
  kill(first, SIGKILL);
  run_until_ended(&bed);
  assert_true(bed.end.lost);
  assert_true(read_to_end(bed.out[0], text, sizeof text));

  spawn_sh(&bed, "exit 7");
  run_until_ended(&bed);
  assert_int_equal(WEXITSTATUS(bed.end.status), 7);
  assert_int_not_equal(hf_reaper_pid(bed.reaper), first);
  close_bed(&bed);
  waitpid(first, NULL, 0);
}

/* The one that could not be watched is the one that is used, and reaped, later. */
static void reaper__a_helper_that_could_not_be_watched_is_watched_later(void **state) {
  (void)state;
  struct bed bed;
  open_bed(&bed);
  spawn_sh(&bed, "sleep 60");
  while (!bed.started)
    uv_run(&bed.uv, UV_RUN_ONCE);
  pid_t first = hf_reaper_pid(bed.reaper);
  hf_alloc_fail_after(0); /* the watch on the new helper */
  assert_int_equal(kill(first, SIGKILL), 0);
  run_until_ended(&bed);
  hf_alloc_fail_after(-1);
  pid_t second = hf_reaper_pid(bed.reaper);
  assert_true(second > 0 && second != first);

  spawn_sh(&bed, "exit 5");
  run_until_ended(&bed); /* how, is not told: the helper was forked with the failing allocation still ahead */
  assert_true(bed.started);
  assert_int_equal(hf_reaper_pid(bed.reaper), second);
  assert_int_equal(kill(second, SIGKILL), 0);
  while (hf_reaper_pid(bed.reaper) == second)
    uv_run(&bed.uv, UV_RUN_ONCE);
  assert_int_equal(waitpid(second, NULL, WNOHANG), -1); /* reaped */
  close_bed(&bed);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reaper__reports_pid_and_exit_status),
      cmocka_unit_test(reaper__tells_what_is_missing),
      cmocka_unit_test(reaper__child_gets_its_environment_and_looks_up_its_own_path),
      cmocka_unit_test(reaper__child_inherits_no_descriptor_but_its_own_three),
      cmocka_unit_test(reaper__end_of_the_leader_takes_its_group_and_strays),
      cmocka_unit_test(reaper__signals_the_whole_group),
      cmocka_unit_test(reaper__dropped_child_dies_without_a_report),
      cmocka_unit_test(reaper__nothing_survives_a_killed_gateway),
      cmocka_unit_test(reaper__a_killed_helper_takes_its_children_and_is_replaced),
      cmocka_unit_test(reaper__a_helper_that_could_not_be_watched_is_watched_later),
  };
  return cmocka_run_group_tests_name("reaper", tests, NULL, NULL);
}
