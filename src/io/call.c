/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relaxed: a streak is a hint.
 */
#include "io/call.h"

#include "core/det/det.h"
#include "core/sched/sched.h"
#include "io/pool.h"
#include "mltp/sched.h"

enum { STREAK = 32 /* calls in a row without a wait: then others run */ };

/* A call on a file waits for a disk, not for a change. */
struct file_call {
  struct mt_io_job job; /* first */
  struct mt_io_call *call;
  struct mt_io_fd *f;
  int error;
};

static void run_on_file(struct mt_io_job *job) {
  struct file_call *file = (struct file_call *)job;
  do file->error = file->call->attempt(file->call, file->f);
  while (file->error == EAGAIN && file->call->direction == MT_IO_OUT);
}

static int on_file(struct mltp_thread *self, struct mt_io_call *call, struct mt_io_fd *f) {
  struct file_call file = {.job.run = run_on_file, .call = call, .f = f};
  int error = mt_pool_run(self, &file.job, "a call on a file");
  return error != 0 ? error : file.error;
}

/* Data that keeps coming must not keep other threads from running. */
static void give_way(const struct mltp_thread *self, struct mt_io_fd *f, bool waited) {
  uint8_t streak = waited ? 0 : (uint8_t)(mt_load_relaxed(&f->streak) + 1);
  mt_store_relaxed(&f->streak, streak < STREAK ? streak : 0);
  if (streak >= STREAK && self->vp != NULL) mltp_yield();
}

/* @return the error; *waited: at least once. */
static int repeat(struct mltp_thread *self, struct mt_io_call *call, struct mt_io_fd *f,
                  uint64_t deadline, bool *waited) {
  struct mt_io_side *side = &f->sides[call->direction];
  for (;;) {
    uint32_t seen = mt_io_changes(side);
    bool in_vain = mt_io_is_drained(side, seen) && call->flags == 0;
    bool reported = mt_load_acquire(&f->registered); /* IO-15 acquire: pairs IO-12 */
    int error = in_vain ? EAGAIN : call->attempt(call, f);
    if (call->short_read && reported) mt_io_drained(side, seen);
    if (error != EAGAIN) return error;
    error = mt_io_wait(self, f, call->direction, seen, deadline);
    if (error != 0) return error;
    if (mt_io_is_closing(f)) return EBADF;
    *waited = true;
  }
}

int mt_io_make(struct mt_io_call *call, uint64_t deadline) {
  struct mltp_thread *self = mt_self(call->name);
  if (mt_unlikely(self == NULL)) return EPERM;
  mt_preempt(call->name);
  int error;
  bool waited = false;
  struct mt_io_fd *f = mt_io_enter(call->fd, true, &error);
  if (f == NULL) return error;
  if (mt_load_relaxed(&f->kind) == OS_FD_FILE) /* relaxed: mt_io_enter() acquired it */
    error = on_file(self, call, f);
  else
    error = repeat(self, call, f, deadline, &waited);
  give_way(self, f, waited);
  mt_io_leave(f);
  return error;
}

bool mt_io_advance(struct mt_io_call *call, size_t count) {
  call->done += count;
  call->offset += count;
  while (call->number > 0 && call->offset >= call->parts->iov_len) {
    call->offset -= call->parts->iov_len;
    call->parts++;
    call->number--;
  }
  return call->number > 0;
}
