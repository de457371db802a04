/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ends of ranks, step by step (src/tmpi/run/rank_end.c): what runs at an end and in which
 * order, which of several threads and ranks ends a rank, and what is said of it. One thread plays
 * all threads; where one would sleep or end, the call is left. Every step is in the trace.
 */
#include "traced_calls.h"

#include <stdbool.h>
#include <stdlib.h>

#include "counted_blocks.h"
#include "os/os.h"
#include "tmpi/loader/program.h"
#include "tmpi/match/deferred.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/output.h"
#include "tmpi/run/process.h"
#include "tmpi/run/signals.h"
#include "tmpi/run/streams.h"
#include "tmpi/run/working_directory.h"

enum { RANKS = 7, RANK = 3, OTHER = 4, SECOND = 1000000000 };

/* Ranks 2 and 3 began on this node, 4 and 6 were spawned on it. */
static struct tm_rank ranks[RANKS];
static int nodes_of_spawned[] = {1, 0, 1};
struct tm_job tm_job = {.size = RANKS,
                        .first_size = 4,
                        .first = 2,
                        .local = 2,
                        .here = 4,
                        .ranks = ranks,
                        .spawned_on = nodes_of_spawned};
struct tm_program *tm_the_program = (struct tm_program *)&ranks[0];

static struct tm_process processes[RANKS], *caller;
static char threads[3];
static mltp_t *const own = (mltp_t *)&threads[0], *const others = (mltp_t *)&threads[1],
                     *const pthread = (mltp_t *)&threads[2];
static mltp_t *thread; /* the calling one */
static jmp_buf left;
static bool is_finalized, acts_elsewhere, clean_at_end;
static const struct tm_rank_ends *of_ranks;

/* ---- the rest of the library */

static struct {
  mltp_waitgroup_t *group;
  const char *name;
} groups[3];

int mltp_waitgroup_init(mltp_waitgroup_t *group, const char *name) {
  int i = strncmp(name, "the ends of", 11) == 0    ? 0
          : strncmp(name, "MPI_Finalize", 12) == 0 ? 1
                                                   : 2;
  static const char *const short_names[] = {"ends", "silences", "never"};
  groups[i].group = group;
  groups[i].name = short_names[i];
  return 0;
}

static const char *name_of(const mltp_waitgroup_t *group) {
  int i = 0;
  while (i < 3 && groups[i].group != group) i++;
  assert_in_range(i, 0, 2); /* it was initialised */
  return groups[i].name;
}

int mltp_waitgroup_add(mltp_waitgroup_t *group, int n) {
  note("%s+%d", name_of(group), n);
  return 0;
}

int mltp_waitgroup_done(mltp_waitgroup_t *group) {
  if (groups[0].group == group) clean_at_end = tm_ends_are_clean();
  note("%s-", name_of(group));
  return 0;
}

/* The second sleep of the same thread is the last one. */
static void leave_second(const char *what) {
  static int sleeps;
  note("%s", what);
  if (++sleeps % 2 == 0) longjmp(left, 1);
}

int mltp_waitgroup_wait(mltp_waitgroup_t *group) {
  if (groups[2].group == group)
    leave_second("never");
  else
    note("%s?", name_of(group));
  return 0;
}

mltp_t *mltp_self(void) { return thread; }

void mltp_exit(void *result) {
  assert_null(result);
  note("exit");
  longjmp(left, 1);
}

void os_nap(uint64_t ns) { note("nap:%d", (int)(ns / SECOND)); }
void tm_watch_help(void) { leave_second("help"); }
void tm_watch_failure(void) { note("watched"); }
void tm_watch_end(void) { note("ended"); }
bool tm_on_pthread(void) { return thread == pthread; }

int os_write(int fd, const char *text, size_t length) {
  assert_int_equal(fd, 2);
  assert_int_equal(strlen(text), length);
  note("%s", text);
  return 0;
}

struct tm_process *tm_process_self(void) { return caller; }

struct tm_process *tm_process_of(int rank) {
  assert_true(rank >= tm_job.first && rank < RANKS && rank != 5);
  return &processes[rank];
}

bool tm_signals_acts_elsewhere(const struct tm_process *process) {
  assert_ptr_equal(process, caller);
  return acts_elsewhere;
}

void tm_program_destruct(const struct tm_program *program, int rank) {
  assert_ptr_equal(program, tm_the_program);
  note("destruct:%d", rank);
}

