/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives of several nodes (src/tmpi/coll/nodes*.c, message.c), member by member: what each of
 * them gets, with how many messages, and what a wrong program's members get.
 */
#include "node_members.h"

static struct tm_type *type;   /* of what is sent */
static size_t count, room_for; /* elements of a part; that are received at most */
static int root, odd;          /* odd: the member that differs; -1: none */
static bool in_place;

/* ---- barriers */

static int came, late;

static void cross_barrier(struct member *member) {
  for (int i = 0; member->comm.rank == late && i < 50; i++) {
    idle = 0;
    give_way();
  }
  came++;
  tm_nodes_barrier(&member->coll);
  assert_int_equal(came, count_of_members);
}

static int bits(int number) {
  int found = 0;
  while (1 << found < number) found++;
  return found;
}

static void nobody_leaves_a_barrier_before_the_last_has_come(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
    begin(layouts[i]);
    for (late = 0; late < count_of_members; late++) {
      came = 0;
      direction = late % 2 == 0 ? 1 : -1;
      run(cross_barrier);
      assert_int_equal(sent, count_of_nodes * bits(count_of_nodes));
      assert_int_equal(largest, 0);
    }
    end();
  }
}

/* ---- from one */

static size_t bcast_room(int rank) { return rank == odd ? room_for : count; }

static void take_part_in_bcast(struct member *member) {
  int rank = member->comm.rank;
  struct tm_type *own = rank == root ? type : type == &ranges ? &spread_ranges : &ranges;
  tm_nodes_bcast(&member->coll, in[rank], rank == root ? count : bcast_room(rank), own, root);
}

static void check_bcast(int rank) {
  struct tm_type *own = rank == root ? type : type == &ranges ? &spread_ranges : &ranges;
  size_t fits = rank != root && bcast_room(rank) < count ? bcast_room(rank) : count;
  for (size_t i = 0; i < fits; i++) check_mark(element(in[rank], own, i), root, i);
  if (own == &spread_ranges) check_gaps(in[rank], count);
  struct range untouched;
  memset(&untouched, 0xa5, sizeof untouched);
  assert_memory_equal(element(in[rank], own, fits), &untouched, sizeof untouched);
  assert_int_equal(members[rank].coll.error, fits < count ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
}

static void bcast(void) {
  have_buffers(count + 10);
  for (size_t i = 0; i < count; i++) *element(in[root], type, i) = mark(root, i);
  run(take_part_in_bcast);
  for (int i = 0; i < count_of_members; i++) check_bcast(i);
  assert_int_equal(sent, count_of_nodes - 1);
  assert_int_equal(members[root].sent, bits(count_of_nodes));
  drop_buffers();
}

static void a_broadcast_reaches_each_node_once(void **state) {
  (void)state;
  odd = -1;
  for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
    begin(layouts[i]);
    for (root = 0; root < count_of_members; root++) {
      direction = root % 2 == 0 ? 1 : -1;
      type = root % 3 == 0 ? &spread_ranges : &ranges;
      count = (size_t)root * 10;
      bcast();
    }
    end();
  }
}

static void a_member_with_another_room_passes_on_all_the_same(void **state) {
  (void)state;
  type = &ranges;
  count = 20;
  for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
    begin(layouts[i]);
    root = count_of_members / 2;
    for (odd = 0; odd < count_of_members; odd++)
      for (room_for = 5; odd != root && room_for <= 25; room_for += 20) bcast();
    end();
  }
}

/* Only a member that passes a message on has to know its size. */
static void the_last_to_hear_it_do_not_ask_for_its_size(void **state) {
  static const struct {
    const char *nodes;
    int probes;
  } cases[] = {{"ab", 0}, {"abc", 0}, {"abcd", 1}, {"aab", 0}, {"abb", 1}, {"aabbcc", 2}};
  (void)state;
  type = &ranges;
  count = 1;
  root = 0;
  odd = -1;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    begin(cases[i].nodes);
    bcast();
    assert_int_equal(probes, cases[i].probes);
    end();
  }
}

