/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program asks posix_spawn() to do in the child, step by step
 * (src/tmpi/run/spawn_actions.c): its actions come in its order, with copies of its paths, behind
 * the actions of ours that give the child the rank's descriptors. libc's list notes what is added.
 */
#include "traced_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>

#include "counted_blocks.h"
#include "override_rows.h"
#include "tmpi/run/owners.h"
#include "tmpi/run/spawn_actions.h"
#include "tmpi/run/streams.h"

enum { REFUSED = -1 /* no descriptor */ };

/* ---- memory */

char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);
char *__wrap_strdup(const char *text) {
  return allocation_fails() ? NULL : counted(__real_strdup(text));
}

void *__real_reallocarray(void *block, size_t count, size_t size);
void *__wrap_reallocarray(void *block, size_t count, size_t size);
void *__wrap_reallocarray(void *block, size_t count, size_t size) {
  if (allocation_fails()) return NULL;
  void *made = __real_reallocarray(block, count, size);
  return block == NULL ? counted(made) : made;
}

/* ---- libc's list */

static int lists; /* that were initialised and not destroyed */
static int init_error, streams_error, owners_error;
static bool is_start; /* before it each action is tried on a list of its own, when it is added */

int __wrap_posix_spawn_file_actions_init(posix_spawn_file_actions_t *list);
int __wrap_posix_spawn_file_actions_init(posix_spawn_file_actions_t *list) {
  (void)list;
  lists += init_error == 0;
  return init_error;
}

int __wrap_posix_spawn_file_actions_destroy(posix_spawn_file_actions_t *list);
int __wrap_posix_spawn_file_actions_destroy(posix_spawn_file_actions_t *list) {
  (void)list;
  lists--;
  return 0;
}

#define ACTION(name, parameters, fd, ...)                                                          \
  int __wrap_posix_spawn_file_actions_##name parameters;                                           \
  int __wrap_posix_spawn_file_actions_##name parameters {                                          \
    (void)list;                                                                                    \
    if ((fd) == REFUSED) return EBADF;                                                             \
    if (is_start) note(__VA_ARGS__);                                                               \
    return 0;                                                                                      \
  }

ACTION(addclose, (posix_spawn_file_actions_t * list, int fd), fd, "close:%d", fd)
ACTION(addclosefrom_np, (posix_spawn_file_actions_t * list, int fd), fd, "from:%d", fd)
ACTION(adddup2, (posix_spawn_file_actions_t * list, int fd, int to), fd, "dup:%d,%d", fd, to)
ACTION(addopen,
       (posix_spawn_file_actions_t * list, int fd, const char *path, int flags, mode_t mode), fd,
       "open:%d,%s,%d,%o", fd, path, flags, (unsigned)mode)
ACTION(addchdir_np, (posix_spawn_file_actions_t * list, const char *path), 0, "enter:%s", path)
ACTION(addfchdir_np, (posix_spawn_file_actions_t * list, int fd), fd, "enter:%d", fd)
ACTION(addtcsetpgrp_np, (posix_spawn_file_actions_t * list, int fd), fd, "foreground:%d", fd)

/* ---- what gives the child the rank's descriptors */

int tm_streams_spawn(posix_spawn_file_actions_t *actions) {
  assert_non_null(actions);
  note("streams");
  return streams_error;
}

int tm_owners_spawn(posix_spawn_file_actions_t *actions) {
  assert_non_null(actions);
  note("owners");
  return owners_error;
}

/* ---- the program's list */

static posix_spawn_file_actions_t asked;

#define CALL(type, name) ((type)override_row(tm_override_actions, "posix_spawn_file_actions_" name))

typedef int list_call(posix_spawn_file_actions_t *);
typedef int fd_call(posix_spawn_file_actions_t *, int);
typedef int path_call(posix_spawn_file_actions_t *, const char *);

static int add_path(const char *path) { return CALL(path_call *, "addchdir_np")(&asked, path); }
static int add_close(int fd) { return CALL(fd_call *, "addclose")(&asked, fd); }

static int begin(void **state) {
  (void)state;
  blocks = lists = init_error = streams_error = owners_error = 0;
  memory_is_out = is_start = false;
  memset(&asked, 0xa5, sizeof asked);
  trace[0] = '\0';
  return CALL(list_call *, "init")(&asked);
}

