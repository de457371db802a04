/* SPDX-License-Identifier: Apache-2.0 */
/* Each call that blocks, while the thread that ends the wait is ready: with one permit it runs only
 * if the caller gives up its own, or is caught. */
#include <stdio.h>
#include <stdlib.h>

#include "support/blocking_calls.h"

static struct turn {
  const struct blocking_call *call;
  struct blocked on;
} turns[BLOCKING_CALLS_MOST]; /* a pthread may still look at one when the wait for it has ended */

static void check(const struct turn *turn, int line) {
  if (line == 0) return;
  printf("%s: line %d\n", turn->call->name, line);
  exit(1);
}

static void *block(void *of) {
  struct turn *turn = of;
  check(turn, turn->call->block(&turn->on));
  return NULL;
}

static void *end(void *of) {
  struct turn *turn = of;
  check(turn, turn->call->end(&turn->on));
  return NULL;
}

int main(void) {
  const struct blocking_call *call;
  pthread_t threads[2];
  for (int i = 0; (call = blocking_call(i)) != NULL; i++) {
    turns[i].call = call;
    check(&turns[i], call->begin(&turns[i].on));
    pthread_create(&threads[0], NULL, block, &turns[i]);
    pthread_create(&threads[1], NULL, end, &turns[i]);
    for (int j = 0; j < 2; j++) pthread_join(threads[j], NULL);
  }
  puts("right");
  return 0;
}
