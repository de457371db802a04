/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file process.h
 * A rank as a process: what it was started with, what it does when it ends.
 *
 * What libc and the kernel do for a process is done here for each rank: handlers of atexit() and of
 * signals, the status. override.h has the functions that take the place of libc's.
 */
#ifndef TM_RUN_PROCESS_H
#define TM_RUN_PROCESS_H

#include <mltp/mltp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/** Variables of other launchers in the environment of each rank: how many, and room for one's text.
 */
enum { TM_LAUNCHER_VARIABLES = 9, TM_LAUNCHER_TEXT = 48 };

/** Where the number is in a rank's name, and room for one with the '\0'. */
enum { TM_NUMBER_AT = 5, TM_NUMBER_TEXT = 12 };

/** A function to be called when the rank or its thread ends. */
struct tm_handler {
  struct tm_handler *next;
  void (*function)(void *argument); /* NULL: with_status */
  void (*with_status)(int status, void *argument);
  void *argument;
};

/** Handlers of pthread_atfork(): fork_handlers.c. NULL: there are none. */
struct tm_fork_list {
  struct tm_fork_handler *first, *last;
};

struct tm_process {
  int number;         /* [const] the rank */
  int argc;           /* [const] */
  char **argv;        /* [const] a copy of its own */
  char **environment; /* [const] what the rank started with, on its stack */
  char name[24];      /* [const] "rank 7", for reports */
  mltp_t *thread;
  int task; /* [atomic] with --one-to-one: the kernel thread of its own thread; 0: it has none */
  struct tm_handler *at_exit; /* [rank] the last one registered first */
  struct tm_handler *at_thread_exit;
  struct tm_handler *at_quick_exit;
  struct tm_fork_list at_fork;
  mltp_t *ending;             /* [atomic] the thread that has called exit(); NULL: none has */
  uint32_t left;              /* [atomic] 1: the rank has ended */
  int status;                 /* [rank] of exit(); read after the rank has ended */
  bool not_finalized;         /* likewise: MPI_Finalize() was missing */
  bool in_handler;            /* likewise: the call was in a handler, and ends the job */
  bool aborted;               /* likewise: it called MPI_Abort(), and others continue */
  uint32_t silent;            /* [atomic] 1: it communicates no more; counted in that case */
  uint32_t claimed;           /* [atomic] 1: it ends by itself, or another rank has aborted it */
  bool own_claim;             /* [rank] it does so itself */
  struct tm_keys *keys;       /* keys.c; NULL: none were made */
  struct tm_child *children;  /* children.c: processes */
  int robust_held;            /* [rank] robust mutexes that the rank's own thread holds */
  uint32_t pthreads;          /* [atomic] that the rank has made and that have not ended: awaited */
  struct tm_signals *signals; /* [atomic] signals.c; NULL: the rank has changed nothing */

  /* [rank] cleanups.c, of its own thread. NULL: nothing is registered; it has not begun to end */
  __pthread_unwind_buf_t *cleanups;
  struct _Unwind_Exception *unwinding;
};

/** @return the calling thread's, NULL: it belongs to no rank. */
struct tm_process *tm_process_self(void);

/** @return the same, also in a child of fork(), where the caller is no rank any more but has the
 * rank's memory. */
struct tm_process *tm_process_here(void);

/** @return whether this process is a child of fork(). */
bool tm_process_is_child(void);

/** @return a rank's, which has been started or will be. */
struct tm_process *tm_process_of(int rank);

/** Makes the thread of a rank, which calls function(argument). @return false: no memory. */
bool tm_process_create(int number, int argc, char **argv, void *(*function)(void *),
                       void *argument);

/** Gives back what tm_process_create() has made, of a rank that does not run: its thread ends by
 * itself. Does nothing if there is nothing. */
void tm_process_drop(int number);

/** Runs a rank's program on the calling thread, which was made for it. folder: to start in, freed
 * here; NULL: tmpirun's. */
void tm_process_run(struct tm_process *process, char *folder) __attribute__((noreturn));

/** spawn.c: from now on ranks of this program may spawn others. program: as the user named it.
 * @return false: no memory. */
bool tm_spawn_start(const char *program);

/** units.c. Before ranks start: what a rank writes in Fortran is printed when it ends the job. */
void tm_units_start(void);

/** Which handlers are called: those of exit() and destructors, those of quick_exit(), none. */
enum tm_end { TM_ORDERLY, TM_QUICK, TM_AT_ONCE };

