/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file aside.h
 * Where a program's threads compute for long between their waits, permits gain nothing: there are
 * no convoys, and each permit that changes hands costs a wake-up, behind which a CPU may idle. So
 * the gate *stands aside* for some time if the program has the machine to itself: all threads have
 * permits. It looks again and again, for a time that is short beside that.
 *
 * It does not stand aside where MLTP_VPS says how many threads may run, where mltpd grants fewer
 * CPUs than there are, or in a seeded run. If waits become frequent meanwhile, it comes back at
 * once; programs whose turns are short gain by permits.
 *
 * Rejected: to stand aside for all programs that are alone. Threads that convoy, yield or spin lose
 * more by running all at once than waits for permits cost.
 */
#ifndef MT_GATE_ASIDE_H
#define MT_GATE_ASIDE_H

#include <stdbool.h>
#include <stdint.h>

/** [const after start] More threads may run than gt_gate.most. */
extern bool gt_aside_allowed;

/** The monitor begins to watch. Under gt_lock. */
void gt_aside_watch(void);

/** The monitor has watched for some time more. Under gt_lock. @return for how long the gate is to
 * stand aside; 0: not at all */
uint64_t gt_aside_look(uint64_t passed);

/** The gate stands aside from now on: grants all. Under gt_lock. */
void gt_aside_begin(uint64_t now);

/** A permit changes hands; ends the time aside if that happens often. Under gt_lock. */
void gt_aside_turn(void);

/** The time aside is over, if it is not yet. Threads give way at their next calls. Under gt_lock.
 */
void gt_aside_end(void);

#endif
