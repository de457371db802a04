/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file rows.h
 * The rows, written once for all libraries; valid C and C++.
 *
 * A peer first defines the primitives below for its library, as inline functions,
 * then includes this file: the compiler sees the library's own calls in the loops,
 * with no table of functions between.
 *
 *   p_thread_t   p_spawn(p_thread_t *, void *(*)(void *), void *)   joinable
 *                p_join(p_thread_t *)
 *                p_spawn_detached(void *(*)(void *), void *)
 *                p_yield()
 *   p_lock_t     p_lock_init, p_lock, p_unlock
 *   p_monitor_t  p_monitor_init, p_enter, p_leave, p_wait, p_signal, p_broadcast:
 *                a lock with one condition
 *   p_sem_t      p_sem_init(sem, value), p_sem_wait, p_sem_try, p_sem_post; or, where the
 *                library has none, sem_by_monitor.h
 *   p_barrier_t  p_barrier_init(barrier, count), p_barrier_wait
 */
#ifndef MLTP_BENCH_ROWS_H
#define MLTP_BENCH_ROWS_H

#include <stdlib.h>

#include "peer.h"

/* Threads run body(arg) side by side; the clock runs from the moment the last of them is
 * up to the moment the last of them is done, so that creating and joining stay outside. */
struct team {
  struct peer_run *run;
  unsigned size;
  unsigned up;
  unsigned done;
  uint64_t rounds; /* of each member */
};

static inline void team_enter(struct team *team) {
  if (__atomic_add_fetch(&team->up, 1, __ATOMIC_ACQ_REL) == team->size) {
    peer_clock_start(team->run);
    __atomic_store_n(&team->up, team->size + 1, __ATOMIC_RELEASE);
  }
  while (__atomic_load_n(&team->up, __ATOMIC_ACQUIRE) <= team->size) p_yield();
}

static inline void team_leave(struct team *team) {
  if (__atomic_add_fetch(&team->done, 1, __ATOMIC_ACQ_REL) == team->size)
    peer_clock_stop(team->run);
}

static inline void team_init(struct team *team, struct peer_run *run, unsigned size) {
  team->run = run;
  team->size = size;
  team->up = team->done = 0;
  team->rounds = (run->ops + size - 1) / size;
  run->ops = team->rounds * size;
}

/* @return did all of them come to the end? */
static inline bool team_go(struct team *team, void *(*body)(void *), void *arg) {
  p_thread_t *threads = (p_thread_t *)peer_alloc(team->size, sizeof *threads);
  for (unsigned i = 0; i < team->size; i++) p_spawn(&threads[i], body, arg);
  for (unsigned i = 0; i < team->size; i++) p_join(&threads[i]);
  free(threads);
  return team->done == team->size;
}

/* ---------------------------------------------------------------- yield */

static inline void *yield_body(void *arg) {
  struct team *team = (struct team *)arg;
  team_enter(team);
  for (uint64_t i = 0; i < team->rounds; i++) p_yield();
  team_leave(team);
  return NULL;
}

static inline bool row_yield(struct peer_run *run) {
  struct team team;
  team_init(&team, run, run->threads);
  return team_go(&team, yield_body, &team);
}

/* --------------------------------------------------------------- create */

/* A null thread leaves only the number of its batch, where it can be checked. */
enum { CREATE_BATCH = 256 };
static uint32_t create_batch;

static inline void *null_body(void *arg) {
  __atomic_store_n((uint32_t *)arg, create_batch, __ATOMIC_RELEASE);
  return NULL;
}

static inline bool row_create(struct peer_run *run) {
  static uint32_t slots[CREATE_BATCH];
  uint64_t batches = (run->ops + CREATE_BATCH - 1) / CREATE_BATCH;
  run->ops = batches * CREATE_BATCH;
  peer_clock_start(run);
  for (uint64_t i = 0; i < batches; i++) {
    create_batch++;
    for (int slot = 0; slot < CREATE_BATCH; slot++) p_spawn_detached(null_body, &slots[slot]);
    for (int slot = 0; slot < CREATE_BATCH; slot++)
      while (__atomic_load_n(&slots[slot], __ATOMIC_ACQUIRE) != create_batch) p_yield();
  }
  peer_clock_stop(run);
  return true;
}

