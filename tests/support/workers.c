/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of every kind behind one interface. */
#include "support.h"

const char *const kind_names[KINDS] = {"unbound", "bound", "foreign", "mixed"};

const struct lock_class lock_classes[LOCK_CLASSES] = {
    {MLTP_LOCK_STANDARD, "standard"},
    {MLTP_LOCK_REACTIVE, "reactive"},
    {MLTP_LOCK_QUEUE, "queue"},
    {MLTP_LOCK_SPIN, "spin"},
    {MLTP_LOCK_SEMAPHORE, "semaphore"},
    {MLTP_LOCK_RECURSIVE, "recursive"},
    {MLTP_LOCK_ALT_YIELD_END, "yield-end"},
    {MLTP_LOCK_ALT_YIELD_FRONT, "yield-front"},
#if MLTP_ALTERNATIVES
    {MLTP_LOCK_ALT_EXCHANGE, "exchange"},
    {MLTP_LOCK_ALT_READ, "read"},
    {MLTP_LOCK_ALT_BACKOFF, "backoff"},
    {MLTP_LOCK_ALT_PERSISTENT, "persistent"},
    {MLTP_LOCK_ALT_ARRAY, "array"},
    {MLTP_LOCK_ALT_MCS, "mcs"},
    {MLTP_LOCK_ALT_CLH, "clh"},
#endif
};

mltp_t *spawn(mltp_userf_t *func, void *arg) {
  mltp_t *thread = NULL;
  return mltp_create(&thread, NULL, func, arg) == 0 ? thread : NULL;
}

mltp_t *spawn_bound(mltp_userf_t *func, void *arg) {
  const mltp_attr_t bound = {.size = sizeof(mltp_attr_t), .bound = 1};
  mltp_t *thread = NULL;
  return mltp_create(&thread, &bound, func, arg) == 0 ? thread : NULL;
}

mltp_channel_t *new_channel(size_t capacity, size_t element_size, const char *name) {
  mltp_channel_t *channel = NULL;
  return mltp_channel_create(&channel, capacity, element_size, name) == 0 ? channel : NULL;
}

static void *foreign_main(void *arg) {
  struct worker *worker = arg;
  worker->result = worker->func(worker->arg);
  mltp_sem_post(&worker->ended);
  return NULL;
}

void worker_start(struct worker *worker, enum kind kind, mltp_userf_t *func, void *arg) {
  if (seeded() && kind == FOREIGN) kind = UNBOUND; /* when a foreign one comes is not replayed */
  *worker = (struct worker){.kind = kind, .func = func, .arg = arg};
  if (kind == FOREIGN) {
    mltp_sem_init(&worker->ended, 0, "end of a foreign worker");
    CHECK_EQUAL(pthread_create(&worker->foreign, NULL, foreign_main, worker), 0);
    return;
  }
  worker->thread = kind == BOUND ? spawn_bound(func, arg) : spawn(func, arg);
  CHECK(worker->thread != NULL);
}

void *worker_join(struct worker *worker) {
  if (worker->kind == FOREIGN) {
    mltp_sem_wait(&worker->ended);
    pthread_join(worker->foreign, NULL); /* short: it has posted already */
    mltp_sem_destroy(&worker->ended);
  } else {
    CHECK_EQUAL(mltp_join(worker->thread, &worker->result), 0);
  }
  return worker->result;
}

void workers_run(int count, enum kind kind, mltp_userf_t *func, void *arg) {
  struct worker workers[WORKERS_MAX];
  for (int i = 0; i < count; i++) {
    worker_start(&workers[i], kind == MIXED ? (enum kind)(i % MIXED) : kind, func, arg);
  }
  for (int i = 0; i < count; i++) worker_join(&workers[i]);
}
