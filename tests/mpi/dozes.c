/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks that test or probe again and again, and should doze in between, step by step
 * (src/tmpi/match/complete.c, mailbox_probe.c): what ends a doze, and what it leaves behind. The
 * transport, locks and threads are the test's own.
 */
#include "traced_calls.h"

#include <mltp/mltp.h>
#include <stdlib.h>

#include "internal_locks.h"
#include "tmpi/mailbox/request_pool.h"
#include "tmpi/match/drop.h"
#include "tmpi/match/far.h"
#include "tmpi/match/intake.h"
#include "tmpi/match/match.h"
#include "tmpi/match/meet.h"
#include "tmpi/match/rank_wait.h"

enum { REQUESTS = 3, NOW = 5000, DOZE_NS = 700 };

void (*tm_match_hook)(const struct tm_request *recv, const struct tm_envelope *envelope,
                      const struct tm_type *type, size_t count);
struct tm_job tm_job;
static struct tm_rank rank;
static struct tm_intake ring;
static struct tm_request requests[REQUESTS];
static struct tm_request *set[REQUESTS] = {&requests[0], NULL, &requests[2]};
static bool wanted;          /* the rank should doze */
static void (*asleep)(void); /* called in a doze */

/* ---- the rest of the library */

static uint64_t test(void) {
  note("test");
  return wanted ? DOZE_NS : 0;
}

static void hurry(void) { note("hurry"); }

static const struct tm_transport transport = {.test = test, .hurry = hurry};

struct tm_rank *tm_rank_self(void) { return &rank; }
uint64_t mltp_now(void) { return NOW; }

void mltp_yield(void) { note("yield"); }

int mltp_await_timed(const uint32_t *word, uint32_t value, const mltp_t *waker, uint64_t deadline) {
  assert_int_equal(locked, 0);
  assert_int_equal(ring.shut, 1); /* nobody would wake it for what is in the ring */
  assert_true(value == 0 && waker == NULL && deadline == NOW + DOZE_NS);
  note("doze");
  if (*word != 0 && asleep != NULL) asleep();
  note(*word == 0 ? "end" : "late");
  return 0;
}

void mltp_await_store(uint32_t *word, uint32_t value) {
  assert_int_equal(rank.box.ilock, 1); /* the waiter cannot be gone */
  *word = value;
  note("wake");
}

bool tm_user_code_lend_slow(struct tm_rank *lender) {
  assert_ptr_equal(lender, &rank);
  note("lend");
  return true;
}

void tm_user_code_take(struct tm_rank *lender) {
  assert_ptr_equal(lender, &rank);
  note("take");
}

void mti_preempt(const char *call) { assert_non_null(call); }

/* ---- what does not happen here */

mltp_t *mltp_self(void) { abort(); }
int mltp_vp(void) { abort(); }
bool mti_is_only_ready(void) { abort(); }
bool mti_runs_elsewhere(const struct mltp_thread *t) { return t != NULL; }
struct mltp_thread *mti_self(const char *call) { return call != NULL ? NULL : (mltp_t *)&rank; }
void mti_park_unlock(uint32_t *lock, const char *text) { fail_msg("%p %s", (void *)lock, text); }
void mti_resume_on(struct mltp_thread *t, int vp, uint32_t *ticks) {
  fail_msg("%p %d %p", (void *)t, vp, (void *)ticks);
}
bool tm_spin(bool (*ended)(const void *), const void *what, const struct tm_rank *waker) {
  return ended(waker != NULL ? waker : what);
}
void tm_comm_release(struct tm_comm *comm) { fail_msg("%p", (void *)comm); }
void tm_type_release(struct tm_type *type) { fail_msg("%p", (void *)type); }
void tm_deferred_release(struct tm_rank *released) { fail_msg("%p", (void *)released); }
void tm_deferred_remove(struct tm_mailbox *box, struct tm_message *m) {
  fail_msg("%p %p", (void *)box, (void *)m);
}
void tm_intake_move(struct tm_rank *to) { fail_msg("%p", (void *)to); }
void tm_intake_lock_and_move(struct tm_rank *to) { fail_msg("%p", (void *)to); }
void tm_buffer_return(struct tm_buffer *buffer, size_t bytes) {
  fail_msg("%p %zu", (void *)buffer, bytes);
}
void tm_far_cancel(struct tm_request *request) { fail_msg("%p", (void *)request); }
void tm_panic(const char *format, ...) {
  (void)format;
  abort();
}
struct tm_request_cache tm_request_caches[TM_REQUEST_CACHES];
void tm_request_free_slow(struct tm_request_cache *cache, struct tm_request *request) {
  fail_msg("%p %p", (void *)cache, (void *)request);
}

/* ---- requests */

static int start(void **state) {
  (void)state;
  memset(&rank, 0, sizeof rank);
  memset(&ring, 0, sizeof ring);
  memset(requests, 0, sizeof requests);
  rank.intake = &ring;
  tm_job.far = &transport;
  tm_job.past_mailboxes = true;
  for (int i = 0; i < REQUESTS; i++) requests[i].owner = &rank;
  wanted = true;
  asleep = NULL;
  return 0;
}

/* Nothing of a doze is left. */
static int end(void **state) {
  (void)state;
  assert_int_equal(ring.shut, 0);
  assert_int_equal(locked, 0);
  assert_null(rank.box.probers);
  return 0;
}

