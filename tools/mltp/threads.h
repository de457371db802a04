/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file threads.h
 * The threads of libmltp in a stopped process.
 */
#ifndef TOOLS_MLTP_THREADS_H
#define TOOLS_MLTP_THREADS_H

#include "layout.h"

struct thread {
  uint64_t id;
  char name[64];
  const char *kind, *state; /* words of the layout, which lives longer */
  const char *reason;       /* what it waits for; NULL: nothing */
  uint64_t object;          /* its address, 0: none */
  char object_name[64];
  char call[64];      /* the function in which it waits; "": not known */
  uint64_t holder_id; /* the object's holder, or the thread it joins; 0: unknown */
  char holder_name[64];
  double waited; /* seconds; of one that is parked */
  bool at_most;  /* that is an upper bound */
  bool fresh;    /* has not run yet */
  int vp;        /* it is on, or ran on last; -1: none */
  uint64_t stack_low, stack_size;
  uint64_t context; /* where its registers are, when it does not run; 0: it runs */
  pid_t tid;        /* kernel thread it runs on, 0: none */
  uint64_t *frames; /* innermost first; set by frames.h */
  size_t frame_count;
};

struct threads {
  struct thread *list;
  size_t count;
  uint32_t vps;
  int32_t awake;
  bool running; /* there is a runtime, between mltp_init() and mltp_finalize() */
};

/** Reads all threads. @return false after a message. */
bool threads_read(struct threads *threads, const struct layout *layout,
                  const struct process *process);
void threads_free(struct threads *threads);

#endif
