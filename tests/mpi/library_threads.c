/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of the library that end a program's request: of MPI_Isendrecv() and its variant
 * (src/tmpi/p2p/isendrecv.c), and of MPI_Buffer_iflush() and its variants (src/tmpi/p2p/buffer.c).
 * The messages, the buffers' accounts and the core are this test, which runs a thread when it
 * likes.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <mltp/mltp.h>

#include "counted_blocks.h"
#include "internal_locks.h"
#include "tmpi/error/errors.h"
#include "tmpi/layout/predefined.h"
#include "tmpi/mailbox/request_pool.h"
#include "tmpi/object/session.h"
#include "tmpi/p2p/buffer.h"
#include "tmpi/request/request.h"
#include "traced_calls.h"

enum { RANK = 3, SOURCE = 5, TAG = 6, BYTES = 44, PACKED = 12, SIZE = 100 };

struct tm_type tm_predefined[TM_PREDEFINED_COUNT];
struct tm_request_cache tm_request_caches[TM_REQUEST_CACHES];
static struct tm_rank rank;
static struct tm_comm comm, self;
static struct tm_session session;
static int held;          /* requests that hold what they use */
static int comm_refs;     /* of both communicators */
static bool recv_is_done; /* when it has been started; the send, too */
static bool send_is_done;
static int fails_to_fill = -1; /* a kind */
static bool makes_no_thread, cannot_enter;
static mltp_userf_t *thread; /* that was made; NULL: none */
static void *argument;
static enum { NO_SEMAPHORE, MADE, POSTED, TAKEN } sem;
static const void *sent; /* the buffer of the send */
static jmp_buf panic;

/* ---- the rest of the library */

int mltp_create(mltp_t **made, const mltp_attr_t *attr, mltp_userf_t *function, void *arg) {
  assert_true(made == NULL && attr->detached && strncmp(attr->name, "MPI_", 4) == 0);
  note("thread");
  if (makes_no_thread) return ENOMEM;
  thread = function;
  argument = arg;
  return 0;
}

int mltp_vp(void) { return -1; }

int mltp_sem_init(mltp_sem_t *made, unsigned value, const char *name) {
  assert_true(made != NULL && value == 0 && name != NULL);
  sem = MADE;
  return 0;
}

int mltp_sem_post(mltp_sem_t *posted) {
  assert_non_null(posted);
  assert_int_equal(sem, MADE);
  sem = POSTED;
  return 0;
}

int mltp_sem_wait(mltp_sem_t *wanted) {
  assert_non_null(wanted);
  assert_int_equal(sem, POSTED); /* the test runs the thread when it may run on */
  sem = TAKEN;
  return 0;
}

struct tm_rank *tm_enter(const char *call) { return call != NULL ? &rank : NULL; }
struct tm_rank *tm_rank_self(void) { return &rank; }
int tm_rank_number(void) { return RANK; }

int tm_rank_enter(int number) {
  assert_int_equal(number, RANK);
  note("enters");
  return cannot_enter ? ENOMEM : 0;
}

void tm_panic(const char *format, ...) {
  assert_true(cannot_enter && strstr(format, "no memory for a thread") != NULL);
  longjmp(panic, 1);
}

int tm_fail(struct tm_comm *on, const char *call, int code, const char *format, ...) {
  assert_true((on == NULL || on == &comm) && call != NULL && format != NULL);
  return code;
}

int tm_fail_code(struct tm_comm *on, const char *call, int code) {
  return tm_fail(on, call, code, "of the code");
}

int tm_get_comm(const char *call, MPI_Comm handle, struct tm_comm **found) {
  *found = &comm;
  return handle == (MPI_Comm)&comm ? MPI_SUCCESS : tm_fail(NULL, call, MPI_ERR_COMM, "wrong");
}

