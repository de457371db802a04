/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A part from each member of several nodes (src/tmpi/coll/nodes_each.c): few bytes are one message
 * from node to node, or some pieces; many are messages between all members. A wrong program's
 * members have parts of several sizes: then each gets what fits, and the one with too little room
 * an error, as on one node.
 */
#include "node_members.h"

enum {
  FEW = 512,     /* ranges, at most, of a part whose node's is one message */
  PIECE = 57344, /* bytes of a message, at most */
  MANY = 16      /* members of a node whose parts are several pieces */
};

static struct tm_type *out_type, *in_type;
static int sends[MEMBERS_MAX], receives[MEMBERS_MAX]; /* elements of a part, by member */
static int displs[MEMBERS_MAX];                       /* of growing parts */
static bool in_place, given, packed;                  /* given: the arguments have counts */

/* ---- the two collectives: what a member brings for another one, and what all have in the end */

static struct range part_mark(int from, int to, int i) { return mark(100 * from + to, (size_t)i); }

static struct tm_parts parts(struct spread_range *base, int each, struct tm_type *type) {
  const struct tm_counts counts = {given ? receives : NULL, NULL},
                         at = {given ? displs : NULL, NULL};
  return (struct tm_parts){base, each, counts, at, type, NULL};
}

/* Where the part of a member is in the buffer of another one. */
static size_t place_of(int rank, int of) {
  return given ? (size_t)displs[of] : (size_t)(of * receives[rank]);
}

static void allgather(struct member *member) {
  int rank = member->comm.rank;
  const struct tm_parts all = parts(in[rank], receives[rank], in_type);
  struct tm_part own = {out[rank], (size_t)sends[rank], out_type};
  if (in_place) own = (struct tm_part){MPI_IN_PLACE, 0, NULL};
  tm_nodes_allgather(&member->coll, &own, &all);
}

static void alltoall(struct member *member) {
  int rank = member->comm.rank;
  const struct tm_parts to = parts(in[rank], receives[rank], in_type);
  const struct tm_parts from = {out[rank], sends[rank], TM_NO_COUNTS, TM_NO_COUNTS, out_type, NULL};
  struct tm_part copies[MEMBERS_MAX];
  for (int i = 0; i < count_of_members; i++) copies[i] = tm_part_of(&from, i);
  tm_nodes_alltoall(&member->coll, packed ? NULL : &from, packed ? copies : NULL, &to);
}

static int most_of(const int *counts) {
  int most = 0;
  for (int i = 0; i < count_of_members; i++)
    if (counts[i] > most) most = counts[i];
  return most;
}

static bool is_gathered; /* it is an allgather */

static void fill(void) {
  for (int i = 0; i < count_of_members; i++) {
    for (int to = 0; to < count_of_members; to++)
      for (int j = 0; j < sends[i]; j++)
        *element(out[i], out_type, (size_t)(to * sends[i] + j)) =
            part_mark(i, is_gathered ? 0 : to, j);
    for (int j = 0; in_place && j < sends[i]; j++)
      *element(in[i], in_type, place_of(i, i) + (size_t)j) = part_mark(i, 0, j);
  }
}

static void check_filled(int rank) {
  bool cut = false;
  for (int from = 0; from < count_of_members; from++) {
    int room = given ? receives[from] : receives[rank];
    for (int j = 0; j < sends[from] && j < room; j++) {
      struct range expected = part_mark(from, is_gathered ? 0 : rank, j);
      const struct range *at = element(in[rank], in_type, place_of(rank, from) + (size_t)j);
      check_mark(at, expected.first, (size_t)expected.end);
    }
    cut |= sends[from] > room;
  }
  assert_int_equal(members[rank].coll.error, cut ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
}

/* lasting: messages may come that nobody receives any more. */
static void perform(bool gathers, bool lasting) {
  is_gathered = gathers;
  have_buffers((size_t)(count_of_members * (most_of(receives) + most_of(sends))));
  fill();
  if (lasting)
    run_all(gathers ? allgather : alltoall);
  else
    run(gathers ? allgather : alltoall);
  assert_string_equal(stopped, "");
  drop_packets();
  for (int i = 0; i < count_of_members; i++) {
    check_filled(i);
    if (in_type == &spread_ranges) check_gaps(in[i], (size_t)(count_of_members * receives[i]));
  }
  drop_buffers();
}

static void all_have(int elements) {
  for (int i = 0; i < count_of_members; i++) sends[i] = receives[i] = elements;
}

static int between_nodes(void) { return count_of_nodes * (count_of_nodes - 1); }
static int between_all(void) { return count_of_members * (count_of_members - 1); }

static void begin_exchange(const char *nodes) {
  begin(nodes);
  in_place = given = packed = false;
  out_type = in_type = &ranges;
}

/* ---- parts of one size */

static void small_parts_are_one_message_from_node_to_node(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
    begin_exchange(layouts[i]);
    bool shares = count_of_members > count_of_nodes; /* some node has several members */
    for (int way = 0; way < 16; way++) {
      bool gathers = way & 1;
      in_place = gathers && way & 2;
      packed = !gathers && way & 2;
      out_type = way & 4 ? &spread_ranges : &ranges;
      in_type = way & 8 ? &spread_ranges : &ranges;
      direction = way % 3 == 0 ? -1 : 1;
      all_have(1 + way);
      perform(gathers, false);
      assert_int_equal(sent, shares ? between_nodes() : between_all());
    }
    end();
  }
}

