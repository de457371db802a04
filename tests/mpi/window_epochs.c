/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fences, flushes and the memory of windows, call by call (src/tmpi/rma/fence.c, flush.c,
 * region.c): which epochs they fit, what they wait for, and which memory is attached.
 */
#include "counted_blocks.h"
#include "internal_locks.h"
#include "tmpi/coll/coll.h"
#include "window_calls.h"

enum { MEMBERS = 4, OWN = 1 };

static struct tm_win wins[MEMBERS];
static struct tm_comm comm;
static struct tm_rank rank;
static struct tm_group *some_group = (struct tm_group *)&rank;
static uint8_t access[MEMBERS];
static struct tm_win_common *common;
static struct tm_win_member far[MEMBERS];
static alignas(TM_LINE) char room[sizeof *common + MEMBERS * sizeof common->views[0]];
static char memory[100];
static struct tm_win *const own = &wins[OWN];

void tm_barrier(struct tm_comm *of, const char *call) {
  assert_ptr_equal(of, &comm);
  note("%s meets", call);
}

void tm_win_breathe(struct tm_win *win) {
  assert_ptr_equal(win, own);
  note("breathes");
}

bool tm_win_has_locks(const struct tm_win *win) { return win->all_locked || win->locked > 0; }

static int start(void **state) {
  (void)state;
  memset(room, 0, sizeof room);
  memset(access, 0, sizeof access);
  memset(far, 0, sizeof far);
  common = (struct tm_win_common *)room;
  common->size = MEMBERS;
  comm.owner = &rank;
  rank.stage = TM_INITIALIZED;
  for (int i = 0; i < MEMBERS; i++) {
    wins[i] = (struct tm_win){.magic = TM_WIN_MAGIC,
                              .common = common,
                              .comm = &comm,
                              .flavor = MPI_WIN_FLAVOR_DYNAMIC,
                              .access = access};
    common->views[i] = &wins[i];
  }
  memory_is_out = false;
  trace[0] = '\0';
  return 0;
}

static int end(void **state) {
  (void)state;
  tm_win_regions_free(own);
  assert_null(own->regions);
  assert_int_equal(blocks, 0);
  assert_int_equal(locked, 0);
  return 0;
}

static MPI_Win handle(void) { return (MPI_Win)own; }

/* ---- fences */

static int fence(int assertion) { return PMPI_Win_fence(assertion, handle()); }

static void a_fence_ends_an_epoch_and_begins_one(void **state) {
  (void)state;
  own->fence_used = 1;
  assert_false(tm_win_fence_in_use(own)); /* it is not opened by a fence */
  assert_int_equal(fence(0), MPI_SUCCESS);
  check_trace("MPI_Win_fence meets ");
  assert_true(own->fenced && own->fence_used == 0 && !tm_win_fence_in_use(own));
  own->fence_used = 1;
  assert_true(tm_win_fence_in_use(own));
  assert_int_equal(fence(MPI_MODE_NOSUCCEED | MPI_MODE_NOSTORE | MPI_MODE_NOPUT), MPI_SUCCESS);
  assert_false(own->fenced);
  check_trace("MPI_Win_fence meets ");
  assert_int_equal(fence(MPI_MODE_NOPRECEDE), MPI_SUCCESS);
  assert_true(own->fenced);
  check_trace("MPI_Win_fence meets ");
  own->notes = (struct tm_win_notes *)room;
  fence(0);
  check_trace(MLTP_NODES ? "settles MPI_Win_fence meets " : "MPI_Win_fence meets ");
}

static void check_refused(int error, int expected, const char *why) {
  assert_int_equal(error, expected);
  check_trace(why);
}

static void a_fence_fits_no_other_epoch(void **state) {
  (void)state;
  own->locked = 1;
  check_refused(fence(0), MPI_ERR_RMA_SYNC, "[the origin still holds a lock] ");
  own->locked = 0;
  own->start = some_group;
  check_refused(fence(0), MPI_ERR_RMA_SYNC, "[MPI_Win_start() has no MPI_Win_complete() yet] ");
  own->start = NULL;
  own->post = some_group;
  check_refused(fence(0), MPI_ERR_RMA_SYNC, "[MPI_Win_post() has no MPI_Win_wait() yet] ");
  own->post = NULL;
  own->fenced = true;
  own->fence_used = 1;
  check_refused(fence(MPI_MODE_NOPRECEDE), MPI_ERR_RMA_SYNC,
                "[MPI_MODE_NOPRECEDE, but there were accesses before] ");
  check_refused(fence(MPI_MODE_NOCHECK), MPI_ERR_ASSERT, "");
  own->magic = 0;
  check_refused(fence(0), MPI_ERR_WIN, "refused ");
}

