/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gangs of nonblocking collectives and the workers that perform them, step by step
 * (src/tmpi/coll/gang.c, worker.c): when a gang is complete, in which order gangs are handed out
 * and how many, and when a worker is made and ends. One thread plays all ranks and their workers.
 */
#include <errno.h>
#include <mltp/mltp.h>
#include <stdlib.h>

#include "core/internal/park.h"
#include "core/internal/placement.h"
#include "counted_blocks.h"
#include "internal_locks.h"
#include "tmpi/coll/gang.h"
#include "tmpi/error/errors.h"
#include "tmpi/rank/worker.h"
#include "traced_calls.h"

enum { RANKS = 1200, HANDED_OUT_MAX = 1024, CONTEXT = 70 };

struct tm_job tm_job;
static struct tm_rank ranks[RANKS];
static int blocks_of_table;
static bool enters = true;
static void (*meanwhile)(void); /* what others do while a worker is parked, once */
static jmp_buf after_panic;
static char panic[100];

/* ---- threads */

static void *(*worker_of)(void *);
static int failures; /* of mltp_create() to come */
static void (*at_failure)(void);

int mltp_create(mltp_t **thread, const mltp_attr_t *attr, void *(*function)(void *), void *rank) {
  assert_true(thread == NULL && attr->detached == 1 && attr->name != NULL);
  note("creates%d", (int)((struct tm_rank *)rank - ranks));
  worker_of = function;
  if (failures == 0) return 0;
  failures--;
  if (at_failure != NULL) at_failure();
  return ENOMEM;
}

mltp_t *mltp_self(void) { return (mltp_t *)&worker_of; }
void mltp_yield(void) { note("yields"); }

void mti_park_unlock(uint32_t *lock, const char *text) {
  void (*others)(void) = meanwhile;
  assert_true(text != NULL && others != NULL);
  meanwhile = NULL;
  mti_unlock(lock);
  note("parks");
  others();
}

void mti_resume_on(struct mltp_thread *t, int vp, uint32_t *ticks) {
  assert_true(t == (void *)&worker_of && vp == 3 && ticks != NULL && locked == 0);
  note("resumes");
}

int tm_rank_enter(int number) {
  note("enters%d", number);
  return enters ? 0 : ENOMEM;
}

void tm_panic(const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(panic, sizeof panic, format, list);
  va_end(list);
  longjmp(after_panic, 1);
}

/* ---- tasks */

struct part {
  struct tm_task task;
  struct tm_request request;
  struct tm_comm comm;
};

static bool quiet;          /* tasks note nothing */
static int unprepared = -1; /* the rank whose task gets no memory */
static void (*at_prepare)(void);

bool tm_task_prepare(struct tm_task *task) {
  int number = (int)(task->rank - ranks);
  void (*others)(void) = at_prepare;
  at_prepare = NULL;
  assert_int_equal(locked, 0);
  if (others != NULL) others();
  if (!quiet) note("prepares%d", number);
  return number != unprepared;
}

void tm_task_perform(struct tm_task *task) {
  note("performs%d.%d", (int)(task->rank - ranks), task->number);
}

void tm_task_fail(struct tm_task *task, int error) {
  assert_int_equal(error, MPI_ERR_NO_MEM);
  note("fails%d", (int)(task->rank - ranks));
  tm_gang_leave(task->gang);
}

/* The tasks of ranks first to first + size - 1, of one collective. */
static struct part *parts_of(int first, int size, int number) {
  struct part *parts = calloc((size_t)size, sizeof *parts);
  struct tm_group *group = calloc(1, sizeof *group + (size_t)size * sizeof(int));
  group->size = size;
  for (int i = 0; i < size; i++) {
    group->ranks[i] = first + i;
    parts[i].comm = (struct tm_comm){.size = size, .group = group, .remote = group};
    parts[i].request.comm = &parts[i].comm;
    parts[i].task = (struct tm_task){.rank = &ranks[first + i],
                                     .context = CONTEXT,
                                     .number = number,
                                     .request = &parts[i].request};
  }
  return parts;
}