static void broadcast_alone(struct member *member) {
  struct range own = mark(7, 7);
  member->comm.span = NULL;
  member->comm.local_comm = NULL;
  tm_nodes_bcast(&member->coll, &own, 1, &ranges, 0);
  check_mark(&own, 7, 7);
}

static void a_member_alone_keeps_what_it_has(void **state) {
  (void)state;
  begin("a");
  free(members[0].comm.span);
  run(broadcast_alone);
  end();
}

/* ---- to one, and a part from one for each: parts grow with the rank */

static int counts[MEMBERS_MAX], displs[MEMBERS_MAX];

static int growing_counts(void) {
  int total = 0;
  for (int i = 0; i < count_of_members; i++) {
    counts[i] = i + 1;
    displs[i] = total;
    total += counts[i];
  }
  return total;
}

static struct tm_parts all_of(int rank, struct spread_range *base) {
  bool given = rank == root; /* to others they mean nothing */
  return (struct tm_parts){given ? base : NULL,           -1,
                           {given ? counts : NULL, NULL}, {given ? displs : NULL, NULL},
                           given ? &spread_ranges : NULL, NULL};
}

static void gather(struct member *member) {
  int rank = member->comm.rank;
  struct tm_parts all = all_of(rank, in[rank]);
  struct tm_part own = {out[rank], (size_t)counts[rank], &ranges};
  if (rank == root && in_place) own.at = MPI_IN_PLACE;
  tm_nodes_gather(&member->coll, &own, &all, root);
}

static void scatter(struct member *member) {
  int rank = member->comm.rank;
  struct tm_parts all = all_of(rank, out[rank]);
  struct tm_part own = {in[rank], (size_t)counts[rank], &ranges};
  if (rank == root && in_place) own.at = MPI_IN_PLACE;
  tm_nodes_scatter(&member->coll, &all, &own, root);
}

static void check_gathered(void) {
  for (int i = 0; i < count_of_members; i++)
    for (int j = 0; j < counts[i]; j++)
      check_mark(element(in[root], &spread_ranges, (size_t)(displs[i] + j)), i, (size_t)j);
  check_gaps(in[root], (size_t)(displs[count_of_members - 1] + counts[count_of_members - 1]));
}

static void check_scattered(void) {
  for (int i = 0; i < count_of_members; i++)
    for (int j = 0; (i != root || !in_place) && j < counts[i]; j++)
      check_mark(element(in[i], &ranges, (size_t)j), i, (size_t)j);
}

static void one_has_a_part_for_each(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
    begin(layouts[i]);
    int total = growing_counts();
    for (int way = 0; way < 2 * count_of_members; way++) {
      root = way / 2;
      in_place = way % 2 == 1;
      have_buffers((size_t)total);
      for (int j = 0; j < count_of_members; j++)
        for (int k = 0; k < counts[j]; k++) {
          *element(out[j], &ranges, (size_t)k) = mark(j, (size_t)k);
          if (in_place && j == root)
            *element(in[j], &spread_ranges, (size_t)(displs[j] + k)) = mark(j, (size_t)k);
        }
      run(gather);
      check_gathered();
      assert_int_equal(sent, count_of_members - 1);
      memcpy(out[root], in[root], (size_t)total * sizeof *out[root]);
      if (in_place) memset(in[root], 0, (size_t)total * sizeof *out[root]);
      run(scatter);
      check_scattered();
      if (in_place) check_mark(element(in[root], &ranges, 0), 0, 0);
      assert_int_equal(members[root].sent, count_of_members - 1);
      drop_buffers();
    }
    end();
  }
}

/* ---- reductions: element i of rank r is the range that begins at 1000 i + r */

static struct range brought(int rank, size_t i) {
  int first = 1000 * (int)i + rank;
  return (struct range){first, first + 1};
}

static void have_ranges(size_t elements) {
  have_buffers(elements);
  for (int i = 0; i < count_of_members; i++)
    for (size_t j = 0; j < elements; j++) {
      *element(out[i], type, j) = brought(i, j);
      if (in_place) *element(in[i], type, j) = brought(i, j);
    }
}

