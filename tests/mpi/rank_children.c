/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children of ranks, call by call (src/tmpi/run/children.c): which ones a wait finds, when they
 * leave the rank's list, and what is undone where a child cannot be started. The test is the
 * kernel.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pty.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "captured.h"
#include "children_kernel.h"

static struct tm_signals *const some_signals = (struct tm_signals *)&processes;

static int set_up(void **state) {
  (void)state;
  memset(kids, 0, sizeof kids);
  memset(processes, 0, sizeof processes);
  memset(&on_child, 0, sizeof on_child);
  self = &processes[0];
  for (int i = 0; i < RANKS; i++) processes[i].signals = some_signals;
  kid_count = interruptions = naps = blocking = start_error = list_error = lists = 0;
  failures = 0;
  forks_as_child = libcs = fails_at_nap = false;
  nap_ends = -1;
  errno = 0;
  trace[0] = '\0';
  return 0;
}

/* Nothing is left in the list of the rank. */
static int tear_down(void **state) {
  (void)state;
  trace[0] = '\0';
  for (int i = 0; i < RANKS; i++) {
    self = &processes[i];
    for (int k = 0; k < kid_count; k++) kids[k].is_gone = true;
    on_child = (struct tm_action){0};
    WAIT("wait4")(-1, NULL, WNOHANG, NULL);
    assert_null(processes[i].children);
  }
  assert_int_equal(blocks, 0);
  assert_int_equal(lists, 0);
  return 0;
}

SPAWN(posix_spawn, "spawn", 0)

/* ---- waiting for any of them */

static void test_ranks_wait_for_their_own(void **state) {
  int status;
  (void)state;
  struct kid *first = started(), *second = started();
  self = &processes[1];
  struct kid *other = started();
  end_kid(first, 3 << 8);
  end_kid(other, 4 << 8);
  assert_int_equal(CALL(wait)(&status), other->pid);
  assert_int_equal(status, 4 << 8);
  errno = 0;
  assert_int_equal(CALL(wait)(&status), -1);
  assert_int_equal(errno, ECHILD);
  self = &processes[0];
  assert_int_equal(CALL(wait)(&status), first->pid);
  assert_int_equal(status, 3 << 8);
  assert_int_equal(CALL(waitpid)(-1, &status, WNOHANG), 0);
  end_kid(second, SIGKILL);
  assert_int_equal(CALL(waitpid)(-1, &status, 0), second->pid);
  assert_int_equal(status, SIGKILL);
  assert_int_equal(CALL(waitpid)(-1, &status, WNOHANG), -1);
  assert_int_equal(errno, ECHILD);
}

/* The last one started is asked for first. */
static void test_naps_grow(void **state) {
  static const uint64_t expected[] = {50000,   100000,  200000,  400000, 800000,
                                      1600000, 3200000, 6400000, 6400000};
  struct rusage usage = {0};
  (void)state;
  struct kid *first = started(), *second = started();
  nap_ends = 9;
  end_of_nap = second;
  assert_int_equal(((wait3_call *)row("wait3"))(NULL, WUNTRACED, &usage), second->pid);
  assert_int_equal(usage.ru_maxrss, second->pid);
  assert_int_equal(naps, 9);
  assert_memory_equal(nap, expected, sizeof expected);
  assert_int_equal(asked_options, WUNTRACED | WNOHANG);
  nap_ends = 10;
  end_of_nap = first;
  assert_int_equal(CALL(wait)(NULL), first->pid);
  assert_int_equal(nap[9], 50000);
}

static void test_handlers_end_the_wait_for_any(void **state) {
  (void)state;
  started();
  nap_ends = 2;
  fails_at_nap = true;
  failures = 7; /* before the wait */
  assert_int_equal(CALL(wait)(NULL), -1);
  assert_int_equal(errno, EINTR);
  assert_int_equal(naps, 2);
}

static void test_groups_of_processes(void **state) {
  siginfo_t info;
  (void)state;
  struct kid *own = started(), *grouped = started();
  grouped->group = 70;
  end_kid(own, 0);
  end_kid(grouped, 0);
  assert_int_equal(CALL(waitpid)(-71, NULL, 0), -1);
  assert_int_equal(errno, ECHILD);
  assert_int_equal(CALL(waitpid)(-70, NULL, 0), grouped->pid);
  assert_int_equal(CALL(waitpid)(-70, NULL, 0), -1);
  assert_int_equal(CALL(waitpid)(0, NULL, 0), own->pid);
  own = started();
  grouped = started();
  grouped->group = 70;
  end_kid(own, 0);
  end_kid(grouped, 0);
  assert_int_equal(CALL(waitid)(P_PGID, 70, &info, WEXITED), 0);
  assert_int_equal(info.si_pid, grouped->pid);
  assert_int_equal(CALL(waitid)(P_PGID, 70, &info, WEXITED), -1);
  assert_int_equal(CALL(waitid)(P_PGID, 0, &info, WEXITED), 0);
  assert_int_equal(info.si_pid, own->pid);
}

