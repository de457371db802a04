/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file specc_runtime.h
 * What the C that specc makes of a model calls beside the simulation kernel.
 */
#ifndef SPECC_RUNTIME_H
#define SPECC_RUNTIME_H

#include <arch_switch.h>
#include <errno.h>
#include <mltp/sched.h>
#include <mltp/sim.h>
#include <sim_switch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/** @return a time as text, kept until three more have been made. */
static inline const char *sc_time_text(mltp_sim_time_t time) {
  enum { KEPT = 4, DIGITS = 24 };
  static char texts[KEPT][DIGITS];
  static unsigned next;
  char *text = texts[next++ % KEPT];
  snprintf(text, DIGITS, "%llu", (unsigned long long)time);
  return text;
}

static inline void sc_events(mltp_sim_event_t *events, size_t size, const char *path) {
  for (size_t i = 0; i < size / sizeof *events; i++)
    events[i] = (mltp_sim_event_t)MLTP_SIM_EVENT_INIT(path);
}

static inline void sc_buffer(mltp_sim_buffered_t *buffer, void *current, void *next, size_t size) {
  *buffer = (mltp_sim_buffered_t){current, next, size, NULL, 0};
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

/** Runs a model on as many VPs as MLTP_VPS says, one by default. @return the program's exit status.
 */
static inline int sc_simulate(void (*first)(void *), const int *status) {
  if (mltp_init(getenv("MLTP_VPS") != NULL ? 0 : 1) != 0) return 1; /* it has said why */
  int error = mltp_sim_set_vps(mltp_vps());
  if (error == 0) error = mltp_sim_run(first, NULL);
  mltp_finalize();
  if (error == EDEADLK) return SC_DEADLOCK;
  if (error != 0) fprintf(stderr, "specc: the simulation did not start: %s\n", strerror(error));
  return error != 0 ? 1 : *status;
}

#endif