/* ------------------------------------------------------------ fork-join */

static inline void *count_body(void *arg) {
  ++*(uint64_t *)arg;
  return NULL;
}

static inline bool row_fork_join(struct peer_run *run) {
  uint64_t count = 0;
  peer_clock_start(run);
  for (uint64_t i = 0; i < run->ops; i++) {
    p_thread_t thread;
    p_spawn(&thread, count_body, &count);
    p_join(&thread);
  }
  peer_clock_stop(run);
  return count == run->ops;
}

/* fib(n) forks fib(n - 1), works out fib(n - 2) itself, and joins. */
struct fib {
  unsigned n;
  unsigned result;
};

static inline void *fib_body(void *arg) {
  struct fib *fib = (struct fib *)arg;
  fib->result = fib->n;
  if (fib->n < 2) return NULL;
  struct fib forked = {fib->n - 1, 0}, rest = {fib->n - 2, 0};
  p_thread_t thread;
  p_spawn(&thread, fib_body, &forked);
  fib_body(&rest);
  p_join(&thread);
  fib->result = forked.result + rest.result;
  return NULL;
}

/* Whole trees of fib(25), 121,392 threads each. */
static inline bool row_fib(struct peer_run *run) {
  enum { FIB_25 = 75025, FIB_25_THREADS = 121392 };
  uint64_t trees = (run->ops + FIB_25_THREADS - 1) / FIB_25_THREADS;
  bool verified = true;
  run->ops = trees * FIB_25_THREADS;
  peer_clock_start(run);
  for (uint64_t i = 0; i < trees; i++) {
    struct fib fib = {25, 0};
    fib_body(&fib);
    verified &= fib.result == FIB_25;
  }
  peer_clock_stop(run);
  return verified;
}

/* ---------------------------------------------------------------- mutex */

struct mutex_team {
  struct team team;
  p_lock_t lock;
  uint64_t count;
};

static inline void *mutex_body(void *arg) {
  struct mutex_team *mutex = (struct mutex_team *)arg;
  team_enter(&mutex->team);
  for (uint64_t i = 0; i < mutex->team.rounds; i++) {
    p_lock(&mutex->lock);
    mutex->count++;
    p_unlock(&mutex->lock);
  }
  team_leave(&mutex->team);
  return NULL;
}

static inline bool row_mutex(struct peer_run *run) {
  struct mutex_team mutex;
  team_init(&mutex.team, run, run->threads);
  p_lock_init(&mutex.lock);
  mutex.count = 0;
  return team_go(&mutex.team, mutex_body, &mutex) && mutex.count == run->ops;
}

/* ------------------------------------------- semaphore and condition round trips */

/* Two members; the first arrival is member 0. An operation is a round trip. */
struct pair {
  struct team team;
  unsigned next_member;
  p_sem_t ball[2];
  p_monitor_t monitor;
  uint64_t turn;
};

static inline void *sem_body(void *arg) {
  struct pair *pair = (struct pair *)arg;
  unsigned me = __atomic_fetch_add(&pair->next_member, 1, __ATOMIC_RELAXED);
  team_enter(&pair->team);
  for (uint64_t i = 0; i < pair->team.rounds; i++) {
    p_sem_wait(&pair->ball[me]);
    pair->turn++;
    p_sem_post(&pair->ball[!me]);
  }
  team_leave(&pair->team);
  return NULL;
}

/* The first member never gives up its kernel thread, so the other one, which blocks, is woken on
 * another: every round trip crosses. */
static inline void *across_body(void *arg) {
  struct pair *pair = (struct pair *)arg;
  unsigned me = __atomic_fetch_add(&pair->next_member, 1, __ATOMIC_RELAXED);
  team_enter(&pair->team);
  for (uint64_t i = 0; i < pair->team.rounds; i++) {
    if (me == 0) {
      p_sem_post(&pair->ball[1]);
      while (!p_sem_try(&pair->ball[0])) continue;
      pair->turn++;
    } else {
      p_sem_wait(&pair->ball[1]);
      pair->turn++;
      p_sem_post(&pair->ball[0]);
    }
  }
  team_leave(&pair->team);
  return NULL;
}

