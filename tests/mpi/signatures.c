/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Type signatures, and what --check says where a message meets a receive of another one
 * (src/tmpi/check/signature.c, type_match.c): two are the same if their basic elements are, however
 * the types were made, and a receive may have room for more.
 */
#include "traced_calls.h"

#include <stdbool.h>
#include <stdlib.h>

#include "said.h"
#include "tmpi/check/signature.h"
#include "tmpi/match/hook.h"
#include "tmpi/object/comm.h"
#include "tmpi/report/text.h"

struct tm_type tm_predefined[TM_PREDEFINED_COUNT];
const char *const tm_calls[] = {"MPI_Recv", "MPI_Wait"};
void (*tm_match_hook)(const struct tm_request *, const struct tm_envelope *, const struct tm_type *,
                      size_t);

/* ---- types: i int, d double, p MPI_PACKED, and what is made of them */

#define PREDEFINED(handle) (&tm_predefined[(uintptr_t)(handle) - TM_PREDEFINED_FIRST])

static struct tm_type types[20];
static int type_count;

static struct tm_type *simple(MPI_Datatype handle, int basic, size_t size) {
  struct tm_type *type = PREDEFINED(handle);
  *type = (struct tm_type){
      .magic = TM_TYPE_MAGIC, .predefined = true, .basic = (uint8_t)basic, .size = size};
  return type;
}

/* `count` elements of a type, as MPI_Type_contiguous() and its like make it. */
static struct tm_type *several(struct tm_type *of, size_t count) {
  static struct tm_type *parts[20][2];
  struct tm_type *type = &types[type_count];
  parts[type_count][0] = parts[type_count][1] = of; /* a recipe may list more than elements */
  *type = (struct tm_type){.combiner = MPI_COMBINER_VECTOR, .size = count * of->size};
  type->recipe.types = parts[type_count++];
  type->recipe.type_count = 2;
  return type;
}

/* A structure of a elements of one type, and b of another one. */
static struct tm_type *pair(struct tm_type *first, int a, struct tm_type *second, int b) {
  static int integers[20][3];
  static MPI_Count counts[20][3];
  struct tm_type *type = several(first, 0);
  int i = (int)(type - types);
  type->combiner = MPI_COMBINER_STRUCT;
  type->size = (size_t)a * first->size + (size_t)b * second->size;
  type->recipe.types[1] = second;
  integers[i][0] = 2, integers[i][1] = a, integers[i][2] = b;
  counts[i][0] = 2, counts[i][1] = a, counts[i][2] = b;
  type->recipe.integers = integers[i];
  if (i % 2 == 0) { /* MPI_Type_create_struct_c() */
    type->recipe.large_counts = counts[i];
    type->recipe.large_count = 3;
    integers[i][1] = integers[i][2] = 99;
  }
  return type;
}

static struct tm_type *i, *d, *p;

static bool same(const struct tm_type *a, uint64_t m, const struct tm_type *b, uint64_t n) {
  struct tm_signature of_a = tm_signature_of(a, m), of_b = tm_signature_of(b, n);
  return tm_signature_same(&of_a, &of_b);
}

/* Whether the first elements of a type are these. */
static bool starts(const struct tm_type *type, uint64_t count, uint64_t wanted,
                   const struct tm_type *with, uint64_t n) {
  struct tm_signature start = tm_signature_start(type, count, wanted),
                      expected = tm_signature_of(with, n);
  return tm_signature_same(&start, &expected);
}

/* ---- the rest of the library */

static const struct tm_seen *seen; /* the call that rank 3 is in */

const struct tm_seen *tm_seen_of(int rank) {
  assert_int_equal(rank, 3);
  return seen;
}

void tm_describe_site(char *text, size_t size, const void *site) {
  snprintf(text, size, " at %zu", (size_t)(uintptr_t)site);
}

void tm_describe_data(char *text, size_t size, size_t count, MPI_Datatype type) {
  assert_int_equal(size, 100);
  snprintf(text, size, "%zu %s", count, (struct tm_type *)type == i ? "int" : "double");
}

MPI_Datatype tm_type_handle(const struct tm_type *type) { return (MPI_Datatype)(uintptr_t)type; }
const char *tm_text_comm(const char *name) { return name; }

static int start(void **state) {
  (void)state;
  type_count = 0;
  i = simple(MPI_INT, TM_INT32, 4);
  d = simple(MPI_DOUBLE, TM_DOUBLE, 8);
  p = simple(MPI_PACKED, TM_BYTE, 1);
  said[0] = '\0';
  return 0;
}

/* ---- signatures */

static void test_the_way_a_type_is_made_does_not_matter(void **state) {
  struct tm_type *one = pair(i, 2, d, 1), *two = pair(one, 1, one, 1);
  (void)state;
  assert_true(same(i, 6, several(i, 3), 2) && same(i, 6, several(several(i, 2), 3), 1));
  assert_true(same(one, 2, two, 1) && same(one, 14, two, 7));
  assert_true(same(several(i, 1000003), 3, i, 3000009));
  assert_true(same(i, 0, pair(i, 0, d, 0), 5) && same(d, 0, i, 0));
  assert_int_equal(tm_signature_of(two, 3).count, 18);
}

