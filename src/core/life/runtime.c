/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting and stopping the runtime; moving the number of VPs.
 *
 * Relaxed: what the main thread alone writes, and numbers for questions.
 */
#include "core/life/runtime.h"
#include "core/det/det.h"
#include "core/memory/descriptor.h"
#include "core/wait/await.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/fence.h"
#include "base/log.h"
#include "base/options.h"
#include "base/single_threaded.h"
#include "base/unknown_options.h"
#include "core/life/end.h"
#include "core/life/fork.h"
#include "core/life/outside.h"
#include "core/memory/pack.h"
#include "core/memory/stack.h"
#include "core/sched/announce.h"
#include "core/sched/idle.h"
#include "core/sched/monitor.h"
#include "core/sched/sched.h"
#include "core/sched/share.h"
#include "core/sched/vps.h"
#include "core/thread/key.h"
#include "core/vp/alternative.h"
#include "core/vp/poller.h"
#include "core/vp/tuned.h"
#include "core/vp/vp.h"
#include "core/wait/park.h"
#include "instrument/debug_hooks.h"
#include "mltp/mltp.h"

static bool on_vps(void) { return mt_options.backend != MT_BACKEND_KERNEL; }

/* ---- the number of VPs */

static int active_of(int wanted) {
  if (mt_det_on) return 1;
  return mt_options.oversubscribe != MT_OVERSUBSCRIBE_NOT || wanted < mt_rt.woken_most
             ? wanted
             : mt_rt.woken_most;
}

int mltp_set_vps(int vps) {
  if (vps < 1 || vps > MT_VPS_MAX) return EINVAL;
  struct mltp_thread *self = mt_self("mltp_set_vps");
  if (self == NULL) return EPERM;
  if (!mt_load_relaxed(&mt_rt.running)) /* relaxed: it outlived the runtime */
    return mt_misuse(EPERM, "mltp_set_vps", self->id, mt_name(self), "%s", mt_not_running());
  int target = active_of(vps);
  if (on_vps()) {
    int error = mt_vp_spawn_to(target);
    if (error != 0) return EAGAIN; /* a limit, or what a filter says */
    mt_share_set_most(target);
    mt_share_follow();
  }
  mt_store_relaxed(&mt_rt.wanted, vps); /* relaxed: a number for mltp_vps() */
  return 0;
}

int mltp_vps(void) { return mt_load_relaxed(&mt_rt.wanted); }

int mltp_vps_active(void) { return active_of(mt_load_relaxed(&mt_rt.wanted)); }

int mltp_cpus(void) { return os_cpus(); }

int mltp_vp(void) {
  struct mt_vp *vp = mt_here();
  return vp != NULL ? (int)vp->index : -1;
}

/* ---- starting */

/* The calling kernel thread becomes the main thread, on VP 0. */
static int make_main(void) {
  struct mltp_thread *t = mt_descriptor_new(NULL);
  if (t == NULL) return ENOMEM;
  mt_set_name(t, "main");
  t->kind = on_vps() && !mt_rt.main_is_bound ? MT_UNBOUND : MT_BOUND;
  t->vp = mt_rt.vps[0];
  mt_fork_stack((char **)&mt_rt.main_low, &mt_rt.main_size);
  if (t->kind == MT_BOUND) {
    t->stack_low = mt_rt.main_low;
    t->stack_size = mt_rt.main_size;
    t->token = 0;
    mt_outside_watch(t);
  }
  mt_sanitizer_adopt(&t->sanitizer);
  mt_sanitizer_stack(&t->sanitizer, mt_rt.main_low, mt_rt.main_size);
  mt_set_where(t, MT_RUNNING, 0);
  mt_det_enter(t);
  mt_rt.main = t;
  mt_set_current(t);
  return 0;
}

static void take_down(void) {
  mt_outside_forget(mt_rt.main);
  mt_set_current(NULL);
  mt_debug.stop();
  os_sigstack_free();
  mt_monitor_stop();
  if (mt_poller() != NULL) mt_poller()->stop_tasks();
  if (mt_rt.vp_count != 0) mt_vps_free();
  mt_monitor_free();
  if (mt_poller() != NULL) mt_poller()->stop();
  mt_pack_stop(); /* no thread is left that touches a stack */
  mt_descriptors_free();
  mt_stacks_free();
  mt_rt.main = NULL;
}

/* Says it. @return what the functions that start VPs return. */
static int report_no_vps(int error) {
  char why[128];
  os_thread_refusal(error, why, sizeof why);
  mt_message("mltp_init: cannot start %d VPs: %s (%sraise the limit)", mt_rt.wanted, why,
             mt_rt.wanted > 1 ? "set MLTP_VPS lower, or " : "");
  return error == ENOMEM ? ENOMEM : EAGAIN;
}

static void stop(void);

static bool others_later; /* [const during mltp_init()] VP 0 alone is made there */

