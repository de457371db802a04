/* SPDX-License-Identifier: Apache-2.0 */
/* Run queues, inboxes and thefts (src/core/sched/runq.c, runq_steal.c, steal.c): each step on VPs
 * that nobody runs. */
#define _GNU_SOURCE /* the runtime's headers want it */
#include <string.h>

#include "core/sched/runq.h"
#include "core/sched/runq_steal.h"
#include "core/sched/steal.h"
#include "core/sched/wake.h"
#include "core/vp/locality.h"
#include "core/vp/tuned.h"
#include "support/support.h"
#include "support/vp_stage.h"

enum { THREADS = 80, WAIT_NS = 1000, FEW = 6 };

static struct mltp_thread threads[THREADS];

static void stage_threads(int count, int high) {
  stage(count, count, count);
  memset(threads, 0, sizeof threads);
  for (int i = 0; i < THREADS; i++) threads[i].special = high == i ? MT_HIGH : 0;
}

/* Links threads from..to by next. @return the first. */
static struct mltp_thread *chain(int from, int to) {
  for (int i = from; i < to; i++) threads[i].next = i + 1 < to ? &threads[i + 1] : NULL;
  return &threads[from];
}

static void push(int vp, int from, int to) {
  for (int i = from; i < to; i++) mt_runq_push(&vps[vp], &threads[i]);
}

/* The list of a VP: these threads, -1 after the last, linked both ways and ready there. */
static void check_list(int vp, const int *expected) {
  const struct mt_runq *q = &vps[vp].runq;
  const struct mltp_thread *before = NULL, *t = q->head;
  uint32_t length = 0;
  for (; *expected >= 0; expected++, length++) {
    CHECK(t == &threads[*expected]);
    if (t != &threads[*expected]) return;
    CHECK(t->prev == before);
    CHECK(mt_is_ready_on(t, &vps[vp]));
    before = t;
    t = t->next;
  }
  CHECK(t == NULL && q->tail == before);
  CHECK_EQUAL(q->length, length);
}

#define LIST(vp, ...) check_list(vp, (const int[]){__VA_ARGS__, -1})
#define NO_LIST(vp) check_list(vp, (const int[]){-1})

/* Threads from..to, linked by next. */
static void check_chain(const struct mltp_thread *t, const struct mltp_thread *last, int from,
                        int to) {
  for (int i = from; i < to; i++, t = t->next) {
    CHECK(t == &threads[i]);
    if (t != &threads[i]) return;
  }
  CHECK(t == NULL && last == (from < to ? &threads[to - 1] : NULL));
}

/* ---- inboxes */

static void posted_threads_keep_their_order(void) {
  struct mltp_thread *last = threads;
  stage_threads(3, -1);
  CHECK(mt_runq_take_inbox(&vps[1], &last) == NULL && last == NULL);
  mt_runq_post(&vps[1], chain(0, 3), &threads[2]);
  mt_runq_post(&vps[1], chain(3, 4), &threads[3]);
  for (int i = 0; i < 4; i++) CHECK_EQUAL(threads[i].where, mt_where(MT_MAILED, 1));
  mt_runq_post_whole(&vps[1], chain(4, 7));
  CHECK_EQUAL(threads[4].where, mt_where(MT_MAILED, 1));
  CHECK_EQUAL(threads[5].where, 0); /* it stays where it is */
  mt_runq_post(&vps[1], chain(7, 9), &threads[8]);
  const struct mltp_thread *first = mt_runq_take_inbox(&vps[1], &last);
  check_chain(first, last, 0, 9);
  CHECK(vps[1].runq.inbox == NULL);
  threads[1].next = &threads[5]; /* the last of a chain need not be its end */
  mt_runq_post(&vps[1], chain(0, 2), &threads[1]);
  first = mt_runq_take_inbox(&vps[1], &last);
  check_chain(first, last, 0, 2);
}

