/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file types.h
 * The words of the simulation kernel, and its structures.
 *
 * simulated thread  what a model is made of; waits in the simulation, not in libmltp
 * host              a thread of libmltp whose stack simulated threads run on. Where the
 *                   backend is native a child may run on its parent's host, like a function
 *                   it called: the parent waits for it anyway. So a host has a pile of
 *                   simulated threads, of which only the topmost can run. A child starts on
 *                   a host of its own once the pile has used half of the stack
 * ready             the queue of simulated threads that will run
 * delta             from the moment some threads become ready until none is
 * sim step          what a thread does between two waits
 * round             the sim steps that run in parallel (round.c)
 * scope             the body of a try block, and all below it (try.c)
 *
 * Only one thread at a time may touch all this: the one that runs its sim step. It hands the
 * simulation over with the switch, which orders memory like a lock. In a round that is the
 * thread that ends the last step; the others only note what shall happen (round.c).
 */
#ifndef SM_TYPES_H
#define SM_TYPES_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "mltp/sim.h"
#include "mltp/thread.h"
#include "mltp/tss.h"

#define SM_LIKELY(x) __builtin_expect(!!(x), 1)
#define SM_UNLIKELY(x) __builtin_expect(!!(x), 0)

struct sim_thread;

/** A wait for an event: a place in its queue. */
struct mltp_sim_node {
  struct mltp_sim_node *next;
  struct mltp_sim_node *prev; /**< of the first in the queue it means nothing */
  mltp_sim_event_t *event;    /**< NULL: delivered already */
  struct sim_thread *thread;
};

enum sm_state {
  SM_READY,   /**< in the ready queue, or held by a suspended scope; or it runs */
  SM_WAITING, /**< for an event */
  SM_LISTED,  /**< for some of several events, or all */
  SM_TIMED,   /**< in the heap */
  SM_JOINING, /**< for its children */
  SM_TRYING   /**< for the body of its try block */
};

struct sim_thread {
  struct sim_thread *next;   /**< in the ready queue, or among the held */
  struct sim_host *host;     /**< NULL: not started */
  struct sim_thread *parent; /**< NULL: the first */
  void (*body)(void *arg);
  void *arg;
  const char *name;
  struct sim_scope *scope; /**< the innermost; NULL: none */
  uint32_t state;          /**< enum sm_state */
  uint32_t children;       /**< that have not ended */

  struct sim_thread *below;    /**< next on the host's pile */
  struct mltp_sim_node node;   /**< SM_WAITING: what it waits for */
  struct mltp_sim_node *nodes; /**< SM_LISTED: an array on its stack */
  uint32_t node_count;
  uint32_t missing; /**< deliveries until it is woken */
  size_t woken_by;
  mltp_sim_time_t wake_at;
  size_t heap_index;
};

/** A thread of libmltp that runs simulated ones. All on its pile belong to the same scope. */
struct sim_host {
  struct mltp_thread *thread;
  struct sim_thread *top;          /**< of its pile */
  bool killed;                     /**< it shall unwind */
  struct sim_thread *next;         /**< what it runs when it is resumed; NULL: its end */
  struct sim_thread last;          /**< stands for its pile then: parents' memory may be gone */
  struct sim_host *pooled;         /**< next in the pool */
  struct sim_host *before, *after; /**< among all hosts */
  struct sim_host **scope_list;    /**< the list of its scope that it is in; NULL: none */
  struct sim_host *scope_before, *scope_after;
  const char *stack_middle; /**< children run on it only above this address */
  uint32_t parking; /**< internal lock: held while others may want to resume it and it is not parked
                       yet */
  uint32_t *starter;        /**< whose `parking` it waits out when it starts */
  struct sm_step *step;     /**< in a round: its own */
  struct sim_block *blocks; /**< memory of calls on its pile, the newest first */
  jmp_buf base;
};

/** A try block's interest in an event. */
struct mltp_sim_watch {
  struct mltp_sim_watch *next, *prev;
  struct sim_scope *scope;
  mltp_sim_event_t *event;
  size_t index; /**< of the handler */
};

struct sim_scope {
  struct sim_scope *outer;
  struct sim_scope *before, *after; /**< among all scopes: inner ones follow their outer one */
  struct sim_host *hosts;           /**< whose piles belong to this scope */
  struct sim_thread *owner;
  const mltp_sim_handler_t *handlers;
  struct mltp_sim_watch *watches; /**< one for each handler */
  size_t count;
  uint32_t depth;                      /**< 0: outermost */
  bool deaf;                           /**< its body has ended, or a handler runs */
  bool suspended;                      /**< by an interrupt */
  size_t fired;                        /**< the handler to call; SM_NOT_FIRED */
  uint32_t unwinding;                  /**< hosts that have not unwound yet */
  struct sim_thread *held, **held_end; /**< woken while it was suspended */
};

#define SM_NOT_FIRED SIZE_MAX

struct sm_timed {
  mltp_sim_time_t time;
  uint64_t sequence;
  struct sim_thread *thread;
};

/** Bits of `attentive`. */
enum {
  SM_WRITTEN = 1, /**< buffered variables were */
  SM_SCOPED = 2,  /**< there are try blocks */
  SM_TRACED = 4   /**< a trace is written */
};

struct simulation {
  struct sim_thread *current; /**< the thread that runs its sim step; NULL unless hands_over */
  struct sim_thread **ready_end, *ready;
  mltp_sim_event_t **notified_end, *notified; /**< set N, in the order of first notification */
  uint32_t attentive; /**< what else the end of a delta has to look at: SM_WRITTEN, ... */
  mltp_sim_buffered_t *written;
  struct sm_view *touched; /**< views of signals that change at this end of a delta */
  mltp_sim_time_t now;
  uint64_t deltas;
  struct sm_timed *heap;
  size_t heap_count, heap_room;
  uint64_t sequence;

  struct sim_host *hosts, *pool;
  struct sim_scope *scopes;
  uint32_t suspended; /**< how many scopes are */
  bool hands_over;    /**< one VP, and threads switch by mti_prepare_switch() */
  bool native;        /**< hosts are kept, and children run on their parents' */
  bool stuck;         /**< no thread could continue: all are being ended */
  bool over;
  uint32_t unwinding;
  int vps;
  mltp_tss_t key; /**< a thread's host; unless hands_over */
};

extern struct simulation sm;

#endif
