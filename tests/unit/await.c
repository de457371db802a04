/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for words, TMPI-2 section 4: every kind of thread, by values and by changes. */
#include "mltp/await.h"

#include <stdatomic.h>
#include <string.h>

#include "support/support.h"

enum { SHORT_NS = 3000000 };

/* ------------------------------------------------------ waiting and waking */

struct ring {
  uint32_t turn;      /* whose turn it is */
  uint32_t next;      /* atomic: numbers given out */
  long laps, visited; /* visited: not atomic, only whose turn it is adds */
  int by_wake;        /* change the word by hand, then wake */
  atomic_int errors;
};

enum { WORKERS = 5 };

static void pass_on(struct ring *ring, uint32_t to) {
  if (ring->by_wake) {
    __atomic_store_n(&ring->turn, to, __ATOMIC_RELEASE);
    mltp_await_wake(&ring->turn);
  } else {
    mltp_await_store(&ring->turn, to);
  }
}

static void *take_turns(void *p0) {
  struct ring *ring = p0;
  uint32_t mine = __atomic_fetch_add(&ring->next, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < ring->laps; i++) {
    if (mltp_await(&ring->turn, mine, NULL) != 0) atomic_fetch_add(&ring->errors, 1);
    ring->visited++;
    pass_on(ring, (mine + 1) % WORKERS);
  }
  return NULL;
}

/* Each continues when it is its turn, and no wake-up is lost (that would hang). */
static void check_ring(int by_wake) {
  for (int kind = 0; kind < KINDS; kind++) {
    check_case("%s", kind_names[kind]);
    struct ring ring = {.laps = scaled(300), .by_wake = by_wake};
    workers_run(WORKERS, (enum kind)kind, take_turns, &ring);
    CHECK_EQUAL(ring.visited, WORKERS * ring.laps);
    CHECK_EQUAL(atomic_load(&ring.errors), 0);
  }
}

static void mltp_await_store_wakes_whose_value_it_is(void) { check_ring(0); }

static void mltp_await_wake_wakes_whose_value_it_is(void) { check_ring(1); }

struct crowd {
  uint32_t word;
  long before; /* not atomic: the word orders it */
  atomic_int errors;
};

static void *wait_for_change(void *p0) {
  struct crowd *crowd = p0;
  if (mltp_await_not(&crowd->word, 0, NULL) != 0 || crowd->before != 1)
    atomic_fetch_add(&crowd->errors, 1);
  return NULL;
}

static void *change_it(void *p0) {
  struct crowd *crowd = p0;
  mltp_yield(); /* most have come */
  crowd->before = 1;
  mltp_await_store(&crowd->word, 7);
  return NULL;
}

static void mltp_await_not_lets_all_go_on(void) {
  for (int round = 0; round < scaled(50); round++) {
    for (int kind = 0; kind < MIXED; kind++) {
      check_case("%s", kind_names[kind]);
      struct crowd crowd = {.word = 0};
      struct worker waiters[4], changer;
      for (int i = 0; i < 4; i++)
        worker_start(&waiters[i], (enum kind)((kind + i) % MIXED), wait_for_change, &crowd);
      worker_start(&changer, (enum kind)kind, change_it, &crowd);
      for (int i = 0; i < 4; i++) worker_join(&waiters[i]);
      worker_join(&changer);
      CHECK_EQUAL(atomic_load(&crowd.errors), 0);
    }
  }
}

static void what_is_so_already_is_not_waited_for(void) {
  uint32_t word = 3;
  CHECK_EQUAL(mltp_await_timed(&word, 3, NULL, 0), 0);
  CHECK_EQUAL(mltp_await_not_timed(&word, 4, NULL, 0), 0);
  CHECK_EQUAL(mltp_await(&word, 3, mltp_self()), 0);
}

/* Others that wait in the same bucket, for another word or another value, stay. */
struct pair {
  uint32_t words[512]; /* more than there are buckets */
  int passed[512];
};

struct waiter_of {
  struct pair *pair;
  int index;
};

static void *wait_for_one(void *p0) {
  struct waiter_of *self = p0;
  mltp_await(&self->pair->words[self->index], 1, NULL);
  self->pair->passed[self->index] = 1;
  return NULL;
}

