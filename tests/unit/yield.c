/* SPDX-License-Identifier: Apache-2.0 */
/* Yielding, thesis 3.3.2 and its figure 3. */
#define _GNU_SOURCE /* gettid */
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "support/support.h"

/* What ran, in order; on one VP no two threads append at a time. */
static char log_text[64];

static void note(char letter) {
  size_t length = strlen(log_text);
  CHECK(length + 1 < sizeof log_text);
  log_text[length] = letter;
  log_text[length + 1] = '\0';
}

static mltp_t *create_letter(mltp_userf_t *func, char letter) {
  mltp_t *thread = spawn(func, (void *)(intptr_t)letter);
  CHECK(thread != NULL);
  return thread;
}

static void *once(void *p0) {
  note((char)(intptr_t)p0);
  return NULL;
}

static void *yield_to_end_twice(void *p0) {
  for (int i = 0; i < 3; i++) {
    note((char)(intptr_t)p0);
    mltp_yield();
  }
  return NULL;
}

/* "requiring that all other queued threads be given the opportunity to run before the
 * yielding thread may run again" */
static void mltp_yield_goes_to_the_end(void) {
  log_text[0] = '\0';
  mltp_t *threads[3];
  for (int i = 0; i < 3; i++) threads[i] = create_letter(yield_to_end_twice, (char)('A' + i));
  for (int i = 0; i < 4; i++) {
    note('m');
    mltp_yield();
  }
  CHECK_TEXT(log_text, "mABCmABCmABCm");
  for (int i = 0; i < 3; i++) mltp_join(threads[i], NULL);
}

static void *yield_to_first_once(void *p0) {
  note((char)(intptr_t)p0);
  mltp_yield_to_first();
  note((char)(intptr_t)p0);
  return NULL;
}

/* The caller trades places with the front: A and the main thread hand the VP to each
 * other while B, at the end, has to wait. */
static void mltp_yield_to_first_goes_to_the_front(void) {
  log_text[0] = '\0';
  mltp_t *a = create_letter(yield_to_first_once, 'A');
  mltp_t *b = create_letter(once, 'B');
  note('m');
  mltp_yield_to_first();
  note('m');
  mltp_yield_to_first();
  note('m');
  CHECK_TEXT(log_text, "mAmAm");
  mltp_yield();
  CHECK_TEXT(log_text, "mAmAmB");
  mltp_join(a, NULL);
  mltp_join(b, NULL);
}

static void mltp_yield_to_runs_the_given_thread(void) {
  log_text[0] = '\0';
  mltp_t *threads[4];
  for (int i = 0; i < 4; i++) threads[i] = create_letter(once, (char)('A' + i));
  CHECK_EQUAL(mltp_yield_to(threads[2]), 0);
  CHECK_TEXT(log_text, "CABD"); /* and the caller is back from the end of the queue */
  for (int i = 0; i < 4; i++) mltp_join(threads[i], NULL);
}

static void *take_one(void *p0) {
  mltp_sem_wait(p0);
  return NULL;
}

/* Neither a finished nor a blocked thread is ready: the caller yields all the same. */
static void mltp_yield_to_a_thread_not_ready(void) {
  log_text[0] = '\0';
  mltp_sem_t sem = MLTP_SEM_INIT(0);
  mltp_t *blocked = spawn(take_one, &sem);
  mltp_t *finished = create_letter(once, 'F');
  mltp_yield();
  CHECK_TEXT(log_text, "F");
  mltp_t *other = create_letter(once, 'O');
  CHECK_EQUAL(mltp_yield_to(blocked), EAGAIN);
  CHECK_TEXT(log_text, "FO");
  CHECK_EQUAL(mltp_yield_to(finished), EAGAIN);
  mltp_sem_post(&sem);
  mltp_join(blocked, NULL);
  mltp_join(finished, NULL);
  mltp_join(other, NULL);
}

static void *yield_to_main(void *p0) { return (void *)(intptr_t)mltp_yield_to(p0); }

static void mltp_yield_to_needs_a_vp(void) {
  const enum kind kinds[] = {BOUND, FOREIGN};
  for (int i = 0; i < 2; i++) {
    struct worker worker;
    worker_start(&worker, kinds[i], yield_to_main, mltp_self());
    CHECK_EQUAL((intptr_t)worker_join(&worker), EAGAIN);
  }
}

/* Handing a turn around in a ring needs every thread to run again and again. */
enum { RING = 9 };
static atomic_int rounds_left;

static void *ring_member(void *p0) {
  int me = (int)(intptr_t)p0;
  for (;;) {
    int left = atomic_load(&rounds_left);
    if (left == 0) return NULL;
    if (left % RING == me) {
      atomic_store(&rounds_left, left - 1);
    } else {
      mltp_yield();
    }
  }
}

static void mltp_yield_by_every_kind(void) {
  for (int kind = 0; kind < KINDS; kind++) {
    check_case("%s", kind_names[kind]);
    struct worker workers[RING];
    /* VPs that yield among their own threads give up a CPU only to the kernel's clock. */
    atomic_store(&rounds_left, RING * (kind == MIXED ? 5 : scaled(100)));
    for (int i = 0; i < RING; i++) {
      worker_start(&workers[i], kind == MIXED ? (enum kind)(i % MIXED) : (enum kind)kind,
                   ring_member, (void *)(intptr_t)i);
    }
    for (int i = 0; i < RING; i++) worker_join(&workers[i]);
    CHECK_EQUAL(atomic_load(&rounds_left), 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_ONE_VP(mltp_yield_goes_to_the_end),
      TEST_ONE_VP(mltp_yield_to_first_goes_to_the_front),
      TEST_ONE_VP(mltp_yield_to_runs_the_given_thread),
      TEST_ONE_VP(mltp_yield_to_a_thread_not_ready),
      TEST(mltp_yield_to_needs_a_vp),
      TEST(mltp_yield_by_every_kind),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