static void test_numbers_kinds_and_order_matter(void **state) {
  struct tm_type *one = pair(i, 2, d, 1), *four = pair(i, 4, d, 2), *back = pair(d, 1, i, 2);
  (void)state;
  assert_false(same(i, 6, i, 5) || same(i, 6, d, 6) || same(i, 1, i, 0));
  assert_false(same(one, 2, four, 1) || same(one, 1, back, 1) || same(one, 2, back, 2));
  assert_true(same(pair(i, 1, one, 1), 1, pair(several(i, 3), 1, d, 1), 1));
}

static void test_packed_data_are_any(void **state) {
  (void)state;
  assert_true(same(p, 40, i, 5) && same(i, 5, p, 1) && same(pair(i, 1, p, 2), 1, d, 7));
  assert_false(same(simple(MPI_BYTE, TM_BYTE, 1), 4, i, 1));
}

/* MPI_Type_create_f90_real() and its like: derived, and one element. */
static void test_lasting_types_are_one_element(void **state) {
  struct tm_type *lasting = several(i, 4);
  (void)state;
  lasting->lasting = true;
  lasting->basic = TM_DOUBLE;
  assert_true(same(lasting, 3, d, 3));
}

static void test_the_start_of_data(void **state) {
  struct tm_type *one = pair(i, 2, d, 1), *nested = pair(one, 2, d, 3);
  (void)state;
  assert_true(starts(i, 9, 4, i, 4) && starts(i, 9, 0, d, 0));
  assert_true(starts(i, 3, 4, i, 3)); /* there are no more */
  assert_true(starts(one, 10, 6, one, 2) && starts(one, 2, 6, one, 2) && starts(one, 1, 6, one, 1));
  assert_true(starts(one, 10, 4, pair(one, 1, i, 1), 1));
  assert_true(starts(one, 10, 5, pair(one, 1, i, 2), 1));
  assert_true(starts(one, 10, 1, i, 1));
  assert_true(starts(nested, 2, 4, pair(one, 1, i, 1), 1));
  assert_true(starts(nested, 2, 8, pair(one, 2, d, 2), 1));
  assert_true(starts(nested, 2, 11, pair(nested, 1, i, 2), 1));
  assert_true(starts(several(one, 2), 5, 4, pair(one, 1, i, 1), 1));
  assert_true(starts(pair(i, 0, d, 0), 4, 3, i, 0)); /* of nothing */
}

/* ---- messages */

static struct tm_rank receiver = {.number = 3};
static struct tm_comm comm = {.context = 8, .name = "world"};

static void meets(struct tm_type *wanted, size_t room, struct tm_type *sent, size_t count) {
  struct tm_request recv = {.owner = &receiver, .comm = &comm, .count = room, .type = wanted};
  struct tm_envelope envelope = {.context = 8, .source = 1, .tag = 5};
  recv.entry.envelope.context = 8;
  tm_match_hook(&recv, &envelope, sent, count);
}

static void test_receives_of_other_types_are_found(void **state) {
  struct tm_seen call = {.call = 1, .site = (const void *)77};
  (void)state;
  tm_type_match_start();
  seen = NULL;
  meets(i, 4, i, 4);
  meets(i, 9, i, 4); /* there is room for more */
  meets(i, 2, d, 4); /* too long: the receive says so */
  meets(i, 9, p, 4);
  check_said("");
  meets(i, 9, d, 4);
  check_said("!rank 3 receives 9 int from rank 1 of world, which sent 4 double (tag 5)\n");
  seen = &call;
  meets(d, 4, i, 4);
  check_said(
      "!rank 3 receives 4 double from rank 1 of world, which sent 4 int (tag 5), in MPI_Wait at "
      "77\n");
}

/* Those of collectives are none of the program's. */
static void test_other_contexts_are_not_looked_at(void **state) {
  struct tm_envelope envelope = {.context = 9};
  struct tm_request recv = {.owner = &receiver, .comm = &comm, .count = 9, .type = i};
  (void)state;
  tm_type_match_start();
  recv.entry.envelope.context = 9;
  tm_match_hook(&recv, &envelope, d, 4);
  recv.comm = NULL;
  tm_match_hook(&recv, &envelope, d, 4);
  check_said("");
}

int main(void) {
#define ROW(test) cmocka_unit_test_setup(test, start)
  const struct CMUnitTest tests[] = {
      ROW(test_the_way_a_type_is_made_does_not_matter),
      ROW(test_numbers_kinds_and_order_matter),
      ROW(test_packed_data_are_any),
      ROW(test_lasting_types_are_one_element),
      ROW(test_the_start_of_data),
      ROW(test_receives_of_other_types_are_found),
      ROW(test_other_contexts_are_not_looked_at),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
