/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A locality holds the NUMA node of a CPU in its high part, and the group of CPUs that share its
 * last cache in its low part. The first VP that has to know a CPU's group asks for it, once. To
 * look at the whole machine at the start would cost more than the rest of the start.
 *
 * Relaxed: these values are only hints; all readers compute the same group for a CPU.
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
