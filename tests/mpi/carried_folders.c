/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Working directory and umask of ranks, call by call (src/tmpi/run/working_directory.c). What the
 * first change finds counts for the whole job, so each case is a job: a child of fork(). Its
 * pthreads are VPs, one at a time. A descriptor stands for a folder.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "captured.h"
#include "core/internal/direct_switch.h"
#include "internal_locks.h"
#include "must.h"
#include "os/os.h"
#include "overridden.h"
#include "tmpi/loader/program.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/process.h"
#include "tmpi/run/working_directory.h"
#include "traced_calls.h"

enum { RANKS = 3, START = 5 /* tmpirun's folder */, MASK = 022 };

static struct tm_program program = {.ranks = RANKS};
struct tm_program *tm_the_program = &program;
static struct tm_process processes[RANKS];
static int rank; /* the calling one */

int tm_rank_number(void) { return rank; }
struct tm_process *tm_process_self(void) { return rank >= 0 ? &processes[rank] : NULL; }

static void must_trace(const char *expected) {
  MUST(locked == 0);
  if (strcmp(trace, expected) != 0) must(false, trace);
  trace[0] = '\0';
}

/* ---- the kernel and the rest of the library */

static int unshare_error;
static bool has_start; /* tmpirun's folder can be opened */
static int start_folder = START;
static int next_folder; /* descriptor of the folder that is opened next; -1: it is not there */
static int not_a_folder = -1; /* a descriptor */
static mode_t umask_of_all = MASK;
static __thread bool has_own;
static __thread mode_t umask_here;
static void (*hook)(uint32_t);

int os_unshare_files(void) {
  note("unshare");
  if (unshare_error == 0) has_own = true;
  if (unshare_error == 0) umask_here = umask_of_all;
  return unshare_error;
}

int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...) {
  MUST(flags == (O_PATH | O_DIRECTORY | O_CLOEXEC));
  note("open:%s", path);
  errno = ENOENT;
  return strcmp(path, ".") == 0 ? (has_start ? start_folder : -1) : next_folder;
}

int __wrap_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  int least = va_arg(list, int);
  va_end(list);
  MUST(command == F_DUPFD_CLOEXEC);
  note("dup:%d,%d", fd, least);
  errno = EBADF;
  return next_folder;
}

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd) {
  MUST(fd > STDERR_FILENO);
  if (fd < START || fd > 99) return __real_close(fd); /* the test's own */
  note("close:%d", fd);
  errno = EILSEQ;
  return 0;
}

int __wrap_fchdir(int fd);
int __wrap_fchdir(int fd) {
  note("enter:%d", fd);
  errno = ENOTDIR;
  return fd == not_a_folder ? -1 : 0;
}

int __wrap_chdir(const char *path);
int __wrap_chdir(const char *path) {
  note("chdir:%s", path);
  errno = ENOENT;
  return strcmp(path, "none") == 0 ? -1 : 0;
}

mode_t __wrap_umask(mode_t mask);
mode_t __wrap_umask(mode_t mask) {
  mode_t *now = has_own ? &umask_here : &umask_of_all, before = *now;
  note("umask:%o", mask);
  *now = mask;
  return before;
}

static bool has_memory = true;

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size) {
  return has_memory ? __real_calloc(count, size) : NULL;
}

void mti_set_switch_hook(void (*prepare)(uint32_t number)) {
  note("hook");
  hook = prepare;
}

void tm_locale_apply(const struct tm_carried *carried, bool own_only) {
  int of = 0;
  for (int caller = rank, i = 0; i < RANKS; i++, rank = caller) {
    rank = i;
    if (tm_carried() == carried) of = i + 1;
  }
  note("locale:%d%s", of, own_only ? "!" : "");
  errno = EILSEQ;
}

/* ---- what ranks do */

static int change(const char *path, int folder) {
  typedef int function(const char *);
  next_folder = folder;
  return ((function *)overridden(tm_override_carried, "chdir"))(path);
}

static int change_to(int fd, int folder) {
  typedef int function(int);
  next_folder = folder;
  return ((function *)overridden(tm_override_carried, "fchdir"))(fd);
}

static mode_t mask_files(mode_t mask) {
  typedef mode_t function(mode_t);
  return ((function *)overridden(tm_override_carried, "umask"))(mask);
}

