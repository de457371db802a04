/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file win.h
 * Windows: memory of ranks that other ranks access without their help.
 *
 * Each member of a window has an object of its own, its view. A view describes the member's memory
 * and the epochs that the member has opened. All views lie in one address space, so an origin
 * copies straight to and from the target's memory, and an access is complete when its call returns.
 * What remains is the synchronization of epochs, and locks.
 *
 * origin   the member that accesses, in an access epoch
 * target   the member whose memory is accessed
 * gate     keeps exclusive locks of single targets and locks of all targets apart
 *
 * Locks: a view's ilock protects what other members change there, the gate's ilock the gate.
 * Neither is held while the other is taken. A view's update_ilock makes accumulates atomic; it is
 * held for the elements of one chunk. A waiter queues a record that lies on its stack and parks
 * under the ilock under which it queued, so a waker may resume it without a test.
 *
 * Members on several nodes: each node has the views of its own members, and knows where those of
 * the others are. An access to another node, and what locks and epochs tell there, go in notes
 * (match/far.h), each of which is answered: far_origin.c, far_notes.c, far_large.c, far_target.c.
 * The gate is the one of the first member's node.
 *
 * Relaxed: marks that only the owner's threads write, which MPI lets run side by side only if the
 * program has ordered them.
 *
 * Rejected: lazy locks within a node, which are acquired by the unlock (every access would be kept
 * until then); a lock of all targets as one lock after the other (two origins could each hold what
 * the other waits for); atomic instructions for accumulates (they would not be atomic towards those
 * of other operations on the same element).
 */
#ifndef TM_RMA_WIN_H
#define TM_RMA_WIN_H

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "tmpi/layout/type.h"
#include "tmpi/object/comm.h"
#include "tmpi/object/errhandler.h"

struct mltp_thread;

/** How the access epoch to one target was opened. */
enum {
  TM_LOCKED_SHARED = 1,
  TM_LOCKED_EXCLUSIVE = 2,
  TM_LOCKED_NOCHECK = 4, /**< no other origin competes, so nothing was acquired */
  TM_LOCKED = 7,
  TM_STARTED = 8,       /**< MPI_Win_start() */
  TM_LOCK_DEFERRED = 16 /**< beside TM_LOCKED, until the origin has the lock: far_origin.c */
};

/** What a waiter waits for. */
enum tm_win_wait_for {
  TM_FOR_LOCK, /**< the lock of one target */
  TM_FOR_GATE, /**< an exclusive lock, while others hold the lock of all targets */
  TM_FOR_ALL,  /**< the lock of all targets */
  TM_FOR_POST,
  TM_FOR_COMPLETE
};

/** A waiter: queued, and read by reports. On its stack. */
struct tm_win_wait {
  uint32_t magic;             /* [const] TM_WIN_WAIT_MAGIC */
  enum tm_win_wait_for what;  /* [const] */
  const struct tm_win *win;   /* [const] the waiter's view */
  int target;                 /* [const] of TM_FOR_LOCK and TM_FOR_GATE */
  bool exclusive;             /* [const] likewise */
  int origin;                 /* [const] the waiter's rank */
  struct mltp_thread *thread; /* [const] */
  struct tm_win_wait *next;   /* [ilock of the queue] */

  /* of a waiter for another node: on its stack */
  uint8_t granted; /* [ilock of its view] relaxed: a spinner looks */
  bool parked;     /* [ilock of its view] */
  /* what stands for it on that node: in the heap, without view and thread */
  uint64_t asker;   /* [const] address of the waiter on its node; 0: it is here */
  int asker_number; /* [const] in the job */
};

enum { TM_WIN_WAIT_MAGIC = 0x3a17 };

struct tm_win_queue {
  struct tm_win_wait *first, **end;
};

/** Memory of a dynamic window. */
struct tm_win_region {
  struct tm_win_region *next;
  char *base;
  size_t bytes;
};

/** A member on another node. */
struct tm_win_member {
  uint64_t view;   /**< its address there */
  uint64_t common; /**< likewise, of the node's */
  uint64_t base;
  MPI_Aint bytes;
  int disp_unit;
};