/** rank_end.c. Before ranks start; adds to the number of ranks that are to end; waits until they
 * have. Ranks are added before they start, and before the rank that adds them ends. */
void tm_ends_start(void);
void tm_ends_add(int ranks);
void tm_ends_wait(void);

/** Before tm_ends_start(): a rank that fails does not end the others, nor does MPI_Abort() those
 * that are not in its communicator. */
void tm_ends_keep_others(void);

/** @return whether ranks that count as ended may still run. */
bool tm_ends_abandoned(void);

/** @return whether no thread of a rank that has ended is left. */
bool tm_ends_are_clean(void);

/** Says that the job is ended because of a rank. @return its exit status: 0 only if every rank has
 * ended right. */
int tm_report_failure(int rank);

/** rank_end.c: the rank's own thread, which calls this, ends before its rank: its handlers of
 * at_thread_exit run. */
void tm_process_end_thread(struct tm_process *process);

/** cleanups.c: pthread_exit() of the rank's own thread, which calls this. */
void tm_process_exit_thread(struct tm_process *process) __attribute__((noreturn));

/** Ends the calling thread's rank. */
void tm_process_exit(struct tm_process *process, int status, enum tm_end how)
    __attribute__((noreturn));

/** Registers a handler. @return 0; -1: no memory. */
int tm_handler_push(struct tm_handler **list, void (*function)(void *), void *argument);

/** The same for one that is given the status of the rank, too: of on_exit(). */
int tm_handler_push_status(struct tm_handler **list, void (*function)(int, void *), void *argument);

/** environment.c: before ranks start, once the program has been read. */
void tm_environment_start(void);

/** @return how many words the environment of a rank has at its start, the last one NULL. */
size_t tm_environment_room(void);

/** @return how many bytes the texts take that only this rank has. */
size_t tm_environment_texts(const struct tm_process *process);

/** Writes these words to the list, and the rank's own texts to theirs. @return the list behind the
 * last word. */
char **tm_environment_fill(const struct tm_process *process, char **list, char *texts);

/** @return the environment of a rank, whose libraries have been started. */
char **tm_process_environment(const struct tm_process *process);

/** flush.c: writes what was printed, and waits for that for half a second at most. */
void tm_flush_all(void);

/** From now on tm_flush_all() takes no lock of libc's. Before a handler is installed that may call
 * it. */
void tm_flush_prepare(void);

/** The same of the streams that no other thread holds. @return 0; EOF, with errno. */
int tm_flush_free(void);

/** threads.c: @return whether the caller is a pthread that a rank has made. Async-signal-safe. */
bool tm_on_pthread(void);

/** What a kernel thread has for the pthread of a rank that it is. */
struct tm_locals {
  ptrdiff_t distance;       /* of its block of thread-local variables from the rank's */
  struct tm_values *values; /* thread-specific ones; NULL: the rank's */
  bool is_pthread;
};

/** threads.c: gives the kernel thread others, and @return what it had. For a handler that has
 * interrupted another rank's pthread: that one's variables are not the handler's. */
struct tm_locals tm_locals_exchange(struct tm_locals locals);

/** threads.c: as pthread_create(); the pthread belongs to the calling rank. */
int tm_create_pthread(pthread_t *thread, const pthread_attr_t *attr, void *(*function)(void *),
                      void *argument);

/** openmp.c: a program that needs OpenMP or Python gets a kernel thread for each rank, after a
 * message. Between reading it and mltp_init(). */
void tm_openmp_heed(void);

/** @return the rank's copy of a variable of libc; NULL: the program and its libraries have none,
 * and use libc's. */
void *tm_process_variable(const struct tm_process *process, const char *name);

/** From now on a rank whose obstack gets no memory calls its own handler. In libc it is an exit()
 * of the process. */
void tm_obstacks_heed(void);

struct tm_parts;

/** Starts `ranks` ranks of the program that was read, as parts.h says, and waits for all. libmltp
 * runs, and there is a job. @return the exit status for all of them. */
int tm_launch(const struct tm_parts *parts);

/** vps.c: mltp_init(), which is called next, makes VP 0 alone; the others are made when ranks have
 * come through MPI_Init(). */
void tm_vps_later(void);

/** All ranks are ready to run, and do so when the caller waits. */
void tm_vps_placed(void);

/** Makes the other VPs when ranks have run for long without coming there. @return whether it has to
 * be called again. From any thread. */
bool tm_vps_look(void);

