/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel says of a kernel thread of this process: whether it runs, how long it has run,
 * and which system call it waits in. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "os/os.h"

void os_task_self(struct os_task *task) {
  task->tid = gettid();
  task->has_clock = pthread_getcpuclockid(pthread_self(), &task->cpu_clock) == 0;
}

/* A thread's clock by the number of the thread, as the kernel defines it and libc uses it. */
struct os_task os_task_of(pid_t tid) {
  enum { OF_A_THREAD = 4, AS_SCHEDULED = 2 };
  unsigned clock = ~(unsigned)tid << 3 | OF_A_THREAD | AS_SCHEDULED;
  return (struct os_task){.tid = tid, .cpu_clock = (clockid_t)clock, .has_clock = true};
}

bool os_task_is_here(pid_t tid) {
  int saved = errno;
  bool found = tgkill(getpid(), tid, 0) == 0;
  errno = saved;
  return found;
}

uint64_t os_task_cpu_time(const struct os_task *task) {
  struct timespec ts = {0, 0};
  if (!task->has_clock || clock_gettime(task->cpu_clock, &ts) != 0) return 0;
  return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

int os_unshare_files(void) { return unshare(CLONE_FS) == 0 ? 0 : errno; }

/* Reads the beginning of a file of the task's. @return false: it cannot be read. */
static bool read_file(const struct os_task *task, const char *name, char *text, size_t size) {
  char path[64];
  int saved = errno;
  snprintf(path, sizeof path, "/proc/self/task/%d/%s", (int)task->tid, name);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t length = fd >= 0 ? read(fd, text, size - 1) : -1;
  if (fd >= 0) close(fd);
  if (length > 0) text[length] = '\0';
  errno = saved;
  return length > 0;
}

/* The second field is the thread's name, in parentheses, and may contain any character. */
enum os_task_state os_task_state(const struct os_task *task) {
  char text[256];
  if (!read_file(task, "stat", text, sizeof text)) return OS_TASK_UNKNOWN;
  const char *end = strrchr(text, ')');
  if (end == NULL || end[1] != ' ') return OS_TASK_UNKNOWN;
  return end[2] == 'S' || end[2] == 'D' ? OS_TASK_SLEEPS : OS_TASK_RUNS;
}

long os_task_call(const struct os_task *task) {
  char text[256], *end;
  if (!read_file(task, "syscall", text, sizeof text)) return -1;
  long number = strtol(text, &end, 10);
  return end != text ? number : -1; /* "running" */
}

/* @return 0: the kernel does not say. */
static uint64_t switches_of(const struct os_task *task) {
  static const char title[] = "\nvoluntary_ctxt_switches:";
  char text[4096]; /* it is the last line but one */
  if (!read_file(task, "status", text, sizeof text)) return 0;
  const char *line = strstr(text, title);
  return line != NULL ? strtoull(line + sizeof title - 1, NULL, 10) : 0;
}

/* The file has the number of the call and its arguments, in hexadecimal. */
bool os_task_waits_forever(const struct os_task *task, uint64_t *switches) {
  char text[256];
  long number;
  unsigned long word, operation, value, timeout;
  *switches = switches_of(task);
  if (*switches == 0 || !read_file(task, "syscall", text, sizeof text)) return false;
  if (sscanf(text, "%ld %lx %lx %lx %lx", &number, &word, &operation, &value, &timeout) != 5)
    return false; /* "running" */
  unsigned long command = operation & (unsigned long)FUTEX_CMD_MASK;
  return number == SYS_futex && (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET) &&
         (operation & FUTEX_PRIVATE_FLAG) != 0 && timeout == 0;
}

/* Without malloc(): its lock may be held by a kernel thread that gets no CPU. */
bool os_tasks_visit(bool (*visit)(const struct os_task *task, void *context), void *context) {
  _Alignas(struct dirent64) char entries[2048];
  int saved = errno, list = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  bool good = list >= 0;
  ssize_t size = 0;
  while (good && (size = getdents64(list, entries, sizeof entries)) > 0)
    for (ssize_t at = 0; good && at < size;) {
      const void *place = entries + at;
      const struct dirent64 *entry = place;
      const struct os_task task = {.tid = (pid_t)strtol(entry->d_name, NULL, 10)};
      if (task.tid > 0) good = visit(&task, context); /* the others are "." and ".." */
      at += entry->d_reclen;
    }
  if (list >= 0) close(list);
  errno = saved;
  return good && size == 0;
}