/** What all members have in common, or if they are on several nodes all members of this one. */
struct tm_win_common {
  alignas(TM_LINE) uint32_t ilock; /* of the gate */
  int exclusive;                   /* [ilock] locks of single targets, held or being acquired */
  int all;                         /* [ilock] holders of the lock of all targets */
  struct tm_win_queue waiters;     /* [ilock] at the gate */
  uint32_t refs;                   /* [atomic] members here that have not freed their views */
  int size;                        /* [const] members */
  void *memory;                    /* [const] of MPI_Win_allocate_shared(); NULL: none */
  struct tm_win_member *far;       /* [const] by rank; NULL: all are on this node */
  struct tm_win *views[];          /* [const] by rank; NULL: it is on another node */
};

/** A member's view. The first line is what others touch to lock and to accumulate. */
struct tm_win {
  alignas(TM_LINE) uint32_t magic;
  uint32_t ilock;
  uint32_t update_ilock;
  int disp_unit;               /* [const] bytes */
  char *base;                  /* [const] NULL: a dynamic window */
  MPI_Aint bytes;              /* [const] */
  int shared_holders;          /* [ilock] of the lock of this member's memory */
  int exclusive_holder;        /* [ilock] rank; -1: none */
  struct tm_win_queue waiters; /* [ilock] for this lock */

  int flavor, model;                /* [const] attributes are the addresses of these */
  struct tm_win_common *common;     /* [const] */
  struct tm_comm *comm;             /* [const] the window's own, for fences */
  struct tm_group *group;           /* [const] that of the communicator it was made from */
  struct tm_errhandler *handler;    /* [ilock: the owner's mailbox's] */
  struct tm_attributes *attributes; /* [rank] */
  struct tm_info *info;             /* [rank] */
  void *memory;                     /* [const] to be freed with the view; NULL: none */
  struct tm_win_region *regions;    /* [ilock] of a dynamic window */
  char name[MPI_MAX_OBJECT_NAME];   /* [rank] */

  /* the access epoch */
  bool fenced;            /* [rank] opened by a fence */
  uint8_t fence_used;     /* [atomic] since then there was an access */
  bool all_locked;        /* [rank] */
  uint8_t all_nocheck;    /* [rank] and nothing was acquired */
  int locked;             /* [ilock] targets locked one by one */
  int exclusives;         /* [ilock] exclusive ones among them */
  struct tm_group *start; /* [rank] of MPI_Win_start(); NULL: none */
  unsigned syncs;         /* [rank] calls that a program may repeat until something changes */

  struct tm_win_notes *notes; /* [const] to other nodes; NULL: all members are on this one */

  /* the exposure epoch, by MPI_Win_post() */
  struct tm_group *post;         /* [rank] NULL: none */
  unsigned exposures;            /* [rank] made so far: --check tells them apart */
  int incomplete;                /* [ilock] origins that have not completed */
  int unposted;                  /* [ilock] targets that MPI_Win_start() waits for */
  struct tm_win_wait *completes; /* [ilock] waits for `incomplete` to become 0 */
  struct tm_win_wait *starts;    /* [ilock] waits for `unposted` to become 0 */
  uint8_t *posts;                /* [ilock] by target: enum tm_post */
  uint8_t *exposed;              /* [ilock] by origin: it has not completed */
  uint8_t *access;               /* [rank] by target: TM_LOCKED_..., TM_STARTED */
};

/** What the origin knows of a target's MPI_Win_post(). */
enum tm_post { TM_NOT_POSTED, TM_POSTED, TM_AWAITED };

enum { TM_WIN_MAGIC = 0x3113d03 };

/** @return the view of a handle, NULL: no valid one. */
static inline struct tm_win *tm_win_in(MPI_Win handle) {
  if (!tm_handle_is_address(handle) || (uintptr_t)handle % TM_LINE != 0) return NULL;
  struct tm_win *win = (struct tm_win *)handle;
  return win->magic == TM_WIN_MAGIC ? win : NULL;
}
/** The same, for modules. */
TM_EXPORT struct tm_win *tm_win_of(MPI_Win handle);

/** @return the job's number of a member. */
static inline int tm_win_number(const struct tm_win *win, int rank) {
  return win->group->ranks[rank];
}