static void drop_parts(struct part *parts) {
  free(parts[0].comm.group);
  free(parts);
}

static void arrive(struct part *parts, int size) {
  for (int i = 0; i < size; i++) assert_true(tm_gang_arrive(&parts[i].task));
}

static void leave(struct part *parts, int size) {
  struct tm_gang *gang = parts[0].task.gang;
  for (int i = 0; i < size; i++) tm_gang_leave(gang);
}

static bool is_handed_out(const struct part *parts) {
  return parts[0].task.rank->worker.first != NULL;
}

static int start(void **state) {
  (void)state;
  memset(ranks, 0, sizeof ranks);
  for (int i = 0; i < RANKS; i++) {
    ranks[i].number = i;
    ranks[i].stage = TM_INITIALIZED;
    ranks[i].box.home = 3;
  }
  memory_is_out = quiet = false;
  enters = true;
  unprepared = -1;
  failures = 0;
  trace[0] = '\0';
  return 0;
}

static int end(void **state) {
  (void)state;
  assert_int_equal(blocks, blocks_of_table);
  assert_int_equal(locked, 0);
  return 0;
}

/* The table of gangs keeps the room that it has got once. */
static int grow_table(void **state) {
  enum { GANGS = 8 };
  struct part *parts[GANGS];
  start(state);
  for (int i = 0; i < GANGS; i++) {
    parts[i] = parts_of(2 * i, 2, 0);
    arrive(parts[i], 1);
  }
  for (int i = 0; i < GANGS; i++) {
    tm_gang_arrive(&parts[i][1].task);
    leave(parts[i], 2);
    drop_parts(parts[i]);
  }
  blocks_of_table = blocks;
  return 0;
}

/* ---- gangs */

static void the_last_member_makes_a_gang_ready(void **state) {
  struct part *parts = parts_of(4, 3, 0);
  (void)state;
  arrive(parts, 2);
  check_trace("");
  assert_ptr_equal(parts[0].task.gang, parts[1].task.gang);
  assert_true(tm_gang_arrive(&parts[2].task));
  check_trace("prepares6 prepares5 prepares4 ");
  for (int i = 0; i < 3; i++) assert_ptr_equal(ranks[4 + i].worker.first, &parts[i].task);
  leave(parts, 3);
  drop_parts(parts);
}

/* Members of disjoint groups may have computed one context. */
static void groups_of_one_context_have_gangs_of_their_own(void **state) {
  struct part *low = parts_of(0, 2, 0), *high = parts_of(2, 2, 0), *next = parts_of(0, 2, 1);
  (void)state;
  next[0].task.context = next[1].task.context = CONTEXT + 2;
  assert_true(tm_gang_arrive(&low[0].task));
  assert_true(tm_gang_arrive(&high[0].task));
  assert_true(tm_gang_arrive(&next[1].task));
  assert_true(low[0].task.gang != high[0].task.gang && low[0].task.gang != next[1].task.gang);
  check_trace("");
  assert_true(tm_gang_arrive(&high[1].task));
  check_trace("prepares3 prepares2 ");
  assert_true(tm_gang_arrive(&low[1].task));
  assert_true(tm_gang_arrive(&next[0].task));
  check_trace("prepares1 prepares0 prepares0 prepares1 ");
  leave(low, 2);
  leave(high, 2);
  leave(next, 2);
  drop_parts(low);
  drop_parts(high);
  drop_parts(next);
}

static void both_groups_of_an_intercommunicator_are_one_gang(void **state) {
  struct part *low = parts_of(0, 2, 0), *high = parts_of(2, 2, 0);
  (void)state;
  for (int i = 0; i < 2; i++) {
    low[i].comm.inter = high[i].comm.inter = true;
    low[i].comm.remote = high[i].comm.group;
    high[i].comm.remote = low[i].comm.group;
  }
  arrive(high, 2);
  assert_true(tm_gang_arrive(&low[0].task));
  check_trace("");
  assert_true(tm_gang_arrive(&low[1].task));
  check_trace("prepares1 prepares0 prepares3 prepares2 ");
  leave(high, 4);
  drop_parts(low);
  drop_parts(high);
}

