/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MPI_Comm_create() and MPI_Comm_create_group() (src/tmpi/comm/create.c), message by message: which
 * member makes the context of the new communicator, and which others it and the first members of
 * other nodes tell. The ranks of the job are those of the parent, backwards.
 */
#include "traced_calls.h"

#include <stdlib.h>

#include "counted_blocks.h"
#include "tmpi/coll/coll.h"
#include "tmpi/comm/split.h"
#include "tmpi/error/errors.h"
#include "tmpi/object/span.h"

enum { NODES = 3, PER_NODE = 10, RANKS = NODES * PER_NODE, OWN = 12, CONTEXT = 6, HEARD = 8 };

struct tm_job tm_job;
struct tm_type tm_predefined[TM_PREDEFINED_COUNT];
static struct tm_comm parent;
static struct tm_group *whole, *members; /* of the parent; that the program names */
static uint64_t context;                 /* that the caller can make; 0: it has too many */
static struct tm_common split;           /* what the members have in common */
static struct tm_group *const shared = (struct tm_group *)(uintptr_t)64;

/* In the parent. */
static int place_of(int number) { return RANKS - 1 - number; }
static int number_of(int place) { return RANKS - 1 - place; }

int tm_rank_number(void) { return OWN; }

struct tm_rank *tm_enter(const char *call) {
  assert_string_equal(call, "MPI_Comm_create_group");
  return NULL;
}

int tm_get_comm(const char *call, MPI_Comm handle, struct tm_comm **comm) {
  assert_non_null(call);
  *comm = handle == MPI_COMM_NULL ? NULL : &parent;
  return handle == MPI_COMM_NULL ? MPI_ERR_COMM : MPI_SUCCESS;
}

int tm_fail(struct tm_comm *comm, const char *call, int code, const char *format, ...) {
  assert_true((comm == &parent || code == MPI_ERR_TAG) && call != NULL && format != NULL);
  return code;
}

int tm_too_many_comms(struct tm_comm *comm, const char *call) {
  assert_true(comm == &parent && call != NULL);
  return MPI_ERR_OTHER;
}

void tm_panic(const char *format, ...) {
  fail_msg("%s", format);
  abort();
}

struct tm_group *tm_group_of(MPI_Group handle) { return handle == MPI_GROUP_NULL ? NULL : members; }

int tm_group_find(struct tm_group *group, int number) {
  if (group == whole) return number < RANKS - 1 ? place_of(number) : MPI_UNDEFINED;
  for (int i = 0; i < group->size; i++)
    if (group->ranks[i] == number) return i;
  return MPI_UNDEFINED;
}

void tm_group_release(struct tm_group *group) {
  if (group == shared) note("released");
}

struct tm_group *tm_group_new(int size) {
  fail_msg("%d", size);
  return NULL;
}

uint64_t tm_context_new_limited(void) {
  note("made");
  return context;
}

struct tm_coll tm_coll_tagged(struct tm_comm *comm, const char *call, int tag) {
  return (struct tm_coll){.comm = comm, .call = call, .tag = tag};
}

/* A context, or all that members have in common. */
void tm_coll_send(struct tm_coll *coll, const void *buffer, size_t count, struct tm_type *type,
                  int dest) {
  uint64_t sent;
  assert_true(coll->comm == &parent && type == tm_type_of(MPI_BYTE));
  memcpy(&sent, buffer, sizeof sent);
  note("%s%d>%d", count == sizeof sent ? "" : "all", (int)sent, number_of(dest));
}

void tm_coll_recv(struct tm_coll *coll, void *buffer, size_t count, struct tm_type *type,
                  int source) {
  const struct tm_common all = {HEARD, shared};
  const uint64_t heard = HEARD;
  assert_true(coll->comm == &parent && type == tm_type_of(MPI_BYTE));
  bool is_context = count == sizeof heard;
  memcpy(buffer, is_context ? (const void *)&heard : &all, count);
  note("%s<%d", is_context ? "" : "all", number_of(source));
}

struct tm_common tm_common_new(const struct tm_comm *comm, uint64_t of, const int *places,
                               int count) {
  assert_ptr_equal(comm, &parent);
  note("new%d", (int)of);
  assert_int_equal(count, members->size);
  for (int i = 0; i < count; i++) assert_int_equal(number_of(places[i]), members->ranks[i]);
  return (struct tm_common){of, shared};
}

int tm_common_finish(struct tm_comm *comm, const char *call, const struct tm_common *common,
                     MPI_Comm *result) {
  assert_true(comm == &parent && call != NULL && result != NULL);
  note("%s%d", common->group == NULL ? "none" : "finish", (int)common->context);
  return MPI_SUCCESS;
}

void tm_split(struct tm_coll *coll, int color, int key, struct tm_common *common) {
  assert_ptr_equal(coll->comm, &parent);
  note("split:%d:%d", color == MPI_UNDEFINED ? -1 : number_of(color),
       key == MPI_UNDEFINED ? -1 : key);
  *common = split;
}

int tm_intercomm_split(struct tm_comm *comm, const char *call, int color, int key,
                       MPI_Comm *result) {
  assert_true(comm == &parent && call != NULL && result != NULL);
  note("sides:%d:%d", color == MPI_UNDEFINED ? -1 : color, key == MPI_UNDEFINED ? -1 : key);
  return MPI_SUCCESS;
}