int tm_get_session(const char *call, MPI_Session handle, struct tm_session **found) {
  *found = &session;
  return handle == (MPI_Session)&session ? MPI_SUCCESS
                                         : tm_fail(NULL, call, MPI_ERR_SESSION, "wrong");
}

struct tm_comm *tm_comm_make_self(void) { return NULL; }

void tm_comm_hold(struct tm_comm *of) {
  assert_true(of == &comm || of == &self);
  comm_refs++;
}

void tm_comm_release(struct tm_comm *of) {
  assert_true(of == &comm || of == &self);
  comm_refs--;
}

struct tm_request *tm_request_new_of(enum tm_kind kind) {
  assert_int_equal(kind, TM_COLLECTIVE);
  return calloc(1, sizeof(struct tm_request));
}

void tm_request_free_slow(struct tm_request_cache *cache, struct tm_request *request) {
  assert_null(cache);
  free(request);
}

int tm_request_fill(struct tm_request *request, const struct tm_arguments *a, enum tm_kind kind,
                    enum tm_mode mode) {
  assert_true(mode == TM_STANDARD && a->comm == (MPI_Comm)&comm);
  if ((int)kind == fails_to_fill) return MPI_ERR_RANK;
  *request = (struct tm_request){.kind = (uint8_t)kind, .owner = &rank, .comm = &comm};
  if (kind == TM_SEND) sent = a->buffer;
  held++;
  return MPI_SUCCESS;
}

void tm_request_empty(struct tm_request *request) {
  assert_ptr_equal(request->comm, &comm);
  held--;
}

static void end(struct tm_request *request) {
  request->done = 1;
  if (request->kind != TM_RECV) return;
  request->source = SOURCE;
  request->tag = TAG;
  request->bytes = BYTES;
  request->error = MPI_ERR_TRUNCATE;
}

int tm_request_start(struct tm_request *request) {
  bool receives = request->kind == TM_RECV;
  assert_true(thread != NULL && sem == MADE);
  note(receives ? "receives" : "sends");
  if (receives ? recv_is_done : send_is_done) end(request);
  return MPI_SUCCESS;
}

bool tm_request_done_by_now(struct tm_request *request) { return request->done != 0; }

void tm_requests_wait(struct tm_request *const *requests, int count, int wanted, const char *call) {
  assert_string_equal(call, "MPI_Isendrecv");
  assert_true(count == 2 && wanted == 2);
  note("waits");
  for (int i = 0; i < 2; i++) end(requests[i]);
}

void tm_request_complete(struct tm_request *request) {
  assert_int_equal(held, 0);
  request->done = 1;
  note("complete");
}

