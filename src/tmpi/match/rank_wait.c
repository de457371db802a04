/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread of a rank spins before it parks.
 *
 * Relaxed: the partner's thread, as a hint.
 */
#include "tmpi/match/rank_wait.h"

#include <mltp/mltp.h>

#include "base/atomic.h"
#include "core/internal/park.h"
#include "tmpi/match/transport.h"

/* Looks of a spinner for each poll, which takes as long as many looks, and looks of a poll at what
 * has come. A waiter for a rank of its own node finds the end late if it polls often, and one for
 * another node if it does not. */
enum { NEAR_LOOKS = 16, FAR_LOOKS = 1, FAR_POLLS = 4 };

/* What a spinner waits for that takes messages of other nodes meanwhile. */
struct polled {
  bool (*ended)(const void *);
  const void *what;
  unsigned per_poll;
  int polls; /* at a time */
  unsigned *looks;
  bool *nearer; /* data of a large message come piece by piece, and take longer than a wake-up */
};

static bool poll_ended(const void *polled_) {
  const struct polled *polled = polled_;
  if (polled->ended(polled->what)) return true;
  if ((*polled->looks)++ % polled->per_poll != 0) return false;
  if (!tm_job.far->poll(polled->polls)) return false;
  *polled->nearer = true;
  return polled->ended(polled->what);
}

/* A waiter's own processor. nearer: as of struct polled; NULL: nothing comes so. */
static bool spin(bool (*ended)(const void *), const void *what, const struct tm_rank *waker,
                 bool *nearer) {
  if (tm_job.wait == TM_WAIT_CONSCIOUS && tm_has_vp()) return mti_spin_alone(ended, what, nearer);
  return mti_spin_until(ended, what, waker != NULL ? mt_load_relaxed(&waker->thread) : NULL,
                        tm_job.wait == TM_WAIT_SPIN ? tm_job.spin_ns : 0);
}

/* In a job of several nodes. Not inline: the waker's line is written by the waker for each message,
 * so a job of one node does not read the number in it. */
__attribute__((noinline)) static bool spin_and_poll(bool (*ended)(const void *), const void *what,
                                                    const struct tm_rank *waker) {
  bool near = waker != NULL && tm_rank_is_here(waker->number);
  bool far = !near && (waker != NULL || tm_job.local == 1), nearer = false;
  unsigned looks = 0;
  const struct polled polled = {ended,  what,   near ? NEAR_LOOKS : FAR_LOOKS, far ? FAR_POLLS : 1,
                                &looks, &nearer};
  return spin(poll_ended, &polled, waker, far ? &nearer : NULL);
}

bool tm_spin(bool (*ended)(const void *), const void *what, const struct tm_rank *waker) {
  if (mt_unlikely(tm_far() != NULL)) return spin_and_poll(ended, what, waker);
  return spin(ended, what, waker, NULL);
}