/* Calls a function on a VP of its own. */
static void *call(void *function) {
  (*(void (**)(void))function)();
  return NULL;
}

static void on_other_vp(void (*function)(void)) {
  pthread_t thread;
  MUST(pthread_create(&thread, NULL, call, &function) == 0 && pthread_join(thread, NULL) == 0);
}

static char text[1000];

/* @return what a case prints. */
static const char *said_by(void (*acts)(const void *), const void *argument) {
  if (!captured_in_child(acts, argument, text, sizeof text)) fail_msg("%s", text);
  return text;
}

/* ---- each rank has its own */

#define BEGIN                                                                                      \
  "open:. unshare umask:0 umask:22 hook locale:1 " /* by the first change, of rank 0               \
                                                    */
#define FIRST BEGIN "open:one enter:20 enter:20 umask:22 locale:1 "

static void begin(void) {
  rank = 0;
  MUST(change("one", 20) == 0);
  must_trace(FIRST);
}

static void go_on_elsewhere(void) {
  hook(1);
  must_trace("unshare enter:20 umask:22 locale:1 ");
  hook(1); /* it has all */
  must_trace("locale:1 ");
  hook(2); /* another rank, which has changed nothing */
  must_trace("enter:5 umask:22 locale:2 ");
  hook(0); /* nobody looks at the working directory */
  must_trace("locale:0 ");
  hook(2);
  must_trace("locale:2 ");
}

static void take_along(const void *unused) {
  (void)unused;
  tm_carry_apply(1); /* before any change */
  must_trace("locale:1 ");
  begin();
  on_other_vp(go_on_elsewhere);
  rank = 1;
  hook(2);
  must_trace("enter:5 umask:22 locale:2 ");
  MUST(mask_files(027) == 022);
  must_trace("locale:2 umask:27 enter:5 umask:27 locale:2 ");
  MUST(mask_files(027) == 027); /* nothing changes */
  must_trace("locale:2 umask:27 ");
  rank = 0;
  hook(1);
  must_trace("enter:20 umask:22 locale:1 ");
  rank = 1;
  MUST(change_to(7, 30) == 0);
  must_trace("enter:5 umask:27 locale:2 dup:7,3 enter:30 enter:30 umask:27 locale:2 ");
  MUST(tm_carry_is_own());
  must_trace("locale:2 ");
  rank = 0;
  MUST(tm_carry_is_own());
  must_trace("enter:20 umask:22 locale:1 ");
}

static void test_a_rank_takes_its_own_along(void **state) {
  (void)state;
  assert_string_equal(said_by(take_along, NULL), "");
}

/* A VP may still read the last one, so the one before is closed. */
static void change_often(const void *unused) {
  (void)unused;
  begin();
  MUST(tm_carry_enter("one") == 0 && strstr(trace, "close") == NULL);
  trace[0] = '\0';
  MUST(change("two", 21) == 0);
  must_trace("locale:1 open:two enter:21 enter:21 umask:22 locale:1 ");
  MUST(change("three", 22) == 0);
  must_trace("locale:1 open:three enter:22 close:20 enter:22 umask:22 locale:1 ");
  MUST(mask_files(0) == 022);
  must_trace("locale:1 umask:0 enter:22 umask:0 locale:1 ");
  MUST(change("four", 23) == 0);
  must_trace("locale:1 open:four enter:23 close:21 enter:23 umask:0 locale:1 ");
  tm_carry_end(0);
  must_trace("close:22 close:23 ");
  tm_carry_end(0);
  tm_carry_end(1);
  must_trace("");
  hook(1); /* a handler of the rank that has ended */
  must_trace("enter:5 umask:22 locale:1 ");
  rank = 1;
  MUST(change("five", 24) == 0);
  trace[0] = '\0';
  tm_carry_end(1);
  must_trace("close:24 ");
}

static void test_folders_are_closed(void **state) {
  (void)state;
  assert_string_equal(said_by(change_often, NULL), "");
}

static void end_first(const void *unused) {
  (void)unused;
  tm_carried()->folder = 40; /* memory that nobody has touched is not read */
  tm_carry_end(0);
  must_trace("");
}

static void test_a_rank_that_ends_where_none_has_changed_anything(void **state) {
  (void)state;
  assert_string_equal(said_by(end_first, NULL), "");
}