/** locations.c: from now on reports name files and lines of the program. */
void tm_locations_start(void);

/** locations.c: prints the frames of a thread that a signal has interrupted, with files and lines,
 * the first `most` of them. It allocates: not in the handler itself. @return false: none was found.
 */
bool tm_print_interrupted(const void *context, int most);

/** Where a kernel thread was interrupted. */
struct tm_sample {
  const void *ip, *sp, *bp;
};

/** watch.c: interrupts a kernel thread of the process, which waits in a handler until
 * tm_sample_end(), but a second at most. Not for two threads at a time, nor for the caller's own.
 * @return false: it cannot be interrupted. */
bool tm_sample_begin(struct tm_sample *sample, int task);
void tm_sample_end(void);

/** watch.c: @return whether a signal asks for a sample, maybe one for which nobody waits any more.
 * For handlers. */
bool tm_signal_is_sample(const siginfo_t *info);

/** What tmpirun exits with when --timeout is over; what timeout(1) does. */
enum { TM_STATUS_TIMEOUT = 124 };

/** The status of a process that a signal ends, in a shell, less the signal's number. */
enum { TM_SIGNAL_STATUS = 128 };

/** watch.c: from now on SIGUSR1 gives a report. So does the end of `seconds` (0: none), which ends
 * the process. @return 0, or why no kernel thread could be created, for os_thread_refusal(). */
int tm_watch_start(long seconds);

/** standstill.c: for the watcher, at intervals. Ends a job of which no thread can run any more. */
void tm_standstill_look(uint64_t interval);

/** watch.c: reports that the time of the job is over, and ends it. */
void tm_watch_late(void) __attribute__((noreturn));

/** watch.c: a rank has failed: the others have a second to end, too, then the job is ended. */
void tm_watch_failure(void);

/** The same, but the job ends at once. Async-signal-safe. */
void tm_watch_end(void);

/** Ends a failed job in the watcher's place if the watcher makes VPs: code that a handler of the
 * program has interrupted may hold a lock of pthread_create(). For a kernel thread that has waited
 * a second for the end. */
void tm_watch_help(void);

/** From now on a crash says which rank crashed. Before mltp_init(). */
void tm_crash_start(void);

/** @return whether it is one of those. */
bool tm_crash_signal(int signo);

/** signals.c. Before the first rank runs: notes which signals are ignored. */
void tm_signals_start(void);

/** Gives a signal to a rank: its handler is called now, or when the rank no longer blocks it. In a
 * handler. @return false: the rank neither handles, ignores nor blocks it. */
bool tm_signal_to_rank(struct tm_process *process, int signo, siginfo_t *info, void *context);

/** A pthread of the rank sends it to the rank's own thread: the handler interrupts that thread,
 * once it has a VP. If it is parked, the handler runs on the caller. @return false: as above. */
bool tm_signal_to_own_thread(struct tm_process *process, int signo, siginfo_t *info);

/** Gives it to all ranks that it is for. @return false: none took it. */
bool tm_signal_to_ranks(int signo, siginfo_t *info, void *context);

/** @return whether the caller is in a handler of the rank. */
bool tm_signals_handles(const struct tm_process *process);

/** @return whether the calling thread runs a handler of the rank, and has interrupted another's
 * thread for it. */
bool tm_signals_acts_elsewhere(const struct tm_process *process);

/** mappings.c: A pthread of a rank starts, and its stack is no other rank's any more. */
void tm_mappings_start_pthread(void);

/** timers.c: @return the rank that has made the timer with this number of the kernel's; -1: it is
 * gone; TM_TIMER_UNKNOWN: no rank has made it. Async-signal-safe. */
int tm_timer_rank(int id);

enum { TM_TIMER_UNKNOWN = -2 };

/** @return whether a rank has made a timer. */
bool tm_timers_were_made(void);

/** timers.c: deletes those of a rank that ends. */
void tm_timers_end(int rank);

/** @return whether the rank has a handler for a fault that needs no room on the stack of the thread
 * that has faulted. Async-signal-safe. */
bool tm_fault_has_stack(const struct tm_process *process, int signo);

/** Calls the rank's handler at once, on the thread that caused the signal. @return false: the rank
 * has none, or blocks the signal. */
bool tm_fault_to_rank(struct tm_process *process, int signo, siginfo_t *info, void *context);

/** @return whether a thread has sent the signal to itself, or caused it by a call. */
bool tm_signal_is_own(int signo, const siginfo_t *info);

#endif
