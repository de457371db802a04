/* SPDX-License-Identifier: Apache-2.0 */
/* A rank comes through MPI_Init(), MPI_Finalize() and MPI_Abort() (src/tmpi/env/init.c): what it
 * tells the rest of the library, in which order, and what else can be asked of the environment. */
#include <mltp/mltp.h>
#include <unistd.h>

#include "captured.h"
#include "core/internal/locks.h"
#include "counted_blocks.h"
#include "tmpi/attr/attribute.h"
#include "tmpi/coll/coll.h"
#include "tmpi/env/init.h"
#include "tmpi/env/job.h"
#include "tmpi/env/launch.h"
#include "tmpi/error/errors.h"
#include "tmpi/object/comm.h"
#include "tmpi/object/group.h"
#include "tmpi/object/world.h"
#include "tmpi/rank/user_code.h"
#include "tmpi/rank/worker.h"
#include "traced_calls.h"

enum { OWN = 1 /* the calling rank */, ENDS = 77 /* captured.h */ };

struct tm_job tm_job;
static struct tm_rank rank;
static struct tm_rank *current; /* of the calling thread */
static struct tm_comm world, self;
static union {
  struct tm_group group;
  char bytes[sizeof(struct tm_group) + 4 * sizeof(int)];
} group, remote;

/* ---- stand-ins */

void __real__exit(int status) __attribute__((noreturn));
void __wrap__exit(int status) __attribute__((noreturn));
int __wrap_gethostname(char *name, size_t size);

static const char *refusal;
static int failing; /* the step of a start that fails, by its order below; 0: none */
static bool thread_is_other, is_shared, comm_is_far, info_is_bad;
static struct tm_comm *comm_found;

struct tm_rank *tm_rank_self(void) { return current; }
int tm_rank_number(void) { return OWN; }
const char *tm_launch_refusal(void) { return refusal; }

mltp_t *mltp_self(void) {
  static char own, other;
  return (mltp_t *)(void *)(thread_is_other ? &other : &own);
}

int mltp_init(int vps) {
  note("mltp:%d", vps);
  return failing == 1;
}

int tm_job_start(int size, int most, int first, int local) {
  note("job:%d,%d,%d,%d", size, most, first, local);
  return failing == 2;
}

int tm_rank_enter(int number) {
  note("enter:%d", number);
  current = &rank;
  return failing == 3;
}

bool tm_world_start(struct tm_rank *of) {
  note("world:%d", of == &rank);
  return failing != 4;
}

void tm_end_job(const char *on, const char *call, int code, const char *why) {
  fprintf(stderr, "%d %s:%d %s", on == NULL, call, code == MPI_ERR_OTHER, why);
  __real__exit(ENDS);
}

int tm_fail(struct tm_comm *comm, const char *call, int code, const char *format, ...) {
  assert_null(comm);
  note("%s:%.30s", call, format);
  return code;
}

int tm_fail_code(struct tm_comm *comm, const char *call, int code) {
  assert_null(comm);
  note("%s:%d", call, code == MPI_ERR_NO_MEM);
  return code;
}

void mti_lock(uint32_t *lock) {
  assert_true(lock == &rank.box.ilock);
  assert_int_equal((*lock)++, 0);
}

void mti_unlock(uint32_t *lock) {
  assert_int_equal(--*lock, 0);
  note("bounded:%d", rank.box.bounded);
}

struct tm_rank *tm_enter(const char *call) {
  note("%s", call);
  return &rank;
}

void tm_job_count_init(void) { note("counted:%d", (int)rank.stage); }
void tm_job_count_finalize(void) { note("ends"); }
struct tm_comm *tm_comm_make_self(void) { return NULL; }

int tm_attributes_delete(struct tm_attributes **attributes, void *object) {
  struct tm_comm *comm = object == (void *)MPI_COMM_SELF ? &self : &world;
  assert_ptr_equal(attributes, &comm->attributes);
  note("delete:%s", comm == &self ? "self" : "world");
  return MPI_SUCCESS;
}

void tm_barrier(struct tm_comm *comm, const char *call) {
  note("barrier:%d,%s", comm == &world, call);
}
bool tm_user_code_is_shared(const struct tm_rank *of) { return of == &rank && is_shared; }
void tm_user_code_give(struct tm_rank *of) { note("give:%d", of == &rank); }
void tm_worker_end(struct tm_rank *of) { note("worker:%d,%d", of == &rank, (int)rank.stage); }
struct tm_comm *tm_comm_of(MPI_Comm handle) { return handle == MPI_COMM_NULL ? NULL : comm_found; }
bool tm_comm_is_far(const struct tm_comm *comm) { return comm == comm_found && comm_is_far; }
void tm_job_end_output(void) { fprintf(stderr, "%soutput ", trace); }
uint64_t mltp_now(void) { return 1500000000; }

