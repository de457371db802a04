/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file sim.h
 * Discrete-event simulation with the scheduler of SpecC, on threads of this library.
 *
 * Simulated threads run one after the other, first in, first out, each until it waits. When
 * none is ready a *delta* ends: all events notified in it are delivered at once, and those
 * nobody waits for are lost. When that wakes nobody, simulated time moves on to the
 * earliest mltp_sim_waitfor(). So it does not matter who in a delta is first, the one that
 * notifies or the one that waits; and the same model runs in the same order every time,
 * whatever the backend.
 *
 * There is one simulation at a time. Link with -lmltp-sim -lmltp. The specc(1) command makes such
 * programs of SpecC source. In this header "simulated" threads are those of a running simulation:
 * its first function, the children of mltp_sim_par(), the bodies of mltp_sim_try().
 *
 * With mltp_sim_set_vps() the threads that are ready together run in parallel, and what they do
 * takes effect in the order of one VP: notifications, waits, children, ends. What else they
 * share, they may touch only after mltp_sim_ordered().
 */
#ifndef MLTP_SIM_H
#define MLTP_SIM_H

#include <mltp/base.h>

MLTP_BEGIN_DECLS

/** Simulated time, in units of the model's choice. */
typedef uint64_t mltp_sim_time_t;

/** What simulated threads wait for and notify. Initialise with MLTP_SIM_EVENT_INIT(name). It must
 * last to the end of the delta in which it is notified; so must a buffered variable that is
 * written. */
typedef struct mltp_sim_event {
  struct mltp_sim_node *first_, *last_; /**< who waits, in that order */
  struct mltp_sim_watch *watches_;      /**< try blocks that listen */
  struct mltp_sim_event *next_;         /**< among those notified in this delta */
  uint32_t wakes_;                      /**< how many it shall wake; UINT32_MAX: all */
  const char *name_;
} mltp_sim_event_t;

#define MLTP_SIM_EVENT_INIT(name) {NULL, NULL, NULL, NULL, 0, name}

/** A simulated thread to be: body(arg). The name is shown in reports; NULL: none. */
typedef struct mltp_sim_child {
  void (*body)(void *arg);
  void *arg;
  const char *name;
} mltp_sim_child_t;

/** What mltp_sim_try() does when an event comes while its body runs: handler(arg), after the body's
 * threads have been ended (a trap) or while they are suspended (an interrupt). */
typedef struct mltp_sim_handler {
  mltp_sim_event_t *event;
  int interrupt; /**< nonzero: an interrupt */
  void (*body)(void *arg);
  void *arg;
} mltp_sim_handler_t;

/** A variable whose new value is seen when the delta has ended. Initialise with
 * MLTP_SIM_BUFFERED_INIT(current, pending): two objects of the variable's type. */
typedef struct mltp_sim_buffered {
  void *current_, *pending_;
  size_t size_;
  struct mltp_sim_buffered *next_;
  uint32_t written_;
} mltp_sim_buffered_t;

#define MLTP_SIM_BUFFERED_INIT(current, pending) {&(current), &(pending), sizeof(current), NULL, 0}

/**
 * Runs a simulation: body(arg) is its first thread. Ends when that returns. When no thread can
 * go on before, says on stderr which waits for what, and ends them all.
 * @return 0; EDEADLK: as said; EBUSY: a simulation is running; ENOMEM, EAGAIN: no memory, or the
 * kernel refused a thread; EPERM: no runtime (a misuse). Blocks: thread. Context: unbound, bound
 * and foreign threads that are not simulated.
 */
MLTP_API int mltp_sim_run(void (*body)(void *arg), void *arg);

/**
 * Says how many VPs the next simulation may use: 1, the default, or more, for models whose
 * threads compute much in each delta. Raises mltp_set_vps() when that is lower.
 * @return 0; EBUSY: a simulation is running; EINVAL, EAGAIN, EPERM: as of mltp_set_vps().
 * Blocks: no. Context: any, after mltp_init().
 */
MLTP_API int mltp_sim_set_vps(int vps);

/** @return the simulated time. Blocks: no. Context: simulated. */
MLTP_API mltp_sim_time_t mltp_sim_now(void);

