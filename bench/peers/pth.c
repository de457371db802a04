/* SPDX-License-Identifier: Apache-2.0 */
/* GNU Pth (libpth-dev): cooperative, one kernel thread. */
#include <pth.h>

#include "peer.h"

typedef pth_t p_thread_t;
typedef pth_mutex_t p_lock_t;
typedef pth_barrier_t p_barrier_t;

typedef struct {
  pth_mutex_t lock;
  pth_cond_t cond;
} p_monitor_t;

static pth_attr_t detached;

static void start(int vps) {
  (void)vps;
  peer_check(pth_init() != 0, "pth_init");
  detached = pth_attr_new();
  peer_check(detached != NULL, "pth_attr_new");
  pth_attr_set(detached, PTH_ATTR_JOINABLE, 0);
}

static void stop(void) {
  pth_attr_destroy(detached);
  pth_kill();
}

static inline void p_spawn(p_thread_t *thread, void *(*body)(void *), void *arg) {
  *thread = pth_spawn(PTH_ATTR_DEFAULT, body, arg);
  peer_check(*thread != NULL, "pth_spawn");
}

static inline void p_spawn_detached(void *(*body)(void *), void *arg) {
  peer_check(pth_spawn(detached, body, arg) != NULL, "pth_spawn");
}

static inline void p_join(p_thread_t *thread) { pth_join(*thread, NULL); }

static inline void p_yield(void) { pth_yield(NULL); }

static inline void p_lock_init(p_lock_t *lock) { pth_mutex_init(lock); }

static inline void p_lock(p_lock_t *lock) { pth_mutex_acquire(lock, FALSE, NULL); }

static inline void p_unlock(p_lock_t *lock) { pth_mutex_release(lock); }

static inline void p_monitor_init(p_monitor_t *monitor) {
  pth_mutex_init(&monitor->lock);
  pth_cond_init(&monitor->cond);
}

static inline void p_enter(p_monitor_t *monitor) { pth_mutex_acquire(&monitor->lock, FALSE, NULL); }

static inline void p_leave(p_monitor_t *monitor) { pth_mutex_release(&monitor->lock); }

static inline void p_wait(p_monitor_t *monitor) {
  pth_cond_await(&monitor->cond, &monitor->lock, NULL);
}

static inline void p_signal(p_monitor_t *monitor) { pth_cond_notify(&monitor->cond, FALSE); }

static inline void p_barrier_init(p_barrier_t *barrier, unsigned count) {
  pth_barrier_init(barrier, (int)count);
}

static inline void p_barrier_wait(p_barrier_t *barrier) { pth_barrier_reach(barrier); }

#include "sem_by_monitor.h"

#include "rows.h"

/* ------------------------------------------------------- raw context switch */

static pth_uctx_t here, there;

static void bounce(void *arg) {
  uint64_t *count = arg;
  for (;;) {
    ++*count;
    pth_uctx_switch(there, here);
  }
}

static bool row_switch(struct peer_run *run) {
  uint64_t count = 0;
  run->ops += run->ops % 2;
  peer_check(pth_uctx_create(&here) && pth_uctx_create(&there), "pth_uctx_create");
  peer_check(pth_uctx_make(there, NULL, 65536, NULL, bounce, &count, NULL), "pth_uctx_make");
  peer_clock_start(run);
  for (uint64_t i = 0; i < run->ops / 2; i++) pth_uctx_switch(here, there);
  peer_clock_stop(run);
  pth_uctx_destroy(there);
  pth_uctx_destroy(here);
  return count == run->ops / 2;
}

/* No row of memory: its scheduler looks at every waiting thread each time round, which for
 * 100,000 of them does not end in a reasonable time. */
static const struct peer_row rows[] = {
    {"switch", row_switch, 1000, 0, 0},
    {"yield", row_yield, 100, 0, 2},
    {"create", row_create, 256, 0, 0},
    {"fork-join", row_fork_join, 100, 0, 0},
    {"mutex", row_mutex, 1000, 0, 1},
    {"sem", row_sem, 100, 0, 0},
    {"cond", row_cond, 100, 0, 0},
    {"barrier", row_barrier, 64, 0, 64},
    {NULL, NULL, 0, 0, 0},
};

int main(int argc, char **argv) {
  const struct peer peer = {"pth", PTH_VERSION_STR, 1, start, stop, rows};
  return peer_main(&peer, argc, argv);
}
