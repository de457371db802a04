/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children of ranks. The kernel knows them as children of the process, so that wait() of a rank
 * would get another rank's. Each rank has a list of its own, and waits for these. While it waits,
 * its VP runs other ranks. What a rank starts has the environment of the rank.
 */
#include <errno.h>
#include <fcntl.h>
#include <mltp/mltp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/internal/locks.h"
#include "tmpi/run/override.h"
#include "tmpi/run/process.h"
#include "tmpi/run/streams.h"

struct tm_child {
  struct tm_child *next; /* [ilock] */
  pid_t pid;
  FILE *pipe; /* of popen(); NULL: of no call of it */
};

static uint32_t ilock; /* of all lists: children are few */

/* ---- the list */

/* @return false: no memory. */
static bool note(pid_t pid, FILE *pipe) {
  struct tm_process *process = tm_process_self();
  struct tm_child *child = malloc(sizeof *child);
  if (child == NULL) return false;
  *child = (struct tm_child){NULL, pid, pipe};
  mti_lock(&ilock);
  child->next = process->children;
  process->children = child;
  mti_unlock(&ilock);
  return true;
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
 * none. */
static pid_t child_at(int index) {
  const struct tm_process *process = tm_process_self();
  pid_t pid = 0;
  mti_lock(&ilock);
  for (const struct tm_child *child = process->children; child != NULL && pid == 0;
       child = child->next)
    if (child->pipe == NULL && index-- == 0) pid = child->pid;
  mti_unlock(&ilock);
  return pid;
}

/* ---- starting them */

/* A child that is not in the list would be lost to wait(). */
static void note_or_tell(pid_t pid) {
  if (tm_process_self() != NULL && !note(pid, NULL))
    fprintf(stderr, "tmpirun: no memory to note child %d: wait() will not find it (free some)\n",
            (int)pid);
}

static pid_t fork_rank(void) {
  pid_t pid = fork();
  if (pid > 0) note_or_tell(pid);
  return pid;
}

/* The rank's descriptors come first, so that the program's actions find them. */
static int init_actions(posix_spawn_file_actions_t *actions) {
  int error = posix_spawn_file_actions_init(actions);
  return error != 0 ? error : tm_streams_spawn(actions);
}

typedef int spawn_function(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                           const posix_spawnattr_t *attr, char *const *argv,
                           char *const *environment);

static int spawn_by(spawn_function *spawn, pid_t *pid, const char *path,
                    const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
                    char *const *argv, char *const *environment) {
  posix_spawn_file_actions_t streams;
  pid_t own;
  int error = init_actions(&streams);
  if (error == 0)
    error = spawn(&own, path, actions != NULL ? actions : &streams, attr, argv, environment);
  posix_spawn_file_actions_destroy(&streams);
  if (error == 0) note_or_tell(own);
  if (error == 0 && pid != NULL) *pid = own;
  return error;
}

static int spawn_rank(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                      const posix_spawnattr_t *attr, char *const *argv, char *const *environment) {
  return spawn_by(posix_spawn, pid, path, actions, attr, argv, environment);
}

static int spawnp_rank(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attr, char *const *argv, char *const *environment) {
  return spawn_by(posix_spawnp, pid, file, actions, attr, argv, environment);
}

/* ---- waiting for them */

enum { NAP_FIRST = 50000, NAP_LAST = 5000000 };

/* One that is given, and others may run meanwhile. */
static pid_t wait_for_one(pid_t pid, int *status, int options, struct rusage *usage) {
  pid_t got = wait4(pid, status, options | WNOHANG, usage);
  if (got == 0 && (options & WNOHANG) == 0) {
    mltp_blocking_begin();
    got = wait4(pid, status, options, usage);
    int error = errno;
    mltp_blocking_end();
    tm_set_errno(error);
  }
  if (got > 0 && (WIFEXITED(*status) || WIFSIGNALED(*status))) free(forget(got, NULL));
  return got;
}

/* Any of the rank's own. */
static pid_t wait_for_any(int *status, int options, struct rusage *usage) {
  uint64_t nap = NAP_FIRST;
  for (;; nap = nap < NAP_LAST ? 2 * nap : nap) {
    if (child_at(0) == 0) {
      tm_set_errno(ECHILD);
      return -1;
    }
    pid_t pid;
    for (int i = 0; (pid = child_at(i)) != 0; i++) {
      pid_t got = wait_for_one(pid, status, options | WNOHANG, usage);
      if (got > 0) return got;
      if (got < 0 && i-- >= 0) free(forget(pid, NULL)); /* the program has waited by other means */
    }
    if ((options & WNOHANG) != 0) return 0;
    mltp_sleep(nap);
  }
}

static pid_t wait4_rank(pid_t pid, int *status, int options, struct rusage *usage) {
  int unwanted;
  if (tm_process_self() == NULL || pid == 0 || pid < -1) return wait4(pid, status, options, usage);
  if (status == NULL) status = &unwanted;
  return pid == -1 ? wait_for_any(status, options, usage)
                   : wait_for_one(pid, status, options, usage);
}

static pid_t waitpid_rank(pid_t pid, int *status, int options) {
  return wait4_rank(pid, status, options, NULL);
}

static pid_t wait_rank(int *status) { return wait4_rank(-1, status, 0, NULL); }

static pid_t wait3_rank(int *status, int options, struct rusage *usage) {
  return wait4_rank(-1, status, options, usage);
}

/* ---- commands of the shell */

/* @return the child, -1: none, with errno. fd: what becomes its descriptor `as`; -1: nothing. */
static pid_t start_shell(const char *command, int fd, int as) {
  char *argv[] = {(char *)(uintptr_t)"sh", (char *)(uintptr_t)"-c", (char *)(uintptr_t)command,
                  NULL};
  posix_spawn_file_actions_t actions;
  pid_t pid;
  int error = init_actions(&actions);
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
  int status;
  if (command == NULL || tm_process_self() == NULL) return system(command);
  pid_t pid = start_shell(command, -1, -1);
  if (pid < 0) return -1;
  return wait_for_one(pid, &status, 0, NULL) == pid ? status : -1;
}

static FILE *popen_rank(const char *command, const char *mode) {
  if (tm_process_self() == NULL) return popen(command, mode);
  int ends[2];
  bool reads = mode[0] == 'r';
  if (!reads && mode[0] != 'w') {
    errno = EINVAL;
    return NULL;
  }
  if (pipe2(ends, O_CLOEXEC) != 0) return NULL;
  pid_t pid = start_shell(command, ends[reads], reads);
  close(ends[reads]);
  FILE *stream = pid > 0 ? fdopen(ends[!reads], reads ? "r" : "w") : NULL;
  if (stream == NULL) {
    close(ends[!reads]);
  } else if (!note(pid, stream)) {
    fclose(stream);
    stream = NULL;
  } else if (strchr(mode, 'e') == NULL) {
    fcntl(ends[!reads], F_SETFD, 0);
  }
  return stream;
}

static int pclose_rank(FILE *stream) {
  int status;
  struct tm_child *child = tm_process_self() != NULL ? forget(-1, stream) : NULL;
  if (child == NULL) return pclose(stream);
  pid_t pid = child->pid;
  free(child);
  fclose(stream);
  return wait_for_one(pid, &status, 0, NULL) == pid ? status : -1;
}

const struct tm_override tm_override_children[] = {
    {"fork", (tm_any *)fork_rank},
    {"vfork", (tm_any *)fork_rank},
    {"posix_spawn", (tm_any *)spawn_rank},
    {"posix_spawnp", (tm_any *)spawnp_rank},
    {"wait", (tm_any *)wait_rank},
    {"wait3", (tm_any *)wait3_rank},
    {"wait4", (tm_any *)wait4_rank},
    {"waitpid", (tm_any *)waitpid_rank},
    {"system", (tm_any *)system_rank},
    {"popen", (tm_any *)popen_rank},
    {"pclose", (tm_any *)pclose_rank},
    {"posix_spawn_file_actions_init", (tm_any *)init_actions},
    {NULL, NULL},
};
