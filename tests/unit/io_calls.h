/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file io_calls.h
 * Calls on one descriptor without a runtime (src/io/call.c and what makes its calls by it): one
 * kernel thread. The table of descriptors, the pool and the scheduler only note what is asked; the
 * kernel's answers are the test's.
 */
#ifndef TESTS_UNIT_IO_CALLS_H
#define TESTS_UNIT_IO_CALLS_H

#define _GNU_SOURCE /* the runtime's headers want it */
#include <fcntl.h>

#include "io/call.c"

#include "support/noted.h"
#include "support/support.h"

enum { FD = 7, ANSWERS = 40 };

static struct mltp_thread caller;
static struct mt_vp here;
static struct mt_io_fd described; /* FD */

struct answer {
  int error;
  size_t count;
};

/* What others answer. */
static struct {
  struct answer answers[ANSWERS]; /* the kernel's, one after the other */
  int asked;
  int enter_error, leave_error, wait_error, pool_error;
  bool closes; /* another thread closes FD while the caller waits */
  struct mltp_thread *waiters;
} world;

static int answer(size_t *count) {
  const struct answer *next = &world.answers[world.asked++];
  *count = next->count;
  return next->error;
}

static void begin(enum os_fd_kind kind) {
  memset(&caller, 0, sizeof caller);
  memset(&world, 0, sizeof world);
  memset(&described, 0, sizeof described);
  described.fd = FD;
  described.kind = (uint8_t)kind;
  caller.vp = &here;
  mt_set_current(&caller);
  trace[0] = '\0';
}

/* The kernel's next answers. */
#define ANSWERED(...)                                                                              \
  memcpy(world.answers, (const struct answer[]){__VA_ARGS__},                                      \
         sizeof((const struct answer[]){__VA_ARGS__}))

/* ---- what the calls ask of others */

struct mltp_thread *__wrap_mt_attach(const char *call);
struct mltp_thread *__wrap_mt_attach(const char *call) {
  note("misuse:%s", call);
  return NULL;
}

void __wrap_mt_det_preempt(const char *call);
void __wrap_mt_det_preempt(const char *call) { note("point:%s", call); }

struct mt_io_fd *__wrap_mt_io_enter(int fd, bool prepare, int *error);
struct mt_io_fd *__wrap_mt_io_enter(int fd, bool prepare, int *error) {
  CHECK_EQUAL(fd, FD);
  note(prepare ? "prepare" : "enter");
  *error = world.enter_error;
  return world.enter_error == 0 ? &described : NULL;
}

int __wrap_mt_io_leave(struct mt_io_fd *f);
int __wrap_mt_io_leave(struct mt_io_fd *f) {
  CHECK(f == &described);
  note("leave");
  return world.leave_error;
}

void __wrap_mt_io_unknown(int fd);
void __wrap_mt_io_unknown(int fd) { note("unknown:%d", fd); }

int __wrap_mt_io_wait(struct mltp_thread *t, struct mt_io_fd *f, enum mt_io_direction direction,
                      uint32_t seen, uint64_t deadline);
int __wrap_mt_io_wait(struct mltp_thread *t, struct mt_io_fd *f, enum mt_io_direction direction,
                      uint32_t seen, uint64_t deadline) {
  CHECK(t == &caller && f == &described && seen == f->sides[direction].changes);
  note(direction == MT_IO_IN ? "wait_in" : "wait_out");
  if (deadline != MLTP_NEVER) note("until:%d", (int)deadline);
  if (world.wait_error != 0) return world.wait_error;
  f->sides[direction].changes++;
  if (world.closes) f->use |= MT_IO_CLOSING;
  return 0;
}

int __wrap_mt_pool_run(struct mltp_thread *t, struct mt_io_job *job, const char *text);
int __wrap_mt_pool_run(struct mltp_thread *t, struct mt_io_job *job, const char *text) {
  CHECK(t == &caller);
  note("pool<%s>", text);
  if (world.pool_error == 0) job->run(job);
  return world.pool_error;
}

void __wrap_mltp_yield(void);
void __wrap_mltp_yield(void) { note("yield"); }

static char letters[8] = "abcdefg";

#endif
