/* SPDX-License-Identifier: Apache-2.0 */
/* Which VPs are awake, and which is woken for what (src/core/sched/wake.c): each step on VPs that
 * nobody runs. */
#define _GNU_SOURCE /* the runtime's headers want it */
#include <string.h>

#include "core/internal/park.h"
#include "core/internal/placement.h"
#include "core/internal/process.h"
#include "core/internal/thread.h"
#include "core/sched/wake.h"
#include "core/wait/park.h"
#include "support/support.h"
#include "support/vp_stage.h"

static struct mltp_thread threads[8];

static struct mltp_thread *thread(int i) {
  memset(&threads[i], 0, sizeof threads[i]);
  return &threads[i];
}

static void check_has(const struct mt_vp *vp, const struct mltp_thread *first) {
  CHECK(vp->runq.inbox == first || (vp->runq.inbox == NULL && vp->runq.head == first));
}

/* ---- falling asleep and being woken */

static void sleepers_wake_last_in_first_out(void) {
  stage(3, 3, 3);
  mt_rt.idle.wake_threshold = 7;
  vps[2].search.searching = 1;
  mt_rt.idle.searching = 1;
  mt_rt.hungry = true;
  CHECK(!mt_vp_sleep_begin(&vps[0]));
  check_counts(2, 1, 0, 1);
  CHECK(mt_rt.sleep.watchdog == &vps[0] && mt_rt.sleep.sleepers == &vps[0]);
  CHECK(!mt_rt.hungry);
  CHECK_EQUAL(vps[0].stats.sleeps, 1);
  check_nobody_roused();
  fall_asleep(1);
  check_nobody_roused();
  CHECK(mt_rt.sleep.watchdog == &vps[0] && mt_rt.sleep.sleepers == &vps[1]);
  CHECK_EQUAL(mt_rt.idle.wake_threshold, 7);
  CHECK_EQUAL(mt_rt.sleep.asleep_since, 0);
  vps[2].sleep.woken_at = 9;
  vps[2].sleep.rests = true;
  CHECK(mt_vp_sleep_begin(&vps[2])); /* the last one */
  check_counts(0, 3, 0, 0);
  CHECK_EQUAL(mt_rt.idle.wake_threshold, 0);
  CHECK_EQUAL(mt_rt.sleep.asleep_since, begin);
  CHECK(vps[2].sleep.woken_at == 0 && !vps[2].sleep.rests);
  CHECK(mt_any_awake_but(NULL) == NULL);
  check_nobody_roused();
  static const int order[] = {2, 1, 0};
  for (int i = 0; i < 3; i++) {
    int vp = order[i];
    check_case("VP %d", vp);
    now += ms;
    mt_wake_one();
    check_counts(i + 1, 2 - (uint32_t)i, 0, 1);
    check_roused(vp, 1);
    check_nobody_roused();
    CHECK(vps[vp].search.searching && vps[vp].sleep.status == MT_VP_AWAKE);
    CHECK_EQUAL(vps[vp].sleep.woken_at, now);
    CHECK_EQUAL(avoided[vp], 1);
    CHECK_EQUAL(mt_rt.sleep.wake_count, i + 1);
    mt_wake_one(); /* that one searches already */
    check_counts(i + 1, 2 - (uint32_t)i, 0, 1);
    check_nobody_roused();
    CHECK(mt_rt.sleep.watchdog == (i < 2 ? &vps[0] : NULL));
    mt_count_searching(&vps[vp], false);
    mt_count_searching(&vps[vp], false);
    check_counts(i + 1, 2 - (uint32_t)i, 0, 0);
    CHECK(mt_any_awake_but(NULL) == &vps[vp]);
    CHECK(mt_any_awake_but(&vps[vp]) == (i == 0 ? NULL : &vps[order[i - 1]]));
  }
  mt_wake_one();
  check_nobody_roused();
}

