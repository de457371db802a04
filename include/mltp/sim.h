/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file sim.h
 * Discrete-event simulation with the scheduler of SpecC, on threads of this library.
 *
 * Simulated threads run one after the other, first in, first out, each until it waits. When no
 * thread is ready, a *delta* ends: the scheduler delivers all events that were notified in it, and
 * drops the ones that no thread waits for. If that wakes no thread, simulated time advances to the
 * earliest end of a mltp_sim_waitfor(). So within a delta the order of notifier and waiter does not
 * matter, and the same model runs in the same order every time, on every backend.
 *
 * A process has one simulation at a time. Link with -lmltp-sim -lmltp. The specc(1) command
 * translates SpecC source to such programs. In this header, "simulated" threads are those of a
 * running simulation: its first function, the children of mltp_sim_par(), and the bodies of
 * mltp_sim_try().
 *
 * After mltp_sim_set_vps(), threads that are ready together run in parallel, and their
 * notifications, waits, children and ends take effect in the order of one VP. They may touch
 * other shared data only after mltp_sim_ordered().
 */
#ifndef MLTP_SIM_H
#define MLTP_SIM_H

#include <mltp/base.h>

MLTP_BEGIN_DECLS

/** Simulated time, in units of the model's choice. */
typedef uint64_t mltp_sim_time_t;

/** An event that simulated threads wait for and notify. Initialise it with
 * MLTP_SIM_EVENT_INIT(name). It must exist until the end of the delta in which it is notified. */
typedef struct mltp_sim_event {
  struct mltp_sim_node *first_, *last_; /**< waiters, in the order in which they came */
  struct mltp_sim_watch *watches_;      /**< try blocks that wait for it */
  struct mltp_sim_event *next_;         /**< among those notified in this delta */
  uint32_t wakes_;                      /**< how many waiters to wake; UINT32_MAX: all */
  const char *name_;
} mltp_sim_event_t;

#define MLTP_SIM_EVENT_INIT(name) {NULL, NULL, NULL, NULL, 0, name}

/** A simulated thread to create: it runs body(arg). The name is shown in reports; NULL: none. */
typedef struct mltp_sim_child {
  void (*body)(void *arg);
  void *arg;
  const char *name;
} mltp_sim_child_t;

/** A handler that mltp_sim_try() calls when an event comes while its body runs: after it has ended
 * the body's threads (a trap), or while they are suspended (an interrupt). */
typedef struct mltp_sim_handler {
  mltp_sim_event_t *event;
  int interrupt; /**< nonzero: an interrupt */
  void (*body)(void *arg);
  void *arg;
} mltp_sim_handler_t;

/** A variable whose new value becomes visible when the delta has ended. Initialise it with
 * MLTP_SIM_BUFFERED_INIT(current, pending): two objects of the variable's type. It must exist until
 * the end of the delta in which it is written. */
typedef struct mltp_sim_buffered {
  void *current_, *pending_;
  size_t size_;
  struct mltp_sim_buffered *next_;
  uint32_t written_;
} mltp_sim_buffered_t;

#define MLTP_SIM_BUFFERED_INIT(current, pending) {&(current), &(pending), sizeof(current), NULL, 0}

/**
 * Runs a simulation: body(arg) is its first thread, and the simulation ends when that returns. If
 * all threads wait before, it prints on stderr what each waits for, and ends them all.
 * @return 0; EDEADLK: all threads waited; EBUSY: a simulation is running; ENOMEM, EAGAIN: no
 * memory, or the kernel refused a thread; EPERM (misuse): there is no runtime. Blocks: thread.
 * Context: unbound, bound and foreign threads that are not simulated.
 */
MLTP_API int mltp_sim_run(void (*body)(void *arg), void *arg);

/**
 * Sets how many VPs the next simulation may use. The default is 1; more pay for models whose
 * threads compute much in each delta. Raises the number of VPs by mltp_set_vps() if it is lower.
 * @return 0; EBUSY: a simulation is running; EINVAL, EAGAIN, EPERM: as mltp_set_vps().
 * Blocks: no. Context: any, after mltp_init().
 */
