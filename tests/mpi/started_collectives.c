/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nonblocking and persistent collectives from the call that starts them to the end of their
 * requests, step by step (src/tmpi/coll/nonblocking.c): the context of each, what is held
 * meanwhile, and what is given back where memory or a thread is lacking. gangs.c has what is
 * between the two.
 */
#include <errno.h>
#include <mltp/mltp.h>
#include <stdlib.h>

#include "counted_blocks.h"
#include "tmpi/coll/gang.h"
#include "tmpi/coll/op.h"
#include "tmpi/error/errors.h"
#include "tmpi/mailbox/request_pool.h"
#include "tmpi/match/match.h"
#include "tmpi/object/info.h"
#include "tmpi/object/topology.h"
#include "tmpi/rank/user_code.h"
#include "traced_calls.h"

enum { MOST = 8 /* allocations of a call, at most */, PARTS = 3, RESULT = 17 };

struct tm_job tm_job;
struct tm_type tm_predefined[TM_PREDEFINED_COUNT];
static struct tm_rank rank = {.number = 5};
static struct tm_group group, remote;
static struct tm_topology topology;
static struct tm_comm comm;
static struct tm_type derived[3];
static int held[3];        /* references to them */
static int refs_of_groups; /* that tasks hold */
static const struct tm_op *const program_op = (const struct tm_op *)&held;
static struct tm_task *task;     /* the one that has arrived, or that a thread is to perform */
static struct tm_request *ended; /* the last one that was completed */
static bool far, arrival_fails, claim_fails, creation_fails, topology_fails;
static void *(*function)(void *); /* of the last thread */

/* ---- what is checked */

int tm_collective_check(const struct tm_collective *c) {
  return c->root < 0 ? MPI_ERR_ROOT : MPI_SUCCESS;
}

int tm_check_info(struct tm_comm *on, const char *call, MPI_Info handle) {
  assert_true(on == &comm && call != NULL);
  return handle == MPI_INFO_NULL ? MPI_SUCCESS : MPI_ERR_INFO;
}

int tm_fail_code(struct tm_comm *on, const char *call, int code) {
  assert_ptr_equal(on, &comm);
  assert_string_equal(call, "MPI_Ixyz");
  return code;
}

void tm_panic(const char *format, ...) {
  fail_msg("%s", format);
  abort();
}

/* ---- objects */

static int perform(const struct tm_collective *c) {
  assert_ptr_equal(c->comm, (MPI_Comm)task->shadow);
  note("performs");
  return RESULT;
}

struct tm_comm *tm_comm_of(MPI_Comm handle) {
  assert_ptr_equal(handle, (MPI_Comm)&comm);
  return &comm;
}

void tm_comm_hold(struct tm_comm *held_one) {
  assert_ptr_equal(held_one, &comm);
  note("holds");
}

bool tm_comm_is_far(const struct tm_comm *of) {
  assert_ptr_equal(of, &comm);
  return far;
}

struct tm_comm *tm_comm_new_for(struct tm_rank *owner, uint64_t context, struct tm_group *own,
                                struct tm_group *other) {
  assert_true(owner == &rank && own == &group && other == (comm.inter ? &remote : NULL));
  struct tm_comm *shadow = calloc(1, sizeof *shadow);
  if (shadow == NULL) {
    refs_of_groups -= comm.inter ? 2 : 1;
    return NULL;
  }
  shadow->context = context;
  shadow->inter = comm.inter;
  return shadow;
}

struct tm_comm *tm_comm_add_local(struct tm_comm *shadow) {
  if (shadow != NULL) note("local");
  return shadow;
}

void tm_comm_release(struct tm_comm *shadow) {
  assert_true(shadow != NULL && shadow != &comm);
  refs_of_groups -= comm.inter ? 2 : 1;
  note("ends");
  free(shadow);
}

void tm_comm_inherit(struct tm_comm *shadow, const struct tm_comm *parent) {
  assert_true(shadow == task->shadow && parent == &comm);
  note("inherits");
}

struct tm_errhandler *tm_errhandler_returning(void) { return (struct tm_errhandler *)&rank; }