/* A VP is woken up to the target, and no further than there are CPUs. */
static void no_more_wake_than_may_run(void) {
  for (int ending = 0; ending < 2; ending++)
    for (int target = 0; target <= 3; target++)
      for (int cpus = 0; cpus <= 3; cpus++) {
        stage(3, target, cpus);
        check_case("target %d, CPUs %d, ending %d", target, cpus, ending);
        for (int i = 0; i < 3; i++) fall_asleep(i);
        mt_rt.stopping = (uint32_t)ending;
        for (int i = 0; i < 3; i++) {
          mt_wake_one();
          mt_count_searching(&vps[2 - i], false);
        }
        int most = ending || target < cpus ? target : cpus;
        check_counts(most, 3 - (uint32_t)most, 0, 0);
        for (int i = 0; i < 3; i++) CHECK_EQUAL(avoided[2 - i], i < most && i < cpus);
      }
  stage(3, 3, 3);
  for (int i = 0; i < 3; i++) fall_asleep(i);
  mt_rt.idle.target = 0;
  mt_wake_all();
  check_counts(3, 0, 0, 0);
  for (int i = 0; i < 3; i++) check_roused(i, 1);
}

/* ---- blocked in the kernel */

static void blocked_vps_are_counted(void) {
  stage(3, 2, 3);
  fall_asleep(2);
  CHECK(mt_block(&vps[0])); /* two are left */
  check_counts(1, 1, 1, 0);
  CHECK_EQUAL(vps[0].sleep.status, MT_VP_BLOCKED);
  CHECK(mt_is_blocked(&vps[0]) && !mt_is_blocked(&vps[1]) && !mt_is_blocked(&vps[2]));
  now += ms;
  CHECK(!mt_block(&vps[1]));
  check_counts(0, 1, 2, 0);
  CHECK_EQUAL(mt_rt.sleep.asleep_since, now);
  mt_unblock(&vps[1]);
  mt_unblock(&vps[0]);
  check_counts(2, 1, 0, 0);
  CHECK(vps[0].sleep.status == MT_VP_AWAKE && vps[1].sleep.status == MT_VP_AWAKE);
  check_nobody_roused();
}

static void silent_vps_are_caught_unless_they_move(void) {
  bool spare = false;
  stage(3, 2, 3);
  mt_store_relaxed(&vps[0].points.tick, 5);
  CHECK(!mt_catch(&vps[0], 4, true, &spare)); /* it has moved */
  CHECK(spare);
  check_counts(3, 0, 0, 0);
  CHECK(mt_catch(&vps[0], 5, true, &spare));
  CHECK(spare);
  CHECK_EQUAL(vps[0].sleep.status, MT_VP_CAUGHT);
  CHECK(mt_is_blocked(&vps[0]));
  CHECK_EQUAL(mt_rt.idle.company, 1);
  check_counts(2, 0, 1, 0);
  CHECK(!mt_catch(&vps[0], 5, true, &spare)); /* it is already */
  CHECK(mt_catch(&vps[1], 0, false, &spare));
  CHECK(!spare);
  CHECK_EQUAL(mt_rt.idle.company, 1);
  check_counts(1, 0, 2, 0);
  mt_release(&vps[2]); /* it was not caught */
  check_counts(1, 0, 2, 0);
  mt_release(&vps[0]);
  CHECK_EQUAL(mt_rt.idle.company, 0);
  mt_release(&vps[1]);
  CHECK_EQUAL(mt_rt.idle.company, 0);
  check_counts(3, 0, 0, 0);
  CHECK_EQUAL(mt_rt.sleep.wake_count, 2);
  CHECK(mt_catch(&vps[1], 0, true, &spare));
  fall_asleep(1); /* it is back, and has nothing to do */
  check_counts(2, 1, 0, 0);
  CHECK_EQUAL(mt_rt.idle.company, 0);
  CHECK(mt_catch(&vps[0], 5, true, &spare));
  mt_block(&vps[0]);
  check_counts(1, 1, 1, 0);
  CHECK_EQUAL(mt_rt.idle.company, 0);
}

/* As many as compute may be awake beside them. */
static void the_company_of_vps_that_compute_may_be_as_large(void) {
  stage(4, 1, 1);
  for (int company = 0; company < 4; company++) {
    mt_rt.idle.company = company;
    CHECK_EQUAL(mt_beside_company(2), company > 2 ? company : 2);
    mt_rt.idle.awake = 2;
    CHECK_EQUAL(mt_over_target(), company < 2);
    mt_rt.idle.awake = 1;
    CHECK_EQUAL(mt_may_wake_one(), company > 1);
  }
}