int tm_flush_free(void) {
  note("flush");
  return 0;
}

void tm_output_end(int rank) { note("output:%d", rank); }
void tm_streams_end(int rank) { note("streams:%d", rank); }
void tm_timers_end(int rank) { note("timers:%d", rank); }
void tm_carry_end(int rank) { note("carry:%d", rank); }
void tm_deferred_release(struct tm_rank *rank) { note("deferred:%d", (int)(rank - ranks)); }
void tm_job_failed(int number, int status) { note("failed:%d:%d", number, status); }
void tm_job_on_rank_ends(const struct tm_rank_ends *ends) { of_ranks = ends; }

bool tm_rank_leave(int number) {
  note("leave:%d", number);
  return is_finalized;
}

/* ---- ranks */

/* All run, each on a thread; the caller is the own thread of one. */
static int start_ranks(void **state) {
  (void)state;
  memset(processes, 0, sizeof processes);
  memset(ranks, 0, sizeof ranks);
  for (int i = 0; i < RANKS; i++)
    processes[i] = (struct tm_process){.number = i, .thread = i == RANK ? own : others};
  caller = &processes[RANK];
  thread = own;
  is_finalized = true;
  acts_elsewhere = false;
  trace[0] = '\0';
  return 0;
}

static int check_handlers(void **state) {
  (void)state;
  assert_int_equal(blocks, 0);
  return 0;
}

static void end_by(int status, enum tm_end how) {
  if (setjmp(left) == 0) tm_process_exit(caller, status, how);
}

static void note_word(void *word) { note("%s", (const char *)word); }
static void note_status(int status, void *word) { note("%s:%d", (const char *)word, status); }
static char first[] = "first", second[] = "second", third[] = "third";

static void push(struct tm_handler **list, char *word) {
  assert_int_equal(tm_handler_push(list, note_word, word), 0);
}

/* What is left of a rank is done with. */
#define LEAVES_WITH(silence) "output:3 streams:3 timers:3 carry:3 leave:3 " silence "deferred:3 "
#define LEAVES LEAVES_WITH("")

/* ---- a rank's own end */

static void ranks_are_counted(void **state) {
  (void)state;
  tm_ends_start();
  check_trace("never+1 "); /* what ended ranks wait for does not come */
  tm_ends_add(3);
  check_trace("ends+3 silences+3 ");
  tm_ends_wait();
  check_trace("ends? ");
}

static void what_runs_at_an_end(void **state) {
  (void)state;
  push(&caller->at_exit, first);
  assert_int_equal(tm_handler_push_status(&caller->at_exit, note_status, second), 0);
  push(&caller->at_quick_exit, third);
  push(&caller->at_thread_exit, third);
  end_by(0x107, TM_ORDERLY);
  check_trace("third second:7 first destruct:3 flush " LEAVES "failed:3:7 watched ends- exit ");
  assert_true(caller->ending == own && caller->left == 1 && caller->status == 7);
  assert_false(caller->not_finalized);
  assert_true(tm_ends_are_clean());
  free(caller->at_quick_exit);
}

static void what_runs_at_a_quick_end(void **state) {
  (void)state;
  push(&caller->at_exit, first);
  push(&caller->at_thread_exit, first);
  assert_int_equal(tm_handler_push_status(&caller->at_quick_exit, note_status, second), 0);
  end_by(0, TM_QUICK);
  check_trace("second:0 " LEAVES "ends- exit ");
  free(caller->at_exit);
  free(caller->at_thread_exit);
}

static void nothing_runs_at_an_end_at_once(void **state) {
  (void)state;
  push(&caller->at_exit, first);
  push(&caller->at_quick_exit, second);
  is_finalized = false;
  end_by(0, TM_AT_ONCE);
  check_trace(LEAVES "failed:3:0 watched ends- exit ");
  assert_true(caller->not_finalized && caller->ending == NULL);
  free(caller->at_exit);
  free(caller->at_quick_exit);
}

/* It may register others, which run next, and it may call exit() itself: the rest is left out, and
 * that status counts. */
static void register_more(void *list) { push(list, second); }
static void exit_again(void *how) { tm_process_exit(caller, 5, *(enum tm_end *)how); }

