/* SPDX-License-Identifier: Apache-2.0 */
/* The monitor's kernel thread: how it starts, waits and ends (src/core/sched/monitor.c). It is
 * played on VPs that nobody runs, and no VP is silent. */
#define _GNU_SOURCE /* the runtime's headers want it */
#include "core/sched/monitor.c"

#include "support/noted.h"
#include "support/support.h"
#include "support/vp_stage.h"

enum { MS = 1000000 };

static struct {
  int start_error;
  bool no_wait;
} kernel;

void __wrap_os_task_self(struct os_task *task);
void __wrap_os_task_self(struct os_task *task) { task->tid = 7; }

void __wrap_mt_watch_pass_on(void);
void __wrap_mt_watch_pass_on(void) { note("watch"); }

static void stage_monitor(void) {
  stage(1, 1, 1);
  memset(&kernel, 0, sizeof kernel);
  mt_rt.handover.silent_ns = MT_SILENT_NS;
  trace[0] = '\0';
}

static int rounds_left;

static void count_round(void) {
  if (--rounds_left == 0) mt_rt.handover.ends = true;
}

bool __wrap_os_alarm_wait(const struct os_alarm *alarm);
bool __wrap_os_alarm_wait(const struct os_alarm *alarm) {
  CHECK(alarm == &mt_rt.handover.alarm);
  note("wait");
  if (!kernel.no_wait) count_round();
  return !kernel.no_wait;
}

void __wrap_os_nap(uint64_t ns);
void __wrap_os_nap(uint64_t ns) {
  note("nap:%d", (int)(ns / MS));
  count_round();
}

void __wrap_os_alarm_make(struct os_alarm *alarm);
void __wrap_os_alarm_make(struct os_alarm *alarm) {
  CHECK(alarm == &mt_rt.handover.alarm);
  note("make");
}

void __wrap_os_alarm_free(struct os_alarm *alarm);
void __wrap_os_alarm_free(struct os_alarm *alarm) {
  CHECK(alarm == &mt_rt.handover.alarm);
  note("free");
}

void __wrap_os_signals_off(void);
void __wrap_os_signals_off(void) { note("signals"); }

void __wrap_os_manner_note(struct os_manner *given);
void __wrap_os_manner_note(struct os_manner *given) {
  CHECK(given == &manner);
  note("manner");
}

int __wrap_os_priority_raise(void);
int __wrap_os_priority_raise(void) {
  note("raise");
  return 5;
}

void __wrap_os_priority_restore(int before);
void __wrap_os_priority_restore(int before) { note("restore:%d", before); }

int __wrap_os_thread_start(pthread_t *thread, struct os_affinity *affinity, bool elsewhere,
                           void *(*func)(void *), void *arg);
int __wrap_os_thread_start(pthread_t *thread, struct os_affinity *affinity, bool elsewhere,
                           void *(*func)(void *), void *arg) {
  CHECK(thread == &mt_rt.handover.monitor && affinity != NULL && !elsewhere && func == monitor &&
        arg == NULL);
  note("start");
  return kernel.start_error;
}

void __wrap_os_thread_join(pthread_t thread);
void __wrap_os_thread_join(pthread_t thread) {
  CHECK(thread == mt_rt.handover.monitor && mt_rt.handover.ends);
  note("join");
}

static void the_alarm_rests_while_no_vp_is_awake(void) {
  stage_monitor();
  CHECK(set_alarm());
  CHECK(!mt_rt.handover.rests && alarms == 2 && alarm_ns == MT_SILENT_NS);
  mt_rt.idle.awake = 0;
  CHECK(set_alarm());
  CHECK(mt_rt.handover.rests && alarms == 3 && alarm_ns == 0);
  mt_rt.handover.ends = true; /* it wakes at once */
  CHECK(set_alarm());
  CHECK(!mt_rt.handover.rests && alarms == 5 && alarm_ns == 1);
  mt_rt.idle.awake = 1;
  CHECK(set_alarm());
  CHECK_EQUAL(alarm_ns, 1);
  alarm_is_refused = true;
  CHECK(!set_alarm());
  mt_rt.idle.awake = 0;
  mt_rt.handover.ends = false;
  CHECK(!set_alarm());
}

static void the_monitor_waits_then_looks(void) {
  for (int row = 0; row < 5; row++) {
    stage_monitor();
    check_case("row %d", row);
    alarm_is_refused = row == 1;
    kernel.no_wait = row == 2;
    mt_rt.stopping = row == 3;
    mt_rt.handover.ends = row == 4;
    rounds_left = 2;
    CHECK(monitor(&rounds_left) == &rounds_left);
    if (row == 0) TRACE("signals wait watch wait watch");
    if (row == 1) TRACE("signals nap:10 watch nap:10 watch");
    if (row == 2) TRACE("signals wait nap:10 watch wait nap:10 watch");
    if (row == 3) TRACE("signals wait wait");
    if (row == 4) TRACE("signals");
    CHECK_EQUAL(mt_rt.handover.wakeups, row == 4 ? 0 : 2);
    CHECK_EQUAL(mt_rt.handover.task, 7);
  }
}

static void the_monitor_starts_and_ends(void) {
  stage_monitor();
  CHECK_EQUAL(mt_monitor_start(), 0); /* it was not prepared */
  mt_monitor_stop();
  mt_monitor_free();
  mt_monitor_forget();
  TRACE("");
  mt_options.monitor = 0;
  mt_monitor_prepare();
  mt_options.monitor = 1;
  mt_det_on = true;
  mt_monitor_prepare();
  mt_det_on = false;
  TRACE("");
  CHECK(!mt_rt.handover.prepared);
  mt_rt.handover.silent_ns = 0;
  mt_monitor_prepare();
  TRACE("make");
  CHECK(mt_rt.handover.prepared);
  CHECK_EQUAL(mt_rt.handover.silent_ns, MT_SILENT_NS);
  kernel.start_error = EAGAIN;
  mt_rt.handover.look_at = 9;
  CHECK_EQUAL(mt_monitor_start(), EAGAIN);
  TRACE("manner raise start restore:5");
  CHECK(!mt_rt.handover.runs && mt_rt.handover.look_at == 9);
  mt_monitor_stop();
  TRACE("");
  kernel.start_error = 0;
  CHECK_EQUAL(mt_monitor_start(), 0);
  TRACE("manner raise start restore:5");
  CHECK(mt_rt.handover.runs && mt_rt.handover.look_at == 0);
  CHECK_EQUAL(mt_monitor_start(), 0);
  TRACE("");
  alarms = 0;
  mt_monitor_stop();
  TRACE("join");
  CHECK(alarms == 1 && alarm_ns == 1 && mt_rt.handover.look_at == MLTP_NEVER);
  mt_monitor_forget();
  TRACE("free");
  mt_monitor_free();
  TRACE("free");
  CHECK(!mt_rt.handover.prepared && !mt_rt.handover.runs);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(the_alarm_rests_while_no_vp_is_awake),
      TEST_BARE(the_monitor_waits_then_looks),
      TEST_BARE(the_monitor_starts_and_ends),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