void tm_comm_set_handler(struct tm_comm *shadow, struct tm_errhandler *handler) {
  assert_ptr_equal(handler, tm_errhandler_returning());
  shadow->handler = handler;
}

void tm_group_hold(struct tm_group *of) {
  assert_true(of == &group || of == &remote);
  refs_of_groups++;
}

struct tm_topology *tm_topology_copy(const struct tm_topology *of) {
  assert_ptr_equal(of, &topology);
  return topology_fails ? NULL : &topology;
}

void tm_type_hold(struct tm_type *type) { held[type - derived]++; }
void tm_type_release(struct tm_type *type) { held[type - derived]--; }

const struct tm_op *tm_op_of(MPI_Op handle) {
  return handle == MPI_OP_NULL ? NULL
         : handle == MPI_SUM   ? (const struct tm_op *)&rank
                               : program_op;
}
void tm_op_hold(const struct tm_op *op) { note(op == program_op ? "own+" : "sum+"); }
void tm_op_release(const struct tm_op *op) { note(op == program_op ? "own-" : "sum-"); }
bool tm_op_is_user(const struct tm_op *op) { return op == program_op; }

int tm_parts_number(const struct tm_comm *of, enum tm_parts_for parts, bool sends) {
  assert_ptr_equal(of, &comm);
  return parts == TM_RANKS ? (sends ? PARTS : PARTS - 1) : 1;
}

bool tm_collective_keep(struct tm_collective *c, const struct tm_comm *of, void **kept) {
  assert_true(c->comm == (MPI_Comm)&comm && of == &comm);
  *kept = malloc(1);
  return *kept != NULL;
}

/* ---- ranks, requests, threads */

struct tm_rank *tm_rank_self(void) { return &rank; }

int tm_rank_enter(int number) {
  note("enters%d", number);
  return 0;
}

void tm_user_code_begin(struct tm_rank *of) { note(of == &rank ? "calls+" : "?"); }
void tm_user_code_end(struct tm_rank *of) { note(of == &rank ? "calls-" : "?"); }

struct tm_request *tm_request_new_of(enum tm_kind kind) {
  struct tm_request *request = calloc(1, sizeof *request);
  if (request != NULL) request->kind = (uint8_t)kind;
  return request;
}

void tm_request_drop(struct tm_request *request) {
  note("drops");
  if (request->drop != NULL) request->drop(request);
  free(request);
}

void tm_request_complete(struct tm_request *request) {
  assert_null(ended);
  ended = request;
  note("completes");
}

bool tm_worker_claim(struct tm_rank *of) {
  assert_ptr_equal(of, &rank);
  note("claims");
  return !claim_fails;
}

void tm_worker_done(struct tm_rank *of) {
  assert_true(of == &rank && ended == NULL); /* MPI_Finalize() may follow the request's end */
  note("done");
}

bool tm_gang_arrive(struct tm_task *arrived) {
  note("arrives");
  if (arrival_fails) return false;
  task = arrived;
  task->gang = (struct tm_gang *)&group;
  return true;
}

void tm_gang_leave(struct tm_gang *gang) {
  assert_ptr_equal(gang, &group);
  note("leaves");
}

int mltp_create(mltp_t **thread, const mltp_attr_t *attr, void *(*performs)(void *), void *arg) {
  assert_true(thread == NULL && attr->detached == 1 && attr->name != NULL);
  note("creates");
  if (creation_fails) return ENOMEM;
  function = performs;
  task = arg;
  return 0;
}

/* ---- */

static const struct tm_collective_kind plain = {.perform = perform};
static const struct tm_collective_kind to_many = {
    .perform = perform, .send_parts = TM_RANKS, .recv_parts = TM_RANKS};

static struct tm_collective collective(void) {
  return (struct tm_collective){.call = "MPI_Ixyz",
                                .kind = &plain,
                                .sendtype = MPI_INT,
                                .recvtype = MPI_INT,
                                .op = MPI_OP_NULL,
                                .comm = (MPI_Comm)&comm};
}

static MPI_Datatype handle_of(int number) { return (MPI_Datatype)&derived[number]; }