static void what_a_handler_may_do(void **state) {
  enum tm_end how = TM_ORDERLY;
  (void)state;
  push(&caller->at_exit, first);
  assert_int_equal(tm_handler_push(&caller->at_exit, register_more, &caller->at_exit), 0);
  end_by(0, TM_ORDERLY);
  check_trace("second first destruct:3 flush " LEAVES "ends- exit ");
  start_ranks(NULL);
  push(&caller->at_exit, first);
  assert_int_equal(tm_handler_push(&caller->at_exit, exit_again, &how), 0);
  end_by(6, TM_ORDERLY);
  check_trace(LEAVES "failed:3:5 watched ends- exit ");
  free(caller->at_exit);
}

static void handlers_without_memory(void **state) {
  struct tm_handler *list = NULL;
  (void)state;
  memory_is_out = true;
  assert_int_equal(tm_handler_push(&list, note_word, first), -1);
  assert_int_equal(tm_handler_push_status(&list, note_status, first), -1);
  memory_is_out = false;
  assert_null(list);
}

static void the_thread_ends_before_its_rank(void **state) {
  (void)state;
  push(&caller->at_thread_exit, first);
  push(&caller->at_exit, second);
  tm_process_end_thread(caller);
  check_trace("first ");
  end_by(0, TM_ORDERLY);
  check_trace("second destruct:3 flush " LEAVES "ends- exit ");
}

/* ---- other threads of the rank */

/* It ends the rank and sleeps, as it must not return. The rank's own thread is then still there. */
static void a_pthread_calls_exit(void **state) {
  (void)state;
  push(&caller->at_thread_exit, first);
  push(&caller->at_exit, second);
  thread = pthread;
  assert_true(tm_ends_are_clean());
  end_by(0, TM_ORDERLY);
  check_trace("second destruct:3 flush " LEAVES "ends- nap:1 help nap:1 help ");
  assert_false(clean_at_end); /* tmpirun looks then */
  free(caller->at_thread_exit);
}

static void the_first_thread_that_calls_exit_ends_the_rank(void **state) {
  (void)state;
  push(&caller->at_exit, first);
  caller->ending = others;
  end_by(9, TM_ORDERLY);
  check_trace("never never ");
  end_by(9, TM_QUICK);
  check_trace("never never ");
  assert_int_equal(caller->status, 0);
  end_by(0, TM_AT_ONCE); /* it does not wait for handlers */
  check_trace(LEAVES "ends- exit ");
  thread = others;
  end_by(0, TM_ORDERLY); /* the thread comes from the handlers */
  check_trace("never never ");
  free(caller->at_exit);
}

/* The code that it has interrupted is another rank's. */
static void exit_in_a_handler_on_another_thread(void **state) {
  (void)state;
  push(&caller->at_exit, first);
  acts_elsewhere = true;
  is_finalized = false;
  end_by(0x207, TM_ORDERLY);
  check_trace("leave:3 failed:3:7 ended nap:1 help nap:1 help ");
  assert_true(caller->in_handler && caller->not_finalized && caller->left == 1);
  assert_int_equal(caller->status, 7);
  free(caller->at_exit);
}

/* ---- what is said */

static void what_a_failed_rank_has_done(void **state) {
  static const struct {
    int status;
    bool in_handler, not_finalized;
    int result;
    const char *text;
  } rows[] = {
      {4, false, false, 4,
       "tmpirun: rank 3 ended with status 4: the job ends (3 of 4 ranks had not ended)\n "},
      {4, true, false, 4,
       "tmpirun: rank 3 ended with status 4 in a signal handler: the job ends (3 of 4 ranks had "
       "not ended)\n "},
      {0, false, true, 1,
       "tmpirun: rank 3 ended with status 0 without MPI_Finalize(): the job ends (3 of 4 ranks had "
       "not ended)\n "},
      {0, false, false, 1,
       "tmpirun: rank 3 ended with status 0: the job ends (3 of 4 ranks had not ended)\n "},
  };
  (void)state;
  caller->left = 1;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    caller->status = rows[i].status;
    caller->in_handler = rows[i].in_handler;
    caller->not_finalized = rows[i].not_finalized;
    assert_int_equal(tm_report_failure(RANK), rows[i].result);
    check_trace(rows[i].text);
  }
}

static void nothing_is_said_of_a_job_that_ended_right(void **state) {
  (void)state;
  for (int i = 0; i < RANKS; i++) processes[i].left = 1;
  assert_int_equal(tm_report_failure(RANK), 0);
  check_trace("");
  processes[6].left = 0;
  assert_int_equal(tm_report_failure(RANK), 1);
  check_trace("tmpirun: rank 3 ended with status 0: the job ends (1 of 4 ranks had not ended)\n ");
}

