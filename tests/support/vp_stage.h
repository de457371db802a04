/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file vp_stage.h
 * VPs that nobody runs, for tests of single steps of the scheduler. There is no runtime: the test
 * sets the state, calls a function, and looks at the state. The clock, wake-ups, masks and alarms
 * are the test's own, if it is linked with the options of tests/CMakeLists.txt for stages.
 */
#ifndef TESTS_VP_STAGE_H
#define TESTS_VP_STAGE_H

#include <stdbool.h>

#include "core/sched/wake.h"

enum { VPS = 4, TASK = 100 /* the kernel thread of VP 0; the others' follow */ };

extern struct mt_vp vps[VPS];

/** The time, in nanoseconds. A stage begins at `begin`. Each look at the clock adds the step, 0 at
 * first, and calls a function, if there is one. */
extern uint64_t now, step;
extern void (*at_clock)(void);
static const uint64_t ms = 1000000, begin = 5000000000;

/** How often a sleeping VP was kept off the caller's CPU, and how often the monitor's alarm was
 * set; to what it was set last. */
extern int avoided[VPS], alarms;
extern uint64_t alarm_ns;
extern bool alarm_is_refused; /**< there is none */

/** Some VPs that are all awake. target: how many may be; cpus: how many CPUs there are. */
void stage(int count, int target, int cpus);

/** Checks how many VPs are in each state, and that no internal lock is held. */
void check_counts(int awake, uint32_t sleeping, int blocked, uint32_t searching);

/** Checks that a VP was roused that often since the last look. Its word has changed as often, or it
 * would sleep on. */
void check_roused(int vp, int times);
void check_nobody_roused(void);

/** Puts a VP to sleep, whose entry is no reason for the watchdog to look again. */
void fall_asleep(int vp);

#endif
