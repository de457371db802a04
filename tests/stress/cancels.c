/* SPDX-License-Identifier: Apache-2.0 */
/* Channels, selects, deadlines and cancellations in random order, by all kinds of threads,
 * for MLTP_STRESS_SECONDS (1). What was sent is what was received; each cancelled thread
 * comes to its end although nobody serves it. A run prints its seed; MLTP_STRESS_SEED
 * repeats its choices, though not its timing. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "support/support.h"

enum { CHANNELS = 4, WORKERS = 12 };

static struct {
  uint64_t end;
  unsigned seed;
  mltp_channel_t *channels[CHANNELS]; /* of capacities 0, 0, 1, 5 */
  mltp_sem_t units;
  mltp_cond_t cond;
  mltp_lock_t lock; /* guards thread of each worker */
  struct {
    struct worker worker;
    mltp_t *thread; /* protected by the lock: may be cancelled */
    int ended;      /* likewise */
  } workers[WORKERS];
  atomic_uint next;
  atomic_long sent, received, sum, taken, cancelled, happened;
} world;

static uint64_t some_deadline(unsigned *random) {
  return rand_r(random) % 3 == 0 ? MLTP_NEVER : mltp_after((uint64_t)(rand_r(random) % 200000));
}

static void note_moved(mltp_op_t op, long number) {
  atomic_fetch_add(op == MLTP_SEND ? &world.sent : &world.received, 1);
  atomic_fetch_add(&world.sum, op == MLTP_SEND ? number : -number);
}

static int select_some(unsigned *random) {
  mltp_case_t cases[CHANNELS + 1];
  long elements[CHANNELS + 1];
  size_t count = 1 + (size_t)rand_r(random) % (CHANNELS + 1);
  for (size_t i = 0; i < count; i++) {
    mltp_channel_t *channel = world.channels[rand_r(random) % CHANNELS];
    elements[i] = rand_r(random) % 1000;
    cases[i] = rand_r(random) % 2 ? (mltp_case_t)MLTP_CASE_SEND(channel, &elements[i])
                                  : (mltp_case_t)MLTP_CASE_RECV(channel, &elements[i]);
  }
  size_t index = count;
  int error = rand_r(random) % 8 ? mltp_select_timed(cases, count, &index, some_deadline(random))
                                 : mltp_select_try(cases, count, &index);
  if (error != 0) return error;
  CHECK(index < count);
  CHECK_EQUAL(cases[index].error, 0);
  note_moved(cases[index].op, elements[index]);
  return 0;
}

static int send_or_receive(unsigned *random) {
  mltp_channel_t *channel = world.channels[rand_r(random) % CHANNELS];
  mltp_op_t op = rand_r(random) % 2 ? MLTP_SEND : MLTP_RECV;
  long number = rand_r(random) % 1000;
  uint64_t deadline = some_deadline(random);
  int error = op == MLTP_SEND ? mltp_channel_send_timed(channel, &number, deadline)
                              : mltp_channel_recv_timed(channel, &number, deadline);
  if (error == 0) note_moved(op, number);
  return error;
}

static int take_or_give_unit(unsigned *random) {
  if (rand_r(random) % 2) {
    atomic_fetch_sub(&world.taken, 1);
    return mltp_sem_post(&world.units);
  }
  int error = mltp_sem_wait_timed(&world.units, some_deadline(random));
  if (error == 0) atomic_fetch_add(&world.taken, 1);
  return error;
}

static int wait_or_signal(unsigned *random) {
  return rand_r(random) % 2 ? mltp_cond_signal(&world.cond)
                            : mltp_cond_wait_unlocked_timed(&world.cond, some_deadline(random));
}

static void *end_soon(void *p0) {
  mltp_sleep((uint64_t)(uintptr_t)p0);
  return p0;
}

static int join_soon(unsigned *random) {
  mltp_t *thread = spawn(end_soon, (void *)(uintptr_t)(rand_r(random) % 50000));
  int error = mltp_join_timed(thread, NULL, mltp_after((uint64_t)(rand_r(random) % 50000)));
  if (error != 0) CHECK_EQUAL(mltp_join(thread, NULL), 0);
  return error;
}

