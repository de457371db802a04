/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The monitor: it catches VPs that are blocked in the kernel and gives their threads to others.
 *
 * Relaxed: ticks and times are hints; a status changes under sleep.ilock.
 */
#include "core/sched/monitor.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/options.h"
#include "core/det/det.h"
#include "core/sched/poll.h"
#include "core/sched/runq_steal.h"
#include "core/sched/silence.h"
#include "core/sched/vps.h"
#include "core/sched/wake.h"

/* ---- handing over */

static uint32_t out_of_vps_reported; /* [atomic] */

void mt_monitor_no_vp(int error) {
  uint32_t count = mt_vp_count();
  int blocked = mt_load_relaxed(&mt_rt.sleep.blocked);
  if ((uint32_t)blocked < count) return; /* another VP runs the ready threads */
  if (mt_or_relaxed(&out_of_vps_reported, 1) != 0) return;
  char why[128];
  os_thread_refusal(error, why, sizeof why);
  mt_message(
      "%d VPs of %u are blocked in the kernel, and there is no other for the ready threads: %s "
      "(they run when a call returns; let fewer threads block, or wait in calls of the library)",
      blocked, count, count >= MT_VPS_MAX ? "this is the greatest number of VPs" : why);
}

/* Of the monitor's creator. The monitor gets no signals and may run before all others; a VP that it
 * makes is as the rest. */
static struct os_manner manner; /* [const while the monitor runs] */

/* @return a VP that takes the threads of one that is blocked: a new one, NULL: any other. */
static struct mt_vp *substitute(void) {
  uint32_t count = mt_vp_count();
  int error = mt_vp_spawn_as(&manner);
  if (error != 0) mt_monitor_no_vp(error);
  return error == 0 ? mt_rt.vps[count] : NULL;
}

/* @return an awake VP that passes scheduling points; NULL: none. */
static struct mt_vp *live_vp(uint64_t now) {
  uint32_t count = mt_vp_count();
  for (uint32_t i = 0; i < count; i++) {
    struct mt_vp *vp = mt_rt.vps[i];
    if (mt_load_relaxed(&vp->sleep.status) == MT_VP_AWAKE && !mt_is_silent(vp, now)) return vp;
  }
  return NULL;
}

/* @return a VP that may wake, or a new one; NULL: none. */
static struct mt_vp *helper(void) {
  uint32_t count = mt_vp_count();
  for (uint32_t i = 0; i < count; i++)
    if (mt_load_relaxed(&mt_rt.vps[i]->sleep.status) == MT_VP_ASLEEP) return mt_rt.vps[i];
  return count < MT_VPS_MAX ? substitute() : NULL;
}

/* Cuts the first count threads off a list. @return the last of them. */
static struct mltp_thread *cut(struct mltp_thread **list, int64_t count) {
  struct mltp_thread *last = *list;
  while (--count > 0 && last->next != NULL) last = last->next;
  *list = last->next;
  last->next = NULL;
  return last;
}

/* The ready threads of a VP that computes go to as many VPs as may be awake beside it. If they woke
 * one after the other, each would wait for its turn among all VPs that compute.
 * @return false: there is one taker at most. */
static bool share_out(struct mt_vp *vp) {
  struct mt_vps_seen seen = mt_vps_seen();
  int64_t most = seen.target < seen.cpus ? seen.target : seen.cpus;
  int64_t ready = mt_load_relaxed(&vp->runq.length);
  int64_t takers = most - seen.awake < ready ? most - seen.awake : ready;
  if (takers < 2) return false;
  struct mltp_thread *last, *list = mt_runq_take_over(vp, &last);
  for (int64_t each = (ready + takers - 1) / takers; list != NULL; takers--) {
    struct mltp_thread *first = list;
    struct mt_vp *taker = helper();
    last = cut(&list, takers > 1 && taker != NULL ? each : INT64_MAX);
    /* as in hand_over(). relaxed: the take orders it */
    if (mt_load_relaxed(&mt_rt.stopping)) taker = mt_rt.vps[0];
    mt_post(taker != NULL ? taker : vp, first, last); /* which finds an awake VP */
  }
  return true;
}

static void count_handover(const struct mt_vp *vp) {
  uint64_t ms = (os_now() - mt_load_relaxed(&vp->handover.seen_at)) / 1000000;
  int n = 0;
  while (n < MT_HANDOVER_TIMES - 1 && ms >> n != 0) n++;
  mt_count_owner(&mt_rt.handover.after[n]);
  mt_count_owner(&mt_rt.handover.count);
}

