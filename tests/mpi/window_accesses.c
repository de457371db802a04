/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accesses to a window's member on another node, of each size and shape (src/tmpi/rma/far_origin.c,
 * far_target.c, far_large.c): what they write and bring, and nothing beside it.
 */
#include "far_window.h"

/* @return the index of the n-th int of elements. */
static size_t place(size_t n, const struct tm_type *type) { return type == &spread ? 2 * n : n; }

static const size_t counts[] = {0, 1, 2, 120, 121, 1000, 6656, 6657, 8192, 8193, 9999};
enum {
  COUNTS = sizeof counts / sizeof counts[0],
  EMPTY_ANSWER = sizeof(struct tm_win_head) + sizeof(struct tm_win_answer)
};

/* ---- puts and gets of each size and shape */

static void put(size_t ints, struct tm_type *from, struct tm_type *to, MPI_Request *request) {
  size_t per_from = from->size / 4, per_to = to->size / 4;
  struct tm_access_call c = call_of(request, ints / per_from, from);
  struct tm_access a = access_of(ints / per_to, to);
  for (int i = 0; i < CELLS; i++) target[i] = GUARD;
  assert_int_equal(tm_far_put(&c, &a), MPI_SUCCESS);
  if (request != NULL) check_trace("request ");
  if (request == NULL || ints == 0) tm_win_settle(&wins[OWN], "MPI_Win_fence");
  if (request == NULL && ints > 0) assert_int_equal(answered_bytes, sizeof(struct tm_win_head));
  for (size_t n = 0; n < ints; n++) assert_int_equal(target[place(n, to)], origin[place(n, from)]);
  int gap = 0;
  for (int i = 0; i < CELLS; i++) gap += target[i] == GUARD;
  assert_int_equal(gap, CELLS - (int)ints);
}

static void puts_of_each_size(void **state) {
  MPI_Request request;
  (void)state;
  for (size_t i = 0; i < COUNTS; i++)
    for (int shape = 0; shape < 8; shape++) {
      size_t ints = 2 * counts[i];
      put(ints, shape & 1 ? &spread : int_type(), shape & 2 ? &spread : int_type(),
          shape & 4 ? &request : NULL);
    }
}

static void get(size_t ints, struct tm_type *from, struct tm_type *to, MPI_Request *request) {
  struct tm_access_call c = call_of(request, ints / (to->size / 4), to);
  struct tm_access a = access_of(ints / (from->size / 4), from);
  c.origin = result;
  for (int i = 0; i < CELLS; i++) result[i] = GUARD;
  assert_int_equal(tm_far_get(&c, &a), MPI_SUCCESS);
  if (request != NULL) check_trace("request ");
  if (request == NULL && to != &spread) tm_win_settle(&wins[OWN], "MPI_Win_fence");
  int gap = 0;
  for (int i = 0; i < CELLS; i++) gap += result[i] == GUARD;
  assert_int_equal(gap, CELLS - (int)ints);
  for (size_t n = 0; n < ints; n++) assert_int_equal(result[place(n, to)], target[place(n, from)]);
}

static void gets_of_each_size(void **state) {
  MPI_Request request;
  (void)state;
  for (size_t i = 0; i < COUNTS; i++)
    for (int shape = 0; shape < 8; shape++) {
      size_t ints = 2 * counts[i];
      if (ints > 2 * 8192 && shape == 4) continue; /* its request is made before the data come */
      get(ints, shape & 1 ? &spread : int_type(), shape & 2 ? &spread : int_type(),
          shape & 4 ? &request : NULL);
    }
}

static void gets_of_bytes(void **state) {
  (void)state;
  for (size_t bytes = 1; bytes < 10; bytes++)
    for (int waits = 0; waits < 2; waits++) {
      MPI_Request request;
      struct tm_access_call c = call_of(waits ? &request : NULL, bytes, int_type());
      struct tm_access a = access_of(bytes, tm_type_of(MPI_BYTE));
      c.origin = result;
      c.origin_type = MPI_BYTE;
      memset(result, GUARD, sizeof(int) * 10);
      assert_int_equal(tm_far_get(&c, &a), MPI_SUCCESS);
      tm_win_settle(&wins[OWN], "MPI_Win_flush");
      assert_memory_equal(result, target, bytes);
      assert_int_equal(answered_bytes, EMPTY_ANSWER + bytes);
      check_trace(waits ? "request " : "");
    }
}

