/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes and the receives of what they take (src/tmpi/p2p/probe.c): how a probe looks again, what
 * it tells, and which references change hands. The mailbox, and the requests, are this test.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <mltp/mltp.h>

#include "tmpi/error/errors.h"
#include "tmpi/layout/predefined.h"
#include "tmpi/match/rank_wait.h"
#include "tmpi/request/request.h"
#include "traced_calls.h"

enum { SOURCE = 2, TAG = 6, BYTES = 44, DOZE_NS = 900 };

struct tm_job tm_job;
struct tm_type tm_predefined[TM_PREDEFINED_COUNT];
static struct tm_rank rank;
static struct tm_comm world, self, comm;
static struct tm_message message;
static struct tm_request kept;
static int looks_left;      /* before a message has come; -1: none comes */
static int comm_refs, held; /* of comm; requests that hold what they use */
static bool has_memory, is_wrong;

/* ---- the rest of the library */

struct tm_rank *tm_enter(const char *call) { return call != NULL ? &rank : NULL; }
struct tm_rank *tm_rank_self(void) { return &rank; }
struct tm_comm *tm_comm_make_self(void) { return NULL; }
void mltp_yield(void) {}
void tm_deferred_release(struct tm_rank *of) { assert_null(of); }
bool tm_user_code_lend_slow(struct tm_rank *of) { return of == NULL; }
void tm_user_code_take(struct tm_rank *of) { assert_null(of); }

static uint64_t test(void) {
  note("yields");
  return DOZE_NS;
}

static const struct tm_transport transport = {.test = test};

int tm_fail(struct tm_comm *on, const char *call, int code, const char *format, ...) {
  assert_true(call != NULL && format != NULL);
  note(on == &comm ? "on-comm" : on == &self ? "on-self" : "on-none");
  return code;
}

int tm_fail_code(struct tm_comm *on, const char *call, int code) {
  return tm_fail(on, call, code, "code");
}

int tm_get_type(struct tm_comm *on, const char *call, MPI_Datatype handle, struct tm_type **type) {
  *type = &tm_predefined[0];
  return handle == MPI_INT ? MPI_SUCCESS : tm_fail(on, call, MPI_ERR_TYPE, "type");
}

int tm_too_many_bytes(struct tm_comm *on, const char *call, MPI_Count count,
                      const struct tm_type *type) {
  assert_true(count > 0 && type == &tm_predefined[0]);
  return tm_fail(on, call, MPI_ERR_COUNT, "bytes");
}

void tm_comm_hold(struct tm_comm *of) { comm_refs += of == &comm; }
void tm_comm_release(struct tm_comm *of) { comm_refs -= of == &comm; }

int tm_request_fill(struct tm_request *request, const struct tm_arguments *a, enum tm_kind kind,
                    enum tm_mode mode) {
  assert_true(a->buffer == NULL && a->count == 0 && a->type == MPI_BYTE && a->tag == TAG);
  assert_true(kind == TM_RECV && mode == TM_STANDARD);
  if (is_wrong) return MPI_ERR_RANK;
  *request = (struct tm_request){.comm = &comm, .peer = a->peer, .type = &tm_predefined[0]};
  held++;
  return MPI_SUCCESS;
}

void tm_request_fill_inner(struct tm_request *request, enum tm_kind kind, const void *buffer,
                           size_t count, struct tm_type *type, int peer, int tag,
                           struct tm_comm *of) {
  assert_true(kind == TM_RECV && buffer == &kept && type == &tm_predefined[0]);
  assert_int_equal(tag, MPI_ANY_TAG);
  *request = (struct tm_request){.comm = of, .count = count, .peer = peer};
  held++;
}

void tm_request_empty(struct tm_request *request) {
  assert_non_null(request->comm);
  held--;
}

struct tm_request *tm_request_keep(const struct tm_request *request) {
  kept = *request;
  return has_memory ? &kept : NULL;
}

int tm_request_start(struct tm_request *request) {
  assert_ptr_equal(request, &kept);
  note("starts");
  return MPI_SUCCESS;
}

int PMPI_Wait(MPI_Request *request, MPI_Status *status) {
  assert_true(*request == (MPI_Request)&kept && status == NULL);
  note("waits");
  return MPI_ERR_TRUNCATE;
}

