/* SPDX-License-Identifier: Apache-2.0 */
/* Thread-specific values: a thread finds what it has put there, or, a new one, nothing. */
#include "ops.h"

static mltp_tss_t key;
static atomic_long strays;

/* An ending thread still has its own value. */
static void check_own(void *value) {
  if (value != mltp_self()) atomic_fetch_add(&strays, 1);
}

static void begin(void) { CHECK_EQUAL(mltp_tss_create(&key, check_own), 0); }

static void act(unsigned *random) {
  void *before = mltp_tss_get(key), *me = mltp_self();
  CHECK(before == NULL || before == me);
  CHECK_EQUAL(mltp_tss_set(key, one_in(random, 4) ? NULL : me), 0);
  before = mltp_tss_get(key);
  mltp_yield();
  CHECK(mltp_tss_get(key) == before);
}

static void end(void) {
  CHECK_EQUAL(mltp_tss_delete(key), 0);
  CHECK_EQUAL(atomic_load(&strays), 0);
}

const struct operation op_key = {"key", 2, 1, begin, act, end};
