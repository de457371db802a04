/* SPDX-License-Identifier: Apache-2.0 */
/* Where a kernel thread is put when it is woken. */
#include <errno.h>
#include <unistd.h>

#include "os/os.h"

void os_affinity_read(struct os_affinity *affinity) {
  int saved = errno;
  affinity->tid = gettid();
  /* fails on machines with more CPUs than the set has bits; then the kernel decides */
  affinity->known = sched_getaffinity(0, sizeof affinity->cpus, &affinity->cpus) == 0;
  affinity->narrowed = false;
  errno = saved;
}

/* All CPUs of the set but the caller's. @return false: there are none, or it is not
 * known which they are. */
static bool others(const struct os_affinity *affinity, cpu_set_t *cpus) {
  int here = sched_getcpu();
  if (!affinity->known || here < 0) return false;
  *cpus = affinity->cpus;
  CPU_CLR((unsigned)here, cpus);
  return CPU_COUNT(cpus) > 0;
}

void os_affinity_avoid_here(struct os_affinity *affinity) {
  int saved = errno;
  cpu_set_t cpus;
  affinity->narrowed =
      others(affinity, &cpus) && sched_setaffinity(affinity->tid, sizeof cpus, &cpus) == 0;
  errno = saved;
}

void os_affinity_start_elsewhere(struct os_affinity *affinity, pthread_attr_t *attr) {
  cpu_set_t cpus;
  os_affinity_read(affinity);
  affinity->narrowed =
      others(affinity, &cpus) && pthread_attr_setaffinity_np(attr, sizeof cpus, &cpus) == 0;
}

void os_affinity_restore(struct os_affinity *affinity) {
  int saved = errno;
  if (affinity->narrowed) sched_setaffinity(0, sizeof affinity->cpus, &affinity->cpus);
  affinity->narrowed = false;
  errno = saved;
}