/* ---- flushes */

static void a_flush_needs_a_lock_of_its_target(void **state) {
  static const uint8_t locks[] = {TM_LOCKED_SHARED, TM_LOCKED_EXCLUSIVE, TM_LOCKED_NOCHECK};
  int (*const calls[])(int, MPI_Win) = {PMPI_Win_flush, PMPI_Win_flush_local};
  (void)state;
  for (int i = 0; i < 2; i++) {
    start(NULL);
    access[3] = TM_STARTED;
    check_refused(calls[i](3, handle()), MPI_ERR_RMA_SYNC,
                  "[the origin does not hold the lock of this target] ");
    for (int j = 0; j < 3; j++) {
      access[3] = locks[j];
      check_refused(calls[i](3, handle()), MPI_SUCCESS, "breathes ");
    }
    access[3] = 0;
    own->all_locked = true;
    own->notes = (struct tm_win_notes *)room;
    check_refused(calls[i](3, handle()), MPI_SUCCESS,
                  MLTP_NODES ? "settles breathes " : "breathes ");
    check_refused(calls[i](MPI_PROC_NULL, handle()), MPI_SUCCESS, "");
    check_refused(calls[i](MEMBERS, handle()), MPI_ERR_RANK, "[no target 4] ");
    own->magic = 0;
    check_refused(calls[i](3, handle()), MPI_ERR_WIN, "refused ");
  }
}

static void a_flush_of_all_needs_a_lock(void **state) {
  int (*const calls[])(MPI_Win) = {PMPI_Win_flush_all, PMPI_Win_flush_local_all, PMPI_Win_sync};
  (void)state;
  for (int i = 0; i < 3; i++) {
    start(NULL);
    if (i < 2)
      check_refused(calls[i](handle()), MPI_ERR_RMA_SYNC, "[the origin holds no lock] ");
    else
      check_refused(calls[i](handle()), MPI_SUCCESS, "breathes ");
    own->locked = 1;
    own->notes = (struct tm_win_notes *)room;
    check_refused(calls[i](handle()), MPI_SUCCESS, MLTP_NODES ? "settles breathes " : "breathes ");
    own->magic = 0;
    check_refused(calls[i](handle()), MPI_ERR_WIN, "refused ");
  }
}

/* ---- regions of a dynamic window */

static int attach(int from, int bytes) { return PMPI_Win_attach(handle(), memory + from, bytes); }

static bool is_attached(int from, int to) {
  return tm_win_is_attached(own, memory + from, memory + to);
}

static void regions_that_touch_are_as_good_as_one(void **state) {
  (void)state;
  assert_false(is_attached(20, 21));
  assert_true(is_attached(20, 20));
  assert_int_equal(attach(20, 10), MPI_SUCCESS);
  assert_int_equal(attach(40, 10), MPI_SUCCESS);
  assert_true(is_attached(20, 30) && is_attached(25, 26) && is_attached(40, 50));
  assert_false(is_attached(19, 21) || is_attached(29, 31) || is_attached(20, 50));
  assert_int_equal(attach(30, 10), MPI_SUCCESS);
  assert_true(is_attached(20, 50));
  assert_int_equal(PMPI_Win_detach(handle(), memory + 40), MPI_SUCCESS);
  assert_true(is_attached(20, 40));
  assert_false(is_attached(40, 41) || is_attached(20, 41));
}

