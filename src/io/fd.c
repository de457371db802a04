/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors by number; fd.h has the protocol.
 *
 * The table has two levels. Chunks are made when they are needed and are never freed, so a late
 * report finds its descriptor.
 *
 * Relaxed: what is written under a lock and read under it; hints.
 */
#include "io/fd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/det/det.h"
#include "core/sched/sched.h"
#include "io/poller.h"

enum { CHUNK = 1024, CHUNKS = 4096 };

static struct mt_io_fd *chunks[CHUNKS]; /* [atomic] */
static mt_ilock chunks_ilock;

static struct mt_io_fd *chunk_at(unsigned index) {
  return mt_load_acquire(&chunks[index]); /* IO-6 acquire: its fields; pairs IO-5 */
}

/* @return NULL: no memory. */
static struct mt_io_fd *chunk_new(unsigned index) {
  struct mt_io_fd *made = malloc(CHUNK * sizeof *made);
  if (made == NULL) return NULL;
  memset(made, 0, CHUNK * sizeof *made);
  for (unsigned i = 0; i < CHUNK; i++) made[i].fd = (int)(index * CHUNK + i);
  mt_ilock_lock(&chunks_ilock);
  struct mt_io_fd *chunk = mt_load_relaxed(&chunks[index]);
  if (chunk == NULL) mt_store_release(&chunks[index], made); /* IO-5 release: pairs IO-6 */
  mt_ilock_unlock(&chunks_ilock);
  if (chunk == NULL) return made;
  free(made);
  return chunk;
}

/* @return the descriptor of that number, if it has ever been used; else NULL. */
static struct mt_io_fd *find(int fd) {
  if (fd < 0 || fd >= CHUNK * CHUNKS) return NULL;
  struct mt_io_fd *chunk = chunk_at((unsigned)fd / CHUNK);
  return chunk != NULL ? &chunk[(unsigned)fd % CHUNK] : NULL;
}

static struct mt_io_fd *find_or_make(int fd, int *error) {
  *error = EBADF;
  if (fd < 0) return NULL;
  *error = ENOMEM;
  if (fd >= CHUNK * CHUNKS) return NULL;
  struct mt_io_fd *chunk = chunk_at((unsigned)fd / CHUNK);
  if (chunk == NULL) chunk = chunk_new((unsigned)fd / CHUNK);
  return chunk != NULL ? &chunk[(unsigned)fd % CHUNK] : NULL;
}

/* ---- using and closing */

/* Two threads may do it at a time: they find the same. */
static int prepare(struct mt_io_fd *f) {
  enum os_fd_kind kind;
  int error = os_fd_prepare(f->fd, &kind);
  if (error != 0) return error;
  mt_store_relaxed(&f->kind, (uint8_t)kind);
  mt_store_release(&f->prepared, 1); /* IO-7 release: kind; pairs IO-8 */
  return 0;
}

/* Waits for a last user that is inside close(2): nobody knows which file has the number then.
 * @return false: it is being closed. */
static bool use(struct mt_io_fd *f) {
  unsigned round = 0;
  for (;;) {
    /* IO-9 acq_rel: after what the last user stored; pairs IO-10 */
    uint32_t before = mt_add_acq_rel(&f->use, 1);
    if (mt_likely((before & (MT_IO_CLOSING | MT_IO_CLOSED)) == 0)) return true;
    mt_io_leave(f);
    if (before & MT_IO_CLOSING) return false;
    mt_relax(&round);
  }
}

struct mt_io_fd *mt_io_enter(int fd, bool prepares, int *error) {
  struct mt_io_fd *f = find_or_make(fd, error);
  if (f == NULL) return NULL;
  *error = EBADF;
  if (!use(f)) return NULL;
  /* IO-8 acquire: kind; pairs IO-7 */
  *error = prepares && !mt_load_acquire(&f->prepared) ? prepare(f) : 0;
  if (*error == 0) return f;
  mt_io_leave(f);
  return NULL;
}

/* Nothing is known of the number, or only that it does not block. */
static void start_anew(struct mt_io_fd *f, bool prepared) {
  for (int i = 0; i < MT_IO_SIDES; i++) {
    mt_store_relaxed(&f->sides[i].drained_at, 0);
    mt_store_relaxed(&f->sides[i].ended, 0);
  }
  mt_store_relaxed(&f->registered, 0);
  mt_store_relaxed(&f->prepared, prepared);
}

/* By the last user. All is forgotten before the number is free again. */
static int close_now(struct mt_io_fd *f) {
  if (mt_load_relaxed(&f->registered)) mt_io_report_no_more(f->fd);
  start_anew(f, false);
  int error = os_fd_close(f->fd);
  /* IO-10 seq_cst: what was stored; pairs IO-9 */
  mt_sub_seq_cst(&f->use, MT_IO_CLOSED); /* others may be on their way out */
  return error;
}

int mt_io_leave(struct mt_io_fd *f) {
  /* IO-11 seq_cst: the calls of all users come before the close; pairs IO-11 */
  if (mt_likely(mt_sub_seq_cst(&f->use, 1) != MT_IO_CLOSING + 1)) return 0;
  uint32_t last = MT_IO_CLOSING; /* not if another has come meanwhile: it is the last then */
  return mt_cas_relaxed(&f->use, &last, MT_IO_CLOSED) ? close_now(f) : 0; /* relaxed: IO-11 */
}

