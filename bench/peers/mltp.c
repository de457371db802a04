/* SPDX-License-Identifier: Apache-2.0 */
/* This library, by its public interface; the raw switch by the header the library uses. */
#include <mltp/mltp.h>
#include <stdlib.h>

#include "arch/arch.h"
#include "peer.h"

typedef mltp_t *p_thread_t;
typedef mltp_lock_t p_lock_t;
typedef mltp_sem_t p_sem_t;
typedef mltp_barrier_t p_barrier_t;

typedef struct {
  mltp_lock_t lock;
  mltp_cond_t cond;
} p_monitor_t;

static void start(int vps) { peer_check(mltp_init(vps) == 0, "mltp_init"); }

static void stop(void) { peer_check(mltp_finalize() == 0, "mltp_finalize"); }

static inline void p_spawn(p_thread_t *thread, void *(*body)(void *), void *arg) {
  peer_check(mltp_create(thread, NULL, body, arg) == 0, "mltp_create");
}

static inline void p_spawn_detached(void *(*body)(void *), void *arg) {
  static const mltp_attr_t detached = {.size = sizeof(mltp_attr_t), .detached = 1};
  peer_check(mltp_create(NULL, &detached, body, arg) == 0, "mltp_create");
}

static inline void p_join(p_thread_t *thread) { mltp_join(*thread, NULL); }

static inline void p_yield(void) { mltp_yield(); }

static inline void p_lock_init(p_lock_t *lock) { mltp_lock_init(lock, MLTP_LOCK_STANDARD, NULL); }

static inline void p_lock(p_lock_t *lock) { mltp_lock(lock); }

static inline void p_unlock(p_lock_t *lock) { mltp_unlock(lock); }

static inline void p_monitor_init(p_monitor_t *monitor) {
  mltp_lock_init(&monitor->lock, MLTP_LOCK_STANDARD, NULL);
  mltp_cond_init(&monitor->cond, NULL);
}

static inline void p_enter(p_monitor_t *monitor) { mltp_lock(&monitor->lock); }

static inline void p_leave(p_monitor_t *monitor) { mltp_unlock(&monitor->lock); }

static inline void p_wait(p_monitor_t *monitor) { mltp_cond_wait(&monitor->cond, &monitor->lock); }

static inline void p_signal(p_monitor_t *monitor) { mltp_cond_signal(&monitor->cond); }

static inline void p_sem_init(p_sem_t *sem, unsigned value) { mltp_sem_init(sem, value, NULL); }

static inline void p_sem_wait(p_sem_t *sem) { mltp_sem_wait(sem); }

static inline bool p_sem_try(p_sem_t *sem) { return mltp_sem_wait_try(sem) == 0; }

static inline void p_sem_post(p_sem_t *sem) { mltp_sem_post(sem); }

static inline void p_barrier_init(p_barrier_t *barrier, unsigned count) {
  mltp_barrier_init(barrier, count, NULL);
}

static inline void p_barrier_wait(p_barrier_t *barrier) { mltp_barrier_wait(barrier); }

static inline void p_sleep_ms(uint64_t ms) { mltp_sleep(ms * 1000000); }

#include "recursion.h"
#include "rows.h"
#include "sleep.h"

/* ------------------------------------------------------- raw context switch */

static struct arch_context here, there;
static uint64_t bounces;

/* Starts by a jump, so it must align its stack itself. */
__attribute__((force_align_arg_pointer)) static void bounce(void) {
  for (;;) {
    bounces++;
    mt_arch_switch(&there, &here);
  }
}

static bool row_switch(struct peer_run *run) {
  static char stack[65536];
  bounces = 0;
  run->ops += run->ops % 2;
  mt_arch_context_init(&there, stack + sizeof stack);
  there.ip = (void *)(uintptr_t)bounce; /* no thread of the library, so not its first frame */
  peer_clock_start(run);
  for (uint64_t i = 0; i < run->ops / 2; i++) mt_arch_switch(&here, &there);
  peer_clock_stop(run);
  return bounces == run->ops / 2;
}

/* ------------------------------------------- a switch that probes between two */

/* The runtime reads the option when it starts, so it starts again the first time. */
static bool row_yield_late(struct peer_run *run) {
  static bool late;
  if (!late) {
    int vps = mltp_vps();
    stop();
    peer_check(setenv("MLTP_PROBE", "late", 1) == 0, "setenv");
    start(vps);
    late = true;
  }
  return row_yield(run);
}

/* ------------------------------------------- stacks of blocked threads packed */

enum { PACK_LOOK_MS = 50, PACK_LOOKS = 20, PAGE_BYTES = 4096 };

/* Waits until a thread takes less than half a page, and memory has not become less for a second. */
static void wait_until_packed(const struct peer_run *started, struct peer_run *least) {
  const uint64_t half = least->ops * PAGE_BYTES / 2; /* some may be packed already */
  for (int looks = 0; looks < PACK_LOOKS || least->rss_bytes > half; looks++) {
    struct peer_run now = *started;
    mltp_sleep((uint64_t)PACK_LOOK_MS * 1000000);
    peer_memory_stop(&now);
    if (now.rss_bytes > least->rss_bytes - least->rss_bytes / 100) continue;
    *least = now;
    looks = 0;
  }
}

/* Where the kernel refuses to pack, mltp_init() says why. */
static void start_again_packed(void) {
  int vps = mltp_vps();
  stop();
  peer_check(setenv("MLTP_PACK_MS", "50", 1) == 0, "setenv");
  if (mltp_init(vps) != 0) peer_not_offered();
}

/* As row_memory(), and all threads have waited for long. */
static bool row_memory_packed(struct peer_run *run) {
  struct crowd crowd = {0};
  start_again_packed();
  p_barrier_init(&crowd.gate, (unsigned)run->ops + 1);
  peer_memory_start(run);
  const struct peer_run started = *run;
  peer_clock_start(run);
  for (uint64_t i = 0; i < run->ops; i++) p_spawn_detached(crowd_body, &crowd);
  while (__atomic_load_n(&crowd.here, __ATOMIC_ACQUIRE) < run->ops) p_yield();
  peer_clock_stop(run);
  struct peer_run least = started;
  peer_memory_stop(&least);
  wait_until_packed(&started, &least);
  run->rss_bytes = least.rss_bytes;
  run->pte_bytes = least.pte_bytes;
  p_barrier_wait(&crowd.gate);
  while (__atomic_load_n(&crowd.gone, __ATOMIC_ACQUIRE) < run->ops) p_yield();
  return true;
}

static const struct peer_row rows[] = {
    {"switch", row_switch, 1000, 0, 0},
    {"yield", row_yield, 1000, 0, 2},
    {"yield-late", row_yield_late, 1000, 0, 2},
    {"create", row_create, 256, 0, 0},
    {"fork-join", row_fork_join, 100, 0, 0},
    {"fib", row_fib, 1, 0, 0},
    {"mutex", row_mutex, 1000, 0, 1},
    {"sem", row_sem, 1000, 0, 0},
    {"across", row_across, 10, 0, 0},
    {"cond", row_cond, 1000, 0, 0},
    {"barrier", row_barrier, 64, 0, 64},
    {"memory", row_memory, 0, 100000, 0},
    {"memory-packed", row_memory_packed, 0, 100000, 0},
    {"sleep", row_sleep, 10, 0, 0},
    RECURSION_ROWS,
    {NULL, NULL, 0, 0, 0},
};

int main(int argc, char **argv) {
  const struct peer peer = {"mltp", mltp_version(), 1024, start, stop, rows};
  return peer_main(&peer, argc, argv);
}
