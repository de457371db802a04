/* SPDX-License-Identifier: Apache-2.0 */
/* Words that all change and wait for: a change that is waited for is not missed. Nobody
 * relies on the others, so each wait has a deadline or a child that ends it. */
#include "ops.h"

enum { WORDS = 4 };

static uint32_t words[WORDS]; /* atomic; never go back */

static void *set_it(void *p0) {
  mltp_await_store(p0, 1);
  return NULL;
}

/* The caller waits for what its child does. */
static void ask_a_child(unsigned *random) {
  uint32_t word = 0;
  mltp_t *child = spawn(set_it, &word);
  if (child == NULL) return;
  CHECK_EQUAL(mltp_await(&word, 1, one_in(random, 2) ? child : NULL), 0);
  CHECK_EQUAL(mltp_join(child, NULL), 0);
}

static void act(unsigned *random) {
  uint32_t *word = &words[pick(random, WORDS)];
  uint32_t seen = __atomic_load_n(word, __ATOMIC_ACQUIRE);
  switch (pick(random, 4)) {
    case 0:
      __atomic_add_fetch(word, 1, __ATOMIC_ACQ_REL);
      mltp_await_wake(word);
      break;
    case 1: {
      int error = mltp_await_not_timed(word, seen, NULL, soon(random, 50000));
      CHECK(error == ETIMEDOUT || (error == 0 && __atomic_load_n(word, __ATOMIC_ACQUIRE) != seen));
      break;
    }
    default: ask_a_child(random);
  }
}

const struct operation op_await = {"await", 4, 0, NULL, act, NULL};
