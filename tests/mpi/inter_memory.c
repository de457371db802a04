/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that make communicators of two groups, where each allocation fails in turn (src/tmpi/comm,
 * object/comm.c): the call returns MPI_ERR_NO_MEM and gives no communicator, and its blocks and its
 * references to groups are given back. no_memory.c does so for calls of one rank in a real job;
 * here the other ranks are stand-ins, which do not wait for the one that fails.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "counted_blocks.h"
#include "internal_locks.h"
#include "tmpi/coll/coll.h"
#include "tmpi/comm/split.h"
#include "tmpi/error/errors.h"
#include "tmpi/object/errhandler.h"
#include "tmpi/object/info.h"
#include "tmpi/object/session.h"
#include "tmpi/object/span.h"
#include "tmpi/object/team.h"
#include "tmpi/object/topology.h"

enum { OWN = 2, OTHERS = 2, CONTEXT = 400, MOST = 100 };

struct tm_job tm_job;
struct tm_type tm_predefined[TM_PREDEFINED_COUNT];
static struct tm_rank rank;
static struct tm_comm *world, *inter; /* of the own two ranks; of these and two others */
static struct tm_group *own;
static int teams;   /* that have been joined, and not left */
static int forgone; /* teams that the caller has not joined, for want of memory */
static jmp_buf job_end;

struct tm_team *tm_team_join(uint64_t context, const struct tm_group *group) {
  assert_true(context != 0 && group->size > 1);
  if (allocation_fails()) return NULL;
  teams++;
  return (struct tm_team *)&teams;
}

struct tm_vp_group *tm_team_vp_group(struct tm_team *team, int number) {
  assert_true(team == (struct tm_team *)&teams && number == 0);
  return NULL;
}

void tm_team_forgo(uint64_t context, const struct tm_group *group) {
  assert_true(context != 0 && group->size > 1);
  assert_true(allocations_left < 0); /* one has failed */
  forgone++;
}

void tm_team_leave(struct tm_team *team) {
  assert_ptr_equal(team, (struct tm_team *)&teams);
  teams--;
}

/* ---- the other ranks */

/* What a leader hears of the other side: first the head, then the ranks. */
void tm_coll_exchange(struct tm_coll *coll, const void *send, size_t send_count,
                      struct tm_type *send_type, int dest, void *recv, size_t recv_count,
                      struct tm_type *recv_type, int source) {
  static const int ranks[OTHERS] = {OWN, OWN + 1};
  struct {
    uint64_t context;
    int32_t size, high;
  } head = {CONTEXT, OTHERS, 1};
  assert_true(coll->comm->inter && send != NULL && send_type == recv_type && dest == source);
  assert_true(send_count == recv_count);
  if (recv_count == sizeof head)
    memcpy(recv, &head, sizeof head);
  else
    memcpy(recv, ranks, recv_count);
}

void tm_bcast(struct tm_coll *coll, void *buffer, size_t count, struct tm_type *type, int root) {
  assert_true(buffer != NULL && count > 0 && type != NULL && root == coll->comm->rank);
  if (coll->comm->size == 1) return;
  /* the other member on this node has the group, too, and leaves it */
  struct tm_group *shared;
  memcpy(&shared, buffer, sizeof shared);
  tm_group_release(shared);
}

void tm_coll_send(struct tm_coll *coll, const void *buffer, size_t count, struct tm_type *type,
                  int dest) {
  assert_true(coll->comm->inter && buffer != NULL && count > 0 && type != NULL && dest == 1);
}

void tm_coll_recv(struct tm_coll *coll, void *buffer, size_t count, struct tm_type *type,
                  int source) {
  fail_msg("%p %p %zu %p %d", (void *)coll, buffer, count, (void *)type, source);
}

struct tm_coll tm_coll_tagged(struct tm_comm *comm, const char *call, int tag) {
  return (struct tm_coll){comm, call, tag, MPI_SUCCESS, 0, 0, 0};
}

