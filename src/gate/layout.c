/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/layout.h"

static bool mutex_holds(void) {
  pthread_mutexattr_t attr;
  pthread_mutex_t plain, shared, robust, checks;
  pthread_mutex_init(&plain, NULL);
  pthread_mutexattr_init(&attr);
  pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_init(&checks, &attr);
  pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init(&shared, &attr);
  pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_PRIVATE);
  pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&robust, &attr);
  pthread_mutexattr_destroy(&attr);
  return gt_mutex_is_plain(&plain) && !gt_mutex_checks(&plain) && gt_mutex_is_plain(&checks) &&
         gt_mutex_checks(&checks) && !gt_mutex_is_plain(&shared) && !gt_mutex_is_plain(&robust);
}

static bool cond_holds(void) {
  pthread_condattr_t attr;
  pthread_cond_t plain, shared, other;
  pthread_cond_init(&plain, NULL);
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  pthread_cond_init(&other, &attr);
  pthread_condattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
  pthread_cond_init(&shared, &attr);
  pthread_condattr_destroy(&attr);
  return !gt_cond_is_shared(&plain) && gt_cond_clock(&plain) == CLOCK_REALTIME &&
         !gt_cond_is_shared(&other) && gt_cond_clock(&other) == CLOCK_MONOTONIC &&
         gt_cond_is_shared(&shared);
}

static bool rwlock_holds(void) {
  pthread_rwlockattr_t attr;
  pthread_rwlock_t plain, shared;
  pthread_rwlock_init(&plain, NULL);
  pthread_rwlockattr_init(&attr);
  pthread_rwlockattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
  pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
  pthread_rwlock_init(&shared, &attr);
  pthread_rwlockattr_destroy(&attr);
  return !gt_rwlock_is_shared(&plain) && !gt_rwlock_prefers_writers(&plain) &&
         gt_rwlock_is_shared(&shared) && gt_rwlock_prefers_writers(&shared);
}

static bool others_hold(void) {
  pthread_barrierattr_t attr;
  pthread_barrier_t plain, shared;
  sem_t own, ours;
  pthread_barrier_init(&plain, NULL, 3);
  pthread_barrierattr_init(&attr);
  pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(&shared, &attr, 5);
  pthread_barrierattr_destroy(&attr);
  sem_init(&own, 0, 7);
  sem_init(&ours, 1, 9);
  return gt_barrier_count(&plain) == 3 && !gt_barrier_is_shared(&plain) &&
         gt_barrier_count(&shared) == 5 && gt_barrier_is_shared(&shared) &&
         !gt_sem_is_shared(&own) && gt_sem_is_shared(&ours);
}

bool gt_layout_holds(void) {
  return mutex_holds() && cond_holds() && rwlock_holds() && others_hold();
}