static int start(void **state) {
  (void)state;
  tm_job = (struct tm_job){.first = PER_NODE, .local = PER_NODE, .first_size = RANKS};
  tm_predefined[(uintptr_t)MPI_BYTE - TM_PREDEFINED_FIRST].magic = TM_TYPE_MAGIC;
  whole = calloc(1, sizeof *whole + RANKS * sizeof(int));
  parent = (struct tm_comm){.group = whole, .size = RANKS, .rank = place_of(OWN)};
  context = CONTEXT;
  return whole == NULL;
}

static int end(void **state) {
  (void)state;
  free(whole);
  free(members);
  members = NULL;
  assert_int_equal(blocks, 0);
  return 0;
}

/* The group has these ranks; -1: no more. */
static void name(const int *numbers) {
  int size = 0;
  while (numbers[size] >= 0) size++;
  free(members);
  members = calloc(1, sizeof *members + ((size_t)size + 1) * sizeof(int));
  assert_non_null(members);
  members->size = size;
  for (int i = 0; i < size; i++) members->ranks[i] = numbers[i];
}

static void by_members(const int *numbers, const char *expected) {
  MPI_Comm result;
  name(numbers);
  assert_int_equal(PMPI_Comm_create_group(MPI_COMM_WORLD, MPI_GROUP_EMPTY, 0, &result),
                   MPI_SUCCESS);
  check_trace(expected);
}

static void the_first_member_makes_the_context(void **state) {
  (void)state;
  by_members((int[]){12, -1}, "made new6 released finish6 ");
  by_members((int[]){12, 15, 11, -1}, "made new6 all6>15 all6>11 released finish6 ");
  by_members((int[]){15, 12, -1}, "all<15 finish8 ");
  by_members((int[]){15, -1}, "none0 "); /* this one is no member */
  by_members((int[]){-1}, "none0 ");
  context = 0;
  by_members((int[]){12, 15, -1}, "made new0 all0>15 released finish0 ");
}

static void first_members_of_nodes_tell_the_others_there(void **state) {
  (void)state;
  by_members((int[]){12, 5, 13, 25, 6, -1}, "made 6>5 6>25 new6 all6>13 released finish6 ");
  by_members((int[]){5, 12, 25, 13, 14, -1}, "<5 new8 all8>13 all8>14 released finish8 ");
  by_members((int[]){5, 13, 12, -1}, "all<13 finish8 ");
  by_members((int[]){5, 25, -1}, "none0 ");
}

static void groups_without_common_members_are_made_at_once(void **state) {
  MPI_Comm result = MPI_COMM_WORLD;
  (void)state;
  split = (struct tm_common){CONTEXT, shared};
  name((int[]){15, 12, -1});
  assert_int_equal(PMPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &result), MPI_SUCCESS);
  check_trace("split:15:1 finish6 ");
  split = (struct tm_common){0, shared}; /* a member has too many */
  assert_int_equal(PMPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &result), MPI_SUCCESS);
  check_trace("split:15:1 finish0 ");
  name((int[]){15, -1});
  split = (struct tm_common){CONTEXT, NULL};
  assert_int_equal(PMPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &result), MPI_SUCCESS);
  check_trace("split:-1:-1 none6 ");
  split = (struct tm_common){0, NULL}; /* the others fail, and so does this one */
  assert_int_equal(PMPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &result), MPI_ERR_OTHER);
  check_trace("split:-1:-1 ");
  assert_ptr_equal(result, MPI_COMM_NULL);
}

static void sides_of_an_intercommunicator_are_split(void **state) {
  MPI_Comm result;
  (void)state;
  parent.inter = true;
  name((int[]){15, 12, -1});
  assert_int_equal(PMPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &result), MPI_SUCCESS);
  check_trace("sides:0:1 ");
  name((int[]){15, -1});
  assert_int_equal(PMPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &result), MPI_SUCCESS);
  check_trace("sides:-1:-1 ");
}

static void wrong_arguments_are_refused(void **state) {
  MPI_Comm result;
  (void)state;
  name((int[]){15, RANKS - 1, -1}); /* which is not in the parent */
  assert_int_equal(PMPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &result), MPI_ERR_GROUP);
  assert_int_equal(PMPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_NULL, &result), MPI_ERR_GROUP);
  assert_int_equal(PMPI_Comm_create(MPI_COMM_NULL, MPI_GROUP_NULL, &result), MPI_ERR_COMM);
  assert_int_equal(PMPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, NULL), MPI_ERR_ARG);
  assert_int_equal(PMPI_Comm_create_group(MPI_COMM_WORLD, MPI_GROUP_EMPTY, -1, &result),
                   MPI_ERR_TAG);
  check_trace("");
}

#define CREATED(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void) {
  const struct CMUnitTest tests[] = {
      CREATED(the_first_member_makes_the_context),
      CREATED(first_members_of_nodes_tell_the_others_there),
      CREATED(groups_without_common_members_are_made_at_once),
      CREATED(sides_of_an_intercommunicator_are_split),
      CREATED(wrong_arguments_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
