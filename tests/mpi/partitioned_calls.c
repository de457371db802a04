/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of partitioned messages (src/tmpi/part/partitioned.c): which requests they make and
 * accept, and what they give back where a request cannot be made. Channels are stand-ins here.
 */
#include <mltp/mltp.h>

#include "tmpi/error/errors.h"
#include "tmpi/mailbox/request_pool.h"
#include "tmpi/match/rank_wait.h"
#include "tmpi/part/channel.h"
#include "traced_calls.h"

enum { COUNT = 5, TAG = 6, PEER = 3, PARTITIONS = 4 };

struct tm_job tm_job;
struct tm_request_cache tm_request_caches[TM_REQUEST_CACHES];
static struct tm_rank ranks[2];
static struct tm_comm comm;
static struct tm_channel channel;
static struct tm_request kept;
static char buffer[10];
static int entered;    /* calls that have looked whether MPI has begun */
static int filled;     /* requests that hold what they were filled with */
static int fill_gives; /* an error */
static bool info_is_wrong, memory_is_out, no_channel, is_ready, has_arrived;

/* ---- the rest of the library */

int tm_fail(struct tm_comm *of, const char *call, int code, const char *format, ...) {
  char text[100];
  va_list list;
  assert_true((of == NULL || of == &comm) && call != NULL);
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  note("%s: [%s]", call, text);
  return code;
}

int tm_fail_code(struct tm_comm *of, const char *call, int code) {
  return tm_fail(of, call, code, "%s", code == MPI_ERR_NO_MEM ? "no memory" : "another error");
}

int tm_check_info(struct tm_comm *of, const char *call, MPI_Info handle) {
  assert_true(of == &comm && call != NULL && handle == MPI_INFO_NULL);
  return info_is_wrong ? MPI_ERR_INFO : MPI_SUCCESS;
}

int tm_request_fill(struct tm_request *request, const struct tm_arguments *a, enum tm_kind kind,
                    enum tm_mode mode) {
  assert_true(mode == TM_STANDARD && a->buffer == buffer && a->count == COUNT &&
              a->type == MPI_INT && a->comm == MPI_COMM_WORLD);
  assert_string_equal(a->call, kind == TM_SEND ? "MPI_Psend_init" : "MPI_Precv_init");
  if (fill_gives != MPI_SUCCESS) return fill_gives;
  *request =
      (struct tm_request){.magic = TM_REQUEST_MAGIC,
                          .kind = kind,
                          .peer = a->peer,
                          .comm = &comm,
                          .dest = kind == TM_SEND && a->peer >= 0 ? &ranks[a->peer % 2] : NULL,
                          .extra = &channel};
  filled++;
  return MPI_SUCCESS;
}

struct tm_request *tm_request_keep(const struct tm_request *request) {
  if (memory_is_out) return NULL;
  kept = *request;
  return &kept;
}

void tm_request_empty(struct tm_request *request) {
  assert_true(request != &kept && request->comm == &comm);
  filled--;
}

int mltp_vp(void) { return -1; }

void tm_request_free_slow(struct tm_request_cache *cache, struct tm_request *request) {
  assert_true(cache == NULL && request == &kept);
  note("free");
}

/* A call before MPI_Init() ends the job. */
struct tm_rank *tm_enter(const char *call) {
  assert_non_null(call);
  entered++;
  return &ranks[0];
}

struct tm_rank *tm_rank_self(void) { return &ranks[0]; }

void mltp_yield(void) { note("yield"); }

void tm_deferred_release(struct tm_rank *rank) { fail_msg("%p", (void *)rank); }
bool tm_user_code_lend_slow(struct tm_rank *rank) { return rank == NULL; }
void tm_user_code_take(struct tm_rank *rank) { fail_msg("%p", (void *)rank); }

/* ---- channels */

static bool join(struct tm_request *request, int partitions, const char *which) {
  assert_true(request == &kept && request->extra == NULL);
  note("%s %d", which, partitions);
  if (!no_channel) request->extra = &channel;
  return !no_channel;
}

bool tm_channel_join(struct tm_request *request, int partitions) {
  return join(request, partitions, "joins");
}

bool tm_far_channel_join(struct tm_request *request, int partitions) {
  return join(request, partitions, "joins a node");
}

int tm_channel_start(struct tm_request *request) { return request == NULL; }
void tm_channel_leave(struct tm_request *request) { assert_non_null(request); }

bool tm_channel_ready(struct tm_channel *of, int partition) {
  assert_ptr_equal(of, &channel);
  note("ready %d", partition);
  return !is_ready;
}

bool tm_channel_arrived(struct tm_channel *of, int partition) {
  assert_true(of == &channel && partition == 1);
  return has_arrived;
}

/* ---- requests are made */

static int start(void **state) {
  (void)state;
  tm_job = (struct tm_job){.size = 2, .first_size = 2, .local = 1, .ranks = ranks};
  ranks[1].number = 1;
  channel.send.partitions = PARTITIONS;
  channel.recv.partitions = 2;
  memset(&kept, 0, sizeof kept);
  fill_gives = MPI_SUCCESS;
  info_is_wrong = memory_is_out = no_channel = is_ready = has_arrived = false;
  filled = 0;
  trace[0] = '\0';
  return 0;
}

