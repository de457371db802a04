/* SPDX-License-Identifier: Apache-2.0 */
/* A lock of each class: what it protects is changed in two steps, with scheduling between. */
#include "ops.h"

static struct protected {
  mltp_lock_t lock;
  long first, second; /* equal whenever the lock is free */
  atomic_long entered;
}
protected[LOCK_CLASSES];

static void begin(void) {
  for (int class = 0; class < LOCK_CLASSES; class ++) {
    protected[class] = (struct protected){.first = 0};
    CHECK_EQUAL(mltp_lock_init(&protected[class].lock, lock_classes[class].id, "stress"), 0);
  }
}

static int enter(mltp_lock_t *lock, unsigned *random) {
  switch (pick(random, 3)) {
    case 0: return mltp_lock(lock);
    case 1: return mltp_lock_try(lock);
    default: return mltp_lock_timed(lock, soon(random, 50000));
  }
}

static void act(unsigned *random) {
  struct protected *p = &protected[pick(random, LOCK_CLASSES)];
  int error = enter(&p->lock, random);
  if (error != 0) {
    CHECK(error == EBUSY || error == ETIMEDOUT);
    return;
  }
  CHECK_EQUAL(p->first, p->second);
  p->first++;
  if (one_in(random, 16)) mltp_yield();
  if (one_in(random, 64)) mltp_sleep(20000);
  p->second++;
  atomic_fetch_add(&p->entered, 1);
  CHECK_EQUAL(mltp_unlock(&p->lock), 0);
}

static void end(void) {
  for (int class = 0; class < LOCK_CLASSES; class ++) {
    struct protected *p = &protected[class];
    check_case("lock class %s", lock_classes[class].name);
    CHECK_EQUAL(p->first, atomic_load(&p->entered));
    CHECK_EQUAL(p->second, p->first);
    CHECK_EQUAL(mltp_lock_destroy(&p->lock), 0);
  }
}

const struct operation op_lock = {"lock", 6, 1, begin, act, end};
