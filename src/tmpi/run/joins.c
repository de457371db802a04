/* SPDX-License-Identifier: Apache-2.0 */
#include "tmpi/run/joins.h"

#include <mltp/mltp.h>
#include <stdlib.h>

#include "base/atomic.h"
#include "core/internal/locks.h"
#include "tmpi/run/process.h"

struct tm_join {
  struct tm_join *next; /* [ilock] */
  pthread_t thread;     /* [const] once it is in the list */
  mltp_sem_t ended;
  bool exists;    /* [ilock] it was put into the list */
  uint32_t users; /* [atomic] the pthread, its creator, and the list or the joiner: the last frees
                     it */
};

static uint32_t ilock;
static struct tm_join
    *joins; /* [ilock] pthreads that nobody has joined or detached, newest first */

static void leave(struct tm_join *join) {
  if (mt_add_acq_rel(&join->users, (uint32_t)-1) != 1) return; /* JN-1 acq_rel: pairs JN-1 */
  mltp_sem_destroy(&join->ended);
  free(join);
}

struct tm_join *tm_join_new(const pthread_attr_t *attr) {
  int detached = PTHREAD_CREATE_JOINABLE;
  if (attr != NULL) pthread_attr_getdetachstate(attr, &detached);
  struct tm_join *join = detached == PTHREAD_CREATE_JOINABLE ? malloc(sizeof *join) : NULL;
  if (join == NULL) return NULL;
  join->users = 3;
  join->exists = false;
  mltp_sem_init(&join->ended, 0, "end of a pthread");
  return join;
}

/* Under the lock. */
static void push(struct tm_join *join) {
  join->next = joins;
  joins = join;
}

void tm_join_exists(struct tm_join *join, const pthread_t *thread) {
  if (join == NULL) return;
  mti_lock(&ilock);
  if (!join->exists) {
    join->exists = true;
    join->thread = *thread;
    push(join);
  }
  mti_unlock(&ilock);
}

void tm_join_created(struct tm_join *join) {
  if (join != NULL) leave(join);
}

void tm_join_cancel(struct tm_join *join) {
  if (join == NULL) return;
  mltp_sem_destroy(&join->ended);
  free(join);
}

void tm_join_ended(struct tm_join *join) {
  if (join == NULL) return;
  mltp_sem_post(&join->ended);
  leave(join);
}

/* The newest counts: libc uses numbers again. In a child of fork() pthreads have no records, and
 * another thread may have held the lock. */
struct tm_join *tm_join_take(pthread_t thread) {
  if (tm_process_is_child()) return NULL;
  mti_lock(&ilock);
  struct tm_join **link = &joins;
  while (*link != NULL && !pthread_equal((*link)->thread, thread)) link = &(*link)->next;
  struct tm_join *join = *link;
  if (join != NULL) *link = join->next;
  mti_unlock(&ilock);
  return join;
}

void tm_join_put_back(struct tm_join *join) {
  if (join == NULL) return;
  mti_lock(&ilock);
  push(join);
  mti_unlock(&ilock);
}

void tm_join_forget(struct tm_join *join) {
  if (join != NULL) leave(join);
}

void tm_join_wait(struct tm_join *join) {
  if (join != NULL) mltp_sem_wait(&join->ended);
}
