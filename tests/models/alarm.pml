/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The monitor's alarm (set_alarm() in src/core/sched/monitor.c, mt_silence_ends()). The monitor
 * leaves the alarm unset while no VP is awake; a VP that becomes awake sets it.
 *
 * Checked: when nothing moves any more and the VP is awake, the alarm is set.
 */
#define CPUS 2 /* the VP, the monitor */
#define WORDS 2
#include "tso.pml"

/* words of mem[] */
#define IS_AWAKE 0
#define RESTS 1

bool alarm_set; /* changed by system calls */

inline set_alarm(cpu, on) { atomic { drain(cpu); alarm_set = on } }

active proctype vp() {
  byte round;
  do
  :: round < 2 ->
     store(0, IS_AWAKE, 1);
#if !(defined(MUTATE_1) && defined(FULL_FENCES))
     light_fence(0); /* HO-2 */
#endif
     if
     :: LOAD(0, RESTS) -> store(0, RESTS, 0); set_alarm(0, true)
     :: else
     fi;
     round++;
     if
     :: round < 2 -> store(0, IS_AWAKE, 0)
     :: else
     fi
  :: else -> break
  od
}

active proctype monitor() {
  byte round;
  do
  :: round < 3 ->
#ifdef MUTATE_3
     store(1, RESTS, 1);
#else
     set_alarm(1, false);
     store(1, RESTS, 1);
#endif
#ifndef MUTATE_2
     atomic { heavy_fence(1) }; /* HO-1 */
#endif
     if
     :: LOAD(1, IS_AWAKE) -> store(1, RESTS, 0); set_alarm(1, true)
#ifdef MUTATE_3
     :: else -> set_alarm(1, false)
#else
     :: else
#endif
     fi;
     round++
  :: else -> break
  od
}

active proctype checker() {
  timeout -> assert(!mem[IS_AWAKE] || alarm_set)
}
