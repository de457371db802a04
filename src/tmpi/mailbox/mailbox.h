/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file mailbox.h
 * Messages: where a send and a receive meet, and how both are waited for.
 *
 * Each rank has a mailbox: the receives it has posted that no message has come for, and the
 * messages that have come before their receive, found by what they must agree on (queue.h). A
 * sender takes the receiver's internal lock and looks for the first posted receive that fits; if
 * there is one it copies the data straight to where they belong, after the internal lock is
 * released. Otherwise it leaves a message: a copy of the data when they are few, or else a
 * reference to the send, which then ends when the receiver has copied them. A receive does the
 * mirror image. So messages of one sender in one communicator match in the order they were sent in:
 * each enters under the internal lock before the next one is sent, and of several that fit the
 * oldest is taken.
 *
 * Very few bytes are copied into a cell, and out of it, under the internal lock: the mailbox keeps
 * cells that are free, so that nothing is allocated. Even fewer bytes, when the mailbox is empty,
 * go through the inline slot (inline_slot.h). A receiver that expects so few bytes and may spin
 * first spins for any message, and posts its receive then.
 *
 * Where ranks have a VP each, some hundred bytes go through a ring beside the mailbox, without its
 * internal lock (intake.h), unless the receiver is going to park.
 *
 * A receiver that waits in a blocking call for many bytes copies them itself. A sender that
 * continues (MPI_Isend) hands it a message that refers to the send, and has its own time for what
 * others may wait for. The data then come into the receiver's cache. A sender that waits as well
 * copies, as its receiver would have to resume it; so does one whose receiver computes (MPI_Irecv).
 *
 * A mailbox that is full of copies defers further ones: their data stay with their senders until
 * the receiver takes them, or waits for something else in MPI (deferred.h).
 *
 * A blocking call (tm_send(), tm_recv()) that has to wait parks under the internal lock under which
 * it has entered the queue. Its taker knows that it waits, copies, and resumes it.
 * Only the taker can do so, so the request needs no internal lock of its own any more. Any other
 * request is complete when `done` is set, under its owner's internal lock. A waiting thread hangs a
 * waiter on its requests, and the completer of the last of them resumes it. There is no polling.
 * Before it hangs the waiter there it may spin on `done` (match/rank_wait.h).
 *
 * Internal locks of two mailboxes are never held together. docs/design/021-mailbox.md has what was
 * rejected, tests/models/mailbox.pml explores the protocol.
 */
#ifndef TM_MAILBOX_MAILBOX_H
#define TM_MAILBOX_MAILBOX_H

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tmpi/mailbox/inline_slot.h"
#include "tmpi/mailbox/queue.h"
#include "tmpi/mpi.h"

struct mltp_thread;
struct tm_comm;
struct tm_rank;
struct tm_type;

enum {
  TM_EAGER_MAX = 16384,  /**< bytes that are copied when nobody has posted a receive yet */
  TM_HANDED_MIN = 16384, /**< bytes that a receiver which waits for them copies itself */
  TM_CELL_BYTES = 128,   /**< bytes there is room for in a cell */
  TM_CELLS_MAX = 64,     /**< free cells a mailbox keeps */
  TM_HELD_MAX = 16 << 20 /**< bytes of copies in a mailbox beyond which senders keep their data */
};

/** A thread that waits for some requests. On its stack. */
struct tm_waiter {
  struct mltp_thread *thread;   /* [ilock] that is parked; NULL: it spins */
  struct tm_waiter *next;       /* [ilock] among the probing threads */
  int missing;                  /* [ilock] completions to come; relaxed: a spinner looks */
  struct tm_request *const *of; /* [const] what it waits for; NULL elements: nothing. For reports */
  int count;                    /* [const] of them; 0: a probing thread */
  int before;                   /* [const] others of the call, which are complete. For reports */
  bool dozes;                   /* [const] it has a deadline, and awaits that `missing` is 0 */
};

enum tm_kind {
  TM_SEND,
  TM_RECV,
  TM_GENERALIZED, /**< the program completes it itself */
  TM_COLLECTIVE,  /**< a thread of the library performs it */
  TM_PARTITIONED, /**< part/channel.h */
  TM_FAR          /**< stands for a send of another node: match/far.h */
};

enum tm_mode {
  TM_STANDARD,
  TM_BUFFERED,
  TM_SYNCHRONOUS,
  TM_READY,
  TM_PART_SEND, /**< the sides of TM_PARTITIONED */
  TM_PART_RECV
};

/** In the order of use: matching, cancelling and completing touch two lines of one that was made by
 * tm_request_new(), and of other requests only the first. */
