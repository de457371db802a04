/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file children_kernel.h
 * The kernel, and what is around src/tmpi/run/children.c, for step tests of that file: children run
 * until the test ends them, and a wait that blocks ends the child that it waits for.
 */
#ifndef TESTS_MPI_CHILDREN_KERNEL_H
#define TESTS_MPI_CHILDREN_KERNEL_H

#include <errno.h>
#include <pty.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "traced_calls.h"

#include "counted_blocks.h"
#include "internal_locks.h"
#include "mltp/mltp.h"
#include "override_rows.h"
#include "tmpi/run/fork_handlers.h"
#include "tmpi/run/owners.h"
#include "tmpi/run/process.h"
#include "tmpi/run/signals.h"
#include "tmpi/run/spawn_actions.h"

enum { KIDS = 40, FIRST_PID = 100, PIDFD = 1000, RANKS = 2, OWN_GROUP = 60, BAD_OPTION = 1 << 20 };

/* ---- the calls of a rank */

struct tm_child { /* as in children.c: tests look whether there are any */
  struct tm_child *next;
  pid_t pid;
};

typedef pid_t fork_call(void);
typedef pid_t wait3_call(int *, int, struct rusage *);
typedef int spawn_call(int *, const char *, const posix_spawn_file_actions_t *,
                       const posix_spawnattr_t *, char *const *, char *const *);

static inline tm_any *row(const char *name) { return override_row(tm_override_children, name); }

#define CALL(name) ((__typeof__(name) *)row(#name))
#define WAIT(name) ((pid_t(*)(pid_t, int *, int, struct rusage *))row(name))

/* ---- the rank */

static struct tm_process processes[RANKS], *self;
static struct tm_action on_child; /* what the rank does on SIGCHLD */
static uint32_t failures;         /* of calls that wait, by handlers */

struct tm_process *tm_process_self(void) { return self; }
struct tm_process *tm_process_here(void) { return self; }

void tm_signals_change(struct tm_signals *signals, int signo, const struct tm_action *new,
                       struct tm_action *old) {
  assert_non_null(signals);
  assert_int_equal(signo, SIGCHLD);
  assert_null(new);
  *old = on_child;
}

uint32_t tm_signals_failures(const struct tm_signals *signals) {
  (void)signals;
  return failures;
}

void tm_set_errno(int error) { errno = error; }

void tm_fork_prepare(const struct tm_process *process) {
  assert_ptr_equal(process, self);
  note("prepare");
}

void tm_fork_in_parent(const struct tm_process *process) {
  assert_ptr_equal(process, self);
  note("parent");
  errno = 0;
}

void tm_fork_in_child(const struct tm_process *process) {
  assert_ptr_equal(process, &processes[0]);
  note("child");
  self = &processes[0]; /* for the next call of the test */
}

int tm_owner_note(int fd) {
  note("own:%d", fd);
  return fd;
}

void tm_owner_forget(int fd) { note("forget:%d", fd); }

static char *rank_environment[] = {NULL};

char **tm_process_environment(const struct tm_process *process) {
  assert_ptr_equal(process, self);
  return rank_environment;
}

/* ---- time */

static uint64_t nap[16];
static int naps, nap_ends; /* the number of the nap in which something happens; -1: nothing does */
static struct kid *end_of_nap;
static bool fails_at_nap; /* a handler has run; otherwise that child ends */
static int blocking;

void mltp_blocking_begin(void) {
  assert_int_equal(blocking++, 0);
  assert_int_equal(locked, 0);
  note("[");
}

void mltp_blocking_end(void) {
  assert_int_equal(--blocking, 0);
  note("]");
  errno = 0; /* that of another kernel thread, perhaps */
}

/* ---- children */

static struct kid {
  pid_t pid, group;
  int status;
  bool ended, stopped, is_gone;
} kids[KIDS];
static int kid_count, start_error, interruptions /* of waits that block */;
static bool forks_as_child;

static inline void end_kid(struct kid *kid, int status) {
  kid->ended = true;
  kid->stopped = false;
  kid->status = status;
}

int mltp_sleep(uint64_t ns) {
  assert_in_range(naps, 0, 15);
  assert_int_equal(locked, 0);
  nap[naps++] = ns;
  if (naps == nap_ends && fails_at_nap) failures++;
  if (naps == nap_ends && !fails_at_nap) end_kid(end_of_nap, 0);
  return 0;
}

static inline struct kid *add_kid(void) {
  assert_true(kid_count < KIDS);
  kids[kid_count] = (struct kid){.pid = FIRST_PID + kid_count, .group = OWN_GROUP};
  return &kids[kid_count++];
}

static inline pid_t start(void) {
  errno = start_error;
  if (start_error != 0) return -1;
  if (forks_as_child) self = NULL;
  return forks_as_child ? 0 : add_kid()->pid;
}

pid_t __wrap_fork(void);
pid_t __wrap_fork(void) {
  note("fork");
  return start();
}

static const struct termios *given_modes;
static const struct winsize *given_size;

int __wrap_forkpty(int *terminal, char *name, const struct termios *modes,
                   const struct winsize *size);
int __wrap_forkpty(int *terminal, char *name, const struct termios *modes,
                   const struct winsize *size) {
  note("forkpty:%s", name != NULL ? name : "(null)");
  given_modes = modes;
  given_size = size;
  *terminal = 50;
  return start();
}