/* ---- the number of VPs */

static void vps_follow_the_target(void) {
  stage(3, 3, 3);
  mt_set_target(3);
  for (int i = 0; i < 3; i++) CHECK_EQUAL(vps[i].runq.claim, 0);
  mt_set_target(2);
  for (int i = 0; i < 3; i++) CHECK_EQUAL(vps[i].runq.claim, MT_CLAIM_PROBE);
  CHECK(mt_over_target());
  fall_asleep(2);
  CHECK(!mt_over_target());
  mt_set_target(2);
  check_nobody_roused();
  mt_set_target(3);
  check_roused(2, 1);
  CHECK_EQUAL(mt_rt.idle.target, 3);
  mt_rt.stopping = 1;
  mt_set_target(1);
  CHECK_EQUAL(mt_rt.idle.target, MT_VPS_MAX);
  mt_awake_add(2);
  CHECK_EQUAL(mt_rt.idle.awake, 5);
}

/* ---- threads for a VP that does not run */

static void posts_wake_a_vp_that_may_wake(void) {
  stage(3, 3, 3);
  fall_asleep(0);
  fall_asleep(1);
  struct mltp_thread *t = thread(0);
  mt_post(&vps[0], t, t); /* the watchdog */
  check_has(&vps[0], t);
  CHECK_EQUAL(vps[0].sleep.status, MT_VP_AWAKE);
  check_roused(0, 1);
  CHECK(mt_rt.sleep.watchdog == NULL);
  check_roused(1, 2); /* to watch, and to look for the thread, as VP 0 may be busy */
  check_counts(3, 0, 0, 1);
}

static void posts_go_elsewhere_if_their_vp_may_not_wake(void) {
  stage(3, 1, 3);
  fall_asleep(0);
  fall_asleep(1);
  struct mltp_thread *t = thread(0);
  mt_post(&vps[0], t, t);
  check_has(&vps[2], t);
  CHECK(vps[0].runq.inbox == NULL);
  check_nobody_roused();
  check_counts(1, 2, 0, 0);
  stage(2, 1, 2); /* the only one awake blocks */
  fall_asleep(1);
  mt_block(&vps[0]);
  mt_rt.idle.searching = 1; /* nobody is woken to search */
  t = thread(0);
  mt_post(&vps[0], t, t);
  check_has(&vps[1], t);
  check_roused(1, 1);
  CHECK_EQUAL(mt_rt.idle.awake, 1);
  stage(2, 2, 2); /* all of them block: it waits for its VP */
  mt_block(&vps[0]);
  mt_block(&vps[1]);
  mt_post(&vps[0], t, t);
  check_has(&vps[0], t);
  stage(2, 1, 2); /* at the end it is main */
  fall_asleep(0);
  mt_rt.idle.target = 0;
  mt_rt.stopping = 1;
  t = thread(0);
  mt_post_whole(&vps[0], t);
  check_has(&vps[0], t);
}

static void ready_threads_are_handed_off(void) {
  struct mltp_thread *t = thread(0), *u = thread(1);
  stage(3, 3, 3);
  mt_vp_hand_off(&vps[0]); /* it has none */
  mt_runq_push(&vps[0], t);
  mt_runq_post(&vps[0], u, u);
  fall_asleep(2);
  mt_vp_hand_off(&vps[0]);
  CHECK(!mt_runq_seems_busy(&vps[0]));
  CHECK_EQUAL(vps[0].runq.inside, 0);
  CHECK_EQUAL(vps[2].sleep.status, MT_VP_AWAKE); /* a sleeper first */
  struct mltp_thread *last, *first = mt_runq_take_inbox(&vps[2], &last);
  CHECK(first == t && first->next == u && last == u && u->next == NULL);
  stage(2, 2, 1);
  mt_runq_push(&vps[0], t);
  mt_vp_hand_off(&vps[0]);
  check_has(&vps[1], t);
  stage(2, 2, 2);
  mt_block(&vps[1]);
  mt_runq_push(&vps[0], t);
  mt_vp_hand_off(&vps[0]); /* nobody can take it */
  check_has(&vps[0], t);
  stage(2, 2, 2);
  mt_rt.stopping = 1;
  mt_runq_push(&vps[0], t);
  mt_vp_hand_off(&vps[0]);
  check_has(&vps[0], t);
}