static void regions_do_not_overlap(void **state) {
  (void)state;
  assert_int_equal(attach(20, 10), MPI_SUCCESS);
  for (int i = 0; i < 3; i++)
    check_refused(attach(11 + 9 * i, 10), MPI_ERR_RMA_ATTACH,
                  "[some of the memory is attached already] ");
  check_refused(attach(10, 50), MPI_ERR_RMA_ATTACH, "[some of the memory is attached already] ");
  assert_int_equal(blocks, 1);
  assert_int_equal(attach(10, 10), MPI_SUCCESS);
  assert_int_equal(attach(30, 1), MPI_SUCCESS);
  assert_int_equal(attach(25, 0), MPI_SUCCESS); /* nothing overlaps nothing */
  check_refused(attach(0, -1), MPI_ERR_SIZE, "[size -1 is negative] ");
  check_refused(PMPI_Win_detach(handle(), memory + 11), MPI_ERR_RMA_ATTACH,
                "[no memory at this address is attached] ");
  memory_is_out = true;
  char why[20];
  snprintf(why, sizeof why, "[%d] ", MPI_ERR_NO_MEM);
  check_refused(attach(60, 1), MPI_ERR_NO_MEM, why);
}

static void only_dynamic_windows_attach(void **state) {
  (void)state;
  own->flavor = MPI_WIN_FLAVOR_CREATE;
  check_refused(attach(0, 1), MPI_ERR_RMA_FLAVOR,
                "[the window was not made by MPI_Win_create_dynamic()] ");
  check_refused(PMPI_Win_detach(handle(), memory), MPI_ERR_RMA_FLAVOR,
                "[the window was not made by MPI_Win_create_dynamic()] ");
  own->magic = 0;
  check_refused(attach(0, 1), MPI_ERR_WIN, "refused ");
}

/* ---- whose memory a query means */

static void check_query(int target, MPI_Aint bytes, MPI_Aint unit, const void *base) {
  MPI_Aint found = -1, disp_unit = -1;
  void *at = &found;
  assert_int_equal(tm_call_win_query("MPI_X", handle(), target, &found, &disp_unit, &at),
                   MPI_SUCCESS);
  assert_true(found == bytes && disp_unit == unit && at == base);
}

static void a_query_finds_memory_of_this_node(void **state) {
  (void)state;
  for (int i = 0; i < MEMBERS; i++) {
    wins[i].flavor = MPI_WIN_FLAVOR_SHARED;
    wins[i].disp_unit = 10 + i;
    wins[i].bytes = i < 2 ? 0 : i - 1; /* one byte is some memory */
    wins[i].base = memory + i;
  }
  check_query(3, 2, 13, memory + 3);
  check_query(MPI_PROC_NULL, 1, 12, memory + 2); /* the first that has some */
  common->far = far;
  common->views[2] = NULL;
  far[2].bytes = 1;
  check_query(2, 0, 11, NULL);
  check_query(MPI_PROC_NULL, 0, 11, NULL); /* it is on another node */
  far[2].bytes = 0;
  check_query(MPI_PROC_NULL, 2, 13, memory + 3);
  wins[3].bytes = 0;
  check_query(MPI_PROC_NULL, 0, 11, NULL);
}

static void a_query_of_nothing_is_refused(void **state) {
  MPI_Aint bytes, unit;
  void *base;
  (void)state;
  check_refused(tm_call_win_query("MPI_X", handle(), 0, &bytes, &unit, &base), MPI_ERR_RMA_FLAVOR,
                "[a dynamic window has no base] ");
  check_refused(tm_call_win_query("MPI_X", handle(), MEMBERS, &bytes, &unit, &base), MPI_ERR_RANK,
                "[no target 4] ");
  own->magic = 0;
  check_refused(tm_call_win_query("MPI_X", handle(), 0, &bytes, &unit, &base), MPI_ERR_WIN,
                "refused ");
}

#define WINDOW(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void) {
  const struct CMUnitTest tests[] = {
      WINDOW(a_fence_ends_an_epoch_and_begins_one),  WINDOW(a_fence_fits_no_other_epoch),
      WINDOW(a_flush_needs_a_lock_of_its_target),    WINDOW(a_flush_of_all_needs_a_lock),
      WINDOW(regions_that_touch_are_as_good_as_one), WINDOW(regions_do_not_overlap),
      WINDOW(only_dynamic_windows_attach),           WINDOW(a_query_finds_memory_of_this_node),
      WINDOW(a_query_of_nothing_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