static void reduce(struct member *member) {
  int rank = member->comm.rank;
  void *to = rank == root || root < 0 ? in[rank] : NULL;
  const void *from = to != NULL && in_place ? to : out[rank];
  tm_nodes_reduce(&member->coll, from, to, count, type, follows, root);
}

static void check_combined(struct spread_range *base, size_t at, size_t i) {
  const struct range *sum = element(base, type, at);
  assert_int_equal(sum->first, 1000 * (int)i);
  assert_int_equal(sum->end, 1000 * (int)i + count_of_members);
}

static bool is_in_order(void) { return members[0].comm.span->in_order; }

/* @return with how many messages all get the sum: nodes exchange theirs in pairs, or it goes to
 * rank 0 and from there to all. */
static int messages_to_all(void) {
  int nodes = count_of_nodes;
  bool pairs_of_nodes = 1 << bits(nodes) == nodes && (nodes == 2 || count * type->size <= 65536);
  if (!is_in_order()) return count_of_members - 1 + nodes - 1;
  return pairs_of_nodes ? nodes * bits(nodes) : 2 * (nodes - 1);
}

static void reduce_once(void) {
  have_ranges(count);
  run(reduce);
  for (int i = 0; i < count_of_members; i++) {
    bool wanted = root < 0 || root == i;
    for (size_t j = 0; wanted && j < count; j++) check_combined(in[i], j, j);
    for (size_t j = 0; !(wanted && in_place) && j < count; j++) {
      struct range own = brought(i, j); /* it is still there */
      assert_memory_equal(element(out[i], type, j), &own, sizeof own);
    }
    if (type == &spread_ranges && wanted) check_gaps(in[i], count);
  }
  if (root < 0)
    assert_int_equal(sent, messages_to_all());
  else
    assert_int_equal(sent, (is_in_order() ? count_of_nodes : count_of_members) - 1);
  drop_buffers();
}

static void elements_are_combined_in_the_order_of_ranks(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
    begin(layouts[i]);
    for (root = -1; root < count_of_members; root++)
      for (int way = 0; way < 4; way++) {
        in_place = way & 1;
        type = way & 2 ? &spread_ranges : &ranges;
        direction = root % 2 == 0 ? 1 : -1;
        count = (size_t)way * 3;
        reduce_once();
      }
    end();
  }
}

/* With more than 64 KiB, more than two nodes take the way by rank 0. */
static void large_sums_are_not_exchanged_in_pairs(void **state) {
  static const char *const some[] = {"aabb", "aabbccdd", "abcd"};
  (void)state;
  in_place = false;
  type = &ranges;
  root = -1;
  for (size_t i = 0; i < 3; i++) {
    begin(some[i]);
    for (count = 8191; count <= 8193; count++) reduce_once();
    end();
  }
}

static void reduce_part(struct member *member) {
  int rank = member->comm.rank;
  tm_nodes_reduce_part(&member->coll, out[rank], (size_t)displs[rank], (size_t)counts[rank],
                       in[rank], type, follows);
}

static void each_gets_its_slice_of_the_sum(void **state) {
  (void)state;
  in_place = false;
  for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
    begin(layouts[i]);
    type = i % 2 == 0 ? &ranges : &spread_ranges;
    int total = growing_counts();
    counts[count_of_members / 2] = 0;
    have_ranges((size_t)total);
    run(reduce_part);
    for (int j = 0; j < count_of_members; j++)
      for (int k = 0; k < counts[j]; k++) check_combined(in[j], (size_t)k, (size_t)(displs[j] + k));
    drop_buffers();
    end();
  }
}

/* ---- contexts of new communicators */

static uint64_t contexts[MEMBERS_MAX];
static bool limited;

static void agree(struct member *member) {
  contexts[member->comm.rank] = limited ? tm_context_agree_limited(&member->comm, "MPI_X")
                                        : tm_context_agree(&member->comm, "MPI_X");
}