static void threads_that_wait_are_seen(void) {
  struct mltp_thread *t = thread(0);
  stage(3, 3, 3);
  CHECK(!mt_any_waiting(NULL));
  mt_runq_push(&vps[1], t);
  CHECK(mt_any_waiting(NULL) && mt_any_waiting(&vps[0]) && !mt_any_waiting(&vps[1]));
  mt_rt.poll.keeps = &vps[1]; /* a delivery that its VP runs alone */
  mt_rt.poll.keeps_until = now + 1;
  CHECK(mt_any_waiting(NULL) && !mt_any_waiting(&vps[0]));
  now++;
  CHECK(mt_any_waiting(&vps[0])); /* for long enough */
}

/* ---- what libraries above this one ask for */

static int vp_of(uint32_t number) { return number == 1 ? 9 : (int)number + 1; }

/* Each goes to the VP that is asked for, if there is one that may run it. */
static void threads_are_resumed_on_other_vps(void) {
  static const int homes[] = {1, 0, 0, 2}; /* VP 9 is none, and VP 3 is blocked */
  mltp_waitq_t queue = {0};
  stage(4, 4, 4);
  mt_block(&vps[3]);
  for (int i = 0; i < 4; i++) {
    struct mltp_thread *t = thread(i);
    t->vp = &vps[0];
    t->number = i == 3 ? 1 : (uint32_t)i;
    mt_waitq_append(&queue, t);
  }
  threads[3].vp = &vps[2];
  mti_resume_all_on(&queue, vp_of);
  CHECK(queue.head_ == NULL && queue.tail_ == NULL && queue.count_ == 0);
  for (int vp = 0; vp < 4; vp++) {
    struct mltp_thread *last, *t = mt_runq_take_inbox(&vps[vp], &last);
    for (int i = 0; i < 4; i++) {
      if (homes[i] != vp) continue;
      check_case("thread %d", i);
      CHECK(t == &threads[i] && t->vp == &vps[vp]);
      if (t != NULL) t = t->next;
    }
    CHECK(t == NULL);
  }
}

/* A thread goes home if that VP is awake, and has moved since another was sent there. */
static void a_thread_is_resumed_at_home(void) {
  static const struct {
    int vp, from;
    enum mt_vp_status status;
    uint32_t points;
    bool goes;
  } rows[] = {
      {1, 0, MT_VP_AWAKE, 4, true},    {1, 0, MT_VP_AWAKE, 5, false}, {9, 0, MT_VP_AWAKE, 4, false},
      {1, 0, MT_VP_BLOCKED, 4, false}, {1, 1, MT_VP_AWAKE, 4, true},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    uint32_t points = rows[i].points;
    struct mltp_thread *t = thread(0);
    stage(2, 2, 2);
    check_case("row %zu", i);
    t->vp = &vps[rows[i].from];
    vps[1].points.tick = 5;
    vps[1].sleep.status = rows[i].status;
    mti_resume_on(t, rows[i].vp, &points);
    CHECK(t->vp == &vps[rows[i].goes]);
    check_has(&vps[rows[i].goes], t);
    CHECK_EQUAL(points, rows[i].goes && rows[i].from == 0 ? 5 : rows[i].points);
  }
}

static void a_vp_is_asked_by_its_number(void) {
  stage(2, 2, 2);
  for (int i = 0; i < 2; i++) vps[i].points.tick = 5 + (uint32_t)i;
  CHECK_EQUAL(mti_vp_ticks(0), 5);
  CHECK_EQUAL(mti_vp_ticks(1), 6);
  CHECK_EQUAL(mti_vp_ticks(2), 0);
  CHECK_EQUAL(mti_vp_ticks(-1), 0);
}

