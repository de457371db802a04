/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Communicators and groups from their making to their end (src/tmpi/object/comm.c, group.c,
 * span.c): what a communicator on one node and one on several has, which ranks a group has, how
 * many communicators a rank may have, and what is given back.
 */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "counted_blocks.h"
#include "internal_locks.h"
#include "tmpi/object/comm.h"
#include "tmpi/object/errhandler.h"
#include "tmpi/object/info.h"
#include "tmpi/object/session.h"
#include "tmpi/object/span.h"
#include "tmpi/object/team.h"
#include "tmpi/object/topology.h"

enum { NODES = 3, PER_NODE = 10, RANKS = NODES * PER_NODE, OWN = 12, CONTEXT = 40, MOST = 60 };

struct tm_job tm_job;
static struct tm_rank rank; /* number OWN, on the node of ranks 10 to 19 */
static char handler_object, session_object, info_object, topology_object;
static char team_object[RANKS]; /* one of the VP groups of each member */
static int handlers, sessions, infos, topologies, teams, forgone; /* references */

struct tm_rank *tm_rank_self(void) { return &rank; }
struct tm_comm *tm_comm_make_self(void) { return NULL; }

struct tm_errhandler *tm_errhandler_fatal(void) {
  handlers++;
  return (struct tm_errhandler *)&handler_object;
}
struct tm_errhandler *tm_errhandler_get(uint32_t *ilock, struct tm_errhandler *const *at) {
  assert_ptr_equal(ilock, &rank.box.ilock);
  handlers++;
  return *at;
}
void tm_errhandler_set(uint32_t *ilock, struct tm_errhandler **at, struct tm_errhandler *handler) {
  assert_ptr_equal(ilock, &rank.box.ilock);
  *at = handler;
}
void tm_errhandler_release(struct tm_errhandler *handler) {
  assert_ptr_equal(handler, &handler_object);
  handlers--;
}
void tm_session_hold(struct tm_session *session) { sessions += session != NULL; }
void tm_session_release(struct tm_session *session) { sessions -= session != NULL; }
void tm_info_free(struct tm_info *info) { infos -= info != NULL; }
void tm_topology_free(struct tm_topology *topology) { topologies -= topology != NULL; }

/* A team only for members on one node, of which there are several. */
struct tm_team *tm_team_join(uint64_t context, const struct tm_group *group) {
  assert_true(context != 0 && group->size > 1 && !tm_group_spans(group));
  if (allocation_fails()) return NULL;
  teams++;
  return (struct tm_team *)team_object;
}
struct tm_vp_group *tm_team_vp_group(struct tm_team *team, int number) {
  assert_ptr_equal(team, team_object);
  return (struct tm_vp_group *)(team_object + number);
}
void tm_team_forgo(uint64_t context, const struct tm_group *group) {
  assert_true(context != 0 && group->size > 1 && !tm_group_spans(group));
  forgone++;
}
void tm_team_leave(struct tm_team *team) {
  assert_ptr_equal(team, team_object);
  teams--;
}

static int start(void **state) {
  (void)state;
  tm_job = (struct tm_job){.first = PER_NODE,
                           .local = PER_NODE,
                           .first_size = RANKS,
                           .size = RANKS,
                           .most = RANKS,
                           .comms_max = MOST,
                           .next_context = 2};
  rank = (struct tm_rank){.number = OWN};
  handlers = sessions = infos = topologies = teams = forgone = 0;
  memory_is_out = false;
  allocations_left = -1;
  return 0;
}

static int end(void **state) {
  (void)state;
  assert_int_equal(blocks, 0);
  assert_int_equal(locked, 0);
  assert_true(handlers == 0 && sessions == 0 && infos == 0 && topologies == 0 && teams == 0);
  assert_true(rank.comms == NULL && rank.comm_count == 0);
  return 0;
}

/* Ranks first, first + step, ... */
static struct tm_group *group_of(int first, int step, int size) {
  struct tm_group *group = tm_group_new(size);
  assert_non_null(group);
  for (int i = 0; i < size; i++) group->ranks[i] = first + i * step;
  return group;
}

/* ---- groups */

/* Each number of the job is looked for, and those beside. table: the group makes one. */
static void check_members(struct tm_group *group, int first, int step, bool table) {
  for (int number = -1; number <= RANKS; number++) {
    int place = (number - first) / step;
    bool is_member = number >= 0 && number < RANKS && place >= 0 && place < group->size &&
                     first + place * step == number;
    assert_int_equal(tm_group_find(group, number), is_member ? place : MPI_UNDEFINED);
  }
  assert_int_equal(blocks, table ? 2 : 1);
  tm_group_release(group);
  assert_int_equal(blocks, 0);
}