/* ---- errors.c. Each returns MPI_SUCCESS or what tm_win_fail() returned. */

/** As tm_fail(), by the window's error handler. NULL: as tm_fail() of NULL. */
int tm_win_fail(struct tm_win *win, const char *call, int code, const char *format, ...)
    __attribute__((format(printf, 4, 5), cold));
int tm_win_fail_code(struct tm_win *win, const char *call, int code) __attribute__((cold));
/** Fails: there is no window, or the rank may not call. */
void tm_win_refuse(const char *call, MPI_Win handle) __attribute__((cold));
/** Looks a handle up. The window's owner calls: to look for the calling rank takes longer than to
 * put a number. */
static inline int tm_get_win(const char *call, MPI_Win handle, struct tm_win **win) {
  *win = tm_win_in(handle);
  if (mt_likely(*win != NULL && tm_rank_may_call((*win)->comm->owner))) return MPI_SUCCESS;
  tm_win_refuse(call, handle);
  return MPI_ERR_WIN;
}
/** A call came in an epoch that it does not fit. */
int tm_win_sync_error(struct tm_win *win, const char *call, const char *why) __attribute__((cold));
/** Checks the assertion of a call that accepts some of MPI_MODE_NOCHECK and the like. */
int tm_win_check_assert(struct tm_win *win, const char *call, int assertion, int known);
int tm_win_refuse_target(struct tm_win *win, const char *call, int target) __attribute__((cold));
/** Checks a target; MPI_PROC_NULL is one. */
static inline int tm_win_check_target(struct tm_win *win, const char *call, int target) {
  bool valid = target == MPI_PROC_NULL || (target >= 0 && target < win->common->size);
  return mt_likely(valid) ? MPI_SUCCESS : tm_win_refuse_target(win, call, target);
}

/* ---- wait.c */

struct tm_win_wait tm_win_waiter(const struct tm_win *win, enum tm_win_wait_for what);
void tm_win_enqueue(struct tm_win_queue *queue, struct tm_win_wait *wait);
/** Takes the first out, in front of a list of waiters to be woken. */
void tm_win_take(struct tm_win_queue *queue, struct tm_win_wait **woken);
/** @return one list of two. */
struct tm_win_wait *tm_win_both(struct tm_win_wait *first, struct tm_win_wait *second);
/** Parks until tm_win_wake(). The ilock is held, and released. */
void tm_win_park(struct tm_win_wait *wait, uint32_t *ilock, const char *call);
/** Wakes a list. No ilock is held. inside: as of tm_far_note_send(). */
void tm_win_wake(struct tm_win_wait *woken, bool inside);
/** Lets other ranks run now and then, because programs repeat such calls until something changes.
 */
void tm_win_breathe(struct tm_win *win);

/* ---- lock.c. The ilock of the target, or of the gate, is held where a lock is tried. */

/** Takes a lock for an origin. @return false: it cannot have it now, and is to be queued. */
bool tm_win_lock_try(struct tm_win *target, bool exclusive, int origin);
/** The same of the gate. passes: waiters there do not count. */
bool tm_win_gate_try(struct tm_win_common *gate, bool all, bool passes);
/** Releases a lock. No ilock is held. @return waiters to be woken. */
struct tm_win_wait *tm_win_lock_release(struct tm_win *target, bool exclusive);
struct tm_win_wait *tm_win_gate_leave(struct tm_win_common *gate, bool all);

/** @return whether the member holds any lock. */
bool tm_win_has_locks(const struct tm_win *win);
/** @return whether an origin may not open another kind of access epoch: a fence's is in use. */
bool tm_win_fence_in_use(const struct tm_win *win);

/* ---- post.c */

/** An origin learns of a post, a target that an origin has completed. @return waiters to be woken.
 */
struct tm_win_wait *tm_win_posted(struct tm_win *origin, int target);
struct tm_win_wait *tm_win_completed(struct tm_win *target, int origin);

/* ---- far_notes.c: notes to other nodes */

struct tm_win_head;
struct tm_piece;

struct tm_win_notes *tm_win_notes_new(void);
void tm_win_notes_free(struct tm_win_notes *notes);
/** Begins a message to a member, in a note that may have others. @return where its data go, until
 * tm_win_notes_end(). */