static void check_waiters(struct tm_waiter *waiter) {
  for (int i = 0; i < REQUESTS; i++) assert_ptr_equal(requests[i].waiter, waiter);
}

static void complete_last(void) { tm_request_complete(&requests[2]); }

static void complete_both(void) {
  tm_request_complete(&requests[0]);
  tm_request_complete(&requests[2]);
}

static void a_rank_that_need_not_doze_yields(void **state) {
  (void)state;
  wanted = false;
  tm_requests_poll(set, REQUESTS);
  assert_false(tm_request_poll(&requests[0]));
  check_trace("test yield test yield ");
  wanted = true;
  requests[0].done = 1;
  assert_true(tm_request_poll(&requests[0]));
  check_trace("");
}

static void a_doze_ends_when_a_request_is_complete(void **state) {
  (void)state;
  asleep = complete_last;
  tm_requests_poll(set, REQUESTS);
  check_trace("test yield hurry doze wake end ");
  check_waiters(NULL);
  assert_int_equal(requests[2].done, 1);
  tm_requests_poll(set, REQUESTS); /* there is one */
  check_trace("test yield hurry ");
  requests[2].done = 0;
  asleep = complete_both;
  tm_requests_poll(set, REQUESTS);
  check_trace("test yield hurry doze wake wake end ");
  check_waiters(NULL);
  requests[2].done = 0;
  asleep = complete_last;
  assert_true(tm_request_poll(&requests[2]));
  check_trace("test yield hurry doze wake end ");
  requests[2].done = 0;
  asleep = NULL;
  assert_false(tm_request_poll(&requests[2])); /* none is, in time */
  check_trace("test yield hurry doze late ");
  check_waiters(NULL);
}

static void threads_of_the_program_call_its_functions_meanwhile(void **state) {
  (void)state;
  rank.attention = 2;
  asleep = complete_last;
  assert_true(tm_request_poll(&requests[2]));
  check_trace("lend test yield take hurry lend doze wake end take ");
}

static struct tm_waiter another = {.missing = 1};

static void come_and_wait(void) { requests[0].waiter = &another; }

/* MPI_Wait() and MPI_Request_get_status() of two threads. */
static void a_thread_that_waits_comes_first(void **state) {
  (void)state;
  requests[0].waiter = &another;
  assert_false(tm_request_poll(&requests[0]));
  check_trace("test yield hurry doze late ");
  assert_ptr_equal(requests[0].waiter, &another);
  requests[0].waiter = NULL;
  asleep = come_and_wait;
  assert_false(tm_request_poll(&requests[0]));
  check_trace("test yield hurry doze late ");
  assert_ptr_equal(requests[0].waiter, &another);
}

/* ---- probes */

static struct tm_message message;
static struct tm_waiter other_prober;
static bool fits;

static void leave_message(void) {
  message.entry.entry.envelope = (struct tm_envelope){4, 1, fits ? 2 : 3};
  mti_lock(&rank.box.ilock);
  tm_leave(&rank.box, &message);
  mti_unlock(&rank.box.ilock);
}

static void probe_as_well(void) {
  other_prober = (struct tm_waiter){.next = rank.box.probers, .missing = 1};
  rank.box.probers = &other_prober;
}

static bool probe(uint64_t wait_ns) {
  struct tm_request request = {.owner = &rank, .entry.envelope = {4, 1, 2}};
  struct tm_envelope found;
  struct tm_message *taken;
  size_t bytes = 0;
  bool is_there = tm_mailbox_probe(&request, false, wait_ns, "MPI_Iprobe", &found, &bytes, &taken);
  if (is_there) assert_true(found.tag == 2 && bytes == message.bytes);
  return is_there;
}

static void a_doze_ends_when_a_message_comes(void **state) {
  (void)state;
  message.bytes = 7;
  assert_false(probe(0));
  check_trace("");
  assert_false(probe(DOZE_NS)); /* none comes */
  check_trace("hurry doze late ");
  assert_null(rank.box.probers);
  asleep = leave_message;
  assert_false(probe(DOZE_NS)); /* another one */
  check_trace("hurry doze wake end ");
  tm_queue_remove_message(&rank.box.arrived, &message.entry);
  fits = true;
  assert_true(probe(DOZE_NS));
  check_trace("hurry doze wake end ");
  assert_true(probe(DOZE_NS)); /* it is there */
  check_trace("hurry ");
  tm_queue_remove_message(&rank.box.arrived, &message.entry);
}

static void threads_that_probe_beside_a_doze_stay(void **state) {
  (void)state;
  asleep = probe_as_well;
  assert_false(probe(DOZE_NS));
  check_trace("hurry doze late ");
  assert_ptr_equal(rank.box.probers, &other_prober);
  assert_null(other_prober.next);
  asleep = leave_message;
  assert_true(probe(DOZE_NS));
  check_trace("hurry doze wake end ");
  assert_int_equal(other_prober.missing, 0);
  tm_queue_remove_message(&rank.box.arrived, &message.entry);
}

int main(void) {
#define PART(part) cmocka_unit_test_setup_teardown(part, start, end)
  const struct CMUnitTest tests[] = {
      PART(a_rank_that_need_not_doze_yields),
      PART(a_doze_ends_when_a_request_is_complete),
      PART(threads_of_the_program_call_its_functions_meanwhile),
      PART(a_thread_that_waits_comes_first),
      PART(a_doze_ends_when_a_message_comes),
      PART(threads_that_probe_beside_a_doze_stay),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
