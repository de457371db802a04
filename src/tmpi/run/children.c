/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children of ranks. The kernel knows them as children of the process, so that wait() of a rank
 * would get another rank's. Each rank has a list of its own, and waits for these. While it waits,
 * its VP runs other ranks. What a rank starts has the environment of the rank.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mltp/mltp.h>
#include <pty.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/internal/locks.h"
#include "tmpi/run/fork_handlers.h"
#include "tmpi/run/override.h"
#include "tmpi/run/owners.h"
#include "tmpi/run/process.h"
#include "tmpi/run/signals.h"
#include "tmpi/run/spawn_actions.h"

struct tm_child {
  struct tm_child *next; /* [ilock] */
  pid_t pid;
  FILE *pipe; /* of popen(); NULL: of no call of it */
};

static uint32_t ilock; /* of all lists: children are few */

/* ---- the list */

static void note(struct tm_child *child, pid_t pid, FILE *pipe) {
  struct tm_process *process = tm_process_self();
  child->pid = pid;
  child->pipe = pipe;
  mti_lock(&ilock);
  child->next = process->children;
  process->children = child;
  mti_unlock(&ilock);
}

/* Takes a child from the list: by its number, or by its pipe. @return it, to be freed, or NULL. */
static struct tm_child *forget(pid_t pid, const FILE *pipe) {
  struct tm_process *process = tm_process_self();
  mti_lock(&ilock);
  struct tm_child **at = &process->children;
  while (*at != NULL && ((*at)->pid != pid && (pipe == NULL || (*at)->pipe != pipe)))
    at = &(*at)->next;
  struct tm_child *child = *at;
  if (child != NULL) *at = child->next;
  mti_unlock(&ilock);
  return child;
}

/* @return the number of the child at an index that wait() may get: popen()'s are pclose()'s. 0:
 * none. group: of processes; 0: any. */
static pid_t child_at(int index, pid_t group) {
  const struct tm_process *process = tm_process_self();
  pid_t pid = 0;
  mti_lock(&ilock);
  for (const struct tm_child *child = process->children; child != NULL && pid == 0;
       child = child->next)
    if (child->pipe == NULL && (group == 0 || getpgid(child->pid) == group) && index-- == 0)
      pid = child->pid;
  mti_unlock(&ilock);
  return pid;
}

/* ---- waiting for one */

/* What a program asks for, by wait4() and its variants or by waitid(). */
struct inquiry {
  int options;
  int *status; /* wait4()'s */
  struct rusage *usage;
  idtype_t type;   /* waitid()'s: what a number is */
  siginfo_t *info; /* NULL: wait4() asks */
};

/* @return the child that has changed, 0: none has, or minus an errno value: errno may be another
 * kernel thread's after a switch. */
__attribute__((noinline)) static pid_t ask(const struct inquiry *inquiry, pid_t pid, int options) {
  if (inquiry->info == NULL) {
    pid_t got = wait4(pid, inquiry->status, options, inquiry->usage);
    return got >= 0 ? got : -errno;
  }
  inquiry->info->si_pid = 0;
  int result = waitid(inquiry->type, (id_t)pid, inquiry->info, options);
  return result == 0 ? inquiry->info->si_pid : -errno;
}

static bool has_ended(const struct inquiry *inquiry) {
  if (inquiry->info == NULL) return WIFEXITED(*inquiry->status) || WIFSIGNALED(*inquiry->status);
  int code = inquiry->info->si_code;
  return (inquiry->options & WNOWAIT) == 0 &&
         (code == CLD_EXITED || code == CLD_KILLED || code == CLD_DUMPED);
}

/* One that is given, and others may run meanwhile. @return as ask(). */
static pid_t wait_for_one(const struct inquiry *inquiry, pid_t pid, int options) {
  pid_t got = ask(inquiry, pid, options | WNOHANG);
  if (got == 0 && (options & WNOHANG) == 0) {
    mltp_blocking_begin();
    got = ask(inquiry, pid, options);
    mltp_blocking_end();
  }
  if (got > 0 && has_ended(inquiry)) free(forget(got, NULL));
  return got;
}

/* @return whether the calling rank's children become no zombies: it ignores SIGCHLD. The kernel
 * does not know that, since each rank has actions of its own. */