static MPI_Request made;

static int init(bool sends, int peer, int partitions) {
  made = MPI_REQUEST_NULL;
  return sends ? PMPI_Psend_init(buffer, partitions, COUNT, MPI_INT, peer, TAG, MPI_COMM_WORLD,
                                 MPI_INFO_NULL, &made)
               : PMPI_Precv_init(buffer, partitions, COUNT, MPI_INT, peer, TAG, MPI_COMM_WORLD,
                                 MPI_INFO_NULL, &made);
}

static void check_made(bool sends, const char *joined) {
  assert_true(made == (MPI_Request)&kept && kept.kind == TM_PARTITIONED);
  assert_int_equal(kept.mode, sends ? TM_PART_SEND : TM_PART_RECV);
  assert_true(kept.persistent && kept.restart == tm_channel_start && kept.drop == tm_channel_leave);
  assert_ptr_equal(kept.extra, joined[0] != '\0' ? &channel : NULL);
  assert_int_equal(filled, 1); /* and the request has it */
  check_trace(joined);
  filled = 0;
}

static void a_request_joins_its_channel(void **state) {
  (void)state;
  assert_int_equal(init(true, 2, PARTITIONS), MPI_SUCCESS); /* rank 0, which is here */
  check_made(true, "joins 4 ");
  assert_int_equal(init(true, 2, 0), MPI_SUCCESS);
  check_made(true, "joins 0 ");
  assert_int_equal(init(false, PEER, PARTITIONS), MPI_SUCCESS);
  check_made(false, "joins 4 ");
  if (!MLTP_NODES) return;
  assert_int_equal(init(true, PEER, PARTITIONS), MPI_SUCCESS); /* it is on another node */
  check_made(true, "joins a node 4 ");
}

static void a_request_of_no_process_has_no_channel(void **state) {
  (void)state;
  for (int sends = 0; sends < 2; sends++) {
    start(NULL);
    assert_int_equal(init(sends, MPI_PROC_NULL, 1), MPI_SUCCESS);
    check_made(sends, "");
  }
}

static void check_not_made(int error, int expected, const char *why) {
  assert_int_equal(error, expected);
  assert_true(made == MPI_REQUEST_NULL && filled == 0); /* what it held is given back */
  check_trace(why);
}

static void wrong_arguments_make_no_request(void **state) {
  (void)state;
  fill_gives = MPI_ERR_COUNT;
  check_not_made(init(true, PEER, 1), MPI_ERR_COUNT, "");
  fill_gives = MPI_SUCCESS;
  info_is_wrong = true;
  check_not_made(init(true, PEER, 1), MPI_ERR_INFO, "");
  info_is_wrong = false;
  check_not_made(init(true, PEER, -1), MPI_ERR_ARG,
                 "MPI_Psend_init: [-1 partitions: the number is negative] ");
  check_not_made(init(false, MPI_ANY_SOURCE, 1), MPI_ERR_RANK,
                 "MPI_Precv_init: [a partitioned receive has no wildcards] ");
  int error = PMPI_Precv_init(buffer, 1, COUNT, MPI_INT, PEER, MPI_ANY_TAG, MPI_COMM_WORLD,
                              MPI_INFO_NULL, &made);
  check_not_made(error, MPI_ERR_TAG, "MPI_Precv_init: [a partitioned receive has no wildcards] ");
}

static void no_memory_leaves_nothing(void **state) {
  (void)state;
  memory_is_out = true;
  check_not_made(init(true, PEER, 1), MPI_ERR_NO_MEM, "MPI_Psend_init: [no memory] ");
  memory_is_out = false;
  no_channel = true;
  check_not_made(init(false, PEER, 1), MPI_ERR_NO_MEM, "joins 1 free MPI_Precv_init: [no memory] ");
  assert_int_equal(kept.magic, 0);
}

/* ---- partitions are marked */

static MPI_Request active(bool sends) {
  kept = (struct tm_request){.magic = TM_REQUEST_MAGIC,
                             .kind = TM_PARTITIONED,
                             .mode = sends ? TM_PART_SEND : TM_PART_RECV,
                             .active = true,
                             .comm = &comm,
                             .extra = &channel};
  return (MPI_Request)&kept;
}

static void check_call(int error, int expected, const char *calls) {
  assert_int_equal(error, expected);
  check_trace(calls);
}

static void partitions_are_marked_in_the_order_of_the_call(void **state) {
  static const int list[] = {3, 0, 2};
  (void)state;
  const MPI_Request send = active(true);
  check_call(PMPI_Pready(3, send), MPI_SUCCESS, "ready 3 ");
  check_call(PMPI_Pready_range(1, 3, send), MPI_SUCCESS, "ready 1 ready 2 ready 3 ");
  check_call(PMPI_Pready_range(2, 2, send), MPI_SUCCESS, "ready 2 ");
  check_call(PMPI_Pready_range(3, 1, send), MPI_SUCCESS, "");
  check_call(PMPI_Pready_list(3, list, send), MPI_SUCCESS, "ready 3 ready 0 ready 2 ");
  check_call(PMPI_Pready_list(0, NULL, send), MPI_SUCCESS, "");
  kept.extra = NULL; /* of no process */
  check_call(PMPI_Pready(1000, send), MPI_SUCCESS, "");
}