struct tm_request {
  uint32_t magic;     /* [const] TM_REQUEST_MAGIC */
  uint8_t kind, mode; /* [const] */
  bool persistent;    /* [const] */
  bool active;        /* [rank] persistent: started, not completed yet */
  bool freed;         /* [ilock] nobody will wait: completion frees it */
  bool posted;        /* [ilock] in the list of posted receives */
  bool cancelled;     /* [ilock] */
  bool borrows;       /* [const] comm and type belong to its caller, which waits */
  uint32_t done;      /* [atomic] MB-1 to MB-3 */
  union {
    struct tm_rank *owner;        /* [const] whose internal lock protects it */
    struct tm_request *next_free; /* of a free one: request_pool.h */
  };
  struct tm_comm *comm;  /* [const] holds a reference; NULL: none */
  struct tm_entry entry; /* [ilock] among posted receives; its envelope: [const] */
  void *buffer;          /* [const] */
  size_t count;          /* [const] elements of type */
  struct tm_type *type;  /* [const] holds a reference */
  union {
    struct tm_waiter *waiter;    /* [ilock] unless it parks: its waiter; NULL: none */
    struct mltp_thread *blocked; /* [ilock of the queue] if it parks: its thread */
  };
  /* what a status tells, set before done */
  size_t bytes;
  int source, tag, error;
  bool parks;     /* [ilock of the queue] `blocked` is set, not `waiter` */
  uint8_t number; /* [const] in its slab and one; 0: it is in none */
  bool copies;    /* [const] of a posted receive: its thread waits for it, and copies many bytes */
  bool handed;    /* set before done: its thread has to copy `message` */

  int peer;        /* [const] rank in comm it names, or a wildcard */
  uint32_t handle; /* [atomic] its number for Fortran, which its address keeps; 0: none */
  struct tm_message *message; /* of a receive: what a matched probe took; or it is `handed` */
  union {
    struct {
      struct tm_rank *dest;       /* [const] of a send: the receiver */
      struct tm_buffer *buffered; /* [rank] of a buffered send: where it counts */
      uint64_t left; /* [ilock of dest] of a send that may be cancelled: the order of the
                         message that it left, or one of the next two; to another node: [const]
                         the number of the message (match/far_cancel.c) */
    };
    struct { /* MPI_Grequest_start() */
      MPI_Grequest_query_function *query;
      MPI_Grequest_free_function *release;
      MPI_Grequest_cancel_function *cancel;
    };
  };
  void *extra; /* of TM_GENERALIZED, TM_COLLECTIVE, TM_PARTITIONED, and sends to other nodes */

  /* [const] of TM_COLLECTIVE and TM_PARTITIONED, if it is persistent: starts it again; frees what
   * it keeps */
  int (*restart)(struct tm_request *request);
  void (*drop)(struct tm_request *request);
};

enum { TM_REQUEST_MAGIC = 0x7e9e57 };

#define TM_LEFT_NOTHING UINT64_MAX
#define TM_LEFT_INLINE (UINT64_MAX - 1) /* in the inline slot */
#define TM_LEFT_INTAKE (UINT64_MAX - 2) /* in the intake */

enum { TM_MESSAGE_MAGIC = 0x3e55a9e };

/** A message that came before its receive. */
struct tm_message {
  struct tm_message_entry entry; /* [ilock]; its envelope: [const] */
  struct tm_message *next;       /* [ilock] among free cells, or deferred ones */
  struct tm_message *prev;       /* [ilock] among deferred ones */
  size_t bytes;                  /* [const] */
  struct tm_request *sender;     /* [ilock] waits for the receiver to copy; NULL: data is here */
  struct tm_buffer *buffer;      /* [const] counted there as not received yet; NULL: not */
  struct tm_type *type;          /* [const] it was sent as, held; NULL: nobody wants to know */
  size_t count;                  /* [const] elements of it */
  struct tm_comm *comm;          /* [rank] held since a matched probe took it; NULL: none has */
  uint32_t magic;                /* [rank] TM_MESSAGE_MAGIC since then: it has a handle */
  bool is_cell;                  /* [const] there is room for TM_CELL_BYTES */
  bool deferred;                 /* [ilock] a small message that waits for room: deferred.h */
  uint32_t held;                 /* [ilock] bytes that it counts in the mailbox */
  uint32_t slot_tag;             /* [const] tm_slot_tag_kept(), if it came by the intake; of another
                                    node's message: low bits of its number; or 0 */
  char *copy;                    /* [ilock] data of a message that was deferred; NULL: in `data` */
  char data[];                   /* [const] packed */
};

static inline const struct tm_envelope *tm_message_envelope(const struct tm_message *m) {
  return &m->entry.entry.envelope;
}

struct tm_mailbox {
  alignas(TM_LINE) uint32_t ilock;
  uint32_t mail;                     /* [ilock] messages there are; relaxed: a spinner looks */
  struct tm_inline_slot inline_slot; /* [ilock] */
  uint32_t cell_count;               /* [ilock] */
  int home;                          /* [const] tm_rank_home() */
  uint32_t home_points;              /* [atomic] mti_resume_on() there; relaxed: a hint */
  struct tm_message *cells;          /* [ilock] free ones */
  struct tm_queue posted, arrived;   /* [ilock] */
  struct tm_waiter *probers;         /* [ilock] wait for any message to arrive */
  size_t held;                       /* [ilock] bytes of copies in `arrived` */
  bool bounded;                      /* [ilock] messages may be deferred: one thread calls MPI */
  struct tm_message *deferred;       /* [ilock] messages that wait for room: deferred.h */
};

/** The account of MPI_Buffer_attach(): bsend_buffer.c. */
struct tm_buffer {
  uint32_t ilock;
  int refs;                  /* [ilock] that it is attached, and threads that wait for it */
  void *address;             /* [const] */
  size_t size;               /* [const] */
  size_t used;               /* [ilock] */
  struct tm_waiter *waiters; /* [ilock] wait until nothing is used: MPI_Buffer_detach(), _flush() */
};

#endif