static inline void *cond_body(void *arg) {
  struct pair *pair = (struct pair *)arg;
  unsigned me = __atomic_fetch_add(&pair->next_member, 1, __ATOMIC_RELAXED);
  team_enter(&pair->team);
  for (uint64_t i = 0; i < pair->team.rounds; i++) {
    p_enter(&pair->monitor);
    while (pair->turn % 2 != me) p_wait(&pair->monitor);
    pair->turn++;
    p_signal(&pair->monitor);
    p_leave(&pair->monitor);
  }
  team_leave(&pair->team);
  return NULL;
}

static inline bool row_pair(struct peer_run *run, void *(*body)(void *), unsigned balls) {
  struct pair pair;
  team_init(&pair.team, run, 2);
  pair.team.rounds = run->ops; /* each member does its half of every round trip */
  pair.next_member = 0;
  pair.turn = 0;
  p_sem_init(&pair.ball[0], balls);
  p_sem_init(&pair.ball[1], 0);
  p_monitor_init(&pair.monitor);
  return team_go(&pair.team, body, &pair) && pair.turn == 2 * run->ops;
}

static inline bool row_sem(struct peer_run *run) { return row_pair(run, sem_body, 1); }

static inline bool row_across(struct peer_run *run) { return row_pair(run, across_body, 0); }

static inline bool row_cond(struct peer_run *run) { return row_pair(run, cond_body, 0); }

/* -------------------------------------------------------------- barrier */

/* Every member counts its own episodes and looks at a neighbour's: between two barriers
 * nobody may be an episode away. An operation is one thread passing one barrier. */
struct barrier_team {
  struct team team;
  unsigned next_member;
  bool wrong;
  uint64_t *episode;
  p_barrier_t barrier;
};

static inline void *barrier_body(void *arg) {
  struct barrier_team *b = (struct barrier_team *)arg;
  unsigned me = __atomic_fetch_add(&b->next_member, 1, __ATOMIC_RELAXED);
  const uint64_t *neighbour = &b->episode[(me + 1) % b->team.size];
  team_enter(&b->team);
  for (uint64_t i = 0; i < b->team.rounds; i++) {
    __atomic_store_n(&b->episode[me], i, __ATOMIC_RELAXED);
    p_barrier_wait(&b->barrier);
    uint64_t seen = __atomic_load_n(neighbour, __ATOMIC_RELAXED);
    if (seen != i && seen != i + 1) __atomic_store_n(&b->wrong, true, __ATOMIC_RELAXED);
  }
  team_leave(&b->team);
  return NULL;
}

static inline bool row_barrier(struct peer_run *run) {
  struct barrier_team b;
  team_init(&b.team, run, run->threads);
  b.next_member = 0;
  b.wrong = false;
  b.episode = (uint64_t *)peer_alloc(run->threads, sizeof *b.episode);
  p_barrier_init(&b.barrier, run->threads);
  bool verified = team_go(&b.team, barrier_body, &b) && !b.wrong;
  free(b.episode);
  return verified;
}

/* --------------------------------------------------------------- memory */

struct crowd {
  uint64_t here;
  uint64_t gone;
  p_barrier_t gate;
};

static inline void *crowd_body(void *arg) {
  struct crowd *crowd = (struct crowd *)arg;
  __atomic_add_fetch(&crowd->here, 1, __ATOMIC_RELEASE);
  p_barrier_wait(&crowd->gate);
  __atomic_add_fetch(&crowd->gone, 1, __ATOMIC_RELEASE);
  return NULL;
}

/* Memory that run->ops threads take while all of them wait in a barrier. */
static inline bool row_memory(struct peer_run *run) {
  struct crowd crowd;
  crowd.here = crowd.gone = 0;
  p_barrier_init(&crowd.gate, (unsigned)run->ops + 1);
  peer_memory_start(run);
  peer_clock_start(run);
  for (uint64_t i = 0; i < run->ops; i++) p_spawn_detached(crowd_body, &crowd);
  while (__atomic_load_n(&crowd.here, __ATOMIC_ACQUIRE) < run->ops) p_yield();
  peer_clock_stop(run);
  peer_memory_stop(run);
  p_barrier_wait(&crowd.gate);
  while (__atomic_load_n(&crowd.gone, __ATOMIC_ACQUIRE) < run->ops) p_yield();
  return true;
}

#endif
