/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of a rank that call MPI although the program asked for a lower level
 * (src/tmpi/check/threads.c). One thread plays all of them: main_thread has initialized MPI, the
 * others belong to the program or to the library.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <mltp/mltp.h>

#include "core/internal/thread.h"
#include "said.h"
#include "tmpi/rank/rank.h"

enum { RANKS = 3, RANK = 1 };

const char *const tm_calls[] = {"MPI_Abi_get_info", "MPI_Abort",        "MPI_Add_error_class",
                                "MPI_Error_class",  "MPI_Finalize",     "MPI_Finalized",
                                "MPI_Get_version",  "MPI_Info_create",  "MPI_Initialized",
                                "MPI_Query_thread", "MPI_Recv",         "MPI_Remove_error_class",
                                "MPI_Send",         "MPI_Session_init", "MPI_T_init_thread"};
enum { FINALIZE = 4, RECV = 10, SEND = 12, ALL = 15 };
const int tm_call_count = ALL;

/* ---- the rest of the library */

struct tm_job tm_job;
static struct tm_rank rank;
static alignas(16) char threads[3];
static const void *current;
static bool of_library; /* the current thread */

struct tm_rank *tm_rank_self(void) { return &rank; }
mltp_t *mltp_self(void) { return (mltp_t *)(uintptr_t)current; }
bool mti_is_foreign(void) { return current != &threads[0] && !of_library; }

static void *tables[2]; /* that the job has for its whole life */
static int table_count, allocations_left = -1;

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size) {
  if (allocations_left-- == 0) return NULL;
  return tables[table_count++] = __real_calloc(count, size);
}

static void free_tables(void) {
  while (table_count > 0) free(tables[--table_count]);
}

void tm_describe(char text[TM_CALL_TEXT], const struct tm_seen *seen) {
  snprintf(text, TM_CALL_TEXT, "%s #%d", tm_calls[seen->call], seen->tag);
}

/* The job starts, with one rank that has initialized MPI. */
static void start(int level) {
  tm_job.most = RANKS;
  free_tables();
  assert_true(tm_threads_start());
  rank = (struct tm_rank){.thread = (struct mltp_thread *)&threads[0], .thread_level = level};
  of_library = false;
}

/* A thread comes into a call. */
static struct tm_seen begin(int thread, int call, int number) {
  struct tm_seen seen = {.rank = RANK, .call = call, .tag = number};
  current = &threads[thread];
  tm_threads_begin(&seen);
  return seen;
}

static void end(int thread, const struct tm_seen *seen) {
  current = &threads[thread];
  tm_threads_end(seen);
}

static void makes(int thread, int call, int number) {
  struct tm_seen seen = begin(thread, call, number);
  end(thread, &seen);
}

static void one_thread_below_serialized(void **state) {
  (void)state;
  static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED};
  static const char *const names[] = {"SINGLE", "FUNNELED"};
  for (int i = 0; i < 2; i++) {
    char expected[300];
    start(levels[i]);
    makes(0, SEND, 1);
    makes(0, FINALIZE, 2);
    check_said("");
    sprintf(expected,
            "!rank 1: a thread that has not initialized MPI calls MPI_Recv #3, and the program has "
            "MPI_THREAD_%s (MPI_Init_thread() with MPI_THREAD_SERIALIZED or "
            "MPI_THREAD_MULTIPLE)\n",
            names[i]);
    struct tm_seen seen = begin(0, SEND, 1);
    makes(1, RECV, 3); /* that another one is in a call adds nothing */
    end(0, &seen);
    check_said(expected);
    makes(1, RECV, 4); /* the first such call of a rank is enough */
    check_said("");
    struct tm_seen other = {.rank = RANK + 1, .call = RECV, .tag = 5};
    tm_threads_begin(&other);
    assert_true(said[0] != '\0');
    said[0] = '\0';
  }
}

static void calls_that_any_thread_may_make(void **state) {
  (void)state;
  for (int call = 0; call < ALL; call++) {
    start(MPI_THREAD_SINGLE);
    makes(1, call, 1);
    assert_true((said[0] != '\0') == (call == FINALIZE || call == RECV || call == SEND));
    said[0] = '\0';
  }
}

/* Such as a thread that performs a nonblocking collective and calls an operation of the program. */
static void threads_of_the_library_may_call(void **state) {
  (void)state;
  start(MPI_THREAD_FUNNELED);
  of_library = true;
  makes(1, RECV, 1);
  of_library = false;
  rank.thread = NULL; /* before MPI_Init() */
  makes(1, RECV, 2);
  check_said("");
  start(MPI_THREAD_SERIALIZED);
  struct tm_seen seen = begin(0, SEND, 1);
  of_library = true;
  makes(1, RECV, 2);
  of_library = false;
  check_said("");
  makes(2, RECV, 3); /* the main thread is still in its call */
  assert_non_null(strstr(said, "calls MPI_Recv #3 while another one is in MPI_Send #1"));
  said[0] = '\0';
  end(0, &seen);
}

static void one_thread_at_a_time(void **state) {
  (void)state;
  start(MPI_THREAD_SERIALIZED);
  for (int thread = 0; thread < 3; thread++) makes(thread, RECV, thread);
  struct tm_seen outer = begin(1, RECV, 3), inner = begin(1, SEND, 4); /* by a callback */
  end(1, &inner);
  check_said("");
  struct tm_seen late = begin(2, SEND, 5);
  check_said(
      "!rank 1: a thread calls MPI_Send #5 while another one is in MPI_Recv #3, and the "
      "program has MPI_THREAD_SERIALIZED (MPI_Init_thread() with MPI_THREAD_MULTIPLE)\n");
  end(2, &late); /* the other one is still in its call */
  makes(2, SEND, 6);
  check_said("");
  start(MPI_THREAD_SERIALIZED);
  outer = begin(1, RECV, 3);
  end(1, &outer);
  makes(2, SEND, 4);
  check_said("");
  outer = begin(1, RECV, 7);
  makes(0, SEND, 8); /* the main thread may not either */
  assert_non_null(strstr(said, "calls MPI_Send #8 while another one is in MPI_Recv #7"));
  said[0] = '\0';
  start(MPI_THREAD_MULTIPLE);
  outer = begin(1, RECV, 3);
  makes(0, SEND, 4);
  end(1, &outer);
  check_said("");
}

static void one_thread_finalizes_at_any_level(void **state) {
  (void)state;
  static const int levels[] = {MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};
  for (int i = 0; i < 2; i++) {
    start(levels[i]);
    makes(0, FINALIZE, 1);
    check_said("");
    makes(1, FINALIZE, 2);
    check_said(
        "!rank 1: a thread that has not initialized MPI calls MPI_Finalize #2 (the thread "
        "that has calls it)\n");
  }
}

static void without_memory_the_job_does_not_start(void **state) {
  (void)state;
  for (int fails = 0; fails < 2; fails++) {
    free_tables();
    allocations_left = fails;
    assert_false(tm_threads_start());
  }
  free_tables();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_thread_below_serialized),
      cmocka_unit_test(calls_that_any_thread_may_make),
      cmocka_unit_test(threads_of_the_library_may_call),
      cmocka_unit_test(one_thread_at_a_time),
      cmocka_unit_test(one_thread_finalizes_at_any_level),
      cmocka_unit_test(without_memory_the_job_does_not_start),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