static void change_wrongly(const void *unused) {
  (void)unused;
  begin();
  errno = 0;
  MUST(change("none", -1) == -1 && errno == ENOENT);
  must_trace("locale:1 open:none ");
  MUST(change_to(-1, -1) == -1 && errno == EBADF);
  must_trace("locale:1 dup:-1,3 ");
  not_a_folder = 25;
  MUST(change_to(7, 25) == -1 && errno == ENOTDIR);
  must_trace("locale:1 dup:7,3 enter:25 close:25 ");
  hook(1); /* nothing has changed */
  must_trace("locale:1 ");
}

static void test_folders_that_cannot_be_entered(void **state) {
  (void)state;
  assert_string_equal(said_by(change_wrongly, NULL), "");
}

/* ---- VPs that cannot follow */

static void follow_in_vain(void) {
  unshare_error = EPERM;
  hook(1);
  must_trace("unshare locale:1 "); /* the folder of all threads stays */
  unshare_error = 0;
  not_a_folder = 20;
  hook(1);
  must_trace("unshare enter:20 umask:22 locale:1 ");
  hook(1); /* once more */
  must_trace("enter:20 umask:22 locale:1 ");
  not_a_folder = -1;
  hook(1);
  must_trace("enter:20 umask:22 locale:1 ");
  hook(1);
  must_trace("locale:1 ");
}

static void lose_first_folder(void) {
  not_a_folder = START;
  hook(2);
  must_trace("unshare enter:5 umask:22 locale:2 ");
  hook(2);
  must_trace("enter:5 umask:22 locale:2 ");
  not_a_folder = -1;
}

static void lose_folders(const void *unused) {
  (void)unused;
  begin();
  on_other_vp(follow_in_vain);
  on_other_vp(lose_first_folder);
}

static void enter_first_descriptor(void) {
  hook(2);
  must_trace("unshare enter:0 umask:22 locale:2 ");
}

static void start_without_stdin(const void *unused) {
  (void)unused;
  start_folder = 0;
  begin();
  on_other_vp(enter_first_descriptor);
}

static void test_a_vp_tries_again(void **state) {
  (void)state;
  assert_string_equal(said_by(lose_folders, NULL), "");
}

static void test_the_first_folder_may_have_descriptor_0(void **state) {
  (void)state;
  assert_string_equal(said_by(start_without_stdin, NULL), "");
}

/* ---- handlers of ranks */

static void lend_and_return(const void *unused) {
  (void)unused;
  uint32_t before = tm_carry_lend(2); /* no switch is followed yet, so the thread's rank counts */
  must_trace("locale:2! ");
  tm_carry_return(before, 3);
  must_trace("locale:3 ");
  begin();
  before = tm_carry_lend(2);
  must_trace("enter:5 umask:22 locale:2! ");
  uint32_t within = tm_carry_lend(3); /* another handler interrupts it */
  must_trace("locale:3! ");
  tm_carry_return(within, 1);
  must_trace("locale:2! ");
  tm_carry_return(before, 3); /* within a switch: what the thread has is right */
  must_trace("enter:20 umask:22 locale:1 ");
  errno = ERANGE;
  hook(2);
  MUST(errno == ERANGE);
}

static void test_a_handler_gets_its_rank_s(void **state) {
  (void)state;
  assert_string_equal(said_by(lend_and_return, NULL), "");
}

/* ---- pthreads keep what they had */

static void change_beside_pthreads(const void *unused) {
  (void)unused;
  rank = 1;
  processes[1].pthreads = 1;
  MUST(mask_files(0) == MASK); /* a program reads it so */
  MUST(change("one", 20) == 0 && change("two", 21) == 0 && mask_files(7) == 0);
}

static void mask_beside_pthreads(const void *unused) {
  (void)unused;
  processes[0].pthreads = 2;
  MUST(mask_files(MASK) == MASK && mask_files(7) == MASK);
  processes[2].pthreads = 1;
  rank = 2;
  MUST(change_to(7, 21) == 0);
}

static void test_other_threads_are_said_to_keep_theirs(void **state) {
  (void)state;
  assert_string_equal(said_by(change_beside_pthreads, NULL),
                      "tmpirun: rank 1 called chdir() while it has pthreads: its other threads "
                      "keep what they had (call it before pthread_create)\n");
  assert_string_equal(said_by(mask_beside_pthreads, NULL),
                      "tmpirun: rank 0 called umask() while it has pthreads: its other threads "
                      "keep what they had (call it before pthread_create)\n");
}