/* A child of the calling rank. */
static inline struct kid *started(void) {
  pid_t pid = ((fork_call *)row("fork"))();
  struct kid *kid = &kids[kid_count - 1];
  assert_int_equal(pid, kid->pid);
  return kid;
}

pid_t __wrap_getpgid(pid_t pid);
pid_t __wrap_getpgid(pid_t pid) { return kids[pid - FIRST_PID].group; }

pid_t __wrap_getpgrp(void);
pid_t __wrap_getpgrp(void) { return OWN_GROUP; }

/* ---- lists of actions */

static const posix_spawn_file_actions_t *given_list;
static const posix_spawnattr_t *given_attributes;
static char *const *given_words, *const *given_environment;
static int list_error, lists; /* that are not destroyed */

int tm_actions_make(posix_spawn_file_actions_t *made, const posix_spawn_file_actions_t *asked) {
  memset(made, 0xa5, sizeof *made);
  assert_ptr_equal(asked, given_list);
  lists++;
  return list_error;
}

int __wrap_posix_spawn_file_actions_destroy(posix_spawn_file_actions_t *list);
int __wrap_posix_spawn_file_actions_destroy(posix_spawn_file_actions_t *list) {
  assert_int_equal(*(unsigned char *)list, 0xa5);
  lists--;
  return 0;
}

static inline int spawn(pid_t *child, int base) {
  if (start_error != 0) return start_error;
  *child = base + add_kid()->pid;
  return 0;
}

#define SPAWN(name, word, base)                                                                    \
  int __wrap_##name(pid_t *child, const char *path, const posix_spawn_file_actions_t *list,        \
                    const posix_spawnattr_t *attributes, char *const *words,                       \
                    char *const *environment);                                                     \
  int __wrap_##name(pid_t *child, const char *path, const posix_spawn_file_actions_t *list,        \
                    const posix_spawnattr_t *attributes, char *const *words,                       \
                    char *const *environment) {                                                    \
    assert_int_equal(*(const unsigned char *)list, 0xa5);                                          \
    assert_ptr_equal(attributes, given_attributes);                                                \
    assert_ptr_equal(environment, given_environment);                                              \
    assert_ptr_equal(words, given_words);                                                          \
    note(word ":%s", path);                                                                        \
    return spawn(child, base);                                                                     \
  }
SPAWN(posix_spawnp, "spawnp", 0)
SPAWN(pidfd_spawn, "pidfd", PIDFD)
SPAWN(pidfd_spawnp, "pidfdp", PIDFD)

/* ---- waits */

static bool libcs; /* callers are no rank: libc's functions return numbers of the test's */
static int asked_options;

/* @return the child that has changed; 0: it has not; -1 with errno. */
static inline pid_t wait_for(pid_t pid, int options, int stops, bool keeps) {
  assert_int_equal(locked, 0);
  if (pid == getpid()) { /* no rank's child */
    assert_true((options & WNOHANG) != 0);
    errno = (options & BAD_OPTION) != 0 ? EINVAL : ECHILD;
    return -1;
  }
  asked_options = options;
  note("wait:%d", pid);
  struct kid *kid = &kids[pid - FIRST_PID];
  errno = (options & BAD_OPTION) != 0 ? EINVAL : kid->is_gone ? ECHILD : 0;
  if (errno != 0) return -1;
  bool is_blocking = (options & WNOHANG) == 0;
  assert_int_equal(is_blocking, blocking);
  bool has_changed = kid->ended || (kid->stopped && (options & stops) != 0);
  if (!has_changed && !is_blocking) return 0;
  if (!has_changed && interruptions-- > 0) {
    errno = EINTR;
    return -1;
  }
  if (!has_changed) end_kid(kid, kid->status);
  kid->is_gone = kid->ended && !keeps;
  return pid;
}

pid_t __wrap_wait4(pid_t pid, int *status, int options, struct rusage *usage);
pid_t __wrap_wait4(pid_t pid, int *status, int options, struct rusage *usage) {
  if (libcs) {
    note("wait4:%d,%d", pid, options);
    return 33;
  }
  pid_t got = wait_for(pid, options, WUNTRACED, false);
  if (got <= 0) return got;
  const struct kid *kid = &kids[pid - FIRST_PID];
  *status = kid->ended ? kid->status : W_STOPCODE(SIGSTOP);
  if (usage != NULL) usage->ru_maxrss = pid;
  return got;
}

int __wrap_waitid(idtype_t type, id_t id, siginfo_t *info, int options);
int __wrap_waitid(idtype_t type, id_t id, siginfo_t *info, int options) {
  if (libcs) {
    note("waitid:%d,%d,%d", (int)type, (int)id, options);
    return 44;
  }
  assert_true(type == P_PID || type == P_PIDFD);
  pid_t pid = (pid_t)id - (type == P_PIDFD ? PIDFD : 0);
  pid_t got = wait_for(pid, options, WSTOPPED, (options & WNOWAIT) != 0);
  if (got <= 0) return got; /* the kernel may leave *info alone */
  const struct kid *kid = &kids[pid - FIRST_PID];
  info->si_pid = pid;
  info->si_code = !kid->ended              ? CLD_STOPPED
                  : WIFEXITED(kid->status) ? CLD_EXITED
                  : WCOREDUMP(kid->status) ? CLD_DUMPED
                                           : CLD_KILLED;
  return 0;
}

#endif