static bool leaves_no_zombies(void) {
  struct tm_signals *signals = tm_process_self()->signals;
  struct tm_action action = {0};
  if (signals != NULL) tm_signals_change(signals, SIGCHLD, NULL, &action);
  return action.handler == (uintptr_t)SIG_IGN || (action.flags & SA_NOCLDWAIT) != 0;
}

/* A program that ignores SIGCHLD need not wait for its children, so they end here: as many zombies
 * are left as end between two starts. */
static void drop_ended(void) {
  int status;
  const struct inquiry inquiry = {.status = &status};
  pid_t pid;
  if (tm_process_self() == NULL || !leaves_no_zombies()) return;
  for (int i = 0; (pid = child_at(i, 0)) != 0; i++) {
    pid_t got = wait_for_one(&inquiry, pid, WNOHANG);
    if (got < 0) free(forget(pid, NULL));
    if (got != 0) i--;
  }
}

/* ---- starting them */

/* A child that is not in the list would be lost to wait(). */
static void note_or_tell(pid_t pid) {
  drop_ended();
  struct tm_child *child = tm_process_self() != NULL ? malloc(sizeof *child) : NULL;
  if (child != NULL)
    note(child, pid, NULL);
  else if (tm_process_self() != NULL)
    fprintf(stderr, "tmpirun: no memory to note child %d: wait() will not find it (free some)\n",
            (int)pid);
}

/* vfork() and _Fork() call no handlers of the program. */
static pid_t fork_without_handlers(void) {
  pid_t pid = fork();
  if (pid > 0) note_or_tell(pid);
  return pid;
}

static void after_fork(const struct tm_process *process, pid_t pid) {
  int error = errno;
  if (pid > 0) note_or_tell(pid);
  if (process != NULL && pid == 0) tm_fork_in_child(process);
  if (process != NULL && pid != 0) tm_fork_in_parent(process);
  tm_set_errno(error);
}

static pid_t fork_rank(void) {
  const struct tm_process *process = tm_process_here();
  if (process != NULL) tm_fork_prepare(process);
  pid_t pid = fork();
  after_fork(process, pid);
  return pid;
}

static pid_t forkpty_rank(int *terminal, char *name, const struct termios *state,
                          const struct winsize *size) {
  const struct tm_process *process = tm_process_here();
  if (process != NULL) tm_fork_prepare(process);
  pid_t pid = forkpty(terminal, name, state, size);
  if (pid > 0) tm_owner_note(*terminal);
  after_fork(process, pid);
  return pid;
}

typedef int spawn_function(pid_t *child, const char *path,
                           const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
                           char *const *argv, char *const *environment);

