/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file gang.h
 * How nonblocking and persistent collectives are performed.
 *
 * task    one member's part of a collective that it has started
 * gang    the tasks of all members of one collective
 * worker  the thread of a rank that performs its tasks, one after the other
 *
 * A started task waits in its gang, a record without a thread, until the last member has started
 * its own. So what is outstanding costs a task and a request, however many there are. A complete
 * gang becomes ready, and the pump hands ready gangs to the workers in one order for all ranks.
 * A worker performs the blocking form, on a shadow of the communicator. Each worker meets its gangs
 * in the same order as every other, so the first gang that is not performed yet has all its
 * workers, and none waits for another forever. A gang needs nothing of a gang that is not
 * complete, so programs that start collectives of several communicators in different orders
 * proceed.
 *
 * A limit on the members that are handed out bounds the shadows, which are made for a gang as it is
 * handed out and freed after it.
 *
 * A worker is created by the first task of its rank, so that a lack of memory is an error of the
 * call that starts the task. It stays until MPI_Finalize(); for sessions only, as long as tasks are
 * outstanding.
 *
 * Members on several nodes form no gang, since nodes share no table. Such a task has a thread of
 * its own, which begins at once. A message for a member that has not started waits in its mailbox.
 *
 * Locks: the table's internal lock (gangs that are not complete), the pump's (ready gangs, counts
 * of those handed out), each worker's (its queue). None is held together with another.
 *
 * Rejected: a thread for each task (a stack for each: 4,096 ranks with 40 barriers outstanding had
 * no memory for them); schedules of steps, which need each algorithm a second time; the last
 * arrival performs the whole collective (large reductions would use one processor).
 */
#ifndef TM_COLL_GANG_H
#define TM_COLL_GANG_H

#include "tmpi/coll/collective.h"
#include "tmpi/rank/rank.h"

struct tm_gang;
struct tm_op;

/** One member's part. Types and operation may be freed by the program meanwhile, so they are held.
 */
struct tm_task {
  struct tm_task *next; /* [lock:table] in its gang; [ilock: the worker's] in its queue */
  struct tm_gang *gang; /* [const] since it has arrived there; NULL: of several nodes */
  struct tm_rank *rank; /* [const] */
  uint64_t context;     /* [const] of the shadow; all members compute the same */
  int number, starts;   /* [const] of the collective; [rank] times it was started */
  struct tm_collective collective;
  void *arrays; /* [const] those of the collective; NULL: it has none */
  struct tm_request *request;
  struct tm_comm *shadow; /* [worker] once it is handed out */
  struct tm_type **types; /* NULL: none is derived */
  int type_count;
  const struct tm_op *op;
};

/** Makes sure that the rank has a worker, which the task occupies until tm_worker_done(). @return
 * false: no memory. */
bool tm_worker_claim(struct tm_rank *rank);
/** Hands a task over. Any thread. */
void tm_worker_push(struct tm_task *task);
/** A task of the rank is complete. */
void tm_worker_done(struct tm_rank *rank);

/** The task joins its gang. The last one makes the gang ready. @return false: no memory. */
bool tm_gang_arrive(struct tm_task *task);
/** One of the gang's tasks was performed. */
void tm_gang_leave(struct tm_gang *gang);

/** Makes the shadow of a task's communicator. @return false: no memory. */
bool tm_task_prepare(struct tm_task *task);
/** Performs a task that was prepared, and completes its request; the task may be gone then. On the
 * rank's worker. */
void tm_task_perform(struct tm_task *task);
/** Completes the request of a task that cannot be performed. Any thread. */
void tm_task_fail(struct tm_task *task, int error);

#endif
