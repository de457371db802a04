/* SPDX-License-Identifier: Apache-2.0 */
/* A threads package as the manual of QuickThreads builds one, in the spelling that SystemC gave
 * it: a queue of ready threads, create, yield, end. The helper of the next thread
 * frees a stack. */
#include <stdio.h>
#include <stdlib.h>

#include <qt.h>

enum { STACK = 32 << 10, THREADS = 100, TURNS = 50 };

struct thread {
  struct thread *next;
  qt_t *sp;
  void *stack;
};

static struct {
  struct thread *first, **last;
} ready = {NULL, &ready.first};
static struct thread starter, *current = &starter;
static int live, freed;

static void put(struct thread *t) {
  t->next = NULL;
  *ready.last = t;
  ready.last = &t->next;
}

static struct thread *take(void) {
  struct thread *t = ready.first;
  ready.first = t->next;
  if (ready.first == NULL) ready.last = &ready.first;
  return t;
}

/* Helpers. The one suspended is ready again, or has ended. */
static void *put_back(qt_t *old, void *thread, void *unused) {
  (void)unused;
  ((struct thread *)thread)->sp = old;
  put(thread);
  return NULL;
}

static void *bury(qt_t *old, void *thread, void *unused) {
  (void)old, (void)unused;
  free(((struct thread *)thread)->stack);
  free(thread);
  freed++;
  return NULL;
}

static void yield(void) {
  struct thread *old = current;
  if (ready.first == NULL) return;
  current = take();
  QUICKTHREADS_BLOCK(put_back, old, NULL, current->sp);
}

static void end(void) {
  struct thread *old = current;
  live--;
  current = take();
  QUICKTHREADS_ABORT(bury, old, NULL, current->sp);
}

static void only(void *pu, void *thread, qt_userf_t *userf) {
  current = thread;
  userf(pu);
  end();
}

static void create(qt_userf_t *userf, void *argument) {
  struct thread *t = malloc(sizeof *t);
  t->stack = aligned_alloc(QUICKTHREADS_STKALIGN, QUICKTHREADS_STKROUNDUP(STACK));
  if (t->stack == NULL) abort();
  t->sp = QUICKTHREADS_ARGS(QUICKTHREADS_SP(t->stack, STACK), argument, t, userf, only);
  live++;
  put(t);
}

/* ---- what it is used for */

static int order[THREADS * TURNS], steps;

static void *work(void *number) {
  for (int i = 0; i < TURNS; i++) {
    order[steps++] = *(int *)number;
    yield();
  }
  return NULL;
}

int main(void) {
  static int numbers[THREADS];
  for (int i = 0; i < THREADS; i++) {
    numbers[i] = i;
    create(work, &numbers[i]);
  }
  while (live > 0) yield();
  if (steps != THREADS * TURNS || freed != THREADS) {
    printf("package: %d steps, %d stacks freed\n", steps, freed);
    return 1;
  }
  for (int i = 0; i < steps; i++)
    if (order[i] != i % THREADS) {
      printf("package: step %d was made by thread %d\n", i, order[i]);
      return 1;
    }
  return 0;
}