/* ---- updates */

static void update(size_t count, struct tm_type *type, bool reads, bool fetches) {
  size_t ints = count * type->size / 4;
  struct tm_access_call c = call_of(NULL, count, type);
  struct tm_access a = access_of(count, type);
  a.origin = (struct tm_access_part){origin, type, a.memory.bytes};
  a.result = (struct tm_access_part){result, type, a.memory.bytes};
  for (int i = 0; i < CELLS; i++) {
    target[i] = 5 * i;
    result[i] = GUARD;
  }
  assert_int_equal(tm_far_update(&c, &a, type, reads, fetches), MPI_SUCCESS);
  tm_win_settle(&wins[OWN], "MPI_Win_fence");
  for (size_t n = 0; n < ints; n++) {
    int at = (int)place(n, type), old = 5 * at;
    int sum = type == &spread ? origin[at] : old + origin[at];
    assert_int_equal(target[at], reads ? sum : old);
    assert_int_equal(result[at], fetches ? old : GUARD);
  }
  for (size_t i = place(ints, type); i < CELLS; i++)
    assert_true(target[i] == 5 * (int)i && result[i] == GUARD);
}

/* Elements of eight bytes in pieces of four are not divided. */
static void updates_of_each_size(void **state) {
  (void)state;
  tm_predefined[0] = spread; /* the type that the target looks up */
  for (size_t i = 0; i < COUNTS; i++)
    for (int way = 0; way < 4; way++) {
      update(counts[i], int_type(), way & 1, way & 2);
      update(counts[i] < CELLS / 4 ? counts[i] : CELLS / 4, &spread, way & 1, way & 2);
    }
  assert_ptr_equal(combined, &tm_predefined[0]);
  memset(&tm_predefined[0], 0, sizeof tm_predefined[0]);
}

/* Messages have 240 pieces, so that one would end within an element of eight bytes: in its last
 * piece, or several pieces before. */
static void divided_elements(void **state) {
  static const size_t lengths[][7] = {{1, 3, 4, 8, 4, 4, 8}, {8, 12, 4, 2, 2, 2, 2}};
  enum { COUNT = 100, BYTES = 32, EXTENT = 64 };
  static char sent[COUNT * BYTES], got[COUNT * BYTES], before[COUNT * EXTENT];
  struct tm_type *element = &tm_predefined[7];
  (void)state;
  *element = *int_type();
  element->basic = TM_INT64;
  element->size = 8;
  for (int shape = 0; shape < 2; shape++) {
    struct tm_block parts[7];
    struct tm_type type = spread;
    struct tm_access_call c = call_of(NULL, COUNT, &spread);
    for (size_t i = 0, at = 0; i < 7; at += lengths[shape][i++] + 1)
      parts[i] = (struct tm_block){(ptrdiff_t)at, lengths[shape][i], 1, 0};
    type.size = BYTES;
    type.ub = EXTENT;
    type.blocks = parts;
    type.block_count = 7;
    struct tm_access a = access_of(COUNT, &type);
    a.origin = (struct tm_access_part){origin, &type, sizeof sent};
    a.result = (struct tm_access_part){result, &type, sizeof sent};
    memcpy(before, target, sizeof before);
    assert_int_equal(tm_far_update(&c, &a, element, true, true), MPI_SUCCESS);
    tm_type_pack(got, result, &type, 0, sizeof got);
    tm_type_pack(sent, before, &type, 0, sizeof sent);
    assert_memory_equal(got, sent, sizeof sent);
    tm_type_pack(sent, origin, &type, 0, sizeof sent);
    tm_type_unpack(before, &type, 0, sent, sizeof sent); /* what is between the pieces stays */
    assert_memory_equal(target, before, sizeof before);
    for (int i = 0; i < CELLS; i++) origin[i]++;
  }
  memset(element, 0, sizeof *element);
}

