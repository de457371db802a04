/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file rank.h
 * The job and its ranks. There is one job in a process: tmpirun starts it, or MPI_Init() of a
 * program that was started by itself.
 *
 * job   all ranks of MPI_COMM_WORLD
 * rank  what MPI calls a process: a thread of libmltp, and those it makes
 *
 * Tags as in core/thread/thread.h; [rank]: only the rank's own threads touch it.
 */
#ifndef TM_RANK_RANK_H
#define TM_RANK_RANK_H

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "core/internal/thread.h"
#include "tmpi/mailbox/mailbox.h"
#include "tmpi/rank/export.h"

#ifndef MLTP_NODES
#define MLTP_NODES 1 /* CMake's option: without it the compiler drops what several nodes need */
#endif

enum tm_rank_stage {
  TM_BEFORE_INIT,
  TM_INITIALIZED,
  TM_FINALIZED,
  TM_ABORTED /* by another rank */
};

/** What a call that has to wait for other ranks does before it parks. */
enum tm_wait {
  TM_WAIT_CONSCIOUS, /**< spins while its partner runs on another processor, as mltp_await() does,
                        or for 20 us where ranks have a VP each */
  TM_WAIT_SPIN,      /**< spins for a fixed time in every case */
  TM_WAIT_PARK
};

struct tm_comm;
struct tm_win;
struct tm_group;
struct tm_attributes;
struct tm_errors;
struct tm_errhandler;
struct tm_channel;
struct tm_intake;

/** A persistent request that was waited for without having been started: most likely
 * MPI_Start() was forgotten. */
struct tm_unstarted {
  bool is, sends;
  int peer, tag;
};

/** The same in one word, which the threads of a rank may write at a time; 0: there is none. Ranks
 * fit in 30 bits. */
static inline uint64_t tm_unstarted_word(bool sends, int peer, int tag) {
  uint32_t low = (uint32_t)peer << 2 | (sends ? 2u : 0u) | 1u;
  return (uint64_t)(uint32_t)tag << 32 | low;
}

/** @return what a word says. */
static inline struct tm_unstarted tm_unstarted_of(uint64_t word) {
  uint32_t low = (uint32_t)word;
  return (struct tm_unstarted){low & 1u, low & 2u, (int32_t)low >> 2, (int32_t)(word >> 32)};
}

struct tm_token_waiter;

/** Whose turn it is to run the program's code: user_code.h. All zero: the main thread's. */
struct tm_token {
  uint32_t ilock;
  bool lent;                       /* [ilock] nobody has it */
  struct tm_token_waiter *waiters; /* [ilock] the first */
};

struct tm_task;

/** The thread that performs a rank's nonblocking collectives: coll/gang.h. All zero: none. */
struct tm_worker {
  uint32_t ilock;
  bool exists;                  /* [ilock] or is being created */
  unsigned outstanding;         /* [ilock] tasks started and not completed */
  struct mltp_thread *parked;   /* [ilock] it waits for a task; NULL: it does not */
  struct tm_task *first, *last; /* [ilock] tasks handed over */
};

enum { TM_COMMS_MAX = 131072 /* communicators of a rank, unless the user allows more */ };

/** In `attention`: messages wait at their senders for room in the mailbox. */
#define TM_DEFERRED ((uint32_t)1 << 31)

/** The first line is what each call touches: ranks by the thousand are in no first-level cache. */
struct tm_rank {
  alignas(TM_LINE) int number; /* [const] in MPI_COMM_WORLD */
  uint32_t stage;        /* [atomic] enum tm_rank_stage; relaxed: others read it for reports */
  uint32_t sessions;     /* [atomic] sessions that have begun and not ended; relaxed */
  uint32_t attention;    /* [atomic] what the rank sees to when it parks: tasks that call functions
                            of the program (user_code.h), and TM_DEFERRED (match/deferred.h) */
  const void *thread;    /* [atomic] that called MPI_Init(), or a first session; relaxed: a hint */
  struct tm_comm *world; /* [rank] */
  uint64_t parks;        /* [rank] times it has waited without a processor */
  const char *call;      /* [atomic] it waits in; NULL: in none. relaxed: for reports, as: */
  const void *waits_for; /* [atomic] a tm_request, or the tm_comm where it meets the others */
  const void *frame;     /* [atomic] where it waits */

