/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of every kind come, do something short, and go in every way. */
#include <mltp/thesis.h>
#undef mltp_create /* here with mltp.h's meaning */

#include "ops.h"

static atomic_long created, ended;

static void begin(void) {
  atomic_store(&created, 0);
  atomic_store(&ended, 0);
}

void wait_for_children(void) {
  while (atomic_load(&ended) < atomic_load(&created)) mltp_sleep(100000);
}

static void end(void) { CHECK_EQUAL(atomic_load(&ended), atomic_load(&created)); }

/* -------------------------------------------------------------------- create */

enum { BY_RETURN, BY_EXIT, BY_ABORT, WAYS };

/* The argument is a random number; how the thread ends follows from it. */
static int way_of(void *p0) { return (int)((uintptr_t)p0 % 8 < WAYS ? (uintptr_t)p0 % 8 : 0); }

static void *child(void *p0) {
  unsigned random = (unsigned)(uintptr_t)p0;
  act_as_leaf(&random);
  if (one_in(&random, 2)) mltp_yield();
  atomic_fetch_add(&ended, 1);
  if (way_of(p0) == BY_EXIT) mltp_exit(p0);
  if (way_of(p0) == BY_ABORT) mltp_abort();
  return p0;
}

static void *child_of_two(int number, ...) {
  va_list rest;
  va_start(rest, number);
  void *p0 = va_arg(rest, void *);
  va_end(rest);
  CHECK_EQUAL(number, 42);
  return child(p0);
}

/* 0, or the error of a thread that was not made. */
static int create(mltp_t **thread, int *detached, void *p0, unsigned *random) {
  *detached = 0;
  switch (pick(random, 4)) {
    case 0: *thread = spawn(child, p0); return *thread == NULL;
    case 1: *thread = mltp_vcreate(child_of_two, 16, 42L, p0); return *thread == NULL;
    default: break;
  }
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.bound = one_in(random, 16);
  attr.priority = (int)pick(random, 3) - 1;
  attr.detached = *detached = one_in(random, 4);
  attr.stack_size = one_in(random, 8) ? 65536u << pick(random, 3) : 0;
  attr.name = "child";
  return mltp_create(thread, &attr, child, p0);
}

static void act(unsigned *random) {
  void *p0 = (void *)(uintptr_t)pick(random, 1u << 30);
  mltp_t *thread = NULL;
  int detached;
  atomic_fetch_add(&created, 1);
  int error = create(&thread, &detached, p0, random);
  CHECK_EQUAL(error, 0);
  if (error != 0 || detached) return;
  switch (pick(random, 4)) {
    case 0: CHECK_EQUAL(mltp_detach(thread), 0); return;
    case 1: mltp_yield_to(thread); break;
    case 2: mltp_yield(); break;
    default: break;
  }
  void *result = NULL;
  CHECK_EQUAL(mltp_join(thread, &result), 0);
  CHECK(result == (way_of(p0) == BY_ABORT ? NULL : p0));
}

const struct operation op_create = {"create", 4, 0, begin, act, end};

/* ------------------------------------------------------------------- pthread */

static void *foreign(void *p0) {
  unsigned random = (unsigned)(uintptr_t)p0;
  for (unsigned i = pick(&random, 4); i > 0; i--) act_as_leaf(&random);
  return NULL;
}

/* A pthread that uses the library and goes, and its descriptor with it. */
static void act_pthread(unsigned *random) {
  pthread_t thread;
  void *p0 = (void *)(uintptr_t)pick(random, 1u << 30);
  CHECK_EQUAL(pthread_create(&thread, NULL, foreign, p0), 0);
  mltp_blocking_begin();
  CHECK_EQUAL(pthread_join(thread, NULL), 0);
  mltp_blocking_end();
}

const struct operation op_pthread = {"pthread", 1, 0, NULL, act_pthread, NULL};
