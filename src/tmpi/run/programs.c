/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other programs. A rank is refused exec(), which would replace all ranks by one program, and
 * daemon(), which would end them. A child of fork() may call both.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/atomic.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/override.h"
#include "tmpi/run/process.h"
#include "tmpi/run/streams.h"

/* @return whether the caller may be replaced by a program; otherwise after a message. */
static bool may_replace(const char *call, const char *path) {
  const struct tm_process *process = tm_process_self();
  if (process == NULL) return true;
  if (mt_load_relaxed(&tm_job.size) == 1) { /* relaxed: the caller is the only rank */
    tm_streams_expose(process->number);
    environ = tm_process_environment(process); /* the program that follows has no other */
    return true;
  }
  fprintf(stderr,
          "tmpirun: rank %d: %s(\"%s\") is refused: it would replace all %d ranks (start that "
          "program by tmpirun, or in a child of fork())\n",
          process->number, call, path, mt_load_relaxed(&tm_job.size)); /* relaxed: for a message */
  errno = ENOTSUP;
  return false;
}

static int execve_rank(const char *path, char *const *argv, char *const *environment) {
  return may_replace("execve", path) ? execve(path, argv, environment) : -1;
}

static int execv_rank(const char *path, char *const *argv) {
  return may_replace("execv", path) ? execv(path, argv) : -1;
}

static int execvp_rank(const char *file, char *const *argv) {
  return may_replace("execvp", file) ? execvp(file, argv) : -1;
}

static int execvpe_rank(const char *file, char *const *argv, char *const *environment) {
  return may_replace("execvpe", file) ? execvpe(file, argv, environment) : -1;
}

static int fexecve_rank(int fd, char *const *argv, char *const *environment) {
  return may_replace("fexecve", "a descriptor") ? fexecve(fd, argv, environment) : -1;
}

static int execveat_rank(int folder, const char *path, char *const *argv, char *const *environment,
                         int flags) {
  return may_replace("execveat", path) ? execveat(folder, path, argv, environment, flags) : -1;
}

/* libc's forks, and ends the process of its caller with status 0: all ranks. */
static int daemon_rank(int keeps_folder, int keeps_streams) {
  const struct tm_process *process = tm_process_self();
  if (process == NULL) return daemon(keeps_folder, keeps_streams);
  fprintf(stderr,
          "tmpirun: rank %d: daemon() is refused: it would end all %d ranks (call it in a child of "
          "fork())\n",
          process->number, mt_load_relaxed(&tm_job.size)); /* relaxed: for a message */
  errno = ENOTSUP;
  return -1;
}

/* ---- with the arguments as a list */

/* Copies the list to argv[1], as far as its NULL. @return how many there are with the first. */
static size_t copy_list(va_list *list, const char *first, char **argv) {
  size_t count = 0;
  for (const char *word = first; word != NULL; word = va_arg(*list, const char *)) {
    if (argv != NULL) argv[count] = (char *)(uintptr_t)word;
    count++;
  }
  if (argv != NULL) argv[count] = NULL;
  return count;
}

static size_t length_of(const char *first, va_list *list) {
  va_list copy;
  va_copy(copy, *list);
  size_t count = copy_list(&copy, first, NULL);
  va_end(copy);
  return count;
}

static int execl_rank(const char *path, const char *first, ...) {
  va_list list;
  if (!may_replace("execl", path)) return -1;
  va_start(list, first);
  char **argv = __builtin_alloca((length_of(first, &list) + 1) * sizeof *argv);
  copy_list(&list, first, argv);
  va_end(list);
  return execv(path, argv);
}

static int execlp_rank(const char *file, const char *first, ...) {
  va_list list;
  if (!may_replace("execlp", file)) return -1;
  va_start(list, first);
  char **argv = __builtin_alloca((length_of(first, &list) + 1) * sizeof *argv);
  copy_list(&list, first, argv);
  va_end(list);
  return execvp(file, argv);
}

static int execle_rank(const char *path, const char *first, ...) {
  va_list list;
  if (!may_replace("execle", path)) return -1;
  va_start(list, first);
  char **argv = __builtin_alloca((length_of(first, &list) + 1) * sizeof *argv);
  copy_list(&list, first, argv);
  char *const *environment = va_arg(list, char *const *);
  va_end(list);
  return execve(path, argv, environment);
}

const struct tm_override tm_override_programs[] = {
    {"execve", (tm_any *)execve_rank},
    {"execv", (tm_any *)execv_rank},
    {"execvp", (tm_any *)execvp_rank},
    {"execvpe", (tm_any *)execvpe_rank},
    {"execl", (tm_any *)execl_rank},
    {"execlp", (tm_any *)execlp_rank},
    {"execle", (tm_any *)execle_rank},
    {"fexecve", (tm_any *)fexecve_rank},
    {"execveat", (tm_any *)execveat_rank},
    {"daemon", (tm_any *)daemon_rank},
    {NULL, NULL},
};