/* Waits until it is cancelled, by another thread or its own deadline. */
static void *act_until_cancelled(void *p0) {
  static int (*const actions[])(unsigned *) = {select_some,       select_some,    send_or_receive,
                                               take_or_give_unit, wait_or_signal, join_soon};
  unsigned random = world.seed + atomic_fetch_add(&world.next, 1) * 7919u;
  int me = (int)(intptr_t)p0;
  mltp_lock(&world.lock);
  world.workers[me].thread = mltp_self();
  mltp_unlock(&world.lock);
  if (rand_r(&random) % 4 == 0)
    mltp_set_deadline(mltp_after((uint64_t)(rand_r(&random) % 2000000)));
  for (;;) {
    int error = actions[(size_t)rand_r(&random) % (sizeof actions / sizeof actions[0])](&random);
    CHECK(error == 0 || error == EAGAIN || error == ETIMEDOUT || error == ECANCELED);
    atomic_fetch_add(error == 0 ? &world.happened : &world.cancelled,
                     error == 0 || error == ECANCELED);
    if (error != ECANCELED) continue;
    CHECK_EQUAL(mltp_cancelled(), 1);
    if (rand_r(&random) % 4 == 0) break;
    mltp_uncancel(); /* once more, or until all have to end */
    if (mltp_now() >= world.end) break;
  }
  mltp_lock(&world.lock);
  world.workers[me].thread = NULL;
  world.workers[me].ended = 1;
  mltp_unlock(&world.lock);
  return NULL;
}

static void start_one(int i, unsigned *random) {
  world.workers[i].ended = 0;
  worker_start(&world.workers[i].worker, (enum kind)(rand_r(random) % MIXED), act_until_cancelled,
               (void *)(intptr_t)i);
}

/* @return whether it has ended. */
static int cancel_one(int i) {
  mltp_lock(&world.lock);
  mltp_t *thread = world.workers[i].thread;
  if (thread != NULL) CHECK_EQUAL(mltp_cancel(thread), 0);
  int ended = world.workers[i].ended;
  mltp_unlock(&world.lock);
  return ended;
}

static long environment_number(const char *name, long standard) {
  const char *text = getenv(name);
  return text != NULL && *text != '\0' ? strtol(text, NULL, 10) : standard;
}

static void check_the_books(void) {
  static const unsigned kept[CHANNELS] = {0, 0, 1, 5};
  long number;
  for (int i = 0; i < CHANNELS; i++) {
    CHECK(mltp_channel_length(world.channels[i]) <= kept[i]);
    while (mltp_channel_recv_try(world.channels[i], &number) == 0) note_moved(MLTP_RECV, number);
    CHECK_EQUAL(mltp_channel_destroy(world.channels[i]), 0);
  }
  printf("%ld sent, %ld waits cancelled\n", atomic_load(&world.sent),
         atomic_load(&world.cancelled));
  CHECK_EQUAL(atomic_load(&world.received), atomic_load(&world.sent));
  CHECK_EQUAL(atomic_load(&world.sum), 0);
  CHECK_EQUAL(atomic_load(&world.taken) + mltp_sem_value(&world.units), 0);
  CHECK(atomic_load(&world.happened) > 0 && atomic_load(&world.cancelled) > 0);
  CHECK_EQUAL(mltp_sem_destroy(&world.units), 0);
  CHECK_EQUAL(mltp_cond_destroy(&world.cond), 0);
}

static void cancellations_end_all_waits(void) {
  world.seed = (unsigned)environment_number("MLTP_STRESS_SEED", time(NULL));
  printf("MLTP_STRESS_SEED=%u\n", world.seed);
  unsigned random = world.seed;
  for (int i = 0; i < CHANNELS; i++)
    world.channels[i] = new_channel(i < 2 ? 0 : i == 2 ? 1 : 5, sizeof(long), "stress");
  mltp_sem_init(&world.units, 0, "units");
  mltp_cond_init(&world.cond, "stress");
  mltp_lock_init(&world.lock, MLTP_LOCK_STANDARD, "handles");
  world.end = mltp_after((uint64_t)environment_number("MLTP_STRESS_SECONDS", 1) * 1000000000);
  for (int i = 0; i < WORKERS; i++) start_one(i, &random);
  while (mltp_now() < world.end || atomic_load(&world.happened) == 0) { /* on a busy machine late */
    int i = rand_r(&random) % WORKERS;
    if (cancel_one(i)) {
      worker_join(&world.workers[i].worker);
      start_one(i, &random);
    }
    mltp_sleep((uint64_t)(rand_r(&random) % 100000));
  }
  for (int i = 0; i < WORKERS; i++) {
    while (!cancel_one(i)) mltp_sleep(100000);
    worker_join(&world.workers[i].worker);
  }
  check_the_books();
}

int main(void) {
  const struct CMUnitTest tests[] = {TEST(cancellations_end_all_waits)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