/* A kernel thread that no call has made a thread. */
static void no_thread_has_no_number(void) {
  struct mltp_thread *t = thread(0);
  struct mti_whereabouts where = {1, "x", true};
  CHECK_EQUAL(mti_number(), 0);
  CHECK_EQUAL(mti_act_as(7), 0);
  CHECK_EQUAL(mti_number(), 0);
  CHECK(mti_stack_middle() == NULL);
  CHECK(mti_is_only_ready());
  CHECK(!mti_runs_elsewhere(NULL) && !mti_runs_elsewhere(t));
  mt_set_where(t, MT_RUNNING, 1);
  CHECK(mti_runs_elsewhere(t));
  CHECK(!mti_whereabouts(&where, NULL));
  CHECK(where.task == 0 && where.frame == NULL && !where.ready);
}

static bool is_gone;
static int task;

bool __wrap_mt_descriptor_peek(struct mltp_thread *copy, const struct mltp_thread *t);
bool __wrap_mt_descriptor_peek(struct mltp_thread *copy, const struct mltp_thread *t) {
  *copy = *t;
  return !is_gone;
}

int __wrap_mt_task_of(const struct mltp_thread *t);
int __wrap_mt_task_of(const struct mltp_thread *t) { return t != NULL ? task : 0; }

/* On a kernel thread, in a frame of its stack, or neither. */
static void a_thread_is_somewhere(void) {
  static const struct {
    enum mt_state state;
    enum mt_kind kind;
    int task;
    uint8_t special;
    bool has_frame, is_gone, somewhere, ready;
  } rows[] = {{.state = MT_PARKED, .has_frame = true, .somewhere = true},
              {.state = MT_READY, .has_frame = true, .somewhere = true, .ready = true},
              {.state = MT_MAILED, .has_frame = true, .somewhere = true, .ready = true},
              {.state = MT_READY, .has_frame = true, .special = MT_FRESH, .ready = true},
              {.state = MT_PARKED},
              {.state = MT_RUNNING, .has_frame = true},
              {.state = MT_RUNNING, .has_frame = true, .task = 77, .somewhere = true},
              {.state = MT_PARKED, .has_frame = true, .kind = MT_BOUND, .task = 77},
              {.state = MT_PARKED, .has_frame = true, .is_gone = true, .task = 77}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct mltp_thread *t = thread(0);
    struct mti_whereabouts where = {1, "x", true};
    check_case("row %zu", i);
    t->kind = (uint8_t)rows[i].kind;
    t->special = rows[i].special;
    t->context.bp = rows[i].has_frame ? &where : NULL;
    mt_set_where(t, rows[i].state, 1);
    task = rows[i].task;
    is_gone = rows[i].is_gone;
    CHECK_EQUAL(mti_whereabouts(&where, t), rows[i].somewhere);
    bool known = rows[i].kind == MT_UNBOUND && !rows[i].is_gone;
    CHECK_EQUAL(where.task, known ? rows[i].task : 0);
    CHECK_EQUAL(where.ready, rows[i].ready);
    CHECK(where.frame == (rows[i].somewhere && rows[i].task == 0 ? &where : NULL));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(sleepers_wake_last_in_first_out),
      TEST_BARE(no_more_wake_than_may_run),
      TEST_BARE(blocked_vps_are_counted),
      TEST_BARE(silent_vps_are_caught_unless_they_move),
      TEST_BARE(the_company_of_vps_that_compute_may_be_as_large),
      TEST_BARE(vps_follow_the_target),
      TEST_BARE(posts_wake_a_vp_that_may_wake),
      TEST_BARE(posts_go_elsewhere_if_their_vp_may_not_wake),
      TEST_BARE(ready_threads_are_handed_off),
      TEST_BARE(threads_that_wait_are_seen),
      TEST_BARE(threads_are_resumed_on_other_vps),
      TEST_BARE(a_thread_is_resumed_at_home),
      TEST_BARE(a_vp_is_asked_by_its_number),
      TEST_BARE(no_thread_has_no_number),
      TEST_BARE(a_thread_is_somewhere),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