void tm_job_tell(int status, const char *format, ...) {
  fprintf(stderr, "tell:%d,%s ", status, format);
}

int tm_check_info(struct tm_comm *comm, const char *call, MPI_Info info) {
  assert_null(comm);
  note("info:%s,%d", call, info == MPI_INFO_NULL);
  return info_is_bad ? MPI_ERR_INFO : MPI_SUCCESS;
}

static void end(int number, int status) {
  note("end:%d,%d", number, status);
  if (number != OWN) return;
  fputs(trace, stderr);
  __real__exit(ENDS);
}

static void finalize(void) { note("finalize"); }
static const struct tm_rank_ends rank_ends = {.end = end, .finalize = finalize};
static const struct tm_rank_ends *ends;
const struct tm_rank_ends *tm_job_rank_ends(void) { return ends; }

void __wrap__exit(int status) {
  fprintf(stderr, "exit:%d", status);
  __real__exit(ENDS);
}

static const char *host;

int __wrap_gethostname(char *name, size_t size) {
  assert_int_equal(size, MPI_MAX_PROCESSOR_NAME - 1);
  if (host == NULL) return -1;
  memset(name, 'x', size);
  memcpy(name, host, strlen(host) < size ? strlen(host) + 1 : size); /* no end: as of a long name */
  return 0;
}

static int setup(void **state) {
  (void)state;
  rank = (struct tm_rank){.number = OWN, .world = &world, .self = &self};
  world.group = self.group = &group.group;
  tm_job = (struct tm_job){.size = 6, .first_size = 2};
  current = &rank;
  ends = NULL;
  failing = 0;
  trace[0] = '\0';
  return 0;
}

/* ---- the start */

static void a_rank_starts_with_the_level_that_it_asks_for(void **state) {
  static const struct {
    int required, provided;
  } rows[] = {{MPI_THREAD_SINGLE - 1, MPI_THREAD_SINGLE},
              {MPI_THREAD_SINGLE, MPI_THREAD_SINGLE},
              {MPI_THREAD_SERIALIZED, MPI_THREAD_SERIALIZED},
              {MPI_THREAD_MULTIPLE, MPI_THREAD_MULTIPLE},
              {MPI_THREAD_MULTIPLE + 1, MPI_THREAD_MULTIPLE}};
  int provided, flag;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    setup(state);
    rank.box.bounded = i % 2;
    assert_int_equal(MPI_Init_thread(NULL, NULL, rows[i].required, &provided), MPI_SUCCESS);
    assert_int_equal(provided, rows[i].provided);
    check_trace(provided < MPI_THREAD_MULTIPLE ? "world:1 bounded:1 counted:1 "
                                               : "world:1 bounded:0 counted:1 ");
    provided = -7;
    assert_true(MPI_Query_thread(&provided) == MPI_SUCCESS && provided == rows[i].provided);
    for (int other = 0; other < 2; other++) {
      thread_is_other = other;
      assert_true(MPI_Is_thread_main(&flag) == MPI_SUCCESS && flag == !other);
    }
    thread_is_other = false;
  }
  setup(state);
  assert_int_equal(MPI_Init(NULL, NULL), MPI_SUCCESS);
  assert_int_equal(rank.thread_level, MPI_THREAD_SINGLE);
}

static void a_rank_starts_once(void **state) {
  (void)state;
  for (int stage = TM_INITIALIZED; stage <= TM_FINALIZED; stage++) {
    rank.stage = (uint32_t)stage;
    assert_int_equal(MPI_Init(NULL, NULL), MPI_ERR_OTHER);
    check_trace("MPI_Init:called twice, or after MPI_Fin ");
  }
}

static void a_rank_without_a_world_has_not_started(void **state) {
  (void)state;
  failing = 4;
  assert_int_equal(MPI_Init(NULL, NULL), MPI_ERR_NO_MEM);
  check_trace("world:1 MPI_Init:1 ");
  assert_int_equal(rank.stage, TM_BEFORE_INIT);
}

static void spawned_ranks_are_not_of_the_jobs_start(void **state) {
  (void)state;
  rank.number = 2;
  assert_int_equal(MPI_Init(NULL, NULL), MPI_SUCCESS);
  check_trace("world:1 bounded:1 ");
}

