/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens when a call of MPI cannot be done (src/tmpi/error/errors.c): whose error handler
 * decides, what is printed, and with which status the job ends. Ranks, communicators and handlers
 * are this test's; where the job ends, a child of the test does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <mltp/mltp.h>

#include "captured.h"
#include "core/internal/park.h"
#include "internal_locks.h"
#include "tmpi/error/code.h"
#include "tmpi/error/errors.h"
#include "tmpi/layout/predefined.h"
#include "tmpi/object/info.h"
#include "tmpi/object/session.h"
#include "tmpi/report/location.h"

enum { NUMBER = 3 };

struct tm_job tm_job;
struct tm_type tm_predefined[TM_PREDEFINED_COUNT];
static struct tm_rank rank;
static struct tm_comm world, self, other;
static struct tm_session session;
static struct tm_errhandler fatal, returning, calling;
static bool is_rank, knows_location;
static int called, called_code, released;
static const void *called_handle;

/* ---- the rest of the library */

uint32_t mti_number(void) { return 0; }
mltp_t *mltp_self(void) { return (mltp_t *)&rank; }
struct tm_rank *tm_rank_self(void) { return is_rank ? &rank : NULL; }
int tm_rank_number(void) { return is_rank ? rank.number : -1; }

const void *tm_location_call_site(const void *frame) {
  return frame != NULL && knows_location ? &rank : NULL;
}

void tm_location_name(char *text, size_t size, const void *address) {
  snprintf(text, size, address == &rank ? "ring.c:12 (main)" : "?");
}

void tm_job_end_output(void) { fprintf(stderr, "flushed\n"); }

void tm_job_abort(int status) {
  fprintf(stderr, "status %d\n", status);
  fflush(stderr);
  _exit(0);
}

static void end(int number, int status) {
  fprintf(stderr, "rank %d ends: %d\n", number, status);
  fflush(stderr);
  _exit(0);
}

const struct tm_rank_ends *tm_job_rank_ends(void) {
  static const struct tm_rank_ends ends = {.end = end};
  return &ends;
}

struct tm_errhandler *tm_errhandler_fatal(void) { return &fatal; }
bool tm_errhandler_ends(const struct tm_errhandler *handler) { return handler == &fatal; }
void tm_errhandler_release(struct tm_errhandler *handler) { released += handler != NULL; }
struct tm_errhandler *tm_comm_handler(const struct tm_comm *comm) { return comm->handler; }
MPI_Comm tm_comm_handle(const struct tm_comm *comm) { return (MPI_Comm)(uintptr_t)comm; }
struct tm_comm *tm_comm_make_self(void) { return NULL; }
struct tm_info *tm_info_of(MPI_Info handle) {
  return handle == (MPI_Info)&session ? (struct tm_info *)&session : NULL;
}

bool tm_code_text(int code, char text[MPI_MAX_ERROR_STRING]) {
  snprintf(text, MPI_MAX_ERROR_STRING, "text of %d", code);
  return true;
}

static void call_function(void *handle, int *code, ...) {
  called++;
  called_handle = *(void **)handle;
  called_code = *code;
  *code = MPI_ERR_OTHER;
}

static int start(void **state) {
  (void)state;
  fatal = returning = (struct tm_errhandler){.magic = TM_ERRHANDLER_MAGIC};
  calling = (struct tm_errhandler){.magic = TM_ERRHANDLER_MAGIC, .function = call_function};
  world = (struct tm_comm){.magic = TM_COMM_MAGIC, .handler = &fatal, .name = "MPI_COMM_WORLD"};
  self =
      (struct tm_comm){.magic = TM_COMM_MAGIC, .handler = &fatal, .owner = &rank, .name = "SELF"};
  other = (struct tm_comm){.magic = TM_COMM_MAGIC, .handler = &fatal};
  session = (struct tm_session){.magic = TM_SESSION_MAGIC, .handler = &fatal};
  rank = (struct tm_rank){.number = NUMBER,
                          .stage = TM_INITIALIZED,
                          .world = &world,
                          .self = &self,
                          .thread = (struct mltp_thread *)&rank};
  is_rank = true;
  knows_location = false;
  called = released = 0;
  return 0;
}

