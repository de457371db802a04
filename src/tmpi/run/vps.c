/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When VPs other than VP 0 are made. Ranks are placed by main, and go through MPI_Init(), on VP 0
 * alone: most of that is mappings and pages, for which a second VP would wait as long as it saved.
 * A program that ends there has no second VP to start and to end, each of which takes a turn of a
 * CPU, some milliseconds beside other programs.
 *
 * So the last rank that comes through MPI_Init() makes them, unless another has come to its
 * MPI_Finalize() by then. Programs that compute before, or have no MPI_Init(), get them when they
 * have computed for as long as it took to place them; watch.c looks.
 */
#include <pthread.h>
#include <signal.h>

#include "core/internal/locks.h"
#include "core/internal/process.h"
#include "os/os.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/process.h"

enum { WAITED_NS = 50000000 }; /* without computing: VP 0 may be blocked in the kernel */

static sigset_t mask; /* [const] main's. VPs inherit it; the watcher blocks all signals, and a fault
                       * on a VP that did would end the process without a word */
static uint32_t ilock;
static bool begun;                     /* [ilock] */
static uint64_t placed_at, placed_cpu; /* [ilock] when, after how much CPU time; 0: not yet */

static void begin(void) {
  mti_lock(&ilock);
  bool first = !begun;
  begun = true;
  mti_unlock(&ilock);
  if (!first) return;
  sigset_t own;
  pthread_sigmask(SIG_SETMASK, &mask, &own);
  if (mti_start_vps() != 0) tm_job_abort(1);
  pthread_sigmask(SIG_SETMASK, &own, NULL);
}

void tm_vps_later(void) {
  pthread_sigmask(SIG_SETMASK, NULL, &mask);
  mti_defer_vps();
  tm_job_on_init(begin);
}

void tm_vps_placed(void) {
  mti_lock(&ilock);
  placed_at = os_now();
  placed_cpu = os_cpu_time();
  mti_unlock(&ilock);
}

bool tm_vps_look(void) {
  mti_lock(&ilock);
  bool over = begun;
  bool due =
      placed_at != 0 && (os_now() - placed_at >= WAITED_NS || os_cpu_time() >= 2 * placed_cpu);
  mti_unlock(&ilock);
  if (due) begin();
  return !over && !due;
}