static void hand_over_now(struct mt_vp *vp, bool computes) {
  uint32_t tick = mt_load_relaxed(&vp->handover.seen_tick);
  bool spare;
  if (mt_load_relaxed(&mt_rt.stopping) || !mt_catch(vp, tick, computes, &spare)) return;
  mt_runq_probe(vp);
  count_handover(vp);
  bool shared = computes && share_out(vp);
  struct mt_vp *taker = spare || shared ? NULL : substitute();
  if (taker == NULL && !mt_may_wake_one()) taker = live_vp(os_now());
  if (taker != NULL && mt_runq_seems_busy(vp)) {
    struct mltp_thread *last, *first = mt_runq_take_over(vp, &last);
    /* At the end it can only be main on its way to VP 0, and the taker may have gone. relaxed: the
     * take orders it */
    if (mt_load_relaxed(&mt_rt.stopping)) taker = mt_rt.vps[0];
    if (first != NULL) mt_post(taker, first, last);
  }
  mt_fence_heavy(); /* ID-20 heavy fence: as ID-16; pairs ID-1 ID-5 ID-17 ID-18 ID-19 */
  if (mt_any_waiting(NULL)) mt_wake_one();
}

/* The VP may be back and asleep before its threads are posted: there may be many of them, or the
 * monitor loses its CPU. All VPs rest then, and it is no deadlock. */
static void hand_over(struct mt_vp *vp, bool computes) {
  mt_store_seq_cst(&mt_rt.handover.carries, true); /* HO-4 seq_cst: before the take; pairs HO-5 */
  hand_over_now(vp, computes);
  mt_store_seq_cst(&mt_rt.handover.carries, false); /* HO-6 seq_cst: after the wake; pairs HO-5 */
}

/* ---- looking at kernel threads */

/* @return true if /proc tells what this kernel thread does. */
static bool proc_tells(void) {
  struct os_task self;
  os_task_self(&self);
  return os_task_state(&self) != OS_TASK_UNKNOWN;
}

/* Without /proc: a kernel thread that has used no CPU time since the last look sleeps, or has lost
 * its CPU for all of that time. With it, the kernel thread has ended, as at the end of the runtime.
 */
static bool sleeps_by_clock(const struct mt_vp *vp, uint64_t cpu_ns) {
  static bool said;
  if (!said && proc_tells()) return false;
  if (!said)
    mt_message(
        "/proc/self/task cannot be read: a VP is taken to be blocked in the kernel if it has used "
        "no CPU time for %d ms (mount /proc)",
        MT_SILENT_NS / 1000000);
  said = true;
  return vp->handover.task.has_clock && cpu_ns == vp->handover.judged_cpu_ns;
}

/* @return true if the VP's kernel thread sleeps. One that has used half of the time since the last
 * look computes, which its clock says sooner than a file. *ran: it has had a CPU since then. */
static bool sleeps(struct mt_vp *vp, uint64_t now, bool *ran) {
  struct mt_vp_handover *known = &vp->handover;
  uint64_t cpu_ns = os_task_cpu_time(&known->task);
  uint64_t had = cpu_ns - known->judged_cpu_ns, passed = now - known->judged_at;
  *ran = had != 0 || !known->task.has_clock;
  enum os_task_state state = OS_TASK_RUNS;
  if (known->judged_at == 0 || had < passed / 2) state = os_task_state(&known->task);
  bool asleep =
      state == OS_TASK_SLEEPS || (state == OS_TASK_UNKNOWN && sleeps_by_clock(vp, cpu_ns));
  known->judged_cpu_ns = cpu_ns;
  mt_store_relaxed(&known->judged_at, now);
  return asleep;
}

/* @return true if the VP has run one thread for longer than a slice while others are ready. The
 * more VPs are out of the count, the sooner: of many threads that wait for one another without
 * giving way, the last is to get its turn soon, too. */
static bool overruns(const struct mt_vp *vp, uint64_t now) {
  uint64_t slice = (uint64_t)mt_options.slice_ms * 1000000;
  uint64_t others = (uint64_t)mt_load_relaxed(&mt_rt.sleep.blocked);
  uint64_t silent = now - mt_load_relaxed(&vp->handover.seen_at);
  return slice != 0 && silent >= slice / (1 + others) && mt_any_waiting(NULL);
}

static void judge(struct mt_vp *vp, uint64_t now) {
  /* VM-1 acquire: the rest of the task; pairs VM-2 */
  if (mt_load_acquire(&vp->handover.task.tid) == 0) return;
  if (!mt_is_silent(vp, now) || !mt_is_due(vp, now)) return;
  bool ran, blocked = sleeps(vp, now, &ran);
  if (!blocked && !(ran && overruns(vp, now))) return;
  mt_store_relaxed(&vp->handover.caught_at, mt_load_relaxed(&vp->handover.seen_at));
  hand_over(vp, !blocked);
}

