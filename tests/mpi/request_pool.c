/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of requests: no request is given out twice, and slabs without requests in use are freed.
 */
#include "tmpi/mailbox/request_pool.h"

#include <malloc.h>
#include <stdlib.h>

#include "support/support.h"

enum {
  THREADS = 8,
  REQUESTS = 60000,
  PLACES = 500,
  ROUNDS = 20000,
  OWN = 20,
  FEW_SLABS = 12,
  CACHED = 128 /* requests of a VP's cache, perhaps each of another slab */
};

static struct tm_request *all[REQUESTS];

static size_t in_use(void) {
  struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

static void shuffle(void) {
  for (int i = REQUESTS - 1; i > 0; i--) {
    int other = rand() % (i + 1);
    struct tm_request *one = all[i];
    all[i] = all[other];
    all[other] = one;
  }
}

/* Each request has a number of its own in `count`, which another one would overwrite. */
static void take_all(void) {
  for (size_t i = 0; i < REQUESTS; i++) {
    all[i] = tm_request_new_of(TM_RECV);
    CHECK(all[i]);
    CHECK_EQUAL((uintptr_t)all[i] % TM_LINE, 0);
    CHECK_EQUAL(all[i]->magic, TM_REQUEST_MAGIC);
    CHECK_EQUAL(all[i]->count, 0);
    all[i]->count = i + 1;
  }
  for (size_t i = 0; i < REQUESTS; i++) CHECK_EQUAL(all[i]->count, i + 1);
}

static void memory_is_given_back_in_any_order(void) {
  size_t before = in_use();
  for (int round = 0; round < 3; round++) {
    take_all();
    CHECK(in_use() - before < REQUESTS * sizeof(struct tm_request) * 11 / 10 + FEW_SLABS * 16384);
    if (round > 0) shuffle();
    for (int i = 0; i < REQUESTS; i++) tm_request_free(all[i]);
    CHECK(in_use() - before < (FEW_SLABS + (round > 0 ? CACHED : 0)) * 16384);
  }
}

static mltp_lock_t lock = MLTP_LOCK_INIT;
static struct tm_request *places[PLACES];
static long twice;

/* Takes some and marks them as its own, which they are until it frees them. */
static void take_and_free(void *mark) {
  struct tm_request *own[OWN];
  for (int i = 0; i < OWN; i++) {
    own[i] = tm_request_new();
    own[i]->extra = mark;
  }
  long others = 0;
  for (int i = 0; i < OWN; i++) others += own[i]->extra != mark;
  for (int i = 0; i < OWN; i++) tm_request_free(own[i]);
  if (others == 0) return;
  mltp_lock(&lock);
  twice += others;
  mltp_unlock(&lock);
}

/* Puts requests where other threads take and free them. */
static void *exchange(void *seed_) {
  unsigned seed = (unsigned)(uintptr_t)seed_;
  for (int i = 0; i < ROUNDS; i++) {
    struct tm_request *mine = tm_request_new();
    CHECK(mine);
    mine->extra = mine;
    mltp_lock(&lock);
    struct tm_request **place = &places[rand_r(&seed) % PLACES], *other = *place;
    *place = mine;
    if (other != NULL) twice += other->extra != other;
    if (other != NULL) other->extra = NULL; /* until it is given out again */
    mltp_unlock(&lock);
    tm_request_free(other);
    take_and_free(&seed);
    if (i % 64 == 0) mltp_yield();
  }
  return NULL;
}

static void threads_get_different_requests(void) {
  mltp_t *threads[THREADS];
  for (uintptr_t i = 0; i < THREADS; i++)
    CHECK_EQUAL(mltp_create(&threads[i], NULL, exchange, (void *)(i + 1)), 0);
  for (int i = 0; i < THREADS; i++) mltp_join(threads[i], NULL);
  CHECK_EQUAL(twice, 0);
  for (int i = 0; i < PLACES; i++) tm_request_free(places[i]);
}

/* A kernel thread of the program's has no VP. */
static void *free_one(void *request) {
  tm_request_free(request);
  tm_request_free(tm_request_new_of(TM_SEND));
  return NULL;
}

static void bound_threads_free_requests_of_others(void) {
  mltp_attr_t attr = MLTP_ATTR_INIT;
  mltp_t *thread;
  attr.bound = 1;
  for (int i = 0; i < 200; i++) {
    struct tm_request *request = tm_request_new_of(TM_SEND);
    CHECK_EQUAL(mltp_create(&thread, &attr, free_one, request), 0);
    mltp_join(thread, NULL);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_ONE_VP(memory_is_given_back_in_any_order),
      TEST(threads_get_different_requests),
      TEST(bound_threads_free_requests_of_others),
  };
  srand(1);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