static void a_gang_without_memory_is_an_error_of_its_member(void **state) {
  struct part *parts = parts_of(0, 1, 0);
  (void)state;
  memory_is_out = true;
  assert_false(tm_gang_arrive(&parts[0].task));
  memory_is_out = false;
  arrive(parts, 1);
  check_trace("prepares0 ");
  leave(parts, 1);
  drop_parts(parts);
}

/* ---- the pump */

static void few_members_are_handed_out_at_a_time(void **state) {
  struct part *first = parts_of(0, 600, 0), *second = parts_of(600, 424, 0),
              *third = parts_of(1100, 1, 0), *large = parts_of(0, HANDED_OUT_MAX + 1, 1);
  (void)state;
  quiet = true;
  arrive(first, 600);
  arrive(second, 424);
  assert_true(is_handed_out(first) && is_handed_out(second));
  arrive(third, 1);
  assert_false(is_handed_out(third));
  leave(first, 599);
  assert_false(is_handed_out(third));
  tm_gang_leave(first[0].task.gang);
  assert_true(is_handed_out(third));
  ranks[0].worker = ranks[1].worker = (struct tm_worker){0};
  large[0].task.context = CONTEXT + 2;
  for (int i = 0; i <= HANDED_OUT_MAX; i++) large[i].task.context = CONTEXT + 2;
  arrive(large, HANDED_OUT_MAX + 1);
  assert_false(is_handed_out(large));
  leave(second, 424);
  assert_false(is_handed_out(large));
  leave(third, 1);
  assert_true(is_handed_out(large)); /* alone */
  leave(large, HANDED_OUT_MAX + 1);
  drop_parts(first);
  drop_parts(second);
  drop_parts(third);
  drop_parts(large);
}

static struct part *later[2];

static void complete_two(void) {
  for (int i = 0; i < 2; i++) {
    arrive(later[i], 2);
    check_trace(""); /* the thread that hands out is busy */
  }
}

static void one_thread_hands_out_at_a_time(void **state) {
  struct part *first = parts_of(0, 2, 0);
  (void)state;
  later[0] = parts_of(2, 2, 0);
  later[1] = parts_of(4, 2, 0);
  at_prepare = complete_two;
  arrive(first, 2);
  check_trace("prepares1 prepares0 prepares3 prepares2 prepares5 prepares4 ");
  leave(first, 2);
  for (int i = 0; i < 2; i++) {
    leave(later[i], 2);
    drop_parts(later[i]);
  }
  drop_parts(first);
}

static void all_members_get_the_error_of_the_first_one(void **state) {
  struct part *parts = parts_of(0, 3, 0);
  (void)state;
  unprepared = 2;
  arrive(parts, 3);
  check_trace("prepares2 fails2 fails1 fails0 ");
  assert_false(is_handed_out(parts));
  drop_parts(parts);
}

/* Others have the first one's data by then: it is prepared. */
static void memory_that_ends_in_between_ends_the_job(void **state) {
  struct part *parts = parts_of(0, 3, 0);
  (void)state;
  unprepared = 1;
  panic[0] = '\0';
  if (setjmp(after_panic) == 0) arrive(parts, 3);
  assert_string_equal(panic,
                      "no memory for the 3 members of a nonblocking collective (fewer ranks)");
  check_trace("prepares2 prepares1 ");
  free(parts[0].task.gang);
  drop_parts(parts);
}

/* ---- workers */

static void a_rank_has_one_worker(void **state) {
  (void)state;
  assert_true(tm_worker_claim(&ranks[7]));
  assert_true(tm_worker_claim(&ranks[7]));
  check_trace("creates7 ");
  assert_int_equal(ranks[7].worker.outstanding, 2);
  tm_worker_done(&ranks[7]);
  assert_int_equal(ranks[7].worker.outstanding, 1);
}

static void a_worker_that_cannot_be_created_is_an_error(void **state) {
  (void)state;
  failures = 1;
  assert_false(tm_worker_claim(&ranks[7]));
  check_trace("creates7 ");
  assert_true(ranks[7].worker.outstanding == 0 && !ranks[7].worker.exists);
  assert_true(tm_worker_claim(&ranks[7]));
  check_trace("creates7 ");
}