static void groups_know_their_members(void **state) {
  (void)state;
  check_members(group_of(0, 1, RANKS), 0, 1, false);
  check_members(group_of(0, 1, 20), 0, 1, true); /* for the numbers behind the last */
  check_members(group_of(3, 2, 5), 3, 2, false);
  check_members(group_of(RANKS - 1, -1, 16), RANKS - 1, -1, false);
  check_members(group_of(RANKS - 1, -1, 17), RANKS - 1, -1, true);
  check_members(group_of(RANKS - 1, -1, RANKS), RANKS - 1, -1, true);
}

static void groups_find_members_without_memory_for_a_table(void **state) {
  (void)state;
  struct tm_group *group = group_of(RANKS - 1, -1, 20);
  memory_is_out = true;
  check_members(group, RANKS - 1, -1, false);
}

static void groups_are_compared_by_members_and_order(void **state) {
  (void)state;
  struct tm_group *up = group_of(4, 1, 3), *same = group_of(4, 1, 3), *down = group_of(6, -1, 3),
                  *less = group_of(4, 1, 2), *other = group_of(3, 1, 3), *first = group_of(4, 2, 3);
  assert_int_equal(tm_group_compare(up, same), MPI_IDENT);
  assert_int_equal(tm_group_compare(up, down), MPI_SIMILAR);
  assert_int_equal(tm_group_compare(up, less), MPI_UNEQUAL);
  assert_int_equal(tm_group_compare(less, up), MPI_UNEQUAL);
  assert_int_equal(tm_group_compare(other, up), MPI_UNEQUAL); /* by its first member alone */
  assert_int_equal(tm_group_compare(up, first), MPI_UNEQUAL);
  struct tm_group *all[] = {up, same, down, less, other, first};
  for (int i = 0; i < 6; i++) tm_group_release(all[i]);
}

/* ---- several nodes */

static void check_span(struct tm_group *group, int place, int nodes, const int *speakers, int own,
                       bool in_order) {
  struct tm_span *span = tm_span_new(group, place);
  assert_int_equal(span->nodes, nodes);
  assert_int_equal(span->own, own);
  assert_int_equal(span->in_order, in_order);
  for (int i = 0; i < nodes; i++) assert_int_equal(span->speakers[i], speakers[i]);
  assert_int_equal(tm_group_spans(group), nodes > 1);
  free(span);
  memory_is_out = true;
  assert_null(tm_span_new(group, place));
  memory_is_out = false;
  tm_group_release(group);
}

static void each_node_has_a_speaker(void **state) {
  (void)state;
  check_span(group_of(0, 1, RANKS), OWN, 3, (int[]){0, 10, 20}, 1, true);
  check_span(group_of(RANKS - 1, -1, RANKS), OWN, 3, (int[]){0, 10, 20}, 1, true);
  check_span(group_of(8, 2, 4), 3, 2, (int[]){0, 1}, 1, true);
  check_span(group_of(9, 1, 2), 0, 2, (int[]){0, 1}, 0, true);
  check_span(group_of(10, 1, 10), 4, 1, (int[]){0}, 0, true);
  struct tm_group *mixed = group_of(9, 1, 4); /* 9 10 11 and 0: the first node again */
  mixed->ranks[3] = 0;
  check_span(mixed, 2, 2, (int[]){0, 1}, 1, false);
}

static void the_local_group_has_the_members_of_this_node(void **state) {
  (void)state;
  struct tm_group *all = group_of(RANKS - 1, -1, RANKS), *local = tm_group_local(all);
  assert_int_equal(local->size, PER_NODE);
  for (int i = 0; i < PER_NODE; i++) assert_int_equal(local->ranks[i], 2 * PER_NODE - 1 - i);
  tm_group_release(local);
  memory_is_out = true;
  assert_null(tm_group_local(all));
  memory_is_out = false;
  tm_group_release(all);
  all = group_of(PER_NODE + 3, 4, 3); /* one more is here, and one is not */
  local = tm_group_local(all);
  assert_true(local->size == 2 && local->ranks[0] == PER_NODE + 3);
  assert_int_equal(local->ranks[1], PER_NODE + 7);
  tm_group_release(local);
  tm_group_release(all);
}

/* ---- communicators */

static void a_communicator_on_one_node_has_a_team(void **state) {
  (void)state;
  struct tm_comm *comm = tm_comm_new(CONTEXT, group_of(10, 1, 5), NULL);
  assert_true(comm->magic == TM_COMM_MAGIC && comm->context == CONTEXT && comm->owner == &rank);
  assert_true(comm->rank == 2 && comm->size == 5 && !comm->inter && comm->remote == comm->group);
  assert_true(comm->team == (struct tm_team *)team_object && teams == 1);
  assert_ptr_equal(comm->vp_group, team_object + 2);
  assert_true(comm->local_comm == NULL && !tm_comm_spans(comm) && !tm_comm_is_far(comm));
  tm_comm_release(comm);
  comm = tm_comm_new(CONTEXT, group_of(OWN, 1, 1), NULL); /* alone */
  assert_true(comm->team == NULL && comm->span == NULL && comm->rank == 0 && comm->size == 1);
  tm_comm_release(comm);
}

