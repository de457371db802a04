/* SPDX-License-Identifier: Apache-2.0 */
/* Communicators, groups, intercommunicators, attributes, infos, error codes and what can be asked.
 */
#include <limits.h>
#include <string.h>

#include "check.h"

static int rank, size;

static void groups(void) {
  MPI_Group world, lower, upper, all, none;
  MPI_Comm comm, again;
  int result, half = size / 2, ranks[2] = {0, MPI_PROC_NULL}, reported[2];
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_range_incl(world, 1, (int[][3]){{0, half - 1, 1}}, &lower);
  MPI_Group_difference(world, lower, &upper);
  MPI_Group_union(upper, lower, &all);
  MPI_Group_compare(world, all, &result);
  CHECK(result == MPI_SIMILAR);
  MPI_Group_intersection(lower, upper, &none);
  CHECK(none == MPI_GROUP_EMPTY);
  MPI_Group_translate_ranks(all, 2, ranks, world, reported);
  CHECK(reported[0] == half && reported[1] == MPI_PROC_NULL);
  MPI_Group_translate_ranks(upper, 1, ranks, lower, reported);
  CHECK(reported[0] == MPI_UNDEFINED);
  MPI_Comm_create(MPI_COMM_WORLD, all, &comm);
  MPI_Comm_compare(comm, MPI_COMM_WORLD, &result);
  CHECK(result == MPI_SIMILAR);
  MPI_Comm_dup(comm, &again);
  MPI_Comm_compare(comm, again, &result);
  CHECK(result == MPI_CONGRUENT);
  MPI_Comm_free(&again);
  MPI_Comm_free(&comm);
  if (rank < half) {
    MPI_Comm_create_group(MPI_COMM_WORLD, lower, 5, &comm);
    MPI_Comm_compare(comm, MPI_COMM_WORLD, &result);
    CHECK(result == MPI_UNEQUAL);
    MPI_Comm_free(&comm);
  }
  MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &comm);
  CHECK(comm == MPI_COMM_NULL);
  MPI_Group_free(&world);
  MPI_Group_free(&lower);
  MPI_Group_free(&upper);
  MPI_Group_free(&all);
}

/* ---- groups in their order */

/* The group has these ranks of the world. Frees it. */
static void is_group(MPI_Group group, int count, const int expected[]) {
  int members, own = MPI_UNDEFINED, found, numbers[64], ranks[64];
  MPI_Group world;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_size(group, &members);
  CHECK(members == count);
  for (int i = 0; i < count; i++) {
    numbers[i] = i;
    if (expected[i] == rank) own = i;
  }
  MPI_Group_translate_ranks(group, count, numbers, world, ranks);
  for (int i = 0; i < count; i++) CHECK(ranks[i] == expected[i]);
  MPI_Group_rank(group, &found);
  CHECK(found == own);
  for (int i = 0; i < size; i++) numbers[i] = i; /* and back, also ranks that are not in it */
  MPI_Group_translate_ranks(world, size, numbers, group, ranks);
  for (int i = 0; i < size; i++) {
    int place = MPI_UNDEFINED;
    for (int k = 0; k < count; k++)
      if (expected[k] == i) place = k;
    CHECK(ranks[i] == place);
  }
  MPI_Group_free(&group);
  CHECK(group == MPI_GROUP_NULL);
  MPI_Group_free(&world);
}