/* Checks what a function prints that does not return. */
static void ends(void (*acts)(const void *), const void *argument, const char *expected) {
  char text[1000];
  bool returned = captured_in_child(acts, argument, text, sizeof text);
  assert_string_equal(text, expected);
  assert_false(returned);
}

/* ---- the end of the job */

struct ending {
  const char *on;
  int code;
};

static void end_job(const void *argument) {
  const struct ending *ending = argument;
  tm_end_job(ending->on, "MPI_Send", ending->code, "it is wrong");
}

static void a_message_names_rank_call_object_and_place(void **state) {
  (void)state;
  ends(end_job, &(struct ending){NULL, 1},
       "flushed\ntmpi: rank 3: MPI_Send: it is wrong\nstatus 1\n");
  knows_location = true;
  ends(end_job, &(struct ending){"a window", 1},
       "flushed\ntmpi: rank 3: MPI_Send on a window: it is wrong, at ring.c:12 (main)\nstatus 1\n");
  knows_location = false;
  rank.number = 0;
  ends(end_job, &(struct ending){NULL, 1},
       "flushed\ntmpi: rank 0: MPI_Send: it is wrong\nstatus 1\n");
  knows_location = true;
  is_rank = false;
  ends(end_job, &(struct ending){"a window", 1},
       "flushed\ntmpi: MPI_Send: it is wrong, at ring.c:12 (main)\nstatus 1\n");
}

static void the_status_is_the_code_where_a_shell_would_understand_it(void **state) {
  (void)state;
  static const int codes[][2] = {{2, 2}, {127, 127}, {128, 1}, {0, 1}, {-5, 1}};
  for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
    char expected[100];
    snprintf(expected, sizeof expected, "flushed\ntmpi: rank 3: MPI_Send: it is wrong\nstatus %d\n",
             codes[i][1]);
    ends(end_job, &(struct ending){NULL, codes[i][0]}, expected);
  }
}

static void panic(const void *argument) { tm_panic("no %s of %d", (const char *)argument, 7); }

static void an_impossible_state_ends_the_job(void **state) {
  (void)state;
  ends(panic, "part", "tmpi: rank 3: no part of 7\nstatus 1\n");
}

/* ---- whose handler */

static void fail_on(const void *comm) {
  tm_fail((struct tm_comm *)(uintptr_t)comm, "MPI_Recv", MPI_ERR_RANK, "rank %d", 9);
}

static void the_handler_of_the_communicator_decides(void **state) {
  (void)state;
  ends(fail_on, &world, "flushed\ntmpi: rank 3: MPI_Recv on MPI_COMM_WORLD: rank 9\nstatus 6\n");
  ends(fail_on, &other, "flushed\ntmpi: rank 3: MPI_Recv on a communicator: rank 9\nstatus 6\n");
  other.handler = &returning;
  assert_int_equal(tm_fail(&other, "MPI_Recv", MPI_ERR_TAG, "a tag"), MPI_ERR_TAG);
  assert_true(called == 0 && released == 1);
  other.handler = &calling;
  assert_int_equal(tm_fail_code(&other, "MPI_Recv", MPI_ERR_TAG), MPI_ERR_TAG);
  assert_true(called == 1 && called_code == MPI_ERR_TAG && called_handle == &other);
  assert_int_equal(released, 2);
}

/* Programs for MPI 3 and before set the world's only. */
static void without_a_communicator_it_is_that_of_self_or_the_world(void **state) {
  (void)state;
  ends(fail_on, NULL, "flushed\ntmpi: rank 3: MPI_Recv: rank 9\nstatus 6\n");
  world.handler = &calling;
  fail_on(NULL);
  assert_true(called == 1 && called_handle == &world);
  rank.self = NULL; /* it was not used yet */
  fail_on(NULL);
  assert_true(called == 2 && called_handle == &world);
  rank.self = &self;
  self.handler = &calling;
  fail_on(NULL);
  assert_true(called == 3 && called_handle == &self);
  rank.world = NULL; /* it has sessions only */
  fail_on(NULL);
  assert_true(called == 4 && called_handle == &self);
  rank.self = NULL; /* nor is there memory */
  ends(fail_on, NULL, "flushed\ntmpi: rank 3: MPI_Recv on a communicator: rank 9\nstatus 6\n");
  is_rank = false;
  ends(fail_on, NULL, "flushed\ntmpi: MPI_Recv: rank 9\nstatus 6\n");
}

