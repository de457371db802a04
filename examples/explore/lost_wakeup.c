/* SPDX-License-Identifier: Apache-2.0 */
/* A lost wake-up, for `mltp explore` to find: the consumer looks at `full` before it takes the
 * lock it waits with, and the producer signals without that lock. A signal between the look
 * and the wait wakes nobody, and the consumer waits forever.
 * usage: lost_wakeup [fixed] */
#include <mltp/mltp.h>
#include <stdio.h>

static mltp_lock_t lock = MLTP_LOCK_INIT;
static mltp_cond_t filled = MLTP_COND_INIT;
static int full;
static int fixed;

static void *consume(void *p0) {
  if (fixed) {
    mltp_lock(&lock);
    while (!full) mltp_cond_wait(&filled, &lock);
    mltp_unlock(&lock);
  } else if (!full) {
    mltp_lock(&lock);
    mltp_cond_wait(&filled, &lock);
    mltp_unlock(&lock);
  }
  return p0;
}

static void *produce(void *p0) {
  if (fixed) mltp_lock(&lock);
  full = 1;
  if (fixed) mltp_unlock(&lock);
  mltp_cond_signal(&filled);
  return p0;
}

int main(int argc, char **argv) {
  (void)argv;
  fixed = argc > 1;
  if (mltp_init(1) != 0) return 1;
  mltp_cond_init(&filled, "filled");
  mltp_t *consumer, *producer;
  if (mltp_create(&consumer, NULL, consume, NULL) != 0) return 1;
  if (mltp_create(&producer, NULL, produce, NULL) != 0) return 1;
  mltp_set_name(consumer, "consumer");
  mltp_set_name(producer, "producer");
  mltp_join(producer, NULL);
  mltp_join(consumer, NULL);
  mltp_finalize();
  puts("lost_wakeup: the consumer got it");
  return 0;
}