static void in_order(void) {
  MPI_Group world, a, b, made;
  int result, reversed[64], odd[64], odds = 0;
  if (size < 7) return;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  for (int i = 0; i < size; i++) {
    reversed[i] = size - 1 - i;
    if (i % 2 == 1) odd[odds++] = i;
  }
  MPI_Group_incl(world, size, reversed, &made);
  MPI_Group_compare(world, made, &result);
  CHECK(result == MPI_SIMILAR);
  is_group(made, size, reversed);
  MPI_Group_range_incl(world, 1, (int[][3]){{size - 1, 0, -1}}, &made);
  is_group(made, size, reversed);
  MPI_Group_range_incl(world, 1, (int[][3]){{1, size - 1, 2}}, &made);
  is_group(made, odds, odd);
  MPI_Group_range_excl(world, 1, (int[][3]){{0, size - 1, 2}}, &made);
  is_group(made, odds, odd);
  MPI_Group_range_incl(world, 2, (int[][3]){{5, 3, -1}, {0, 2, 2}}, &made);
  is_group(made, 5, (int[]){5, 4, 3, 0, 2});
  MPI_Group_range_incl(world, 1, (int[][3]){{2, 0, 1}}, &made); /* none */
  CHECK(made == MPI_GROUP_EMPTY);
  MPI_Group_excl(world, 0, NULL, &made);
  MPI_Group_compare(world, made, &result);
  CHECK(result == MPI_IDENT);
  MPI_Group_free(&made);
  MPI_Group_incl(world, 4, (int[]){6, 1, 4, 0}, &a);
  MPI_Group_incl(world, 4, (int[]){0, 5, 6, 3}, &b);
  MPI_Group_compare(a, b, &result);
  CHECK(result == MPI_UNEQUAL);
  MPI_Group_union(a, b, &made);
  is_group(made, 6, (int[]){6, 1, 4, 0, 5, 3});
  MPI_Group_intersection(a, b, &made);
  is_group(made, 2, (int[]){6, 0});
  MPI_Group_intersection(b, a, &made);
  is_group(made, 2, (int[]){0, 6});
  MPI_Group_difference(a, b, &made);
  is_group(made, 2, (int[]){1, 4});
  MPI_Group_difference(a, a, &made);
  CHECK(made == MPI_GROUP_EMPTY);
  MPI_Group_union(MPI_GROUP_EMPTY, b, &made);
  is_group(made, 4, (int[]){0, 5, 6, 3});
  MPI_Group_excl(a, 2, (int[]){3, 1}, &made);
  is_group(made, 2, (int[]){6, 4});
  MPI_Group_incl(a, 3, (int[]){2, 0, 3}, &made);
  is_group(made, 3, (int[]){4, 6, 0});
  MPI_Group_compare(a, MPI_GROUP_EMPTY, &result);
  CHECK(result == MPI_UNEQUAL);
  MPI_Group_free(&a);
  MPI_Group_free(&b);
  MPI_Group_free(&world);
}

/* Ranks of one color are ordered by their keys, and those of one key as they were. */
static void split_by_keys(void) {
  static const int keys[] = {5, -3, 5, 0, INT_MAX, INT_MIN, -3};
  enum { KEYS = sizeof keys / sizeof keys[0] };
  int expected = 0, found, members, own = keys[rank % KEYS];
  MPI_Comm part;
  for (int i = 0; i < size; i++) {
    int key = keys[i % KEYS];
    if (i % 3 == rank % 3) expected += key < own || (key == own && i < rank);
  }
  MPI_Comm_split(MPI_COMM_WORLD, rank % 3 == 2 ? MPI_UNDEFINED : rank % 3, own, &part);
  CHECK((part == MPI_COMM_NULL) == (rank % 3 == 2));
  if (part == MPI_COMM_NULL) return;
  MPI_Comm_rank(part, &found);
  MPI_Comm_size(part, &members);
  CHECK(found == expected && members == (size - rank % 3 + 2) / 3);
  MPI_Comm_free(&part);
}