static void words_are_distinct(void) {
  enum { WORDS = 512 };
  static struct pair pair;
  static struct waiter_of self[WORDS];
  static mltp_t *threads[WORDS];
  memset(&pair, 0, sizeof pair);
  for (int i = 0; i < WORDS; i++) {
    self[i] = (struct waiter_of){&pair, i};
    threads[i] = spawn(wait_for_one, &self[i]);
  }
  mltp_yield(); /* on one VP: all wait */
  for (int i = 0; i < WORDS; i++) {
    mltp_await_store(&pair.words[i], 2); /* not what it waits for */
    mltp_yield();
    CHECK_EQUAL(pair.passed[i], 0);
    mltp_await_store(&pair.words[i], 1);
    mltp_yield();
    CHECK_EQUAL(pair.passed[i], 1);
    if (i + 1 < WORDS) CHECK_EQUAL(pair.passed[i + 1], 0);
  }
  for (int i = 0; i < WORDS; i++) mltp_join(threads[i], NULL);
}

/* ------------------------------------------------------ deadlines, cancelling */

static uint32_t never; /* stays 0 */

static void *times_out(void *p0) {
  (void)p0;
  uint64_t deadline = mltp_after(SHORT_NS);
  int error = mltp_await_timed(&never, 1, NULL, deadline);
  CHECK(mltp_now() >= deadline);
  return (void *)(intptr_t)error;
}

static void mltp_await_times_out_and_not_early(void) {
  for (int kind = 0; kind < MIXED; kind++) {
    check_case("%s", kind_names[kind]);
    struct worker worker;
    worker_start(&worker, (enum kind)kind, times_out, NULL);
    CHECK_EQUAL((intptr_t)worker_join(&worker), ETIMEDOUT);
  }
}

static void *wait_for_ever(void *p0) {
  mltp_t **self = p0;
  __atomic_store_n(self, mltp_self(), __ATOMIC_RELEASE);
  return (void *)(intptr_t)mltp_await_not(&never, 0, NULL);
}

static void mltp_cancel_ends_the_wait(void) {
  for (int kind = 0; kind < MIXED; kind++) {
    check_case("%s", kind_names[kind]);
    struct worker worker;
    mltp_t *waiter = NULL, *seen;
    worker_start(&worker, (enum kind)kind, wait_for_ever, &waiter);
    while ((seen = __atomic_load_n(&waiter, __ATOMIC_ACQUIRE)) == NULL) mltp_yield();
    CHECK_EQUAL(mltp_cancel(seen), 0);
    CHECK_EQUAL((intptr_t)worker_join(&worker), ECANCELED);
  }
}

/* Deadlines that run out while the word is stored. */
struct race {
  uint32_t word;
  atomic_int stop, odd;
};

static void *race_the_clock(void *p0) {
  struct race *race = p0;
  for (int i = 0; i < scaled(200); i++) {
    uint32_t seen = __atomic_load_n(&race->word, __ATOMIC_RELAXED);
    int error = mltp_await_not_timed(&race->word, seen, NULL, mltp_after((uint64_t)(i % 8) * 3000));
    if (error != 0 && error != ETIMEDOUT) atomic_fetch_add(&race->odd, 1);
  }
  return NULL;
}

static void *store_often(void *p0) {
  struct race *race = p0;
  for (uint32_t i = 1; !atomic_load(&race->stop); i++) {
    mltp_await_store(&race->word, i);
    mltp_sleep(2000);
  }
  return NULL;
}

static void deadlines_race_with_stores(void) {
  struct race race = {.word = 0};
  struct worker storer;
  worker_start(&storer, UNBOUND, store_often, &race);
  workers_run(6, MIXED, race_the_clock, &race);
  atomic_store(&race.stop, 1);
  worker_join(&storer);
  CHECK_EQUAL(atomic_load(&race.odd), 0);
}

/* ------------------------------------------------------ when it spins */

static mltp_await_counters_t counts_since(const mltp_await_counters_t *before) {
  mltp_await_counters_t now = MLTP_AWAIT_COUNTERS_INIT;
  CHECK_EQUAL(mltp_await_counts(&now), 0);
  now.spins_paid -= before->spins_paid;
  now.spins_failed -= before->spins_failed;
  now.parks -= before->parks;
  return now;
}

static void *store_one(void *p0) {
  mltp_await_store(p0, 1);
  return NULL;
}

