/* SPDX-License-Identifier: Apache-2.0 */
/* A bounded buffer of tokens behind two conditions, most waits without a deadline. A
 * thread half-way owes the buffer the opposite of what the waiters need. So no thread waits
 * forever unless a wake-up is lost. Tokens are numbers whose sum is kept. */
#include "ops.h"

enum { ROOM = 4, START = 2 };

static struct {
  mltp_lock_t lock;
  mltp_cond_t not_full, not_empty;
  long ring[ROOM];
  unsigned oldest, count;
  long expected_sum; /* under the lock */
} buffer;

static void begin(void) {
  mltp_lock_class_t class = lock_classes[life_seed() % LOCK_CLASSES].id;
  CHECK_EQUAL(mltp_lock_init(&buffer.lock, class, "buffer"), 0);
  CHECK_EQUAL(mltp_cond_init(&buffer.not_full, "not full"), 0);
  CHECK_EQUAL(mltp_cond_init(&buffer.not_empty, "not empty"), 0);
  buffer.oldest = 0;
  buffer.count = START;
  buffer.expected_sum = 0;
  for (int i = 0; i < ROOM; i++) buffer.ring[i] = 0;
}

static void wait_for(mltp_cond_t *cond, unsigned *random) {
  if (one_in(random, 4)) {
    int error = mltp_cond_wait_timed(cond, &buffer.lock, soon(random, 100000));
    CHECK(error == 0 || error == ETIMEDOUT);
  } else {
    CHECK_EQUAL(mltp_cond_wait(cond, &buffer.lock), 0);
  }
}

static void tell(mltp_cond_t *cond, unsigned *random) {
  CHECK_EQUAL(one_in(random, 8) ? mltp_cond_broadcast(cond) : mltp_cond_signal(cond), 0);
}

static void put(unsigned *random) {
  long token = (long)pick(random, 1000);
  mltp_lock(&buffer.lock);
  while (buffer.count == ROOM) wait_for(&buffer.not_full, random);
  buffer.ring[(buffer.oldest + buffer.count++) % ROOM] = token;
  buffer.expected_sum += token;
  tell(&buffer.not_empty, random);
  mltp_unlock(&buffer.lock);
}

static void take(unsigned *random) {
  mltp_lock(&buffer.lock);
  while (buffer.count == 0) wait_for(&buffer.not_empty, random);
  buffer.expected_sum -= buffer.ring[buffer.oldest];
  buffer.oldest = (buffer.oldest + 1) % ROOM;
  buffer.count--;
  tell(&buffer.not_full, random);
  mltp_unlock(&buffer.lock);
}

static void act(unsigned *random) {
  if (one_in(random, 2)) {
    put(random);
    take(random);
  } else {
    take(random);
    put(random);
  }
}

static void end(void) {
  long sum = 0;
  for (unsigned i = 0; i < buffer.count; i++) sum += buffer.ring[(buffer.oldest + i) % ROOM];
  CHECK_EQUAL(buffer.count, START);
  CHECK_EQUAL(sum, buffer.expected_sum);
  CHECK_EQUAL(mltp_cond_destroy(&buffer.not_full), 0);
  CHECK_EQUAL(mltp_cond_destroy(&buffer.not_empty), 0);
  CHECK_EQUAL(mltp_lock_destroy(&buffer.lock), 0);
}

const struct operation op_tokens = {"tokens", 4, 1, begin, act, end};
