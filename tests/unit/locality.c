/* SPDX-License-Identifier: Apache-2.0 */
/* How far VPs are from each other, on a faked machine: thieves ask once VPs were seen apart. */
#define _GNU_SOURCE /* the runtime's headers want it */
#include "core/vp/locality.h"

#include "core/vp/vp.h"
#include "support/support.h"

enum {
  SHARE = 2,   /* CPUs that share a cache */
  NODE = 4,    /* CPUs of a node */
  MANY = 1024, /* CPUs whose groups are known */
};

static __thread unsigned own_cpu; /* of this kernel thread; all VPs run on CPU 0 */

void __wrap_os_here(unsigned *cpu, unsigned *node);
unsigned __wrap_os_cache_group(unsigned cpu);

void __wrap_os_here(unsigned *cpu, unsigned *node) {
  *cpu = own_cpu;
  *node = own_cpu / NODE;
}

unsigned __wrap_os_cache_group(unsigned cpu) { return cpu / SHARE; }

/* As if a VP ran on a CPU. The calling thread does not switch here. */
static enum mt_distance distance_on(struct mt_vp *vp, unsigned cpu) {
  own_cpu = cpu;
  mt_locality_note(vp);
  own_cpu = 0;
  return mt_locality_distance(mt_rt.vps[0], vp);
}

static void vps_are_seen_apart(void) {
  static struct mt_vp other; /* which nobody runs */
  if (on_kernel_backend()) return;
  CHECK_EQUAL(distance_on(mt_rt.vps[0], 0), MT_SAME_CACHE);
  CHECK_EQUAL(distance_on(&other, 1), MT_SAME_CACHE);
  CHECK_EQUAL(mt_load_relaxed(&mt_rt.idle.localities), 0);
  CHECK_EQUAL(distance_on(&other, 2), MT_SAME_MEMORY);
  CHECK_EQUAL(mt_load_relaxed(&mt_rt.idle.localities), 1);
  CHECK_EQUAL(distance_on(&other, 5), MT_FAR);
}

/* All of a node count as one group, as those of the first CPUs are. */
static void cpus_beyond_the_table_are_one_group(void) {
  static struct mt_vp other;
  if (on_kernel_backend()) return;
  for (unsigned cpu = MANY; cpu < MANY + NODE; cpu++) {
    distance_on(&other, cpu);
    CHECK_EQUAL(mt_load_relaxed(&other.sleep.locality) & UINT16_MAX, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {TEST(vps_are_seen_apart),
                                     TEST(cpus_beyond_the_table_are_one_group)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
