/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file near.h
 * How far VPs are from each other: whether a thread that moves between them finds its
 * data in a cache, in memory near by, or far away (docs/design/012).
 */
#ifndef MT_CORE_VP_LOCALITY_H
#define MT_CORE_VP_LOCALITY_H

#include <stdint.h>

struct mt_vp;

enum mt_distance { MT_SAME_CACHE, MT_SAME_MEMORY, MT_FAR };

/** Notes where the calling VP runs just now: kernel threads move. The first call on a CPU
 * reads a file. */
void mt_locality_note(struct mt_vp *here);

/** @return how far apart two VPs were when they noted it. */
enum mt_distance mt_locality_distance(const struct mt_vp *a, const struct mt_vp *b);

#endif