static void a_communicator_on_several_nodes_has_a_local_one(void **state) {
  (void)state;
  struct tm_comm *comm = tm_comm_new(CONTEXT, group_of(8, 1, 5), NULL);
  assert_true(tm_comm_spans(comm) && tm_comm_is_far(comm) && comm->rank == 4);
  assert_true(comm->span->nodes == 2 && comm->span->own == 1);
  const struct tm_comm *local = comm->local_comm;
  assert_true(local->context == (CONTEXT | TM_CONTEXT_LOCAL) && local->owner == &rank);
  assert_true(local->rank == 2 && local->size == 3 && local->team != NULL && teams == 1);
  tm_comm_set_handler(comm, NULL);
  assert_true(comm->handler == NULL && local->handler != NULL);
  tm_comm_set_handler(comm, local->handler);
  tm_comm_release(comm);
}

/* Of two groups: far if there is a rank on another node than the caller's group. */
static void far_intercommunicators(void **state) {
  static const struct {
    int first, size, other, others;
    bool far;
  } rows[] = {{12, 2, 15, 2, false},
              {12, 2, 5, 2, true},
              {12, 2, 18, 4, true},
              {12, 9, 5, 2, true},
              {12, 9, 13, 0, true}};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct tm_group *remote = group_of(rows[i].other, 1, rows[i].others);
    struct tm_comm *comm = tm_comm_new(CONTEXT, group_of(rows[i].first, 1, rows[i].size), remote);
    assert_true(comm->inter && comm->remote == remote && comm->team == NULL && teams == 0);
    assert_true(comm->local_comm == NULL && !tm_comm_spans(comm));
    assert_int_equal(tm_comm_is_far(comm), rows[i].far);
    tm_job.local = tm_job.first_size; /* of one node nothing is far */
    assert_false(tm_comm_is_far(comm));
    tm_job.local = PER_NODE;
    tm_comm_release(comm);
  }
}

static void an_intercommunicator_gets_its_own_side(void **state) {
  (void)state;
  struct tm_comm *comm = tm_comm_new(CONTEXT, group_of(11, 1, 3), group_of(17, 1, 2));
  assert_ptr_equal(tm_comm_add_local(comm), comm);
  assert_true(comm->local_comm->context == (CONTEXT | TM_CONTEXT_LOCAL));
  assert_true(comm->local_comm->group == comm->group && comm->local_comm->rank == 1);
  tm_comm_release(comm);
  comm = tm_comm_new(CONTEXT, group_of(11, 1, 3), NULL);
  assert_ptr_equal(tm_comm_add_local(comm), comm);
  assert_null(comm->local_comm); /* it is no intercommunicator */
  tm_comm_release(comm);
  assert_null(tm_comm_add_local(NULL));
}

static void what_a_communicator_holds_is_given_back(void **state) {
  (void)state;
  struct tm_comm *comm = tm_comm_new(CONTEXT, group_of(11, 1, 3), NULL);
  comm->session = (struct tm_session *)&session_object;
  sessions++;
  comm->info = (struct tm_info *)&info_object;
  infos++;
  comm->topology = (struct tm_topology *)&topology_object;
  topologies++;
  comm->group->session = comm->session;
  sessions++;
  tm_group_hold(comm->group);
  struct tm_comm *made = tm_comm_new(CONTEXT + 2, comm->group, NULL);
  handlers--; /* its first one is predefined */
  tm_comm_inherit(made, comm);
  assert_true(made->session == comm->session && made->handler == comm->handler && sessions == 3);
  tm_comm_hold(comm);
  tm_comm_release(comm);
  assert_int_equal(infos, 1); /* there is one more reference */
  tm_comm_release(comm);
  assert_true(infos == 0 && topologies == 0 && sessions == 2 && handlers == 1);
  tm_comm_release(made); /* and the group */
}

/* The list of a rank's communicators has what is left, the newest first. */
static void check_list(struct tm_comm *const *comms, unsigned left) {
  const struct tm_comm *at = rank.comms, *before = NULL;
  uint32_t count = 0;
  for (int i = 2; i >= 0; i--) {
    if ((left >> i & 1) == 0) continue;
    assert_true(at == comms[i] && at->prev == before);
    before = at;
    at = at->next;
    count++;
  }
  assert_null(at);
  assert_int_equal(rank.comm_count, count);
}