static void parts_of_some_size_are_messages_between_all(void **state) {
  static const int sizes[] = {0, 1, FEW, FEW + 1, 2 * FEW};
  (void)state;
  begin_exchange("aabbc");
  for (int i = 0; i < 10; i++) {
    int size = sizes[i / 2];
    all_have(size);
    in_place = i == 9;
    perform(i % 2 == 1, false);
    assert_int_equal(sent, size > 0 && size <= FEW ? between_nodes() : between_all());
  }
  end();
}

static int bytes_each;

static void allgather_bytes(struct member *member) {
  char *own = (char *)out[member->comm.rank], *all = (char *)in[member->comm.rank];
  struct tm_type *byte = tm_type_of(MPI_BYTE);
  const struct tm_part part = {own, (size_t)bytes_each, byte};
  const struct tm_parts to = {all, bytes_each, TM_NO_COUNTS, TM_NO_COUNTS, byte, NULL};
  memset(own, 'a' + member->comm.rank, (size_t)bytes_each);
  tm_nodes_allgather(&member->coll, &part, &to);
  for (int i = 0; i < count_of_members * bytes_each; i++)
    if (all[i] != 'a' + i / bytes_each) fail_msg("byte %d is %d", i, all[i]);
}

/* One byte is a part, and the last piece of a message may be one byte. */
static void each_byte_counts(void **state) {
  static const struct {
    const char *nodes;
    int bytes, messages;
  } cases[] = {{"aabbc", 1, 3 * 2}, {"aaaaaaaaaaaaaaab", (PIECE + 1) / 15, 3 + 1}};
  (void)state;
  for (int i = 0; i < 2; i++) {
    begin_exchange(cases[i].nodes);
    bytes_each = cases[i].bytes;
    have_buffers((size_t)(count_of_members * bytes_each));
    run(allgather_bytes);
    assert_int_equal(sent, cases[i].messages);
    drop_buffers();
    end();
  }
}

static void parts_with_counts_are_messages_between_all(void **state) {
  (void)state;
  begin_exchange("abab");
  given = true;
  for (int i = 0, at = 0; i < count_of_members; i++) {
    sends[i] = receives[i] = i + 1;
    displs[i] = at;
    at += i + 1;
  }
  for (int way = 0; way < 2; way++) {
    in_place = way == 1;
    perform(true, false);
    assert_int_equal(sent, between_all());
  }
  in_place = false;
  for (int i = 0; i < count_of_members; i++) {
    sends[i] = receives[i] = 3;
    displs[i] = 3 * i;
  }
  perform(false, false);
  assert_int_equal(sent, between_all());
  end();
}

/* ---- how many messages there are at a time, and how large they are */

static const char *many_of(const char *nodes, const int *each) {
  static char layout[MEMBERS_MAX + 1];
  size_t at = 0;
  for (size_t i = 0; nodes[i] != '\0'; i++)
    for (int j = 0; j < each[i]; j++) layout[at++] = nodes[i];
  layout[at] = '\0';
  return layout;
}

/* What exceeds a piece goes in several, behind one that says how much it is. */
static void large_messages_go_in_pieces(void **state) {
  static const struct {
    int members[3], elements, gathered, exchanged; /* messages in all */
  } cases[] = {{{14, 14, 0}, FEW, 2, 2 * 15},      /* 14 parts are just one piece */
               {{15, 15, 0}, FEW, 2 * 3, 2 * 18},
               {{MANY, MANY, 0}, FEW, 2 * 3, 2 * 20},
               {{MANY, MANY, MANY}, 448, 6, 6 * 17},
               {{MANY, MANY + 1, 0}, FEW, 33 * 32, 33 * 32}}; /* more than a node may get at once */
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    begin_exchange(many_of("abc", cases[i].members));
    bool in_pieces = cases[i].gathered < between_all();
    all_have(cases[i].elements);
    for (int gathers = 0; gathers < 2; gathers++) {
      perform(gathers, false);
      assert_int_equal(sent, gathers ? cases[i].gathered : cases[i].exchanged);
      int parts_together =
          gathers ? cases[i].members[0] : cases[i].members[0] * cases[i].members[1];
      int bytes = (in_pieces ? parts_together : 1) * cases[i].elements * (int)sizeof(struct range);
      assert_int_equal(largest, bytes < PIECE ? bytes : PIECE);
    }
    end();
  }
}