/* What remains of a request that is complete. */
static void forget(struct tm_request *request) {
  assert_ptr_equal(ended, request);
  ended = NULL;
  task = NULL;
  free(request);
}

static int start(void **state) {
  (void)state;
  comm = (struct tm_comm){.context = 20, .group = &group, .remote = &group};
  for (int i = 0; i < 3; i++) derived[i] = (struct tm_type){.magic = TM_TYPE_MAGIC};
  tm_predefined[(uintptr_t)MPI_INT - TM_PREDEFINED_FIRST] =
      (struct tm_type){.magic = TM_TYPE_MAGIC, .predefined = true};
  memset(held, 0, sizeof held);
  far = arrival_fails = claim_fails = creation_fails = topology_fails = false;
  allocations_left = -1;
  trace[0] = '\0';
  task = NULL;
  ended = NULL;
  return 0;
}

static int end(void **state) {
  (void)state;
  assert_int_equal(blocks, 0);
  assert_int_equal(refs_of_groups, 0);
  for (int i = 0; i < 3; i++) assert_int_equal(held[i], 0);
  assert_string_equal(trace, "");
  return 0;
}

/* ---- from the call to the request's end */

static void a_collective_arrives_and_its_request_has_the_result(void **state) {
  (void)state;
  struct tm_collective c = collective();
  MPI_Request handle;
  assert_int_equal(tm_collective_start(&c, &handle), MPI_SUCCESS);
  check_trace("holds claims arrives ");
  struct tm_request *request = (struct tm_request *)handle;
  assert_true(request == task->request && request->owner == &rank && request->comm == &comm);
  assert_int_equal(request->kind, TM_COLLECTIVE);
  assert_true(request->source == MPI_ANY_SOURCE && request->tag == MPI_ANY_TAG);
  assert_true(tm_task_prepare(task));
  assert_int_equal(refs_of_groups, 1);
  assert_int_equal(task->shadow->context, task->context);
  assert_ptr_equal(task->shadow->handler, tm_errhandler_returning());
  assert_null(task->shadow->topology);
  check_trace("local ");
  tm_task_perform(task);
  check_trace("performs ends done completes leaves ");
  assert_int_equal(request->error, RESULT);
  forget(request);
}

static void what_is_wrong_starts_nothing(void **state) {
  (void)state;
  struct tm_collective c = collective();
  MPI_Request handle;
  assert_int_equal(tm_collective_init(&c, (MPI_Info)&comm, &handle), MPI_ERR_INFO);
  c.root = -1;
  assert_int_equal(tm_collective_start(&c, &handle), MPI_ERR_ROOT);
  assert_int_equal(tm_collective_init(&c, MPI_INFO_NULL, &handle), MPI_ERR_ROOT);
  assert_int_equal(comm.nonblocking, 0);
}

/* Starts one, which a gang has refused to hand out; its request tells the error. */
static void a_task_that_cannot_be_prepared_completes_with_its_error(void **state) {
  (void)state;
  struct tm_collective c = collective();
  MPI_Request handle;
  comm.topology = &topology;
  for (topology_fails = false;; topology_fails = true) {
    assert_int_equal(tm_collective_start(&c, &handle), MPI_SUCCESS);
    check_trace("holds claims arrives ");
    memory_is_out = !topology_fails;
    assert_false(tm_task_prepare(task));
    memory_is_out = false;
    assert_true((task->shadow != NULL) == topology_fails); /* the shadow, but not the copy */
    tm_task_fail(task, MPI_ERR_NO_MEM);
    check_trace(topology_fails ? "local ends done completes leaves " : "done completes leaves ");
    assert_int_equal(((struct tm_request *)handle)->error, MPI_ERR_NO_MEM);
    forget((struct tm_request *)handle);
    if (topology_fails) return;
  }
}

