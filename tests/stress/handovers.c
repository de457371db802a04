/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that block in the kernel without an announcement, for MLTP_STRESS_SECONDS (1): tokens go
 * round through pipes, which are read by blocking calls, and semaphores. No token is lost, and none
 * changes. How late sleepers ran meanwhile is printed, and for how long VPs had been silent when
 * they were handed over. A hundred thousand hand-overs take a minute or two:
 * MLTP_STRESS_HANDOVERS=100000 MLTP_VPS=2 build/tests/stress/handovers */
#define _GNU_SOURCE /* the runtime's headers want it */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/life/end.h"
#include "core/vp/vp.h"
#include "support/support.h"

enum { STATIONS = 48, HOLD_NS = 25000000 };

static struct station {
  int ends[2];
  mltp_sem_t full, empty; /* the place for one token */
  unsigned token;
} stations[STATIONS];

static uint64_t end, least; /* the time, and the hand-overs before it ends */
static atomic_long moves;

/* How late sleepers ran while others blocked VPs: lateness[n] counts those below 2^n us. */
static atomic_long lateness[32];

static void sleep_and_note(void) {
  uint64_t due = mltp_after(HOLD_NS);
  mltp_sleep(HOLD_NS);
  uint64_t now = mltp_now(), us = now > due ? (now - due) / 1000 : 0;
  int n = 0;
  while (n < 31 && us >> n != 0) n++;
  atomic_fetch_add(&lateness[n], 1);
}

static void print_lateness(void) {
  for (int n = 0; n < 32; n++) {
    long count = atomic_load(&lateness[n]);
    if (count > 0) print_message("late by less than %lu us: %ld\n", 1UL << n, count);
  }
}

/* Relaxed: the monitor's counters. */
static uint64_t handovers(void) { return mt_load_relaxed(&mt_rt.handover.count); }

static void print_handovers(void) {
  print_message("%lu hand-overs\n", handovers());
  for (int n = 0; n < MT_HANDOVER_TIMES; n++) {
    uint64_t count = mt_load_relaxed(&mt_rt.handover.after[n]);
    if (count > 0) print_message("handed over below %lu ms: %lu\n", 1UL << n, count);
  }
}

static uint64_t setting(const char *name, uint64_t otherwise) {
  const char *text = getenv(name);
  return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

/* Reads tokens of this station's pipe and leaves each for the sender. 0: the last one. */
static void *take_in(void *p0) {
  struct station *station = p0;
  unsigned token, before = 0;
  do {
    CHECK_EQUAL(read(station->ends[0], &token, sizeof token), sizeof token);
    CHECK(token == 0 || before == 0 || token == before || token == before + STATIONS);
    before = token;
    mltp_sem_wait(&station->empty);
    station->token = token;
    mltp_sem_post(&station->full);
    mltp_yield(); /* gives the place back, so that the next read is caught anew */
  } while (token != 0);
  return NULL;
}

static bool is_over(void) { return mltp_now() >= end && handovers() >= least; }

/* Keeps each for longer than a VP may be silent, and sends it on: once 0, at the end. */
static void *pass_on(void *p0) {
  struct station *station = p0;
  const struct station *next = &stations[(station - stations + 1) % STATIONS];
  unsigned token;
  bool last = false;
  do {
    mltp_sem_wait(&station->full);
    token = station->token;
    mltp_sem_post(&station->empty);
    if (token != 0) sleep_and_note();
    unsigned sent = token != 0 && !is_over() ? token + 1 : 0;
    if (!last) CHECK_EQUAL(write(next->ends[1], &sent, sizeof sent), sizeof sent);
    last |= sent == 0;
    atomic_fetch_add(&moves, 1);
  } while (token != 0);
  return NULL;
}

static void tokens_are_not_lost(void) {
  mltp_t *threads[2 * STATIONS];
  if (seeded()) return; /* there is one VP, and none to take its place */
  end = mltp_after(setting("MLTP_STRESS_SECONDS", 1) * 1000000000);
  least = setting("MLTP_STRESS_HANDOVERS", 0);
  for (unsigned i = 0; i < STATIONS; i++) {
    unsigned token = i + 1;
    CHECK_EQUAL(pipe(stations[i].ends), 0);
    mltp_sem_init(&stations[i].full, 0, "full");
    mltp_sem_init(&stations[i].empty, 1, "empty");
    CHECK_EQUAL(write(stations[i].ends[1], &token, sizeof token), sizeof token);
  }
  for (int i = 0; i < STATIONS; i++) {
    threads[2 * i] = spawn(take_in, &stations[i]);
    threads[2 * i + 1] = spawn(pass_on, &stations[i]);
  }
  for (int i = 0; i < 2 * STATIONS; i++) mltp_join(threads[i], NULL);
  print_message("%ld tokens read by calls that block\n", atomic_load(&moves));
  print_lateness();
  print_handovers();
}

int main(void) {
  const struct CMUnitTest tests[] = {TEST(tokens_are_not_lost)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