static void the_first_wrong_partition_ends_a_call(void **state) {
  static const int list[] = {1, 4, 2};
  (void)state;
  const MPI_Request send = active(true);
  check_call(PMPI_Pready(-1, send), MPI_ERR_ARG,
             "MPI_Pready: [partition -1 is not one of the 4 there are] ");
  check_call(PMPI_Pready(4, send), MPI_ERR_ARG,
             "MPI_Pready: [partition 4 is not one of the 4 there are] ");
  check_call(PMPI_Pready_range(-1, 2, send), MPI_ERR_ARG,
             "MPI_Pready_range: [partition -1 is not one of the 4 there are] ");
  check_call(PMPI_Pready_range(0, 4, send), MPI_ERR_ARG,
             "MPI_Pready_range: [partition 4 is not one of the 4 there are] ");
  check_call(PMPI_Pready_range(4, 2, send), MPI_ERR_ARG,
             "MPI_Pready_range: [partition 4 is not one of the 4 there are] ");
  check_call(PMPI_Pready_list(3, list, send), MPI_ERR_ARG,
             "ready 1 MPI_Pready_list: [partition 4 is not one of the 4 there are] ");
  is_ready = true;
  check_call(PMPI_Pready_range(0, 2, send), MPI_ERR_ARG,
             "ready 0 MPI_Pready_range: [partition 0 is ready already] ");
}

static void only_active_sends_have_partitions_to_mark(void **state) {
  static const int one[] = {0};
  (void)state;
  for (int i = 0; i < 6; i++) {
    MPI_Request request = active(true);
    if (i == 0) kept.active = false;
    if (i == 1) kept.mode = TM_PART_RECV;
    if (i == 2) kept.kind = TM_SEND;
    if (i == 3) kept.magic = 0;
    if (i == 4) request = MPI_REQUEST_NULL;
    if (i == 5) request = (MPI_Request)7;
    const char *why = i == 0 ? "the request is not active (call MPI_Start() first)"
                             : "the request is no partitioned send";
    char expected[3][120];
    static const char *const calls[] = {"MPI_Pready", "MPI_Pready_range", "MPI_Pready_list"};
    for (int j = 0; j < 3; j++) snprintf(expected[j], 120, "%s: [%s] ", calls[j], why);
    check_call(PMPI_Pready(0, request), MPI_ERR_REQUEST, expected[0]);
    check_call(PMPI_Pready_range(0, 0, request), MPI_ERR_REQUEST, expected[1]);
    check_call(PMPI_Pready_list(1, one, request), MPI_ERR_REQUEST, expected[2]);
  }
}

/* ---- what has arrived */

static void check_arrived(MPI_Request request, int expected, const char *calls) {
  int flag = 7;
  assert_int_equal(PMPI_Parrived(request, 1, &flag), MPI_SUCCESS);
  assert_int_equal(flag, expected);
  check_trace(calls);
}

static void a_partition_has_arrived_or_others_run(void **state) {
  (void)state;
  const MPI_Request recv = active(false);
  entered = 0;
  check_arrived(recv, 0, "yield ");
  assert_int_equal(entered, 1);
  has_arrived = true;
  check_arrived(recv, 1, "");
  has_arrived = false;
  kept.active = false; /* as MPI_Test() says */
  check_arrived(recv, 1, "");
  kept.active = true;
  kept.extra = NULL; /* of no process */
  check_arrived(recv, 1, "");
  check_arrived(MPI_REQUEST_NULL, 1, "");
}

static void partitions_of_other_requests_do_not_arrive(void **state) {
  int flag;
  (void)state;
  MPI_Request recv = active(false);
  check_call(PMPI_Parrived(recv, 2, &flag), MPI_ERR_ARG,
             "MPI_Parrived: [partition 2 is not one of the 2 there are] ");
  check_call(PMPI_Parrived(active(true), 0, &flag), MPI_ERR_REQUEST,
             "MPI_Parrived: [the request is no partitioned receive] ");
}

#define REQUEST(test) cmocka_unit_test_setup(test, start)

int main(void) {
  const struct CMUnitTest tests[] = {
      REQUEST(a_request_joins_its_channel),
      REQUEST(a_request_of_no_process_has_no_channel),
      REQUEST(wrong_arguments_make_no_request),
      REQUEST(no_memory_leaves_nothing),
      REQUEST(partitions_are_marked_in_the_order_of_the_call),
      REQUEST(the_first_wrong_partition_ends_a_call),
      REQUEST(only_active_sends_have_partitions_to_mark),
      REQUEST(a_partition_has_arrived_or_others_run),
      REQUEST(partitions_of_other_requests_do_not_arrive),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