/* Comparisons of communicators, their names, and the order of merged ones. */
static void compared(void) {
  int result, length, flag;
  char name[MPI_MAX_OBJECT_NAME], given[2 * MPI_MAX_OBJECT_NAME];
  MPI_Comm back, half, made[2];
  MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_WORLD, &result);
  CHECK(result == MPI_IDENT);
  MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_SELF, &result);
  CHECK(result == (size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL));
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &back);
  MPI_Comm_compare(MPI_COMM_WORLD, back, &result);
  CHECK(result == (size == 1 ? MPI_CONGRUENT : MPI_SIMILAR));
  MPI_Comm_test_inter(back, &flag);
  CHECK(flag == 0);
  memset(given, 'c', sizeof given - 1);
  given[sizeof given - 1] = '\0';
  MPI_Comm_get_name(back, name, &length);
  CHECK(length == 0 && name[0] == '\0');
  MPI_Comm_set_name(back, given);
  MPI_Comm_get_name(back, name, &length);
  CHECK(length == MPI_MAX_OBJECT_NAME - 1 && (int)strlen(name) == length);
  MPI_Comm_free(&back);
  if (size < 4) return;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &made[0]);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank % 2 ? -rank : rank, &back); /* odd ones reversed */
  int last = size - 1 - size % 2;                                           /* the last odd one */
  MPI_Intercomm_create(back, 0, MPI_COMM_WORLD, rank % 2 ? 0 : last, 0, &made[1]);
  for (int i = 0; i < 2; i++) {
    MPI_Comm_compare(made[i], made[i], &result);
    CHECK(result == MPI_IDENT);
    MPI_Comm_compare(made[i], made[1 - i], &result);
    CHECK(result == MPI_SIMILAR);
    MPI_Comm_compare(made[i], half, &result);
    CHECK(result == MPI_UNEQUAL);
    MPI_Comm_compare(half, made[i], &result);
    CHECK(result == MPI_UNEQUAL);
  }
  /* merged in the order that is asked for; if both sides ask for the same, by the smaller rank */
  for (int way = 0; way < 4; way++) {
    int high = rank % 2 ? way & 1 : way >> 1, found, odd_first = way == 2;
    MPI_Comm all;
    MPI_Intercomm_merge(made[0], 7 * high, &all);
    MPI_Comm_rank(all, &found);
    if (rank % 2 == 0) CHECK(found == rank / 2 + (odd_first ? size / 2 : 0));
    if (rank % 2 == 1) CHECK(found == rank / 2 + (odd_first ? 0 : (size + 1) / 2));
    MPI_Comm_free(&all);
  }
  for (int i = 0; i < 2; i++) MPI_Comm_free(&made[i]);
  MPI_Comm_free(&half);
  MPI_Comm_free(&back);
}

/* Of what ranks may share, memory is known. */
static void kinds_of_splits(void) {
  static const struct {
    int kind, class;
    const char *resource; /* NULL: no hint */
    int splits;
  } cases[] = {{MPI_COMM_TYPE_SHARED - 1, MPI_ERR_ARG, NULL, 0},
               {MPI_COMM_TYPE_SHARED, MPI_SUCCESS, NULL, 1},
               {MPI_COMM_TYPE_SHARED, MPI_SUCCESS, "hwthread", 1},
               {MPI_COMM_TYPE_HW_UNGUIDED, MPI_SUCCESS, NULL, 0},
               {MPI_COMM_TYPE_HW_UNGUIDED, MPI_SUCCESS, "mpi_shared_memory", 0},
               {MPI_COMM_TYPE_HW_GUIDED, MPI_SUCCESS, NULL, 0},
               {MPI_COMM_TYPE_HW_GUIDED, MPI_SUCCESS, "hwthread", 0},
               {MPI_COMM_TYPE_HW_GUIDED, MPI_SUCCESS, "mpi_shared_memory", 1},
               {MPI_COMM_TYPE_RESOURCE_GUIDED, MPI_SUCCESS, "mpi_shared_memory", 1},
               {MPI_COMM_TYPE_RESOURCE_GUIDED, MPI_SUCCESS, "mpi_shared_memory2", 0},
               {MPI_COMM_TYPE_RESOURCE_GUIDED + 1, MPI_ERR_ARG, NULL, 0},
               {MPI_UNDEFINED, MPI_SUCCESS, NULL, 0}};
  MPI_Comm own, made;
  MPI_Comm_dup(MPI_COMM_SELF, &own);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN); /* as no communicator is looked at */
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    MPI_Info info;
    MPI_Info_create(&info);
    if (cases[i].resource != NULL) MPI_Info_set(info, "mpi_hw_resource_type", cases[i].resource);
    made = MPI_COMM_NULL;
    EXPECT(cases[i].class, MPI_Comm_split_type(own, cases[i].kind, 0, info, &made));
    CHECK((made != MPI_COMM_NULL) == cases[i].splits);
    if (made != MPI_COMM_NULL) MPI_Comm_free(&made);
    MPI_Info_free(&info);
  }
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_free(&own);
}

