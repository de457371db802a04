/* SPDX-License-Identifier: Apache-2.0 */
/* Where a kernel thread is put when it is woken, and where it is moved to. */
#include <errno.h>

#include "os/os.h"

/* Notes where a thread may run, 0: the caller, and takes the caller's CPU out of the set. @return
 * false: no other is left, or it is not known which they are: on machines with more CPUs than the
 * set has bits the kernel decides. */
static bool others(pid_t tid, struct os_affinity *affinity, cpu_set_t *cpus) {
  int here = sched_getcpu();
  if (here < 0 || sched_getaffinity(tid, sizeof affinity->cpus, &affinity->cpus) != 0) return false;
  *cpus = affinity->cpus;
  CPU_CLR((unsigned)here, cpus);
  return CPU_COUNT(cpus) > 0;
}

void os_affinity_avoid_here(struct os_affinity *affinity, pid_t tid) {
  int saved = errno;
  cpu_set_t cpus;
  affinity->narrowed =
      others(tid, affinity, &cpus) && sched_setaffinity(tid, sizeof cpus, &cpus) == 0;
  errno = saved;
}

void os_affinity_start_elsewhere(struct os_affinity *affinity, pthread_attr_t *attr) {
  int saved = errno;
  cpu_set_t cpus;
  affinity->narrowed =
      others(0, affinity, &cpus) && pthread_attr_setaffinity_np(attr, sizeof cpus, &cpus) == 0;
  errno = saved;
}

void os_affinity_restore(struct os_affinity *affinity) {
  int saved = errno;
  if (affinity->narrowed) sched_setaffinity(0, sizeof affinity->cpus, &affinity->cpus);
  affinity->narrowed = false;
  errno = saved;
}

/* @return whether that leaves a set which is neither empty nor whole. */
static bool part(const cpu_set_t *all, uint32_t first, uint32_t count, cpu_set_t *some) {
  uint32_t number = 0;
  CPU_ZERO(some);
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (!CPU_ISSET(cpu, all)) continue;
    if (number >= first && number - first < count) CPU_SET(cpu, some);
    number++;
  }
  uint32_t chosen = (uint32_t)CPU_COUNT(some);
  return chosen > 0 && chosen < number;
}

void os_affinity_visit(uint32_t first, uint32_t count) {
  int saved = errno, here = sched_getcpu();
  cpu_set_t all, some;
  if (here >= 0 && sched_getaffinity(0, sizeof all, &all) == 0 && part(&all, first, count, &some) &&
      !CPU_ISSET((unsigned)here, &some) && sched_setaffinity(0, sizeof some, &some) == 0)
    sched_setaffinity(0, sizeof all, &all);
  errno = saved;
}