static void a_program_by_itself_is_a_job_of_one_rank(void **state) {
  (void)state;
  assert_ptr_equal(tm_init_rank("MPI_Init"), &rank);
  assert_false(tm_job.alone);
  current = NULL;
  assert_ptr_equal(tm_init_rank("MPI_Init"), &rank);
  check_trace("mltp:1 job:1,1,0,1 enter:0 ");
  assert_true(tm_job.alone);
  for (failing = 1; failing < 4; failing++) {
    current = NULL;
    tm_init_rank("MPI_Init");
    assert_non_null(strstr(trace, "MPI_Init:no memory, or a bad MLTP_ vari "));
    trace[0] = '\0';
  }
}

static void start_refused(const void *unused) {
  (void)unused;
  current = NULL;
  refusal = "not by this";
  tm_init_rank("MPI_Init");
}

static void a_program_that_would_be_a_mistake_is_refused(void **state) {
  char text[200];
  (void)state;
  assert_true(captured_in_child(start_refused, NULL, text, sizeof text));
  assert_string_equal(text, "1 MPI_Init:1 not by this");
}

static void a_rank_may_ask_where_it_is(void **state) {
  int begun, over;
  (void)state;
  for (int stage = -1; stage <= TM_FINALIZED; stage++) {
    current = stage < 0 ? NULL : &rank;
    rank.stage = stage < 0 ? TM_FINALIZED : (uint32_t)stage;
    assert_int_equal(MPI_Initialized(&begun), MPI_SUCCESS);
    assert_int_equal(MPI_Finalized(&over), MPI_SUCCESS);
    assert_int_equal(begun, stage > TM_BEFORE_INIT);
    assert_int_equal(over, stage == TM_FINALIZED);
  }
}

/* ---- the end */

static void attributes_are_deleted_before_the_others_are_waited_for(void **state) {
  (void)state;
  assert_int_equal(MPI_Finalize(), MPI_SUCCESS);
  check_trace("MPI_Finalize ends delete:self delete:world barrier:1,MPI_Finalize worker:1,2 ");
  setup(state);
  rank.self = NULL; /* not used so far */
  ends = &rank_ends;
  is_shared = true;
  assert_int_equal(MPI_Finalize(), MPI_SUCCESS);
  check_trace("MPI_Finalize ends delete:world finalize give:1 worker:1,2 ");
  is_shared = false;
}

struct abort_row {
  MPI_Comm handle;
  int code;
  const char *expected;
};

static void abort_job(const void *row_) {
  const struct abort_row *row = row_;
  MPI_Abort(row->handle, row->code);
}

static void check_abort(MPI_Comm handle, int code, const char *expected) {
  const struct abort_row row = {handle, code, expected};
  char text[400];
  assert_true(captured_in_child(abort_job, &row, text, sizeof text));
  assert_string_equal(text, expected);
}

#define JOB_ENDS(code, status)                                                                     \
  "output tmpi: rank 1 called MPI_Abort(" #code ")\ntell:" #status                                 \
  ",rank %d called MPI_Abort(%d) exit:" #status

static void without_ranks_that_could_continue_the_job_ends(void **state) {
  (void)state;
  check_abort(MPI_COMM_SELF, 3, JOB_ENDS(3, 3));
  check_abort(MPI_COMM_SELF, 0, JOB_ENDS(0, 1));     /* no success */
  check_abort(MPI_COMM_SELF, 256, JOB_ENDS(256, 1)); /* nor in eight bits */
  check_abort(MPI_COMM_SELF, 257, JOB_ENDS(257, 1));
  ends = &rank_ends;
  comm_found = &world;
  check_abort(MPI_COMM_WORLD, 3, JOB_ENDS(3, 3));
  check_abort(MPI_COMM_NULL, 3, JOB_ENDS(3, 3));
  comm_is_far = true;
  check_abort(MPI_COMM_SELF, 3, JOB_ENDS(3, 3));
  comm_is_far = false;
}

#define CONTINUE(count)                                                                            \
  "WARNING: tmpi: rank 1 called MPI_Abort(3) (the " #count                                         \
  " ranks that are not in its "                                                                    \
  "communicator continue)\n"