int tm_pack_arguments(const struct tm_arguments *a, void **packed, size_t *bytes) {
  assert_non_null(a);
  *packed = malloc(PACKED);
  *bytes = PACKED;
  return *packed != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

void tm_buffer_hold(struct tm_buffer *buffer) {
  assert_int_equal(locked, 1); /* else it could be gone */
  buffer->refs++;
}

void tm_buffer_release(struct tm_buffer *buffer) {
  if (--buffer->refs == 0) free(buffer);
}

void tm_buffer_drain(struct tm_buffer *buffer, const char *call) {
  assert_true(buffer->refs >= 1 && locked == 0 && call != NULL);
  note("drains");
}

static int start(void **state) {
  (void)state;
  rank = (struct tm_rank){.self = &self};
  comm = (struct tm_comm){.owner = &rank};
  session = (struct tm_session){.refs = 1};
  recv_is_done = send_is_done = makes_no_thread = cannot_enter = memory_is_out = false;
  fails_to_fill = allocations_left = -1;
  held = comm_refs = blocks = 0;
  sem = NO_SEMAPHORE;
  thread = NULL;
  trace[0] = '\0';
  return 0;
}

/* Nothing is kept. */
static void check_nothing(void) { assert_true(held == 0 && comm_refs == 0 && blocks == 0); }

static void run_thread(void) { assert_null(thread(argument)); }

/* ---- a send and a receive */

static const struct tm_arguments to = {"MPI_Isendrecv", &sem, 1, MPI_INT, 1, TAG, (MPI_Comm)&comm},
                                 from = {"MPI_Isendrecv", &held, 1, MPI_INT, 2, TAG,
                                         (MPI_Comm)&comm};

static void check_received(struct tm_request *whole) {
  assert_true(whole->done == 1 && whole->owner == &rank && whole->comm == &comm);
  assert_true(whole->source == SOURCE && whole->tag == TAG && whole->bytes == BYTES);
  assert_int_equal(whole->error, MPI_ERR_TRUNCATE);
  tm_comm_release(whole->comm);
  tm_request_free(whole);
}

static void what_is_complete_at_once_needs_no_thread(void **state) {
  (void)state;
  MPI_Request request = MPI_REQUEST_NULL;
  recv_is_done = send_is_done = true;
  assert_int_equal(tm_call_iexchange(&to, &from, &request), MPI_SUCCESS);
  check_trace("thread receives sends complete ");
  assert_ptr_equal(sent, &sem);
  check_received((struct tm_request *)request);
  run_thread(); /* it frees what both were in */
  check_trace("enters ");
  assert_int_equal(sem, TAKEN);
  check_nothing();
}

static void a_thread_waits_for_both(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) { /* all but both */
    MPI_Request request = MPI_REQUEST_NULL;
    start(NULL);
    recv_is_done = i == 1;
    send_is_done = i == 2;
    assert_int_equal(tm_call_iexchange(&to, &from, &request), MPI_SUCCESS);
    check_trace("thread receives sends ");
    assert_int_equal(((struct tm_request *)request)->done, 0);
    run_thread();
    check_trace("enters waits complete ");
    assert_int_equal(sem, TAKEN);
    check_received((struct tm_request *)request);
    check_nothing();
  }
}

/* Its copy is sent, and stays until both are complete. */
static void what_is_replaced_is_sent_from_a_copy(void **state) {
  (void)state;
  MPI_Request request = MPI_REQUEST_NULL;
  assert_int_equal(tm_call_ireplace(&from, 1, TAG, &request), MPI_SUCCESS);
  check_trace("thread receives sends ");
  assert_ptr_not_equal(sent, from.buffer);
  assert_int_equal(blocks, 3); /* the pair, the request, the copy */
  run_thread();
  check_received((struct tm_request *)request);
  check_nothing();
}

static void without_memory_nothing_is_sent(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) {
    MPI_Request request = MPI_REQUEST_NULL;
    start(NULL);
    allocations_left = i;
    assert_int_equal(tm_call_ireplace(&from, 1, TAG, &request), MPI_ERR_NO_MEM);
    assert_true(request == MPI_REQUEST_NULL);
    check_trace("");
    check_nothing();
  }
  start(NULL);
  MPI_Request request = MPI_REQUEST_NULL;
  makes_no_thread = true;
  assert_int_equal(tm_call_ireplace(&from, 1, TAG, &request), MPI_ERR_NO_MEM);
  assert_true(request == MPI_REQUEST_NULL);
  check_trace("thread ");
  check_nothing();
}

static void wrong_arguments_keep_nothing(void **state) {
  (void)state;
  for (int kind = TM_SEND; kind <= TM_RECV; kind++) {
    MPI_Request request = MPI_REQUEST_NULL;
    fails_to_fill = kind;
    assert_int_equal(tm_call_ireplace(&from, 1, TAG, &request), MPI_ERR_RANK);
    assert_true(request == MPI_REQUEST_NULL);
    check_trace("");
    check_nothing();
  }
}

static void a_thread_of_no_rank_ends_the_job(void **state) {
  (void)state;
  MPI_Request request = MPI_REQUEST_NULL;
  cannot_enter = true;
  assert_int_equal(tm_call_iexchange(&to, &from, &request), MPI_SUCCESS);
  if (setjmp(panic) == 0) {
    run_thread();
    fail();
  }
  tm_request_free((struct tm_request *)request);
  free(argument); /* the pair */
}