static void a_rank_lists_its_communicators(void **state) {
  static const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  (void)state;
  for (int k = 0; k < 6; k++) {
    struct tm_comm *comms[3];
    unsigned left = 0;
    for (int i = 0; i < 3; i++) {
      comms[i] = tm_comm_new(CONTEXT, group_of(OWN, 1, 1), NULL);
      check_list(comms, left |= 1u << i);
    }
    for (int i = 0; i < 3; i++) {
      tm_comm_release(comms[orders[k][i]]);
      check_list(comms, left &= ~(1u << orders[k][i]));
    }
  }
}

/* MPI_COMM_SELF counts before it is made. */
static void a_rank_has_no_more_communicators_than_allowed(void **state) {
  struct tm_comm *comms[3];
  (void)state;
  tm_job.comms_max = 3;
  for (int i = 0; i < 3; i++) {
    rank.self = i == 2 ? comms[0] : NULL;
    assert_int_equal(tm_comms_are_full(), false);
    uint64_t context = tm_job.next_context;
    assert_int_equal(tm_context_new_limited(), context);
    assert_int_equal(tm_context_new(), context + 2);
    comms[i] = tm_comm_new(CONTEXT, group_of(OWN, 1, 1), NULL);
  }
  assert_true(tm_comms_are_full());
  assert_int_equal(tm_context_new_limited(), 0);
  tm_comm_release(comms[2]);
  assert_false(tm_comms_are_full());
  rank.self = NULL;
  assert_true(tm_comms_are_full());
  tm_comm_release(comms[1]);
  tm_comm_release(comms[0]);
}

/* References to one that stays until the process ends are not counted. */
static void lasting_communicators_stay(void **state) {
  (void)state;
  struct tm_comm *comm = tm_comm_new(CONTEXT, group_of(OWN, 1, 1), NULL);
  comm->lasting = true;
  tm_comm_hold(comm);
  assert_int_equal(comm->refs, 1);
  tm_comm_release(comm);
  rank.world = comm;
  assert_true(tm_comm_handle(comm) == MPI_COMM_WORLD && tm_comm_of(MPI_COMM_WORLD) == comm);
  rank.world = NULL;
  rank.self = comm;
  assert_true(tm_comm_handle(comm) == MPI_COMM_SELF && tm_comm_of(MPI_COMM_SELF) == comm);
  rank.self = NULL;
  assert_true(tm_comm_handle(comm) == (MPI_Comm)comm && tm_comm_of((MPI_Comm)comm) == comm);
  comm->lasting = false;
  tm_comm_release(comm);
}

/* Each allocation fails in turn. A team that the caller cannot join is forgone. */
static void run_out(int first, int size, int others, int forgone_at_most) {
  for (int at = 0;; at++) {
    struct tm_group *remote = others > 0 ? group_of(17, 1, others) : NULL;
    struct tm_group *group = group_of(first, 1, size);
    forgone = 0;
    allocations_left = at;
    struct tm_comm *comm = tm_comm_add_local(tm_comm_new(CONTEXT, group, remote));
    bool failed = allocations_left < 0;
    allocations_left = -1;
    assert_true((comm == NULL) == failed);
    assert_in_range(forgone, 0, failed ? forgone_at_most : 0);
    if (comm != NULL) tm_comm_release(comm);
    assert_true(blocks == 0 && teams == 0 && handlers == 0 && rank.comms == NULL);
    if (!failed) return;
  }
}

static void without_memory_nothing_is_left(void **state) {
  (void)state;
  run_out(11, 3, 0, 1);  /* with a team */
  run_out(OWN, 1, 0, 0); /* alone */
  run_out(8, 6, 0, 1);   /* on several nodes, with a team here */
  run_out(11, 3, 2, 1);  /* with another group */
}

#define LIFE(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void) {
  mallopt(M_PERTURB, 165); /* memory is not zero by chance */
  const struct CMUnitTest tests[] = {
      LIFE(groups_know_their_members),
      LIFE(groups_find_members_without_memory_for_a_table),
      LIFE(groups_are_compared_by_members_and_order),
      LIFE(each_node_has_a_speaker),
      LIFE(the_local_group_has_the_members_of_this_node),
      LIFE(a_communicator_on_one_node_has_a_team),
      LIFE(a_communicator_on_several_nodes_has_a_local_one),
      LIFE(far_intercommunicators),
      LIFE(an_intercommunicator_gets_its_own_side),
      LIFE(what_a_communicator_holds_is_given_back),
      LIFE(a_rank_lists_its_communicators),
      LIFE(a_rank_has_no_more_communicators_than_allowed),
      LIFE(lasting_communicators_stay),
      LIFE(without_memory_nothing_is_left),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
