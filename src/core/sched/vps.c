/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making and ending virtual processors.
 *
 * Relaxed: the number of VPs changes under spawn_ilock, and is read there.
 */
#include "core/sched/vps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/options.h"
#include "core/det/det.h"
#include "core/memory/stack.h"
#include "core/sched/idle.h"
#include "core/sched/sched.h"
#include "core/vp/alternative.h"
#include "core/vp/locality.h"
#include "core/vp/vp.h"

/* The C++ runtime's, when the program has one. The weak one is for static programs; of a library
 * that dlopen() brought for all only its name is known. */
typedef struct mt_eh_globals *eh_function(void);
extern eh_function __cxa_get_globals __attribute__((weak));
static eh_function *get_eh_globals; /* [const after mt_vp_first()] */

static void find_eh_globals(void) {
  get_eh_globals = __cxa_get_globals;
  if (get_eh_globals == NULL) *(void **)&get_eh_globals = os_symbol("__cxa_get_globals");
}

/* ---- pthread_exit() in an unbound thread would end its VP, and the process might end with status
 * 0 or never */

static pthread_key_t end_key;
static bool end_key_made; /* [const after mt_vp_first()] */

static void kernel_thread_ends(void *vp) {
  const struct mltp_thread *t = mt_current();
  (void)vp;
  mt_sanitizer_frames_left();
  if (!mt_load_relaxed(&mt_rt.running) || t == NULL) return; /* relaxed: a child of fork(), too */
  os_report_alone();
  mt_message(
      "thread %lu '%s': pthread_exit() or pthread_cancel() ends its VP's kernel thread (call "
      "mltp_exit() or mltp_cancel())",
      (unsigned long)t->id, mt_name(t));
  abort();
}

/* Without a key such a call goes unnoticed. */
static void watch_end(struct mt_vp *vp) {
  if (end_key_made) os_thread_exit_value(end_key, vp);
}

void mt_vp_adopt_kernel_thread(struct mt_vp *vp) {
  watch_end(vp);
  vp->ctx.errno_at = &errno;
  static struct mt_eh_globals none; /* stays empty: nothing throws without that runtime */
  vp->ctx.eh_at = get_eh_globals != NULL ? get_eh_globals() : &none;
  mt_locality_note(vp);
  struct os_task task;
  os_task_self(&task);
  vp->handover.task.cpu_clock = task.cpu_clock;
  vp->handover.task.has_clock = task.has_clock;
  mt_store_release(&vp->handover.task.tid, task.tid); /* VM-2 release: the rest; pairs VM-1 */
  os_sigstack_make(); /* without one an overflow is an ordinary crash */
}

static struct mt_vp *vp_new(uint32_t index) {
  struct mt_vp *vp = aligned_alloc(alignof(struct mt_vp), sizeof *vp);
  if (vp == NULL) return NULL;
  memset(vp, 0, sizeof *vp);
  vp->index = vp->runq.index = index;
  if (!mt_alternative_vp_begin(vp)) {
    free(vp);
    return NULL;
  }
  if (mt_has_alternative()) vp->runq.claim = MT_CLAIM_ALTERNATIVE;
  vp->caches.descriptors.room = mt_cache_limits.descriptors;
  vp->caches.stacks.room = mt_cache_limits.stacks;
  vp->points.check_at = mt_det_on ? 0 : MT_TICKS_PER_CHECK;
  vp->search.seed = index * 2654435761u + 1;
  vp->timers.earliest = MLTP_NEVER;
  mt_vp_now(vp);
  vp->idle.vp = vp;
  vp->idle.kind = MT_IDLE;
  mt_set_name(&vp->idle, "idle");
  return vp;
}

static void vp_free(struct mt_vp *vp) {
  if (vp != NULL) mt_alternative_vp_end(vp);
  free(vp);
}

static void publish(struct mt_vp *vp) {
  mt_rt.vps[vp->index] = vp;
  mt_store_release(&mt_rt.vp_count, vp->index + 1); /* VP-1 release: the entry; pairs VP-2 */
}