static void the_members_of_a_communicator_end(void **state) {
  struct tm_comm some = {.size = 3, .group = &group.group};
  const int members[] = {0, OWN, 4}, others[] = {2, 5};
  (void)state;
  ends = &rank_ends;
  comm_found = &some;
  group.group.size = 3;
  memcpy(group.group.ranks, members, sizeof members);
  check_abort((MPI_Comm)&some, 3, CONTINUE(3) "end:0,3 end:4,3 end:1,3 ");
  some.inter = true;
  some.remote = &remote.group;
  remote.group.size = 2;
  memcpy(remote.group.ranks, others, sizeof others);
  check_abort((MPI_Comm)&some, 3, CONTINUE(1) "end:0,3 end:4,3 end:2,3 end:5,3 end:1,3 ");
}

/* ---- the environment */

static void a_processor_has_the_hosts_name(void **state) {
  char name[MPI_MAX_PROCESSOR_NAME], all[MPI_MAX_PROCESSOR_NAME + 10];
  int length;
  (void)state;
  host = "host";
  assert_int_equal(MPI_Get_processor_name(name, &length), MPI_SUCCESS);
  assert_true(strcmp(name, "host") == 0 && length == 4);
  host = NULL;
  assert_int_equal(MPI_Get_processor_name(name, &length), MPI_SUCCESS);
  assert_true(strcmp(name, "localhost") == 0 && length == 9);
  memset(all, 'h', sizeof all - 1);
  all[sizeof all - 1] = '\0';
  host = all;
  memset(name, 'z', sizeof name);
  assert_int_equal(MPI_Get_processor_name(name, &length), MPI_SUCCESS);
  assert_int_equal(length, MPI_MAX_PROCESSOR_NAME - 1);
  check_trace("MPI_Get_processor_name MPI_Get_processor_name MPI_Get_processor_name ");
}

static void versions_and_times_are_given(void **state) {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int version = -7, minor = -7, length = -7;
  (void)state;
  assert_int_equal(MPI_Get_version(&version, &minor), MPI_SUCCESS);
  assert_true(version == MPI_VERSION && minor == MPI_SUBVERSION);
  assert_int_equal(MPI_Get_library_version(text, &length), MPI_SUCCESS);
  assert_int_equal(length, strlen(text));
  assert_true(MPI_Wtime() == 1.5 && MPI_Wtick() == 1e-9);
  assert_int_equal(MPI_Pcontrol(3), MPI_SUCCESS);
}

static void memory_is_allocated_and_freed(void **state) {
  char *memory = NULL;
  (void)state;
  for (int size = 0; size < 3; size++) {
    assert_int_equal(MPI_Alloc_mem(size, MPI_INFO_NULL, &memory), MPI_SUCCESS);
    memset(memory, 1, (size_t)size);
    assert_int_equal(blocks, 1);
    assert_int_equal(MPI_Free_mem(memory), MPI_SUCCESS);
    assert_int_equal(blocks, 0);
    check_trace("MPI_Alloc_mem info:MPI_Alloc_mem,1 MPI_Free_mem ");
  }
  memory = NULL;
  assert_int_equal(MPI_Alloc_mem(-1, MPI_INFO_NULL, &memory), MPI_ERR_SIZE);
  memory_is_out = true;
  assert_int_equal(MPI_Alloc_mem(8, MPI_INFO_NULL, &memory), MPI_ERR_NO_MEM);
  memory_is_out = false;
  info_is_bad = true;
  assert_int_equal(MPI_Alloc_mem(8, MPI_INFO_NULL, &memory), MPI_ERR_INFO);
  info_is_bad = false;
  assert_null(memory);
  assert_int_equal(blocks, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(a_rank_starts_with_the_level_that_it_asks_for, setup),
      cmocka_unit_test_setup(a_rank_starts_once, setup),
      cmocka_unit_test_setup(a_rank_without_a_world_has_not_started, setup),
      cmocka_unit_test_setup(spawned_ranks_are_not_of_the_jobs_start, setup),
      cmocka_unit_test_setup(a_program_by_itself_is_a_job_of_one_rank, setup),
      cmocka_unit_test_setup(a_program_that_would_be_a_mistake_is_refused, setup),
      cmocka_unit_test_setup(a_rank_may_ask_where_it_is, setup),
      cmocka_unit_test_setup(attributes_are_deleted_before_the_others_are_waited_for, setup),
      cmocka_unit_test_setup(without_ranks_that_could_continue_the_job_ends, setup),
      cmocka_unit_test_setup(the_members_of_a_communicator_end, setup),
      cmocka_unit_test_setup(a_processor_has_the_hosts_name, setup),
      cmocka_unit_test_setup(versions_and_times_are_given, setup),
      cmocka_unit_test_setup(memory_is_allocated_and_freed, setup),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