/* ---- ranks that end while others continue */

static int keep_others(void **state) {
  of_ranks = NULL;
  tm_ends_keep_others();
  assert_non_null(of_ranks);
  return start_ranks(state);
}

static void a_rank_that_fails_ends_alone(void **state) {
  (void)state;
  end_by(7, TM_ORDERLY);
  check_trace("destruct:3 flush " LEAVES_WITH("silences- ") "failed:3:7 ends- exit ");
  assert_true(caller->own_claim && caller->claimed == 1 && !caller->aborted);
}

/* It is silent from MPI_Finalize() on. */
static void a_rank_waits_for_the_silence_of_others(void **state) {
  (void)state;
  of_ranks->finalize();
  check_trace("silences- silences? ");
  assert_true(caller->own_claim);
  end_by(0, TM_ORDERLY);
  check_trace("destruct:3 flush " LEAVES "ends- exit ");
}

static void a_rank_aborts_itself(void **state) {
  (void)state;
  push(&caller->at_exit, first);
  if (setjmp(left) == 0) of_ranks->end(RANK, 8);
  check_trace(LEAVES_WITH("silences- ") "failed:3:8 ends- exit ");
  assert_true(caller->aborted && caller->status == 8);
  free(caller->at_exit);
}

static void a_rank_aborts_another_one(void **state) {
  struct tm_process *other = &processes[OTHER];
  (void)state;
  assert_false(tm_ends_abandoned());
  for (int again = 0; again < 2; again++) { /* the first time counts */
    of_ranks->end(OTHER, 8);
    check_trace(again ? "" : "silences- ends- ");
  }
  assert_true(tm_ends_abandoned());
  assert_int_equal(ranks[OTHER].stage, TM_ABORTED);
  assert_true(other->claimed == 1 && !other->own_claim && !other->aborted && other->status == 0);
  caller = other; /* whatever it does now: it has ended */
  thread = others;
  end_by(9, TM_ORDERLY);
  check_trace("never never ");
  if (setjmp(left) == 0) of_ranks->finalize();
  check_trace("silences? never never ");
  if (setjmp(left) == 0) of_ranks->end(RANK, 9);
  check_trace("never never ");
  assert_int_equal(processes[RANK].claimed, 1);
  assert_int_equal(ranks[RANK].stage, TM_BEFORE_INIT);
  caller = &processes[RANK];
  thread = own;
  end_by(0, TM_ORDERLY);
  check_trace("destruct:3 flush " LEAVES_WITH("silences- ") "ends- exit ");
}

/* It ends by its own status. */
static void a_rank_that_ends_is_not_aborted(void **state) {
  (void)state;
  processes[OTHER].claimed = 1;
  processes[OTHER].own_claim = true;
  of_ranks->end(OTHER, 8);
  check_trace("");
  assert_int_equal(ranks[OTHER].stage, TM_BEFORE_INIT);
}

#define RANK_TEST(test) cmocka_unit_test_setup_teardown(test, start_ranks, check_handlers)
#define KEPT_TEST(test) cmocka_unit_test_setup_teardown(test, keep_others, check_handlers)

/* Whether threads are left, and whether others continue, is of all ranks of a process: what changes
 * that comes later. */
int main(void) {
  const struct CMUnitTest tests[] = {
      RANK_TEST(ranks_are_counted),
      RANK_TEST(what_runs_at_an_end),
      RANK_TEST(what_runs_at_a_quick_end),
      RANK_TEST(nothing_runs_at_an_end_at_once),
      RANK_TEST(what_a_handler_may_do),
      RANK_TEST(handlers_without_memory),
      RANK_TEST(the_thread_ends_before_its_rank),
      RANK_TEST(a_pthread_calls_exit),
      RANK_TEST(the_first_thread_that_calls_exit_ends_the_rank),
      RANK_TEST(exit_in_a_handler_on_another_thread),
      RANK_TEST(what_a_failed_rank_has_done),
      RANK_TEST(nothing_is_said_of_a_job_that_ended_right),
      KEPT_TEST(a_rank_that_fails_ends_alone),
      KEPT_TEST(a_rank_waits_for_the_silence_of_others),
      KEPT_TEST(a_rank_aborts_itself),
      KEPT_TEST(a_rank_aborts_another_one),
      KEPT_TEST(a_rank_that_ends_is_not_aborted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