void mt_defer_vps(void) { others_later = true; }

static int start_others(void) {
  if (!on_vps()) return 0;
  int error = mt_vp_spawn_to(mt_load_relaxed(&mt_rt.most));
  mt_bias_take(); /* one VP: the monitor takes a lock only when it hands over */
  return error != 0 ? error : mt_monitor_start();
}

int mt_start_vps(void) {
  int error = start_others();
  return error != 0 ? report_no_vps(error) : 0;
}

/* VP 0 on the caller's kernel thread, with main on it; or apart from it. */
static int start_first(void) {
  int error = 0;
  if (on_vps()) mt_monitor_prepare();
  if (on_vps() && !mt_rt.main_is_bound) error = mt_vp_first();
  if (error == 0) error = make_main();
  if (error == 0 && mt_rt.main_is_bound) error = mt_vp_first_apart();
  return error;
}

/* The runtime's state before there is a VP. vps: 0 for the default. */
static void set_state(int vps, bool bound_main) {
  /* foreign threads, and their waits, outlive the runtime */
  const struct mt_outside_state outside = mt_rt.outside;
  memset(&mt_rt, 0, sizeof mt_rt);
  mt_rt.outside.foreign_live = outside.foreign_live;
  mt_rt.outside.bystanders = outside.bystanders;
  mt_rt.outside.parked = outside.parked;
  mt_rt.outside.in_locks = outside.in_locks;
  const int cpus = os_cpus();
  bool bound = bound_main || mt_options.main == MT_MAIN_BOUND;
  mt_rt.main_is_bound = bound && on_vps() && !mt_det_on && !others_later;
  mt_rt.cpus = cpus;
  mt_rt.woken_most = mt_options.oversubscribe == MT_OVERSUBSCRIBE_EAGER ? MT_VPS_MAX : cpus;
  mt_rt.sleep.watchdog_deadline = MLTP_NEVER;
  mt_rt.sleep.checked_at = mt_rt.sleep.noted_at = UINT32_MAX;
  mt_rt.handover.look_at = MLTP_NEVER;
  if (vps == 0) vps = mt_options.vps != 0 ? (int)mt_options.vps : cpus;
  mt_rt.wanted = vps;
  mt_rt.idle.target = mt_rt.most = active_of(vps);
}

static int start(int vps, bool bound_main) {
  if (mt_load_acquire(&mt_rt.running)) return EALREADY; /* LF-5 acquire: pairs LF-4 */
  int error = mt_options_read();
  if (error == 0) error = mt_tuning_init();
  if (error == 0) error = mt_det_init();
  if (error != 0) return error;
  mt_options_warn_of_unknown();
  if (vps < 0 || vps > MT_VPS_MAX) {
    mt_message("mltp_init: bad number of VPs %d (0 for the default, or 1 to %d)", vps, MT_VPS_MAX);
    return EINVAL;
  }
  /* Early: MemorySanitizer ends a program that reads what an uninstrumented library wrote. */
  error = mt_announce_init();
  if (error != 0) return error;
  set_state(vps, bound_main);
  error = mt_alternative_init();
  if (error != 0) return error;
  mt_fence_init(mt_options.membarrier);
  error = mt_fork_init();
  if (error != 0) {
    mt_message("mltp_init: pthread_atfork: %s (free some memory)", strerror(error));
    return error;
  }
  error = mt_outside_init();
  if (error != 0) {
    mt_message("mltp_init: no key for thread-specific data: %s (use fewer of pthread_key_create)",
               strerror(error));
    return error;
  }
  error = mt_stacks_init();
  if (error == EACCES) return error;
  if (error != 0) {
    mt_message("mltp_init: no address space for stacks: %s (raise the limit on virtual memory)",
               strerror(error));
    return error;
  }
  error = start_first();
  if (error == 0) error = mt_debug.start();
  if (error == 0) mt_store_release(&mt_rt.running, 1); /* LF-4 release: pairs LF-3 LF-5 */
  if (error == 0) mt_await_init();                     /* before there are other VPs */
  if (error == 0 && !others_later) error = start_others();
  if (error == 0) error = mt_pack_start();
  if (error == 0 && mt_share_join() != 0) error = EINVAL;
  if (error == 0) mt_share_probe();
  if (error != 0) {
    if (error != EINVAL) error = report_no_vps(error); /* EINVAL has been explained */
    bool has_vps = mt_rt.main_is_bound && mt_rt.vp_count != 0;
    if (mt_load_relaxed(&mt_rt.running) || has_vps)
      stop();
    else
      take_down();
  }
  return error;
}

/* Two kernel threads may call mltp_init(), or one may while main ends the runtime. The second one
 * waits in the kernel, for it may have no descriptor. The word names the process: a child of fork()
 * may inherit it from a thread that the child does not have. */
