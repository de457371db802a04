/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file pool.h
 * A few kernel threads that make calls on files for threads of VPs. A file is always ready for
 * epoll, and a call on it may wait for a disk nevertheless.
 *
 * They start when the first such call comes, one for each call that finds none at rest, and end
 * with the runtime.
 */
#ifndef MT_IO_POOL_H
#define MT_IO_POOL_H

#include "core/thread/thread.h"

/** A call; on the stack of the thread that waits for it. */
struct mt_io_job {
  void (*run)(struct mt_io_job *job); /* makes it */
  struct mt_io_job *next;             /* [ilock] of the pool */
  struct mltp_thread *thread;         /* [const] the caller */
  mt_ilock ilock;                     /* held until the thread's registers are saved */
};

/** Has the job run and waits for its end. Bound and foreign threads run it themselves, and so does
 * deterministic mode. @param text what the thread waits for. @return 0; ECANCELED: the thread is
 * cancelled, and the job did not run. */
int mt_pool_run(struct mltp_thread *self, struct mt_io_job *job, const char *text);

#endif
