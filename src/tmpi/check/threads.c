/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of a rank that call MPI although the program asked for a level at which they may not:
 * below MPI_THREAD_SERIALIZED only the thread that has initialized MPI may call it, and at that
 * level one thread at a time. MPI_Finalize() is that one thread's at any level. The first such call
 * of a rank is reported. Threads of the library that call functions of the program are none of
 * these: the library takes care that they do not run beside the program.
 */
#include <mltp/mltp.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "core/internal/locks.h"
#include "core/internal/thread.h"
#include "tmpi/check/check.h"
#include "tmpi/rank/rank.h"

static struct caller {
  uint32_t ilock;
  const void *thread; /* of the rank, in a call of MPI; NULL: none */
  unsigned depth;     /* its calls: callbacks of the program make some within others */
  struct tm_seen seen;
  bool reported;
} *callers; /* by rank */

static bool *may_always; /* by call: whether any thread may make it at any time */

bool tm_threads_start(void) {
  static const char *const names[] = {
      "MPI_Abort",       "MPI_Finalized",      "MPI_Get_library_version",
      "MPI_Get_version", "MPI_Init",           "MPI_Init_thread",
      "MPI_Initialized", "MPI_Is_thread_main", NULL};
  static const char *const beginnings[] = {"MPI_Abi_",     "MPI_Add_error_", "MPI_Error_",
                                           "MPI_Info_",    "MPI_Query_",     "MPI_Remove_error_",
                                           "MPI_Session_", "MPI_T_",         NULL};
  callers = calloc((unsigned)tm_job.most, sizeof *callers);
  may_always = calloc((unsigned)tm_call_count, sizeof *may_always);
  if (callers == NULL || may_always == NULL) return false;
  for (int c = 0; c < tm_call_count; c++) {
    for (int i = 0; names[i] != NULL; i++) may_always[c] |= strcmp(tm_calls[c], names[i]) == 0;
    for (int i = 0; beginnings[i] != NULL; i++)
      may_always[c] |= strncmp(tm_calls[c], beginnings[i], strlen(beginnings[i])) == 0;
  }
  return true;
}

/* Notes that the thread has come into a call. @return whether another one is in one; then *other is
 * that call. */
static bool meets_another(struct caller *caller, const struct tm_seen *seen,
                          struct tm_seen *other) {
  mti_lock(&caller->ilock);
  bool meets = caller->thread != NULL && caller->thread != mltp_self();
  if (meets) *other = caller->seen;
  if (!meets && caller->depth++ == 0) {
    caller->thread = mltp_self();
    caller->seen = *seen;
  }
  mti_unlock(&caller->ilock);
  return meets;
}

/* @return whether the rank has no report so far. */
static bool is_first_report(struct caller *caller) {
  mti_lock(&caller->ilock);
  bool first = !caller->reported;
  caller->reported = true;
  mti_unlock(&caller->ilock);
  return first;
}

static void report_other_thread(const struct tm_seen *seen, int level) {
  char text[TM_CALL_TEXT];
  tm_describe(text, seen);
  if (level < MPI_THREAD_SERIALIZED)
    tm_finding_print(
        "rank %d: a thread that has not initialized MPI calls %s, and the program has %s "
        "(MPI_Init_thread() with MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE)",
        seen->rank, text,
        level == MPI_THREAD_FUNNELED ? "MPI_THREAD_FUNNELED" : "MPI_THREAD_SINGLE");
  else
    tm_finding_print(
        "rank %d: a thread that has not initialized MPI calls %s (the thread that has "
        "calls it)",
        seen->rank, text);
}

static void report_two_threads(const struct tm_seen *seen, const struct tm_seen *other) {
  char here[TM_CALL_TEXT], there[TM_CALL_TEXT];
  tm_describe(here, seen);
  tm_describe(there, other);
  tm_finding_print(
      "rank %d: a thread calls %s while another one is in %s, and the program has "
      "MPI_THREAD_SERIALIZED (MPI_Init_thread() with MPI_THREAD_MULTIPLE)",
      seen->rank, here, there);
}

void tm_threads_begin(struct tm_seen *seen) {
  const struct tm_rank *rank = tm_rank_self();
  const void *main = mt_load_relaxed(&rank->thread); /* relaxed: set before others were made */
  bool is_main = main == mltp_self();
  /* without a main thread there is neither MPI_Init() nor a session */
  if (main == NULL || may_always[seen->call] || (!is_main && !mti_is_foreign())) return;
  struct caller *caller = &callers[seen->rank];
  struct tm_seen other;
  int level = rank->thread_level;
  bool may = is_main ||
             (level >= MPI_THREAD_SERIALIZED && strcmp(tm_calls[seen->call], "MPI_Finalize") != 0);
  if (!may && is_first_report(caller)) report_other_thread(seen, level);
  if (level != MPI_THREAD_SERIALIZED) return;
  seen->counted = !meets_another(caller, seen, &other);
  if (!seen->counted && is_first_report(caller)) report_two_threads(seen, &other);
}

void tm_threads_end(const struct tm_seen *seen) {
  if (!seen->counted) return;
  struct caller *caller = &callers[seen->rank];
  mti_lock(&caller->ilock);
  if (--caller->depth == 0) caller->thread = NULL;
  mti_unlock(&caller->ilock);
}