void mt_io_fresh(int fd, enum os_fd_kind kind) {
  int error;
  struct mt_io_fd *f = find_or_make(fd, &error);
  if (f == NULL) return;
  mt_store_relaxed(&f->kind, (uint8_t)kind);
  start_anew(f, true);
}

void mt_io_unknown(int fd) {
  struct mt_io_fd *f = find(fd);
  if (f != NULL) start_anew(f, false);
}

/* ---- waiting */

int mt_io_register(struct mt_io_fd *f) {
  if (mt_load_acquire(&f->registered)) return 0; /* IO-13 acquire: pairs IO-12 */
  int error = mt_io_start();
  if (error != 0) return error;
  error = mt_io_report(f->fd); /* again, if two threads come here: it does no harm */
  if (error == 0) mt_store_release(&f->registered, 1); /* IO-12 release: pairs IO-13 IO-15 */
  return error;
}

/* Under the side's lock. */
static const char *text_of(struct mt_io_fd *f, enum mt_io_direction direction) {
  struct mt_io_side *side = &f->sides[direction];
  if (side->text[0] == '\0')
    snprintf(side->text, sizeof side->text, "descriptor %d to be %s", f->fd,
             direction == MT_IO_IN ? "readable" : "writable");
  return side->text;
}

int mt_io_wait(struct mltp_thread *self, struct mt_io_fd *f, enum mt_io_direction direction,
               uint32_t seen, uint64_t deadline) {
  struct mt_io_side *side = &f->sides[direction];
  int error = mt_io_register(f);
  if (error != 0) return error;
  if (deadline == 0) return ETIMEDOUT;
  struct mt_timer timer;
  mt_timer_arm(&timer, self, deadline);
  mt_step("descriptor: wait");
  mt_ilock_lock(&side->queue.ilock_);
  if (mt_load_relaxed(&side->changes) != seen || mt_io_is_closing(f)) {
    mt_ilock_unlock(&side->queue.ilock_);
    return mt_timer_disarm(&timer, 0);
  }
  self->waiting_for = text_of(f, direction);
  if (mt_det_on) mt_rt.poll.waiters++;
  error = mt_timer_disarm(&timer, mt_wait(self, &side->queue, false, MT_WHY_IO, &timer));
  if (mt_det_on) mt_rt.poll.waiters--;
  return error;
}

/* Under the side's lock. */
static void fire_watches(struct mt_io_side *side) {
  for (struct mt_io_watch *watch = side->watches; watch != NULL; watch = watch->next) {
    struct mt_io_poll *poll = watch->poll;
    mt_ilock_lock(&poll->queue.ilock_);
    poll->fired = 1;
    struct mltp_thread *t = mt_waitq_pop(&poll->queue);
    mt_ilock_unlock(&poll->queue.ilock_);
    if (t != NULL) mt_resume(t);
  }
}

struct mltp_thread *mt_io_change(struct mt_io_side *side, bool ended) {
  mt_ilock_lock(&side->queue.ilock_);
  if (ended) mt_store_relaxed(&side->ended, 1); /* relaxed: IO-4 orders it */
  /* IO-4 release: after what the kernel has reported; pairs IO-3 */
  mt_store_release(&side->changes, side->changes + 1);
  struct mltp_thread *first = mt_waitq_take_all(&side->queue);
  if (side->watches != NULL) fire_watches(side);
  mt_ilock_unlock(&side->queue.ilock_);
  return first;
}

static void resume(struct mltp_thread *first, struct mt_vp *here) {
  for (struct mltp_thread *t = first, *next; t != NULL; t = next) {
    next = t->next;
    if (here != NULL && t->vp != NULL)
      mt_ready_quietly(here, t);
    else
      mt_resume(t);
  }
}

void mt_io_changed(int fd, uint32_t events, struct mt_vp *here) {
  const uint32_t both = EPOLLERR | EPOLLHUP, end = both | EPOLLRDHUP | EPOLLPRI;
  struct mt_io_fd *f = find(fd);
  if (f == NULL) return;
  if (events & (EPOLLIN | end))
    resume(mt_io_change(&f->sides[MT_IO_IN], (events & end) != 0), here);
  if (events & (EPOLLOUT | both)) resume(mt_io_change(&f->sides[MT_IO_OUT], false), here);
}

void mt_io_watch(struct mt_io_side *side, struct mt_io_watch *watch) {
  mt_ilock_lock(&side->queue.ilock_);
  watch->prev = NULL;
  watch->next = side->watches;
  if (watch->next != NULL) watch->next->prev = watch;
  side->watches = watch;
  mt_ilock_unlock(&side->queue.ilock_);
}

void mt_io_unwatch(struct mt_io_side *side, struct mt_io_watch *watch) {
  mt_ilock_lock(&side->queue.ilock_);
  if (watch->prev != NULL)
    watch->prev->next = watch->next;
  else
    side->watches = watch->next;
  if (watch->next != NULL) watch->next->prev = watch->prev;
  mt_ilock_unlock(&side->queue.ilock_);
}

/* ---- the end */

void mt_io_forget_all(bool child) {
  for (unsigned i = 0; i < CHUNKS; i++)
    for (unsigned j = 0; chunks[i] != NULL && j < CHUNK; j++) {
      struct mt_io_fd *f = &chunks[i][j];
      if (child) memset(f->sides, 0, sizeof f->sides); /* locks may be held, threads wait */
      f->use = 0;
      f->registered = f->prepared = 0;
    }
  if (child) chunks_ilock = 0;
}
