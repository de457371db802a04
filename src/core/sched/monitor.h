/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file monitor.h
 * VPs that block in the kernel without saying so: their threads are handed over.
 *
 * A thread that calls read(2) takes its VP along. The *monitor*, a kernel thread that sleeps while
 * nothing is wrong (silence.h), finds a VP that has reached no scheduling point for MT_SILENT_NS
 * and whose kernel thread sleeps in the kernel, and does what mltp_blocking_begin() would have
 * done: the VP becomes MT_VP_CAUGHT and is not counted as awake, another VP wakes or is made, and
 * gets its ready threads. The VP counts as awake again at its next scheduling point: the probe that
 * the monitor leaves in its claim brings it to mt_release(), and its idle context then finds out
 * whether it is one VP too many.
 *
 * A VP that runs one thread for longer than MLTP_SLICE_MS while others are ready is handed over in
 * the same way. No thread is interrupted: the kernel shares the CPUs between the VPs. As many VPs
 * may be awake as are caught so (mt_rt.idle.company), and they get their threads at once: of
 * threads that poll for one another, twice as many run after each slice. With one VP more at a
 * time, the n-th would wait for a CPU among n - 1 that poll.
 *
 * The status changes under sleep.ilock, as all others of a VP, and a VP that is caught by mistake
 * loses nothing: CAUGHT says only that another VP may run in its place.
 *
 * Rejected: a signal that switches to another thread at any instruction
 * (docs/design/039-slices.md); a signal that interrupts the blocked call, which the program would
 * see as EINTR; to give the place back as soon as the call returns, which takes the CPU from the
 * threads that the other VP has just begun to run, for a thread that may block again at once.
 */
#ifndef MT_CORE_SCHED_MONITOR_H
#define MT_CORE_SCHED_MONITOR_H

/** Makes its alarm. Before there is a VP and before foreign threads see the runtime: both set it,
 * and a VP may come before mt_monitor_start(), when the first blocks. */
void mt_monitor_prepare(void);

/** Starts the monitor, once. After VPs have started: while their creator is in the kernel for it,
 * it seems to be blocked. @return 0 or EAGAIN. */
int mt_monitor_start(void);

/** Ends it. Before VPs are freed. */
void mt_monitor_stop(void);

/** Frees its alarm, which VPs use until they end. After VPs are freed. */
void mt_monitor_free(void);

/** In a child of fork(): there is no monitor. */
void mt_monitor_forget(void);

/** Reports, once, that no VP can be had in place of a blocked one, if all are blocked. */
void mt_monitor_no_vp(int error);

#endif