static void fail_session(const void *call) {
  tm_session_fail(&session, call, MPI_ERR_ARG, "a word");
}

static void a_session_has_a_handler_too(void **state) {
  (void)state;
  ends(fail_session, "MPI_Session_get_info",
       "flushed\ntmpi: rank 3: MPI_Session_get_info on a session: a word\nstatus 13\n");
  session.handler = &calling;
  assert_int_equal(tm_session_fail(&session, "MPI_Session_get_info", MPI_ERR_ARG, ""), MPI_ERR_ARG);
  assert_true(called == 1 && called_handle == &session && called_code == MPI_ERR_ARG);
  assert_int_equal(tm_fail_by(&calling, "MPI_Session_init", MPI_ERR_INFO, ""), MPI_ERR_INFO);
  assert_true(called == 2 && called_handle == (void *)MPI_COMM_NULL && called_code == MPI_ERR_INFO);
}

/* ---- calls that come too early or too late */

static void enter(const void *call) { tm_enter(call); }

static void calls_have_their_time(void **state) {
  (void)state;
  assert_ptr_equal(tm_enter("MPI_Barrier"), &rank);
  rank.stage = TM_FINALIZED;
  ends(enter, "MPI_Barrier",
       "flushed\ntmpi: rank 3: MPI_Barrier: called after MPI_Finalize() (call it before)\n"
       "status 16\n");
  rank.thread = NULL;
  ends(enter, "MPI_Ibarrier",
       "flushed\ntmpi: rank 3: MPI_Ibarrier: not complete when its rank called MPI_Finalize() "
       "(wait for it before)\nstatus 16\n");
  rank.sessions = 1;
  assert_ptr_equal(tm_enter("MPI_Barrier"), &rank);
  rank.sessions = 0;
  rank.stage = TM_ABORTED;
  ends(enter, "MPI_Barrier", "rank 3 ends: 58\n");
  rank.stage = TM_INITIALIZED - 1;
  ends(enter, "MPI_Barrier",
       "flushed\ntmpi: rank 3: MPI_Barrier: called before MPI_Init() (call that first)\n"
       "status 16\n");
  is_rank = false;
  ends(enter, "MPI_Barrier",
       "flushed\ntmpi: MPI_Barrier: called before MPI_Init() (call that first)\nstatus 16\n");
}

/* ---- arguments */

static char why[200]; /* of the last error */

/* Ends no job, and keeps the message. */
static void keeps_message(const void *acts) {
  char text[1000];
  captured_in_child((void (*)(const void *))(uintptr_t)acts, NULL, text, sizeof text);
  const char *from = strstr(text, "MPI_Call: ");
  snprintf(why, sizeof why, "%.*s", from != NULL ? (int)strcspn(from, "\n") : 0,
           from != NULL ? from : "");
}

static MPI_Comm wrong_comm;
static MPI_Datatype wrong_type;
static MPI_Session wrong_session;

static void get_comm(const void *no) {
  (void)no;
  struct tm_comm *comm;
  tm_get_comm("MPI_Call", wrong_comm, &comm);
}

static void get_type(const void *no) {
  (void)no;
  struct tm_type *type;
  tm_get_type(NULL, "MPI_Call", wrong_type, &type);
}

static void get_session(const void *no) {
  (void)no;
  struct tm_session *found;
  tm_get_session("MPI_Call", wrong_session, &found);
}

static void says(void (*acts)(const void *), const char *expected) {
  keeps_message((const void *)(uintptr_t)acts);
  assert_string_equal(why, expected);
}