/* ---- what stays in the list */

static void test_a_stopped_child_stays(void **state) {
  int status;
  (void)state;
  struct kid *kid = started();
  kid->stopped = true;
  assert_int_equal(CALL(waitpid)(-1, &status, WNOHANG), 0);
  assert_int_equal(CALL(waitpid)(-1, &status, WUNTRACED), kid->pid);
  assert_true(WIFSTOPPED(status));
  end_kid(kid, 0);
  assert_int_equal(CALL(wait)(&status), kid->pid);
  assert_int_equal(CALL(wait)(&status), -1);
}

static void test_waitid_that_only_looks(void **state) {
  static const int codes[] = {CLD_EXITED, CLD_KILLED, CLD_DUMPED};
  siginfo_t info = {0};
  (void)state;
  for (int i = 0; i < 3; i++) {
    struct kid *kid = started();
    assert_int_equal(CALL(waitid)(P_ALL, 0, &info, WEXITED | WNOHANG), 0);
    assert_int_equal(info.si_pid, 0); /* none has ended */
    kid->stopped = true;
    assert_int_equal(CALL(waitid)(P_ALL, 0, &info, WSTOPPED), 0);
    assert_true(info.si_pid == kid->pid && info.si_code == CLD_STOPPED);
    end_kid(kid, codes[i] == CLD_EXITED ? 0 : codes[i] == CLD_KILLED ? SIGKILL : SIGKILL | 0x80);
    assert_int_equal(CALL(waitid)(P_ALL, 0, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(CALL(waitid)(P_ALL, 0, i == 0 ? NULL : &info, WEXITED), 0);
    assert_true(kid->is_gone && info.si_pid == kid->pid && info.si_code == codes[i]);
    assert_null(self->children);
    assert_int_equal(CALL(waitid)(P_ALL, 0, &info, WEXITED), -1);
    assert_int_equal(errno, ECHILD);
  }
}

/* A program may wait by means that are not overridden. */
static void test_children_that_the_kernel_no_longer_has(void **state) {
  (void)state;
  struct kid *kid = started(), *gone = started(), *also_gone = started();
  gone->is_gone = also_gone->is_gone = true;
  end_kid(kid, 0);
  assert_int_equal(CALL(wait)(NULL), kid->pid);
  assert_null(self->children);
  kid = started();
  started()->is_gone = true;
  assert_int_equal(CALL(waitpid)(-1, NULL, WNOHANG), 0);
  end_kid(kid, 0);
  assert_int_equal(CALL(wait)(NULL), kid->pid);
  started()->is_gone = true; /* the last one */
  assert_int_equal(CALL(waitpid)(-1, NULL, WNOHANG), -1);
  assert_int_equal(errno, ECHILD);
  assert_null(self->children);
}

static void test_options_that_the_kernel_refuses(void **state) {
  siginfo_t info;
  (void)state;
  assert_int_equal(CALL(waitpid)(-1, NULL, BAD_OPTION), -1); /* there is no child */
  assert_int_equal(errno, EINVAL);
  assert_int_equal(CALL(waitid)(P_ALL, 0, &info, BAD_OPTION), -1);
  assert_int_equal(errno, EINVAL);
  struct kid *kid = started();
  assert_int_equal(CALL(waitpid)(-1, NULL, BAD_OPTION), -1);
  assert_int_equal(errno, EINVAL);
  assert_int_equal(CALL(waitpid)(kid->pid, NULL, BAD_OPTION), -1);
  assert_int_equal(errno, EINVAL);
  assert_non_null(self->children);
}

/* ---- waiting for one */

/* Other ranks run meanwhile, unless the child has ended already. */
static void test_waiting_for_one(void **state) {
  int status;
  siginfo_t info;
  struct rusage usage;
  (void)state;
  struct kid *kid = started();
  started();
  trace[0] = '\0';
  assert_int_equal(CALL(waitpid)(kid->pid, &status, WNOHANG), 0);
  check_trace("wait:100 ");
  kid->status = 5 << 8;
  assert_int_equal(CALL(wait4)(kid->pid, &status, 0, &usage), kid->pid);
  assert_true(status == 5 << 8 && usage.ru_maxrss == kid->pid);
  check_trace("wait:100 [ wait:100 ] ");
  assert_int_equal(CALL(waitpid)(kid->pid, &status, 0), -1);
  assert_int_equal(errno, ECHILD);
  trace[0] = '\0';
  kid = started();
  end_kid(kid, 0);
  trace[0] = '\0';
  assert_int_equal(CALL(waitpid)(kid->pid, NULL, 0), kid->pid);
  check_trace("wait:102 ");
  kid = started();
  trace[0] = '\0';
  assert_int_equal(CALL(waitid)(P_PIDFD, PIDFD + 103, &info, WEXITED), 0);
  assert_int_equal(info.si_pid, kid->pid);
  check_trace("wait:103 [ wait:103 ] ");
  assert_int_equal(CALL(waitid)(P_PID, 101, NULL, WEXITED), 0);
  assert_null(self->children);
}

static void test_a_handler_ends_the_wait_for_one(void **state) {
  (void)state;
  struct kid *kid = started();
  interruptions = 1;
  assert_int_equal(CALL(waitpid)(kid->pid, NULL, 0), -1);
  assert_int_equal(errno, EINTR);
  assert_int_equal(CALL(waitpid)(kid->pid, NULL, 0), kid->pid);
}

/* ---- a rank that ignores SIGCHLD */

static void check_no_zombies(const struct tm_action *action) {
  siginfo_t info;
  on_child = (struct tm_action){0};
  struct kid *first = started(), *second = started(), *third = started();
  on_child = *action;
  end_kid(second, 0);
  third->is_gone = true;
  struct kid *last = started(); /* which drops the ones that have ended */
  assert_true(second->is_gone && !first->is_gone);
  assert_int_equal(CALL(waitpid)(second->pid, NULL, 0), -1);
  end_kid(first, 0);
  nap_ends = naps + 1;
  end_of_nap = last;
  assert_int_equal(CALL(wait)(NULL), -1); /* when all have ended */
  assert_int_equal(errno, ECHILD);
  assert_true(first->is_gone && last->is_gone);
  assert_null(self->children);
  last = started();
  errno = 0;
  assert_int_equal(CALL(waitpid)(last->pid, NULL, 0), -1);
  assert_true(errno == ECHILD && last->is_gone);
  last = started();
  last->stopped = true;
  assert_int_equal(CALL(waitpid)(last->pid, NULL, WUNTRACED), last->pid);
  assert_int_equal(CALL(waitpid)(-1, NULL, WUNTRACED), last->pid);
  assert_int_equal(CALL(waitid)(P_PID, (id_t)last->pid, &info, WSTOPPED), 0);
  end_kid(last, 0);
  started();
  assert_true(last->is_gone);
  kids[kid_count - 1].is_gone = true;
  assert_int_equal(CALL(wait)(NULL), -1);
}

static void test_children_that_become_no_zombies(void **state) {
  static const struct tm_action ignored = {(uintptr_t)SIG_IGN, 0, 0}, left = {5, SA_NOCLDWAIT, 0};
  (void)state;
  check_no_zombies(&ignored);
  check_no_zombies(&left);
}

static void test_zombies_of_other_ranks_stay(void **state) {
  static const struct tm_action handled = {5, SA_RESTART, 0};
  (void)state;
  struct kid *kid = started();
  end_kid(kid, 0);
  on_child = handled;
  started();
  assert_false(kid->is_gone);
  self->signals = NULL; /* it has changed nothing */
  started();
  assert_false(kid->is_gone);
}

/* ---- starting them */

static void test_forks(void **state) {
  int terminal = 0;
  char name[] = "name";
  struct termios modes;
  struct winsize size;
  (void)state;
  assert_int_equal(CALL(fork)(), 100);
  check_trace("prepare fork parent ");
  assert_int_equal(CALL(forkpty)(&terminal, name, &modes, &size), 101);
  check_trace("prepare forkpty:name own:50 parent ");
  assert_true(given_modes == &modes && given_size == &size && terminal == 50);
  assert_int_equal(CALL(vfork)(), 102);
  assert_int_equal(((fork_call *)row("_Fork"))(), 103);
  check_trace("fork fork ");
  for (int i = 3; i >= 0; i--) {
    end_kid(&kids[i], 0);
    assert_int_equal(CALL(wait)(NULL), FIRST_PID + i);
  }
  assert_null(self->children);
}

/* The child is no rank; handlers are called there, too. */
static void test_forks_in_the_child(void **state) {
  int terminal;
  (void)state;
  forks_as_child = true;
  assert_int_equal(CALL(fork)(), 0);
  assert_int_equal(CALL(forkpty)(&terminal, NULL, NULL, NULL), 0);
  check_trace("prepare fork child prepare forkpty:(null) child ");
  assert_int_equal(CALL(vfork)(), 0);
  check_trace("fork ");
  assert_null(processes[0].children);
  self = &processes[0];
}

static void test_forks_that_fail(void **state) {
  int terminal;
  (void)state;
  start_error = EAGAIN;
  assert_int_equal(CALL(fork)(), -1);
  assert_int_equal(errno, EAGAIN);
  check_trace("prepare fork parent ");
  assert_int_equal(CALL(forkpty)(&terminal, NULL, NULL, NULL), -1);
  check_trace("prepare forkpty:(null) parent ");
  assert_int_equal(CALL(vfork)(), -1);
  assert_null(self->children);
}

static void test_spawns(void **state) {
  char *words[] = {NULL}, *environment[] = {NULL};
  posix_spawn_file_actions_t asked;
  posix_spawnattr_t attributes;
  pid_t pid = 0;
  (void)state;
  given_list = &asked;
  given_words = words, given_environment = environment, given_attributes = &attributes;
  assert_int_equal(CALL(posix_spawn)(&pid, "path", &asked, &attributes, words, environment), 0);
  check_trace("spawn:path ");
  assert_int_equal(pid, 100);
  assert_int_equal(CALL(posix_spawnp)(NULL, "file", &asked, &attributes, words, environment), 0);
  check_trace("spawnp:file ");
  assert_int_equal(CALL(waitpid)(100, NULL, 0), 100);
  end_kid(&kids[1], 0);
  assert_int_equal(CALL(wait)(NULL), 101);
  start_error = ENOENT;
  trace[0] = '\0';
  pid = 9;
  assert_int_equal(CALL(posix_spawn)(&pid, "path", &asked, &attributes, words, environment),
                   ENOENT);
  check_trace("spawn:path ");
  start_error = 0;
  list_error = ENOMEM;
  assert_int_equal(CALL(posix_spawn)(&pid, "path", &asked, &attributes, words, environment),
                   ENOMEM);
  check_trace("");
  assert_int_equal(pid, 9);
  assert_null(self->children);
}

/* The program waits for these by the descriptor. */
static void test_spawns_with_a_descriptor(void **state) {
  char *words[] = {NULL};
  int fd = 0;
  (void)state;
  given_list = NULL;
  given_words = given_environment = words, given_attributes = NULL;
  assert_int_equal(((spawn_call *)row("pidfd_spawn"))(&fd, "path", NULL, NULL, words, words), 0);
  check_trace("pidfd:path own:1100 ");
  assert_int_equal(((spawn_call *)row("pidfd_spawnp"))(&fd, "file", NULL, NULL, words, words), 0);
  check_trace("pidfdp:file own:1101 ");
  start_error = ENOENT;
  assert_int_equal(((spawn_call *)row("pidfd_spawn"))(&fd, "path", NULL, NULL, words, words),
                   ENOENT);
  assert_int_equal(((spawn_call *)row("pidfd_spawnp"))(&fd, "file", NULL, NULL, words, words),
                   ENOENT);
  check_trace("pidfd:path pidfdp:file ");
}

static void check_without_memory(pid_t pid, const char *expected) {
  char text[200];
  struct captured captured = captured_begin();
  memory_is_out = true;
  pid_t child = CALL(fork)();
  memory_is_out = false;
  captured_end(&captured, text, sizeof text);
  assert_int_equal(child, pid);
  assert_string_equal(text, expected);
}

static void test_no_memory_for_the_list(void **state) {
  (void)state;
  check_without_memory(
      100, "tmpirun: no memory to note child 100: wait() will not find it (free some)\n");
  assert_null(self->children);
  self = NULL; /* no rank will wait for it */
  check_without_memory(101, "");
}

/* ---- threads of no rank */

static void test_callers_that_are_no_rank(void **state) {
  siginfo_t info;
  (void)state;
  self = NULL;
  libcs = true;
  assert_int_equal(CALL(fork)(), 100);
  check_trace("fork ");
  assert_int_equal(CALL(wait4)(-1, NULL, 6, NULL), 33);
  assert_int_equal(CALL(waitid)(P_ALL, 4, &info, WEXITED), 44);
  check_trace("wait4:-1,6 waitid:0,4,4 ");
  self = &processes[0];
  assert_int_equal(CALL(waitpid)(INT_MIN, NULL, 0), 33); /* which has no positive number */
  check_trace("wait4:-2147483648,0 ");
}

int main(void) {
#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      ROW(test_ranks_wait_for_their_own),
      ROW(test_naps_grow),
      ROW(test_handlers_end_the_wait_for_any),
      ROW(test_groups_of_processes),
      ROW(test_a_stopped_child_stays),
      ROW(test_waitid_that_only_looks),
      ROW(test_children_that_the_kernel_no_longer_has),
      ROW(test_options_that_the_kernel_refuses),
      ROW(test_waiting_for_one),
      ROW(test_a_handler_ends_the_wait_for_one),
      ROW(test_children_that_become_no_zombies),
      ROW(test_zombies_of_other_ranks_stay),
      ROW(test_forks),
      ROW(test_forks_in_the_child),
      ROW(test_forks_that_fail),
      ROW(test_spawns),
      ROW(test_spawns_with_a_descriptor),
      ROW(test_no_memory_for_the_list),
      ROW(test_callers_that_are_no_rank),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
