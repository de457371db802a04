/* SPDX-License-Identifier: Apache-2.0 */
/* Select: exactly one of the cases happens, and no other leaves a trace. */
#include <stdatomic.h>
#include <string.h>

#include "support/support.h"

#define MS 1000000ull

enum { CHANNELS = 3 };

static mltp_channel_t *channels[CHANNELS];

static void make_channels(size_t capacity) {
  for (int i = 0; i < CHANNELS; i++) channels[i] = new_channel(capacity, sizeof(long), "one");
}

static void free_channels(void) {
  for (int i = 0; i < CHANNELS; i++) CHECK_EQUAL(mltp_channel_destroy(channels[i]), 0);
}

/* The call that fits the deadline. @return the case that was done, or a negative errno. */
static int choose(mltp_case_t *cases, size_t count, uint64_t deadline) {
  size_t chosen = SIZE_MAX;
  int error = deadline == 0            ? mltp_select_try(cases, count, &chosen)
              : deadline == MLTP_NEVER ? mltp_select(cases, count, &chosen)
                                       : mltp_select_timed(cases, count, &chosen, deadline);
  CHECK_EQUAL(error == 0, chosen < count);
  return error == 0 ? (int)chosen : -error;
}

/* ---------------------------------------------------------- without waiting */

static void the_case_that_can_be_done_is_done(void) {
  make_channels(1);
  for (long ready = 0; ready < CHANNELS; ready++) {
    long got[CHANNELS] = {-1, -1, -1}, number = ready + 100;
    mltp_case_t cases[CHANNELS];
    for (int i = 0; i < CHANNELS; i++) cases[i] = (mltp_case_t)MLTP_CASE_RECV(channels[i], &got[i]);
    CHECK_EQUAL(choose(cases, CHANNELS, 0), -EAGAIN);
    CHECK_EQUAL(mltp_channel_send(channels[ready], &number), 0);
    CHECK_EQUAL(choose(cases, CHANNELS, MLTP_NEVER), ready);
    CHECK_EQUAL(cases[ready].error, 0);
    for (int i = 0; i < CHANNELS; i++) CHECK_EQUAL(got[i], i == ready ? number : -1);
    CHECK_EQUAL(choose(cases, CHANNELS, 0), -EAGAIN); /* it happened once */
  }
  free_channels();
}

static void a_closed_channel_can_be_chosen(void) {
  long number = 1;
  make_channels(1);
  CHECK_EQUAL(mltp_channel_close(channels[1]), 0);
  mltp_case_t receive[] = {MLTP_CASE_RECV(channels[0], &number),
                           MLTP_CASE_RECV(channels[1], &number)};
  CHECK_EQUAL(choose(receive, 2, MLTP_NEVER), 1);
  CHECK_EQUAL(receive[1].error, EPIPE);
  mltp_case_t send[] = {MLTP_CASE_RECV(channels[0], &number), MLTP_CASE_SEND(channels[1], &number)};
  CHECK_EQUAL(choose(send, 2, MLTP_NEVER), 1);
  CHECK_EQUAL(send[1].error, EPIPE);
  free_channels();
}

static void cases_without_a_channel_never_happen(void) {
  long number = 1;
  make_channels(1);
  mltp_case_t cases[] = {MLTP_CASE_RECV(NULL, &number), MLTP_CASE_SEND(channels[0], &number),
                         MLTP_CASE_SEND(NULL, &number)};
  CHECK_EQUAL(choose(cases, 3, MLTP_NEVER), 1);
  CHECK_EQUAL(choose(cases, 3, mltp_after(MS)), -ETIMEDOUT);
  CHECK_EQUAL(choose(cases, 1, mltp_after(MS)), -ETIMEDOUT);
  CHECK_EQUAL(choose(NULL, 0, mltp_after(MS)), -ETIMEDOUT); /* a sleep */
  free_channels();
}