/* Nodes meet at four of 64 collectives: the counter is at `before` when the call begins. */
static void all_get_the_context_of_rank_0(void **state) {
  (void)state;
  begin("abab");
  for (int before = 0; before < 70; before++) {
    bool meets = before % 64 < 4;
    limited = before % 2 == 1;
    for (int i = 0; i < count_of_members; i++)
      members[i].comm.collectives = before - 1; /* run() begins one */
    run(agree);
    for (int i = 0; i < count_of_members; i++) assert_int_equal(contexts[i], limited ? 2000 : 1000);
    assert_int_equal(sent, meets ? 3 : 1);
  }
  end();
}

/* ---- tags, and what ends the job */

/* Collectives of some members have the tags that neither others nor wildcards have. */
static void tags_of_programs_are_no_others(void **state) {
  static const int tags[] = {0, 1, INT32_MAX - 3, INT32_MAX - 2, INT32_MAX - 1, INT32_MAX};
  int own[6];
  (void)state;
  for (int i = 0; i < 6; i++) {
    struct tm_coll coll = tm_coll_tagged(&members[0].comm, "MPI_X", tags[i]);
    own[i] = coll.tag;
    assert_true(coll.tag != MPI_ANY_TAG && coll.tag != -1);
    assert_true(coll.tag < 0 || coll.tag >= TM_COLL_TAGS);
    assert_true(coll.comm == &members[0].comm && coll.error == MPI_SUCCESS);
    for (int j = 0; j < i; j++) assert_int_not_equal(own[j], own[i]);
  }
}

static int accused;

static void accuse(struct member *member) {
  struct tm_coll local_coll = tm_coll_begin(&member->local_comm, "MPI_X");
  if (member->comm.rank == odd) local_coll.tag++;
  tm_publish(&local_coll, 5, NULL, 0, NULL);
  tm_next_phase(&local_coll);
  if (member->comm.rank == 0) tm_not_published(&local_coll, 5, accused);
}

static void check_accused(const char *other) {
  char expected[200];
  snprintf(expected, sizeof expected,
           "%s MPI_X %d: %s of it is in another collective, or names another root",
           members[0].local_comm.name[0] != '\0' ? "grid" : "a communicator", MPI_ERR_OTHER, other);
  run_all(accuse);
  stopped[strlen(expected)] = '\0';
  assert_string_equal(stopped, expected);
}

static void a_member_in_another_collective_is_named(void **state) {
  (void)state;
  begin("aaa");
  accused = 1;
  odd = -1;
  check_accused("rank 1");
  accused = -1;
  check_accused("another rank");
  odd = 2;
  strcpy(members[0].local_comm.name, "grid");
  check_accused("rank 2");
  end();
}

/* ---- no memory */

static void a_member_without_memory_says_so(void **state) {
  (void)state;
  begin("aabbccd");
  type = &ranges;
  count = 4;
  growing_counts();
  in_place = false;
  have_ranges(100);
  root = 1;
  odd = 2;
  room_for = 2;
  assert_int_equal(starve(take_part_in_bcast), 1); /* where the member with less room passes on */
  assert_int_equal(starve(reduce), 7 + 2);         /* sums, and what the root needs */
  assert_int_equal(starve(reduce_part), 7 + 19 + 7 + 8); /* ends, their exchange, sums, halves */
  drop_buffers();
  end();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nobody_leaves_a_barrier_before_the_last_has_come),
      cmocka_unit_test(a_broadcast_reaches_each_node_once),
      cmocka_unit_test(a_member_with_another_room_passes_on_all_the_same),
      cmocka_unit_test(the_last_to_hear_it_do_not_ask_for_its_size),
      cmocka_unit_test(a_member_alone_keeps_what_it_has),
      cmocka_unit_test(one_has_a_part_for_each),
      cmocka_unit_test(elements_are_combined_in_the_order_of_ranks),
      cmocka_unit_test(large_sums_are_not_exchanged_in_pairs),
      cmocka_unit_test(each_gets_its_slice_of_the_sum),
      cmocka_unit_test(all_get_the_context_of_rank_0),
      cmocka_unit_test(tags_of_programs_are_no_others),
      cmocka_unit_test(a_member_in_another_collective_is_named),
      cmocka_unit_test(a_member_without_memory_says_so),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
