/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file par.h
 * A parallel machine: the few calls the programs need of a thread package, so
 * that the same program runs on each. Calls go through a table, once per
 * synchronisation and never in an inner loop.
 */
#ifndef BENCH_PAR_H
#define BENCH_PAR_H

#include <mltp/mltp.h>
#include <pthread.h>
#include <stdbool.h>

/** Most threads a program runs with. */
#define PAR_THREADS_MAX 1024

/** The thesis's barrier: its Figure 6. */
struct par_episodes {
  mltp_lock_t lock;
  unsigned count, waiters; /* [lock] */
  unsigned episode;        /* [atomic] */
};

union par_barrier {
  pthread_barrier_t pthread;
  mltp_barrier_t mltp;
  struct par_episodes episodes;
};

union par_lock {
  pthread_mutex_t pthread;
  mltp_lock_t mltp;
};

/** What a thread of the machine runs. */
typedef void par_body(void *arg, int index);

/** A thread's work, in the form every package takes: par_job_main(&job). */
struct par_job {
  par_body *body;
  void *arg;
  int index;
};
void *par_job_main(void *job);

struct par {
  const char *name;
  const char *about;
  bool has_vps; /* the number of VPs makes a difference */

  /** Starts the machine in this process. @return 0 or an errno value. */
  int (*start)(int vps);
  /** Runs body(arg, 0..threads-1), each in a thread of its own, and waits for all.
   * @return 0, or an errno value: a thread could not be created. Those before it may
   * wait for it then, forever: the process should end. */
  int (*run)(int threads, par_body *body, void *arg);
  /** Stops the machine. @return 0 or an errno value. */
  int (*stop)(void);

  void (*barrier_init)(union par_barrier *barrier, int threads);
  void (*barrier_wait)(union par_barrier *barrier);
  void (*barrier_destroy)(union par_barrier *barrier);

  void (*lock_init)(union par_lock *lock);
  void (*lock)(union par_lock *lock);
  void (*unlock)(union par_lock *lock);
  void (*lock_destroy)(union par_lock *lock);
};

extern const struct par par_serial;        /* one thread: the caller; no synchronisation */
extern const struct par par_pthreads;      /* kernel threads, glibc's barrier and mutex */
extern const struct par par_mltp;          /* two-level threads */
extern const struct par par_mltp_thesis;   /* the same, with the thesis's barrier */
extern const struct par par_mltp_ucontext; /* the same, switched by libc */
extern const struct par par_mltp_kernel;   /* the library's API, one kernel thread per thread */

/** The implementations --impl may name; ends with NULL. */
extern const struct par *const par_all[];

/** @return the implementation of that name, or NULL. */
const struct par *par_find(const char *name);

/** @return the first of `items` that belongs to thread `index` of `threads`: the next
 * thread's first ends its share. Shares differ by at most one. */
static inline long par_share(long items, int threads, int index) { return items * index / threads; }

#endif
