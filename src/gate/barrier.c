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
  int ended;
  do {
    gt_lock(me);
    if ((unsigned)gt_lot_count(b) + 1 >= gt_barrier_count(b)) {
      gt_lot_wake(b, INT_MAX);
      gt_unlock(me);
      gt_point(me, "pthread_barrier_wait");
      return PTHREAD_BARRIER_SERIAL_THREAD;
    }
    gt_lot_enter(b);
    ended = gt_lot_wait(me, b, GT_WHY_BARRIER, &(struct gt_limit){0}, false);
  } while (ended == EAGAIN);
  return 0;
}

/* The waiters in the lot have arrived. */
GT_EXPORT int pthread_barrier_wait(pthread_barrier_t *b) {
  struct gt_thread *me = gt_enter_again();
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

/* ---- once: libc's values of the control word, so that its threads outside the gate agree. While a
 * routine runs, the word also tells in which process. A thread that has not come along to the
 * child of a fork will never end it, so it begins again there. */

enum { ONCE_DONE = 2 };

static uint32_t while_it_runs; /* [atomic] the word, in this process; 0: not known */
static __thread pthread_once_t asked;
static __thread uint32_t answer;

static void note_word(void) { answer = (uint32_t)asked; }

/* Relaxed: threads that ask at once get the same answer. */
static uint32_t word_while_it_runs(void) {
  uint32_t word = mt_load_relaxed(&while_it_runs);
  if (mt_likely(word != 0)) return word;
  asked = PTHREAD_ONCE_INIT;
  gt_next.once(&asked, note_word);
  mt_store_relaxed(&while_it_runs, answer);
  return answer;
}

void gt_once_forget(void) { mt_store_relaxed(&while_it_runs, 0); /* relaxed: the only thread */ }

/* The routine did not return: an exception or a cancellation left it. */
struct once {
  struct gt_thread *me;
  pthread_once_t *control;
  int becomes;
};

static void end_once(struct once *once) {
  report_released(once->control);
  /* GT-8 release: what the routine wrote; pairs GT-7 GT-10 GT-26 */
  mt_store_release(once->control, once->becomes);
  mt_fence_full(); /* GT-9 full fence: as GT-2; pairs GT-1 */
  gt_wake(once->me, once->control, INT_MAX);
}

static int try_once(void *control) {
  int runs = (int)word_while_it_runs();
  for (;;) {
    int seen = mt_load_acquire((int *)control); /* GT-26 acquire: as GT-7; pairs GT-8 */
    if (seen == ONCE_DONE) return EALREADY;
    if (seen == runs) return EBUSY;
    if (mt_cas_acquire((int *)control, &seen, runs)) return 0; /* GT-10 acquire: pairs GT-8 */
  }
}

GT_EXPORT int pthread_once(pthread_once_t *control, void (*routine)(void)) {
  /* GT-7 acquire: what the routine wrote; pairs GT-8 */
  if (mt_likely(mt_load_acquire(control) == ONCE_DONE)) {
    report_acquired(control);
    return 0;
  }
  struct gt_thread *me = gt_enter_again();
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

GT_OLD_NAME(__pthread_once, pthread_once);