static void learn_process(void) {
  find_eh_globals();
  if (!end_key_made) end_key_made = os_thread_exit_hook(&end_key, kernel_thread_ends) == 0;
}

int mt_vp_first(void) {
  struct mt_vp *vp = vp_new(0);
  struct mt_stack *stack = vp != NULL ? mt_stack_new(NULL, mt_rt.stack_class) : NULL;
  if (stack == NULL) {
    vp_free(vp);
    return ENOMEM;
  }
  vp->idle.stack = stack;
  mt_sanitizer_stack(&vp->idle.sanitizer, stack->low, mt_stack_size(stack));
  mt_sanitizer_begin(&vp->idle.sanitizer);
  mt_context_init(&vp->idle.context, stack);
  learn_process();
  mt_vp_adopt_kernel_thread(vp);
  vp->sleep.status = MT_VP_AWAKE;
  mt_rt.idle.awake = 1;
  publish(vp);
  return 0;
}

int mt_vp_first_apart(void) {
  learn_process();
  return mt_vp_spawn_to(1);
}

/* Entry of the kernel thread of every other VP. */
static void *vp_main(void *arg) {
  struct mt_vp *vp = arg;
  char *low = NULL;
  size_t size = 0;
  /* others must find this VP before it asks them for threads */
  for (unsigned round = 0; mt_vp_count() <= vp->index;) mt_relax(&round);
  os_affinity_restore(&vp->sleep.affinity);
  if (vp->manner != NULL) os_manner_take(vp->manner);
  mt_set_current(&vp->idle);
  os_thread_stack(&low, &size);
  vp->ctx.idle_low = low;
  vp->ctx.idle_size = size;
  mt_sanitizer_stack(&vp->idle.sanitizer, low, size);
  mt_sanitizer_adopt(&vp->idle.sanitizer);
  mt_vp_adopt_kernel_thread(vp);
  mt_idle_loop(vp);
  watch_end(NULL);
  mt_set_current(NULL);
  os_sigstack_free();
  return NULL;
}

int mt_vp_spawn_as(const struct os_manner *manner) {
  mt_ilock_lock(&mt_rt.spawn_ilock);
  uint32_t index = mt_load_relaxed(&mt_rt.vp_count); /* relaxed: changes under the ilock only */
  struct mt_vp *vp = index < MT_VPS_MAX ? vp_new(index) : NULL;
  int error = vp != NULL ? 0 : EAGAIN;
  if (error == 0) {
    vp->sleep.status = MT_VP_AWAKE;
    vp->manner = manner;
    mt_awake_add(1);
    /* A creator outside the VPs soon frees its CPU. A creator on a VP does not, so the new VP
     * starts elsewhere. */
    error =
        os_thread_start(&vp->kernel_thread, &vp->sleep.affinity, mt_here() != NULL, vp_main, vp);
    if (error != 0) mt_awake_add(-1);
  }
  if (error == 0) {
    publish(vp);
  } else {
    vp_free(vp);
  }
  mt_ilock_unlock(&mt_rt.spawn_ilock);
  return error;
}

int mt_vp_spawn(void) { return mt_vp_spawn_as(NULL); }

int mt_vp_spawn_to(int count) {
  while ((int)mt_load_relaxed(&mt_rt.vp_count) < count) {
    int error = mt_vp_spawn();
    if (error != 0) return error;
  }
  return 0;
}

void mt_vps_free(void) {
  uint32_t count = mt_rt.vp_count;
  uint32_t first = mt_rt.main_is_bound ? 0 : 1;
  for (uint32_t i = first; i < count; i++) os_thread_join(mt_rt.vps[i]->kernel_thread);
  watch_end(NULL);
  if (first != 0) mt_sanitizer_end(&mt_rt.vps[0]->idle.sanitizer);
  for (uint32_t i = 0; i < count; i++) {
    vp_free(mt_rt.vps[i]);
    mt_rt.vps[i] = NULL;
  }
  mt_rt.vp_count = 0;
}
