/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that block in the kernel, step by step (src/core/sched/blocking.c): which VP runs the
 * threads of the caller's VP meanwhile, and what happens when it is back. */
#define _GNU_SOURCE /* the runtime's headers want it */
#include "core/sched/blocking.c"

#include "support/noted.h"
#include "support/support.h"

static struct mltp_thread caller;
static struct mt_vp here;

static struct {
  bool no_spare, waiting; /* no VP sleeps; threads wait for a VP */
  int spawn_error;
} world;

static void begin(void) {
  memset(&caller, 0, sizeof caller);
  memset(&here, 0, sizeof here);
  memset(&world, 0, sizeof world);
  memset(&mt_rt, 0, sizeof mt_rt);
  caller.vp = &here;
  mt_set_current(&caller);
  trace[0] = '\0';
}

bool __wrap_mt_block(struct mt_vp *vp);
bool __wrap_mt_block(struct mt_vp *vp) {
  CHECK(vp == &here);
  note("block");
  return !world.no_spare;
}

void __wrap_mt_unblock(struct mt_vp *vp);
void __wrap_mt_unblock(struct mt_vp *vp) {
  CHECK(vp == &here);
  note("unblock");
}

int __wrap_mt_vp_spawn(void);
int __wrap_mt_vp_spawn(void) {
  note("spawn");
  return world.spawn_error;
}

void __wrap_mt_monitor_no_vp(int error);
void __wrap_mt_monitor_no_vp(int error) { note("none:%d", error); }

void __wrap_mt_vp_hand_off(struct mt_vp *vp);
void __wrap_mt_vp_hand_off(struct mt_vp *vp) {
  CHECK(vp == &here);
  note("hand_off");
}

void __wrap_mt_fence_heavy(void);
void __wrap_mt_fence_heavy(void) { note("fence"); }

bool __wrap_mt_any_waiting(const struct mt_vp *self);
bool __wrap_mt_any_waiting(const struct mt_vp *self) {
  CHECK(self == NULL); /* its own threads wait, too */
  note("any");
  return world.waiting;
}

void __wrap_mt_wake_one(void);
void __wrap_mt_wake_one(void) { note("wake"); }

void __wrap_mltp_yield(void);
void __wrap_mltp_yield(void) { note("yield"); }

static void another_vp_takes_its_threads(void) {
  begin();
  CHECK(mt_blocking_begin());
  TRACE("block hand_off fence any");
  world.waiting = true;
  mltp_blocking_begin();
  TRACE("block hand_off fence any wake");
}

static void a_vp_is_made_where_none_sleeps(void) {
  begin();
  world.no_spare = true;
  CHECK(mt_blocking_begin());
  TRACE("block spawn hand_off fence any");
  world.spawn_error = EAGAIN; /* what the caller waits for must not be one of its VP's threads */
  CHECK(!mt_blocking_begin());
  char expected[64];
  snprintf(expected, sizeof expected, "block spawn none:%d hand_off fence any", EAGAIN);
  TRACE(expected);
}

static void a_vp_that_comes_back_as_one_too_many_gives_way(void) {
  begin();
  mt_rt.idle.target = mt_rt.idle.awake = 2;
  mltp_blocking_end();
  TRACE("unblock");
  CHECK(here.points.probe == 0);
  mt_rt.idle.awake = 3;
  here.points.tick = 7;
  mltp_blocking_end();
  TRACE("unblock yield");
  CHECK(here.points.probe != 0 && here.points.check_at == 8); /* at the next scheduling point */
}

static void others_just_block(void) {
  for (int row = 0; row < 3; row++) {
    begin();
    check_case("row %d", row);
    mt_rt.idle.awake = 3;
    if (row == 0) mt_set_current(NULL);
    if (row == 1) caller.vp = NULL;
    mt_det_on = row == 2; /* there is one VP, and no order of threads beside it */
    CHECK(mt_blocking_begin());
    mltp_blocking_end();
    mt_det_on = false;
    TRACE("");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(another_vp_takes_its_threads),
      TEST_BARE(a_vp_is_made_where_none_sleeps),
      TEST_BARE(a_vp_that_comes_back_as_one_too_many_gives_way),
      TEST_BARE(others_just_block),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
