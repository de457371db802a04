/* SPDX-License-Identifier: Apache-2.0 */
/* Stopping a process with ptrace(2), reading it with process_vm_readv(2). PTRACE_SEIZE
 * leaves no trace: a process that was stopped by a signal stays so, one that was not gets
 * none, and should this command die all continues. */
#include "process.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "message.h"

/* The name of the kernel thread that gives pages of waiting threads their content
 * (core/memory/pack.h). It is not stopped, since reading such a page waits for it. */
static const char PACKER[] = "(mltp-packer) ";

/* Reads the line of a kernel thread from /proc. @return its state after that name; '\0': it has
 * another name. */
static char state_of_packer(pid_t pid, pid_t tid) {
  char path[64], line[64] = "";
  snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)pid, (int)tid);
  FILE *file = fopen(path, "re");
  if (file == NULL) return '\0';
  const char *name = fgets(line, sizeof line, file) != NULL ? strchr(line, '(') : NULL;
  fclose(file);
  bool is_packer = name != NULL && strncmp(name, PACKER, sizeof PACKER - 1) == 0;
  return is_packer ? name[sizeof PACKER - 1] : '\0';
}

/* One that is stopped already serves nobody. Reading the file of the memory does not wait: a page
 * that is not there cannot be read. */
static void leave_packer(struct process *process, char state) {
  char path[64];
  if ((state != 'T' && state != 't') || process->memory >= 0) return;
  snprintf(path, sizeof path, "/proc/%d/mem", (int)process->pid);
  process->memory = open(path, O_RDONLY | O_CLOEXEC);
}

static bool known(const struct process *process, pid_t tid) {
  for (size_t i = 0; i < process->task_count; i++)
    if (process->tasks[i].tid == tid) return true;
  return false;
}

/* @return 0: stopped; or why not: ESRCH: it has ended meanwhile. */
static int stop_task(struct process *process, pid_t tid) {
  int status;
  if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0) return errno;
  if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0) return errno;
  if (waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status)) return ESRCH;
  struct task *tasks = realloc(process->tasks, (process->task_count + 1) * sizeof *tasks);
  if (tasks == NULL) return ENOMEM;
  int signal = status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status);
  process->tasks = tasks;
  tasks[process->task_count++] = (struct task){tid, signal};
  return 0;
}

/* Stops those not stopped yet. @return how many; *error: why one was not. */
static size_t stop_tasks(struct process *process, int *error) {
  char path[64];
  size_t before = process->task_count;
  snprintf(path, sizeof path, "/proc/%d/task", (int)process->pid);
  DIR *directory = opendir(path);
  if (directory == NULL) {
    *error = errno == ENOENT ? ESRCH : errno;
    return 0;
  }
  for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
    pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
    if (tid <= 0 || known(process, tid)) continue;
    char packer = state_of_packer(process->pid, tid);
    if (packer != '\0') {
      leave_packer(process, packer);
      continue;
    }
    int failed = stop_task(process, tid);
    if (failed != 0) *error = failed;
  }
  closedir(directory);
  return process->task_count - before;
}

static void print_refusal(pid_t pid, int error) {
  const char *hint = "";
  if (error == ESRCH) hint = " (give the number of a running process)";
  if (error == EPERM || error == EACCES)
    hint =
        " (no other debugger may be attached; the process must be yours, or you root; and where "
        "/proc/sys/kernel/yama/ptrace_scope is not 0 only root may: use sudo, or in a container "
        "--cap-add=SYS_PTRACE)";
  message("cannot stop process %d: %s%s", (int)pid, strerror(error), hint);
}

bool process_stop(struct process *process, pid_t pid) {
  int error = 0;
  memset(process, 0, sizeof *process);
  process->pid = pid;
  process->memory = -1;
  while (stop_tasks(process, &error) > 0) continue; /* the last round found no new ones */
  /* of a process whose first thread has ended, that one cannot be stopped: no matter */
  if (process->task_count > 0) return true;
  print_refusal(pid, error);
  return false;
}

void process_continue(struct process *process) {
  for (size_t i = 0; i < process->task_count; i++) {
    const struct task *task = &process->tasks[i];
    ptrace(PTRACE_DETACH, task->tid, NULL, (void *)(uintptr_t)task->signal);
  }
  free(process->tasks);
  process->tasks = NULL;
  process->task_count = 0;
  if (process->memory >= 0) close(process->memory);
  process->memory = -1;
}

bool process_read(const struct process *process, uint64_t address, void *to, size_t size) {
  struct iovec local = {to, size}, remote = {(void *)(uintptr_t)address, size};
  if (process->memory >= 0)
    return pread(process->memory, to, size, (off_t)address) == (ssize_t)size;
  return process_vm_readv(process->pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

bool process_read_word(struct process *process, uint64_t address, uint64_t *word) {
  uint64_t page = address & ~(uint64_t)(sizeof process->copy - 1);
  if (address - page > sizeof process->copy - sizeof *word)
    return process_read(process, address, word, sizeof *word);
  if (page != process->page) {
    process->page = 0;
    if (!process_read(process, page, process->copy, sizeof process->copy)) return false;
    process->page = page;
  }
  memcpy(word, process->copy + (address - page), sizeof *word);
  return true;
}

/* A piece that crosses no page is there or is not. One call for each byte would take most of the
 * time of a dump. */
enum { TEXT_PIECE = 4096 };

void process_read_text(const struct process *process, uint64_t address, char *to, size_t size) {
  size_t length = 0;
  while (length < size - 1) {
    size_t piece = TEXT_PIECE - (address + length) % TEXT_PIECE;
    if (piece > size - 1 - length) piece = size - 1 - length;
    if (!process_read(process, address + length, to + length, piece)) break;
    size_t text = strnlen(to + length, piece);
    length += text;
    if (text < piece) break;
  }
  to[length] = '\0';
  for (char *c = to; *c != '\0'; c++)
    if (iscntrl((unsigned char)*c)) *c = '?';
}
