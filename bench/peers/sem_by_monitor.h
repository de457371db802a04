/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file sem_by_monitor.h
 * The semaphore a user writes for a library that has none, from the p_monitor_t of
 * rows.h. Include it after that.
 */
#ifndef MLTP_BENCH_SEM_BY_MONITOR_H
#define MLTP_BENCH_SEM_BY_MONITOR_H

typedef struct {
  p_monitor_t monitor;
  unsigned value;
} p_sem_t;

static inline void p_sem_init(p_sem_t *sem, unsigned value) {
  p_monitor_init(&sem->monitor);
  sem->value = value;
}

static inline void p_sem_wait(p_sem_t *sem) {
  p_enter(&sem->monitor);
  while (sem->value == 0) p_wait(&sem->monitor);
  sem->value--;
  p_leave(&sem->monitor);
}

static inline bool p_sem_try(p_sem_t *sem) {
  p_enter(&sem->monitor);
  bool taken = sem->value > 0;
  sem->value -= taken;
  p_leave(&sem->monitor);
  return taken;
}

static inline void p_sem_post(p_sem_t *sem) {
  p_enter(&sem->monitor);
  sem->value++;
  p_signal(&sem->monitor);
  p_leave(&sem->monitor);
}

#endif
