/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments of collectives (src/tmpi/coll/arguments.c, validate.c, kinds.c): which of them count on
 * which rank, what is refused and with which words, and what is kept while a collective is
 * performed. An own group of two ranks refers to three others, or to itself.
 */
#include <stdlib.h>

#include "tmpi/coll/collective.h"
#include "tmpi/coll/op.h"
#include "tmpi/error/errors.h"
#include "tmpi/object/topology.h"
#include "traced_calls.h"

enum { OWN = 2, OTHERS = 3, SOURCES = 1, DESTS = 4, MOST = 5, RANK = 1 };

struct tm_type tm_predefined[TM_PREDEFINED_COUNT];
static struct tm_group own = {.size = OWN}, others = {.size = OTHERS};
static struct tm_topology topology;
static struct tm_comm comm;
static struct tm_type four = {.magic = TM_TYPE_MAGIC, .size = 4, .ub = 4},
                      eight = {.magic = TM_TYPE_MAGIC, .size = 8, .ub = 8},
                      byte = {.magic = TM_TYPE_MAGIC, .size = 1, .ub = 1},
                      empty = {.magic = TM_TYPE_MAGIC};
static const MPI_Op sum = (MPI_Op)0x21, unfit = (MPI_Op)0x22;
static char message[200];
static size_t asked; /* bytes that malloc() was last asked for */
static bool memory_is_out;

#define TYPE(name) ((MPI_Datatype) & (name))
#define NO_TYPE ((MPI_Datatype)NULL)

/* ---- the rest of the library */

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes) {
  asked = bytes;
  return memory_is_out ? NULL : __real_malloc(bytes);
}

int tm_fail(struct tm_comm *on, const char *call, int code, const char *format, ...) {
  va_list list;
  assert_ptr_equal(on, &comm);
  assert_string_equal(call, "MPI_Xyz");
  va_start(list, format);
  vsnprintf(message, sizeof message, format, list);
  va_end(list);
  return code;
}

int tm_too_many_bytes(struct tm_comm *on, const char *call, MPI_Count count,
                      const struct tm_type *type) {
  return tm_fail(on, call, MPI_ERR_COUNT, "%lld of %zu", (long long)count, type->size);
}

int tm_get_comm(const char *call, MPI_Comm handle, struct tm_comm **found) {
  assert_string_equal(call, "MPI_Xyz");
  *found = (struct tm_comm *)handle;
  return handle == (MPI_Comm)&comm ? MPI_SUCCESS : MPI_ERR_COMM;
}

int tm_get_type(struct tm_comm *on, const char *call, MPI_Datatype handle, struct tm_type **type) {
  *type = (struct tm_type *)handle;
  return handle != NO_TYPE ? MPI_SUCCESS : tm_fail(on, call, MPI_ERR_TYPE, "no type");
}

const struct tm_op *tm_op_of(MPI_Op handle) {
  return handle == sum || handle == unfit ? (const struct tm_op *)handle : NULL;
}

bool tm_op_fits(const struct tm_op *op, const struct tm_type *type) {
  assert_non_null(type);
  return op == (const struct tm_op *)sum;
}

void tm_neighbors_count(const struct tm_comm *on, int *sources, int *dests) {
  assert_ptr_equal(on, &comm);
  *sources = SOURCES;
  *dests = DESTS;
}

struct tm_part tm_part_of(const struct tm_parts *parts, int rank) {
  struct tm_type *type = parts->types != NULL ? tm_type_of(parts->types[rank]) : parts->type;
  MPI_Count count = tm_parts_count(parts, rank);
  return (struct tm_part){(char *)parts->base + rank * count * tm_type_extent(type), (size_t)count,
                          type};
}

/* ---- the collectives, which are not performed but for the name and the root */

#define PERFORMED(name, ...)                                                                       \
  int tm_call_##name(const char *call, __VA_ARGS__) {                                              \
    assert_string_equal(call, "MPI_Xyz");                                                          \
    note(#name);                                                                                   \
    return MPI_SUCCESS;                                                                            \
  }
