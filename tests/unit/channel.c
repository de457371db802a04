/* SPDX-License-Identifier: Apache-2.0 */
/* Channels for every kind of thread: what is sent is received once and in order. */
#include <stdatomic.h>
#include <string.h>

#include "support/support.h"

#define MS 1000000ull

static const size_t capacities[] = {0, 1, 7};
enum { CAPACITIES = sizeof capacities / sizeof capacities[0] };

/* ------------------------------------------------------------------ traffic */

enum { WORKERS = 6, SENDERS = WORKERS / 2, MESSAGES = 1000 };

struct message {
  int sender;
  int number;
};

struct traffic {
  mltp_channel_t *channel;
  atomic_int next_role, senders_left;
  atomic_long received, sum;
};

static void *send_all(struct traffic *t, int sender) {
  for (int i = 0; i < scaled(MESSAGES); i++) {
    struct message message = {sender, i};
    CHECK_EQUAL(mltp_channel_send(t->channel, &message), 0);
    if (i % 32 == 0) mltp_yield();
  }
  if (atomic_fetch_sub(&t->senders_left, 1) == 1) CHECK_EQUAL(mltp_channel_close(t->channel), 0);
  return NULL;
}

/* What one receiver gets of one sender comes in the order in which it was sent. */
static void *receive_all(struct traffic *t) {
  int last[SENDERS];
  for (int i = 0; i < SENDERS; i++) last[i] = -1;
  struct message message;
  while (mltp_channel_recv(t->channel, &message) == 0) {
    CHECK(message.number > last[message.sender]);
    last[message.sender] = message.number;
    atomic_fetch_add(&t->received, 1);
    atomic_fetch_add(&t->sum, message.number);
  }
  return NULL;
}

static void *send_or_receive(void *p0) {
  struct traffic *t = p0;
  int role = atomic_fetch_add(&t->next_role, 1);
  return role % 2 ? send_all(t, role / 2) : receive_all(t);
}

static void channels_lose_nothing_and_keep_order(void) {
  for (int kind = 0; kind < KINDS; kind++) {
    for (int i = 0; i < CAPACITIES; i++) {
      check_case("%s, capacity %zu", kind_names[kind], capacities[i]);
      struct traffic t = {.senders_left = SENDERS};
      t.channel = new_channel(capacities[i], sizeof(struct message), "traffic");
      workers_run(WORKERS, (enum kind)kind, send_or_receive, &t);
      long n = scaled(MESSAGES);
      CHECK_EQUAL(atomic_load(&t.received), SENDERS * n);
      CHECK_EQUAL(atomic_load(&t.sum), SENDERS * n * (n - 1) / 2);
      CHECK_EQUAL(mltp_channel_length(t.channel), 0);
      CHECK_EQUAL(mltp_channel_destroy(t.channel), 0);
    }
  }
}

/* Deadlines that run out just when an element is handed over: it was sent if and only if
 * it is received. */
static void *move_in_a_hurry(void *p0) {
  struct traffic *t = p0;
  int sends = atomic_fetch_add(&t->next_role, 1) % 2;
  for (int i = 0; i < scaled(400); i++) {
    long number = i;
    uint64_t deadline = mltp_after((uint64_t)(i % 8) * 5000);
    int error = sends ? mltp_channel_send_timed(t->channel, &number, deadline)
                      : mltp_channel_recv_timed(t->channel, &number, deadline);
    CHECK(error == 0 || error == ETIMEDOUT);
    if (error == 0) atomic_fetch_add(&t->sum, sends ? number : -number);
    if (error == 0) atomic_fetch_add(&t->received, sends ? 1 : -1);
  }
  return NULL;
}

static void timed_calls_race_with_each_other(void) {
  for (int kind = 0; kind < KINDS; kind++) {
    for (int i = 0; i < CAPACITIES; i++) {
      check_case("%s, capacity %zu", kind_names[kind], capacities[i]);
      struct traffic t = {.channel = new_channel(capacities[i], sizeof(long), NULL)};
      workers_run(WORKERS, (enum kind)kind, move_in_a_hurry, &t);
      long number;
      CHECK_EQUAL(atomic_load(&t.received), mltp_channel_length(t.channel));
      while (mltp_channel_recv_try(t.channel, &number) == 0) atomic_fetch_sub(&t.sum, number);
      CHECK_EQUAL(atomic_load(&t.sum), 0);
      CHECK_EQUAL(mltp_channel_destroy(t.channel), 0);
    }
  }
}