static void a_shadow_has_the_groups_and_the_topology_of_its_communicator(void **state) {
  (void)state;
  struct tm_collective c = collective();
  MPI_Comm result;
  MPI_Request handle;
  c.result = &result; /* what the collective makes has what its communicator has */
  comm.inter = true;
  comm.remote = &remote;
  comm.topology = &topology;
  assert_int_equal(tm_collective_start(&c, &handle), MPI_SUCCESS);
  assert_true(tm_task_prepare(task));
  assert_int_equal(refs_of_groups, 2);
  assert_ptr_equal(task->shadow->topology, &topology);
  tm_task_perform(task);
  check_trace("holds claims arrives local inherits performs ends done completes leaves ");
  forget((struct tm_request *)handle);
}

static void the_programs_operation_counts_as_its_code_until_the_end(void **state) {
  (void)state;
  struct tm_collective c = collective();
  MPI_Request handle;
  c.op = MPI_SUM;
  assert_int_equal(tm_collective_start(&c, &handle), MPI_SUCCESS);
  assert_true(tm_task_prepare(task));
  tm_task_perform(task);
  check_trace("holds sum+ claims arrives local performs ends sum- done completes leaves ");
  forget((struct tm_request *)handle);
  c.op = (MPI_Op)&comm;
  assert_int_equal(tm_collective_start(&c, &handle), MPI_SUCCESS);
  check_trace("holds own+ claims calls+ arrives ");
  assert_true(tm_task_prepare(task));
  tm_task_perform(task);
  check_trace("local performs ends calls- own- done completes leaves ");
  forget((struct tm_request *)handle);
}

static void derived_types_are_held_until_the_end(void **state) {
  (void)state;
  const MPI_Datatype sent[PARTS] = {handle_of(0), MPI_INT, handle_of(1)};
  const MPI_Datatype received[PARTS] = {handle_of(1), handle_of(2), handle_of(0)};
  struct tm_collective c = collective();
  MPI_Request handle;
  for (int way = 0; way < 2; way++) {
    c = collective();
    if (way == 0) { /* one for each buffer */
      c.sendtype = handle_of(0);
      c.recvtype = handle_of(2);
    } else { /* one for each part */
      c.kind = &to_many;
      c.sendtype = c.recvtype = MPI_DATATYPE_NULL;
      c.send.types = sent;
      c.recv.types = received;
    }
    static const int expected[][3] = {{1, 0, 1}, {1, 2, 1}};
    assert_int_equal(tm_collective_start(&c, &handle), MPI_SUCCESS);
    assert_memory_equal(held, expected[way], sizeof held);
    assert_true(tm_task_prepare(task));
    tm_task_perform(task);
    for (int i = 0; i < 3; i++) assert_int_equal(held[i], 0);
    check_trace("holds claims arrives local performs ends done completes leaves ");
    forget((struct tm_request *)handle);
  }
}

/* ---- contexts */

static uint64_t context_of_next(void) {
  struct tm_collective c = collective();
  MPI_Request handle;
  assert_int_equal(tm_collective_start(&c, &handle), MPI_SUCCESS);
  uint64_t context = task->context;
  assert_true((context & TM_CONTEXT_SHADOW) != 0);
  assert_true((context & TM_CONTEXT_LOCAL) == 0 && context % 2 == 0); /* others' bits */
  assert_true(tm_task_prepare(task));
  tm_task_perform(task);
  forget((struct tm_request *)handle);
  trace[0] = '\0';
  return context;
}

/* Contexts of one node leave room for both numbers. */
static void a_context_names_the_communicator_and_the_number(void **state) {
  (void)state;
  static const uint64_t contexts[] = {2, 4, 20, ((uint64_t)1 << 31) - 2};
  static const int numbers[] = {0, 1, 2, (1 << 30) - 1};
  for (int i = 0; i < 4; i++)
    for (int k = 0; k < 4; k++) {
      comm.context = contexts[i];
      comm.nonblocking = numbers[k];
      uint64_t context = context_of_next() & ~TM_CONTEXT_SHADOW;
      assert_int_equal(context >> 31, contexts[i]);
      assert_int_equal(context % ((uint64_t)1 << 31) / 2, numbers[k]);
      assert_int_equal(comm.nonblocking, numbers[k] + 1);
    }
}