/** @return how many deltas have ended so far. Blocks: no. Context: simulated. */
MLTP_API uint64_t mltp_sim_deltas(void);

/** Waits until an event is delivered. Blocks: thread. Context: simulated. */
MLTP_API void mltp_sim_wait(mltp_sim_event_t *event);

/**
 * Waits until one of several events is delivered.
 * @return its index, the first delivered one's if several are. Blocks: thread. Context: simulated.
 */
MLTP_API size_t mltp_sim_wait_any(mltp_sim_event_t *const *events, size_t count);

/** Waits until each of several events has been delivered, perhaps in different deltas.
 * Blocks: thread. Context: simulated. */
MLTP_API void mltp_sim_wait_all(mltp_sim_event_t *const *events, size_t count);

/** Waits for some simulated time. With 0: until nothing else can happen at this time.
 * Blocks: thread. Context: simulated. */
MLTP_API void mltp_sim_waitfor(mltp_sim_time_t duration);

/** Notifies an event: at the end of the delta all that wait for it then are woken.
 * Blocks: no. Context: simulated. */
MLTP_API void mltp_sim_notify(mltp_sim_event_t *event);

/** Notifies an event: at the end of the delta it wakes the thread that has waited for it longest;
 * called twice in a delta, two. Blocks: no. Context: simulated. */
MLTP_API void mltp_sim_notify_one(mltp_sim_event_t *event);

/** Runs children in parallel, and waits until all have ended. They become ready in the given order.
 * Without memory for a stack the program ends with a message. Blocks: thread. Context: simulated.
 */
MLTP_API void mltp_sim_par(const mltp_sim_child_t *children, size_t count);

/**
 * Runs a body; when one of the handlers' events comes meanwhile, at the end of that delta, the
 * first such handler's: a trap ends the body and its children where they wait (as longjmp() would:
 * no cleanup is done) and calls its handler instead; an interrupt suspends them, calls its handler,
 * and lets them go on: what they waited for meanwhile is not lost. While a handler runs this try
 * block does not listen. An outer one goes before.
 * @return the index of the trap that ended the body; count: it ran to its end.
 * Blocks: thread. Context: simulated.
 */
MLTP_API size_t mltp_sim_try(const mltp_sim_child_t *body, const mltp_sim_handler_t *handlers,
                             size_t count);

/** @return where to store the variable's next value; taken over when the delta ends. Of several
 * stores in a delta the last counts. Blocks: thread, as mltp_sim_ordered(). Context: simulated. */
MLTP_API void *mltp_sim_write(mltp_sim_buffered_t *variable);

/** With several VPs: waits until all threads that would have run before the caller in this delta on
 * one VP have waited or ended. Then the caller may touch what it shares with others, and
 * finds it as on one VP. Blocks: thread. Context: simulated. */
MLTP_API void mltp_sim_ordered(void);

/** Nonzero: mltp_sim_ordered() may have to wait; otherwise it does nothing. */
extern MLTP_API uint32_t mltp_sim_parallel;

/** Kinds of traced variables. */
typedef enum { MLTP_SIM_TRACE_INTEGER, MLTP_SIM_TRACE_REAL } mltp_sim_trace_kind_t;

/**
 * Starts a trace in a file of the value change dump format (IEEE 1364), for GTKWave and others. Its
 * variables are those of mltp_sim_trace() so far; each moment shows their values when the time
 * moves on. It is complete when the simulation has ended.
 * @param path  the file, made anew
 * @param unit  what a unit of simulated time is, as in "1ns"
 * @return 0, or why the file could not be opened, an errno value; EBUSY: a simulation is running.
 * Blocks: the VP, for the file. Context: not simulated.
 */
MLTP_API int mltp_sim_trace_open(const char *path, const char *unit);

/**
 * Adds a variable to the next trace.
 * @param name  its path, the parts separated by dots; not copied
 * @param size  bytes of an integer: 1, 2, 4, 8; of a real: 4, 8
 * @return 0; EINVAL: such a size is not traced; ENOMEM; EBUSY: a simulation is running.
 * Blocks: no. Context: not simulated.
 */
MLTP_API int mltp_sim_trace(const char *name, const void *variable, size_t size,
                            mltp_sim_trace_kind_t kind);

MLTP_END_DECLS

#endif
