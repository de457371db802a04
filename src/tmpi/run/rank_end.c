/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a rank: its handlers and destructors run on the thread that calls exit(), then the
 * rank has ended, whatever its other threads do. The thread that the rank was started on ends. A
 * pthread stays asleep, because it must not return from exit().
 *
 * The rank that fails first, by its status or without MPI_Finalize(), is noted, since others most
 * likely wait for it. The others have GRACE to end by themselves, then watch.c ends the job.
 *
 * exit() in a handler of a signal that has interrupted another's thread cannot end one rank: the
 * interrupted code must continue, and may hold any lock. So the handler stores what has happened,
 * and watch.c ends the job.
 */
#include <mltp/mltp.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/atomic.h"
#include "core/internal/fence.h"
#include "os/os.h"
#include "tmpi/loader/program.h"
#include "tmpi/match/deferred.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/output.h"
#include "tmpi/run/process.h"
#include "tmpi/run/streams.h"
#include "tmpi/run/working_directory.h"

enum { SECOND = 1000000000 };

static mltp_waitgroup_t ends; /* of all ranks */
static uint32_t sleepers; /* [atomic] threads that sleep forever, or whose rank another has ended */
static uint32_t abandoned; /* [atomic] ranks that others have aborted, and that may still run */
static bool keeps_others;  /* [const] */
static mltp_waitgroup_t silences; /* in that case: of ranks, when they communicate no more */
static mltp_waitgroup_t never;    /* a sleep would have a timer: no deadlock while one is set */

void tm_ends_start(void) {
  mltp_waitgroup_init(&ends, "the ends of the ranks");
  mltp_waitgroup_init(&silences, "MPI_Finalize() of all ranks that have not ended");
  mltp_waitgroup_init(&never, "the end of the job, since its rank has ended");
  mltp_waitgroup_add(&never, 1);
}

void tm_ends_add(int ranks) {
  mltp_waitgroup_add(&ends, ranks);
  mltp_waitgroup_add(&silences, ranks);
}

void tm_ends_wait(void) { mltp_waitgroup_wait(&ends); }

bool tm_ends_abandoned(void) { return mt_load_relaxed(&abandoned) != 0; } /* relaxed: as below */

bool tm_ends_are_clean(void) {
  return mt_load_relaxed(&sleepers) == 0; /* relaxed: counted before the rank's end is */
}

/* ---- handlers */

int tm_handler_push(struct tm_handler **list, void (*function)(void *), void *argument) {
  struct tm_handler *handler = malloc(sizeof *handler);
  if (handler == NULL) return -1;
  *handler = (struct tm_handler){.next = *list, .function = function, .argument = argument};
  *list = handler;
  return 0;
}

int tm_handler_push_status(struct tm_handler **list, void (*function)(int, void *),
                           void *argument) {
  if (tm_handler_push(list, NULL, argument) != 0) return -1;
  (*list)->with_status = function;
  return 0;
}

static void run_handlers(struct tm_handler **list, int status) {
  while (*list != NULL) { /* a handler may register others */
    struct tm_handler handler = **list;
    free(*list);
    *list = handler.next;
    if (handler.function != NULL)
      handler.function(handler.argument);
    else
      handler.with_status(status, handler.argument);
  }
}

void tm_process_end_thread(struct tm_process *process) {
  run_handlers(&process->at_thread_exit, 0);
}

static void run_all(struct tm_process *process, enum tm_end how) {
  if (how == TM_QUICK) {
    run_handlers(&process->at_quick_exit, process->status);
    return;
  }
  if (process->thread == mltp_self()) tm_process_end_thread(process);
  run_handlers(&process->at_exit, process->status);
  tm_program_destruct(tm_the_program, process->number);
  tm_flush_free(); /* as at the end of a process: others may crash, or read what the rank wrote */
}

/* ---- the end */

int tm_report_failure(int rank) {
  const struct tm_process *process = tm_process_of(rank);
  int running = 0, here = mt_load_relaxed(&tm_job.here); /* relaxed: a snapshot */
  int size = mt_load_relaxed(&tm_job.size);              /* relaxed: as above */
  for (int i = tm_job.first; i < size; i = tm_rank_next_here(i, size))
    running += mt_load_relaxed(&tm_process_of(i)->left) == 0; /* relaxed: a snapshot */
  if (process->status == 0 && !process->not_finalized && running == 0) return 0;
  char text[192]; /* no stream: a thread that continues no more may hold stderr */
  int length = snprintf(text, sizeof text,
                        "tmpirun: rank %d ended with status %d%s%s: the job ends (%d of %d ranks "
                        "had not ended)\n",
                        rank, process->status, process->in_handler ? " in a signal handler" : "",
                        process->not_finalized ? " without MPI_Finalize()" : "", running, here);
  os_write(2, text, (size_t)length);
  return process->status != 0 ? process->status : 1;
}