char *tm_win_notes_begin(struct tm_win *win, int member, const struct tm_win_head *head,
                         const struct tm_piece *pieces, const char *call);
/** soon: the note goes now. Otherwise it may wait for more messages. */
void tm_win_notes_end(struct tm_win *win, int member, bool soon);
/** Sends a message that has a note of its own, or a lock and what has been deferred with it. The
 * note is not answered but by the grant. */
void tm_win_notes_send(struct tm_win *win, int member, const struct tm_win_head *head);
/** A member's lock goes with the first accesses. There is no such member yet. */
void tm_win_notes_defer(struct tm_win *win, int member, bool exclusive);
/** The lock of that member goes now. @return the member; *exclusive: its lock. */
int tm_win_notes_undefer(struct tm_win *win, bool *exclusive);
/** A large access begins, whose end counts as an answer: tm_win_answered(). */
void tm_win_notes_expect(struct tm_win *win, const char *call);
/** @return whether such accesses may not have ended. */
bool tm_win_notes_have_large(struct tm_win *win);
/** Sends all notes, and waits until all are answered. */
void tm_win_settle(struct tm_win *win, const char *call);
/** One has been answered. */
void tm_win_answered(struct tm_win *win);
static inline void tm_win_settle_all(struct tm_win *win, const char *call) {
  if (MLTP_NODES && mt_unlikely(win->notes != NULL)) tm_win_settle(win, call);
}

/* ---- far_origin.c: locks and epochs of targets on other nodes */

/** Gets the lock that a waiter wants. Returns when it has it. */
void tm_win_far_lock(struct tm_win_wait *wait, const char *call);
/** Lets the lock of a target go with the first accesses. @return false: it cannot. */
bool tm_win_far_defer(struct tm_win *win, int target, bool exclusive);
/** Gets the lock that a rank has deferred, if there is one. Returns when it has it. */
void tm_win_far_lock_now(struct tm_rank *rank, const char *call);
void tm_win_far_gate(struct tm_win_wait *wait, bool passes, const char *call);
/** Returns when the accesses are complete, too. */
void tm_win_far_unlock(struct tm_win *win, int target, bool exclusive);
void tm_win_far_leave_gate(struct tm_win *win, bool all);
void tm_win_far_posted(struct tm_win *win, int origin);
/** May wait for tm_win_settle(). */
void tm_win_far_completed(struct tm_win *win, int target);

/* ---- far_target.c: what comes from them */

/** A waiter of another node has its lock: performs what has come with it. The record is freed.
 * @return waiters to be woken. */
struct tm_win_wait *tm_win_grant(struct tm_win_wait *wait, bool inside);
/** Takes a note; a tm_far_taker. */
void tm_win_take_note(int source, const void *data, size_t bytes);

/* ---- far_large.c */

struct tm_far_header;

/** Announces the data that an origin on another node has asked for, in a message with a list of one
 * piece. */
void tm_win_answer_large(const struct tm_win_head *asked, const char *list, int source);
/** Fetches announced data; a tm_far_announced_taker. */
void tm_win_take_announced(const struct tm_far_header *header, const void *note, void *announced);

/* ---- region.c */

/** @return whether a dynamic window has attached all memory of a range. */
bool tm_win_is_attached(struct tm_win *win, const char *low, const char *high);
void tm_win_regions_free(struct tm_win *win);

/* ---- what calls.table calls: create.c, region.c */

/** The arguments of a call that makes a window. */
struct tm_win_making {
  const char *call;
  int flavor;
  void *base;
  MPI_Aint bytes;
  MPI_Aint disp_unit;
  MPI_Info info;
  MPI_Comm comm;
};

int tm_call_win_create(const struct tm_win_making *m, MPI_Win *result);
/** The same, of a window whose memory the library allocates. base: of a pointer to it. */
int tm_call_win_allocate(const struct tm_win_making *m, void *base, MPI_Win *result);
int tm_call_win_query(const char *call, MPI_Win handle, int rank, MPI_Aint *bytes,
                      MPI_Aint *disp_unit, void *base);

#endif
