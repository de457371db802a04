/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel threads as the C library offers them, kept on as many CPUs as VPs are asked for. */
#include <errno.h>
#include <gnu/libc-version.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <time.h>

#include "peer.h"

typedef pthread_t p_thread_t;
typedef pthread_mutex_t p_lock_t;
typedef sem_t p_sem_t;
typedef pthread_barrier_t p_barrier_t;

typedef struct {
  pthread_mutex_t lock;
  pthread_cond_t cond;
} p_monitor_t;

/* Small stacks, so that memory is what limits how many there are. */
static pthread_attr_t joinable, detached;

static void start(int vps) {
  cpu_set_t may, use;
  CPU_ZERO(&use);
  peer_check(sched_getaffinity(0, sizeof may, &may) == 0, "sched_getaffinity");
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&use) < vps; cpu++)
    if (CPU_ISSET(cpu, &may)) CPU_SET(cpu, &use);
  peer_check(sched_setaffinity(0, sizeof use, &use) == 0, "sched_setaffinity");

  pthread_attr_init(&joinable);
  pthread_attr_setstacksize(&joinable, 64 * 1024);
  pthread_attr_init(&detached);
  pthread_attr_setstacksize(&detached, 64 * 1024);
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
}

static void stop(void) {}

static inline void p_spawn(p_thread_t *thread, void *(*body)(void *), void *arg) {
  errno = pthread_create(thread, &joinable, body, arg);
  peer_check(errno == 0, "pthread_create");
}

static inline void p_spawn_detached(void *(*body)(void *), void *arg) {
  p_thread_t thread;
  errno = pthread_create(&thread, &detached, body, arg);
  peer_check(errno == 0, "pthread_create");
}

static inline void p_join(p_thread_t *thread) { pthread_join(*thread, NULL); }

static inline void p_yield(void) { sched_yield(); }

static inline void p_lock_init(p_lock_t *lock) { pthread_mutex_init(lock, NULL); }

static inline void p_lock(p_lock_t *lock) { pthread_mutex_lock(lock); }

static inline void p_unlock(p_lock_t *lock) { pthread_mutex_unlock(lock); }

static inline void p_monitor_init(p_monitor_t *monitor) {
  pthread_mutex_init(&monitor->lock, NULL);
  pthread_cond_init(&monitor->cond, NULL);
}

static inline void p_enter(p_monitor_t *monitor) { pthread_mutex_lock(&monitor->lock); }

static inline void p_leave(p_monitor_t *monitor) { pthread_mutex_unlock(&monitor->lock); }

static inline void p_wait(p_monitor_t *monitor) {
  pthread_cond_wait(&monitor->cond, &monitor->lock);
}

static inline void p_signal(p_monitor_t *monitor) { pthread_cond_signal(&monitor->cond); }

static inline void p_sem_init(p_sem_t *sem, unsigned value) { sem_init(sem, 0, value); }

static inline void p_sem_wait(p_sem_t *sem) {
  while (sem_wait(sem) != 0) continue; /* interrupted */
}

static inline bool p_sem_try(p_sem_t *sem) { return sem_trywait(sem) == 0; }

static inline void p_sem_post(p_sem_t *sem) { sem_post(sem); }

static inline void p_barrier_init(p_barrier_t *barrier, unsigned count) {
  pthread_barrier_init(barrier, NULL, count);
}

static inline void p_barrier_wait(p_barrier_t *barrier) { pthread_barrier_wait(barrier); }

static inline void p_sleep_ms(uint64_t ms) {
  nanosleep(&(struct timespec){.tv_nsec = (long)ms * 1000000}, NULL);
}

#include "rows.h"
#include "sleep.h"

/* 100,000 kernel threads need more mappings than vm.max_map_count allows by default; and
 * their kernel stacks and descriptors are in no process's figures. */
static const struct peer_row rows[] = {
    {"yield", row_yield, 100, 0, 2},
    {"create", row_create, 256, 0, 0},
    {"fork-join", row_fork_join, 10, 0, 0},
    {"mutex", row_mutex, 1000, 0, 1},
    {"sem", row_sem, 10, 0, 0},
    {"across", row_across, 10, 0, 0},
    {"cond", row_cond, 10, 0, 0},
    {"barrier", row_barrier, 64, 0, 64},
    {"memory", row_memory, 0, 10000, 0},
    {"sleep", row_sleep, 10, 0, 0},
    {NULL, NULL, 0, 0, 0},
};

int main(int argc, char **argv) {
  const struct peer peer = {"pthreads", gnu_get_libc_version(), 1024, start, stop, rows};
  return peer_main(&peer, argc, argv);
}