static void handles_are_looked_up(void **state) {
  (void)state;
  struct tm_comm *comm;
  struct tm_type *type, committed = {.magic = TM_TYPE_MAGIC, .committed = true};
  struct tm_session *found;
  assert_int_equal(tm_get_comm("MPI_Call", (MPI_Comm)&other, &comm), MPI_SUCCESS);
  assert_ptr_equal(comm, &other);
  assert_int_equal(tm_get_comm("MPI_Call", MPI_COMM_SELF, &comm), MPI_SUCCESS);
  assert_ptr_equal(comm, &self);
  assert_int_equal(tm_get_type(NULL, "MPI_Call", (MPI_Datatype)&committed, &type), MPI_SUCCESS);
  assert_ptr_equal(type, &committed);
  assert_int_equal(tm_get_session("MPI_Call", (MPI_Session)&session, &found), MPI_SUCCESS);
  assert_ptr_equal(found, &session);
  wrong_comm = MPI_COMM_NULL;
  says(get_comm, "MPI_Call: the communicator is MPI_COMM_NULL");
  other.magic = 0;
  wrong_comm = (MPI_Comm)&other;
  says(get_comm, "MPI_Call: the communicator is not valid: freed, or never made");
  rank.self = NULL;
  wrong_comm = MPI_COMM_SELF;
  says(get_comm, "MPI_Call: text of 39");
  rank.self = &self;
  wrong_type = MPI_DATATYPE_NULL;
  says(get_type, "MPI_Call: the datatype is MPI_DATATYPE_NULL");
  committed.committed = false;
  wrong_type = (MPI_Datatype)&committed;
  says(get_type, "MPI_Call: the datatype is not committed (MPI_Type_commit())");
  committed.magic = 0;
  says(get_type, "MPI_Call: the datatype is not valid: freed, or never made");
  wrong_session = MPI_SESSION_NULL;
  says(get_session, "MPI_Call: the session is MPI_SESSION_NULL");
  session.magic = 0;
  wrong_session = (MPI_Session)&session;
  says(get_session, "MPI_Call: the session is not valid: finalized, or never made");
}

static void check_info(const void *handle) { tm_check_info(NULL, "MPI_Call", (MPI_Info)handle); }
static void no_place(const void *what) { tm_no_place("MPI_Call", what); }
static void many_comms(const void *parent) {
  tm_too_many_comms((struct tm_comm *)(uintptr_t)parent, "MPI_Call");
}
static void many_bytes(const void *type) { tm_too_many_bytes(NULL, "MPI_Call", 5, type); }

static void other_arguments_are_refused(void **state) {
  (void)state;
  const struct tm_type type = {.size = 40};
  assert_int_equal(tm_check_info(NULL, "MPI_Call", MPI_INFO_NULL), MPI_SUCCESS);
  assert_int_equal(tm_check_info(NULL, "MPI_Call", (MPI_Info)&session), MPI_SUCCESS);
  ends(check_info, &other, "flushed\ntmpi: rank 3: MPI_Call: the info is not valid\nstatus 34\n");
  ends(no_place, "flag",
       "flushed\ntmpi: rank 3: MPI_Call: flag is NULL (give the address of a variable)\n"
       "status 13\n");
  tm_job.comms_max = 100;
  ends(many_comms, &other,
       "flushed\ntmpi: rank 3: MPI_Call on a communicator: a member has 100 communicators (free "
       "what is not needed, or allow more: tmpirun --communicators)\nstatus 16\n");
  ends(many_bytes, &type,
       "flushed\ntmpi: rank 3: MPI_Call: 5 elements of 40 bytes are more than an address space "
       "has\nstatus 2\n");
}

#define STEP(test) cmocka_unit_test_setup(test, start)

int main(void) {
  const struct CMUnitTest tests[] = {STEP(a_message_names_rank_call_object_and_place),
                                     STEP(the_status_is_the_code_where_a_shell_would_understand_it),
                                     STEP(an_impossible_state_ends_the_job),
                                     STEP(the_handler_of_the_communicator_decides),
                                     STEP(without_a_communicator_it_is_that_of_self_or_the_world),
                                     STEP(a_session_has_a_handler_too),
                                     STEP(calls_have_their_time),
                                     STEP(handles_are_looked_up),
                                     STEP(other_arguments_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
