/* SPDX-License-Identifier: Apache-2.0 */
/* Barriers and once-only initialisation. */
#include "gate/layout.h"
#include "gate/next.h"
#include "gate/sync.h"

/* ThreadSanitizer does not see what these two order, since they do not call libc's functions: it
 * would report races that are none. NULL: the program does not use it. */
void __tsan_acquire(void *) __attribute__((weak));
void __tsan_release(void *) __attribute__((weak));

static void report_acquired(void *object) {
  if (mt_unlikely(__tsan_acquire != NULL)) __tsan_acquire(object);
}

static void report_released(void *object) {
  if (mt_unlikely(__tsan_release != NULL)) __tsan_release(object);
}

static int wait_in_lot(struct gt_thread *me, pthread_barrier_t *b) {
  gt_lock(me);
  if ((unsigned)gt_lot_count(b) + 1 >= gt_barrier_count(b)) {
    gt_lot_wake(b, INT_MAX);
    gt_unlock(me);
    gt_point(me, "pthread_barrier_wait");
    return PTHREAD_BARRIER_SERIAL_THREAD;
  }
  gt_lot_enter(b);
  gt_lot_wait(me, b, GT_WHY_BARRIER, &(struct gt_limit){0}, false);
  return 0;
}

/* The waiters in the lot have arrived. */
GT_EXPORT int pthread_barrier_wait(pthread_barrier_t *b) {
  struct gt_thread *me = gt_enter();
  if (me == NULL) return gt_next.barrier_wait(b);
  gt_point(me, "pthread_barrier_wait");
  me->at = __builtin_return_address(0);
  if (gt_barrier_is_shared(b)) {
    gt_leave(me);
    int result = gt_next.barrier_wait(b);
    gt_return(me);
    return result;
  }
  report_released(b);
  int result = wait_in_lot(me, b);
  report_acquired(b);
  return result;
}

/* ---- once: libc's values of the control word, so that its threads outside the gate agree */

enum { ONCE_RUNS = 1, ONCE_DONE = 2 };

/* The routine did not return: an exception or a cancellation left it. */
struct once {
  struct gt_thread *me;
  pthread_once_t *control;
  int becomes;
};

static void end_once(struct once *once) {
  report_released(once->control);
  /* GT-8 release: what the routine wrote; pairs GT-7 GT-10 */
  mt_store_release(once->control, once->becomes);
  mt_fence_full(); /* GT-9 full fence: as GT-2; pairs GT-1 */
  gt_wake(once->me, once->control, INT_MAX);
}

static int try_once(void *control) {
  int value = 0;
  if (mt_cas_acquire((int *)control, &value, ONCE_RUNS)) return 0; /* GT-10 acquire: pairs GT-8 */
  return value == ONCE_DONE ? EALREADY : EBUSY;
}

GT_EXPORT int pthread_once(pthread_once_t *control, void (*routine)(void)) {
  /* GT-7 acquire: what the routine wrote; pairs GT-8 */
  if (mt_likely(mt_load_acquire(control) == ONCE_DONE)) {
    report_acquired(control);
    return 0;
  }
  struct gt_thread *me = gt_enter();
  if (me == NULL) return gt_next.once(control, routine);
  gt_point(me, "pthread_once");
  me->at = __builtin_return_address(0);
  int error = try_once(control);
  if (error == EBUSY)
    error = gt_try_or_wait(me, control, try_once, GT_WHY_ONCE, &(struct gt_limit){0});
  if (error == EALREADY) {
    report_acquired(control);
    return 0;
  }
  struct once once __attribute__((cleanup(end_once))) = {me, control, 0};
  routine();
  once.becomes = ONCE_DONE;
  return 0;
}
