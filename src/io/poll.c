/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting for several descriptors. The poll links itself to a side of each, so a change of any
 * wakes it; then it looks at all of them again, as poll(2) does.
 *
 * Relaxed: `fired` is written and read under the poll's own lock.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/det/det.h"
#include "io/call.h"
#include "mltp/io.h"

enum { FEW = 8 /* descriptors whose links fit on the stack */ };

/* A descriptor of the poll. */
struct linked {
  struct mt_io_fd *f; /* NULL: not linked; poll(2) says what it is */
  struct mt_io_watch watch[MT_IO_SIDES];
};

/* Linked to both sides, whatever it asks for: errors are reported to either. */
static int link_one(struct linked *linked, const struct pollfd *fd, struct mt_io_poll *poll) {
  int error = 0;
  linked->f = fd->fd >= 0 ? mt_io_enter(fd->fd, false, &error) : NULL;
  if (linked->f == NULL) return error == EBADF ? 0 : error;
  error = mt_io_register(linked->f);
  if (error != 0) {
    mt_io_leave(linked->f);
    linked->f = NULL;
    return error == EPERM || error == EBADF ? 0 : error; /* a file; not open: poll(2) says so */
  }
  for (int i = 0; i < MT_IO_SIDES; i++) {
    linked->watch[i].poll = poll;
    mt_io_watch(&linked->f->sides[i], &linked->watch[i]);
  }
  return 0;
}

static void unlink_one(struct linked *linked) {
  if (linked->f == NULL) return;
  for (int i = 0; i < MT_IO_SIDES; i++) mt_io_unwatch(&linked->f->sides[i], &linked->watch[i]);
  mt_io_leave(linked->f);
}

/* A descriptor that is being closed stays open until we leave it. */
static bool any_closing(struct pollfd *fds, const struct linked *linked, size_t number,
                        int *ready) {
  *ready = 0;
  for (size_t i = 0; i < number; i++) {
    bool closing = linked[i].f != NULL && mt_io_is_closing(linked[i].f);
    fds[i].revents = closing ? POLLNVAL : 0;
    *ready += closing;
  }
  return *ready != 0;
}

static int wait(struct mltp_thread *self, struct mt_io_poll *poll, uint64_t deadline) {
  struct mt_timer timer;
  mt_timer_arm(&timer, self, deadline);
  mt_ilock_lock(&poll->queue.ilock_);
  if (poll->fired) {
    mt_ilock_unlock(&poll->queue.ilock_);
    return mt_timer_disarm(&timer, 0);
  }
  self->waiting_for = poll->text;
  if (mt_det_on) mt_rt.poll.waiters++;
  int error = mt_timer_disarm(&timer, mt_wait(self, &poll->queue, false, MT_WHY_IO, &timer));
  if (mt_det_on) mt_rt.poll.waiters--;
  return error;
}

static int look_and_wait(struct mltp_thread *self, struct mt_io_poll *poll, struct pollfd *fds,
                         const struct linked *linked, size_t number, int *ready,
                         uint64_t deadline) {
  for (;;) {
    mt_ilock_lock(&poll->queue.ilock_);
    poll->fired = 0;
    mt_ilock_unlock(&poll->queue.ilock_);
    if (any_closing(fds, linked, number, ready)) return 0;
    int error = os_poll_now(fds, number, ready);
    if (error != 0 || *ready != 0) return error;
    error = wait(self, poll, deadline);
    if (error != 0) return error;
  }
}

static int poll_linked(struct mltp_thread *self, struct pollfd *fds, struct linked *linked,
                       size_t number, int *ready, uint64_t deadline) {
  struct mt_io_poll poll = {.fired = 0};
  snprintf(poll.text, sizeof poll.text, "one of %zu descriptors", number);
  size_t done = 0;
  int error = 0;
  while (done < number && error == 0) {
    error = link_one(&linked[done], &fds[done], &poll);
    if (error == 0) done++;
  }
  if (error == 0) error = look_and_wait(self, &poll, fds, linked, number, ready, deadline);
  while (done > 0) unlink_one(&linked[--done]);
  return error;
}

int mltp_io_poll_timed(struct pollfd *fds, size_t number, int *ready, uint64_t deadline) {
  struct mltp_thread *self = mt_self("mltp_io_poll");
  if (self == NULL) return EPERM;
  mt_preempt("mltp_io_poll");
  int error = os_poll_now(fds, number, ready);
  if (error != 0 || *ready != 0) return error;
  if (deadline == 0) return ETIMEDOUT;
  struct linked few[FEW];
  struct linked *linked = number <= FEW ? few : malloc(number * sizeof *linked);
  if (linked == NULL) return ENOMEM;
  error = poll_linked(self, fds, linked, number, ready, deadline);
  if (linked != few) free(linked);
  return error;
}

int mltp_io_poll(struct pollfd *fds, size_t number, int *ready) {
  return mltp_io_poll_timed(fds, number, ready, MLTP_NEVER);
}