static void *time_out(void *p0) {
  uint64_t deadline = mltp_after(3 * MS);
  int number = 0;
  CHECK_EQUAL(mltp_channel_recv_timed(p0, &number, deadline), ETIMEDOUT);
  CHECK(mltp_now() >= deadline);
  CHECK_EQUAL(mltp_channel_recv_timed(p0, &number, 0), ETIMEDOUT);
  return NULL;
}

static void timed_calls_time_out_and_not_early(void) {
  for (int kind = 0; kind < MIXED; kind++) {
    check_case("%s", kind_names[kind]);
    mltp_channel_t *channel = new_channel(1, sizeof(int), NULL);
    workers_run(1, (enum kind)kind, time_out, channel);
    CHECK_EQUAL(mltp_channel_destroy(channel), 0);
  }
}

/* ---------------------------------------------------------------- behaviour */

static void a_buffer_is_first_in_first_out(void) {
  mltp_channel_t *channel = new_channel(3, sizeof(int), "three");
  int in = 0, out = 0, more;
  CHECK_EQUAL(mltp_channel_capacity(channel), 3);
  CHECK_EQUAL(mltp_channel_recv_try(channel, &more), EAGAIN);
  for (int round = 0; round < 5; round++) { /* round and round the ring */
    while (mltp_channel_send_try(channel, &in) == 0) in++;
    CHECK_EQUAL(mltp_channel_length(channel), 3);
    for (int i = 0; i < 2; i++, out++) {
      CHECK_EQUAL(mltp_channel_recv(channel, &more), 0);
      CHECK_EQUAL(more, out);
    }
  }
  CHECK_EQUAL(in, out + 1);
  CHECK_EQUAL(mltp_channel_destroy(channel), 0); /* with an element in it */
}

static void elements_may_be_large_or_nothing(void) {
  char large[5000], other[5000] = "";
  memset(large, 'x', sizeof large);
  mltp_channel_t *channel = new_channel(2, sizeof large, NULL);
  CHECK_EQUAL(mltp_channel_send(channel, large), 0);
  CHECK_EQUAL(mltp_channel_recv(channel, other), 0);
  CHECK_EQUAL(memcmp(large, other, sizeof large), 0);
  CHECK_EQUAL(mltp_channel_destroy(channel), 0);
  channel = new_channel(1, 0, NULL);
  CHECK_EQUAL(mltp_channel_send(channel, NULL), 0);
  CHECK_EQUAL(mltp_channel_send_try(channel, NULL), EAGAIN);
  CHECK_EQUAL(mltp_channel_recv(channel, NULL), 0);
  CHECK_EQUAL(mltp_channel_destroy(channel), 0);
  CHECK(new_channel(SIZE_MAX / 2, 4, NULL) == NULL);
  CHECK(new_channel(1, SIZE_MAX, NULL) == NULL);
}

struct order {
  mltp_channel_t *channel;
  char got[8];
};

static void *append_what_comes(void *p0) {
  struct order *order = p0;
  char c[2] = "";
  mltp_channel_recv(order->channel, c);
  strcat(order->got, mltp_name(mltp_self()));
  strcat(order->got, c);
  return NULL;
}

static void *send_own_name(void *p0) {
  struct order *order = p0;
  mltp_channel_send(order->channel, mltp_name(mltp_self()));
  return NULL;
}

static void start_in_order(mltp_t *threads[3], mltp_userf_t *func, struct order *order) {
  static const char *const names[] = {"A", "B", "C"};
  for (int i = 0; i < 3; i++) {
    mltp_attr_t attr = MLTP_ATTR_INIT;
    attr.name = names[i];
    CHECK_EQUAL(mltp_create(&threads[i], &attr, func, order), 0);
    mltp_yield(); /* on one VP: it waits now */
  }
}

static void waiting_receivers_are_served_in_order(void) {
  struct order order = {.channel = new_channel(3, 1, NULL)};
  mltp_t *threads[3];
  start_in_order(threads, append_what_comes, &order);
  for (const char *c = "xyz"; *c != '\0'; c++) CHECK_EQUAL(mltp_channel_send(order.channel, c), 0);
  CHECK_EQUAL(mltp_channel_length(order.channel), 0); /* handed over, before they run */
  for (int i = 0; i < 3; i++) mltp_join(threads[i], NULL);
  CHECK_TEXT(order.got, "AxByCz");
  CHECK_EQUAL(mltp_channel_destroy(order.channel), 0);
}