/* Programs that block where we do not know do so again and again: then the monitor looks more
 * often, and ever more seldom when it finds nothing. */
static void adapt(bool found) {
  uint64_t ns = mt_silent_ns();
  ns = found ? MT_SILENT_SOON_NS : ns < MT_SILENT_NS / 2 ? 2 * ns : MT_SILENT_NS;
  mt_store_relaxed(&mt_rt.handover.silent_ns, ns);
}

static void look_at_all(void) {
  uint64_t now = os_now();
  mt_store_relaxed(&mt_rt.handover.look_at, now + mt_silent_ns() / 2);
  uint32_t count = mt_vp_count();
  uint64_t before = mt_load_relaxed(&mt_rt.handover.count);
  mt_watch_pass_on();                              /* its VP computes */
  if (mt_poll_is_due(now)) mt_poll_now(NULL, now); /* no VP may reach it soon */
  for (uint32_t i = 0; i < count; i++) judge(mt_rt.vps[i], now);
  adapt(mt_load_relaxed(&mt_rt.handover.count) != before);
}

/* While a VP is awake the alarm is set. A VP that becomes awake increments `awake`, then looks
 * whether the alarm rests; here the order is the reverse. Without a lock: in a process of one VP
 * the VP would lose its bias (base/single_threaded.h). @return false: there is no alarm. */
static bool set_alarm(void) {
  struct mt_handover_state *state = &mt_rt.handover;
  bool done = os_alarm_set(&state->alarm, 0);
  mt_store_relaxed(&state->rests, true); /* relaxed: the fence orders it */
  mt_fence_heavy();                      /* HO-1 heavy fence: rests before awake; pairs HO-2 */
  if (mt_load_relaxed(&mt_rt.idle.awake) <= 0 && !mt_load_relaxed(&state->ends)) return done;
  mt_store_relaxed(&state->rests,
                   false); /* relaxed: a VP that still sees true sets the alarm, too */
  return os_alarm_set(&state->alarm, mt_load_relaxed(&state->ends) ? 1 : mt_silent_ns());
}

/* ---- the kernel thread */

static void *monitor(void *unused) {
  struct os_task self;
  os_task_self(&self);
  mt_store_relaxed(&mt_rt.handover.task, self.tid);
  os_signals_off();
  while (!mt_load_relaxed(&mt_rt.handover.ends)) {
    if (!set_alarm() || !os_alarm_wait(&mt_rt.handover.alarm)) os_nap(mt_silent_ns());
    mt_count_owner(&mt_rt.handover.wakeups);
    if (!mt_load_relaxed(&mt_rt.stopping)) look_at_all();
  }
  return unused;
}

void mt_monitor_prepare(void) {
  if (mt_det_on || mt_options.monitor == 0) return;
  mt_store_relaxed(&mt_rt.handover.silent_ns, MT_SILENT_NS); /* relaxed: nobody else is there */
  os_alarm_make(&mt_rt.handover.alarm);
  mt_rt.handover.prepared = true;
}

int mt_monitor_start(void) {
  if (!mt_rt.handover.prepared || mt_rt.handover.runs) return 0;
  struct os_affinity affinity = {0};
  os_manner_note(&manner);
  int priority = os_priority_raise();
  int error = os_thread_start(&mt_rt.handover.monitor, &affinity, false, monitor, NULL);
  os_priority_restore(priority);
  if (error != 0) return error;
  mt_store_relaxed(&mt_rt.handover.look_at, 0); /* relaxed: for the next VP that reads the clock */
  mt_store_relaxed(&mt_rt.handover.runs, true);
  return 0;
}

void mt_monitor_stop(void) {
  if (!mt_rt.handover.runs) return;
  mt_store_relaxed(&mt_rt.handover.look_at, MLTP_NEVER);
  /* relaxed: a monitor that misses it waits once more, since this VP is awake */
  mt_store_relaxed(&mt_rt.handover.ends, true);
  os_alarm_set(&mt_rt.handover.alarm, 1);
  os_thread_join(mt_rt.handover.monitor);
}

void mt_monitor_free(void) {
  if (mt_rt.handover.prepared) os_alarm_free(&mt_rt.handover.alarm);
  mt_rt.handover.prepared = mt_rt.handover.runs = false;
}

void mt_monitor_forget(void) {
  if (mt_rt.handover.prepared) os_alarm_free(&mt_rt.handover.alarm);
}
