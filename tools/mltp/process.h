/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file process.h
 * Another process, stopped like a debugger stops it, and its memory.
 */
#ifndef TOOLS_MLTP_PROCESS_H
#define TOOLS_MLTP_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct task {
  pid_t tid;
  int signal; /* that stopped it before we could; it still has to get it */
};

struct process {
  pid_t pid;
  struct task *tasks; /* its kernel threads */
  size_t task_count;
  int memory;    /* -1, or /proc/PID/mem, where another way to read would wait */
  uint64_t page; /* of its memory, that is in copy[]; 0: none */
  unsigned char copy[4096];
};

/** Stops all kernel threads of a process. @return false after a message; nothing is
 * stopped then. If this command dies, the kernel lets the process continue. */
bool process_stop(struct process *process, pid_t pid);

/** Lets it continue as it was. */
void process_continue(struct process *process);

/** Copies memory of the process. @return false: not readable. */
bool process_read(const struct process *process, uint64_t address, void *to, size_t size);

/** The same for a word, by way of a copy of its page: for unwinders. */
bool process_read_word(struct process *process, uint64_t address, uint64_t *word);

/** Copies a text, cut off at size - 1 characters; "" when it is not readable. */
void process_read_text(const struct process *process, uint64_t address, char *to, size_t size);

#endif