/* By chance alone one of three would be missed in 300 turns once in 10^52 tests. */
static void *choose_often(void *p0) {
  int chosen[CHANNELS] = {0};
  (void)p0;
  for (int turn = 0; turn < 300; turn++) {
    long number = 1;
    mltp_case_t cases[CHANNELS];
    for (int i = 0; i < CHANNELS; i++) {
      mltp_channel_send_try(channels[i], &number);
      cases[i] = (mltp_case_t)MLTP_CASE_RECV(channels[i], &number);
    }
    int index = choose(cases, CHANNELS, MLTP_NEVER);
    CHECK(index >= 0 && index < CHANNELS);
    chosen[index]++;
  }
  for (int i = 0; i < CHANNELS; i++) CHECK(chosen[i] > 0);
  return NULL;
}

static void each_case_gets_its_chance(void) {
  make_channels(1);
  for (int kind = 0; kind < MIXED; kind++) {
    check_case("%s", kind_names[kind]);
    workers_run(1, (enum kind)kind, choose_often, NULL);
  }
  free_channels();
}

/* ------------------------------------------------------------------ waiting */

static void *time_out(void *p0) {
  long number = 1;
  uint64_t deadline = mltp_after(3 * MS);
  mltp_case_t cases[] = {MLTP_CASE_RECV(channels[0], &number), MLTP_CASE_SEND(channels[1], &number),
                         MLTP_CASE_RECV(channels[2], &number)};
  CHECK_EQUAL(choose(cases, 3, deadline), -ETIMEDOUT);
  CHECK(mltp_now() >= deadline);
  return p0;
}

static void select_times_out_and_not_early(void) {
  for (int kind = 0; kind < MIXED; kind++) {
    check_case("%s", kind_names[kind]);
    make_channels(0);
    workers_run(1, (enum kind)kind, time_out, NULL);
    long number = 1;
    for (int i = 0; i < CHANNELS; i++) { /* no case of it stayed behind */
      CHECK_EQUAL(mltp_channel_send_try(channels[i], &number), EAGAIN);
      CHECK_EQUAL(mltp_channel_recv_try(channels[i], &number), EAGAIN);
    }
    free_channels();
  }
}

/* Both ways on one channel: it must not serve itself. */
static void *exchange(void *p0) {
  long mine = 1, theirs = 0;
  mltp_case_t cases[] = {MLTP_CASE_SEND(channels[0], &mine), MLTP_CASE_RECV(channels[0], &theirs)};
  for (int i = 0; i < scaled(500); i++) {
    int index = choose(cases, 2, MLTP_NEVER);
    CHECK(index == 0 || index == 1);
    atomic_fetch_add((atomic_long *)p0, index == 0 ? mine : -theirs);
  }
  return NULL;
}

static void select_on_both_ends_of_a_channel(void) {
  for (int kind = 0; kind < KINDS; kind++) {
    check_case("%s", kind_names[kind]);
    atomic_long balance = 0;
    make_channels(0);
    workers_run(2, (enum kind)kind, exchange, &balance);
    CHECK_EQUAL(atomic_load(&balance), 0);
    free_channels();
  }
}

/* A channel of which several cases wait may be destroyed as soon as one of them is done. */
static mltp_op_t ops_of_cases[2];

static void *select_twice(void *p0) {
  long numbers[2] = {7, 8};
  mltp_case_t cases[3] = {MLTP_CASE_RECV(channels[0], &numbers[0]), MLTP_CASE_RECV(p0, &numbers[1]),
                          MLTP_CASE_RECV(channels[0], &numbers[1])};
  cases[0].op = ops_of_cases[0];
  cases[2].op = ops_of_cases[1];
  int index = choose(cases, 3, MLTP_NEVER);
  CHECK(index == 0 || index == 2);
  return NULL;
}