/* ---- buffers */

static const struct tm_buffer_owner of_rank = {.kind = TM_BUFFER_OF_RANK},
                                    of_comm = {.kind = TM_BUFFER_OF_COMM, .comm = (MPI_Comm)&comm},
                                    of_session = {.kind = TM_BUFFER_OF_SESSION,
                                                  .session = (MPI_Session)&session};
static const struct tm_buffer_owner *const owners[] = {&of_rank, &of_comm, &of_session};
static const char call[] = "MPI_Buffer_attach";
static char room[SIZE];

static struct tm_buffer *buffer_of(int owner) {
  return owner == 0 ? rank.buffer : owner == 1 ? comm.buffer : session.buffer;
}

static void an_owner_has_one_buffer(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) {
    MPI_Count size = 0;
    void *address = NULL;
    assert_int_equal(tm_call_detach(call, *owners[i], &address, &size), MPI_ERR_BUFFER);
    assert_int_equal(tm_call_flush(call, *owners[i]), MPI_ERR_BUFFER);
    assert_int_equal(tm_call_attach(call, *owners[i], room, -1), MPI_ERR_ARG);
    memory_is_out = true;
    assert_int_equal(tm_call_attach(call, *owners[i], room, SIZE), MPI_ERR_NO_MEM);
    memory_is_out = false;
    assert_null(buffer_of(i));
    assert_int_equal(tm_call_attach(call, *owners[i], room, SIZE), MPI_SUCCESS);
    assert_int_equal(tm_call_attach(call, *owners[i], &size, 1), MPI_ERR_BUFFER);
    assert_true(buffer_of(i)->address == room && buffer_of(i)->size == SIZE);
    assert_int_equal(blocks, 1);
    check_trace("");
    assert_int_equal(tm_call_flush(call, *owners[i]), MPI_SUCCESS);
    check_trace("drains ");
    assert_int_equal(buffer_of(i)->refs, 1);
    assert_int_equal(tm_call_detach(call, *owners[i], &address, &size), MPI_SUCCESS);
    check_trace("drains ");
    assert_true(address == room && size == SIZE && buffer_of(i) == NULL);
    check_nothing();
  }
}

/* There is always room in it, and it has no bytes of the program's. */
static void an_automatic_buffer_has_no_size(void **state) {
  (void)state;
  MPI_Count size = 1;
  void *address = NULL;
  assert_int_equal(tm_call_attach(call, of_rank, MPI_BUFFER_AUTOMATIC, 0), MPI_SUCCESS);
  assert_true(rank.buffer->size == SIZE_MAX);
  assert_int_equal(tm_call_detach(call, of_rank, &address, &size), MPI_SUCCESS);
  assert_true(address == MPI_BUFFER_AUTOMATIC && size == 0);
  assert_int_equal(tm_call_attach(call, of_rank, room, 0), MPI_SUCCESS); /* an empty one */
  assert_true(rank.buffer->size == 0);
  assert_int_equal(tm_call_detach(call, of_rank, &address, &size), MPI_SUCCESS);
  check_nothing();
}

static void wrong_owners_are_refused(void **state) {
  (void)state;
  const struct tm_buffer_owner no_comm = {.kind = TM_BUFFER_OF_COMM},
                               no_session = {.kind = TM_BUFFER_OF_SESSION};
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Count size;
  void *address;
  assert_int_equal(tm_call_attach(call, no_comm, room, SIZE), MPI_ERR_COMM);
  assert_int_equal(tm_call_detach(call, no_comm, &address, &size), MPI_ERR_COMM);
  assert_int_equal(tm_call_flush(call, no_comm), MPI_ERR_COMM);
  assert_int_equal(tm_call_iflush(call, no_comm, &request), MPI_ERR_COMM);
  assert_int_equal(tm_call_attach(call, no_session, room, SIZE), MPI_ERR_SESSION);
  assert_int_equal(tm_call_iflush(call, no_session, &request), MPI_ERR_SESSION);
  assert_true(request == MPI_REQUEST_NULL);
  check_nothing();
}