#define UNUSED __attribute__((unused))
PERFORMED(barrier, UNUSED MPI_Comm on)
PERFORMED(bcast, UNUSED void *a, UNUSED MPI_Count b, UNUSED MPI_Datatype c, UNUSED int d,
          UNUSED MPI_Comm e)
PERFORMED(gather, UNUSED const struct tm_part *a, UNUSED MPI_Datatype b,
          UNUSED const struct tm_parts *c, UNUSED MPI_Datatype d, UNUSED int e, UNUSED MPI_Comm f)
PERFORMED(scatter, UNUSED const struct tm_parts *a, UNUSED MPI_Datatype b,
          UNUSED const struct tm_part *c, UNUSED MPI_Datatype d, UNUSED int e, UNUSED MPI_Comm f)
PERFORMED(allgather, UNUSED const struct tm_part *a, UNUSED MPI_Datatype b,
          UNUSED const struct tm_parts *c, UNUSED MPI_Datatype d, UNUSED MPI_Comm e)
PERFORMED(alltoall, UNUSED struct tm_parts *a, UNUSED MPI_Datatype b, UNUSED struct tm_parts *c,
          UNUSED MPI_Datatype d, UNUSED MPI_Comm e)
PERFORMED(reduce, UNUSED const void *a, UNUSED void *b, UNUSED MPI_Count c, UNUSED MPI_Datatype d,
          UNUSED MPI_Op e, UNUSED int f, UNUSED MPI_Comm g)
PERFORMED(allreduce, UNUSED const void *a, UNUSED void *b, UNUSED MPI_Count c,
          UNUSED MPI_Datatype d, UNUSED MPI_Op e, UNUSED MPI_Comm f)
PERFORMED(reduce_scatter, UNUSED const void *a, UNUSED const struct tm_parts *b,
          UNUSED MPI_Datatype c, UNUSED MPI_Op d, UNUSED MPI_Comm e)

int tm_call_scan(const char *call, const void *sendbuf, void *recvbuf, MPI_Count count,
                 MPI_Datatype type, MPI_Op op, MPI_Comm on, bool exclusive) {
  assert_true(call != NULL && sendbuf != recvbuf && count == 1 && type != NULL && op == sum);
  assert_ptr_equal(on, (MPI_Comm)&comm);
  note(exclusive ? "exscan" : "scan");
  return MPI_SUCCESS;
}

int tm_neighbor_allgather(const struct tm_collective *c) {
  return c->kind == &tm_neighbor_allgather_kind ? MPI_SUCCESS : MPI_ERR_INTERN;
}

int tm_neighbor_alltoall(const struct tm_collective *c) {
  return c->kind == &tm_neighbor_alltoall_kind ? MPI_SUCCESS : MPI_ERR_INTERN;
}

/* ---- which arguments count */

static char sent[64], filled[64];

static struct tm_collective collective(const struct tm_collective_kind *kind, int root) {
  return (struct tm_collective){.call = "MPI_Xyz",
                                .kind = kind,
                                .send = {.base = sent, .count = 1},
                                .recv = {.base = filled, .count = 1},
                                .sendtype = TYPE(four),
                                .recvtype = TYPE(eight),
                                .op = sum,
                                .root = root,
                                .comm = (MPI_Comm)&comm};
}

static void of_two_groups(bool two) {
  comm.inter = two;
  comm.remote = two ? &others : &own;
}

struct row {
  const struct tm_collective_kind *kind;
  int root;
  bool inter, sends, receives;
};

