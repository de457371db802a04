/* SPDX-License-Identifier: Apache-2.0 */
/* The ABA problem, for `mltp explore` to find: a lock-free stack whose pop reads the top A and
 * its successor B, and then swaps A for B if the top is still A. If A and B were popped and A
 * pushed again meanwhile, the swap succeeds, and B is on the stack although another thread owns it.
 * The cure counts the changes of the top along with it.
 * usage: aba [fixed] */
#include <mltp/mltp.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

enum { NODES = 3, THREADS = 2, ROUNDS = 3 };

/* Nodes are numbered from 1; 0 is none. The top: a node, and how often it has changed. */
static uint32_t next[NODES + 1];
static _Atomic uint64_t top;
static atomic_int owners[NODES + 1];
static atomic_int errors;
static int fixed;

static uint64_t with_node(uint64_t old, uint32_t node) {
  uint64_t changes = fixed ? (old >> 32) + 1 : 0;
  return changes << 32 | node;
}

static void push(uint32_t node) {
  uint64_t old = atomic_load(&top);
  do {
    next[node] = (uint32_t)old;
    mltp_explore_point();
  } while (!atomic_compare_exchange_strong(&top, &old, with_node(old, node)));
}

static uint32_t pop(void) {
  uint64_t old = atomic_load(&top);
  while ((uint32_t)old != 0) {
    uint32_t below = next[(uint32_t)old];
    mltp_explore_point();
    if (atomic_compare_exchange_strong(&top, &old, with_node(old, below))) break;
  }
  return (uint32_t)old;
}

static void *use(void *p0) {
  for (int i = 0; i < ROUNDS; i++) {
    uint32_t a = pop(), b = pop();
    if (a != 0 && atomic_fetch_add(&owners[a], 1) != 0) atomic_fetch_add(&errors, 1);
    if (b != 0 && atomic_fetch_add(&owners[b], 1) != 0) atomic_fetch_add(&errors, 1);
    if (a != 0) atomic_fetch_sub(&owners[a], 1), push(a);
    mltp_explore_point();
    if (b != 0) atomic_fetch_sub(&owners[b], 1), push(b);
  }
  return p0;
}

int main(int argc, char **argv) {
  (void)argv;
  fixed = argc > 1;
  if (mltp_init(1) != 0) return 1;
  for (uint32_t node = NODES; node > 0; node--) push(node);
  mltp_t *threads[THREADS];
  for (int i = 0; i < THREADS; i++)
    if (mltp_create(&threads[i], NULL, use, NULL) != 0) return 1;
  for (int i = 0; i < THREADS; i++) mltp_join(threads[i], NULL);
  mltp_finalize();
  if (errors != 0) fprintf(stderr, "aba: a node had two owners\n");
  return errors != 0;
}