static void waiting_senders_are_served_in_order(void) {
  for (size_t capacity = 0; capacity < 3; capacity++) {
    check_case("capacity %zu", capacity);
    struct order order = {.channel = new_channel(capacity, 1, NULL)};
    mltp_t *threads[3];
    start_in_order(threads, send_own_name, &order);
    for (int i = 0; i < 3; i++) CHECK_EQUAL(mltp_channel_recv_try(order.channel, &order.got[i]), 0);
    CHECK_TEXT(order.got, "ABC");
    for (int i = 0; i < 3; i++) mltp_join(threads[i], NULL);
    CHECK_EQUAL(mltp_channel_destroy(order.channel), 0);
  }
}

/* ------------------------------------------------------------------ closing */

static void closed_channels_are_drained(void) {
  mltp_channel_t *channel = new_channel(2, sizeof(int), NULL);
  int number = 5, got = 0;
  CHECK_EQUAL(mltp_channel_send(channel, &number), 0);
  CHECK_EQUAL(mltp_channel_close(channel), 0);
  CHECK_EQUAL(mltp_channel_close(channel), EALREADY);
  CHECK_EQUAL(mltp_channel_send(channel, &number), EPIPE);
  CHECK_EQUAL(mltp_channel_send_try(channel, &number), EPIPE);
  CHECK_EQUAL(mltp_channel_recv(channel, &got), 0);
  CHECK_EQUAL(got, 5);
  got = 7;
  CHECK_EQUAL(mltp_channel_recv(channel, &got), EPIPE);
  CHECK_EQUAL(mltp_channel_recv_try(channel, &got), EPIPE);
  CHECK_EQUAL(mltp_channel_recv_timed(channel, &got, 0), EPIPE);
  CHECK_EQUAL(got, 7);
  CHECK_EQUAL(mltp_channel_destroy(channel), 0);
}

struct closing {
  mltp_channel_t *channel;
  mltp_op_t op;
  atomic_int coming;
};

static void *wait_for_the_end(void *p0) {
  struct closing *closing = p0;
  int number = 1;
  atomic_fetch_add(&closing->coming, 1);
  CHECK_EQUAL(closing->op == MLTP_SEND ? mltp_channel_send(closing->channel, &number)
                                       : mltp_channel_recv(closing->channel, &number),
              EPIPE);
  return NULL;
}

static void closing_wakes_all_waiters(void) {
  enum { WAITERS = 6 };
  for (int kind = 0; kind < KINDS; kind++) {
    for (int op = MLTP_SEND; op <= MLTP_RECV; op++) {
      check_case("%s, %s", kind_names[kind], op == MLTP_SEND ? "send" : "receive");
      struct worker workers[WAITERS];
      struct closing closing = {new_channel(0, sizeof(int), NULL), (mltp_op_t)op, 0};
      for (int i = 0; i < WAITERS; i++)
        worker_start(&workers[i], kind == MIXED ? (enum kind)(i % MIXED) : (enum kind)kind,
                     wait_for_the_end, &closing);
      while (atomic_load(&closing.coming) < WAITERS) mltp_yield();
      for (int i = 0; i < 10; i++) mltp_yield(); /* most of them wait by now */
      CHECK_EQUAL(mltp_channel_close(closing.channel), 0);
      for (int i = 0; i < WAITERS; i++) worker_join(&workers[i]);
      CHECK_EQUAL(mltp_channel_destroy(closing.channel), 0);
    }
  }
}

/* The receiver of the last word may free the channel at once. */
static void *send_the_last_word(void *p0) {
  int number = 1;
  CHECK_EQUAL(mltp_channel_send(p0, &number), 0);
  return NULL;
}

static void the_last_receiver_frees(void) {
  for (int i = 0; i < scaled(200); i++) {
    struct worker worker;
    int number = 0;
    mltp_channel_t *channel = new_channel((size_t)(i % 2), sizeof(int), NULL);
    worker_start(&worker, (enum kind)(i % MIXED), send_the_last_word, channel);
    CHECK_EQUAL(mltp_channel_recv(channel, &number), 0);
    CHECK_EQUAL(mltp_channel_destroy(channel), 0);
    worker_join(&worker);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(channels_lose_nothing_and_keep_order),
      TEST(timed_calls_race_with_each_other),
      TEST(timed_calls_time_out_and_not_early),
      TEST(a_buffer_is_first_in_first_out),
      TEST(elements_may_be_large_or_nothing),
      TEST_ONE_VP(waiting_receivers_are_served_in_order),
      TEST_ONE_VP(waiting_senders_are_served_in_order),
      TEST(closed_channels_are_drained),
      TEST(closing_wakes_all_waiters),
      TEST(the_last_receiver_frees),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