/* Others are hashed: communicators, numbers and starts of few have different ones. */
static void larger_contexts_are_hashed(void **state) {
  (void)state;
  enum { COMMS = 4, NUMBERS = 16 };
  uint64_t seen[COMMS * NUMBERS];
  for (int i = 0; i < COMMS * NUMBERS; i++) {
    comm.context = ((uint64_t)1 << 31) + (uint64_t)(i / NUMBERS) * 2;
    comm.nonblocking = i % NUMBERS;
    seen[i] = context_of_next();
    for (int k = 0; k < i; k++) assert_true(seen[k] != seen[i]);
  }
}

/* ---- ranks of several nodes */

static void perform_in_thread(void) { assert_null(function(task)); }

static void ranks_of_several_nodes_have_a_thread_for_each_collective(void **state) {
  (void)state;
  struct tm_collective c = collective();
  MPI_Request handle;
  far = true;
  comm.nonblocking = 9;
  c.op = (MPI_Op)&comm;
  assert_int_equal(tm_collective_start(&c, &handle), MPI_SUCCESS);
  check_trace("holds own+ local calls+ creates ");
  assert_int_equal(task->shadow->collectives, 9); /* as all members count */
  perform_in_thread();
  check_trace("enters5 performs ends calls- own- completes ");
  forget((struct tm_request *)handle);
}

/* A member may start it again while another one still performs the last. */
static void each_start_over_nodes_has_a_context(void **state) {
  (void)state;
  struct tm_collective c = collective();
  MPI_Request handle;
  uint64_t seen[3];
  far = true;
  assert_int_equal(tm_collective_init(&c, MPI_INFO_NULL, &handle), MPI_SUCCESS);
  struct tm_request *request = (struct tm_request *)handle;
  for (int i = 0; i < 3; i++) {
    assert_int_equal(request->restart(request), MPI_SUCCESS);
    seen[i] = task->shadow->context;
    for (int k = 0; k < i; k++) assert_true(seen[k] != seen[i]);
    perform_in_thread();
    assert_ptr_equal(ended, request);
    ended = NULL;
  }
  tm_request_drop(request);
  trace[0] = '\0';
}

static void a_thread_that_cannot_be_created_is_an_error(void **state) {
  (void)state;
  struct tm_collective c = collective();
  MPI_Request handle;
  far = creation_fails = true;
  c.op = (MPI_Op)&comm;
  assert_int_equal(tm_collective_start(&c, &handle), MPI_ERR_NO_MEM);
  assert_ptr_equal(handle, MPI_REQUEST_NULL);
  check_trace("holds own+ local calls+ creates calls- ends own- drops ");
  c.op = MPI_OP_NULL;
  comm.topology = &topology;
  topology_fails = true; /* there is a shadow by then */
  assert_int_equal(tm_collective_start(&c, &handle), MPI_ERR_NO_MEM);
  check_trace("holds local ends drops ");
}

/* ---- no memory */

static void a_lack_of_memory_is_an_error_of_the_call(void **state) {
  (void)state;
  struct tm_collective c = collective();
  c.sendtype = handle_of(0);
  for (int persistent = 0; persistent < 2; persistent++)
    for (int all = 0;; all++) {
      MPI_Request handle = MPI_REQUEST_NULL;
      assert_true(all < MOST);
      allocations_left = all;
      int error = persistent ? tm_collective_init(&c, MPI_INFO_NULL, &handle)
                             : tm_collective_start(&c, &handle);
      allocations_left = -1;
      if (error == MPI_SUCCESS) {
        assert_int_equal(held[0], 1);
        struct tm_request *request = (struct tm_request *)handle;
        if (!persistent) assert_true(tm_task_prepare(task));
        if (!persistent) tm_task_perform(task);
        if (!persistent) forget(request);
        if (persistent) tm_request_drop(request);
        break;
      }
      assert_int_equal(error, MPI_ERR_NO_MEM);
      assert_int_equal(blocks, 0);
      assert_int_equal(held[0], 0);
    }
  trace[0] = '\0';
}