static void nap(void) {
  os_nap(SECOND);
  tm_watch_help();
}

/* The rank has ended, or is ending, on another thread. */
__attribute__((noreturn)) static void sleep_for_ever(void) {
  mt_add_relaxed(&sleepers, 1); /* relaxed: a count */
  for (;;) {
    if (tm_on_pthread())
      nap();
    else
      mltp_waitgroup_wait(&never);
  }
}

/* @return false: another thread of the rank calls its handlers. */
static bool begin(struct tm_process *process) {
  mltp_t *before = NULL, *self = mltp_self();
  /* relaxed: whatever the threads share they order themselves */
  return mt_cas_relaxed(&process->ending, &before, self) || before == self;
}

/* The rank ends by itself from now on, unless another one has aborted it. */
static void claim_or_sleep(struct tm_process *process) {
  if (process->own_claim) return;
  /* relaxed: the first one counts */
  if (mt_or_relaxed(&process->claimed, 1) != 0) sleep_for_ever();
  process->own_claim = true;
}

static void be_silent(struct tm_process *process) {
  /* relaxed: the wait group orders */
  if (mt_or_relaxed(&process->silent, 1) == 0) mltp_waitgroup_done(&silences);
}

static void leave(struct tm_process *process) {
  if (mt_or_relaxed(&process->left, 1) != 0) sleep_for_ever(); /* relaxed: the first one leaves */
  tm_output_end(process->number);
  tm_streams_end(process->number);
  tm_timers_end(process->number);
  tm_carry_end(process->number);
  process->not_finalized = !tm_rank_leave(process->number);
  if (keeps_others) be_silent(process);
  mti_fence_light();                                   /* DF-1: `ended` is stored; pairs DF-4 */
  tm_deferred_release(&tm_job.ranks[process->number]); /* DF-2: looks; pairs DF-3 */
  if (process->status != 0 || process->not_finalized) {
    tm_job_failed(process->number, process->status);
    if (!keeps_others) tm_watch_failure();
  }
  if (process->thread != mltp_self()) mt_add_relaxed(&sleepers, 1); /* relaxed: a count */
  mltp_waitgroup_done(&ends);
}

__attribute__((noreturn)) static void leave_in_handler(struct tm_process *process, int status) {
  process->status = status & 0xff;
  process->in_handler = true;
  process->not_finalized = !tm_rank_leave(process->number);
  mt_or_relaxed(&process->left, 1); /* relaxed: only counted */
  tm_job_failed(process->number, process->status);
  tm_watch_end();
  for (;;) nap();
}

void tm_process_exit(struct tm_process *process, int status, enum tm_end how) {
  bool nested = process->ending == mltp_self(); /* a handler calls exit(): the rest is left out */
  if (tm_signals_acts_elsewhere(process)) leave_in_handler(process, status);
  if (keeps_others) claim_or_sleep(process);
  if (how != TM_AT_ONCE && !begin(process)) sleep_for_ever();
  process->status = status & 0xff;
  if (how != TM_AT_ONCE && !nested) run_all(process, how);
  leave(process);
  if (process->thread == mltp_self()) mltp_exit(NULL);
  sleep_for_ever();
}

/* ---- ranks that end while others continue */

/* What another rank has aborted counts as ended, whatever it does until its next call of MPI. One
 * that waits in a call stays there. */
static void end_rank(int number, int status) {
  struct tm_process *process = tm_process_of(number), *self = tm_process_self();
  if (process == self) {
    process->aborted = true;
    tm_process_exit(process, status, TM_AT_ONCE);
  }
  claim_or_sleep(self); /* two ranks that abort each other both end by their own status */
  if (mt_or_relaxed(&process->claimed, 1) != 0) return;      /* relaxed: the first one counts */
  mt_store_relaxed(&tm_job.ranks[number].stage, TM_ABORTED); /* relaxed: only looked at */
  mt_add_relaxed(&abandoned, 1);                             /* relaxed: a count */
  be_silent(process);
  mltp_waitgroup_done(&ends);
}

static void finalize(void) {
  struct tm_process *process = tm_process_self();
  be_silent(process);
  mltp_waitgroup_wait(&silences);
  claim_or_sleep(process);
}

void tm_ends_keep_others(void) {
  static const struct tm_rank_ends ends_of_ranks = {end_rank, finalize};
  keeps_others = true;
  tm_job_on_rank_ends(&ends_of_ranks);
}