static int spawn_by(spawn_function *spawn, pid_t *child, const char *path,
                    const posix_spawn_file_actions_t *asked, const posix_spawnattr_t *attr,
                    char *const *argv, char *const *environment) {
  posix_spawn_file_actions_t actions;
  int error = tm_actions_make(&actions, asked);
  if (error == 0) error = spawn(child, path, &actions, attr, argv, environment);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

static int spawn_noted(spawn_function *spawn, pid_t *pid, const char *path,
                       const posix_spawn_file_actions_t *asked, const posix_spawnattr_t *attr,
                       char *const *argv, char *const *environment) {
  pid_t own;
  int error = spawn_by(spawn, &own, path, asked, attr, argv, environment);
  if (error == 0) note_or_tell(own);
  if (error == 0 && pid != NULL) *pid = own;
  return error;
}

static int spawn_rank(pid_t *pid, const char *path, const posix_spawn_file_actions_t *asked,
                      const posix_spawnattr_t *attr, char *const *argv, char *const *environment) {
  return spawn_noted(posix_spawn, pid, path, asked, attr, argv, environment);
}

static int spawnp_rank(pid_t *pid, const char *file, const posix_spawn_file_actions_t *asked,
                       const posix_spawnattr_t *attr, char *const *argv, char *const *environment) {
  return spawn_noted(posix_spawnp, pid, file, asked, attr, argv, environment);
}

/* glibc 2.39. The program waits for the child by its descriptor. */
extern spawn_function pidfd_spawn __attribute__((weak)), pidfd_spawnp __attribute__((weak));

static int spawn_pidfd(int *fd, const char *path, const posix_spawn_file_actions_t *asked,
                       const posix_spawnattr_t *attr, char *const *argv, char *const *environment) {
  int error = spawn_by(pidfd_spawn, fd, path, asked, attr, argv, environment);
  if (error == 0) tm_owner_note(*fd);
  return error;
}

static int spawnp_pidfd(int *fd, const char *file, const posix_spawn_file_actions_t *asked,
                        const posix_spawnattr_t *attr, char *const *argv,
                        char *const *environment) {
  int error = spawn_by(pidfd_spawnp, fd, file, asked, attr, argv, environment);
  if (error == 0) tm_owner_note(*fd);
  return error;
}

/* ---- waiting for any of them */

enum { NAP_FIRST = 50000, NAP_LAST = 5000000 };

static uint32_t failures_here(void) {
  const struct tm_process *process = tm_process_self();
  return tm_signals_failures(process->signals);
}

/* Nobody is a child of its own: the kernel has no such child, unless it refuses the options, which
 * it looks at first. @return -ECHILD, or another error. */
static pid_t ask_for_none(const struct inquiry *inquiry) {
  return ask(inquiry, getpid(), inquiry->options | WNOHANG);
}

/* Any of the rank's own, in a group of processes or in any. @return as ask(). */
static pid_t wait_for_any(const struct inquiry *inquiry, pid_t group) {
  uint64_t nap = NAP_FIRST;
  uint32_t failures = failures_here();
  for (;; nap = nap < NAP_LAST ? 2 * nap : nap) {
    pid_t pid;
    for (int i = 0; (pid = child_at(i, group)) != 0; i++) {
      pid_t got = wait_for_one(inquiry, pid, inquiry->options | WNOHANG);
      if (got > 0 && has_ended(inquiry) && leaves_no_zombies()) {
        i--;
        continue;
      }
      if (got > 0 || (got < 0 && got != -ECHILD)) return got;
      if (got < 0 && i-- >= 0) free(forget(pid, NULL)); /* the program has waited by other means */
    }
    if (child_at(0, group) == 0) return ask_for_none(inquiry);
    if ((inquiry->options & WNOHANG) != 0) return 0;
    if (failures_here() != failures) return -EINTR;
    mltp_sleep(nap);
  }
}

/* One that the program names. @return as ask(). */
static pid_t wait_for_named(const struct inquiry *inquiry, pid_t pid, int options) {
  pid_t got = wait_for_one(inquiry, pid, options);
  return got > 0 && has_ended(inquiry) && leaves_no_zombies() ? -ECHILD : got;
}

static int result_of(int result) {
  if (result >= 0) return result;
  tm_set_errno(-result);
  return -1;
}

static pid_t wait4_rank(pid_t pid, int *status, int options, struct rusage *usage) {
  int unwanted;
  struct inquiry inquiry = {.options = options, .status = status, .usage = usage};
  if (tm_process_self() == NULL || pid == INT_MIN /* no group */)
    return wait4(pid, status, options, usage);
  if (status == NULL) inquiry.status = &unwanted;
  if (pid > 0) return result_of(wait_for_named(&inquiry, pid, options));
  return result_of(wait_for_any(&inquiry, pid == -1 ? 0 : pid == 0 ? getpgrp() : -pid));
}

static pid_t waitpid_rank(pid_t pid, int *status, int options) {
  return wait4_rank(pid, status, options, NULL);
}

static pid_t wait_rank(int *status) { return wait4_rank(-1, status, 0, NULL); }

static pid_t wait3_rank(int *status, int options, struct rusage *usage) {
  return wait4_rank(-1, status, options, usage);
}

static int waitid_rank(idtype_t type, id_t id, siginfo_t *info, int options) {
  siginfo_t unwanted;
  struct inquiry inquiry = {.options = options, .type = type, .info = info};
  bool is_group = type != P_PGID || (pid_t)id >= 0;
  if (tm_process_self() == NULL || !is_group) return waitid(type, id, info, options);
  if (info == NULL) inquiry.info = &unwanted;
  pid_t got;
  if (type == P_ALL || type == P_PGID) {
    inquiry.type = P_PID;
    got = wait_for_any(&inquiry, type == P_ALL ? 0 : id == 0 ? getpgrp() : (pid_t)id);
  } else {
    got = wait_for_named(&inquiry, (pid_t)id, options);
  }
  return result_of(got < 0 ? got : 0);
}

/* Of a command that the calls below have started: a handler does not end the wait. @return -1: it
 * has been waited for, with errno. */
static int wait_for_command(pid_t pid) {
  int status = 0, got;
  const struct inquiry inquiry = {.status = &status};
  do got = wait_for_one(&inquiry, pid, 0);
  while (got == -EINTR);
  return got == pid ? status : result_of(got);
}

/* ---- commands of the shell */

/* @return the child, -1: none, with errno. fd: what becomes its descriptor `as`; -1: nothing. */
static pid_t start_shell(const char *command, int fd, int as) {
  char *argv[] = {(char *)(uintptr_t)"sh", (char *)(uintptr_t)"-c", (char *)(uintptr_t)command,
                  NULL};
  posix_spawn_file_actions_t actions;
  pid_t pid;
  int error = tm_actions_make(&actions, NULL);
  if (error == 0 && fd >= 0) error = posix_spawn_file_actions_adddup2(&actions, fd, as);
  if (error == 0)
    error = posix_spawn(&pid, "/bin/sh", &actions, NULL, argv,
                        tm_process_environment(tm_process_self()));
  posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return pid;
  errno = error;
  return -1;
}

static int system_rank(const char *command) {
  if (command == NULL || tm_process_self() == NULL) return system(command);
  pid_t pid = start_shell(command, -1, -1);
  return pid < 0 ? -1 : wait_for_command(pid);
}

/* @return whether popen() takes a mode: one of "r" and "w", and maybe "e". */
static bool is_mode(const char *mode) {
  bool reads = strchr(mode, 'r') != NULL, writes = strchr(mode, 'w') != NULL;
  return reads != writes && mode[strspn(mode, "rwe")] == '\0';
}

/* The rank's end is closed in all programs that ranks start, whatever the mode. libc closes it in
 * what popen() starts, and ranks are one process: in a command of any rank it would keep this one
 * from finding the end of its input. */
static FILE *popen_rank(const char *command, const char *mode) {
  if (tm_process_self() == NULL) return popen(command, mode);
  int ends[2];
  bool reads = strchr(mode, 'r') != NULL;
  if (!is_mode(mode)) {
    errno = EINVAL;
    return NULL;
  }
  if (pipe2(ends, O_CLOEXEC) != 0) return NULL;
  struct tm_child *child = malloc(sizeof *child);
  FILE *stream = child != NULL ? fdopen(ends[!reads], reads ? "r" : "w") : NULL;
  pid_t pid = stream != NULL ? start_shell(command, ends[reads], reads) : -1;
  int error = errno;
  close(ends[reads]);
  if (pid > 0) {
    tm_owner_note(ends[!reads]);
    note(child, pid, stream);
    return stream;
  }
  if (stream != NULL)
    fclose(stream);
  else
    close(ends[!reads]);
  free(child);
  errno = error;
  return NULL;
}

static int pclose_rank(FILE *stream) {
  struct tm_child *child = tm_process_self() != NULL ? forget(-1, stream) : NULL;
  if (child == NULL) return pclose(stream);
  pid_t pid = child->pid;
  free(child);
  tm_owner_forget(fileno(stream));
  fclose(stream);
  return wait_for_command(pid);
}

const struct tm_override tm_override_children[] = {
    {"fork", (tm_any *)fork_rank},
    {"vfork", (tm_any *)fork_without_handlers},
    {"_Fork", (tm_any *)fork_without_handlers},
    {"forkpty", (tm_any *)forkpty_rank},
    {"posix_spawn", (tm_any *)spawn_rank},
    {"posix_spawnp", (tm_any *)spawnp_rank},
    {"pidfd_spawn", (tm_any *)spawn_pidfd},
    {"pidfd_spawnp", (tm_any *)spawnp_pidfd},
    {"wait", (tm_any *)wait_rank},
    {"wait3", (tm_any *)wait3_rank},
    {"wait4", (tm_any *)wait4_rank},
    {"waitpid", (tm_any *)waitpid_rank},
    {"waitid", (tm_any *)waitid_rank},
    {"system", (tm_any *)system_rank},
    {"popen", (tm_any *)popen_rank},
    {"pclose", (tm_any *)pclose_rank},
    {NULL, NULL},
};