static void an_inbox_goes_to_the_end_of_the_list(void) {
  stage_threads(2, -1);
  push(1, 0, 2);
  mt_runq_post_whole(&vps[1], chain(2, 5));
  mt_runq_post(&vps[1], chain(5, 7), &threads[6]);
  mt_runq_drain(&vps[1]);
  LIST(1, 0, 1, 2, 3, 4, 5, 6);
  mt_runq_drain(&vps[1]);
  LIST(1, 0, 1, 2, 3, 4, 5, 6);
}

/* Threads of high priority enter in front, but not at each scheduling point. */
static void high_threads_jump_now_and_then(void) {
  for (uint32_t since = 0; since < 6; since++) {
    stage_threads(1, 2);
    check_case("%u", since);
    vps[0].points.tick = 100;
    vps[0].points.jumped_at = 100 - since;
    push(0, 0, 2);
    mt_runq_push_chain(&vps[0], chain(2, 4));
    if (since < 4)
      LIST(0, 0, 1, 2, 3);
    else
      LIST(0, 2, 0, 1, 3);
    CHECK_EQUAL(vps[0].points.jumped_at, since < 4 ? 100 - since : 100);
  }
}

static void the_front_of_a_list_is_taken(void) {
  for (uint32_t count = 0; count < 6; count++) {
    struct mltp_thread *last = threads;
    int taken = count < 4 ? (int)count : 4;
    stage_threads(1, -1);
    check_case("%u", count);
    push(0, 0, 4);
    const struct mltp_thread *first = mt_runq_take_front(&vps[0], count, &last);
    check_chain(first, last, 0, taken);
    int left[5], n = 0;
    for (int i = taken; i < 4; i++) left[n++] = i;
    left[n] = -1;
    check_list(0, left);
  }
}

static void threads_leave_a_list_anywhere(void) {
  stage_threads(1, -1);
  push(0, 0, 5);
  mt_runq_remove(&vps[0], &threads[2]);
  LIST(0, 0, 1, 3, 4);
  mt_runq_remove(&vps[0], &threads[0]);
  mt_runq_remove(&vps[0], &threads[4]);
  LIST(0, 1, 3);
  CHECK(mt_runq_rotate(&vps[0], &threads[0]) == &threads[1]);
  LIST(0, 3, 0);
  CHECK(mt_runq_swap(&vps[0], &threads[4]) == &threads[3]);
  LIST(0, 4, 0);
  CHECK(mt_runq_pop(&vps[0]) == &threads[4]);
  CHECK(mt_runq_rotate(&vps[0], &threads[1]) == &threads[0]);
  LIST(0, 1);
  CHECK(mt_runq_pop(&vps[0]) == &threads[1] && mt_runq_pop(&vps[0]) == NULL);
  NO_LIST(0);
}

/* ---- what an owner is asked for */

static void a_probe_makes_the_owner_look(void) {
  bool spare;
  stage_threads(2, -1);
  vps[0].points.tick = 7;
  CHECK(mt_catch(&vps[0], 7, true, &spare));
  mt_runq_probe(&vps[0]);
  CHECK_EQUAL(vps[0].runq.claim, MT_CLAIM_PROBE);
  mt_runq_enter(&vps[0]);
  CHECK(vps[0].runq.claim == 0 && vps[0].runq.inside == 1);
  CHECK(vps[0].points.probe == 1 && vps[0].points.check_at == 8);
  CHECK_EQUAL(vps[0].sleep.status, MT_VP_AWAKE); /* it is back */
  mt_runq_leave(&vps[0]);
  CHECK_EQUAL(vps[0].runq.inside, 0);
  CHECK(mt_runq_enter_own(&vps[0]));
  mt_runq_leave_own(&vps[0]);
}

