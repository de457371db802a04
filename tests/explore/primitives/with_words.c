/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for words. */
#include "primitives.h"

static uint32_t turn, gate;
static int come;

/* Each in its turn, by a store or by a wake. */
void *with_await(void *p0) {
  for (uint32_t i = 0; i < ROUNDS; i++) {
    uint32_t mine = i * THREADS + (uint32_t)(long)p0;
    EXPECT(mltp_await(&turn, mine, NULL) == 0);
    section();
    if (i == 0) {
      mltp_await_store(&turn, mine + 1);
    } else {
      __atomic_store_n(&turn, mine + 1, __ATOMIC_RELEASE);
      mltp_await_wake(&turn);
    }
  }
  return p0;
}

/* Whether or not the deadline comes first, the next wait is not for it. */
void *with_timed_await(void *p0) {
  int error = mltp_await_not_timed(&turn, 0, NULL, mltp_after(20000));
  EXPECT(error == 0 ? turn != 0 : error == ETIMEDOUT);
  mltp_await_store(&turn, 1);
  if (++come == THREADS) mltp_await_store(&gate, 1);
  for (int i = 0; p0 == NULL && i < 30; i++) mltp_explore_point();
  EXPECT(mltp_await(&gate, 1, NULL) == 0);
  EXPECT(come == THREADS);
  return p0;
}
