/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* the runtime's headers want it */
#include "support/vp_stage.h"

#include <string.h>

#include "base/options.h"
#include "support/support.h"

struct mt_vp vps[VPS];
uint64_t now, step;
void (*at_clock)(void);
int avoided[VPS], alarms;
uint64_t alarm_ns;
bool alarm_is_refused;

/* ---- what the kernel is asked for */

static int rouses[VPS];

uint64_t __wrap_os_now(void);
void __wrap_os_futex_wake(uint32_t *word, int count);
void __wrap_os_affinity_avoid_here(struct os_affinity *affinity, pid_t tid);
bool __wrap_os_alarm_set(const struct os_alarm *alarm, uint64_t ns);

uint64_t __wrap_os_now(void) {
  if (at_clock != NULL) at_clock();
  return now += step;
}

void __wrap_os_futex_wake(uint32_t *word, int count) {
  for (int i = 0; i < VPS; i++) {
    if (word != &vps[i].sleep.futex) continue;
    CHECK_EQUAL(count, 1);
    rouses[i]++;
  }
}

void __wrap_os_affinity_avoid_here(struct os_affinity *affinity, pid_t tid) {
  for (int i = 0; i < VPS; i++) {
    if (affinity != &vps[i].sleep.affinity) continue;
    CHECK_EQUAL(tid, TASK + i);
    avoided[i]++;
  }
}

bool __wrap_os_alarm_set(const struct os_alarm *alarm, uint64_t ns) {
  CHECK(alarm == &mt_rt.handover.alarm);
  alarms++;
  alarm_ns = ns;
  return !alarm_is_refused;
}

/* ---- the stage */

void stage(int count, int target, int cpus) {
  memset(&mt_rt, 0, sizeof mt_rt);
  memset(vps, 0, sizeof vps);
  memset(rouses, 0, sizeof rouses);
  memset(avoided, 0, sizeof avoided);
  alarms = 0;
  alarm_is_refused = false;
  now = begin;
  step = 0;
  at_clock = NULL;
  mt_options.deadlock = MT_DEADLOCK_ABORT;
  for (int i = 0; i < count; i++) {
    vps[i].index = vps[i].runq.index = (uint32_t)i;
    vps[i].timers.earliest = MLTP_NEVER;
    vps[i].handover.task.tid = TASK + i;
    mt_rt.vps[i] = &vps[i];
  }
  mt_rt.vp_count = (uint32_t)count;
  mt_rt.idle.awake = count;
  mt_rt.idle.target = mt_rt.most = target;
  mt_rt.woken_most = cpus;
  mt_rt.sleep.watchdog_deadline = MLTP_NEVER;
  mt_rt.handover.silent_ns = 10 * ms;
}

void check_counts(int awake, uint32_t sleeping, int blocked, uint32_t searching) {
  uint32_t asleep = 0, search = 0;
  CHECK_EQUAL(mt_rt.idle.awake, awake);
  CHECK_EQUAL(mt_rt.idle.sleeping, sleeping);
  CHECK_EQUAL(mt_rt.sleep.blocked, blocked);
  CHECK_EQUAL(mt_rt.idle.searching, searching);
  for (const struct mt_vp *vp = mt_rt.sleep.sleepers; vp != NULL; vp = vp->sleep.next) {
    CHECK_EQUAL(vp->sleep.status, MT_VP_ASLEEP);
    asleep++;
  }
  CHECK_EQUAL(asleep, sleeping);
  for (int i = 0; i < VPS; i++) search += vps[i].search.searching;
  CHECK_EQUAL(search, searching);
  CHECK_EQUAL(mt_rt.sleep.ilock, 0);
}

void check_roused(int vp, int times) {
  CHECK_EQUAL(rouses[vp], times);
  CHECK_EQUAL(vps[vp].sleep.futex, times);
  rouses[vp] = 0;
  vps[vp].sleep.futex = 0;
}

void check_nobody_roused(void) {
  for (int i = 0; i < VPS; i++) check_roused(i, 0);
}

void fall_asleep(int vp) {
  mt_rt.sleep.watchdog_deadline = 1;
  mt_vp_sleep_begin(&vps[vp]);
  mt_rt.sleep.watchdog_deadline = MLTP_NEVER;
}
