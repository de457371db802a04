/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members of a team that spin before they park, step by step (src/tmpi/coll/pair.c,
 * barrier_spin.c): the other member comes before they look, while they spin, when they take the
 * lock, or when they are parked. One thread plays both.
 */
#include "core/internal/locks.h"
#include "tmpi/coll/phase.h"
#include "traced_calls.h"

struct tm_job tm_job;
static struct tm_rank ranks[2];
static struct tm_comm comms[2];
static struct tm_coll colls[2];
static struct tm_pair pair;
static struct {
  struct tm_team team;
  struct tm_vp_group vp_group;
} made;
static struct tm_team_barrier *const barrier = &made.vp_group.barrier;
static bool locked, is_alone;
/* What the other member does when the caller comes to that, once. */
static void (*at_spin)(void), (*at_lock)(void), (*at_park)(void);

/* ---- the core */

static void meanwhile(void (**others)(void)) {
  void (*now)(void) = *others;
  *others = NULL;
  if (now != NULL) now();
}

void mti_lock(uint32_t *lock) {
  assert_true(lock == &barrier->queue.ilock_);
  meanwhile(&at_lock);
  assert_false(locked);
  locked = true;
}

void mti_unlock(uint32_t *lock) {
  assert_true(lock == &barrier->queue.ilock_ && locked);
  locked = false;
}

void mti_wait_unlock(mltp_waitq_t *queue, const char *text) {
  assert_ptr_equal(queue, &barrier->queue);
  assert_string_equal(text, "MPI_Xyz");
  mti_unlock(&queue->ilock_);
  note("parks");
  assert_non_null(at_park); /* or it would park for all times */
  meanwhile(&at_park);
}

void mti_resume_all(mltp_waitq_t *queue) {
  assert_ptr_equal(queue, &barrier->queue);
  note("resumes%s", locked ? "" : "-unlocked");
}

void mti_resume_all_on(mltp_waitq_t *queue, int (*vp_of)(uint32_t number)) {
  assert_ptr_equal(queue, &barrier->queue);
  note("resumes-on%d,%d,%d", vp_of(0), vp_of(1), vp_of(7));
}

void mti_preempt(const char *call) {
  assert_string_equal(call, "MPI_Xyz");
  note("point");
}

bool mti_is_only_ready(void) { return is_alone; }
uint32_t mti_vp_ticks(int vp) { return vp == 0 ? 0 : 1; }
bool mti_runs_elsewhere(const struct mltp_thread *t) {
  return t != NULL;
} /* it is not known which */
mltp_t *mltp_self(void) { return NULL; }

/* ---- ranks */

bool tm_spin(bool (*ended)(const void *), const void *what, const struct tm_rank *waker) {
  assert_true(waker == NULL && !locked);
  note("spins");
  meanwhile(&at_spin);
  return ended(what);
}

void tm_deferred_release(struct tm_rank *rank) { fail_msg("%d", rank->number); }
void tm_user_code_take(struct tm_rank *rank) { fail_msg("%d", rank->number); }
bool tm_user_code_lend_slow(struct tm_rank *rank) {
  fail_msg("%d", rank->number);
  return false;
}

static int start(void **state) {
  (void)state;
  memset(&made, 0, sizeof made);
  memset(&pair, 0, sizeof pair);
  made.team.pair = &pair;
  *barrier = (struct tm_team_barrier){.members = 2, .missing = 2, .spins = true};
  made.vp_group.releases = 1000; /* nobody moves home */
  for (int i = 0; i < 2; i++) {
    ranks[i].number = i;
    comms[i] = (struct tm_comm){
        .rank = i, .size = 2, .owner = &ranks[i], .team = &made.team, .vp_group = &made.vp_group};
    colls[i] = (struct tm_coll){.comm = &comms[i], .call = "MPI_Xyz"};
  }
  tm_job = (struct tm_job){.wait = TM_WAIT_SPIN};
  at_spin = at_lock = at_park = NULL;
  trace[0] = '\0';
  return 0;
}

static int end(void **state) {
  (void)state;
  assert_true(at_spin == NULL && at_lock == NULL && at_park == NULL);
  return locked;
}

/* ---- a pair */

static void second_comes(void) {
  note("[");
  tm_pair_meet(&colls[1]);
  note("]");
}

static void the_second_of_a_pair_waits_for_nobody(void **state) {
  (void)state;
  at_spin = second_comes;
  tm_pair_meet(&colls[0]);
  check_trace("point spins [ point ] ");
}

