/* SPDX-License-Identifier: Apache-2.0 */
/* State Threads (libst-dev): cooperative, one kernel thread, so that between two waits no
 * lock is needed; a lock is here only for the row that measures it. */
#include <st.h>

#include "peer.h"

typedef st_thread_t p_thread_t;
typedef st_mutex_t p_lock_t;
typedef st_cond_t p_monitor_t;

typedef struct {
  st_cond_t all_here;
  unsigned count;
  unsigned missing;
} p_barrier_t;

static void start(int vps) {
  (void)vps;
  peer_check(st_init() == 0, "st_init");
}

static void stop(void) {}

static inline void p_spawn(p_thread_t *thread, void *(*body)(void *), void *arg) {
  *thread = st_thread_create(body, arg, 1, 0);
  peer_check(*thread != NULL, "st_thread_create");
}

static inline void p_spawn_detached(void *(*body)(void *), void *arg) {
  peer_check(st_thread_create(body, arg, 0, 0) != NULL, "st_thread_create");
}

static inline void p_join(p_thread_t *thread) { st_thread_join(*thread, NULL); }

/* The library's only way to let others run without waiting for something. */
static inline void p_yield(void) { st_usleep(0); }

static inline void p_lock_init(p_lock_t *lock) {
  *lock = st_mutex_new();
  peer_check(*lock != NULL, "st_mutex_new");
}

static inline void p_lock(p_lock_t *lock) { st_mutex_lock(*lock); }

static inline void p_unlock(p_lock_t *lock) { st_mutex_unlock(*lock); }

static inline void p_monitor_init(p_monitor_t *monitor) {
  *monitor = st_cond_new();
  peer_check(*monitor != NULL, "st_cond_new");
}

static inline void p_enter(p_monitor_t *monitor) { (void)monitor; }

static inline void p_leave(p_monitor_t *monitor) { (void)monitor; }

static inline void p_wait(p_monitor_t *monitor) { st_cond_wait(*monitor); }

static inline void p_signal(p_monitor_t *monitor) { st_cond_signal(*monitor); }

static inline void p_barrier_init(p_barrier_t *barrier, unsigned count) {
  barrier->all_here = st_cond_new();
  peer_check(barrier->all_here != NULL, "st_cond_new");
  barrier->count = barrier->missing = count;
}

static inline void p_barrier_wait(p_barrier_t *barrier) {
  if (--barrier->missing > 0) {
    st_cond_wait(barrier->all_here);
  } else {
    barrier->missing = barrier->count;
    st_cond_broadcast(barrier->all_here);
  }
}

#include "sem_by_monitor.h"

static inline void p_sleep_ms(uint64_t ms) { st_usleep(ms * 1000); }

#include "rows.h"
#include "sleep.h"

static const struct peer_row rows[] = {
    {"yield", row_yield, 100, 0, 2},
    {"create", row_create, 256, 0, 0},
    {"fork-join", row_fork_join, 100, 0, 0},
    {"mutex", row_mutex, 1000, 0, 1},
    {"sem", row_sem, 1000, 0, 0},
    {"cond", row_cond, 1000, 0, 0},
    {"barrier", row_barrier, 64, 0, 64},
    {"memory", row_memory, 0, 100000, 0},
    {"sleep", row_sleep, 10, 0, 0},
    {NULL, NULL, 0, 0, 0},
};

int main(int argc, char **argv) {
  const struct peer peer = {"st", ST_VERSION, 1, start, stop, rows};
  return peer_main(&peer, argc, argv);
}