/* ---- the rest of the library */

void tm_panic(const char *format, ...) {
  assert_non_null(format);
  longjmp(job_end, 1);
}

int tm_fail(struct tm_comm *comm, const char *call, int code, const char *format, ...) {
  fail_msg("%p %s %d %s", (void *)comm, call, code, format);
  return code;
}

int tm_fail_by(struct tm_errhandler *handler, const char *call, int code, const char *why) {
  fail_msg("%p %s %d %s", (void *)handler, call, code, why);
  return code;
}

int tm_fail_code(struct tm_comm *comm, const char *call, int code) {
  assert_true(call != NULL && (comm == NULL || comm == world || comm == inter || !comm->inter));
  return code;
}

struct tm_rank *tm_enter(const char *call) {
  assert_non_null(call);
  return &rank;
}

int tm_get_comm(const char *call, MPI_Comm handle, struct tm_comm **comm) {
  assert_non_null(call);
  *comm = tm_comm_of(handle);
  return *comm != NULL ? MPI_SUCCESS : MPI_ERR_COMM;
}

struct tm_comm *tm_comm_make_self(void) { return NULL; }
struct tm_rank *tm_rank_self(void) { return &rank; }
int tm_rank_number(void) { return 0; }

struct tm_errhandler *tm_errhandler_fatal(void) { return NULL; }
struct tm_errhandler *tm_errhandler_returning(void) { return NULL; }
struct tm_errhandler *tm_errhandler_of(MPI_Errhandler handle) {
  return (struct tm_errhandler *)handle;
}
struct tm_errhandler *tm_errhandler_get(uint32_t *ilock, struct tm_errhandler *const *at) {
  assert_ptr_equal(ilock, &rank.box.ilock);
  return *at;
}
void tm_errhandler_set(uint32_t *ilock, struct tm_errhandler **at, struct tm_errhandler *handler) {
  assert_ptr_equal(ilock, &rank.box.ilock);
  *at = handler;
}
void tm_errhandler_release(struct tm_errhandler *handler) {
  assert_true(handler == NULL || handler == (struct tm_errhandler *)MPI_ERRORS_RETURN);
}

struct tm_info *tm_info_of(MPI_Info handle) {
  assert_ptr_equal(handle, MPI_INFO_NULL);
  return NULL;
}
struct tm_info *tm_info_hints(const struct tm_info *from) {
  assert_null(from);
  return NULL;
}
void tm_info_free(struct tm_info *info) { assert_null(info); }
void tm_topology_free(struct tm_topology *topology) { assert_null(topology); }
void tm_session_hold(struct tm_session *session) { assert_null(session); }
void tm_session_release(struct tm_session *session) { assert_null(session); }
bool tm_group_spans(const struct tm_group *group) { return group->size < 0; }
struct tm_group *tm_group_local(const struct tm_group *group) {
  fail_msg("%p", (const void *)group);
  return NULL;
}
struct tm_span *tm_span_new(const struct tm_group *group, int number) {
  fail_msg("%p %d", (const void *)group, number);
  return NULL;
}
int tm_comm_split(struct tm_comm *comm, const char *call, int color, int key, MPI_Comm *result) {
  fail_msg("%p %s %d %d %p", (void *)comm, call, color, key, (void *)result);
  return MPI_ERR_INTERN;
}
int PMPI_Allgather(const void *out, int out_count, MPI_Datatype out_type, void *in, int in_count,
                   MPI_Datatype in_type, MPI_Comm comm) {
  fail_msg("%p %d %p %p %d %p %p", out, out_count, (void *)out_type, in, in_count, (void *)in_type,
           (void *)comm);
  return MPI_ERR_INTERN;
}

/* ---- */

/* A group of numbers in a row. */
static struct tm_group *group_from(int first, int size) {
  struct tm_group *group = tm_group_new(size);
  assert_non_null(group);
  for (int i = 0; i < size; i++) group->ranks[i] = first + i;
  return group;
}

