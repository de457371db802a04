/* SPDX-License-Identifier: Apache-2.0 */
/** @file growth_rows.c What growth_rows.h says, one function for each row. */
#include "growth_rows.h"

#include <errno.h>
#include <fcntl.h>
#include <mltp/mltp.h>
#include <mltp/sim.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

static int n;
static mltp_t **threads;

static void start(void *(*body)(void *)) {
  threads = calloc((size_t)n, sizeof *threads);
  for (int i = 0; i < n; i++)
    if (mltp_create(&threads[i], NULL, body, (void *)(intptr_t)i) != 0) abort();
}

static void join_all(void) {
  for (int i = 0; i < n; i++) mltp_join(threads[i], NULL);
}

/* ---- threads */

static uint32_t *words, word;

static void *await_own(void *arg) {
  mltp_await(&words[(intptr_t)arg], 1, NULL);
  return NULL;
}

static void await_words(void) {
  words = calloc((size_t)n, sizeof *words);
  start(await_own);
  mltp_yield();
  for (int i = 0; i < n; i++) mltp_await_store(&words[i], 1);
  join_all();
}

static void *await_turn(void *arg) {
  uint32_t turn = (uint32_t)(intptr_t)arg + 1;
  mltp_await(&word, turn, NULL);
  mltp_await_store(&word, turn + 1);
  return NULL;
}

static void await_values(void) {
  start(await_turn);
  mltp_yield();
  mltp_await_store(&word, 1);
  join_all();
}

static mltp_rwlock_t rwlock = MLTP_RWLOCK_INIT;

static void *read_or_give_up(void *arg) {
  (void)arg;
  if (mltp_rwlock_rdlock_timed(&rwlock, MLTP_NEVER) == 0) abort();
  return NULL;
}

static void *write_once(void *arg) {
  (void)arg;
  mltp_rwlock_wrlock(&rwlock);
  mltp_rwlock_unlock(&rwlock);
  return NULL;
}

static void cancel_all(void) {
  for (int i = 0; i < n; i++) {
    mltp_cancel(threads[i]);
    mltp_join(threads[i], NULL);
  }
}

/* A writer waits as well, so readers that give up leave the others waiting. */
static void rwlock_give_up(void) {
  mltp_t *writer;
  mltp_rwlock_rdlock(&rwlock);
  mltp_create(&writer, NULL, write_once, NULL);
  start(read_or_give_up);
  mltp_yield();
  cancel_all();
  mltp_rwlock_unlock(&rwlock);
  mltp_join(writer, NULL);
}

/* In an order that is far from theirs. */
static void *sleep_long(void *arg) {
  uint32_t scattered = (uint32_t)(intptr_t)arg * 2654435761u;
  mltp_sleep(3600000000000u + scattered);
  return NULL;
}

static void timers(void) {
  start(sleep_long);
  mltp_yield();
  cancel_all();
}

static uint64_t due_at;

static void *sleep_till_due(void *arg) {
  mltp_sleep_until(due_at);
  return arg;
}

/* All become due at the same moment, after the last one has gone to sleep. */
static void due_timers(void) {
  due_at = mltp_now() + 20000000 + (uint64_t)n * 4000;
  start(sleep_till_due);
  join_all();
}

/* Halves a number of leaves, one half in a thread of its own. */
static void *split(void *arg) {
  intptr_t leaves = (intptr_t)arg;
  mltp_t *half;
  if (leaves < 2) return NULL;
  if (mltp_create(&half, NULL, split, (void *)(leaves / 2)) != 0) abort();
  split((void *)(leaves - leaves / 2));
  mltp_join(half, NULL);
  return NULL;
}

static void fork_join(void) { split((void *)(intptr_t)n); }

static void *send_one(void *channel) {
  int value = 1;
  mltp_channel_send(channel, &value);
  return NULL;
}

/* One select over all channels, in the order in which they were made; the last one gets a value. */
static void select_channels(void) {
  int value = 0;
  size_t chosen = 0;
  mltp_t *sender;
  mltp_channel_t **channels = calloc((size_t)n, sizeof *channels);
  mltp_case_t *cases = calloc((size_t)n, sizeof *cases);
  for (int i = 0; i < n; i++) {
    if (mltp_channel_create(&channels[i], 0, sizeof value, NULL) != 0) abort();
    cases[i] = (mltp_case_t)MLTP_CASE_RECV(channels[i], &value);
  }
  mltp_create(&sender, NULL, send_one, channels[n - 1]);
  if (mltp_select(cases, (size_t)n, &chosen) != 0 || chosen + 1 != (size_t)n) abort();
  mltp_join(sender, NULL);
  for (int i = 0; i < n; i++) mltp_channel_destroy(channels[i]);
  free(channels);
  free(cases);
}

static mltp_tss_t last_key;

static void *set_last_key(void *arg) {
  if (mltp_tss_set(last_key, &last_key) != 0) abort();
  return arg;
}

/* Each thread sets one value, that of the key with the highest number. */
static void thread_specific(void) {
  static mltp_tss_t keys[MLTP_TSS_MAX];
  for (int i = 0; i < MLTP_TSS_MAX; i++)
    if (mltp_tss_create(&keys[i], NULL) != 0) abort();
  last_key = keys[MLTP_TSS_MAX - 1];
  start(set_last_key);
  join_all();
  for (int i = 0; i < MLTP_TSS_MAX; i++) mltp_tss_delete(keys[i]);
}

