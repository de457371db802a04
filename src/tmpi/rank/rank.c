/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job and its ranks.
 *
 * Relaxed: phase and ended, which others read for reports; counts of ranks in each phase.
 */
#include "tmpi/rank/rank.h"

#include <errno.h>
#include <mltp/mltp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/atomic.h"
#include "core/internal/thread.h"

struct tm_job tm_job = {.comms_max = TM_COMMS_MAX};

uint64_t tm_job_new_mark(void) {
  uint64_t mark = 0;
  if (getrandom(&mark, sizeof mark, 0) != sizeof mark || mark == 0)
    mark = mltp_now() << 22 | (uint64_t)getpid(); /* pids have 22 bits */
  return mark;
}

/* Two ranks may be the first ones at a time. */
uint64_t tm_job_mark(void) {
  uint64_t before = mt_load_relaxed(&tm_job.mark), mark;
  if (before != 0) return before;
  mark = tm_job_new_mark();
  return mt_cas_relaxed(&tm_job.mark, &before, mark) ? mark : before;
}

void tm_job_wait(enum tm_wait wait, uint64_t spin_ns) {
  tm_job.wait = wait;
  tm_job.spin_ns = spin_ns;
}

static void (*on_init)(void);
static int initialized; /* [atomic] ranks */
static int finalizing;  /* [atomic] 1: one of them does */

void tm_job_on_init(void (*begun)(void)) { on_init = begun; }

void tm_job_count_init(void) {
  bool last = mt_add_relaxed(&initialized, 1) == tm_job.local - 1;
  if (last && on_init != NULL && !mt_load_relaxed(&finalizing)) on_init();
}

void tm_job_count_finalize(void) { mt_store_relaxed(&finalizing, 1); }

/* A thread's number is its rank's and one. */
int tm_rank_enter(int number) { return mti_set_number("MPI", (uint32_t)number + 1) ? 0 : ENOMEM; }

/* A kernel thread that has just started is no thread of libmltp's yet, and may get a signal. */
static __thread uint32_t acting; /* the number that a handler has there; 0: none */

static uint32_t number_here(void) {
  uint32_t number = mti_number();
  return number != 0 ? number : acting;
}

uint32_t tm_rank_act_as(uint32_t number) {
  uint32_t before = number_here();
  mti_act_as(number);
  acting = mti_number() == number ? 0 : number;
  return before;
}

struct tm_rank *tm_rank_self(void) {
  uint32_t number = number_here();
  return number != 0 ? &tm_job.ranks[number - 1] : NULL;
}

int tm_rank_number(void) {
  const struct tm_rank *rank = tm_rank_self();
  return rank != NULL ? rank->number : -1;
}

bool tm_rank_leave(int number) {
  struct tm_rank *rank = &tm_job.ranks[number];
  mt_store_relaxed(&rank->ended, 1);
  return mt_load_relaxed(&rank->stage) != TM_INITIALIZED;
}

static void (*on_end)(void);

void tm_job_on_end(void (*flush)(void)) { on_end = flush; }

void tm_job_flush(void) {
  if (on_end != NULL)
    on_end();
  else
    fflush(NULL);
}

static void (*on_failure)(void);

void tm_job_on_failure(void (*end_output)(void)) { on_failure = end_output; }

void tm_job_end_output(void) {
  if (on_failure != NULL) on_failure();
  tm_job_flush();
}

/* ---- failures */

static uint64_t failure; /* [atomic] of the first: its rank and 1, then 8 bits of status */

void tm_job_failed(int number, int status) {
  uint64_t none = 0, word = ((uint64_t)number + 1) << 8 | (uint64_t)status;
  mt_cas_relaxed(&failure, &none, word); /* relaxed: the word is all there is */
}

int tm_job_failure(int *status) {
  uint64_t word = mt_load_relaxed(&failure); /* relaxed: as above */
  *status = word & 0xff;
  return (int)(word >> 8) - 1;
}

static const struct tm_rank_ends *rank_ends;

void tm_job_on_rank_ends(const struct tm_rank_ends *ends) { rank_ends = ends; }

const struct tm_rank_ends *tm_job_rank_ends(void) { return rank_ends; }

static void (*notify_nodes)(int status, const char *why); /* NULL: there is one node */

void tm_job_on_early_end(void (*tell)(int status, const char *why)) { notify_nodes = tell; }

void tm_job_tell(int status, const char *format, ...) {
  char why[128];
  va_list arguments;
  if (notify_nodes == NULL) return;
  va_start(arguments, format);
  vsnprintf(why, sizeof why, format, arguments);
  va_end(arguments);
  notify_nodes(status, why);
}

void tm_job_abort(int status) {
  int rank = tm_rank_number();
  tm_job_flush();
  if (rank >= 0)
    tm_job_tell(status, "rank %d failed (see above)", rank);
  else
    tm_job_tell(status, "it failed (see above)");
  _exit(status);
}