/* ---- where unshare(2) is refused */

static void share(const void *how) {
  program.ranks = 2; /* the least that share anything */
  unshare_error = *(const int *)how != 0 ? EPERM : 0;
  has_start = *(const int *)how != 0;
  MUST(change("none", 20) == -1 && errno == ENOENT);
  must_trace(has_start ? "open:. unshare chdir:none " : "open:. chdir:none ");
}

static void share_folder(const void *how) {
  share(how);
  rank = 1;
  MUST(!tm_carry_is_own() && change("one", 20) == 0 && change_to(7, 20) == 0);
  must_trace("chdir:one enter:7 ");
  not_a_folder = 8;
  MUST(change_to(8, 20) == -1);
  tm_carry_apply(3);
  must_trace("enter:8 locale:3 ");
  tm_carry_end(1);
}

static void share_by_descriptor(const void *how) {
  share(how);
  not_a_folder = 8;
  MUST(change_to(8, 20) == -1);
  MUST(change_to(7, 20) == 0 && change("one", 20) == 0);
}

static void share_mask(const void *how) {
  share(how);
  MUST(mask_files(0) == MASK && mask_files(0) == 0); /* a program reads it so */
  rank = 1;
  MUST(mask_files(7) == 0 && mask_files(3) == 7);
  must_trace("umask:0 umask:0 umask:7 umask:3 ");
}

#define ALL_SHARE                                                                                  \
  "all ranks share working directory and umask, since unshare(2) is refused "                      \
  "here (use absolute paths, or allow it)\n"

static void test_where_ranks_share_them(void **state) {
  (void)state;
  for (int refused = 0; refused < 2; refused++) { /* by unshare(2), or by tmpirun's folder */
    assert_string_equal(said_by(share_mask, &refused),
                        "tmpirun: rank 1 called umask(): " ALL_SHARE);
    assert_string_equal(said_by(share_folder, &refused),
                        "tmpirun: rank 1 called chdir(): " ALL_SHARE);
    assert_string_equal(said_by(share_by_descriptor, &refused),
                        "tmpirun: rank 0 called fchdir(): " ALL_SHARE);
  }
}

/* ---- threads of no rank, and the only rank */

static void change_alone(const void *number) {
  rank = *(const int *)number;
  if (rank == 0) program.ranks = 1;
  MUST(change("one", 20) == 0 && change_to(7, 20) == 0 && mask_files(7) == MASK);
  must_trace("chdir:one enter:7 umask:7 ");
  if (rank == 0) MUST(!tm_carry_is_own());
  must_trace("");
}

static void ask_from_outside(const void *unused) {
  (void)unused;
  rank = -1;
  MUST(tm_carry_is_own());
  must_trace("open:. unshare umask:0 umask:22 hook ");
}

static void test_threads_of_no_rank_and_the_only_rank(void **state) {
  (void)state;
  static const int none = -1, only = 0;
  assert_string_equal(said_by(change_alone, &none), "");
  assert_string_equal(said_by(change_alone, &only), "");
  assert_string_equal(said_by(ask_from_outside, NULL), "");
}

static void test_no_memory(void **state) {
  (void)state;
  has_memory = false;
  assert_false(tm_carry_start(RANKS));
  has_memory = true;
  assert_true(tm_carry_start(RANKS)); /* for the tests that follow */
}

int main(void) {
  closefrom(START - 2); /* the test's own pipes get the two numbers below those of folders */
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_no_memory), /* the first one */
      cmocka_unit_test(test_a_rank_takes_its_own_along),
      cmocka_unit_test(test_folders_are_closed),
      cmocka_unit_test(test_a_rank_that_ends_where_none_has_changed_anything),
      cmocka_unit_test(test_folders_that_cannot_be_entered),
      cmocka_unit_test(test_a_vp_tries_again),
      cmocka_unit_test(test_the_first_folder_may_have_descriptor_0),
      cmocka_unit_test(test_a_handler_gets_its_rank_s),
      cmocka_unit_test(test_other_threads_are_said_to_keep_theirs),
      cmocka_unit_test(test_where_ranks_share_them),
      cmocka_unit_test(test_threads_of_no_rank_and_the_only_rank),
  };
  has_start = true;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