static void a_pair_meets_when_the_second_takes_long(void **state) {
  (void)state;
  at_park = second_comes;
  tm_pair_meet(&colls[0]);
  check_trace("point spins parks [ point resumes ] ");
  assert_int_equal(barrier->epoch, 1);
  at_spin = second_comes; /* no bit is left from that */
  tm_pair_meet(&colls[0]);
  check_trace("point spins [ point ] ");
}

static void a_member_that_comes_before_the_park_is_seen(void **state) {
  (void)state;
  at_lock = second_comes;
  tm_pair_meet(&colls[0]);
  check_trace("point spins [ point ] ");
}

/* Others want its VP. */
static void a_member_that_may_not_spin_parks(void **state) {
  (void)state;
  tm_job.wait = TM_WAIT_CONSCIOUS;
  at_park = second_comes;
  tm_pair_meet(&colls[0]);
  check_trace("point parks [ point resumes ] ");
  tm_job.vp_count = 1;
  is_alone = true;
  at_spin = second_comes;
  tm_pair_meet(&colls[0]);
  is_alone = false;
  check_trace("point spins [ point ] ");
}

/* Phases are counted modulo 256, and two sets of sides alternate. */
static void a_pair_meets_any_number_of_times(void **state) {
  (void)state;
  for (int phase = 1; phase <= 600; phase++) {
    int first = phase % 3 == 0;
    char *data = pair.sides[phase % 2][0].data;
    assert_ptr_equal(tm_pair_data_next(&colls[0]), data);
    if (first == 0) {
      at_spin = second_comes;
      tm_pair_meet(&colls[0]);
    } else {
      pair.sides[phase % 2][0].word = 2u * (uint8_t)phase; /* rank 0 has come */
      tm_pair_meet(&colls[1]);
      comms[0].phases++;
    }
    assert_int_equal(comms[0].phases, phase % 256);
    assert_int_equal(comms[1].phases, phase % 256);
    assert_int_equal(pair.sides[phase % 2][1].word, 2 * (phase % 256));
    trace[0] = '\0';
  }
}

/* ---- barriers */

static void release(void) {
  note("[");
  tm_team_barrier_release(barrier, false);
  note("]");
}

static void wait_at_barrier(void) {
  mti_lock(&barrier->queue.ilock_);
  tm_team_barrier_spin(barrier, &colls[0]);
  assert_false(locked);
}

static void a_barrier_opens_while_a_member_spins(void **state) {
  (void)state;
  barrier->epoch = UINT32_MAX;
  at_spin = release;
  wait_at_barrier();
  check_trace("spins [ resumes ] ");
  assert_int_equal(barrier->epoch, 0);
}

static void take_lock_later(void) { at_lock = release; }

static void a_barrier_that_opens_before_the_park_is_seen(void **state) {
  (void)state;
  at_spin = take_lock_later;
  wait_at_barrier();
  check_trace("spins [ resumes ] ");
}

static void a_member_parks_until_a_barrier_opens(void **state) {
  (void)state;
  at_park = release;
  wait_at_barrier();
  check_trace("spins parks [ resumes ] ");
  tm_job.wait = TM_WAIT_CONSCIOUS;
  at_park = release;
  wait_at_barrier();
  check_trace("parks [ resumes ] ");
}

/* By the number of a thread: its rank and one, 0 for others. */
static void members_continue_at_home_or_where_they_are(void **state) {
  (void)state;
  tm_job.vp_count = 4;
  tm_job.local = 8;
  tm_team_barrier_release(barrier, true);
  check_trace("resumes-on-1,0,3 ");
  barrier->spins = false; /* then no other can come, and no lock is needed */
  tm_team_barrier_release(barrier, false);
  tm_team_barrier_release(barrier, true);
  check_trace("resumes-unlocked resumes-on-1,0,3 ");
  assert_int_equal(barrier->epoch, 1);
}

#define WAITS(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void) {
  const struct CMUnitTest tests[] = {
      WAITS(the_second_of_a_pair_waits_for_nobody),
      WAITS(a_pair_meets_when_the_second_takes_long),
      WAITS(a_member_that_comes_before_the_park_is_seen),
      WAITS(a_member_that_may_not_spin_parks),
      WAITS(a_pair_meets_any_number_of_times),
      WAITS(a_barrier_opens_while_a_member_spins),
      WAITS(a_barrier_that_opens_before_the_park_is_seen),
      WAITS(a_member_parks_until_a_barrier_opens),
      WAITS(members_continue_at_home_or_where_they_are),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