static void a_task_without_worker_or_gang_is_an_error_of_the_call(void **state) {
  (void)state;
  struct tm_collective c = collective();
  MPI_Request handle;
  c.op = (MPI_Op)&comm;
  claim_fails = true;
  assert_int_equal(tm_collective_start(&c, &handle), MPI_ERR_NO_MEM);
  assert_ptr_equal(handle, MPI_REQUEST_NULL);
  check_trace("holds own+ claims own- drops ");
  claim_fails = false;
  arrival_fails = true;
  assert_int_equal(tm_collective_start(&c, &handle), MPI_ERR_NO_MEM);
  check_trace("holds own+ claims calls+ arrives calls- done own- drops ");
}

/* ---- persistent */

static void a_persistent_collective_can_be_started_again(void **state) {
  (void)state;
  struct tm_collective c = collective();
  MPI_Request handle;
  c.op = (MPI_Op)&comm;
  c.recvtype = handle_of(1);
  assert_int_equal(tm_collective_init(&c, MPI_INFO_NULL, &handle), MPI_SUCCESS);
  check_trace("holds own+ ");
  struct tm_request *request = (struct tm_request *)handle;
  assert_true(request->persistent);
  uint64_t context = 0;
  for (int i = 0; i < 2; i++) {
    assert_int_equal(request->restart(request), MPI_SUCCESS);
    check_trace("claims calls+ arrives ");
    assert_true(context == 0 || task->context == context);
    context = task->context;
    assert_true(tm_task_prepare(task));
    tm_task_perform(task);
    check_trace("local performs ends calls- done completes leaves ");
    assert_int_equal(held[1], 1);
    assert_ptr_equal(ended, request);
    ended = NULL;
  }
  claim_fails = true;
  assert_int_equal(request->restart(request), MPI_ERR_NO_MEM);
  check_trace("claims ");
  tm_request_drop(request);
  check_trace("drops own- ");
}

/* The shadow of an earlier start is gone; it must not be released again. */
static void a_persistent_collective_fails_after_it_was_performed(void **state) {
  (void)state;
  struct tm_collective c = collective();
  MPI_Request handle;
  assert_int_equal(tm_collective_init(&c, MPI_INFO_NULL, &handle), MPI_SUCCESS);
  struct tm_request *request = (struct tm_request *)handle;
  for (int i = 0; i < 2; i++) {
    assert_int_equal(request->restart(request), MPI_SUCCESS);
    memory_is_out = i == 1;
    assert_true(tm_task_prepare(task) == (i == 0));
    memory_is_out = false;
    if (i == 0) tm_task_perform(task);
    if (i == 1) tm_task_fail(task, MPI_ERR_NO_MEM);
    assert_ptr_equal(ended, request);
    ended = NULL;
  }
  check_trace(
      "holds claims arrives local performs ends done completes leaves "
      "claims arrives done completes leaves ");
  far = creation_fails = true;
  assert_int_equal(request->restart(request), MPI_ERR_NO_MEM);
  check_trace("local creates ends ");
  memory_is_out = true;
  assert_int_equal(request->restart(request), MPI_ERR_NO_MEM);
  memory_is_out = false;
  tm_request_drop(request);
  check_trace("drops ");
}

#define STARTED(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void) {
  const struct CMUnitTest tests[] = {
      STARTED(a_collective_arrives_and_its_request_has_the_result),
      STARTED(what_is_wrong_starts_nothing),
      STARTED(a_task_that_cannot_be_prepared_completes_with_its_error),
      STARTED(a_shadow_has_the_groups_and_the_topology_of_its_communicator),
      STARTED(the_programs_operation_counts_as_its_code_until_the_end),
      STARTED(derived_types_are_held_until_the_end),
      STARTED(a_context_names_the_communicator_and_the_number),
      STARTED(larger_contexts_are_hashed),
      STARTED(ranks_of_several_nodes_have_a_thread_for_each_collective),
      STARTED(each_start_over_nodes_has_a_context),
      STARTED(a_thread_that_cannot_be_created_is_an_error),
      STARTED(a_lack_of_memory_is_an_error_of_the_call),
      STARTED(a_task_without_worker_or_gang_is_an_error_of_the_call),
      STARTED(a_persistent_collective_can_be_started_again),
      STARTED(a_persistent_collective_fails_after_it_was_performed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
