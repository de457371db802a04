/* SPDX-License-Identifier: Apache-2.0 */
/* Each call that blocks a kernel thread, while the thread that ends it is ready behind the caller.
 * A scheduler that leaves it there makes these tests hang. */
#include "support/blocking_calls.h"
#include "support/support.h"

static struct turn {
  const struct blocking_call *call;
  struct blocked on;
} turns[BLOCKING_CALLS_MOST]; /* a pthread may still look at one when the wait for it has ended */

static void *block(void *p0) {
  struct turn *turn = p0;
  CHECK_EQUAL(turn->call->block(&turn->on), 0);
  return NULL;
}

static void *end(void *p0) {
  struct turn *turn = p0;
  CHECK_EQUAL(turn->call->end(&turn->on), 0);
  return NULL;
}

static void no_call_stops_others(void) {
  if (seeded()) return; /* there is one VP, and none to take its place */
  const struct blocking_call *call;
  for (int i = 0; (call = blocking_call(i)) != NULL; i++) {
    struct turn *turn = &turns[i];
    check_case("%s", call->name);
    turn->call = call;
    CHECK_EQUAL(call->begin(&turn->on), 0);
    mltp_t *blocks = spawn(block, turn), *ends = spawn(end, turn);
    mltp_join(blocks, NULL);
    mltp_join(ends, NULL);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {TEST(no_call_stops_others)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