static mltp_lock_t turns;

static void *take_turn(void *arg) {
  mltp_lock(&turns);
  mltp_yield();
  mltp_unlock(&turns);
  return arg;
}

/* The holder gives way, so all others wait for it. */
static void semaphore_lock(void) {
  mltp_lock_init(&turns, MLTP_LOCK_SEMAPHORE, NULL);
  start(take_turn);
  join_all();
  mltp_lock_destroy(&turns);
}

static mltp_latch_t all_began, all_may_end;

static void *begin_and_wait(void *arg) {
  mltp_latch_count_down(&all_began, 1);
  mltp_latch_wait(&all_may_end);
  return arg;
}

/* Threads that are alive together, twice: the second time on stacks without memory. */
static void peaks(void) {
  for (int wave = 0; wave < 2; wave++) {
    mltp_latch_init(&all_began, (unsigned)n, NULL);
    mltp_latch_init(&all_may_end, 1, NULL);
    start(begin_and_wait);
    mltp_latch_wait(&all_began);
    mltp_latch_count_down(&all_may_end, 1);
    join_all();
    free(threads);
    threads = NULL;
    mltp_trim();
  }
}

/* Objects that are made and destroyed after VPs were made: one for 32 objects. */
static void destroy(void) {
  enum { OBJECTS = 32, VPS_MOST = 1000 };
  const int vps = n / OBJECTS < VPS_MOST ? n / OBJECTS : VPS_MOST;
  if (mltp_set_vps(vps > 0 ? vps : 1) != 0) abort();
  for (int i = 0; i < n; i++) {
    mltp_cond_t cond = MLTP_COND_INIT;
    mltp_cond_destroy(&cond);
  }
}

/* Threads that wait, in one dump. */
static void dump(void) {
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  mltp_latch_init(&all_began, (unsigned)n, NULL);
  mltp_latch_init(&all_may_end, 1, NULL);
  start(begin_and_wait);
  mltp_latch_wait(&all_began);
  mltp_dump(nowhere);
  close(nowhere);
  mltp_latch_count_down(&all_may_end, 1);
  join_all();
}

/* ---- simulation */

static mltp_sim_event_t *events;

static void wait_long(void *arg) {
  (void)arg;
  mltp_sim_waitfor(1000000);
}

static void nothing(void *arg) { (void)arg; }

static void try_one(void *arg) {
  const mltp_sim_child_t body = {wait_long, NULL, "body"};
  const mltp_sim_handler_t handler = {&events[(intptr_t)arg], 0, nothing, NULL};
  mltp_sim_try(&body, &handler, 1);
}

static void trap_all(void *arg) {
  (void)arg;
  for (int i = 0; i < n; i++) {
    mltp_sim_waitfor(1);
    mltp_sim_notify(&events[i]);
  }
}

static void traps(void *arg) {
  mltp_sim_child_t *children = calloc((size_t)n + 1, sizeof *children);
  events = calloc((size_t)n, sizeof *events);
  children[n] = (mltp_sim_child_t){trap_all, arg, "trap"};
  for (int i = 0; i < n; i++) {
    events[i] = (mltp_sim_event_t)MLTP_SIM_EVENT_INIT("stop");
    children[i] = (mltp_sim_child_t){try_one, (void *)(intptr_t)i, "try"};
  }
  mltp_sim_par(children, (size_t)n + 1);
  free(children);
  free(events);
}

static mltp_sim_event_t never = MLTP_SIM_EVENT_INIT("never");

static void tries(void *arg) {
  if ((intptr_t)arg == n) return;
  const mltp_sim_child_t body = {tries, (void *)((intptr_t)arg + 1), "inner"};
  const mltp_sim_handler_t handler = {&never, 0, nothing, NULL};
  mltp_sim_try(&body, &handler, 1);
}

static void parents(void *arg) {
  if ((intptr_t)arg == n) return;
  const mltp_sim_child_t child = {parents, (void *)((intptr_t)arg + 1), "inner"};
  mltp_sim_par(&child, 1);
}

/* ---- the rows */

static const struct row {
  const char *name;
  void (*run)(void);
  void (*model)(void *arg);
} rows[] = {
    {"fork-join", fork_join, NULL},
    {"await-words", await_words, NULL},
    {"await-values", await_values, NULL},
    {"rwlock-give-up", rwlock_give_up, NULL},
    {"timers", timers, NULL},
    {"due-timers", due_timers, NULL},
    {"select", select_channels, NULL},
    {"thread-specific", thread_specific, NULL},
    {"semaphore-lock", semaphore_lock, NULL},
    {"peaks", peaks, NULL},
    {"destroy", destroy, NULL},
    {"dump", dump, NULL},
    {"traps", NULL, traps},
    {"nested-tries", NULL, tries},
    {"nested-parents", NULL, parents},
};

enum { ROWS = sizeof rows / sizeof *rows };

const char *bench_growth_name(int row) { return row < ROWS ? rows[row].name : NULL; }

int bench_growth_run(int row, int size) {
  int error = 0;
  if (row >= ROWS || size < 1) return EINVAL;
  n = size;
  if (rows[row].run != NULL)
    rows[row].run();
  else
    error = mltp_sim_run(rows[row].model, NULL);
  free(threads);
  free(words);
  threads = NULL;
  words = NULL;
  return error;
}