  struct tm_mailbox box;
  struct tm_intake *intake; /* [const] of short messages: match/intake.h; NULL: none */
  uint32_t channels_ilock;
  struct tm_channel *channels; /* [lock:channels_ilock] partitioned messages for it, of one side */
  uint32_t ended;              /* [atomic] its program has ended; relaxed, as stage */
  struct tm_token token;
  struct tm_worker worker;
  struct tm_comm *self;  /* [atomic] NULL: not used so far */
  struct tm_comm *comms; /* [lock:comms_ilock] all it has, for reports and checks */
  uint32_t comms_ilock;
  uint32_t comm_count;      /* [lock:comms_ilock] */
  int thread_level;         /* [rank] before MPI_Init(): MPI_THREAD_MULTIPLE, as of a session */
  uint32_t tools;           /* [atomic] calls of MPI_T_init_thread() not undone; relaxed */
  int part;                 /* [const] its number on tmpirun's command line: MPI_APPNUM */
  uint64_t unstarted;       /* [atomic] tm_unstarted_word(); relaxed: for reports */
  uint32_t buffers_ilock;   /* of which buffers it has attached, here or to an object */
  struct tm_buffer *buffer; /* [lock:buffers_ilock] of MPI_Buffer_attach() */
  uint32_t errors_ilock;
  struct tm_errors *errors;           /* [lock:errors_ilock] codes it has added: error/code.c */
  uint32_t attributes_ilock;          /* of key values and of attributes: attr/keyval.h */
  struct tm_keyval *keyvals;          /* [lock:attributes_ilock] */
  int keyval_count, keyval_room;      /* [lock:attributes_ilock] used so far; there is memory for */
  int keyval_free;                    /* [lock:attributes_ilock] a free index and one; 0: none */
  uint64_t attribute_order;           /* [lock:attributes_ilock] of the newest attribute */
  struct tm_errhandler *file_handler; /* [ilock: box's] of MPI_FILE_NULL; NULL: errors return */
  struct tm_representation *representations; /* [ilock: box's] of data, that it has registered */
  struct tm_attributes **of_types;           /* [rank] attributes of predefined types, by handle */
  char **type_names;            /* [rank] that it gave to predefined types; NULL: none */
  struct tm_win *deferred_lock; /* [rank] where it has deferred a lock: rma/far_origin.c; NULL:
                                   nowhere */
  int windows_within; /* [atomic] its windows of members on one node; relaxed: a thread that
                              locks knows the windows whose locks its program orders */
};

/** @return whether the rank's program may call MPI. */
static inline bool tm_rank_may_call(const struct tm_rank *rank) {
  /* relaxed: its own thread changes both */
  return mt_load_relaxed(&rank->stage) == TM_INITIALIZED || mt_load_relaxed(&rank->sessions) > 0;
}

struct tm_transport;

struct tm_job {
  int size;              /* [atomic] ranks so far; grows under size_ilock; relaxed */
  uint32_t size_ilock;   /* a report holds it, too */
  int first_size;        /* [const] ranks that the job began with */
  int most;              /* [const] ranks that there is room for: size grows up to it */
  int universe;          /* [const] MPI_UNIVERSE_SIZE; `most` at most */
  struct tm_rank *ranks; /* [const] the array, of `most` */
  struct tm_group *all;  /* [const] of MPI_COMM_WORLD of the first ranks */
  int vp_count;          /* [const] VPs that run ranks; 0: each has a kernel thread */
  uint64_t next_context; /* [atomic] contexts given out */
  enum tm_wait wait;     /* [const] */
  uint64_t spin_ns;      /* [const] for how long, if TM_WAIT_SPIN */
  bool past_mailboxes;   /* [const] ranks have intakes, or are on other nodes */
  bool alone;            /* [const] no tmpirun: a program started by itself */
  uint32_t comms_max;    /* [const] communicators that a rank may have: tmpirun --communicators */
  bool full_reports;     /* [const] reports tell of each rank */
  int first, local;      /* [const] the ranks that this node began with: the first, how many */
  int here;              /* [atomic] ranks of this node so far, spawned ones too; as size */
  int *spawned_on;       /* [const] by number of a spawned rank from first_size on: its node, which
                            is [atomic] and relaxed: no number is known before it; NULL: one node */
  const struct tm_transport *far; /* [const] carries messages to other nodes; NULL: none */
  uint64_t mark; /* [atomic] tells the job from others; 0: one node, which has not needed it.
                    relaxed: it is set once, and the word is all there is */
};

TM_EXPORT extern struct tm_job tm_job;

/** @return a number that no other job has. */
TM_EXPORT uint64_t tm_job_new_mark(void);

/** @return tm_job.mark, which is set if it was not. */
uint64_t tm_job_mark(void);

/** Before it: how to wait. spin_ns: of TM_WAIT_SPIN; 0: as long as a park takes. */
TM_EXPORT void tm_job_wait(enum tm_wait wait, uint64_t spin_ns);

/** Before it: the last rank that comes through MPI_Init() calls this, unless another has come to
 * MPI_Finalize(). */
TM_EXPORT void tm_job_on_init(void (*begun)(void));

/** The calling rank comes through MPI_Init(), or comes to MPI_Finalize(). */
void tm_job_count_init(void);
void tm_job_count_finalize(void);