MLTP_API int mltp_sim_set_vps(int vps);

/** Returns the simulated time. @return the time, in the model's units. Blocks: no.
 * Context: simulated. */
MLTP_API mltp_sim_time_t mltp_sim_now(void);

/** Returns how many deltas have ended. @return the number. Blocks: no. Context: simulated. */
MLTP_API uint64_t mltp_sim_deltas(void);

/** Waits until an event is delivered. Blocks: thread. Context: simulated. */
MLTP_API void mltp_sim_wait(mltp_sim_event_t *event);

/**
 * Waits until one of several events is delivered.
 * @return its index; of several, that of the first delivered. Blocks: thread. Context: simulated.
 */
MLTP_API size_t mltp_sim_wait_any(mltp_sim_event_t *const *events, size_t count);

/** Waits until each of several events has been delivered, perhaps in different deltas.
 * Blocks: thread. Context: simulated. */
MLTP_API void mltp_sim_wait_all(mltp_sim_event_t *const *events, size_t count);

/** Waits for some simulated time. With 0 it waits until nothing else can happen at this time.
 * Blocks: thread. Context: simulated. */
MLTP_API void mltp_sim_waitfor(mltp_sim_time_t duration);

/** Notifies an event: at the end of the delta it wakes all threads that wait for it then.
 * Blocks: no. Context: simulated. */
MLTP_API void mltp_sim_notify(mltp_sim_event_t *event);

/** Notifies an event: at the end of the delta it wakes the thread that has waited for it longest;
 * two calls in a delta wake two threads. Blocks: no. Context: simulated. */
MLTP_API void mltp_sim_notify_one(mltp_sim_event_t *event);

/** Runs children in parallel, and waits until all have ended. They become ready in the given order.
 * Without memory for a stack the program ends with a message. Blocks: thread. Context: simulated.
 */
MLTP_API void mltp_sim_par(const mltp_sim_child_t *children, size_t count);

/**
 * Runs a body with handlers for events. If a handler's event comes while the body runs, the first
 * such handler is called at the end of that delta. A trap first ends the body and its children
 * where they wait, without any cleanup, as longjmp() would. An interrupt suspends them, and they
 * continue after the handler; they lose no event meanwhile. A try block ignores events while one of
 * its handlers runs. An outer try block takes precedence over an inner one.
 * @return the index of the trap that ended the body; count: the body returned.
 * Blocks: thread. Context: simulated.
 */
MLTP_API size_t mltp_sim_try(const mltp_sim_child_t *body, const mltp_sim_handler_t *handlers,
                             size_t count);

/** Begins a write to a buffered variable. Of several writes in a delta the last one counts.
 * @return where to store the next value, which becomes visible when the delta ends. Blocks: thread,
 * as mltp_sim_ordered(). Context: simulated. */
MLTP_API void *mltp_sim_write(mltp_sim_buffered_t *variable);

/** Waits, with several VPs, until all threads that would run before the caller in this delta on one
 * VP have waited or ended. Then the caller may touch data that it shares with others, and finds it
 * as on one VP. Blocks: thread. Context: simulated. */
MLTP_API void mltp_sim_ordered(void);

/** Nonzero while mltp_sim_ordered() may have to wait. Where it is zero, callers may leave out the
 * call. */
extern MLTP_API uint32_t mltp_sim_parallel;

/** Kinds of traced variables. */
typedef enum { MLTP_SIM_TRACE_INTEGER, MLTP_SIM_TRACE_REAL } mltp_sim_trace_kind_t;

/**
 * Starts a trace in a file of the value change dump format (IEEE 1364), for GTKWave and others. Its
 * variables are those of mltp_sim_trace() so far; the file gets their values each time that
 * simulated time advances. It is complete when the simulation has ended.
 * @param path  the file; an existing one is replaced
 * @param unit  what a unit of simulated time is, as in "1ns"
 * @return 0; EBUSY: a simulation is running; otherwise the errno value of opening the file.
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
