/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file io_steps.h
 * The files of descriptors and of polls of several (src/io/fd.c, poll.c) without a runtime: one
 * kernel thread. The kernel, epoll and the scheduler only note what is asked.
 */
#ifndef TESTS_UNIT_IO_STEPS_H
#define TESTS_UNIT_IO_STEPS_H

#define _GNU_SOURCE /* the runtime's headers want it */
#include "io/fd.c"

#include "io/poll.c"

#include <stdarg.h>

#include "support/noted.h"
#include "support/support.h"

enum { THREADS = 8, FD = 2000 };

static struct mltp_thread threads[THREADS];
static struct mltp_thread *const self = &threads[0]; /* the caller */

/* ---- what others are asked */

/* What they answer, and what happens while the caller waits. */
static struct {
  int prepare_error, close_error, start_error, report_error, wait_error, poll_error;
  enum os_fd_kind kind;
  int ready[4], looks; /* of poll(2), one after the other */
  int relaxes;         /* until close(2) of FD has ended; < 0: its number is being closed again */
  bool no_memory;
  void (*meanwhile)(void);
} world;

int __wrap_os_fd_prepare(int fd, enum os_fd_kind *kind);
int __wrap_os_fd_prepare(int fd, enum os_fd_kind *kind) {
  note("prepare:%d", fd);
  *kind = world.kind;
  return world.prepare_error;
}

int __wrap_os_fd_close(int fd);
int __wrap_os_fd_close(int fd) {
  note("close:%d", fd);
  CHECK_EQUAL(find(fd)->use & ~MT_IO_CLOSED, 0); /* nobody enters meanwhile */
  CHECK(find(fd)->use != 0);
  return world.close_error;
}

bool __wrap_mt_relax(unsigned *round);
bool __wrap_mt_relax(unsigned *round) {
  note("relax:%u", *round);
  if ((int)++*round == world.relaxes) find(FD)->use = 0;
  if (world.relaxes < 0) find(FD)->use = MT_IO_CLOSING + 1;
  return false;
}

int __wrap_mt_io_start(void);
int __wrap_mt_io_start(void) {
  note("start");
  return world.start_error;
}

int __wrap_mt_io_report(int fd);
int __wrap_mt_io_report(int fd) {
  note("report:%d", fd);
  return world.report_error;
}

void __wrap_mt_io_report_no_more(int fd);
void __wrap_mt_io_report_no_more(int fd) { note("no_more:%d", fd); }

void __wrap_mt_timer_arm(struct mt_timer *timer, struct mltp_thread *t, uint64_t deadline);
void __wrap_mt_timer_arm(struct mt_timer *timer, struct mltp_thread *t, uint64_t deadline) {
  CHECK(timer != NULL && t == self);
  if (deadline == MLTP_NEVER)
    note("arm");
  else
    note("arm:%d", (int)deadline);
}

int __wrap_mt_timer_disarm(struct mt_timer *timer, int error);
int __wrap_mt_timer_disarm(struct mt_timer *timer, int error) {
  CHECK(timer != NULL);
  note("disarm:%d", error);
  return error == ETIMEDOUT ? ECANCELED : error; /* as for a thread that was cancelled */
}

int __wrap_mt_wait(struct mltp_thread *t, mltp_waitq_t *queue, bool front, enum mt_why why,
                   struct mt_timer *timer);
int __wrap_mt_wait(struct mltp_thread *t, mltp_waitq_t *queue, bool front, enum mt_why why,
                   struct mt_timer *timer) {
  CHECK(t == self && queue->ilock_ != 0 && !front && why == MT_WHY_IO && timer != NULL);
  note("wait");
  mt_ilock_unlock(&queue->ilock_);
  if (world.meanwhile != NULL) world.meanwhile();
  return world.wait_error;
}

void __wrap_mt_det_preempt(const char *call);
void __wrap_mt_det_preempt(const char *call) { CHECK(call != NULL); }

void __wrap_mt_resume(struct mltp_thread *t);
void __wrap_mt_resume(struct mltp_thread *t) { note("resume:%d", (int)(t - threads)); }

int __wrap_os_poll_now(struct pollfd *fds, size_t number, int *ready);
int __wrap_os_poll_now(struct pollfd *fds, size_t number, int *ready) {
  (void)fds;
  note("poll:%zu", number);
  *ready = world.ready[world.looks++];
  return world.poll_error;
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size) {
  note("malloc");
  return world.no_memory ? NULL : __real_malloc(size);
}

/* Compilers make one call of malloc() and memset(). */
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size) {
  note("malloc");
  return world.no_memory ? NULL : __real_calloc(count, size);
}

static void begin(void) {
  memset(threads, 0, sizeof threads);
  memset(&world, 0, sizeof world);
  memset(&mt_rt, 0, sizeof mt_rt);
  mt_set_current(self);
  for (unsigned i = 0; i < CHUNKS; i++) {
    free(chunks[i]);
    chunks[i] = NULL;
  }
  trace[0] = '\0';
}

/* A descriptor that has been used. */
static struct mt_io_fd *used(int fd) {
  int error;
  struct mt_io_fd *f = find_or_make(fd, &error);
  mt_io_fresh(fd, OS_FD_STREAM);
  trace[0] = '\0';
  return f;
}

static uint32_t waiters_seen;

static void note_waiters(void) { waiters_seen = mt_rt.poll.waiters; }

#endif