/* Short messages go to 16 nodes at a time; where there are pieces, to one node. */
static void few_messages_are_under_way_at_once(void **state) {
  static const int twenty[20] = {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2},
                   three[3] = {MANY, MANY, MANY};
  (void)state;
  begin_exchange(many_of("abcdefghijklmnopqrst", twenty));
  all_have(1);
  for (int gathers = 0; gathers < 2; gathers++) {
    perform(gathers, false);
    assert_int_equal(sent, between_nodes());
    assert_int_equal(most_awaited, 2 * 16);
  }
  end();
  begin_exchange(many_of("abcdefghijklmnopq", twenty)); /* 17, of which each has 16 others */
  all_have(1);
  perform(true, false);
  assert_int_equal(most_awaited, 2 * 16);
  end();
  begin_exchange(many_of("abc", three));
  all_have(FEW);
  perform(true, false);
  assert_int_equal(most_awaited, 2 * 3);
  end();
}

/* ---- parts of several sizes */

/* Members that share a node find it out by messages from node to node. */
static void odd_parts(int odd, int sent_by_it, int received_by_it) {
  bool shares = count_of_members > count_of_nodes;
  all_have(2);
  sends[odd] = sent_by_it;
  receives[odd] = received_by_it;
  for (int way = 0; way < 4; way++) {
    direction = way & 2 ? 1 : -1;
    perform(way & 1, false);
    assert_int_equal(sent, (shares ? between_nodes() : 0) + between_all());
  }
}

/* Each member in turn sends more or less than others, or expects it. */
static void a_member_with_another_size_is_like_on_one_node(void **state) {
  static const char *const some[] = {"abc", "aab", "abb", "aabb", "abcab", "aaabbcc"};
  (void)state;
  for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) {
    begin_exchange(some[i]);
    for (int odd = 0; odd < count_of_members; odd++) {
      odd_parts(odd, 3, 3);
      odd_parts(odd, 1, 1);
      odd_parts(odd, 3, 2);
      odd_parts(odd, 1, 2);
      odd_parts(odd, 0, 2);
    }
    end();
  }
}

/* One node expects pieces, and the other one message: also one as long as what tells of pieces. */
static void nodes_with_other_sizes_expect_other_messages(void **state) {
  static const struct {
    int members[2], elements[2];
  } cases[] = {{{MANY, MANY}, {FEW, 1}}, {{MANY, 1}, {FEW, 1}}, {{MANY, MANY}, {FEW, FEW - 1}},
               {{1, MANY}, {1, FEW}},    {{MANY, 1}, {1, FEW}}, {{MANY, MANY}, {450, 500}}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    begin_exchange(many_of("ab", cases[i].members));
    for (int j = 0; j < count_of_members; j++)
      sends[j] = receives[j] = cases[i].elements[j < cases[i].members[0] ? 0 : 1];
    for (int way = 0; way < 4; way++) {
      direction = way & 2 ? 1 : -1;
      perform(way & 1, true);
    }
    end();
  }
}

/* ---- what the first members of nodes exchange */

static void exchange(struct member *member) {
  int rank = member->comm.rank, here = member->local_comm.size;
  if (member->local_comm.rank != 0) return;
  struct range *at = (struct range *)in[rank];
  for (int i = 0; i < here; i++) at[i] = mark(rank, (size_t)i);
  tm_nodes_exchange(&member->coll, at, sizeof *at);
  at += here;
  for (int node = 0; node < count_of_nodes; node++)
    for (int i = 0; node != member->comm.span->own && i < local[node]->size; i++)
      check_mark(at++, member->comm.span->speakers[node], (size_t)i);
}

static void first_members_exchange_what_their_nodes_have(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
    begin_exchange(layouts[i]);
    have_buffers((size_t)count_of_members);
    run(exchange);
    assert_int_equal(sent, between_nodes());
    drop_buffers();
    end();
  }
}

/* ---- no memory */

static void a_member_without_memory_says_so(void **state) {
  (void)state;
  begin_exchange("aabbc");
  all_have(1);
  have_buffers((size_t)count_of_members);
  is_gathered = false;
  fill();
  assert_int_equal(starve(alltoall), 5 + 3 * 3); /* of each member, and of each first one */
  assert_int_equal(starve(allgather), 5 + 3 * 3);
  drop_buffers();
  end();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(small_parts_are_one_message_from_node_to_node),
      cmocka_unit_test(parts_of_some_size_are_messages_between_all),
      cmocka_unit_test(each_byte_counts),
      cmocka_unit_test(parts_with_counts_are_messages_between_all),
      cmocka_unit_test(large_messages_go_in_pieces),
      cmocka_unit_test(few_messages_are_under_way_at_once),
      cmocka_unit_test(a_member_with_another_size_is_like_on_one_node),
      cmocka_unit_test(nodes_with_other_sizes_expect_other_messages),
      cmocka_unit_test(first_members_exchange_what_their_nodes_have),
      cmocka_unit_test(a_member_without_memory_says_so),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
