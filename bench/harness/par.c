/* SPDX-License-Identifier: Apache-2.0 */
/** @file par.c The list of parallel machines, and the one without parallelism. */
#include "par.h"

#include <errno.h>
#include <string.h>

void *par_job_main(void *p) {
  const struct par_job *job = p;
  job->body(job->arg, job->index);
  return NULL;
}

static int serial_start(int vps) {
  (void)vps;
  return 0;
}

static int serial_run(int threads, par_body *body, void *arg) {
  if (threads != 1) return EINVAL;
  body(arg, 0);
  return 0;
}

static int serial_stop(void) { return 0; }

static void serial_barrier_init(union par_barrier *barrier, int threads) {
  (void)barrier;
  (void)threads;
}

static void serial_barrier(union par_barrier *barrier) { (void)barrier; }

static void serial_lock(union par_lock *lock) { (void)lock; }

const struct par par_serial = {
    .name = "serial",
    .about = "one thread, no synchronisation: the reference for answers",
    .start = serial_start,
    .run = serial_run,
    .stop = serial_stop,
    .barrier_init = serial_barrier_init,
    .barrier_wait = serial_barrier,
    .barrier_destroy = serial_barrier,
    .lock_init = serial_lock,
    .lock = serial_lock,
    .unlock = serial_lock,
    .lock_destroy = serial_lock,
};

const struct par *const par_all[] = {&par_mltp,        &par_mltp_thesis, &par_mltp_ucontext,
                                     &par_mltp_kernel, &par_pthreads,    NULL};

const struct par *par_find(const char *name) {
  for (const struct par *const *p = par_all; *p != NULL; p++) {
    if (strcmp((*p)->name, name) == 0) return *p;
  }
  return NULL;
}
