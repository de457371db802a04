/* SPDX-License-Identifier: Apache-2.0 */
/* An object that asks for executable stacks may be opened when threads run: theirs are executable
 * from then on. */
#include <dlfcn.h>
#include <mltp/mltp.h>

#include "support/support.h"

enum { THREADS = 20, LARGE = 20 << 20, SMALL = 16 << 10 };

static int (*call)(void); /* NULL: there is no such object, and nothing to test */
static mltp_latch_t opened;

static void *wait_and_call(void *again) {
  mltp_latch_wait(&opened);
  if (call != NULL) CHECK(call() == 42);
  mltp_yield(); /* it may continue on another VP, on the same stack */
  if (call != NULL && again != NULL) CHECK(call() == 42);
  return NULL;
}

/* Half of them, every other one bound, have begun before the object is opened. */
static void threads_call_code_on_their_stacks(void) {
  mltp_t *threads[THREADS];
  mltp_latch_init(&opened, 1, "opened");
  for (int i = 0; i < THREADS; i++) {
    mltp_attr_t attr = MLTP_ATTR_INIT;
    if (i == THREADS / 2) {
      void *object = dlopen(CODE_ON_STACK, RTLD_NOW);
      if (object != NULL) *(void **)&call = dlsym(object, "code_on_stack");
      if (object == NULL) print_message("skipped: %s\n", dlerror());
      mltp_latch_count_down(&opened, 1);
    }
    attr.bound = i % 2;
    attr.stack_size = i % 4 == 0 ? LARGE : i % 4 == 2 ? SMALL : 0;
    CHECK(mltp_create(&threads[i], &attr, wait_and_call, threads) == 0);
    mltp_yield();
  }
  for (int i = 0; i < THREADS; i++) mltp_join(threads[i], NULL);
  if (call != NULL) CHECK(call() == 42);
  mltp_latch_destroy(&opened);
}

int main(void) {
  const struct CMUnitTest tests[] = {TEST(threads_call_code_on_their_stacks)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