static void claim_too(void) {
  at_failure = NULL;
  assert_true(tm_worker_claim(&ranks[7]));
}

/* Another thread's task waits for the worker by then, so it has to come. */
static void a_worker_that_others_rely_on_is_created_later(void **state) {
  (void)state;
  failures = 3;
  at_failure = claim_too;
  assert_false(tm_worker_claim(&ranks[7]));
  check_trace("creates7 creates7 yields creates7 yields creates7 ");
  assert_true(ranks[7].worker.outstanding == 1 && ranks[7].worker.exists);
}

static struct part *work;

static void push_more(void) {
  for (int i = 0; i < 2; i++) {
    work[1 + i].task.rank = &ranks[7];
    tm_worker_push(&work[1 + i].task);
    check_trace(i == 0 ? "enters7 performs7.0 parks resumes " : "");
  }
  meanwhile = NULL;
}

static void end_rank(void) {
  ranks[7].stage = 0;
  tm_worker_done(&ranks[7]);
  check_trace("performs7.1 performs7.2 parks ");
  tm_worker_end(&ranks[7]);
  check_trace("resumes ");
}

static void push_then_end(void) {
  push_more();
  meanwhile = end_rank;
}

static void a_worker_performs_tasks_in_their_order_until_the_rank_ends(void **state) {
  (void)state;
  work = parts_of(7, 3, 0);
  for (int i = 0; i < 3; i++) work[i].task.number = i;
  assert_true(tm_worker_claim(&ranks[7]));
  check_trace("creates7 ");
  work[0].task.next = &work[2].task; /* as in its gang, where another member's task follows */
  tm_worker_push(&work[0].task);
  meanwhile = push_then_end;
  assert_null(worker_of(&ranks[7]));
  check_trace("");
  assert_false(ranks[7].worker.exists);
  assert_null(ranks[7].worker.last);
  tm_worker_end(&ranks[7]); /* there is none */
  check_trace("");
  drop_parts(work);
}

static void finish_last(void) {
  tm_worker_done(&ranks[7]);
  tm_worker_end(&ranks[7]);
}

/* The rank is at its end, but a task of its is outstanding. */
static void a_worker_stays_while_tasks_are_outstanding(void **state) {
  (void)state;
  assert_true(tm_worker_claim(&ranks[7]));
  ranks[7].stage = 0;
  meanwhile = finish_last;
  assert_null(worker_of(&ranks[7]));
  check_trace("creates7 enters7 parks resumes ");
}

static void a_worker_without_a_number_ends_the_job(void **state) {
  (void)state;
  enters = false;
  panic[0] = '\0';
  if (setjmp(after_panic) == 0) worker_of(&ranks[7]);
  assert_string_equal(panic, "rank 7: a thread for nonblocking collectives has no number");
}

#define GANGS(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void) {
  const struct CMUnitTest tests[] = {
      GANGS(the_last_member_makes_a_gang_ready),
      GANGS(groups_of_one_context_have_gangs_of_their_own),
      GANGS(both_groups_of_an_intercommunicator_are_one_gang),
      GANGS(a_gang_without_memory_is_an_error_of_its_member),
      GANGS(few_members_are_handed_out_at_a_time),
      GANGS(one_thread_hands_out_at_a_time),
      GANGS(all_members_get_the_error_of_the_first_one),
      GANGS(a_rank_has_one_worker),
      GANGS(a_worker_that_cannot_be_created_is_an_error),
      GANGS(a_worker_that_others_rely_on_is_created_later),
      GANGS(a_worker_performs_tasks_in_their_order_until_the_rank_ends),
      GANGS(a_worker_stays_while_tasks_are_outstanding),
      GANGS(a_worker_without_a_number_ends_the_job),
      GANGS(memory_that_ends_in_between_ends_the_job), /* the pump is busy from then on */
  };
  return cmocka_run_group_tests(tests, grow_table, NULL);
}