static const struct row rows[] = {
    {&tm_barrier_kind, 0, false, false, false},
    {&tm_bcast_kind, RANK, false, false, true},
    {&tm_bcast_kind, 0, false, false, true},
    {&tm_bcast_kind, 2, true, false, true},
    {&tm_bcast_kind, MPI_ROOT, true, false, true},
    {&tm_bcast_kind, MPI_PROC_NULL, true, false, false},
    {&tm_gather_kind, RANK, false, true, true},
    {&tm_gather_kind, 0, false, true, false},
    {&tm_gather_kind, RANK, true, true, false},
    {&tm_gather_kind, MPI_ROOT, true, false, true},
    {&tm_gather_kind, MPI_PROC_NULL, true, false, false},
    {&tm_scatter_kind, RANK, false, true, true},
    {&tm_scatter_kind, 0, false, false, true},
    {&tm_scatter_kind, RANK, true, false, true},
    {&tm_scatter_kind, MPI_ROOT, true, true, false},
    {&tm_scatter_kind, MPI_PROC_NULL, true, false, false},
    {&tm_allgather_kind, 0, false, true, true},
    {&tm_allgather_kind, 0, true, true, true},
    {&tm_alltoall_kind, 0, false, true, true},
    {&tm_reduce_kind, 0, false, false, true},
    {&tm_reduce_kind, MPI_ROOT, true, false, true},
    {&tm_reduce_kind, MPI_PROC_NULL, true, false, false},
    {&tm_allreduce_kind, 0, true, false, true},
    {&tm_scan_kind, 0, false, false, true},
    {&tm_reduce_scatter_kind, 0, false, false, true},
    {&tm_neighbor_allgather_kind, 0, false, true, true},
    {&tm_neighbor_alltoall_kind, 0, false, true, true},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

/* The others may be anything, and are cleared in what is kept. */
static void a_rank_checks_the_arguments_that_count_there(void **state) {
  (void)state;
  for (int i = 0; i < ROWS; i++) {
    const struct row *row = &rows[i];
    void *kept;
    of_two_groups(row->inter);
    struct tm_collective c = collective(row->kind, row->root);
    assert_int_equal(tm_collective_check(&c), MPI_SUCCESS);
    c.sendtype = NO_TYPE;
    assert_int_equal(tm_collective_check(&c), row->sends ? MPI_ERR_TYPE : MPI_SUCCESS);
    c = collective(row->kind, row->root);
    c.send.count = -1;
    assert_int_equal(tm_collective_check(&c), row->sends ? MPI_ERR_COUNT : MPI_SUCCESS);
    c = collective(row->kind, row->root);
    c.recvtype = NO_TYPE;
    assert_int_equal(tm_collective_check(&c), row->receives ? MPI_ERR_TYPE : MPI_SUCCESS);
    c = collective(row->kind, row->root);
    c.recv.count = -1;
    assert_int_equal(tm_collective_check(&c), row->receives ? MPI_ERR_COUNT : MPI_SUCCESS);
    c = collective(row->kind, row->root);
    assert_true(tm_collective_keep(&c, &comm, &kept) && kept == NULL);
    assert_true((c.sendtype == TYPE(four)) == row->sends && c.send.base == sent);
    assert_true((c.recvtype == TYPE(eight)) == row->receives && c.recv.base == filled);
    assert_true((c.send.count == 1) == row->sends && (c.recv.count == 1) == row->receives);
    assert_true((c.op == MPI_OP_NULL) == (row->inter && row->root == MPI_PROC_NULL));
  }
}

/* In place, what is received tells count and type. */
static void what_is_in_place_does_not_count(void **state) {
  (void)state;
  void *kept;
  struct tm_collective c = collective(&tm_allgather_kind, 0);
  c.send = (struct tm_parts){.base = MPI_IN_PLACE, .count = -1};
  c.sendtype = NO_TYPE;
  assert_int_equal(tm_collective_check(&c), MPI_SUCCESS);
  c.sendtype = TYPE(four);
  assert_true(tm_collective_keep(&c, &comm, &kept));
  assert_true(c.sendtype == MPI_DATATYPE_NULL && c.send.base == MPI_IN_PLACE && c.send.count == 0);
  c = collective(&tm_scatter_kind, RANK);
  c.recv.base = MPI_IN_PLACE;
  c.recvtype = NO_TYPE;
  assert_int_equal(tm_collective_check(&c), MPI_SUCCESS);
  c = collective(&tm_reduce_kind, 0); /* not of the root: its result is nowhere */
  c.recv.base = MPI_IN_PLACE;
  assert_true(tm_collective_keep(&c, &comm, &kept));
  assert_true(c.recvtype == TYPE(eight) && c.recv.count == 1);
}

static void the_communicator_is_one_for_the_collective(void **state) {
  (void)state;
  struct tm_collective c = collective(&tm_scan_kind, 0);
  of_two_groups(true);
  assert_int_equal(tm_collective_check(&c), MPI_ERR_COMM);
  assert_string_equal(message, "it is an intercommunicator");
  of_two_groups(false);
  c = collective(&tm_neighbor_alltoall_kind, 0);
  comm.topology = NULL;
  assert_int_equal(tm_collective_check(&c), MPI_ERR_TOPOLOGY);
  c.comm = MPI_COMM_NULL;
  assert_int_equal(tm_collective_check(&c), MPI_ERR_COMM);
}

static void a_root_is_a_rank_of_the_other_side(void **state) {
  (void)state;
  struct {
    int root;
    bool own, other; /* whether it is valid in one group, and in two */
  } cases[] = {{-7, false, false},        {0, true, true},
               {OWN - 1, true, true},     {OWN, false, true},
               {OTHERS - 1, false, true}, {OTHERS, false, false},
               {MPI_ROOT, false, true},   {MPI_PROC_NULL, false, true}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    for (int two = 0; two < 2; two++) {
      of_two_groups(two);
      bool valid = two ? cases[i].other : cases[i].own;
      struct tm_collective c = collective(&tm_bcast_kind, cases[i].root);
      assert_int_equal(tm_collective_check(&c), valid ? MPI_SUCCESS : MPI_ERR_ROOT);
      assert_int_equal(tm_check_root(&comm, "MPI_Xyz", cases[i].root),
                       valid ? MPI_SUCCESS : MPI_ERR_ROOT);
    }
  of_two_groups(true);
  assert_int_equal(tm_check_root(&comm, "MPI_Xyz", OTHERS), MPI_ERR_ROOT);
  assert_string_equal(message, "root 3 is not one of the 3 ranks");
}

static void an_operation_is_one_for_the_type(void **state) {
  (void)state;
  struct tm_collective c = collective(&tm_allreduce_kind, 0);
  c.op = MPI_OP_NULL;
  assert_int_equal(tm_collective_check(&c), MPI_ERR_OP);
  assert_string_equal(message, "the operation is MPI_OP_NULL");
  c.op = (MPI_Op)7;
  assert_int_equal(tm_collective_check(&c), MPI_ERR_OP);
  assert_string_equal(message, "the operation is not valid: freed, or never made");
  c.op = unfit;
  assert_int_equal(tm_collective_check(&c), MPI_ERR_OP);
  assert_string_equal(message, "the operation is not one for this datatype");
}

/* ---- a count, and a type, for each part */

/* Whether each part counts up to some number, and none behind it. */
static void check_parts(const struct tm_collective_kind *kind, bool sends, int number) {
  MPI_Count large[MOST];
  int ints[MOST];
  for (int wide = 0; wide < 3; wide++)
    for (int i = 0; i < MOST; i++) {
      struct tm_collective c = collective(kind, RANK);
      struct tm_parts *parts = sends ? &c.send : &c.recv;
      for (int k = 0; k < MOST; k++) large[k] = ints[k] = 1;
      large[i] = wide == 2 ? INT64_MAX : -1;
      ints[i] = -1;
      parts->counts = wide ? (struct tm_counts){NULL, large} : (struct tm_counts){ints, NULL};
      assert_int_equal(tm_collective_check(&c), i < number ? MPI_ERR_COUNT : MPI_SUCCESS);
      if (i < number && wide == 2)
        assert_true(strncmp(message, "9223372036854775807 of ", 23) == 0);
      else if (i < number)
        assert_string_equal(message, "count -1 is negative");
    }
}

static void each_part_has_a_count(void **state) {
  (void)state;
  check_parts(&tm_gather_kind, false, OWN);
  check_parts(&tm_scatter_kind, true, OWN);
  check_parts(&tm_alltoall_kind, true, OWN);
  check_parts(&tm_alltoall_kind, false, OWN);
  check_parts(&tm_reduce_scatter_kind, false, OWN);
  check_parts(&tm_neighbor_alltoall_kind, true, DESTS);
  check_parts(&tm_neighbor_alltoall_kind, false, SOURCES);
  check_parts(&tm_neighbor_allgather_kind, true, 1);
  of_two_groups(true);
  check_parts(&tm_allgather_kind, false, OTHERS);
  check_parts(&tm_reduce_scatter_kind, false, OWN);
}

static void each_part_has_a_type(void **state) {
  (void)state;
  for (int i = 0; i < MOST; i++)
    for (int bad = 0; bad < 2; bad++) {
      MPI_Datatype types[MOST];
      MPI_Count counts[MOST];
      struct tm_collective c = collective(&tm_alltoall_kind, 0);
      for (int k = 0; k < MOST; k++) {
        types[k] = TYPE(four);
        counts[k] = 1;
      }
      if (bad) types[i] = NO_TYPE;
      if (!bad) counts[i] = INT64_MAX;
      c.recv.types = types;
      c.recv.counts = (struct tm_counts){NULL, counts};
      c.recvtype = NO_TYPE;
      int expected = i >= OWN ? MPI_SUCCESS : bad ? MPI_ERR_TYPE : MPI_ERR_COUNT;
      assert_int_equal(tm_collective_check(&c), expected);
    }
}

/* The parts that blocking calls check. */
static void a_part_has_a_count_and_a_type(void **state) {
  (void)state;
  struct tm_part given = {sent, 3, NULL}, part;
  assert_int_equal(tm_check_part(&comm, "MPI_Xyz", &given, TYPE(four), &part), MPI_SUCCESS);
  assert_true(part.at == sent && part.count == 3 && part.type == &four);
  assert_int_equal(tm_check_part(&comm, "MPI_Xyz", &given, NO_TYPE, &part), MPI_ERR_TYPE);
  given.count = (size_t)-1;
  assert_int_equal(tm_check_part(&comm, "MPI_Xyz", &given, TYPE(empty), &part), MPI_ERR_COUNT);
  assert_string_equal(message, "count -1 is negative");
  given.count = INT64_MAX;
  assert_int_equal(tm_check_part(&comm, "MPI_Xyz", &given, TYPE(four), &part), MPI_ERR_COUNT);
  given.at = MPI_IN_PLACE;
  assert_int_equal(tm_check_part(&comm, "MPI_Xyz", &given, NO_TYPE, &part), MPI_SUCCESS);
  assert_true(part.at == MPI_IN_PLACE && part.count == 0 && part.type == NULL);
  struct tm_parts many = {.base = sent, .count = INT64_MAX}, parts;
  assert_int_equal(tm_check_parts(&comm, "MPI_Xyz", &many, TYPE(four), &parts), MPI_ERR_COUNT);
  assert_int_equal(tm_check_parts(&comm, "MPI_Xyz", &many, NO_TYPE, &parts), MPI_ERR_TYPE);
  many.count = -1;
  assert_int_equal(tm_check_parts(&comm, "MPI_Xyz", &many, TYPE(empty), &parts), MPI_ERR_COUNT);
}

/* ---- what is sent from where the result goes */

static void data_are_not_sent_from_where_they_are_received(void **state) {
  (void)state;
  const struct tm_part at = {sent, 1, &four};
  const struct tm_part differing[] = {
      {filled, 1, &four}, {sent, 1, &eight}, {sent, 0, &four}, {MPI_BOTTOM, 1, &four}};
  const struct tm_part of_bytes = {sent, 1, &byte};
  assert_int_equal(tm_check_alias(&comm, "MPI_Xyz", &at, &at), MPI_ERR_BUFFER);
  assert_int_equal(tm_check_alias(&comm, "MPI_Xyz", &of_bytes, &of_bytes), MPI_ERR_BUFFER);
  for (int i = 0; i < 4; i++) {
    assert_int_equal(tm_check_alias(&comm, "MPI_Xyz", &at, &differing[i]), MPI_SUCCESS);
    assert_int_equal(tm_check_alias(&comm, "MPI_Xyz", &differing[i], &at), MPI_SUCCESS);
  }
  const struct tm_part bottom = {MPI_BOTTOM, 1, &four}, nothing = {sent, 1, &empty};
  assert_int_equal(tm_check_alias(&comm, "MPI_Xyz", &bottom, &bottom), MPI_SUCCESS);
  assert_int_equal(tm_check_alias(&comm, "MPI_Xyz", &nothing, &nothing), MPI_SUCCESS);
}

/* The caller's own part of the buffer with many. */
static void only_the_own_part_is_compared(void **state) {
  (void)state;
  struct {
    const struct tm_collective_kind *kind;
    int root, send, recv; /* at which part of the same memory they begin */
    bool refused;
  } cases[] = {
      {&tm_allgather_kind, 0, RANK, 0, true},       {&tm_allgather_kind, 0, 0, 0, false},
      {&tm_gather_kind, RANK, RANK, 0, true},       {&tm_gather_kind, RANK, 0, 0, false},
      {&tm_gather_kind, 0, RANK, 0, false},         {&tm_scatter_kind, RANK, 0, RANK, true},
      {&tm_alltoall_kind, 0, 0, 0, true},           {&tm_alltoall_kind, 0, 0, 1, false},
      {&tm_allreduce_kind, 0, 0, 0, true},          {&tm_allreduce_kind, 0, 1, 0, false},
      {&tm_reduce_kind, RANK, 0, 0, true},          {&tm_reduce_kind, 0, 0, 0, false},
      {&tm_reduce_scatter_kind, 0, 0, 0, true},     {&tm_reduce_scatter_kind, 0, 1, 0, false},
      {&tm_neighbor_alltoall_kind, 0, 0, 0, false}, {&tm_bcast_kind, RANK, 0, 0, false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct tm_collective c = collective(cases[i].kind, cases[i].root);
    c.recvtype = TYPE(four);
    c.send.base = sent + 4 * cases[i].send;
    c.recv.base = sent + 4 * cases[i].recv;
    assert_int_equal(tm_collective_check(&c), cases[i].refused ? MPI_ERR_BUFFER : MPI_SUCCESS);
    of_two_groups(true);
    if (!cases[i].kind->rooted) assert_int_equal(tm_collective_check(&c), MPI_SUCCESS);
    of_two_groups(false);
  }
  MPI_Datatype types[OWN] = {NO_TYPE, TYPE(four)};
  struct tm_collective c = collective(&tm_alltoall_kind, 0);
  types[0] = TYPE(eight);
  c.send.types = c.recv.types = types;
  c.recv.base = sent;
  assert_int_equal(tm_collective_check(&c), MPI_ERR_BUFFER);
}

/* ---- what is kept */

static bool is_kept(const void *array, size_t bytes, const void *kept) {
  const char *at = array, *first = kept;
  return at >= first && at + bytes <= first + asked && (uintptr_t)at % sizeof(MPI_Count) == 0;
}

static void arrays_are_copied_while_a_collective_is_performed(void **state) {
  (void)state;
  enum { EACH = 3 };
  int send_counts[EACH] = {1, 2, 3}, send_displs[EACH] = {4, 5, 6};
  MPI_Count recv_counts[EACH] = {7, 8, 9}, recv_displs[EACH] = {10, 11, 12};
  MPI_Datatype types[EACH] = {TYPE(four), TYPE(eight), TYPE(empty)};
  void *kept;
  of_two_groups(true);
  struct tm_collective c = collective(&tm_alltoall_kind, 0);
  c.send.counts.ints = send_counts;
  c.send.displs.ints = send_displs;
  c.send.types = types;
  c.recv.counts.large = recv_counts;
  c.recv.displs.large = recv_displs;
  struct tm_collective before = c;
  memory_is_out = true;
  assert_false(tm_collective_keep(&c, &comm, &kept));
  memory_is_out = false;
  c = before;
  assert_true(tm_collective_keep(&c, &comm, &kept));
  assert_int_equal(asked, 2 * 16 + 3 * 24);
  assert_true(is_kept(c.send.counts.ints, sizeof send_counts, kept));
  assert_true(is_kept(c.send.displs.ints, sizeof send_displs, kept));
  assert_true(is_kept(c.send.types, sizeof types, kept));
  assert_true(is_kept(c.recv.counts.large, sizeof recv_counts, kept));
  assert_true(is_kept(c.recv.displs.large, sizeof recv_displs, kept));
  assert_true(c.recv.types == NULL && c.recv.counts.ints == NULL && c.send.counts.large == NULL);
  assert_memory_equal(c.send.counts.ints, send_counts, sizeof send_counts);
  assert_memory_equal(c.send.displs.ints, send_displs, sizeof send_displs);
  assert_memory_equal(c.send.types, types, sizeof types);
  assert_memory_equal(c.recv.counts.large, recv_counts, sizeof recv_counts);
  assert_memory_equal(c.recv.displs.large, recv_displs, sizeof recv_displs);
  free(kept);
}

/* ---- calls and results */

static void a_collective_is_performed_after_its_check(void **state) {
  (void)state;
  static const struct tm_collective_kind *const kinds[] = {
      &tm_barrier_kind,   &tm_bcast_kind,    &tm_gather_kind,        &tm_scatter_kind,
      &tm_allgather_kind, &tm_reduce_kind,   &tm_allreduce_kind,     &tm_scan_kind,
      &tm_exscan_kind,    &tm_alltoall_kind, &tm_reduce_scatter_kind};
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    struct tm_collective c = collective(kinds[i], 0);
    assert_int_equal(tm_collective_perform(&c), MPI_SUCCESS);
  }
  check_trace(
      "barrier bcast gather scatter allgather reduce allreduce scan exscan alltoall "
      "reduce_scatter ");
  struct tm_collective c = collective(&tm_allgather_kind, 0);
  c.sendtype = NO_TYPE;
  assert_int_equal(tm_collective_perform(&c), MPI_ERR_TYPE);
  check_trace("");
}

static void a_result_names_the_rank_that_sent_too_much(void **state) {
  (void)state;
  struct tm_coll coll = {.comm = &comm, .call = "MPI_Xyz"};
  assert_int_equal(tm_coll_result(&coll), MPI_SUCCESS);
  assert_string_equal(message, "");
  coll.error = MPI_ERR_TRUNCATE;
  assert_int_equal(tm_coll_result(&coll), MPI_ERR_TRUNCATE);
  assert_true(strncmp(message, "another rank sent more", 22) == 0);
  coll.sender = 2;
  coll.sent = 1;
  assert_int_equal(tm_coll_result(&coll), MPI_ERR_TRUNCATE);
  assert_string_equal(message,
                      "rank 2 sent 1 bytes, and there is room for 0 (counts and types "
                      "have to agree)");
  coll.error = MPI_ERR_OTHER; /* a message has failed before that */
  assert_int_equal(tm_coll_result(&coll), MPI_ERR_OTHER);
  assert_true(strncmp(message, "another rank sent more", 22) == 0);
}

static int start(void **state) {
  (void)state;
  comm = (struct tm_comm){.rank = RANK, .size = OWN, .group = &own, .topology = &topology};
  of_two_groups(false);
  trace[0] = message[0] = '\0';
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(a_rank_checks_the_arguments_that_count_there, start),
      cmocka_unit_test_setup(what_is_in_place_does_not_count, start),
      cmocka_unit_test_setup(the_communicator_is_one_for_the_collective, start),
      cmocka_unit_test_setup(a_root_is_a_rank_of_the_other_side, start),
      cmocka_unit_test_setup(an_operation_is_one_for_the_type, start),
      cmocka_unit_test_setup(each_part_has_a_count, start),
      cmocka_unit_test_setup(each_part_has_a_type, start),
      cmocka_unit_test_setup(a_part_has_a_count_and_a_type, start),
      cmocka_unit_test_setup(data_are_not_sent_from_where_they_are_received, start),
      cmocka_unit_test_setup(only_the_own_part_is_compared, start),
      cmocka_unit_test_setup(arrays_are_copied_while_a_collective_is_performed, start),
      cmocka_unit_test_setup(a_collective_is_performed_after_its_check, start),
      cmocka_unit_test_setup(a_result_names_the_rank_that_sent_too_much, start),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
