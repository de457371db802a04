/* SPDX-License-Identifier: Apache-2.0 */
/* A readers-writer lock: writers change what it protects in two steps, readers see both or none. */
#include "ops.h"

static struct {
  mltp_rwlock_t lock;
  long first, second; /* equal but for a writer */
  atomic_long written;
  atomic_int readers;
} protected;

static void begin(void) {
  CHECK_EQUAL(mltp_rwlock_init(&protected.lock, "stress"), 0);
  protected.first = protected.second = 0;
  atomic_store(&protected.written, 0);
}

static int enter(int writes, unsigned *random) {
  mltp_rwlock_t *lock = &protected.lock;
  switch (pick(random, 3)) {
    case 0: return writes ? mltp_rwlock_wrlock(lock) : mltp_rwlock_rdlock(lock);
    case 1: return writes ? mltp_rwlock_wrlock_try(lock) : mltp_rwlock_rdlock_try(lock);
    default: {
      uint64_t deadline = soon(random, 50000);
      return writes ? mltp_rwlock_wrlock_timed(lock, deadline)
                    : mltp_rwlock_rdlock_timed(lock, deadline);
    }
  }
}

static void hold(unsigned *random) {
  if (one_in(random, 16)) mltp_yield();
  if (one_in(random, 64)) mltp_sleep(20000);
}

static void act(unsigned *random) {
  int writes = one_in(random, 4);
  int error = enter(writes, random);
  if (error != 0) {
    CHECK(error == EBUSY || error == ETIMEDOUT);
    return;
  }
  CHECK_EQUAL(protected.first, protected.second);
  if (writes) {
    CHECK_EQUAL(atomic_load(&protected.readers), 0);
    protected.first++;
    hold(random);
    protected.second++;
    atomic_fetch_add(&protected.written, 1);
  } else {
    atomic_fetch_add(&protected.readers, 1);
    hold(random);
    CHECK_EQUAL(protected.first, protected.second);
    atomic_fetch_sub(&protected.readers, 1);
  }
  CHECK_EQUAL(mltp_rwlock_unlock(&protected.lock), 0);
}

static void end(void) {
  CHECK_EQUAL(protected.first, atomic_load(&protected.written));
  CHECK_EQUAL(mltp_rwlock_destroy(&protected.lock), 0);
}

const struct operation op_rwlock = {"rwlock", 4, 1, begin, act, end};