static void an_owner_serves_the_thief_that_asks(void) {
  for (int row = 0; row < 3; row++) {
    struct mltp_thread *last;
    int served = row == 0 ? 3 : 0;
    stage_threads(3, -1);
    check_case("%d", row);
    if (row != 1) push(0, 0, 5);
    mt_rt.stopping = row == 2;
    vps[0].runq.claim = 2 + 1; /* VP 2 */
    mt_runq_probe(&vps[0]);
    mt_runq_enter(&vps[0]);
    CHECK_EQUAL(vps[0].runq.claim, 0);
    CHECK_EQUAL(vps[0].points.probe, 1);
    CHECK_EQUAL(vps[0].stats.served, row == 0);
    const struct mltp_thread *first = mt_runq_take_inbox(&vps[2], &last);
    check_chain(first, last, 0, served);
    if (row == 0) LIST(0, 3, 4);
  }
}

/* ---- thefts */

static void serve_now(void) {
  mt_runq_enter(&vps[0]);
  mt_runq_leave(&vps[0]);
}

static void post_to_thief(void) {
  at_clock = NULL;
  mt_runq_post(&vps[1], chain(FEW, FEW + 1), &threads[FEW]);
}

static void lose_all(void) {
  (void)mt_runq_take_front(&vps[0], UINT32_MAX, &(struct mltp_thread *){NULL});
}

/* VP 1 steals from VP 0, which has FEW threads and one in its inbox. */
static void a_thief_asks_waits_and_insists(void) {
  static const struct {
    const char *name;
    enum mt_vp_status status;
    bool stuck;
    void (*meanwhile)(void);
    uint32_t inside, claim;
    bool gets; /* threads */
    int taken; /* from the list, at once; -1: all */
    uint32_t posted, claim_after, left;
  } rows[] = {
      {"asleep", MT_VP_ASLEEP, false, NULL, 0, 0, true, -1, 0, 0, 0},
      {"blocked", MT_VP_BLOCKED, false, NULL, 0, 0, true, -1, 0, 0, 0},
      {"asleep, inside", MT_VP_ASLEEP, false, NULL, 1, 0, false, 0, 0, 0, 6},
      {"stuck", MT_VP_AWAKE, true, NULL, 0, 0, true, 3, 0, 0, 4},
      {"slow", MT_VP_AWAKE, false, NULL, 0, 0, true, 3, 0, 0, 4},
      {"another thief", MT_VP_AWAKE, true, NULL, 0, 3, false, 0, 0, 3, 6},
      {"a thief inside", MT_VP_ASLEEP, true, NULL, 0, MT_CLAIM_LOCKED, false, 0, 0, MT_CLAIM_LOCKED,
       6},
      {"with a probe", MT_VP_AWAKE, true, NULL, 0, MT_CLAIM_PROBE, true, 3, 0, MT_CLAIM_PROBE, 4},
      {"serves", MT_VP_AWAKE, false, serve_now, 0, 0, true, 0, 3, 0, 3},
      {"the thief has one", MT_VP_AWAKE, false, post_to_thief, 0, 0, false, 0, 1, 0, 6},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct mltp_thread *last;
    stage_threads(2, -1);
    check_case("%s", rows[i].name);
    mt_tuning.value[MT_REQUEST_WAIT_NS] = mt_tuning.value[MT_INSIDE_WAIT_NS] = WAIT_NS;
    step = WAIT_NS / 4;
    at_clock = rows[i].meanwhile;
    push(0, 0, FEW);
    mt_runq_post(&vps[0], chain(FEW + 1, FEW + 2), &threads[FEW + 1]);
    vps[0].sleep.status = rows[i].status;
    vps[0].runq.inside = rows[i].inside;
    vps[0].runq.claim = rows[i].claim;
    CHECK_EQUAL(mt_runq_steal(&vps[1], &vps[0], rows[i].stuck), rows[i].gets);
    CHECK_EQUAL(vps[0].runq.claim, rows[i].claim_after);
    CHECK_EQUAL(vps[1].runq.inside, 0);
    if (rows[i].taken == -1)
      LIST(1, 0, 1, 2, 3, 4, 5, 7);
    else if (rows[i].taken == 3)
      LIST(1, 0, 1, 2);
    else
      NO_LIST(1);
    CHECK_EQUAL(vps[0].runq.length, rows[i].left);
    uint32_t posted = 0;
    for (const struct mltp_thread *t = mt_runq_take_inbox(&vps[1], &last); t != NULL; t = t->next)
      posted++;
    CHECK_EQUAL(posted, rows[i].posted);
  }
  stage_threads(2, -1); /* a victim without threads serves nobody */
  push(0, 0, 1);
  mt_tuning.value[MT_REQUEST_WAIT_NS] = UINT64_MAX / 2;
  at_clock = lose_all;
  CHECK(!mt_runq_steal(&vps[1], &vps[0], false));
  CHECK_EQUAL(vps[0].runq.claim, 0);
}

