/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that block the kernel thread without an announcement: the other threads run meanwhile. A
 * scheduler that leaves them behind the blocked one makes these tests hang. */
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/support.h"

enum { READERS = 12 }; /* more than there are VPs in any run */

struct pipe {
  int ends[2];
};

static void *read_one(void *p0) {
  char byte = 0;
  CHECK_EQUAL(read(((struct pipe *)p0)->ends[0], &byte, 1), 1);
  CHECK_EQUAL(byte, 'x');
  return NULL;
}

static void *write_all(void *p0) {
  for (int i = 0; i < READERS; i++) CHECK_EQUAL(write(((struct pipe *)p0)[i].ends[1], "x", 1), 1);
  return NULL;
}

/* Every VP is blocked before the thread that ends that has run. */
static void blocked_vps_are_replaced(void) {
  struct pipe pipes[READERS];
  mltp_t *readers[READERS];
  if (seeded()) return; /* there is one VP, and none to take its place */
  for (int i = 0; i < READERS; i++) CHECK_EQUAL(pipe(pipes[i].ends), 0);
  for (int i = 0; i < READERS; i++) readers[i] = spawn(read_one, &pipes[i]);
  mltp_t *writer = spawn(write_all, pipes);
  for (int i = 0; i < READERS; i++) mltp_join(readers[i], NULL);
  mltp_join(writer, NULL);
  for (int i = 0; i < 2 * READERS; i++) close(pipes[i / 2].ends[i % 2]);
}

static atomic_int flag;

static void *poll_flag(void *p0) {
  while (!atomic_load(&flag)) continue;
  return p0;
}

static void *set_flag(void *p0) {
  atomic_store(&flag, 1);
  return p0;
}

/* Threads that never give way, on each VP; the one that ends that is ready behind them. */
static void spinners_are_joined_by_others(void) {
  mltp_t *threads[READERS];
  setenv("MLTP_SLICE_MS", "20", 1);
  CHECK_EQUAL(mltp_init(0), 0);
  unsetenv("MLTP_SLICE_MS");
  if (!seeded()) {
    atomic_store(&flag, 0);
    for (int i = 0; i < READERS; i++) threads[i] = spawn(poll_flag, NULL);
    mltp_t *last = spawn(set_flag, NULL);
    for (int i = 0; i < READERS; i++) mltp_join(threads[i], NULL);
    mltp_join(last, NULL);
  }
  mltp_finalize();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(blocked_vps_are_replaced),
      TEST_BARE(spinners_are_joined_by_others),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
