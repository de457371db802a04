/* SPDX-License-Identifier: Apache-2.0 */
/* A deadlock, for `mltp explore` to find: two transfers take the same two locks in opposite
 * orders. Each holds its own for some nanoseconds only, so it hardly ever happens.
 * usage: lock_order [fixed] */
#include <mltp/mltp.h>
#include <stdio.h>

enum { TRANSFERS = 5 };

struct account {
  mltp_lock_t lock;
  long money;
};

static struct account savings, current;
static int fixed;

static void transfer(struct account *from, struct account *to) {
  int in_order = !fixed || from < to;
  struct account *first = in_order ? from : to, *second = in_order ? to : from;
  mltp_lock(&first->lock);
  mltp_lock(&second->lock);
  from->money--;
  to->money++;
  mltp_unlock(&second->lock);
  mltp_unlock(&first->lock);
}

static void *save(void *p0) {
  for (int i = 0; i < TRANSFERS; i++) transfer(&current, &savings);
  return p0;
}

static void *spend(void *p0) {
  for (int i = 0; i < TRANSFERS; i++) transfer(&savings, &current);
  return p0;
}

int main(int argc, char **argv) {
  (void)argv;
  fixed = argc > 1;
  if (mltp_init(1) != 0) return 1;
  mltp_lock_init(&savings.lock, MLTP_LOCK_STANDARD, "savings");
  mltp_lock_init(&current.lock, MLTP_LOCK_STANDARD, "current");
  mltp_t *saver, *spender;
  if (mltp_create(&saver, NULL, save, NULL) != 0) return 1;
  if (mltp_create(&spender, NULL, spend, NULL) != 0) return 1;
  mltp_set_name(saver, "saver");
  mltp_set_name(spender, "spender");
  mltp_join(saver, NULL);
  mltp_join(spender, NULL);
  mltp_finalize();
  printf("lock_order: %ld in savings, %ld in current\n", savings.money, current.money);
  return savings.money + current.money != 0;
}