/* A call that wants one element waits, and a swap that brings it. */
static void one_element(void **state) {
  struct tm_access_call c = call_of(NULL, 1, int_type());
  struct tm_access a = access_of(1, int_type());
  int compare = 0, before = notes;
  (void)state;
  c.result_count = 0; /* it has none */
  a.origin = (struct tm_access_part){origin, int_type(), 4};
  a.result = (struct tm_access_part){result, int_type(), 4};
  assert_int_equal(tm_far_update(&c, &a, int_type(), true, true), MPI_SUCCESS);
  assert_true(result[0] == 0 && target[0] == 1000 && notes == before + 2);
  assert_int_equal(tm_far_swap(&c, &a, &compare), MPI_SUCCESS);
  assert_true(result[0] == 1000 && target[0] == 1000);
  assert_int_equal(sent_bytes, sizeof(struct tm_win_head) + sizeof(struct tm_piece) + 8);
  compare = 1000;
  origin[0] = 7;
  assert_int_equal(tm_far_swap(&c, &a, &compare), MPI_SUCCESS);
  assert_true(result[0] == 1000 && target[0] == 7);
  c.result_count = 1;
  compare = 7;
  origin[0] = 8;
  before = notes;
  assert_int_equal(tm_far_swap(&c, &a, &compare), MPI_SUCCESS);
  assert_int_equal(notes, before);
  tm_win_settle(&wins[OWN], "MPI_Win_flush");
  assert_true(result[0] == 7 && target[0] == 8);
}

/* ---- what is refused */

static void refused_accesses(void **state) {
  struct tm_access_call c = call_of(NULL, 2, int_type());
  struct tm_access a = access_of(1, int_type());
  (void)state;
  assert_int_equal(tm_far_put(&c, &a), MPI_ERR_TRUNCATE);
  a = access_of(3, int_type());
  assert_int_equal(tm_far_get(&c, &a), MPI_ERR_TRUNCATE);
  c.origin_count = -1;
  assert_int_equal(tm_far_put(&c, &a), MPI_ERR_COUNT);
  assert_int_equal(tm_far_get(&c, &a), MPI_ERR_COUNT);
  a.far = NULL; /* MPI_PROC_NULL */
  assert_int_equal(tm_far_put(&c, &a), MPI_SUCCESS);
  assert_int_equal(tm_far_get(&c, &a), MPI_SUCCESS);
  assert_int_equal(notes, 0);
}

/* Of a dynamic window each call waits, and the target looks whether all memory is attached. */
static void dynamic_windows(void **state) {
  (void)state;
  wins[OWN].flavor = wins[OTHER].flavor = MPI_WIN_FLAVOR_DYNAMIC;
  for (int attached = 0; attached < 2; attached++) {
    struct tm_access_call c = call_of(NULL, 4, int_type()),
                          large = call_of(NULL, 20000, int_type());
    struct tm_access a = access_of(4, int_type()), b = access_of(20000, int_type());
    is_attached = attached;
    int code = attached ? MPI_SUCCESS : MPI_ERR_RMA_RANGE;
    assert_int_equal(tm_far_put(&c, &a), code);
    assert_int_equal(target[1], attached ? 1001 : 5);
    assert_int_equal(answered_bytes, EMPTY_ANSWER);
    c.origin = large.origin = result;
    assert_int_equal(tm_far_get(&c, &a), code);
    assert_int_equal(result[1], attached ? 1001 : GUARD);
    assert_int_equal(answered_bytes, EMPTY_ANSWER + (attached ? 16 : 0));
    assert_int_equal(tm_far_get(&large, &b), code);
    assert_int_equal(result[19999], attached ? 5 * 19999 : GUARD);
    struct tm_type half = spread; /* one of its pieces is attached */
    struct tm_block parts[] = {{CELLS * 2, 4, 1, 0}, {0, 4, 1, 0}};
    half.blocks = parts;
    half.block_count = 2;
    struct tm_access e = access_of(1, &half);
    c.origin_count = 2;
    assert_int_equal(tm_far_get(&c, &e), code);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WINDOW(puts_of_each_size),    WINDOW(gets_of_each_size), WINDOW(gets_of_bytes),
      WINDOW(updates_of_each_size), WINDOW(divided_elements),  WINDOW(one_element),
      WINDOW(refused_accesses),     WINDOW(dynamic_windows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
