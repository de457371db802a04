/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of every kind behind one interface. */
#include "support.h"

const char *const kind_names[KINDS] = {"unbound", "bound", "foreign", "mixed"};

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
  worker->thread = kind == BOUND ? mltp_create_bound(func, arg) : mltp_create(func, arg);
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

void crew_run(int count, enum kind kind, mltp_userf_t *func, void *arg) {
  struct worker workers[CREW_MAX];
  for (int i = 0; i < count; i++) {
    worker_start(&workers[i], kind == MIXED ? (enum kind)(i % MIXED) : kind, func, arg);
  }
  for (int i = 0; i < count; i++) worker_join(&workers[i]);
}