/* A rank that has less room than others send gets an error, by itself or by the collective. */
static void truncated(void) {
  int out[2] = {1, 2}, in[64];
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  CHECK(MPI_Gather(out, 2, MPI_INT, in, 1, MPI_INT, 0, comm) == MPI_ERR_TRUNCATE && in[0] == 1);
  MPI_Comm_free(&comm);
}

/* Every collective between two groups, in both directions. */
static void between(MPI_Comm inter, int low) {
  enum { ROOM = 512 };
  int local, remote, own, value, sum, all[ROOM], out[ROOM], counts[ROOM], displs[ROOM];
  MPI_Request request;
  MPI_Comm_size(inter, &local);
  MPI_Comm_remote_size(inter, &remote);
  MPI_Comm_rank(inter, &own);
  int root = low ? (own == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0;
  int others = low ? size / 2 : 0; /* the first of the other group in the world */
  for (int i = 0; i < ROOM; i++) {
    out[i] = 100 * rank + i;
    counts[i] = 1;
    displs[i] = i;
  }
  MPI_Barrier(inter);
  value = own == 0 && low ? 7 : -1;
  MPI_Bcast(&value, 1, MPI_INT, root, inter);
  CHECK(value == (low && own != 0 ? -1 : 7));
  MPI_Allgather(&own, 1, MPI_INT, all, 1, MPI_INT, inter);
  for (int i = 0; i < remote; i++) CHECK(all[i] == i);
  MPI_Allgatherv(&own, 1, MPI_INT, all, counts, displs, MPI_INT, inter);
  for (int i = 0; i < remote; i++) CHECK(all[i] == i);
  memset(all, -1, sizeof all);
  MPI_Gather(&own, 1, MPI_INT, all, 1, MPI_INT, root, inter);
  for (int i = 0; i < ROOM; i++) CHECK(all[i] == (root == MPI_ROOT && i < remote ? i : -1));
  MPI_Gatherv(&own, 1, MPI_INT, all, counts, displs + 1, MPI_INT, root, inter);
  for (int i = 1; i < ROOM; i++) CHECK(all[i] == (root == MPI_ROOT && i <= remote ? i - 1 : -1));
  value = -1;
  MPI_Scatter(out, 1, MPI_INT, &value, 1, MPI_INT, root, inter);
  CHECK(value == (low ? -1 : own));
  MPI_Scatterv(out, counts, displs + 1, MPI_INT, &value, 1, MPI_INT, root, inter);
  CHECK(value == (low ? -1 : own + 1));
  sum = 0;
  MPI_Reduce(&own, &sum, 1, MPI_INT, MPI_SUM, root, inter);
  if (root == MPI_ROOT) CHECK(sum == remote * (remote - 1) / 2);
  MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, inter);
  CHECK(sum == remote * (remote - 1) / 2);
  MPI_Alltoall(out, 1, MPI_INT, all, 1, MPI_INT, inter);
  for (int i = 0; i < remote; i++) CHECK(all[i] == 100 * (others + i) + own);
  memset(all, -1, sizeof all);
  MPI_Alltoallv(out, counts, displs, MPI_INT, all, counts, displs, MPI_INT, inter);
  for (int i = 0; i < ROOM; i++) CHECK(all[i] == (i < remote ? 100 * (others + i) + own : -1));
  for (int i = 0; i < local; i++) counts[i] = remote; /* the totals are the same */
  for (int block = 0; block < 2; block++) {
    memset(all, -1, sizeof all);
    if (block)
      MPI_Reduce_scatter_block(out, all, remote, MPI_INT, MPI_SUM, inter);
    else
      MPI_Reduce_scatter(out, all, counts, MPI_INT, MPI_SUM, inter);
    for (int i = 0; i < remote; i++)
      CHECK(all[i] ==
            100 * (remote * others + remote * (remote - 1) / 2) + remote * (own * remote + i));
    CHECK(all[remote] == -1);
  }
  for (int i = 0; i < local; i++) counts[i] = i < local - 1 ? 1 : local * remote - i;
  memset(all, -1, sizeof all);
  MPI_Reduce_scatter(out, all, counts, MPI_INT, MPI_SUM, inter);
  for (int i = 0; i < counts[own]; i++)
    CHECK(all[i] == 100 * (remote * others + remote * (remote - 1) / 2) + remote * (own + i));
  CHECK(all[counts[own]] == -1);
  MPI_Ibarrier(inter, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Iallreduce(&own, &sum, 1, MPI_INT, MPI_SUM, inter, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(sum == remote * (remote - 1) / 2);
}

/* A barrier waits for the ranks of both groups: no rank of one returns before the last rank of the
 * other has come, which sends each of them a message before. */
static void barriers_between(MPI_Comm inter, int low) {
  enum { LATE, COME };
  int remote, flag, token = 0;
  MPI_Comm_remote_size(inter, &remote);
  for (int late = 0; late < size; late++) { /* in the world */
    int is_here = (late < size / 2) == low;
    int number = late < size / 2 ? late : late - size / 2;
    if (rank == late) {
      for (int i = 0; i < remote; i++)
        MPI_Recv(&token, 1, MPI_INT, i, LATE, inter, MPI_STATUS_IGNORE);
      for (int i = 0; i < 50; i++)
        MPI_Iprobe(MPI_ANY_SOURCE, COME, inter, &flag, MPI_STATUS_IGNORE); /* the others get on */
      for (int i = 0; i < remote; i++) MPI_Send(&token, 1, MPI_INT, i, COME, inter);
    }
    if (!is_here) MPI_Send(&token, 1, MPI_INT, number, LATE, inter);
    MPI_Barrier(inter);
    if (is_here) continue;
    MPI_Iprobe(number, COME, inter, &flag, MPI_STATUS_IGNORE);
    CHECK(flag);
    MPI_Recv(&token, 1, MPI_INT, number, COME, inter, MPI_STATUS_IGNORE);
  }
}

/* Of ranks beside the root, the other arguments may be anything. */
static void beside_the_root(MPI_Comm inter, int low) {
  MPI_Request requests[2];
  int own, value = 5, sum = 0, remote;
  MPI_Comm_rank(inter, &own);
  MPI_Comm_remote_size(inter, &remote);
  if (low && own != 0) {
    MPI_Bcast(NULL, -1, MPI_DATATYPE_NULL, MPI_PROC_NULL, inter);
    MPI_Reduce(NULL, NULL, -1, MPI_DATATYPE_NULL, MPI_OP_NULL, MPI_PROC_NULL, inter);
    MPI_Ibcast(NULL, -1, MPI_DATATYPE_NULL, MPI_PROC_NULL, inter, &requests[0]);
    MPI_Ireduce(NULL, NULL, 0, MPI_BYTE, MPI_SUM, MPI_PROC_NULL, inter, &requests[1]);
  } else {
    int root = low ? MPI_ROOT : 0;
    MPI_Bcast(&value, 1, MPI_INT, root, inter);
    MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_SUM, root, inter);
    CHECK(!low || sum == 5 * remote);
    MPI_Ibcast(&value, 1, MPI_INT, root, inter, &requests[0]);
    MPI_Ireduce(&value, &sum, 1, MPI_INT, MPI_SUM, root, inter, &requests[1]);
  }
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  CHECK(!low || own != 0 || sum == 5 * remote);
}

static void intercommunicators(void) {
  MPI_Comm side, inter, copy, merged, parts;
  MPI_Group group;
  int low = rank < size / 2, flag, result, number, members;
  MPI_Comm_split(MPI_COMM_WORLD, low, rank, &side);
  MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, low ? size / 2 : 0, 3, &inter);
  MPI_Comm_test_inter(inter, &flag);
  CHECK(flag);
  between(inter, low);
  barriers_between(inter, low);
  beside_the_root(inter, low);
  MPI_Comm_dup(inter, &copy);
  MPI_Comm_compare(inter, copy, &result);
  CHECK(result == MPI_CONGRUENT);
  MPI_Comm_compare(inter, side, &result);
  CHECK(result == MPI_UNEQUAL);
  MPI_Comm_remote_group(copy, &group);
  MPI_Group_size(group, &members);
  CHECK(members == (low ? size - size / 2 : size / 2));
  MPI_Group_free(&group);
  MPI_Intercomm_merge(inter, !low, &merged); /* the lower ranks come first */
  MPI_Comm_rank(merged, &number);
  CHECK(number == rank);
  MPI_Comm_split(inter, rank % 2, 0, &parts);
  if (parts != MPI_COMM_NULL) {
    MPI_Comm_test_inter(parts, &flag);
    CHECK(flag);
    MPI_Comm_free(&parts);
  }
  MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
  CHECK(MPI_Scan(&number, &result, 1, MPI_INT, MPI_SUM, inter) == MPI_ERR_COMM);
  MPI_Request request;
  CHECK(MPI_Iscan(&number, &result, 1, MPI_INT, MPI_SUM, inter, &request) == MPI_ERR_COMM);
  MPI_Comm_set_errhandler(inter, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
  CHECK(MPI_Intercomm_create(inter, 0, MPI_COMM_WORLD, 0, 3, &parts) == MPI_ERR_COMM);
  CHECK(MPI_Dist_graph_create_adjacent(inter, 0, NULL, MPI_UNWEIGHTED, 0, NULL, MPI_UNWEIGHTED,
                                       MPI_INFO_NULL, 0, &parts) == MPI_ERR_COMM);
  EXPECT(MPI_ERR_COMM, MPI_Dist_graph_create(inter, 0, NULL, NULL, NULL, MPI_UNWEIGHTED,
                                             MPI_INFO_NULL, 0, &parts));
  EXPECT(MPI_ERR_COMM, MPI_Cart_create(inter, 1, (int[]){1}, (int[]){0}, 0, &parts));
  EXPECT(MPI_ERR_COMM, MPI_Graph_create(inter, 1, (int[]){0}, NULL, 0, &parts));
  MPI_Comm_set_errhandler(inter, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(side, MPI_ERRORS_RETURN);
  MPI_Comm_group(MPI_COMM_WORLD, &group); /* not all of them are in the side */
  CHECK(MPI_Comm_create(side, group, &parts) == MPI_ERR_GROUP);
  MPI_Group_free(&group);
  MPI_Comm_group(inter, &group);
  MPI_Comm_create(inter, group, &parts); /* all of both sides */
  MPI_Comm_remote_size(parts, &members);
  CHECK(members == (low ? size - size / 2 : size / 2));
  MPI_Comm_free(&parts);
  MPI_Group_free(&group);
  MPI_Comm_free(&merged);
  MPI_Comm_free(&copy);
  MPI_Comm_disconnect(&inter);
  CHECK(inter == MPI_COMM_NULL);
  MPI_Comm_free(&side);
}

/* Two groups of one tag: the last rank takes part in both, and first in the one that comes last. */
static void from_two_groups(void) {
  MPI_Group world, pairs[2];
  MPI_Comm made;
  int last = size - 1, got = -1;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  for (int i = 0; i < 2; i++) MPI_Group_incl(world, 2, (int[]){i, last}, &pairs[i]);
  if (rank < 2) {
    if (rank == 1) MPI_Recv(&got, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Comm_create_from_group(pairs[rank], "pair", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made);
    MPI_Send(&rank, 1, MPI_INT, rank == 0 ? 1 : last, 0, MPI_COMM_WORLD);
    MPI_Send(&rank, 1, MPI_INT, 1, 0, made);
    MPI_Comm_free(&made);
  }
  if (rank == last) MPI_Recv(&got, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 1; rank == last && i >= 0; i--) {
    MPI_Comm_create_from_group(pairs[i], "pair", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made);
    MPI_Recv(&got, 1, MPI_INT, 0, 0, made, MPI_STATUS_IGNORE);
    CHECK(got == i);
    MPI_Comm_free(&made);
  }
  for (int i = 0; i < 2; i++) MPI_Group_free(&pairs[i]);
  MPI_Group_free(&world);
}

/* What collectives send in a communicator never meets a receive for any message of the one that was
 * made before it or after it. */
static void collectives_stay_inside(MPI_Comm made[3], int to, void (*run)(MPI_Comm comm)) {
  MPI_Request requests[2];
  MPI_Status status;
  int got[2] = {-1, -1};
  for (int i = 0; i < 2; i++)
    MPI_Irecv(&got[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, made[2 * i], &requests[i]);
  run(made[1]);
  for (int i = 0; i < 2; i++) {
    MPI_Send(&(int){100 + i}, 1, MPI_INT, to, 7 + i, made[2 * i]);
    MPI_Wait(&requests[i], &status);
    CHECK(got[i] == 100 + i && status.MPI_TAG == 7 + i);
  }
  for (int i = 0; i < 3; i++) MPI_Comm_free(&made[i]);
}

static void run_all(MPI_Comm comm) {
  static int large[10000], others[10000];
  int near[64], value = rank, sum = -1, flag;
  MPI_Request request;
  MPI_Comm_test_inter(comm, &flag);
  MPI_Barrier(comm);
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
  MPI_Allgather(&value, 1, MPI_INT, near, 1, MPI_INT, comm);
  MPI_Alltoall(large, 100, MPI_INT, others, 100, MPI_INT, comm);
  MPI_Ibarrier(comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (flag) return;
  MPI_Bcast(large, 10000, MPI_INT, 0, comm);
  MPI_Scan(large, others, 5000, MPI_INT, MPI_SUM, comm);
  MPI_Neighbor_alltoall(large, 100, MPI_INT, others, 100, MPI_INT, comm);
  MPI_Ineighbor_allgather(&value, 1, MPI_INT, near, 1, MPI_INT, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(near[0] == (rank + size - 1) % size && near[1] == (rank + 1) % size);
}

static void contexts(void) {
  MPI_Comm made[3], half;
  int alone = size % 2 == 1 && rank == size - 1; /* halves are of one size */
  for (int i = 0; i < 3; i++) MPI_Cart_create(MPI_COMM_WORLD, 1, &size, (int[]){1}, 0, &made[i]);
  collectives_stay_inside(made, (rank + 1) % size, run_all);
  MPI_Comm_split(MPI_COMM_WORLD, alone ? MPI_UNDEFINED : rank % 2, 0, &half);
  if (alone || size == 1) return;
  for (int i = 0; i < 3; i++)
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &made[i]);
  collectives_stay_inside(made, rank / 2, run_all);
  MPI_Comm_free(&half);
}

int main(int argc, char **argv) {
  rank = check_start(&argc, &argv, &size);
  groups();
  in_order();
  split_by_keys();
  compared();
  kinds_of_splits();
  intercommunicators();
  truncated();
  from_two_groups();
  contexts();
  MPI_Finalize();
  return 0;
}
