/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A place is the NUMA node of a CPU, above, and which CPUs it shares its last cache with,
 * below. A CPU's group is asked for once, by the first VP that has to know: a library that
 * starts in microseconds has no time to look at all of a machine.
 *
 * Relaxed: all of it hints; a CPU's group is the same whoever reads it.
 */
#include "core/vp/locality.h"

#include "base/options.h"
#include "core/vp/vp.h"

enum { CPUS = 1024, NODE_SHIFT = 16 };

static uint16_t groups[CPUS]; /* [atomic] 0: not asked yet; else one more than the group */

static unsigned group_of(unsigned cpu) {
  if (mt_options.cache_share != 0) return cpu / (unsigned)mt_options.cache_share;
  if (cpu >= CPUS) return 0;
  unsigned known = mt_load_relaxed(&groups[cpu]);
  if (known == 0) {
    known = 1 + os_cache_group(cpu) % CPUS;
    mt_store_relaxed(&groups[cpu], (uint16_t)known);
  }
  return known - 1;
}

void mt_locality_note(struct mt_vp *here) {
  unsigned cpu, node;
  os_here(&cpu, &node);
  uint32_t place = node << NODE_SHIFT | group_of(cpu);
  mt_store_relaxed(&here->sleep.locality, place);
  const struct mt_vp *first = mt_load_relaxed(&mt_rt.vps[0]);
  if (first != NULL && place != mt_load_relaxed(&first->sleep.locality))
    mt_store_relaxed(&mt_rt.idle.localities, 1);
}

enum mt_distance mt_locality_distance(const struct mt_vp *a, const struct mt_vp *b) {
  uint32_t x = mt_load_relaxed(&a->sleep.locality), y = mt_load_relaxed(&b->sleep.locality);
  if (x == y) return MT_SAME_CACHE;
  return x >> NODE_SHIFT == y >> NODE_SHIFT ? MT_SAME_MEMORY : MT_FAR;
}