/* Its waker is ready behind it on its own VP: no spinning can help. */
static void who_waits_for_one_that_does_not_run_parks_at_once(void) {
  for (int round = 0; round < 3; round++) { /* the thread has affinity from the second on */
    uint32_t word = 0;
    mltp_await_counters_t before = MLTP_AWAIT_COUNTERS_INIT;
    mltp_t *waker = spawn(store_one, &word);
    mltp_await_counts(&before);
    CHECK_EQUAL(mltp_await(&word, 1, waker), 0);
    mltp_await_counters_t done = counts_since(&before);
    CHECK_EQUAL(done.parks, 1);
    CHECK_EQUAL(done.spins_paid + done.spins_failed, 0);
    mltp_join(waker, NULL);
  }
}

/* A waker that runs is spun for, if the thread was here before; what does not pay parks. */
struct handshake {
  uint32_t ready, word;
  mltp_t *waker;
};

static void *store_when_asked(void *p0) {
  struct handshake *h = p0;
  h->waker = mltp_self();
  __atomic_store_n(&h->ready, 1, __ATOMIC_RELEASE);
  while (__atomic_load_n(&h->ready, __ATOMIC_ACQUIRE) != 2) mltp_yield();
  mltp_await_store(&h->word, 1);
  return NULL;
}

static void every_wait_is_counted(void) {
  for (int kind = BOUND; kind <= FOREIGN; kind++) {
    for (int round = 0; round < scaled(50); round++) {
      struct handshake h = {.ready = 0};
      struct worker worker;
      mltp_await_counters_t before = MLTP_AWAIT_COUNTERS_INIT;
      worker_start(&worker, (enum kind)kind, store_when_asked, &h);
      while (__atomic_load_n(&h.ready, __ATOMIC_ACQUIRE) != 1) mltp_yield();
      mltp_await_counts(&before);
      __atomic_store_n(&h.ready, 2, __ATOMIC_RELEASE);
      CHECK_EQUAL(mltp_await(&h.word, 1, h.waker), 0);
      mltp_await_counters_t done = counts_since(&before);
      CHECK(done.spins_paid + done.parks <= 1);
      CHECK(done.spins_failed <= 1 && done.spins_paid + done.spins_failed <= 1);
      worker_join(&worker);
    }
  }
}

/* ------------------------------------------------------------ many waiters */

enum { MANY = 60, WORDS = 3 };

static uint32_t many_words[WORDS];
static atomic_int many_ended;

struct one {
  int number;
  int error;
};

/* Two in three wait for a value of their own, which comes or does not; the others until their word
 * is no longer 0. */
static void *wait_among_many(void *arg) {
  struct one *one = arg;
  uint32_t *word = &many_words[one->number % WORDS], value = (uint32_t)one->number + 1;
  uint64_t soon = mltp_after(SHORT_NS);
  switch (one->number % 4) {
    case 0: one->error = mltp_await_not(word, 0, NULL); break;
    case 1: one->error = mltp_await_timed(word, UINT32_MAX, NULL, soon); break;
    default: one->error = mltp_await(word, value, NULL);
  }
  atomic_fetch_add(&many_ended, 1);
  return NULL;
}

/* More than a bucket keeps without its index; some give up meanwhile. */
static void each_of_many_wakes_when_its_value_comes(void) {
  struct one ones[MANY];
  struct worker workers[MANY];
  enum kind kind = on_kernel_backend() ? BOUND : UNBOUND;
  memset(many_words, 0, sizeof many_words);
  atomic_store(&many_ended, 0);
  for (int i = 0; i < MANY; i++) {
    ones[i] = (struct one){i, -1};
    worker_start(&workers[i], kind, wait_among_many, &ones[i]);
  }
  mltp_sleep(SHORT_NS / 2);
  for (int i = MANY; i-- > 0;) {
    mltp_await_store(&many_words[i % WORDS], (uint32_t)i + 1);
    worker_join(&workers[i]);
    CHECK_EQUAL(ones[i].error, i % 4 == 1 ? ETIMEDOUT : 0);
  }
  CHECK_EQUAL(atomic_load(&many_ended), MANY);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(mltp_await_store_wakes_whose_value_it_is),
      TEST(mltp_await_wake_wakes_whose_value_it_is),
      TEST(mltp_await_not_lets_all_go_on),
      TEST(what_is_so_already_is_not_waited_for),
      TEST_ONE_VP(words_are_distinct),
      TEST(mltp_await_times_out_and_not_early),
      TEST(mltp_cancel_ends_the_wait),
      TEST(each_of_many_wakes_when_its_value_comes),
      TEST(deadlines_race_with_stores),
      TEST_ONE_VP(who_waits_for_one_that_does_not_run_parks_at_once),
      TEST(every_wait_is_counted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
