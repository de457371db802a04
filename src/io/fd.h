/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file fd.h
 * What the library knows of a descriptor: its waiters and its users.
 *
 * A descriptor has two sides, input and output. Each side counts the changes of its readiness that
 * epoll has reported.
 *
 * No change is lost (explored by tests/models/io.pml):
 *   a thread   reads the count (IO-3); makes its system call; if that would wait, takes the side's
 *              lock, compares the count, and parks only if it is still the same
 *   a poller   takes the events from the kernel; takes the side's lock, counts, takes the waiters
 *              out, and resumes them
 * The kernel reports a change after the system call that missed it. So the count either differs or
 * will be incremented while the thread waits. A report that comes late, even for an older
 * descriptor of the same number, costs one attempt more. That is why reports carry no generation.
 *
 * Closing: `use` counts the threads inside a call, and has a bit that says the descriptor is being
 * closed. The closer sets the bit and wakes all waiters; they find the bit and leave with EBADF.
 * The last to leave closes the descriptor. So no thread reads from a later descriptor that got the
 * same number. A thread that comes while the last one is inside close(2) waits for it: it
 * could park for a change of the old descriptor otherwise, of which no report will come.
 *
 * A TCP connection from which a read took fewer bytes than it had room for is empty (epoll(7)).
 * Until its next change, or if its end was reported with its last bytes, a read of it would be in
 * vain: `drained_at` saves one of the three system calls of a request and its answer. Only TCP: a
 * message or a passed descriptor ends other reads early.
 *
 * Relaxed: drained_at is stored before its thread's next read, and a thread that misses it makes
 * the system call. `ended` is stored before the count (IO-4).
 *
 * A descriptor is registered when a thread first has to wait for it, and once. A connection that
 * always finds its data costs no epoll_ctl().
 *
 * Rejected: EPOLLONESHOT, which needs a system call for each wait; one waiter for each side, as in
 * Go, whose lock around each call costs as much as the count of users; waking one of several
 * waiters, which has to pass the change on if its deadline comes.
 */
#ifndef MT_IO_FD_H
#define MT_IO_FD_H

#include "core/wait/park.h"
#include "os/os.h"

enum mt_io_direction { MT_IO_IN, MT_IO_OUT, MT_IO_SIDES };

/** A poll that looks at several descriptors; on its caller's stack. */
struct mt_io_poll {
  mltp_waitq_t queue; /* its lock is taken under a side's */
  uint32_t fired;     /* [ilock: queue] a side has changed since it looked */
  char text[48];      /* [const] what its thread waits for */
};

/** Its link to one side. */
struct mt_io_watch {
  struct mt_io_watch *next; /* [ilock] of the side's queue */
  struct mt_io_watch *prev; /* likewise */
  struct mt_io_poll *poll;  /* [const] */
};

struct mt_io_side {
  mltp_waitq_t queue;
  struct mt_io_watch *watches; /* [ilock: queue] */
  uint32_t changes;            /* [atomic] written under the queue's lock */
  uint32_t drained_at;         /* [atomic] 1 + changes, before a read that took all; 0: none did */
  uint8_t ended;               /* [atomic] the peer has closed it, or an error came */
  char text[44];               /* [ilock: queue] what a waiter waits for; constant once set */
};

/* Bits of `use`: mltp_io_close() was called; the last user is inside close(2). */
enum { MT_IO_CLOSING = 1 << 30, MT_IO_CLOSED = 1 << 29 };

struct mt_io_fd {
  struct mt_io_side sides[MT_IO_SIDES];
  int fd;             /* [const] */
  uint32_t use;       /* [atomic] threads inside a call, and the bits above */
  mt_ilock ilock;     /* while it is registered */
  uint8_t prepared;   /* [atomic] 1: kind is known, and O_NONBLOCK set */
  uint8_t kind;       /* [atomic] enum os_fd_kind */
  uint8_t registered; /* [atomic] epoll reports its changes; written under ilock */
  uint8_t streak;     /* [atomic] calls in a row that did not wait; relaxed: a hint */
};

/** @return what it is; a user knows it since mt_io_enter(). */
static inline enum os_fd_kind mt_io_kind(const struct mt_io_fd *f) {
  return (enum os_fd_kind)mt_load_relaxed(&f->kind); /* relaxed: known since IO-8 */
}

/** Enters a call on a descriptor. @param prepare set O_NONBLOCK. @return NULL: *error says why. */
struct mt_io_fd *mt_io_enter(int fd, bool prepare, int *error);

/** Leaves it; the last one closes a descriptor that is being closed. @return 0, or the error of
 * close(2). */
int mt_io_leave(struct mt_io_fd *f);

/** The descriptor is new: forgets what was known of its number. fresh: it does not block, and is of
 * that kind; unknown: the next call on it finds out. */
void mt_io_fresh(int fd, enum os_fd_kind kind);
void mt_io_unknown(int fd);

static inline bool mt_io_is_closing(const struct mt_io_fd *f) {
  /* relaxed: a waiter that a closer woke had the side's lock after the closer */
  return (mt_load_relaxed(&f->use) & MT_IO_CLOSING) != 0;
}

/** @return how many changes the side has seen: before the system call that may have to wait. */
static inline uint32_t mt_io_changes(const struct mt_io_side *side) {
  /* IO-3 acquire: before the system call; pairs IO-4 */
  return mt_load_acquire(&side->changes);
}

/** Has its changes reported from now on. @return 0, or why the kernel refuses. */
int mt_io_register(struct mt_io_fd *f);

/** Waits until the side has changed since `seen`, or the descriptor is closed.
 * @return 0, ETIMEDOUT, ECANCELED, or why the kernel refuses to report changes. */
int mt_io_wait(struct mltp_thread *self, struct mt_io_fd *f, enum mt_io_direction direction,
               uint32_t seen, uint64_t deadline);

/** A change: takes out the threads that wait for the side. ended: no further change may come.
 * @return them, linked by next. */
struct mltp_thread *mt_io_change(struct mt_io_side *side, bool ended);

/** Notes that a read took all; seen: the count of changes when it began. */
static inline void mt_io_drained(struct mt_io_side *side, uint32_t seen) {
  mt_store_relaxed(&side->drained_at, seen + 1);
}

/** @return whether the side is known to have nothing, as of that many changes. */
static inline bool mt_io_is_drained(const struct mt_io_side *side, uint32_t seen) {
  return mt_load_relaxed(&side->drained_at) == seen + 1 && !mt_load_relaxed(&side->ended);
}

/** Adds and removes a poll that looks at a side. */
void mt_io_watch(struct mt_io_side *side, struct mt_io_watch *watch);
void mt_io_unwatch(struct mt_io_side *side, struct mt_io_watch *watch);

#endif