static void a_channel_that_has_served_is_destroyed(void) {
  static const mltp_op_t ops[][2] = {{MLTP_RECV, MLTP_RECV},
                                     {MLTP_SEND, MLTP_SEND},
                                     {MLTP_RECV, MLTP_SEND},
                                     {MLTP_SEND, MLTP_RECV}};
  for (int kind = 0; kind < MIXED; kind++)
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
      struct worker worker;
      long number = 5;
      check_case("%s, %zu", kind_names[kind], i);
      mltp_channel_t *other = new_channel(0, sizeof(long), "other");
      channels[0] = new_channel(0, sizeof(long), "twice");
      memcpy(ops_of_cases, ops[i], sizeof ops[i]);
      worker_start(&worker, (enum kind)kind, select_twice, other);
      while ((ops[i][0] == MLTP_RECV ? mltp_channel_send_try(channels[0], &number)
                                     : mltp_channel_recv_try(channels[0], &number)) != 0)
        mltp_yield();
      CHECK_EQUAL(mltp_channel_destroy(channels[0]), 0);
      worker_join(&worker);
      CHECK_EQUAL(mltp_channel_destroy(other), 0);
    }
}

/* ------------------------------------------------------------------ traffic */

struct traffic {
  atomic_int next_role, sending;
  atomic_long sent, received, sum;
};

/* Half send, half receive; each names the channels in an order of its own. */
static void *move(void *p0) {
  struct traffic *t = p0;
  int role = atomic_fetch_add(&t->next_role, 1), sends = role % 2;
  int closed = 0;
  for (long i = 0; sends ? i < scaled(600) : closed < CHANNELS; i++) {
    long number = i, got[CHANNELS];
    mltp_case_t cases[CHANNELS];
    for (int k = 0; k < CHANNELS; k++) {
      mltp_channel_t *channel = channels[(role / 2 + (role % 4 < 2 ? k : CHANNELS - k)) % CHANNELS];
      cases[k] = sends ? (mltp_case_t)MLTP_CASE_SEND(channel, &number)
                       : (mltp_case_t)MLTP_CASE_RECV(channel, &got[k]);
    }
    uint64_t deadline = i % 3 != 0 ? MLTP_NEVER : mltp_after((uint64_t)(i % 5) * 10000);
    int index = choose(cases, CHANNELS, deadline);
    CHECK((index >= 0 && index < CHANNELS) || index == -ETIMEDOUT);
    if (index < 0) continue;
    if (cases[index].error != 0) break; /* all three are closed at once, and drained by one */
    atomic_fetch_add(sends ? &t->sent : &t->received, 1);
    atomic_fetch_add(&t->sum, sends ? number : -got[index]);
  }
  if (sends && atomic_fetch_sub(&t->sending, 1) == 1)
    for (int i = 0; i < CHANNELS; i++) mltp_channel_close(channels[i]);
  return NULL;
}

static void selects_meet_and_lose_nothing(void) {
  enum { WORKERS = 8 };
  for (int kind = 0; kind < KINDS; kind++) {
    for (size_t capacity = 0; capacity < 3; capacity++) {
      check_case("%s, capacity %zu", kind_names[kind], capacity);
      struct traffic t = {.sending = WORKERS / 2};
      make_channels(capacity);
      workers_run(WORKERS, (enum kind)kind, move, &t);
      long number;
      for (int i = 0; i < CHANNELS; i++)
        while (mltp_channel_recv_try(channels[i], &number) == 0) {
          atomic_fetch_add(&t.received, 1);
          atomic_fetch_sub(&t.sum, number);
        }
      CHECK(atomic_load(&t.sent) > 0);
      CHECK_EQUAL(atomic_load(&t.received), atomic_load(&t.sent));
      CHECK_EQUAL(atomic_load(&t.sum), 0);
      free_channels();
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(the_case_that_can_be_done_is_done),    TEST(a_closed_channel_can_be_chosen),
      TEST(cases_without_a_channel_never_happen), TEST(each_case_gets_its_chance),
      TEST(select_times_out_and_not_early),       TEST(select_on_both_ends_of_a_channel),
      TEST(selects_meet_and_lose_nothing),        TEST(a_channel_that_has_served_is_destroyed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