static int start(void **state) {
  (void)state;
  allocations_left = -1;
  forgone = 0;
  tm_job = (struct tm_job){
      .first_size = OWN + OTHERS, .local = OWN + OTHERS, .most = OWN + OTHERS, .next_context = 10};
  tm_predefined[(uintptr_t)MPI_BYTE - TM_PREDEFINED_FIRST].magic = TM_TYPE_MAGIC;
  own = group_from(0, OWN);
  tm_group_hold(own);
  tm_group_hold(own);
  world = tm_comm_new(2, own, NULL);
  inter = tm_comm_add_local(tm_comm_new(4, own, group_from(OWN, OTHERS)));
  assert_true(world != NULL && inter != NULL);
  return 0;
}

static int end(void **state) {
  (void)state;
  allocations_left = -1;
  tm_comm_release(world);
  tm_comm_release(inter);
  tm_group_release(own);
  assert_int_equal(blocks, 0);
  assert_int_equal(teams, 0);
  return 0;
}

/* @return false: the call has ended the job. */
static bool returns(int (*call)(MPI_Comm *result), MPI_Comm *made, int *error) {
  if (setjmp(job_end) != 0) return false;
  *error = call(made);
  return true;
}

/* Where no memory ends the job, since the others could not learn of it, nothing has to be given
 * back. with_teams: communicators that the call makes and that have a team. */
static void check_each(int (*call)(MPI_Comm *result), int with_teams) {
  bool failed = true;
  for (int at = 0; failed && at < MOST; at++) {
    MPI_Comm made = MPI_COMM_NULL;
    int before = blocks, teams_before = teams;
    uint32_t held = own->refs, others_held = inter->remote->refs;
    allocations_left = at;
    int error;
    if (!returns(call, &made, &error)) {
      blocks = before;
      teams = teams_before;
      own->refs = held;
      continue;
    }
    failed = allocations_left < 0;
    assert_int_equal(error, failed ? MPI_ERR_NO_MEM : MPI_SUCCESS);
    assert_true((made == MPI_COMM_NULL) == failed);
    if (!failed) tm_comm_release(tm_comm_of(made));
    assert_int_equal(blocks, before);
    assert_int_equal(teams, teams_before);
    assert_true(own->refs == held && inter->remote->refs == others_held);
  }
  assert_false(failed);
  /* once for want of the communicator's memory, once for want of the team's */
  assert_int_equal(forgone, 2 * with_teams);
}

static int create(MPI_Comm *result) {
  return PMPI_Intercomm_create((MPI_Comm)world, 0, (MPI_Comm)inter, 1, 7, result);
}

static int merge(MPI_Comm *result) { return PMPI_Intercomm_merge((MPI_Comm)inter, 0, result); }

static int create_from_group(MPI_Comm *result) {
  return PMPI_Comm_create_from_group((MPI_Group)own, "tag", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                     result);
}

static int create_from_groups(MPI_Comm *result) {
  return PMPI_Intercomm_create_from_groups((MPI_Group)own, 0, (MPI_Group)inter->remote, 1, "tag",
                                           MPI_INFO_NULL, MPI_ERRORS_RETURN, result);
}

static void intercommunicators(void **state) {
  (void)state;
  check_each(create, 1);
}

static void merged_groups(void **state) {
  (void)state;
  check_each(merge, 1);
}

static void communicators_of_groups(void **state) {
  (void)state;
  check_each(create_from_group, 1);
}

static void intercommunicators_of_groups(void **state) {
  (void)state;
  check_each(create_from_groups, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(intercommunicators, start, end),
      cmocka_unit_test_setup_teardown(merged_groups, start, end),
      cmocka_unit_test_setup_teardown(communicators_of_groups, start, end),
      cmocka_unit_test_setup_teardown(intercommunicators_of_groups, start, end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
