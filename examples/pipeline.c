/* SPDX-License-Identifier: Apache-2.0 */
/* Three stages, count -> square -> add up, joined by bounded buffers: a lock and two
 * conditions each. A full or empty buffer stops a thread, never a VP. */
#include <mltp/mltp.h>
#include <stdio.h>

enum { SLOTS = 8, ITEMS = 10000, END = -1 };

struct buffer {
  mltp_lock_t lock;
  mltp_cond_t not_full, not_empty;
  long slots[SLOTS];
  int first, count;
};

#define BUFFER_INIT {MLTP_LOCK_INIT, MLTP_COND_INIT, MLTP_COND_INIT, {0}, 0, 0}

static struct buffer numbers = BUFFER_INIT, squares = BUFFER_INIT;

static void put(struct buffer *b, long item) {
  mltp_lock(&b->lock);
  while (b->count == SLOTS) mltp_cond_wait(&b->not_full, &b->lock);
  b->slots[(b->first + b->count++) % SLOTS] = item;
  mltp_cond_signal(&b->not_empty);
  mltp_unlock(&b->lock);
}

static long get(struct buffer *b) {
  mltp_lock(&b->lock);
  while (b->count == 0) mltp_cond_wait(&b->not_empty, &b->lock);
  long item = b->slots[b->first];
  b->first = (b->first + 1) % SLOTS;
  b->count--;
  mltp_cond_signal(&b->not_full);
  mltp_unlock(&b->lock);
  return item;
}

static void *count_up(void *unused) {
  for (long n = 1; n <= ITEMS; n++) put(&numbers, n);
  put(&numbers, END);
  return unused;
}

static void *square(void *unused) {
  for (long n; (n = get(&numbers)) != END;) put(&squares, n * n);
  put(&squares, END);
  return unused;
}

static void *add_up(void *sum) {
  for (long n; (n = get(&squares)) != END;) *(long *)sum += n;
  return sum;
}

int main(void) {
  long sum = 0, n = ITEMS;
  mltp_userf_t *stages[] = {count_up, square, add_up};
  mltp_t *threads[3];
  if (mltp_init(0) != 0) return 1;
  for (int i = 0; i < 3; i++)
    if (mltp_create(&threads[i], NULL, stages[i], &sum) != 0) return 1;
  for (int i = 0; i < 3; i++) mltp_join(threads[i], NULL);
  mltp_finalize();
  printf("pipeline: the squares of 1 to %ld add up to %ld\n", n, sum);
  return sum == n * (n + 1) * (2 * n + 1) / 6 ? 0 : 1;
}
