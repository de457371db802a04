/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that has a VP for itself spins for a bounded time, which begins anew when the end of its
 * wait has come nearer. */
#include <stdbool.h>

#include "core/internal/park.h"
#include "support/support.h"

enum {
  WAIT_NS = 20000000, /* four times what a spinner takes at most */
  REST_NS = 10000000  /* between two tries */
};

#define TRY_NS 100000000000 /* in a crowd of programs no thread spins */

struct wait {
  uint64_t end;
  bool tells;
  bool *nearer;
};

static bool has_ended(const void *wait_) {
  const struct wait *wait = wait_;
  if (wait->tells) *wait->nearer = true;
  return mltp_now() >= wait->end;
}

/* @return whether one of the spins ended like that. */
static bool a_spin_ends(bool tells, bool with) {
  for (uint64_t end = mltp_now() + TRY_NS; mltp_now() < end; mltp_sleep(REST_NS)) {
    bool nearer = false;
    const struct wait wait = {mltp_now() + WAIT_NS, tells, &nearer};
    if (mti_spin_alone(has_ended, &wait, &nearer) == with) return true;
  }
  return false;
}

static void a_spinner_stops_if_nothing_comes(void) { CHECK(a_spin_ends(false, false)); }

static void a_spinner_continues_while_the_end_comes_nearer(void) { CHECK(a_spin_ends(true, true)); }

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_ONE_VP(a_spinner_stops_if_nothing_comes),
      TEST_ONE_VP(a_spinner_continues_while_the_end_comes_nearer),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