static uint32_t changer; /* [atomic] the process that starts or stops the runtime; 0: none */
enum { OTHERS_WAIT = 1 << 30 };

static void wait_for_changer(uint32_t seen) {
  /* relaxed: the word is compared again in the kernel */
  if (seen & OTHERS_WAIT || mt_cas_relaxed(&changer, &seen, seen | OTHERS_WAIT))
    os_futex_wait(&changer, seen | OTHERS_WAIT, MLTP_NEVER);
}

static void begin_change(void) {
  uint32_t self = os_process(), seen = 0;
  while (!mt_cas_acquire(&changer, &seen, self)) {         /* LF-6 acquire: pairs LF-7 */
    if ((seen & ~(uint32_t)OTHERS_WAIT) != self) continue; /* inherited: replace it */
    wait_for_changer(seen);
    seen = 0;
  }
}

static void end_change(void) {
  /* LF-7 acq_rel: another thread sees the runtime as it is now; pairs LF-6 */
  if (mt_swap_acq_rel(&changer, 0) & OTHERS_WAIT) os_futex_wake(&changer, INT_MAX);
}

static int start_alone(int vps, bool bound_main) {
  begin_change();
  int error = start(vps, bound_main);
  end_change();
  return error;
}

int mltp_init(int vps) { return start_alone(vps, false); }

/* A larger structure is of a later version: what this library does not know must be zero. */
static bool knows(const mltp_init_attr_t *attr) {
  const char *bytes = (const char *)attr;
  if (attr->size < sizeof *attr || attr->size > 4096) return false;
  for (size_t i = sizeof *attr; i < attr->size; i++)
    if (bytes[i] != 0) return false;
  return true;
}

int mltp_init_with(const mltp_init_attr_t *attr) {
  if (attr == NULL) return start_alone(0, false);
  if (knows(attr)) return start_alone(attr->vps, attr->bound_main != 0);
  mt_message(
      "mltp_init_with: attributes of %zu bytes: not initialised, or of a later version (use "
      "MLTP_INIT_ATTR_INIT, or the library of that version)",
      attr->size);
  return EINVAL;
}

/* ---- stopping */

void mt_finalizer_check(void) {
  struct mltp_thread *main = mt_load_seq_cst(&mt_rt.finalizer); /* FN-2 seq_cst: pairs FN-1 */
  if (main == NULL || mt_live() != 1) return;
  mt_ilock_lock(&main->ilock); /* main's registers are saved once this is ours */
  bool waits = mt_load_relaxed(&mt_rt.finalizer) == main; /* relaxed: under its internal lock */
  mt_store_relaxed(&mt_rt.finalizer, NULL);
  mt_ilock_unlock(&main->ilock);
  if (waits) mt_resume(main);
}

void mt_wait_until_alone(void) {
  struct mltp_thread *main = mt_rt.main;
  while (mt_live() != 1) {
    mt_ilock_lock(&main->ilock);
    /* FN-1 seq_cst: before the look; a thread that ends later sees it; pairs FN-2 */
    mt_store_seq_cst(&mt_rt.finalizer, main);
    mt_fence_heavy(); /* FN-3 heavy fence: between the two; pairs ID-2 ID-22 LV-6 */
    if (mt_live() != 1) {
      mt_park(main, &main->ilock, MT_WHY_FINALIZE);
    } else {
      mt_store_relaxed(&mt_rt.finalizer, NULL);
      mt_ilock_unlock(&main->ilock);
    }
  }
}

/* Main goes back to the kernel thread that called mltp_init(). */
static void go_home(struct mltp_thread *main) {
  while (main->vp != NULL && main->vp->index != 0) { /* a thief may be quicker than VP 0 */
    struct mt_vp *vp = main->vp;
    mt_runq_enter(vp);
    vp->ctx.after_home = main;
    vp->ctx.after |= MT_AFTER_END;
    mt_set_where(main, MT_PARKED, vp->index);
    mt_switch(main, &vp->idle);
  }
}

static void stop(void) {
  mt_client_leave();
  mt_store_seq_cst(&mt_rt.stopping, 1); /* LF-1 seq_cst: pairs LF-2 */
  mt_set_target(MT_VPS_MAX);            /* VP 0 must wake up even if it is one too many */
  go_home(mt_rt.main);
  mt_wake_all();
  if (mt_options.stats) mt_debug.stats();
  mt_store_relaxed(&mt_rt.running, 0);
  take_down();
}

int mltp_finalize(void) {
  if (!mt_load_relaxed(&mt_rt.running)) return EINVAL;
  struct mltp_thread *self = mt_current();
  if (self == NULL || self != mt_rt.main) return EPERM;
  mt_values_end(self); /* destructors may start threads: before the wait */
  mt_wait_until_alone();
  mt_bound_wait_all();
  begin_change();
  stop();
  end_change();
  return 0;
}