/* What is taken over is nobody's, and looks mailed to its VP. */
static void a_list_is_taken_over_whole(void) {
  struct mltp_thread *last = NULL;
  stage_threads(2, -1);
  push(1, 0, 3);
  mt_runq_post(&vps[1], chain(3, 4), &threads[3]);
  const struct mltp_thread *first = mt_runq_take_over(&vps[1], &last);
  check_chain(first, last, 0, 4);
  for (int i = 0; i < 4; i++) CHECK_EQUAL(threads[i].where, mt_where(MT_MAILED, 1));
  CHECK_EQUAL(vps[1].runq.claim, 0);
  NO_LIST(1);
  push(1, 0, 3);
  vps[1].runq.claim = 1;
  CHECK(mt_runq_take_over(&vps[1], &last) == NULL);
  LIST(1, 0, 1, 2);
}

static void stage_thief(void) {
  stage_threads(4, -1);
  mt_tuning_assume(&mt_tuning);
  mt_tuning.value[MT_REQUEST_WAIT_NS] = mt_tuning.value[MT_INSIDE_WAIT_NS] = 0;
  mt_tuning.value[MT_LONE_NS] = 100;
  mt_tuning.value[MT_MOVE_NS] = 10;
  mt_rt.idle.wake_threshold = 5;
  vps[0].search.seed = 1;
  vps[0].search.line_gap = 3;
}

static void a_theft_is_counted(void) {
  stage_thief();
  CHECK(!mt_steal_some(&vps[0])); /* nobody has any */
  CHECK_EQUAL(mt_rt.idle.wake_threshold, 5);
  push(0, 70, 75); /* its own do not count */
  CHECK(!mt_steal_some(&vps[0]));
  push(2, 0, 5);
  CHECK(mt_steal_some(&vps[0]));
  LIST(2, 3, 4);
  LIST(0, 70, 71, 72, 73, 74, 0, 1, 2);
  CHECK_EQUAL(vps[0].stats.stolen, 1);
  CHECK_EQUAL(vps[0].stats.stolen_far, 0);
  CHECK_EQUAL(vps[0].search.stolen_count, 3);
  CHECK_EQUAL(vps[0].search.stolen_at, now);
  CHECK_EQUAL(mt_rt.idle.wake_threshold, 0);
}

/* A lone thread is left to its VP for a time. */
static void a_lone_thread_is_left_alone(void) {
  stage_thief();
  push(2, 0, 1);
  vps[2].points.tick = 9;
  CHECK(!mt_try_steal(&vps[0], now, false));
  CHECK_EQUAL(vps[0].search.skips, 1); /* it had moved since the last look */
  CHECK(!mt_try_steal(&vps[0], now + 99, false));
  CHECK_EQUAL(vps[0].search.skips, 1);
  CHECK(mt_try_steal(&vps[0], now + 100, false));
  LIST(0, 0);
  stage_thief();
  push(2, 0, 1);
  vps[2].sleep.status = MT_VP_ASLEEP;
  CHECK(mt_try_steal(&vps[0], now, false));
  stage_thief();
  push(2, 0, 2);
  mt_rt.poll.keeps = &vps[2]; /* a delivery that its VP runs alone */
  mt_rt.poll.keeps_until = now + 1;
  CHECK(!mt_try_steal(&vps[0], now, false));
  now++;
  CHECK(mt_try_steal(&vps[0], now, false));
}