void tm_status_bytes(MPI_Status *status, int source, int tag, size_t bytes) {
  assert_null(status);
  note("status:%d:%d:%d", source, tag, (int)bytes);
}

bool tm_mailbox_probe(const struct tm_request *probe, bool take, uint64_t wait_ns, const char *call,
                      struct tm_envelope *found, size_t *bytes, struct tm_message **taken) {
  assert_true(call != NULL && probe->type == NULL && probe->comm == &comm);
  note("%s%s", take ? "takes" : "looks",
       wait_ns == MLTP_NEVER ? "-waiting"
       : wait_ns == DOZE_NS  ? "-dozing"
       : wait_ns == 0        ? ""
                             : "?");
  if (looks_left < 0 || looks_left-- > 0) return false;
  *found = (struct tm_envelope){.source = SOURCE, .tag = TAG};
  *bytes = BYTES;
  *taken = take ? &message : NULL;
  return true;
}

static int start(void **state) {
  (void)state;
  world = (struct tm_comm){.context = 2};
  self = (struct tm_comm){.context = 4};
  comm = (struct tm_comm){.context = 8};
  rank = (struct tm_rank){.world = &world, .self = &self};
  message = (struct tm_message){.bytes = BYTES};
  message.entry.entry.envelope.source = SOURCE;
  tm_predefined[0].size = 4;
  tm_job.far = &transport;
  looks_left = comm_refs = held = 0;
  has_memory = true;
  is_wrong = false;
  trace[0] = '\0';
  return 0;
}

/* ---- probes */

static void a_probe_waits(void **state) {
  (void)state;
  assert_int_equal(PMPI_Probe(SOURCE, TAG, MPI_COMM_WORLD, NULL), MPI_SUCCESS);
  check_trace("looks-waiting status:2:6:44 ");
  MPI_Message taken = MPI_MESSAGE_NULL;
  looks_left = 0;
  assert_int_equal(PMPI_Mprobe(SOURCE, TAG, MPI_COMM_WORLD, &taken, NULL), MPI_SUCCESS);
  check_trace("takes-waiting status:2:6:44 ");
  assert_true(taken == (MPI_Message)&message && message.magic == TM_MESSAGE_MAGIC);
  assert_true(message.comm == &comm && comm_refs == 1 && held == 0);
}

/* It looks once more when others have run, and then for as long as they want the CPU. */
static void a_probe_that_does_not_wait_looks_twice(void **state) {
  (void)state;
  static const char *const traces[] = {"looks status:2:6:44 ",
                                       "looks yields looks-dozing status:2:6:44 ",
                                       "looks yields looks-dozing "};
  for (int looks = 0; looks < 3; looks++) {
    int flag = 7;
    looks_left = looks;
    assert_int_equal(PMPI_Iprobe(SOURCE, TAG, MPI_COMM_WORLD, &flag, NULL), MPI_SUCCESS);
    assert_int_equal(flag, looks < 2);
    check_trace(traces[looks]);
    MPI_Message taken = (MPI_Message)&self;
    looks_left = looks;
    assert_int_equal(PMPI_Improbe(SOURCE, TAG, MPI_COMM_WORLD, &flag, &taken, NULL), MPI_SUCCESS);
    assert_int_equal(flag, looks < 2);
    assert_true(taken == (looks < 2 ? (MPI_Message)&message : MPI_MESSAGE_NULL));
    trace[0] = '\0';
  }
  assert_int_equal(held, 0);
}

static void nobody_sends_at_once(void **state) {
  (void)state;
  MPI_Message taken = MPI_MESSAGE_NULL;
  int flag = 0;
  looks_left = -1;
  assert_int_equal(PMPI_Improbe(MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &flag, &taken, NULL), 0);
  assert_true(flag && taken == MPI_MESSAGE_NO_PROC);
  assert_int_equal(PMPI_Iprobe(MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &flag, NULL), MPI_SUCCESS);
  char expected[100];
  snprintf(expected, sizeof expected, "status:%d:%d:0 status:%d:%d:0 ", MPI_PROC_NULL, MPI_ANY_TAG,
           MPI_PROC_NULL, MPI_ANY_TAG);
  check_trace(expected);
  is_wrong = true;
  assert_int_equal(PMPI_Iprobe(SOURCE, TAG, MPI_COMM_WORLD, &flag, NULL), MPI_ERR_RANK);
  assert_int_equal(held, 0);
  check_trace("");
}