/* For reports the request has a communicator, if there is one. */
static void a_thread_empties_the_buffer(void **state) {
  (void)state;
  for (int i = 0; i < 4; i++) {
    int owner = i % 3;
    struct tm_comm *reported = owner == 1 ? &comm : i == 3 ? NULL : &self;
    MPI_Request handle = MPI_REQUEST_NULL;
    start(NULL);
    if (i == 3) rank.self = NULL; /* there is no memory for one */
    assert_int_equal(tm_call_iflush(call, *owners[owner], &handle), MPI_ERR_BUFFER);
    assert_int_equal(tm_call_attach(call, *owners[owner], room, SIZE), MPI_SUCCESS);
    assert_int_equal(tm_call_iflush(call, *owners[owner], &handle), MPI_SUCCESS);
    struct tm_request *request = (struct tm_request *)handle;
    assert_true(request->owner == &rank && request->comm == reported && request->done == 0);
    assert_true(request->source == MPI_ANY_SOURCE && request->tag == MPI_ANY_TAG);
    assert_true(comm_refs == (reported != NULL) && buffer_of(owner)->refs == 2);
    check_trace("thread ");
    run_thread();
    check_trace("enters drains complete ");
    assert_int_equal(buffer_of(owner)->refs, 1);
    if (reported != NULL) tm_comm_release(reported);
    tm_request_free(request);
    free(buffer_of(owner));
    check_nothing();
  }
}

static void without_memory_no_thread_empties_it(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++) {
    MPI_Request request = MPI_REQUEST_NULL;
    start(NULL);
    assert_int_equal(tm_call_attach(call, of_comm, room, SIZE), MPI_SUCCESS);
    allocations_left = i < 2 ? i : -1;
    makes_no_thread = i == 2;
    assert_int_equal(tm_call_iflush(call, of_comm, &request), MPI_ERR_NO_MEM);
    assert_true(request == MPI_REQUEST_NULL && comm.buffer->refs == 1);
    check_trace(i == 2 ? "thread " : "");
    free(comm.buffer);
    check_nothing();
  }
}

static void a_flush_of_no_rank_ends_the_job(void **state) {
  (void)state;
  MPI_Request request = MPI_REQUEST_NULL;
  assert_int_equal(tm_call_attach(call, of_rank, room, SIZE), MPI_SUCCESS);
  assert_int_equal(tm_call_iflush(call, of_rank, &request), MPI_SUCCESS);
  cannot_enter = true;
  if (setjmp(panic) == 0) {
    run_thread();
    fail();
  }
  check_trace("thread enters ");
  tm_request_free((struct tm_request *)request);
  free(argument);
  free(rank.buffer);
}

#define STEP(test) cmocka_unit_test_setup(test, start)

int main(void) {
  const struct CMUnitTest tests[] = {STEP(what_is_complete_at_once_needs_no_thread),
                                     STEP(a_thread_waits_for_both),
                                     STEP(what_is_replaced_is_sent_from_a_copy),
                                     STEP(without_memory_nothing_is_sent),
                                     STEP(wrong_arguments_keep_nothing),
                                     STEP(a_thread_of_no_rank_ends_the_job),
                                     STEP(an_owner_has_one_buffer),
                                     STEP(an_automatic_buffer_has_no_size),
                                     STEP(wrong_owners_are_refused),
                                     STEP(a_thread_empties_the_buffer),
                                     STEP(without_memory_no_thread_empties_it),
                                     STEP(a_flush_of_no_rank_ends_the_job)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