/* Victims of the same cache come first, then those of the same memory. */
static void the_nearest_victims_come_first(void) {
  static const uint32_t places[] = {0x10001, 0x20001, 0x10002, 0x10001};
  stage_thief();
  for (int vp = 0; vp < VPS; vp++) vps[vp].sleep.locality = places[vp];
  for (int vp = 1; vp < VPS; vp++) push(vp, 10 * vp, 10 * vp + 2);
  mt_rt.idle.localities = 1;
  static const int order[] = {3, 2, 1};
  for (int i = 0; i < 3; i++) {
    check_case("%d", i);
    vps[order[i]].sleep.status = MT_VP_ASLEEP; /* all of them are taken */
    CHECK(mt_try_steal(&vps[0], now, false));
    NO_LIST(order[i]);
    CHECK_EQUAL(vps[0].stats.stolen, i + 1);
    CHECK_EQUAL(vps[0].stats.stolen_far, i);
    CHECK_EQUAL(mt_locality_distance(&vps[0], &vps[order[i]]), i);
  }
  CHECK(!mt_try_steal(&vps[0], now, false));
  LIST(0, 30, 31, 20, 21, 10, 11);
}

static void thefts_are_judged_by_what_they_brought(void) {
  stage_thief();
  vps[0].search.backoff = 2;
  vps[0].search.stolen_at = now;
  mt_judge_theft(&vps[0], now); /* there was none */
  CHECK_EQUAL(vps[0].search.backoff, 2);
  vps[0].search.stolen_count = 3;
  mt_judge_theft(&vps[0], now + 29);
  CHECK(vps[0].search.backoff == 3 && vps[0].search.stolen_count == 0);
  vps[0].search.stolen_count = 3;
  mt_judge_theft(&vps[0], now + 30);
  CHECK_EQUAL(vps[0].search.backoff, 0);
}

/* A transfer of a line is timed at one look of sixteen, if the victim has moved. */
static void lines_are_timed_now_and_then(void) {
  stage_thief();
  vps[0].search.line_gap = 2;
  mt_tuning.value[MT_LINE_NS] = 100;
  mt_tuning.value[MT_CLOCK_NS] = 10;
  mt_rt.vp_count = 2;
  uint64_t before = mt_tuned(MT_LINE_NS);
  for (int look = 0; look < 20; look++) {
    check_case("look %d", look);
    vps[1].points.tick++;
    step = 40;
    mt_try_steal(&vps[0], now, false);
    CHECK_EQUAL(mt_tuned(MT_LINE_NS) != before, look == 2 || look == 18);
    before = mt_tuned(MT_LINE_NS);
  }
  CHECK(before > 30 && before < 100); /* what is left without the clock, 30, and what was known */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(posted_threads_keep_their_order),
      TEST_BARE(an_inbox_goes_to_the_end_of_the_list),
      TEST_BARE(high_threads_jump_now_and_then),
      TEST_BARE(the_front_of_a_list_is_taken),
      TEST_BARE(threads_leave_a_list_anywhere),
      TEST_BARE(a_probe_makes_the_owner_look),
      TEST_BARE(an_owner_serves_the_thief_that_asks),
      TEST_BARE(a_thief_asks_waits_and_insists),
      TEST_BARE(a_list_is_taken_over_whole),
      TEST_BARE(a_theft_is_counted),
      TEST_BARE(a_lone_thread_is_left_alone),
      TEST_BARE(the_nearest_victims_come_first),
      TEST_BARE(thefts_are_judged_by_what_they_brought),
      TEST_BARE(lines_are_timed_now_and_then),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