/** @return the VP where a rank is at home, with its neighbours; -1: ranks have kernel threads. It
 * runs where it is ready first, and where others have stolen it; messages and collectives bring it
 * home. */
static inline int tm_rank_home(int number) {
  int index = number - tm_job.first;
  if (tm_job.vp_count <= 0) return -1;
  return index < tm_job.local ? (int)((long)index * tm_job.vp_count / tm_job.local)
                              : index % tm_job.vp_count;
}

/** @return what carries messages to other nodes; NULL: the job has one node. */
static inline const struct tm_transport *tm_far(void) { return MLTP_NODES ? tm_job.far : NULL; }

/** @return whether a rank of the job is a thread of this process. */
static inline bool tm_rank_is_here(int number) {
  if (!MLTP_NODES) return true;
  if (mt_likely(number < tm_job.first_size))
    return number >= tm_job.first && number < tm_job.first + tm_job.local;
  if (tm_job.spawned_on == NULL) return true;
  /* relaxed: it is stored before anyone knows the number */
  int node = mt_load_relaxed(&tm_job.spawned_on[number - tm_job.first_size]);
  return node == tm_job.first / tm_job.local;
}

/** @return the node of a rank. */
static inline int tm_rank_node(int number) {
  if (mt_likely(number < tm_job.first_size)) return number / tm_job.local;
  if (tm_job.spawned_on == NULL) return 0;
  return mt_load_relaxed(&tm_job.spawned_on[number - tm_job.first_size]); /* relaxed: as above */
}

/** @return the number of the rank of this node that follows a rank; `size` or more: none below
 * `size` does. The first one is tm_job.first. */
static inline int tm_rank_next_here(int number, int size) {
  do number++;
  while (number < size && !tm_rank_is_here(number));
  return number;
}

/** @return how many nodes the job has. */
static inline int tm_node_count(void) { return tm_job.first_size / tm_job.local; }

/** The calling thread belongs to a rank from now on. @return 0 or ENOMEM. */
TM_EXPORT int tm_rank_enter(int number);

/** @return the calling thread's rank, -1: none. Also from a signal handler. */
TM_EXPORT int tm_rank_number(void);

/** Gives the calling thread another number for a while: a rank's and 1, or 0. For a signal handler,
 * which may have interrupted any context. @return the number it had. */
TM_EXPORT uint32_t tm_rank_act_as(uint32_t number);

/** A rank's program has ended. @return false: MPI_Finalize() was missing. */
TM_EXPORT bool tm_rank_leave(int number);

/** Notes that a rank has ended with a status that is not 0, or without MPI_Finalize(); the first
 * one counts. */
TM_EXPORT void tm_job_failed(int number, int status);

/** A function that writes what the calling rank alone keeps of its output. */
TM_EXPORT void tm_job_on_failure(void (*end_output)(void));

/** Writes all that was printed, for a rank that ends the job or itself and prints no more. */
void tm_job_end_output(void);

/** @return the rank that failed first, and its status; -1: none has. */
TM_EXPORT int tm_job_failure(int *status);

/** A function that writes all that was printed before the process is ended early. NULL: libc's
 * streams are flushed. */
TM_EXPORT void tm_job_on_end(void (*flush)(void));

/** Writes all that was printed. */
TM_EXPORT void tm_job_flush(void);

/** What MPI_Abort() and MPI_Finalize() do where the other ranks continue when one fails. */
struct tm_rank_ends {
  /** Ends a rank: the caller's at once, another one at its next call of MPI. */
  void (*end)(int number, int status);
  /** Waits until no rank communicates any more: each has ended or called this. */
  void (*finalize)(void);
};

/** NULL, as at first: MPI_Abort() ends the job. */
TM_EXPORT void tm_job_on_rank_ends(const struct tm_rank_ends *ends);
const struct tm_rank_ends *tm_job_rank_ends(void);

/** A function that tells the other nodes of the job that this one ends early: it returns when they
 * know, after a bounded time. Signal handlers may call it. */
TM_EXPORT void tm_job_on_early_end(void (*tell)(int status, const char *why));

/** Tells the other nodes, if there are any, that this one ends early, with a status. The first
 * call counts. */
TM_EXPORT void tm_job_tell(int status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Ends the process, and all nodes of the job: all that was printed is written first. */
TM_EXPORT void tm_job_abort(int status) __attribute__((noreturn));

/** @return the calling thread's rank, NULL: none. */
TM_EXPORT struct tm_rank *tm_rank_self(void);

/** The same, with one call less where it is a thread of libmltp's. */
static inline struct tm_rank *tm_rank_here(void) {
  uint32_t number = mti_number();
  return mt_likely(number != 0) ? &tm_job.ranks[number - 1] : tm_rank_self();
}

#endif
