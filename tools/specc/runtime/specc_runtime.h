/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file specc_runtime.h
 * What the C that specc makes of a model calls beside the simulation kernel.
 */
#ifndef SPECC_RUNTIME_H
#define SPECC_RUNTIME_H

#include <arch_switch.h>
#include <errno.h>
#include <inttypes.h>
#include <mltp/sched.h>
#include <mltp/sim.h>
#include <signal.h>
#include <sim_switch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "specc_bits.h"
#include "specc_spread.h"

enum { SC_DEADLOCK = 86, SC_STAGES_MAX = 64 };

/** What all may touch is touched in the order of one VP. */
static inline void sc_ordered(void) {
  if (__builtin_expect(mltp_sim_parallel != 0, 0)) mltp_sim_ordered();
}

/* Tells classes.py to have methods that wait return by jumps: the processor predicts a return
 * behind a switch wrong. libmltp-sim.a has what they jump to. */
#if defined(__x86_64__) && !defined(__CET__) && (!defined(__clang__) || __clang_major__ >= 15)
typedef int sc_returns_by_jump;
#endif

/** Waits. The switch stands in the model's own function. */
__attribute__((always_inline)) static inline void sc_switch(struct arch_switch_pair pair) {
  if (__builtin_expect(pair.to != NULL, 1)) mt_arch_switch(pair.from, pair.to);
}

__attribute__((always_inline)) static inline void sc_wait(mltp_sim_event_t *event) {
  sc_switch(sm_wait(event));
}

__attribute__((always_inline)) static inline void sc_waitfor(mltp_sim_time_t duration) {
  sc_switch(sm_waitfor(duration));
}

/** @return the path of a part, as long as the program runs. */
static inline const char *sc_path(const char *whole, const char *part) {
  size_t length = strlen(whole) + strlen(part) + 2;
  char *path = malloc(length);
  if (path == NULL) {
    fputs("specc: no memory for the model\n", stderr);
    exit(1);
  }
  snprintf(path, length, "%s.%s", whole, part);
  return path;
}

/** @return the path of an array's part. */
static inline const char *sc_path_at(const char *path, size_t index) {
  char text[24];
  snprintf(text, sizeof text, "[%zu]", index);
  size_t length = strlen(path) + strlen(text) + 1;
  char *whole = malloc(length);
  if (whole == NULL) {
    fputs("specc: no memory for the model\n", stderr);
    exit(1);
  }
  snprintf(whole, length, "%s%s", path, text);
  return whole;
}

/** @return the last `width` bits of a value in reverse order. */
static inline unsigned __int128 sc_reversed(int width, unsigned __int128 value) {
  unsigned __int128 reversed = 0;
  for (int bit = 0; bit < width; bit++) reversed = (reversed << 1) | ((value >> bit) & 1);
  return reversed;
}

#define SC_NEVER UINT64_MAX

/** A timing constraint: from the first label to the second. */
struct sc_range {
  const char *file;
  int line;
  const char *first, *second;
  mltp_sim_time_t from, to; /**< SC_NEVER: not reached */
  mltp_sim_time_t shortest, longest;
};

/** Ends the program with a message where a timing constraint does not hold. */
static inline void sc_range(struct sc_range range) {
  if (range.from == SC_NEVER || range.to == SC_NEVER) return;
  mltp_sim_time_t took = range.to - range.from;
  if (range.to >= range.from && took >= range.shortest && took <= range.longest) return;
  fflush(stdout);
  fprintf(stderr, "%s:%d: timing constraint: %s is %" PRId64 " after %s", range.file, range.line,
          range.second, (int64_t)took, range.first);
  fprintf(stderr,
          range.longest == SC_NEVER ? ", at least %" PRIu64 " is allowed\n"
                                    : ", %" PRIu64 " to %" PRIu64 " is allowed\n",
          range.shortest, range.longest);
  abort();
}

/** @return where the value of now has what is at `next` in the one to come. */
static inline void *sc_now(const mltp_sim_buffered_t *variable, const void *next) {
  return (char *)variable->current_ + ((const char *)next - (const char *)variable->pending_);
}

static inline void sc_events(mltp_sim_event_t *events, size_t size, const char *path) {
  for (size_t i = 0; i < size / sizeof *events; i++)
    events[i] = (mltp_sim_event_t)MLTP_SIM_EVENT_INIT(path);
}

/** A step of a pipe: each stage that has something runs. on: which have; more: the first has, too.
 * @return 0: none has. */
static inline int sc_pipe(const mltp_sim_child_t *stages, unsigned char *on, size_t count,
                          int more) {
  mltp_sim_child_t running[SC_STAGES_MAX];
  size_t running_count = 0;
  memmove(on + 1, on, count - 1);
  on[0] = (unsigned char)more;
  for (size_t i = 0; i < count; i++)
    if (on[i]) running[running_count++] = stages[i];
  mltp_sim_par(running, running_count);
  return running_count > 0;
}

/** What catches crashes otherwise: the library, which tells overflows of stacks. */
static struct sigaction sc_before[NSIG];

/** Says which behavior crashed. */
static inline void sc_on_crash(int signo, siginfo_t *info, void *context) {
  const char *name = sm_name_here();
  char text[512];
  int length = snprintf(text, sizeof text, "specc: behavior '%s' crashed at time %" PRIu64 ": %s\n",
                        name != NULL ? name : "Main", mltp_sim_now(), strsignal(signo));
  fflush(stdout);
  if (write(STDERR_FILENO, text, (size_t)length) < 0) _exit(1);
  const struct sigaction *before = &sc_before[signo];
  sigaction(signo, before, NULL);
  if (before->sa_flags & SA_SIGINFO) before->sa_sigaction(signo, info, context);
}

static inline void sc_catch_crashes(void) {
  static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
  struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
  action.sa_sigaction = sc_on_crash;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
    sigaction(signals[i], &action, &sc_before[signals[i]]);
}

/** What C's library has and its headers hide: old models call it. */
char *gets(char *line);

/** Runs a model on as many VPs as MLTP_VPS says, one by default. @return the program's exit status.
 */
static inline int sc_simulate(void (*first)(void *), const int *status) {
  if (mltp_init(getenv("MLTP_VPS") != NULL ? 0 : 1) != 0) return 1; /* it has said why */
  sc_catch_crashes();
  int error = mltp_sim_set_vps(mltp_vps());
  if (error == 0) error = mltp_sim_run(first, NULL);
  fflush(stdout);
  mltp_finalize();
  if (error == EDEADLK) return SC_DEADLOCK;
  if (error != 0) fprintf(stderr, "specc: the simulation did not start: %s\n", strerror(error));
  return error != 0 ? 1 : *status;
}

#endif
