/* SPDX-License-Identifier: Apache-2.0 */
/* A semaphore's units are taken and given back: never more out than there are, none lost. */
#include "ops.h"

enum { UNITS = 5 };

static mltp_sem_t units;
static atomic_int out;

static void begin(void) {
  CHECK_EQUAL(mltp_sem_init(&units, UNITS, "units"), 0);
  atomic_store(&out, 0);
}

static void act(unsigned *random) {
  int error;
  switch (pick(random, 4)) {
    case 0: error = mltp_sem_wait_try(&units); break;
    case 1: error = mltp_sem_wait_timed(&units, soon(random, 50000)); break;
    default: error = mltp_sem_wait(&units);
  }
  if (error != 0) {
    CHECK(error == EAGAIN || error == ETIMEDOUT);
    return;
  }
  CHECK(atomic_fetch_add(&out, 1) < UNITS);
  if (one_in(random, 2)) mltp_yield();
  atomic_fetch_sub(&out, 1);
  CHECK_EQUAL(mltp_sem_post(&units), 0);
}

static void end(void) {
  CHECK_EQUAL(mltp_sem_value(&units), UNITS);
  CHECK_EQUAL(mltp_sem_destroy(&units), 0);
}

const struct operation op_sem = {"sem", 4, 1, begin, act, end};
