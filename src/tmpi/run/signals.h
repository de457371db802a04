/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file signals.h
 * Signals of ranks. The kernel knows one handler and one mask for a kernel thread; each rank has
 * its own here: handlers, the mask of its own thread, and what is pending. A rank's pthreads are
 * kernel threads and have masks of the kernel's.
 *
 * Which ranks get a signal:
 * - a fault, and what a thread sends itself: the rank it runs for;
 * - what a thread of a rank sends to another one of the rank: that thread, on its own stack. If the
 *   rank's own thread is parked, and so on no kernel thread, its handler runs on the sender;
 * - that of a timer: the rank that has made the timer (timers.c);
 * - all others come from outside: every rank that handles or blocks it. It would have come to every
 * process of the job, too. If there is none, it has its default effect.
 *
 * Protocol. Handlers that a rank's pthreads were not sent themselves never run at the same time, as
 * in a process of one thread. The
 * kernel thread that gets a signal adds it to `pending`, then claims `runner`. If another kernel
 * thread has that, the other one reads `pending` again after it has given `runner` back (SG-11 to
 * SG-14). The rank's own thread claims `runner`, too, while it changes its mask: a handler that
 * ends restores the mask it has found, which would undo the change (SG-9, SG-10, SG-13, SG-15). A
 * handler may interrupt any code, so nothing it calls waits for a lock that the interrupted code
 * could hold: actions are read without one, and read again if they were written meanwhile (SG-3 to
 * SG-6). Their writers hold a lock with all signals off.
 *
 * Rejected: a lock around actions (a second signal that interrupts its holder waits forever), the
 * kernel's mask exchanged at each switch (a system call each).
 */
#ifndef TM_RUN_SIGNALS_H
#define TM_RUN_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct tm_process;

/** What a rank does on a signal; the fields of struct sigaction, each in a word. */
struct tm_action {
  uint64_t handler; /* address, SIG_DFL or SIG_IGN */
  uint64_t flags;
  uint64_t mask;
};

/** A bit a signal: the lowest is that of signal 1, as in the kernel's masks. */
static inline uint64_t tm_signal_bit(int signo) { return (uint64_t)1 << (signo - 1); }

/** @return the state of a rank, made at its first use; NULL: no memory. */
struct tm_signals *tm_signals_of(struct tm_process *process);

/** Changes and reads what a rank does on a signal; either may be NULL. */
void tm_signals_change(struct tm_signals *signals, int signo, const struct tm_action *new,
                       struct tm_action *old);

/** Has a signal that nobody handles yet come to the ranks. on_stack: its handler need not run on
 * the stack of the thread that it interrupts. @return 0 or an errno value. */
int tm_signals_catch(int signo, bool on_stack);

/** @return the mask of the rank's own thread. */
uint64_t tm_signals_mask(const struct tm_signals *signals);

/** Sets it, and calls the handlers of what is pending and not blocked now. When it returns no
 * handler of a signal that is blocked now runs any more. */
void tm_signals_set_mask(struct tm_process *process, uint64_t mask);

/** @return the signals that are pending for the rank. */
uint64_t tm_signals_pending(const struct tm_signals *signals);

/** Waits until a handler has been called since tm_signals_calls() was `calls`. The rank has a
 * state. Blocks the kernel thread; others run meanwhile. */
void tm_signals_pause(struct tm_process *process, uint32_t calls);

/** Takes one of the set that is pending, or waits for one. deadline: by os_now(). Blocks the kernel
 * thread; others run meanwhile. @return the signal; 0: the deadline has passed. */
int tm_signals_take(struct tm_signals *signals, uint64_t set, uint64_t deadline);

/** @return how many handlers have been called, for the rank or the calling pthread: sleeps end when
 * it changes. NULL: 0. */
uint32_t tm_signals_calls(const struct tm_signals *signals);

/** @return how many of these were handlers without SA_RESTART, after which calls fail that wait in
 * our own way. NULL: 0. */
uint32_t tm_signals_failures(const struct tm_signals *signals);

/** @return the rank's signals whose handlers signal() sets without SA_RESTART: siginterrupt(). */
uint64_t *tm_signals_interrupting(struct tm_signals *signals);

/** interrupted_calls.c. Before a rank has its first handler. */
void tm_wait_prepare(void);

/** A handler has run that was set with these flags: ends the wait of the rank's own thread in the
 * kernel. context: what the handler has interrupted, or NULL. Async-signal-safe. */
void tm_wait_end(const struct tm_process *process, uint64_t flags, void *context);

/** @return whether the signal is the one that tm_wait_end() sends; the wait has ended then. In a
 * handler. */
bool tm_wait_is_ended(const siginfo_t *info, void *context);

/** The call that a signal has interrupted fails with EINTR, if the kernel would make it again and
 * signal(7) lists it. In a handler. */
void tm_call_fails(void *context);

/** @return whether a signal has interrupted the rank's own thread, and not within a switch. In a
 * handler. */
bool tm_has_interrupted(const struct tm_process *process, const void *context);

/** A call of the rank's own thread that waits with another mask, as ppoll() does. */
struct tm_masked {
  struct tm_process *process; /* NULL: the masks of the kernel count */
  uint64_t before;            /* the rank's mask */
  sigset_t kernels;           /* that of the kernel thread */
  bool handled;               /* a handler has run before the call */
};

/** signal_calls.c: the rank has the mask from now on. *mask: gets the one for the kernel. The call
 * is made only if this @return true. No signal gets lost between both. */
bool tm_masked_begin(struct tm_masked *masked, const sigset_t **mask);

/** After the call, or in its place: the rank has its mask again. Sets errno if no call was made. */
void tm_masked_end(const struct tm_masked *masked);

/** @return whether a process without a handler ignores the signal. */
bool tm_signal_is_harmless(int signo);

/** signal_calls.c: reports that the calling rank has sent the signal, which ends the process.
 * Async-signal-safe. */
void tm_signal_announce(int signo);

/** @return whether the calling pthread runs a handler for the rank's own thread, which is parked.
 */
bool tm_signals_stand_in(void);

/** The calling thread leaves a handler by longjmp(): it no longer runs one. */
void tm_signals_leave_handler(struct tm_process *process);

#endif