static int end(void **state) {
  (void)state;
  assert_int_equal(CALL(list_call *, "destroy")(&asked), 0);
  assert_int_equal(blocks, 0);
  assert_int_equal(lists, 0);
  return 0;
}

/* The caller destroys the list. */
static int make(const posix_spawn_file_actions_t *list) {
  posix_spawn_file_actions_t made;
  is_start = true;
  int error = tm_actions_make(&made, list);
  is_start = false;
  if (init_error == 0) __wrap_posix_spawn_file_actions_destroy(&made);
  return error;
}

static void actions_come_in_the_programs_order(void **state) {
  char path[] = "path";
  (void)state;
  assert_int_equal(add_close(4), 0);
  assert_int_equal(CALL(fd_call *, "addclosefrom_np")(&asked, 5), 0);
  assert_int_equal(CALL(int (*)(posix_spawn_file_actions_t *, int, int), "adddup2")(&asked, 6, 7),
                   0);
  assert_int_equal(CALL(int (*)(posix_spawn_file_actions_t *, int, const char *, int, mode_t),
                        "addopen")(&asked, 8, path, 9, 0640),
                   0);
  assert_int_equal(add_path(path), 0);
  assert_int_equal(CALL(fd_call *, "addfchdir_np")(&asked, 10), 0);
  assert_int_equal(CALL(fd_call *, "addtcsetpgrp_np")(&asked, 11), 0);
  strcpy(path, "else"); /* the program may change it from now on */
  for (int i = 0; i < 2; i++) {
    assert_int_equal(make(&asked), 0);
    check_trace(
        "streams owners close:4 from:5 dup:6,7 open:8,path,9,640 enter:path enter:10 "
        "foreground:11 ");
  }
}

static void a_rank_may_ask_for_nothing(void **state) {
  (void)state;
  assert_int_equal(make(NULL), 0);
  check_trace("streams owners ");
  assert_int_equal(make(&asked), 0);
  check_trace("streams owners ");
}

static void the_list_begins_anew(void **state) {
  (void)state;
  add_path("path");
  assert_int_equal(CALL(list_call *, "destroy")(&asked), 0);
  assert_int_equal(blocks, 0);
  assert_int_equal(make(&asked), 0);
  check_trace("streams owners ");
}

/* As libc's functions: when it is added. */
static void what_is_no_descriptor_is_refused(void **state) {
  (void)state;
  assert_int_equal(add_close(REFUSED), EBADF);
  assert_int_equal(CALL(int (*)(posix_spawn_file_actions_t *, int, const char *, int, mode_t),
                        "addopen")(&asked, REFUSED, "path", 0, 0),
                   EBADF);
  assert_int_equal(blocks, 0);
  assert_int_equal(make(&asked), 0);
  check_trace("streams owners ");
  init_error = ENOMEM; /* there is no list to try it on */
  lists = 1;           /* libc destroys that one, too */
  assert_int_equal(add_close(4), ENOMEM);
  assert_int_equal(blocks, 0);
}

static void actions_take_memory(void **state) {
  (void)state;
  for (int most = 0; most < 2; most++) {
    allocations_left = most;
    assert_int_equal(add_path("path"), ENOMEM);
    allocations_left = -1;
    assert_int_equal(blocks, 0);
  }
  assert_int_equal(add_close(4), 0);
  memory_is_out = true;
  assert_int_equal(add_close(5), ENOMEM);
  memory_is_out = false;
  assert_int_equal(make(&asked), 0);
  check_trace("streams owners close:4 ");
}

static void the_first_error_of_a_start(void **state) {
  (void)state;
  add_close(4);
  init_error = ENOMEM;
  assert_int_equal(make(&asked), ENOMEM);
  check_trace("");
  init_error = 0;
  streams_error = ENFILE;
  assert_int_equal(make(&asked), ENFILE);
  check_trace("streams ");
  streams_error = 0;
  owners_error = EMFILE;
  assert_int_equal(make(&asked), EMFILE);
  check_trace("streams owners ");
}

#define ACTIONS_TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void) {
  const struct CMUnitTest tests[] = {
      ACTIONS_TEST(actions_come_in_the_programs_order),
      ACTIONS_TEST(a_rank_may_ask_for_nothing),
      ACTIONS_TEST(the_list_begins_anew),
      ACTIONS_TEST(what_is_no_descriptor_is_refused),
      ACTIONS_TEST(actions_take_memory),
      ACTIONS_TEST(the_first_error_of_a_start),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
