/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file poller.h
 * The instance of epoll of the runtime. core/sched/poll.h says which VP waits in it.
 *
 * Without VPs (MLTP_BACKEND=kernel) a kernel thread of its own does.
 */
#ifndef MT_IO_POLLER_H
#define MT_IO_POLLER_H

#include "core/vp/poller.h"

/** Starts it, unless it runs. @return 0, or why the kernel refuses. */
int mt_io_start(void);

/** Reports the changes of a descriptor from now on. @return 0, or why the kernel refuses. */
int mt_io_report(int fd);
/** Reports no more of it. */
void mt_io_report_no_more(int fd);

/* What follows from a report, and from the end, is above this file. */

/** Events of a descriptor: makes the threads ready that wait for them, on `here`, or where they ran
 * last if that is NULL. Implemented by fd.c. */
void mt_io_changed(int fd, uint32_t events, struct mt_vp *here);

/** The runtime has ended, or this is a child of fork(): nothing is registered, nobody waits.
 * Implemented by fd.c. */
void mt_io_forget_all(bool child);

/** The runtime ends: no kernel thread makes calls on files any more. Implemented by pool.c. */
void mt_pool_stop(void);
/** In a child of fork(): there are none. */
void mt_pool_forget(void);

#endif