/* ---- receives */

static const char call[] = "MPI_Imrecv";

/* Of a message that a probe has taken. */
static int receive(MPI_Count count, MPI_Datatype type, MPI_Message *of, MPI_Request *request) {
  return tm_call_imrecv(call, &kept, count, type, of, request);
}

static void a_message_is_received_once(void **state) {
  (void)state;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Message taken, again;
  PMPI_Mprobe(SOURCE, TAG, MPI_COMM_WORLD, &taken, NULL);
  trace[0] = '\0';
  again = taken;
  assert_int_equal(receive(0, MPI_INT, &taken, &request), MPI_SUCCESS);
  check_trace("starts ");
  assert_true(request == (MPI_Request)&kept && taken == MPI_MESSAGE_NULL && comm_refs == 0);
  assert_true(kept.message == &message && kept.peer == SOURCE && kept.comm == &comm);
  assert_true(kept.entry.envelope.context == comm.context && kept.count == 0);
  assert_int_equal(receive(1, MPI_INT, &again, &request), MPI_ERR_REQUEST);
  assert_int_equal(receive(1, MPI_INT, &taken, &request), MPI_ERR_REQUEST);
  check_trace("on-none on-none ");
}

static void what_is_refused_stays(void **state) {
  (void)state;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Message taken;
  PMPI_Mprobe(SOURCE, TAG, MPI_COMM_WORLD, &taken, NULL);
  trace[0] = '\0';
  assert_int_equal(receive(-1, MPI_INT, &taken, &request), MPI_ERR_COUNT);
  assert_int_equal(receive(1, MPI_FLOAT, &taken, &request), MPI_ERR_TYPE);
  assert_int_equal(receive(INT64_MAX, MPI_INT, &taken, &request), MPI_ERR_COUNT);
  has_memory = false;
  assert_int_equal(receive(1, MPI_INT, &taken, &request), MPI_ERR_NO_MEM);
  assert_int_equal(tm_call_mrecv(call, &kept, 1, MPI_INT, &taken, NULL), MPI_ERR_NO_MEM);
  check_trace("on-comm on-comm on-comm on-comm on-comm ");
  assert_true(taken == (MPI_Message)&message && message.magic == TM_MESSAGE_MAGIC);
  assert_true(request == MPI_REQUEST_NULL && comm_refs == 1 && held == 0);
  has_memory = true;
  assert_int_equal(tm_call_mrecv(call, &kept, 1, MPI_INT, &taken, NULL), MPI_ERR_TRUNCATE);
  check_trace("starts waits ");
}

static void a_message_of_nobody_is_received_on_self(void **state) {
  (void)state;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Message none = MPI_MESSAGE_NO_PROC;
  assert_int_equal(receive(-1, MPI_INT, &none, &request), MPI_ERR_COUNT);
  check_trace("on-self ");
  assert_int_equal(receive(1, MPI_INT, &none, &request), MPI_SUCCESS);
  check_trace("starts ");
  assert_true(none == MPI_MESSAGE_NULL && kept.message == NULL && kept.peer == MPI_PROC_NULL);
  assert_true(kept.comm == &self && kept.entry.envelope.context == self.context);
  none = MPI_MESSAGE_NO_PROC;
  rank.self = NULL;
  assert_int_equal(receive(1, MPI_INT, &none, &request), MPI_ERR_NO_MEM);
  check_trace("on-none ");
}

#define STEP(test) cmocka_unit_test_setup(test, start)

int main(void) {
  const struct CMUnitTest tests[] = {
      STEP(a_probe_waits),         STEP(a_probe_that_does_not_wait_looks_twice),
      STEP(nobody_sends_at_once),  STEP(a_message_is_received_once),
      STEP(what_is_refused_stays), STEP(a_message_of_nobody_is_received_on_self)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
